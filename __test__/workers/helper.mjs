// Programs with worker threads, in processes of their own. One file has both parts: the main thread's and the workers'.

import assert from 'node:assert/strict';
import { run } from '../harness.mjs';

const PRELUDE = `
  import { isMainThread, parentPort, threadId, Worker, workerData } from 'node:worker_threads';
  const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
  const make = () => { const isolate = new ivm.Isolate({ memoryLimit: 16 }); return { isolate, context: isolate.createContextSync() }; };
  const same = (actual, expected) => { if (actual !== expected) throw new Error('got ' + String(actual) + ', not ' + String(expected)); };
  /** Notifies the main thread that it may continue. */
  const tell = () => parentPort.postMessage('ready');
  const work = (data) => new Worker(new URL(import.meta.url), { workerData: data });
  /** The exit code of a worker; an error in it ends this process. */
  const exited = (worker) => new Promise((resolve, reject) => {
    worker.once('exit', resolve);
    worker.once('error', reject);
  });
  /** A worker that has reported that it is ready. */
  const ready = (data) => new Promise((resolve, reject) => {
    const worker = work(data);
    worker.once('message', () => resolve(worker));
    worker.once('error', reject);
  });
`.replaceAll(/\n\s*/g, '\n');

/**
 * Runs a program that must end by itself with this exit code and output.
 * @param {string} main what the main thread does
 * @param {string} worker what a worker does
 * @param {{ exit?: number, stdout?: string, limit?: number }} [expected]
 */
export async function workers(main, worker, { exit = 0, stdout = '', limit = 60_000 } = {}) {
  const result = await run(`${PRELUDE}\nif (isMainThread) {\n${main}\n} else {\n${worker}\n}`, { timeout: limit });
  assert.deepEqual(
    { code: result.code, signal: result.signal, timedOut: result.timedOut, stdout: result.stdout },
    { code: exit, signal: null, timedOut: false, stdout },
    `after ${Math.round(result.ms)} ms\n${result.stdout}${result.stderr}`,
  );
  assert.doesNotMatch(result.stderr, /panick|fatal|SIG|Segmentation|UnhandledPromise/i);
}
