// The host's time for reading a guest's value, on every path: within the limits of the call, and in small chunks if the call is asynchronous.
// Engines take much longer for these values. Bun's hashes are not those of `collisions.mjs`, so most values arrive there.
// two-kinds/wire/reader-time tests the reader alone.

import { EventEmitter } from 'node:events';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { Gaps } from '../../hostile/measure.mjs';
import { hostContext, plugin } from '../../sandbox/plugin-helper.mjs';
import { doubles } from '../../wire/collisions.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;

const FIXED_TIME = 250;
const TIME_PER_BYTE = 500e-6;
/** Additional milliseconds for work that is not reading, and for a busy machine. */
const MORE_TIME = 2_500;
const MAX_GAP = 300;
/** Milliseconds after the limit of a call, on a busy machine. */
const MAX_LATE = 1_000;
const OVER = ['ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_TRANSFER'];

/** How many doubles: at least 4 s where time grows with their square. */
const COUNT = 50_000;
const BYTES = COUNT * (9 + 32);
const MAX_TIME = FIXED_TIME + BYTES * TIME_PER_BYTE + MORE_TIME;
const keys = new Float64Array(doubles(COUNT));
/** The guest's code: `hostile()` is a Set that takes long to read. */
const PRELUDE = 'const hostile = () => { const set = new Set(); for (const key of keys) set.add(key); return set; };';

async function makeContext() {
  const isolate = new ivm.Isolate({ memoryLimit: 256 });
  const context = await isolate.createContext();
  await context.global.set('keys', keys, { copy: true });
  await context.eval(`globalThis.value = (() => { ${PRELUDE} return hostile(); })();`);
  return { isolate, context };
}

/** One isolate for all tests: making the value takes long, too. */
let made;
const sharedContext = () => (made ??= makeContext());
after(async () => { (await made)?.isolate.dispose(); });

/** The outcome, the milliseconds in total, and the longest gap. */
async function measured(run) {
  const watch = new Gaps();
  const start = performance.now();
  let outcome;
  try {
    outcome = await run();
  } catch (error) {
    outcome = error;
  }
  const took = performance.now() - start;
  const gap = watch.take();
  watch.stop();
  return { outcome, took, gap };
}

/** Either it arrived, or it was refused because of the time it takes. */
function check(outcome, what) {
  if (OVER.includes(outcome)) return;
  // Errors of plugins have codes of their own. What arrives there is too large for the network gate.
  if (outcome instanceof Error) assert.ok(OVER.includes(outcome.code) || /too m(?:uch work|any values)/.test(outcome.message), `${what}: ${outcome.stack}`);
  else assert.equal(outcome?.size ?? outcome, COUNT, what);
}

const size = (set) => set.size;
/** Returns the result of a call, or the code of the error that its caller gets. Inside, the error has no code. */
const CODE = "/too much work/.test(error.message) ? 'ERR_ISOLATE_LIMIT' : String(error)";
const CAUGHT = (call) => `(async () => { try { return await ${call}; } catch (error) { return ${CODE}; } })()`;
const TOOL = [{ name: 'host:take' }, { name: 'host:keys' }];
const failed = ({ message, code }) => Object.assign(new Error(message), { code });

/** Runs code of an agent, which has `hostile` and `host.take`. */
async function execute(sandbox, code, more) {
  const { result, failure } = await sandbox.execute(`const keys = new Float64Array(await host.keys()); ${PRELUDE} ${code}`, TOOL,
    async (name, params) => (name === 'host:keys' ? [...keys] : params.set?.size ?? 0), more);
  return failure === undefined ? result : failed(failure);
}

/** The same in a plugin, which has `context.take`. */
async function inPlugin(code) {
  const eventBus = new EventEmitter();
  let removedSize;
  eventBus.on('item.removed', (set) => { removedSize = set.size; });
  const { execute: run, sandbox } = await plugin({ context: hostContext({ keys: () => keys, take: size, eventBus }) });
  try {
    const result = await run(`const keys = context.keys(); ${PRELUDE} ${code}`, { deadline: 20_000 });
    return removedSize ?? result;
  } finally {
    sandbox.disposeAll();
  }
}

const ASYNC = {
  'a result': ({ context }) => context.eval('value', { copy: true }),
  'the result of a promise': ({ context }) => context.eval('(async () => value)()', { copy: true, promise: true }),
  'a property': ({ context }) => context.global.get('value', { copy: true }),
  'the cause of an error': async ({ context }) => (await context.eval('new Error("x", { cause: value })', { copy: true })).cause,
  'an argument of a callback': async ({ context }) => {
    await context.global.set('take', new ivm.Callback(size, { async: true }));
    return context.eval(CAUGHT('take(value)'), { promise: true });
  },
  'an argument of a Reference': async ({ context }) => {
    await context.global.set('take', new ivm.Reference(size));
    return context.eval(CAUGHT('take.apply(undefined, [value], { arguments: { copy: true } })'), { promise: true });
  },
  'a result of createSandbox': async () => {
    const sandbox = createSandbox({ host: { keys: () => [...keys] } }, { timeout: 20_000, memoryLimit: 256, maxOutputSize: 1e9 });
    const { result, failure } = await sandbox.execute(`const keys = new Float64Array(host.keys()); ${PRELUDE} return hostile();`);
    return failure === undefined ? result : failed(failure);
  },
  'a result of IsolatedVMSandbox': () => execute(new IsolatedVMSandbox({ timeout: 20_000, memoryLimit: 256 }), 'return hostile();'),
  'a result of a plugin': () => inPlugin('hostile();'),
  "an argument of a plugin's call": () => inPlugin('context.take(hostile());'),
  "an argument of a plugin's event": () => inPlugin("context.eventBus.emit('item.removed', hostile()); 0;"),
  ...(process.platform === 'linux'
    ? { 'a result of SubprocessSandbox': () => execute(new SubprocessSandbox({ timeout: 20_000, memoryLimit: 256 }), 'return hostile();') }
    : {}),
};

const SYNC = {
  'a result': (context, limits) => context.evalSync('value', { copy: true, ...limits }),
  'a property': (context, limits) => context.global.getSync('value', { copy: true, ...limits }),
  'a result of a Reference': (context, limits) => context.evalSync('() => value', { reference: true }).applySync(undefined, [], { result: { copy: true }, ...limits }),
  'an argument of a callback': (context, limits) => context.evalClosureSync(`try { return $0(value); } catch (error) { return ${CODE}; }`, [size], limits),
};

/** Also without a limit of the call: results, and arguments. */
const FREE = ['a result', 'an argument of a callback'];

describe('in chunks', () => {
  for (const [what, run] of Object.entries(ASYNC)) {
    test(what, async () => {
      const given = await sharedContext();
      const { outcome, took, gap } = await measured(() => run(given));
      check(outcome, what);
      assert.ok(took < MAX_TIME, `${took} of ${MAX_TIME} ms`);
      assert.ok(gap < MAX_GAP, `${gap} ms`);
    });
  }
});

describe('in one chunk', () => {
  for (const [what, run] of Object.entries(SYNC)) {
    test(what, async () => {
      const { context } = await sharedContext();
      if (FREE.includes(what)) {
        const free = await measured(() => run(context, {}));
        check(free.outcome, what);
        assert.ok(free.took < MAX_TIME, `${free.took} of ${MAX_TIME} ms`);
      }
      // Bun may finish earlier.
      const limited = await measured(() => run(context, { deadline: 150 }));
      if (limited.outcome instanceof Error) assert.ok(['ERR_ISOLATE_DEADLINE', ...OVER].includes(limited.outcome.code), limited.outcome.stack);
      // The guest may catch the error of its own call of the host before it is stopped itself.
      else if (limited.outcome !== 'Error: Execution exceeded its deadline') check(limited.outcome, what);
      assert.ok(limited.took < 150 + MAX_LATE, `${limited.took} ms`);
    });
  }

  test('`timeout` covers the reading of large values', async () => {
    const { context } = await sharedContext();
    const { outcome, took } = await measured(() => context.evalSync('value', { copy: true, timeout: 50 }));
    if (OVER.includes(outcome)) return;
    if (outcome instanceof Error) assert.ok(['ERR_ISOLATE_TIMEOUT', ...OVER].includes(outcome.code), outcome.stack);
    assert.ok(took < FIXED_TIME + 50 + MAX_LATE, `${took} ms`);
    // It does not count for small values.
    const large = await measured(() => context.evalSync('Array.from({ length: 50000 }, (_, id) => ({ id }))', { copy: true, timeout: 2_000 }));
    assert.equal(large.outcome.length, 50_000);
  });
});

/** 1.5 million objects: reading them takes longer than all of the limits below. */
const LONG = 'const long = []; for (let id = 0; id < 1.5e6; id += 1) long[id] = { id };';

describe('reading ends with the call', () => {
  const ends = {
    deadline: [async ({ context }) => context.eval('long', { copy: true, deadline: 900 }), 'ERR_ISOLATE_DEADLINE'],
    'deadline of a promise': [async ({ context }) => context.eval('Promise.resolve(long)', { copy: true, promise: true, deadline: 900 }), 'ERR_ISOLATE_DEADLINE'],
  };
  test('at its deadline, when it is aborted, and when its isolate is disposed', async () => {
    const isolate = new ivm.Isolate({ memoryLimit: 1_024 });
    const context = await isolate.createContext();
    await context.eval(LONG.replace('const long', 'globalThis.long'));
    // In the middle of reading, on a host of any speed.
    let middle = Infinity;
    for (const [what, [run, code]] of Object.entries(ends)) {
      const { outcome, took, gap } = await measured(() => run({ context }));
      middle = Math.min(middle, took / 2);
      // A fast host may be done.
      if (outcome instanceof Error) assert.equal(outcome.code, code, what);
      else assert.equal(outcome.length, 1.5e6);
      assert.ok(took < 900 + MORE_TIME && gap < 2 * MAX_GAP, `${what}: ${took} ms, ${gap} ms`);
    }
    const controller = new AbortController();
    const reason = new Error('mine');
    const aborted = measured(() => context.eval('long', { copy: true, signal: controller.signal }));
    setTimeout(() => controller.abort(reason), middle);
    assert.equal((await aborted).outcome, reason);
    // A value is being read when the loop continues with what has arrived.
    const disposed = measured(() => context.eval('long', { copy: true }));
    setTimeout(() => isolate.dispose(), middle);
    const { outcome, took } = await disposed;
    assert.equal(outcome.code, 'ERR_ISOLATE_DISPOSED');
    assert.ok(took < middle + MORE_TIME, `${took} ms`);
  });

  const sandboxes = { IsolatedVMSandbox: 'dispose', ...(process.platform === 'linux' ? { SubprocessSandbox: 'terminate' } : {}) };
  for (const [name, method] of Object.entries(sandboxes)) {
    test(`${name}: its timeout, its signal, and ${method}()`, async () => {
      const make = (timeout) => new ivm[name]({ timeout, memoryLimit: 1_024 });
      const code = `${LONG} return long;`;
      const run = async (sandbox, options) => {
        const { took, outcome } = await measured(() => sandbox.execute(code, [], async () => {}, options));
        return { took, code: outcome.failure?.code, result: outcome.result };
      };
      const late = await run(make(1_500));
      assert.ok(late.code === 'ERR_ISOLATE_DEADLINE' || late.result?.length === 1.5e6, late.code);
      assert.ok(late.took < 1_500 + MORE_TIME, `${late.took} ms`);
      const middle = late.took / 2;
      const controller = new AbortController();
      setTimeout(() => controller.abort(), middle);
      const aborted = await run(make(20_000), { signal: controller.signal });
      assert.equal(aborted.code, 'ERR_ISOLATE_ABORTED');
      assert.ok(aborted.took < middle + MORE_TIME, `${aborted.took} ms`);
      const sandbox = make(20_000);
      setTimeout(() => sandbox[method](), middle);
      const ended = await run(sandbox);
      assert.equal(ended.code, 'ERR_ISOLATE_DISPOSED');
      assert.ok(ended.took < middle + MORE_TIME, `${ended.took} ms`);
    });
  }
});

describe('parameters of tools of SubprocessSandbox', { skip: process.platform !== 'linux' }, () => {
  const texts = {
    'keys that collide': 'const o = {}; for (let i = 1; i <= 200000; i += 1) o[i * 65536] = 0; return o;',
    'gaps': 'const o = {}; for (let i = 0; i < 100000; i += 1) o[i] = 0; for (let i = 0; i < 500; i += 1) o[100000 + i * 1100] = 0; return o;',
    'many empty lists': 'return Array.from({ length: 1e6 }, () => []);',
  };
  for (const [what, make] of Object.entries(texts)) {
    test(what, async () => {
      const sandbox = new SubprocessSandbox({ timeout: 20_000, memoryLimit: 256 });
      const { outcome, took, gap } = await measured(() => execute(sandbox, `const make = () => { ${make} }; return host.take({ o: make() });`));
      assert.ok(outcome === 0 || OVER.includes(outcome.code), outcome?.stack);
      assert.ok(took < 10_000, `${took} ms`);
      assert.ok(gap < 2 * MAX_GAP, `${gap} ms`);
    });
  }

  test('values that nest too deeply, or use too much memory', async () => {
    const sandbox = new SubprocessSandbox({ timeout: 20_000, memoryLimit: 64 });
    const deep = await execute(sandbox, 'try { await host.take({ __proto__: null, toJSON: () => JSON.parse("[".repeat(11000) + "]".repeat(11000)) }); } catch (error) { return error.message; }');
    assert.match(String(deep.message ?? deep), /nested too deeply|call stack/);
  });
});

describe('regular expressions that take long to create, in a small message', () => {
  const [source, flags] = process.versions.bun === undefined ? [String.raw`'\\p{RGI_Emoji}'.repeat(5)`, 'v'] : [String.raw`'[\\P{L}' + '[a]'.repeat(15) + ']'`, 'vi'];
  const make = (count) => `globalThis.list = []; for (let i = 0; i < ${count}; i += 1) list.push(new RegExp(${source} + i, '${flags}'));`;

  test('are arguments of a call that the event loop serves', async () => {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('take', new ivm.Callback((...list) => list.length, { async: true }));
    await context.eval(make(40));
    const { outcome, gap } = await measured(() => context.eval(CAUGHT('take(...list)'), { promise: true }));
    assert.ok(outcome === 40 || OVER.includes(outcome), String(outcome));
    assert.ok(gap < 2 * MAX_GAP, `${gap} ms`);
    isolate.dispose();
  });

  test('are arguments of a call in a synchronous call', async () => {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('take', (...list) => list.length);
    await context.global.set('reference', new ivm.Reference((...list) => list.length));
    await context.eval(make(300));
    for (const [code, limits] of [
      ['take(...list)', { timeout: 300, deadline: 300 }],
      ['reference.applySync(undefined, list, { arguments: { copy: true } })', { timeout: 300 }],
    ]) {
      const { outcome, took } = await measured(async () => context.evalSync(code, limits));
      assert.ok(outcome === 300 || /timed out|deadline|too much work/.test(outcome), `${code}: ${outcome}`);
      assert.ok(took < 300 + MAX_LATE, `${took} ms`);
    }
    isolate.dispose();
  });
});
