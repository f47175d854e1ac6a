// Runs programs in this process, each in a fresh isolate, and prints the times as JSON: `programs-run.mjs <options as JSON>`. In each round every
// library runs a source that no isolate has had before. This package runs the same source twice more, each time in another isolate.

import { strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import vm from 'node:vm';
import { fileOf } from './bundles.mjs';
import { load, OURS } from './libraries.mjs';
import { median } from './measure.mjs';

const MEMORY_LIMIT_MB = 1024;
/** Long enough for threads of the last sample to finish. */
const SETTLE_MS = 20;
const START = '{ const result = main(); typeof result === "string" ? (globalThis.result = result) : void result.then((value) => { globalThis.result = value }) }';

const { libraries: names, ids, rounds } = JSON.parse(process.argv[2]);
const libraries = new Map();
for (const name of names) libraries.set(name, await load(name));

/** The result in this process's own engine. */
async function expectedOf(source) {
  const context = vm.createContext();
  vm.runInContext(source, context);
  vm.runInContext(START, context);
  await sleep(0);
  return vm.runInContext('result', context);
}

/** @returns {{ wall: number, cpu: number }} milliseconds from the source text to the result, without what the isolate itself takes */
function sample(ivm, source, expected) {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_LIMIT_MB });
  const context = isolate.createContextSync();
  context.evalSync('0');
  const [start, before] = [performance.now(), process.cpuUsage()];
  context.evalSync(`${source};0`);
  context.evalSync(START);
  const result = context.evalSync('result');
  const { user, system } = process.cpuUsage(before);
  const wall = performance.now() - start;
  isolate.dispose();
  strictEqual(result, expected);
  return { wall, cpu: (user + system) / 1000 };
}

/** Isolates that end may still write into the code cache. */
async function settle() {
  do await sleep(SETTLE_MS);
  while (libraries.get(OURS).engineStats().alive > 0);
  globalThis.gc();
}

/** Medians of all rounds. */
const middle = (samples, of) => median(samples.map((each) => each[of]));
const both = (samples) => ({ median: middle(samples, 'wall'), cpu: middle(samples, 'cpu') });
const ratios = (over, under) => ({
  ratio: median(over.map((each, round) => each.wall / under[round].wall)),
  cpuRatio: median(over.map((each, round) => each.cpu / under[round].cpu)),
});

const results = {};
for (const id of ids) {
  const source = readFileSync(fileOf(id), 'utf8');
  const expected = await expectedOf(source);
  const samples = new Map(names.map((name) => [name, { first: [], second: [], third: [] }]));
  for (let round = -1; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      for (const time of name === OURS ? ['first', 'second', 'third'] : ['first']) {
        await settle();
        const taken = sample(libraries.get(name), `/* ${name}, round ${round} */ ${source}`, expected);
        // The first round warms up.
        if (round >= 0) samples.get(name)[time].push(taken);
      }
    }
  }
  const { first: ours, second, third } = samples.get(OURS);
  results[id] = Object.fromEntries(Array.from(samples, ([name, { first }]) => [name, { ...both(first), ...(name !== OURS && ratios(ours, first)) }]));
  results[id].again = [second, third].map((later) => ({ ...both(later), ...ratios(later, ours) }));
}
console.log(JSON.stringify(results));
