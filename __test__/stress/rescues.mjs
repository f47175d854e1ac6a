// A stress test that is not part of the suite: guests that do not stop, on the threads of their callers, at random moments on the main thread and
// in workers, beside everything else that a host does. A parent process watches its progress, and starts another process when one has lost as much
// memory as it may.
// `node --expose-gc __test__/stress/rescues.mjs [--seconds 60] [--seed 1] [--workers 2] [--silence 60]`, or the same with Bun or Deno.

import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';
import { moduleEntry } from '../harness.mjs';
import { ENDLESS } from './endless.mjs';
import { createRandom, isExpected } from './life.mjs';
import { collect, readOptions, sleep, watchAll, workersOf } from './watch.mjs';

const options = readOptions();

const BEAT_MS = 1_000;
/** What a process may lose before it ends, in MB: less than the smallest default of `lostMemoryLimit`. */
const MAX_LOST_MB = 1_000;
/** What a process may keep beside what it counts as lost, in MB. */
const MAX_KEPT_MB = 600;

const CODES = new Set(['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_DISPOSED', 'ERR_ISOLATE_LIMIT']);

function resident() {
  return process.memoryUsage().rss / 2 ** 20;
}

async function child() {
  const { default: ivm } = await import(moduleEntry);
  ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 10 });
  const [seed, end] = isMainThread ? [options.seed, Date.now() + options.seconds * 1000] : workerData;
  let until = end;
  const random = createRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const tally = {};
  const count = (what) => { tally[what] = (tally[what] ?? 0) + 1; };
  const fail = (what) => { console.log(`PROBLEM ${what}`); process.exit(3); };
  const attempt = (act) => {
    try {
      return { value: act() };
    } catch (error) {
      if (!CODES.has(error?.code) && !isExpected(error) && !(error instanceof RangeError) && error?.name !== 'RangeError') fail(error?.stack ?? error);
      count(error?.code ?? error.name);
      return { error };
    }
  };
  /** Results that the state of the processor's arithmetic units decides. */
  const REMAINDERS = [[1e308, 3e-308], [7.5, 2], [1.1e300, 0.7], [Number.MIN_VALUE, 0.7]];
  const arithmetic = () => REMAINDERS.map(([x, y]) => [x % y, x / 3, y * 0.5, Math.sqrt(x)]).flat().join();
  const expected = arithmetic();

  const make = (memoryLimit = pick([8, 16, 32])) => {
    const isolate = new ivm.Isolate({ memoryLimit });
    const context = isolate.createContextSync();
    return { isolate, context };
  };
  const kept = Array.from({ length: 4 }, () => make(32));
  const limits = () => (random() < 0.2 ? { deadline: 2 + below(20) } : { timeout: 1 + below(20) });
  const rescue = () => {
    const { isolate, context } = make();
    const code = pick(ENDLESS);
    const way = below(6);
    let act = () => context.evalSync(code, limits());
    const host = new ivm.Callback(() => attempt(act).value ?? 0);
    if (way === 1) {
      const outer = pick(kept).context;
      outer.global.setSync('nested', host);
      attempt(() => outer.evalSync('nested()'));
    } else if (way === 2) {
      // In a call to the same isolate.
      context.global.setSync('nested', host);
      attempt(() => context.evalSync('nested()'));
    } else if (way === 3) {
      // After calls of the host.
      context.global.setSync('plain', new ivm.Callback((n) => n + 1));
      attempt(() => context.evalSync(`let n = 0; for (let i = 0; i < 20; i += 1) n = plain(n); ${code}`, limits()));
    } else if (way === 4) {
      act = () => { throw new RangeError('thrown'); };
      context.global.setSync('nested', host);
      const pending = context.eval('nested(); 1').catch((error) => count(`async ${error.code ?? error.name}`));
      void pending;
      attempt(() => context.evalSync(code, limits()));
    } else if (way === 5) {
      context.global.setSync('ends', new ivm.Callback(() => { if (!isolate.isDisposed) isolate.dispose(); }));
      attempt(() => context.evalSync(`ends(); ${code}`, limits()));
    } else {
      attempt(act);
    }
    if (random() < 0.5 && !isolate.isDisposed) isolate.dispose();
  };
  const works = async () => {
    const one = pick(kept);
    const n = below(1000);
    if (one.context.evalSync(`[${n}, 2].map((x) => x * 2).join()`) !== `${2 * n},4`) fail('another isolate is wrong');
    if (arithmetic() !== expected) fail(`arithmetic has changed: ${arithmetic()}`);
    if (one.context.evalSync('[1e308 % 3e-308, 7.5 % 2].join()') !== [REMAINDERS[0][0] % REMAINDERS[0][1], 1.5].join()) fail("a guest's arithmetic has changed");
    if (random() < 0.3 && await one.context.eval(`${n} + 1`) !== n + 1) fail('an async call is wrong');
    if (random() < 0.1) collect();
    if (random() < 0.1) {
      const replaced = below(kept.length);
      kept[replaced].isolate.dispose();
      kept[replaced] = make(32);
    }
  };
  const workers = workersOf(import.meta.url, { random, below, count, fail }, () => ({ argv: ['--child'], resourceLimits: random() < 0.3 ? { stackSizeMb: 1 } : {} }));
  process.on('SIGUSR2', () => count('SIGUSR2'));
  let lately = Date.now();
  while (Date.now() < until) {
    rescue();
    count('rescues');
    await works();
    if (isMainThread) {
      if (workers.size < options.workers) workers.start();
      if (random() < 0.1) spawn('true').on('error', () => {});
      if (random() < 0.1) process.kill(process.pid, 'SIGUSR2');
      if (Date.now() - lately > BEAT_MS) {
        lately = Date.now();
        const { endings, lostBytes, lostRunning } = ivm.engineStats();
        if (lostBytes > MAX_LOST_MB * 2 ** 20) until = 0;
        console.log(`BEAT ${JSON.stringify({ left: endings.abandoned, lost: Math.round(lostBytes / 2 ** 20), running: lostRunning, rss: Math.round(resident()) })}`);
      }
    }
    if (random() < 0.3) await sleep(below(3));
  }
  if (!isMainThread) {
    if (random() < 0.5) process.exit(0);
    return;
  }
  while (workers.size > 0) await sleep(100);
  await sleep(1_500);
  collect();
  const { endings, lostBytes, lostRunning } = ivm.engineStats();
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n').length;
  const figures = { left: endings.abandoned, outOfMemory: endings.outOfMemory, lost: Math.round(lostBytes / 2 ** 20), running: lostRunning, rss: Math.round(resident()), maps, threads: readdirSync('/proc/self/task').length };
  console.log(`END ${JSON.stringify(figures)} ${JSON.stringify(tally)}`);
  if (figures.rss > figures.lost + MAX_KEPT_MB) fail('more memory is in use than counts as lost');
  process.exit(0);
}

// Not awaited: Node 22 ends when a worker is terminated at the first await of its module.
void (options.child || !isMainThread ? child() : watchAll(import.meta.url, options));
