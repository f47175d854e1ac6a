// A stress test that is not part of the suite: isolates are made, used with mixed sync and async calls, and disposed at random moments or
// dropped. At the end no promise, thread or handle may be left, and memory must not have grown.
// `node __test__/stress/stress.mjs [--isolates 3000 | --minutes 10] [--seed 1] [--at-a-time 8]`, or the same with Bun or Deno.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { collectorArguments, host, moduleEntry } from '../harness.mjs';
import { createRandom, live } from './life.mjs';

const SAMPLES = 60;
/** How many isolates are made between two collections of the host, which does not know how much memory dropped isolates take. */
const COLLECT_EVERY = 100;
const PROMISE_LIMIT_MS = 60_000;
/** The child writes a heartbeat, unless it hangs in a sync call. */
const HEARTBEAT_MS = 5_000;
const HEARTBEAT = '.\n';
const SILENCE_LIMIT_MS = 120_000;
const SETTLE_MS = 60_000;
const NOISE_BYTES = 24 << 20;
const NOISE_SHARE = 0.05;
/** V8's workers, the clock, and threads that the host itself may start. */
const THREADS_ABOVE_BASE = 8;

const options = {
  isolates: { type: 'string' },
  minutes: { type: 'string' },
  seed: { type: 'string', default: '1' },
  'at-a-time': { type: 'string', default: '8' },
  child: { type: 'boolean' },
};
const { values } = parseArgs({ options });

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / Math.max(list.length, 1);
const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : () => globalThis.gc();

function threads() {
  const [, count] = /^Threads:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(count);
}

/** Promises that have not settled, by their purpose. */
class Watch {
  pending = new Map();
  problems = [];

  add = (what, promise) => {
    const key = {};
    this.pending.set(key, { what, since: performance.now() });
    return promise.finally(() => this.pending.delete(key));
  };

  late() {
    const now = performance.now();
    return [...this.pending.values()].filter(({ since }) => now - since > PROMISE_LIMIT_MS).map(({ what }) => what);
  }
}

async function stress() {
  const { default: ivm } = await import(moduleEntry);
  const minutes = Number(values.minutes ?? 0);
  const total = Number(values.isolates ?? (minutes ? Infinity : 3000));
  const end = performance.now() + (minutes || Infinity) * 60_000;
  const seed = Number(values.seed);
  const tally = new Map();
  const watch = new Watch();
  const alive = new Set();
  const registry = new FinalizationRegistry((id) => alive.delete(id));
  const samples = [];
  let made = 0;
  let other;
  let collectAt = COLLECT_EVERY;

  const Isolate = function Isolate(...args) {
    const isolate = new ivm.Isolate(...args);
    made += 1;
    alive.add(made);
    registry.register(isolate, made);
    return isolate;
  };
  const counting = Object.create(ivm, { Isolate: { value: Isolate } });

  // One isolate first, so that everything that lives as long as the process exists.
  new ivm.Isolate().createContextSync();
  const baseThreads = threads();
  const start = performance.now();

  const sample = () => {
    collect();
    samples.push({ made, rss: process.memoryUsage.rss(), alive: alive.size, threads: threads() });
    const { rss, threads: count } = samples.at(-1);
    console.log(`${made} made, ${((performance.now() - start) / 1000).toFixed(0)} s, ${alive.size} alive, ${megabytes(rss)}, ${count} threads, ${watch.pending.size} pending`);
  };
  const step = Number.isFinite(total) ? total / SAMPLES : undefined;
  let next = step ?? performance.now() + (minutes * 60_000) / SAMPLES;
  const isDue = () => (step ? made >= next : performance.now() >= next);

  const isRunning = () => made < total && performance.now() < end && watch.problems.length === 0;
  const worker = async (lane) => {
    const random = createRandom(seed * 1000 + lane);
    while (isRunning()) {
      try {
        other = await live(counting, random, { tally, watch: watch.add, other });
      } catch (error) {
        watch.problems.push(error.stack);
      }
      const late = watch.late();
      if (late.length > 0) watch.problems.push(`not settled after ${PROMISE_LIMIT_MS / 1000} s: ${late.join(', ')}`);
      if (made >= collectAt) {
        collectAt += COLLECT_EVERY;
        collect();
      }
      if (isDue()) {
        next += step ?? (minutes * 60_000) / SAMPLES;
        sample();
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const heart = setInterval(() => {
    process.stdout.write(HEARTBEAT);
    const late = watch.late();
    if (late.length === 0) return;
    console.log(`FAIL not settled after ${PROMISE_LIMIT_MS / 1000} s: ${late.join(', ')}`);
    process.exit(1);
  }, HEARTBEAT_MS);
  await Promise.all(Array.from({ length: Number(values['at-a-time']) }, (_, lane) => worker(lane)));
  clearInterval(heart);
  const seconds = (performance.now() - start) / 1000;

  // Wait until all memory and threads are released.
  other = undefined;
  const settled = performance.now() + SETTLE_MS;
  const isBack = () => alive.size === 0 && ivm.ExternalCopy.totalExternalSize === 0 && threads() <= baseThreads + THREADS_ABOVE_BASE;
  while (!isBack() && performance.now() < settled) {
    collect();
    await sleep(250);
  }
  sample();

  for (const [what, count] of [...tally].toSorted()) console.log(`  ${what}: ${count}`);
  const third = Math.floor((samples.length - 1) / 3);
  const [middle, last] = [samples.slice(third, 2 * third), samples.slice(2 * third, 3 * third)].map((part) => mean(part.map(({ rss }) => rss)));
  const external = ivm.ExternalCopy.totalExternalSize;
  console.log(`seed ${seed}: ${made} isolates in ${seconds.toFixed(0)} s on ${host}`);
  console.log(`memory: ${megabytes(middle)} in the second third, ${megabytes(last)} in the last, ${megabytes(samples.at(-1).rss)} at the end`);
  console.log(`alive: ${alive.size} isolates, ${external} bytes of strings, ${threads()} threads (${baseThreads} at the start)`);
  const { problems } = watch;
  if (watch.pending.size > 0) problems.push(`${watch.pending.size} promises never settled`);
  // A conservative stack scan may keep one.
  if (alive.size > 2) problems.push(`${alive.size} isolates are still alive`);
  if (external !== 0) problems.push(`totalExternalSize is ${external}`);
  if (threads() > baseThreads + THREADS_ABOVE_BASE) problems.push('threads are left');
  if (last - middle > Math.max(NOISE_BYTES, middle * NOISE_SHARE)) problems.push('memory grows');
  for (const problem of problems) console.log(`FAIL ${problem}`);
  console.log(problems.length > 0 ? 'failed' : 'ok');
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** Runs it in a process of its own, which is killed if it is silent for too long. */
function supervise() {
  const child = spawn(process.execPath, [...collectorArguments(), fileURLToPath(import.meta.url), ...process.argv.slice(2), '--child'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let timer;
  const progress = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      console.log(`FAIL no output for ${SILENCE_LIMIT_MS / 1000} s: a deadlock`);
      process.exitCode = 1;
      child.kill('SIGKILL');
    }, SILENCE_LIMIT_MS);
  };
  progress();
  child.stdout.on('data', (chunk) => {
    progress();
    if (String(chunk) !== HEARTBEAT) process.stdout.write(chunk);
  });
  child.on('close', (code, signal) => {
    clearTimeout(timer);
    if (signal) console.log(`FAIL ended by ${signal}`);
    process.exitCode ||= code ?? 1;
  });
}

if (values.child) await stress();
else supervise();
