// @ts-check
'use strict';
// The self-test: each thing that the library promises, tried once, in a second or two altogether.

const { performance } = require('node:perf_hooks');
const { setInterval, clearInterval } = require('node:timers');

/**
 * @typedef {{ name: string, active: boolean, detail: string }} Layer
 *
 * @typedef {object} Outcome
 * @property {string} name
 * @property {number} ms
 * @property {string} [failure] why it does not work
 * @property {string} [missing] why it is not available here
 */

/** Longer than any of the checks takes, also on a busy machine. */
const DEADLINE_MS = 30_000;
const UNSUPPORTED = 'ERR_ISOLATE_UNSUPPORTED';

/**
 * @param {string} what
 * @param {unknown} found
 * @param {unknown} wanted
 */
function same(what, found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a} in the place of ${b}`);
}

/**
 * @param {() => unknown} work
 * @param {string} code
 */
async function fails(work, code) {
  const error = await Promise.resolve().then(work).then(() => undefined, (reason) => reason);
  if (error?.code !== code) throw error ?? new Error(`it succeeded instead of failing with ${code}`);
}

/** @param {{ result?: unknown, error?: string, failure?: { code?: string } }} outcome */
function resultOf({ result, error, failure }) {
  if (error !== undefined) throw Object.assign(new Error(error), { code: failure?.code });
  return result;
}

/** @type {Record<string, (ivm: any) => unknown>} */
const checks = {
  async 'runs code'(ivm) {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const context = isolate.createContextSync();
    same('sync', context.evalSync('6 * 7', { deadline: DEADLINE_MS }), 42);
    same('async', await context.eval('Promise.resolve([1, 2])', { promise: true, copy: true, deadline: DEADLINE_MS }), [1, 2]);
    isolate.dispose();
  },
  async 'has Intl, Temporal and WebAssembly'(ivm) {
    const isolate = new ivm.Isolate({ memoryLimit: 32 });
    const context = isolate.createContextSync();
    const code = '[new Intl.NumberFormat("de").format(1.5), String(Temporal.PlainDate.from("2024-02-29").add({ years: 1 })), typeof WebAssembly]';
    same('values', await context.eval(code, { copy: true, deadline: DEADLINE_MS }), ['1,5', '2025-02-28', 'object']);
    isolate.dispose();
  },
  async 'calls functions of the host'(ivm) {
    const sandbox = ivm.createSandbox({ twice: async (/** @type {number} */ n) => 2 * n });
    same('result', resultOf(await sandbox.execute('return twice(twice(10)) + 2')), 42);
  },
  async 'stops an endless loop'(ivm) {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const context = isolate.createContextSync();
    await fails(() => context.evalSync('for (;;) { new Array(1000).fill(1.5) }', { timeout: 100 }), 'ERR_ISOLATE_TIMEOUT');
    same('afterwards', context.evalSync('1', { deadline: DEADLINE_MS }), 1);
    isolate.dispose();
  },
  async 'leaves the event loop free meanwhile'(ivm) {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const context = isolate.createContextSync();
    let ticks = 0;
    const pulse = setInterval(() => { ticks += 1; }, 5);
    await fails(() => context.eval('for (;;);', { deadline: 200 }), 'ERR_ISOLATE_DEADLINE');
    clearInterval(pulse);
    isolate.dispose();
    if (ticks < 2) throw new Error('no timer of the host fired');
  },
  async 'ends a guest that takes all memory'(ivm) {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const context = isolate.createContextSync();
    await fails(() => context.eval('const kept = []; for (;;) kept.push(new Array(1000).fill(1.5));', { deadline: DEADLINE_MS }), 'ERR_ISOLATE_MEMORY');
    same('disposed', isolate.isDisposed, true);
  },
  async 'starts from a snapshot'(ivm) {
    const snapshot = ivm.Isolate.createSnapshot([{ code: 'const answer = 42' }]);
    const isolate = new ivm.Isolate({ snapshot });
    same('value', isolate.createContextSync().evalSync('answer', { deadline: DEADLINE_MS }), 42);
    isolate.dispose();
  },
  async 'runs an agent with tools'(ivm) {
    const sandbox = new ivm.AgentSandbox();
    const outcome = await sandbox.execute('return (await a.b({ n: 41 })) + 1', [{ name: 'a:b', description: '' }], async (/** @type {string} */ _name, /** @type {{ n: number }} */ { n }) => n);
    same('result', resultOf(outcome), 42);
    sandbox.dispose();
  },
  async 'keeps the state of plugins'(ivm) {
    const sandbox = new ivm.PluginSandbox();
    const isolate = await sandbox.createIsolate({ id: 'doctor' });
    await sandbox.executeInSandbox(isolate, 'var n = 41', {});
    same('state', await sandbox.executeInSandbox(isolate, 'n + 1', {}), 42);
    sandbox.disposeAll();
  },
  async 'removes the types of TypeScript'(ivm) {
    same('result', resultOf(await ivm.createSandbox({}, { typescript: true }).execute('const n: number = 42; return n')), 42);
  },
  async 'runs code in a process of its own'(ivm) {
    const sandbox = ivm.createSubprocessSandbox();
    same('result', resultOf(await sandbox.execute('return 6 * 7', [], async () => undefined)), 42);
  },
  'has lost no threads or memory'(ivm) {
    const { lostThreads, lostBytes } = ivm.engineStats();
    same('lost', { lostThreads, lostBytes }, { lostThreads: 0, lostBytes: 0 });
  },
};

/**
 * @param {any} ivm
 * @returns {Promise<{ confinement: Layer[] | string, checks: Outcome[] }>}
 */
async function examine(ivm) {
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const [name, check] of Object.entries(checks)) {
    const start = performance.now();
    const outcome = { name, ms: 0 };
    try {
      await check(ivm);
    } catch (/** @type {any} */ error) {
      const message = String(error?.message ?? error);
      Object.assign(outcome, error?.code === UNSUPPORTED ? { missing: message } : { failure: message });
    }
    outcomes.push({ ...outcome, ms: Math.round(performance.now() - start) });
  }
  /** @type {Layer[] | string} */
  let confinement;
  try {
    confinement = await ivm.createSubprocessSandbox().confinement();
  } catch (/** @type {any} */ error) {
    confinement = String(error?.message ?? error);
  }
  return { confinement, checks: outcomes };
}

module.exports = { examine };
