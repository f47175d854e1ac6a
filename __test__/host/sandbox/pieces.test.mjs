// Large amounts of data from guests, wherever a host can await them: the event loop keeps running, and twice as much takes twice as long.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { createExecutor } from '../../../adapters/codemode.js';
import { createIsolateDriver } from '../../../adapters/tanstack-ai.js';
import { Gaps } from '../../hostile/measure.mjs';
import { errorOf, hostContext, manifest, until } from '../../sandbox/plugin-helper.mjs';

const { createSandbox, Callback, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;

const MEGABYTE = 2 ** 20;
/** Milliseconds: an uninterrupted piece should take 50 at most, but CI's machines are slow and busy. */
const MAX_PIECE = 300;

/** Code of a value of `size` MB, as guests see it. */
const VALUES = {
  objects: (size) => `Array.from({ length: ${size * 8_000} }, (_, index) => ({ index, name: 'n' + index }))`,
  text: (size) => `'x\\u2200'.repeat(${(size * MEGABYTE) / 4})`,
};
const MORE_VALUES = {
  ...VALUES,
  'a map': (size) => `new Map(Array.from({ length: ${size * 8_000} }, (_, index) => ['k' + index, index]))`,
  'one object again and again': (size) => `Array(${size * 100_000}).fill({ a: 1 })`,
  BigInts: (size) => `Array.from({ length: ${Math.ceil(size / 8)} }, (_, index) => (index % 2 === 0 ? -1n : 1n) << BigInt(${8 * MEGABYTE * 8 - 2} - index))`,
};
const JSON_VALUES = {
  ...VALUES,
  quotes: (size) => `'"'.repeat(${(size * MEGABYTE) / 2})`,
  'a long key': (size) => `({ ['k"'.repeat(${(size * MEGABYTE) / 4})]: 1 })`,
};

/**
 * @param {() => Promise<unknown>} call
 * @returns {Promise<{ took: number, piece: number }>} milliseconds in total, and those of the longest piece
 */
async function measured(call) {
  const gaps = new Gaps();
  const start = performance.now();
  try {
    await call();
    return { took: performance.now() - start, piece: gaps.take() };
  } finally {
    gaps.stop();
  }
}

/** Tests a call with each value of a size in MB, and of twice that size. */
function eachValue(values, size, makeCall) {
  for (const [what, make] of Object.entries(values)) {
    test(what, async () => {
      const { call, end = () => {} } = await makeCall();
      try {
        const once = await measured(() => call(make(size)));
        let twice = await measured(() => call(make(2 * size)));
        if (twice.piece >= MAX_PIECE) {
          // The host's own garbage collection may have caused it.
          twice = await measured(() => call(make(2 * size)));
        }
        assert.ok(twice.piece < MAX_PIECE, `${twice.piece} ms in one piece`);
        assert.ok(twice.took < 2 * once.took * 3 + 1_500, `${once.took} ms, twice as much ${twice.took} ms`);
      } finally {
        await end();
      }
    });
  }
}

/** A plugin with a large quota, and its context. */
async function largePlugin(context, options) {
  const sandbox = new IsolatedVmSandbox(undefined, { maxOutputSize: Infinity, ...options });
  const isolate = await sandbox.createIsolate(manifest({ permissions: { network: { allowedDomains: ['example.org'] }, storage: { maxSize: 1e9 }, hooks: ['item.indexed'] }, limits: { memoryMB: 512, cpuMs: 60_000 } }));
  const made = hostContext(context);
  const run = (code) => sandbox.executeInSandbox(isolate, code, made, { deadline: 60_000 });
  return { run, made, sandbox, isolate, end: () => sandbox.disposeAll() };
}

const pluginCall = (context, code, options) => async () => {
  const { run, end } = await largePlugin(context, options);
  return { call: (value) => run(`{ ${code.replace('VALUE', value)} }`), end };
};

describe('IsolatedVmSandbox', () => {
  describe('cache.set', () => eachValue(MORE_VALUES, 20, pluginCall({ cache: new Map() }, 'context.cache.set("k", VALUE); 1')));
  describe('logger', () => eachValue({ BigInts: MORE_VALUES.BigInts }, 20, pluginCall({}, 'const value = VALUE; context.logger.info(...Array(5).fill(value), [value]); 1')));
  describe('console', () => eachValue(MORE_VALUES, 20, pluginCall({}, 'console.log(VALUE, 1); 1', { maxLogLength: 1e8 })));
  describe('a function that takes URLs', () => eachValue(VALUES, 4, pluginCall({ take: () => {} }, 'try { context.take({ list: VALUE }) } catch (error) { if (error.name !== "SandboxViolationError") throw error } 1')));
  describe('metrics', () => eachValue(VALUES, 4, pluginCall({}, 'context.metrics.setGauge(VALUE); 1')));
  describe('a result', () => eachValue(VALUES, 4, pluginCall({}, 'VALUE', { maxOutputSize: 1e9 })));
});

describe('sandboxes of agents', () => {
  const ofAgent = (Class, code) => async () => {
    const sandbox = new Class({ memoryLimit: 256, maxOutputSize: 1e9 });
    return { call: async (value) => assert.equal((await sandbox.execute(code.replace('VALUE', value), [{ name: 'api:take', description: '' }], async () => 1)).error, undefined) };
  };
  describe('IsolatedVMSandbox, parameters', () => eachValue(VALUES, 4, ofAgent(IsolatedVMSandbox, 'return api.take(VALUE)')));
  describe('IsolatedVMSandbox, a result', () => eachValue({ ...VALUES, BigInts: MORE_VALUES.BigInts }, 8, ofAgent(IsolatedVMSandbox, 'return VALUE')));
  describe('createSandbox, parameters', () => eachValue(VALUES, 4, async () => {
    const sandbox = createSandbox({ api: { take: async () => 1 } }, { memoryLimit: 256 });
    return { call: async (value) => assert.equal((await sandbox.execute(`return api.take(${value})`)).error, undefined) };
  }));
  if (process.platform === 'linux') {
    describe('SubprocessSandbox, parameters', () => eachValue(JSON_VALUES, 3, ofAgent(SubprocessSandbox, 'return api.take(VALUE)')));
    describe('SubprocessSandbox, a result', () => eachValue({ ...VALUES, BigInts: MORE_VALUES.BigInts }, 8, ofAgent(SubprocessSandbox, 'return VALUE')));
  }
});

describe('adapters', () => {
  describe('codemode, arguments', () => eachValue(VALUES, 4, async () => {
    const executor = createExecutor({ memoryLimit: 256 });
    return { call: async (value) => assert.equal((await executor.execute(`async () => codemode.take(${value})`, { take: async () => 1 })).error, undefined) };
  }));
  describe('tanstack-ai, a result', () => eachValue(VALUES, 4, async () => {
    const context = await createIsolateDriver().createContext({ bindings: {}, memoryLimit: 256 });
    return { call: async (value) => assert.equal((await context.execute(`return ${value}`)).success, true), end: () => context.dispose() };
  }));
});

describe('isolates', () => {
  const inContext = (use) => async () => {
    const isolate = new Isolate({ memoryLimit: 256 });
    const context = await isolate.createContext();
    return { call: (value) => use(context, value), end: () => isolate.dispose() };
  };
  describe('results', () => eachValue({ ...VALUES, BigInts: MORE_VALUES.BigInts }, 8, inContext((context, value) => context.eval(`(${value})`, { copy: true }))));
  describe('arguments of callbacks', () => eachValue(VALUES, 4, inContext((context, value) => context.evalClosure(`$0(${value}); return 1`, [new Callback(() => 1)]))));
});

describe('values measured in slices keep their order', () => {
  /** Larger than a slice. */
  const LARGE = MORE_VALUES.objects(8);

  test('calls of a plugin, synchronous ones included', async () => {
    const calls = [];
    const map = new Map();
    const cache = { set: (key, value) => { calls.push(`set ${key}`); map.set(key, value); return 'done'; }, get: (key) => { calls.push(`get ${key}`); return map.get(key)?.length; }, del: async (key) => { calls.push(`del ${key}`); return map.delete(key); } };
    const logger = { info: (...args) => { calls.push(`info ${args.map((each) => (Array.isArray(each) ? 'list' : each))}`); } };
    const { run, end } = await largePlugin({ cache, logger }, { maxLogLength: 1e8, onLog: ({ message }) => { calls.push(message.slice(0, 5)); } });
    assert.deepEqual(await run(`{
      const large = ${LARGE};
      const set = context.cache.set('a', large);
      context.logger.info('between');
      console.log(large);
      console.log('short');
      const got = context.cache.get('a');
      context.cache.set('a', 'small');
      [set, got, context.cache.get('a')];
    }`), ['done', 64_000, 5]);
    const [PREFIX] = ['org.example.plugin:'];
    assert.deepEqual(calls.filter((each) => !/^(?:\[ob|\[\{|Array|\[|short)/.test(each)), [`set ${PREFIX}a`, 'info between', `get ${PREFIX}a`, `set ${PREFIX}a`, `get ${PREFIX}a`]);
    const logs = calls.map((each, index) => [each, index]).filter(([each]) => /^(?:Array|\[|short)/.test(each));
    assert.equal(logs.length, 2);
    assert.deepEqual([logs[0][1], logs[1]], [2, ['short', 3]], 'before the call that follows them');
    end();
  });

  test('sets of one plugin at the same time have one quota', async () => {
    const map = new Map();
    const sandbox = new IsolatedVmSandbox();
    const made = manifest({ permissions: { storage: { maxSize: 6_000_000 } }, limits: { memoryMB: 128, cpuMs: 60_000 } });
    const isolates = await Promise.all([1, 2, 3].map(() => sandbox.createIsolate(made)));
    const context = hostContext({ cache: { set: async (key, value) => { map.set(key, value); }, get: async (key) => map.get(key) } });
    // They count four MB each.
    const set = (isolate, key) => sandbox.executeInSandbox(isolate, `context.cache.set('${key}', ${LARGE})`, context).then(() => 'set', (error) => error.kind);
    const outcomes = await Promise.all(isolates.map((isolate, index) => set(isolate, `k${index}`)));
    assert.deepEqual(outcomes.toSorted(), ['STORAGE', 'STORAGE', 'set']);
    assert.equal(map.size, 1);
    sandbox.disposeAll();
  });

  test('nothing is written after a deadline, an abort or the end of the isolate', async () => {
    let written = 0;
    let start = 0;
    let took = Infinity;
    let begun = () => {};
    const cache = { has: () => { start = performance.now(); begun(); return true; }, set: () => { written += 1; took = Math.min(took, performance.now() - start); }, get: () => written };
    const { isolate, made, sandbox, run, end } = await largePlugin({ cache });
    await run(`globalThis.large = Array.from({ length: 400_000 }, (_, index) => ({ index })); 1`);
    const code = 'context.cache.has("x"); context.cache.set("late", large); 1';
    await run(code);
    await run(code);
    assert.equal(written, 2);
    /** Stops the code while its value is read and measured. Tries earlier moments if it was faster than before. */
    const stopped = async (stop, parts = [0.7, 0.5, 0.3, 0.1]) => {
      for (const part of parts) {
        const controller = new AbortController();
        let timer;
        let before;
        begun = () => {
          timer = setTimeout(() => {
            before = written;
            stop(controller);
          }, took * part);
        };
        const error = await sandbox.executeInSandbox(isolate, code, made, { signal: controller.signal, deadline: 60_000 }).then(() => undefined, (reason) => reason);
        clearTimeout(timer);
        begun = () => {};
        // Otherwise the stop came too late, after the value was written.
        if (error !== undefined && before === 2) return error;
        assert.equal(written, 3);
        written = 2;
      }
      throw new Error('it was never stopped');
    };
    assert.equal((await stopped((controller) => controller.abort(new Error('enough')))).message, 'enough');
    assert.equal(await run('context.cache.get("x")'), 2, 'nothing comes later, and before the next call');
    // Reading and measuring the value alone takes longer.
    assert.equal((await errorOf(sandbox.executeInSandbox(isolate, code, made, { deadline: Math.max(1, Math.floor(took / 4)) }))).kind, 'CPU');
    assert.equal(await run('context.cache.get("x")'), 2);
    await stopped(end, [0.3]);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    assert.equal(written, 2);
  });

  test('a small value is set at once', async () => {
    const order = [];
    const { run, end } = await largePlugin({ cache: { set: () => { order.push('set'); } } });
    await run('for (let index = 0; index < 1_000; index += 1) context.cache.set("k", { index }); 1');
    assert.equal(order.length, 1_000);
    await until(() => order.length === 1_000);
    end();
  });
});
