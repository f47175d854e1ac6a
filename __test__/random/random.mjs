// A randomized test: programs over three isolates and the host that create, pass, call, drop and dispose handles, with mixed sync and async
// calls that lead through any of them. A model has the possible outcomes of each operation. Anything else ends the test with the seed and
// the number of the operation. At the end nothing may be left.
// `node __test__/random/random.mjs [--operations 20000] [--seed 1] [--disposal 0.4]`, or the same with Bun or Deno.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { collectorArguments, host, moduleEntry } from '../harness.mjs';

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: process.env.OPERATIONS ?? '20000' },
    seed: { type: 'string', default: process.env.SEED ?? '1' },
    /** Seconds after which an operation counts as hanging. */
    patience: { type: 'string', default: '10' },
    /** The share of attempts to dispose an isolate that are executed. */
    disposal: { type: 'string', default: '0.4' },
    trace: { type: 'boolean' },
    child: { type: 'boolean' },
  },
});
const patience = Number(values.patience) * 1000;

const SAMPLES = 40;
const SETTLE_MS = 30_000;
const SETTLE_LATE_MS = 1_000;
const NOISE_BYTES = 24 << 20;
const NOISE_SHARE = 0.05;

/** Watches from a separate thread, because the host's thread may hang in a sync call. Ends the process and names the operation. */
class Watchdog {
  #beats;
  #text;

  constructor() {
    const shared = new SharedArrayBuffer(8 + 2000);
    this.#beats = new Int32Array(shared, 0, 2);
    this.#text = new Uint8Array(shared, 8);
    const code = `
      const { workerData: { shared, patience, seed } } = require('node:worker_threads');
      const { writeSync } = require('node:fs');
      const beats = new Int32Array(shared, 0, 2);
      let [last, since] = [-1, Date.now()];
      setInterval(() => {
        const beat = Atomics.load(beats, 0);
        if (beat !== last) return void ([last, since] = [beat, Date.now()]);
        if (Date.now() - since < patience) return;
        const text = Buffer.from(new Uint8Array(shared, 8, Atomics.load(beats, 1))).toString();
        writeSync(1, 'FAIL seed ' + seed + ': no progress for ' + patience / 1000 + ' s at ' + text + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }, 250);
    `;
    this.worker = new Worker(code, { eval: true, workerData: { shared, patience, seed: values.seed } });
    this.worker.unref();
  }

  /** @param {string} what the current operation */
  beat(what) {
    const { written } = new TextEncoder().encodeInto(what, this.#text);
    Atomics.store(this.#beats, 1, written);
    Atomics.add(this.#beats, 0, 1);
  }
}

const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function child() {
  // If the host has it, guests get it too.
  if (globalThis.Bun) globalThis.gc = () => globalThis.Bun.gc(true);
  const { default: ivm } = await import(moduleEntry);
  const { Program } = await import('./program.mjs');
  const total = Number(values.operations);
  const dog = new Watchdog();
  const program = new Program(ivm, { seed: Number(values.seed), disposal: Number(values.disposal), beat: (what) => dog.beat(what), trace: values.trace });
  const start = performance.now();
  const samples = [];
  const step = Math.ceil(total / SAMPLES);
  process.on('unhandledRejection', (error) => {
    console.log(`FAIL seed ${values.seed}, before operation ${program.index}: unhandled ${error?.stack ?? error}`);
    process.exit(1);
  });
  let over = false;
  process.on('beforeExit', async () => {
    if (over) return;
    const waiting = program.waiting.join('\n');
    await sleep(SETTLE_LATE_MS);
    console.log(`FAIL seed ${values.seed}: nothing keeps the event loop alive, and not over were\n${waiting}\nA while later: ${program.waiting.length} of them\nIsolates: ${[...program.world.slots.values()].map(({ body, isolate }) => `${body.name} ${isolate.isDisposed}`).join(', ')}`);
    process.exit(1);
  });
  while (program.index < total && program.problems.length === 0) {
    await program.some(Math.min(step, total - program.index));
    globalThis.gc();
    await sleep(0);
    samples.push(process.memoryUsage.rss());
    if (total > 50_000) console.log(`${program.index} operations, ${((performance.now() - start) / 1000).toFixed(0)} s, ${megabytes(samples.at(-1))} (${megabytes(process.memoryUsage().heapUsed)} of JavaScript), ${program.world.made} isolates`);
  }
  const seconds = (performance.now() - start) / 1000;
  const { problems, world } = program;
  if (problems.length === 0) problems.push(...(await program.finish(globalThis.gc, SETTLE_MS)));
  const quarter = samples.length >> 2;
  const [early, late] = [median(samples.slice(quarter, 2 * quarter)), median(samples.slice(3 * quarter))];
  const threads = /^Threads:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  console.log(`seed ${values.seed} on ${host}: ${program.index} operations in ${seconds.toFixed(1)} s, ${world.made} isolates, ${world.madeByGuests} of them by guests`);
  console.log(`memory: ${megabytes(early)} in the second quarter, ${megabytes(late)} in the last; ${threads} threads at the end`);
  console.log([...program.tally].toSorted().map(([what, count]) => `${what} ${count}`).join(', '));
  if (late - early > Math.max(NOISE_BYTES, early * NOISE_SHARE)) problems.push('memory grows');
  for (const problem of problems) console.log(`FAIL seed ${values.seed}: ${problem}`);
  console.log(problems.length > 0 ? 'failed' : 'ok');
  over = true;
  process.exit(problems.length > 0 ? 1 : 0);
}

/** Runs the test in a process of its own, because a crash is also a result. */
function supervise() {
  const args = [...collectorArguments(), fileURLToPath(import.meta.url), ...process.argv.slice(2), '--child'];
  const running = spawn(process.execPath, args, { stdio: 'inherit' });
  running.on('close', (code, signal) => {
    if (signal) console.log(`FAIL seed ${values.seed}: ended by ${signal}`);
    process.exitCode = code ?? 1;
  });
}

if (values.child) await child();
else supervise();
