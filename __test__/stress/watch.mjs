// Runs a stress test in processes of its own, and watches their progress: a process that prints nothing for long is described and ended.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { collectorArguments } from '../harness.mjs';

const OPTIONS = {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  workers: { type: 'string', default: '2' },
  /** Seconds: longer than any call with its grace on a busy machine. */
  silence: { type: 'string', default: '60' },
  child: { type: 'boolean' },
};
/** How long a silent process is watched, to see whether its threads wait for a processor or for each other. */
const SAMPLE_MS = 2_000;

/** @param {Record<string, any>} [more] options of the stress test */
export function readOptions(more = {}) {
  const { values } = parseArgs({ options: { ...OPTIONS, ...more }, strict: false });
  const { seconds, seed, workers, silence } = values;
  return { ...values, seconds: Number(seconds), seed: Number(seed), workers: Number(workers), silence: Number(silence) };
}

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
export const collect = globalThis.gc ?? globalThis.Bun?.gc ?? (() => {});

/**
 * A function that starts a worker with a program: it runs for some seconds, and most are terminated at a random moment.
 * @param {string} url of the program
 * @param {{ random: () => number, below: (limit: number) => number, count: (what: string) => void, fail: (what: string) => void }} stress
 * @param {() => object} optionsOf of each worker
 */
export function workersOf(url, { random, below, count, fail }, optionsOf) {
  const workers = new Set();
  const start = () => {
    const worker = new Worker(new URL(url), { workerData: [below(1e9), Date.now() + 500 + below(8_000)], ...optionsOf() });
    workers.add(worker);
    worker.on('error', (error) => fail(`worker: ${error.stack}`));
    worker.on('exit', (code) => {
      workers.delete(worker);
      count(`worker exit ${code}`);
      if (code === 3) process.exit(3);
    });
    if (random() < 0.6) setTimeout(() => void worker.terminate(), below(4_000));
  };
  return { start, get size() { return workers.size; } };
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
async function watch(file, seed, seconds, silence) {
  const running = spawn(process.execPath, [...collectorArguments(), fileURLToPath(file), ...process.argv.slice(2), '--child', '--seed', String(seed), '--seconds', String(seconds)], { stdio: ['ignore', 'pipe', 'inherit'] });
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
    if (Date.now() - last < silence) return;
    clearInterval(timer);
    console.log(`PROBLEM no progress since ${Math.round((Date.now() - last) / 1000)} s; last: ${end}`);
    void describe(running.pid).catch((error) => console.log(error)).finally(() => running.kill('SIGKILL'));
  }, 1_000);
  const code = await new Promise((resolve) => { running.on('close', (status, signal) => resolve(signal ?? status)); });
  clearInterval(timer);
  if (code !== 0) console.log(`FAILED ${code} with seed ${seed}; last: ${end}`);
  return code;
}

/**
 * Runs processes of the stress test in this file, one after the other.
 * @param {string} file
 * @param {ReturnType<typeof readOptions>} options
 */
export async function watchAll(file, options) {
  const started = Date.now();
  const seconds = () => Math.ceil((started - Date.now()) / 1000 + options.seconds);
  let [seed, code] = [options.seed, 0];
  while (code === 0 && seconds() > 0) {
    code = await watch(file, seed, seconds(), options.silence * 1000);
    seed += 1;
  }
  if (code === 0) console.log(`ok after ${Math.round((Date.now() - started) / 1000)} s in ${seed - options.seed} processes`);
  process.exitCode = code === 0 ? 0 : 1;
}
