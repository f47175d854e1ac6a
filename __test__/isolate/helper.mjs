// Programs in processes of their own: whatever a guest does there, the test's process detects it and continues.

import assert from 'node:assert/strict';
import { collectorArguments, run } from '../harness.mjs';

/** What every program has available. */
const PRELUDE = `
  import assert from 'node:assert/strict';
  const ms = () => performance.now();
  const isolate = new ivm.Isolate(globalThis.options);
  const context = isolate.createContextSync();
  /** Blocks this thread. */
  const block = (time) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time); };
  const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
  /** The error of a call, sync or async. */
  const errorOf = async (call) => {
    let value;
    try { value = await call(); } catch (error) { return error; }
    assert.fail('it gave ' + String(value));
  };
  const syncError = (call) => {
    let value;
    try { value = call(); } catch (error) { return error; }
    assert.fail('it gave ' + String(value));
  };
  /** Waits until a condition, or what it promises, holds; fails after \`limit\` milliseconds. */
  const waitFor = async (condition, limit = 10_000) => {
    for (const end = ms() + limit; !(await condition()); await sleep(5)) assert.ok(ms() < end, 'still not true: ' + condition);
  };
  /** Waits until the guest has run for some milliseconds of processor time: it is in the middle of what was started just before. */
  const runsOn = async (guest = isolate, time = 10) => {
    const before = guest.cpuTime;
    await waitFor(() => guest.cpuTime - before > BigInt(time) * 1_000_000n);
  };
  const otherWorks = () => {
    const other = new ivm.Isolate();
    assert.equal(other.createContextSync().evalSync('6 * 7'), 42);
    other.dispose();
  };
`.replaceAll(/\n\s*/g, '\n');

const END = 'the end of the program';

/**
 * Runs a program that must finish, with exit code 0 and nothing left running. It has `isolate` and `context`.
 * @param {string} code
 * @param {{ timeout?: number, options?: string, collects?: boolean, env?: Record<string, string> }} [settings] the time limit in
 *   milliseconds, the isolate's options as code, whether the program calls `gc()`, and what is added to its environment
 */
export async function passes(code, { timeout = 20_000, options = '{}', collects = false, env = {} } = {}) {
  const prelude = PRELUDE.replace('globalThis.options', options) + (collects ? 'globalThis.gc ??= () => Bun.gc(true);' : '');
  const result = await run(`${prelude}\n${code}\nconsole.log(${JSON.stringify(END)});`, { timeout, env, ...(collects ? { hostArgs: collectorArguments() } : {}) });
  const ending = { code: result.code, signal: result.signal, timedOut: result.timedOut, finished: result.stdout.trimEnd().endsWith(END) };
  assert.deepEqual(ending, { code: 0, signal: null, timedOut: false, finished: true }, `${JSON.stringify(ending)}\n${result.stdout}${result.stderr}`);
  return result;
}

/** `ivm`'s error with this code, in the form that `assert.throws` takes. */
export const coded = (code, message) => ({ name: 'Error', code: `ERR_ISOLATE_${code}`, ...(message === undefined ? {} : { message }) });
