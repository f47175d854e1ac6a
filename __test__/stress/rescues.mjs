// A stress test that is not part of the suite: guests that do not stop, on the threads of their callers, at random moments on the main thread and
// in workers, beside everything else that a host does. A parent process watches its progress, and starts another process when one has lost as much
// memory as it may.
// `node --expose-gc __test__/stress/rescues.mjs [--seconds 60] [--seed 1] [--workers 2] [--silence 60]`, or the same with Bun or Deno.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { collectorArguments, moduleEntry } from '../harness.mjs';
import { createRandom, isExpected } from './life.mjs';

const options = {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  workers: { type: 'string', default: '2' },
  silence: { type: 'string', default: '60' },
  child: { type: 'boolean' },
};
const { values } = parseArgs({ options, strict: false });

/** Longer than any call with its grace on a busy machine. */
const MAX_SILENCE_MS = Number(values.silence) * 1000;
/** How long a silent process is watched, to see whether its threads wait for a processor or for each other. */
const SAMPLE_MS = 2_000;
const BEAT_MS = 1_000;
/** What a process may lose before it ends, in MB: less than the smallest default of `lostMemoryLimit`. */
const MAX_LOST_MB = 1_000;
/** What a process may keep beside what it counts as lost, in MB. */
const MAX_KEPT_MB = 600;

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Guests that V8 does not stop, or stops late. */
const ENDLESS = [
  'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'Array.prototype.indexOf.call(new Array(2 ** 32 - 1), 1)',
  'const a = new Array(1e6).fill("x"); for (;;) JSON.stringify(a)',
  'const a = "[" + "[1],".repeat(5e5) + "1]"; for (;;) JSON.parse(a)',
  'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
  '"ab".repeat(2 ** 23).replaceAll("a", "xyz").replaceAll("b", "xyz").length',
  '"\\u00e9".repeat(2 ** 21).normalize("NFD").normalize("NFKC").length',
  'const b = 3n ** 100000n; for (;;) b * b % (2n ** 150000n - 1n)',
  'const all = []; for (;;) all.push(new Array(1000).fill(1.5))',
  '/(a*)*$/.test("a".repeat(40) + "b")',
  'for (;;) new Intl.Collator("de").compare("a".repeat(1e5), "b".repeat(1e5))',
  'for (;;) new Intl.DateTimeFormat("ar-EG", { dateStyle: "full" }).format(1e12)',
  'const m = new Map(); for (let i = 0; i < 1e5; i += 1) m.set({}, i); for (;;) new Map(m)',
  'for (;;) Temporal.PlainDate.from("2020-01-01").add({ days: 1e6 }).toString({ calendarName: "always" })',
  'for (let i = 0; ; i += 1) new Function("return " + "1+".repeat(1000) + i)()',
  'const f = () => f() + 1; for (;;) try { f(); } catch {}',
  'const remainders = new Function("x", "y", "let s = 0;" + "s += x % y;".repeat(20000) + "return s"); for (;;) remainders(1e308, 3e-308)',
  'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  'const a = Array.from({ length: 3e5 }, (_, i) => ({ i })); for (;;) a.sort((x, y) => y.i - x.i).flat()',
  'for (let i = 0; ; i += 1) { const kept = new WeakRef({ i }); new FinalizationRegistry(() => {}).register({ kept }, i); }',
  'const w = new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,10,9,1,7,0,3,64,12,0,11,11]); for (;;) new WebAssembly.Module(w)',
  'const w = new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11]); new WebAssembly.Instance(new WebAssembly.Module(w)).exports.f()',
];

const CODES = new Set(['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_DISPOSED', 'ERR_ISOLATE_LIMIT']);

function resident() {
  return process.memoryUsage().rss / 2 ** 20;
}

async function child() {
  const { default: ivm } = await import(moduleEntry);
  ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 10 });
  const [seed, end] = isMainThread ? [Number(values.seed), Date.now() + Number(values.seconds) * 1000] : workerData;
  let until = end;
  const random = createRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const collect = globalThis.gc ?? globalThis.Bun?.gc ?? (() => {});
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
  const workers = new Set();
  const startWorker = () => {
    const worker = new Worker(new URL(import.meta.url), { argv: ['--child'], workerData: [below(1e9), Date.now() + 500 + below(8_000)], resourceLimits: random() < 0.3 ? { stackSizeMb: 1 } : {} });
    workers.add(worker);
    worker.on('error', (error) => fail(`worker: ${error.stack}`));
    worker.on('exit', (code) => {
      workers.delete(worker);
      count(`worker exit ${code}`);
      if (code === 3) process.exit(3);
    });
    if (random() < 0.6) setTimeout(() => void worker.terminate(), below(4_000));
  };
  process.on('SIGUSR2', () => count('SIGUSR2'));
  let lately = Date.now();
  while (Date.now() < until) {
    rescue();
    count('rescues');
    await works();
    if (isMainThread) {
      if (workers.size < Number(values.workers)) startWorker();
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

/** Prints what each thread of a silent process does. One that waits for a processor all the time is starved, not blocked. */
async function describe(pid) {
  const of = (task, file) => { try { return readFileSync(`/proc/${pid}/task/${task}/${file}`, 'utf8').trim(); } catch { return ''; } };
  /** Nanoseconds on a processor, and in the queue for one. */
  const times = (task) => of(task, 'schedstat').split(' ').map(Number);
  const tasks = readdirSync(`/proc/${pid}/task`);
  const before = new Map(tasks.map((task) => [task, times(task)]));
  await sleep(SAMPLE_MS);
  for (const task of tasks) {
    const [ran, queued] = times(task).map((time, index) => Math.round((time - before.get(task)[index]) / 1e6));
    console.log(`${task} ${of(task, 'comm')}: ran for ${ran} ms and waited for a processor for ${queued} of ${SAMPLE_MS} ms; ${of(task, 'wchan')} ${of(task, 'syscall')}`);
  }
  // After that, as it stops the process.
  const { stdout, error } = spawnSync('gdb', ['-p', String(pid), '-batch', '-ex', 'thread apply all bt 14'], { encoding: 'utf8', timeout: 120_000, maxBuffer: 2 ** 26 });
  console.log(error === undefined ? stdout : `No stacks: ${error.message}`);
}

/** Runs one process. Returns how it ended. */
async function watch(seed, seconds) {
  const running = spawn(process.execPath, [...collectorArguments(), fileURLToPath(import.meta.url), ...process.argv.slice(2), '--child', '--seed', String(seed), '--seconds', String(seconds)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let last = Date.now();
  let end;
  running.stdout.setEncoding('utf8').on('data', (text) => {
    last = Date.now();
    for (const line of text.split('\n').filter(Boolean)) {
      if (line.startsWith('BEAT')) end = line;
      else console.log(line);
    }
  });
  const timer = setInterval(() => {
    if (Date.now() - last < MAX_SILENCE_MS) return;
    clearInterval(timer);
    console.log(`PROBLEM no progress since ${Math.round((Date.now() - last) / 1000)} s; last: ${end}`);
    void describe(running.pid).catch((error) => console.log(error)).finally(() => running.kill('SIGKILL'));
  }, 1_000);
  const code = await new Promise((resolve) => { running.on('close', (status, signal) => resolve(signal ?? status)); });
  clearInterval(timer);
  if (code !== 0) console.log(`FAILED ${code} with seed ${seed}; last: ${end}`);
  return code;
}

async function watchAll() {
  const started = Date.now();
  const seconds = () => Math.ceil((started - Date.now()) / 1000 + Number(values.seconds));
  let [seed, code] = [Number(values.seed), 0];
  while (code === 0 && seconds() > 0) {
    code = await watch(seed, seconds());
    seed += 1;
  }
  if (code === 0) console.log(`ok after ${Math.round((Date.now() - started) / 1000)} s in ${seed - Number(values.seed)} processes`);
  process.exitCode = code === 0 ? 0 : 1;
}

// Not awaited: Node 22 ends when a worker is terminated at the first await of its module.
void (values.child || !isMainThread ? child() : watchAll());
