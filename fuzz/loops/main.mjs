// `node fuzz/loops/main.mjs [--seed N] [--programs N] [--timeout ms] [--seconds S] [--only javascript|wasm] [--show]`
// The same seed always produces the same program. A program that cannot be stopped is printed, and the exit code is 1. `starved` counts
// programs that got no processor time in five attempts.

import { parseArgs } from 'node:util';
import ivm from '../../index.mjs';
import { programOf } from './program.mjs';
import { runProgram } from './run.mjs';
import { wasmProgramOf } from './wasm.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 30) },
    programs: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: 'Infinity' },
    timeout: { type: 'string', default: '100' },
    only: { type: 'string', default: '' },
    show: { type: 'boolean', default: false },
  },
});
const [seed, programs, seconds, timeout] = [options.seed, options.programs, options.seconds, options.timeout].map(Number);
const kinds = Object.entries({ javascript: programOf, wasm: wasmProgramOf }).filter(([name]) => options.only === '' || options.only === name);
const WASM_EVERY = 4;
const TRIES = 5;

const counts = { stopped: 0, memory: 0, ended: 0, unstoppable: 0, starved: 0 };
const reasons = new Map();
let latest = 0;
const began = performance.now();
const report = () => console.log(JSON.stringify({ seed, done, ...counts, latest: Math.round(latest), seconds: Math.round((performance.now() - began) / 1000) }));
let done = 0;
for (; done < programs && performance.now() - began < seconds * 1000; done += 1) {
  const number = seed + done;
  const [name, make] = kinds.length > 1 ? kinds[number % WASM_EVERY === 0 ? 1 : 0] : kinds[0];
  const program = make(number);
  if (options.show) console.log(`${program.prepare}\n${program.call};`);
  let run = runProgram(ivm, program, timeout);
  for (let tries = 1; tries < TRIES && run.outcome === 'starved'; tries += 1) run = runProgram(ivm, program, timeout);
  const { outcome, error, late } = run;
  counts[outcome] += 1;
  if (outcome === 'stopped') latest = Math.max(latest, late);
  if (outcome === 'unstoppable') console.log(`UNSTOPPABLE ${name} --only ${name} --seed ${number} --programs 1\n${program.prepare}\n${program.call};`);
  if (outcome === 'ended') {
    const reason = `${name}: ${error?.message ?? 'no end needed'}`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), number]);
  }
  if (done % 500 === 499) report();
}
report();
if (reasons.size > 0) console.log('ended:', [...reasons].map(([reason, seeds]) => `${reason} (${seeds.length}, ${seeds[0]})`).join('\n       '));
process.exitCode = counts.unstoppable > 0 ? 1 : 0;
