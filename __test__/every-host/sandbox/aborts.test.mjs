// Aborting executions: for any reason, by anything that looks like a signal, at any stage. `execute` resolves with an error that names the abort;
// `executeInSandbox` rejects with the reason itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const throwing = (key) => Object.defineProperty(new Error('hidden'), key, { get() { throw new Error(`${key} is read`); } });

/** Reasons, and how executions report them. */
const REASONS = {
  null: [null, 'null'],
  zero: [0, '0'],
  nan: [NaN, 'NaN'],
  empty: ['', ''],
  false: [false, 'false'],
  symbol: [Symbol('s'), 'Symbol(s)'],
  bigint: [1n, '1'],
  longBigint: [1n << 100_000n, 'BigInt'],
  boxedBigint: [Object(1n << 100_000n), 'BigInt'],
  bigintMessage: [Object.defineProperty(new Error('hidden'), 'message', { value: 1n << 100_000n }), 'BigInt'],
  function: [Object.assign(() => {}, { toString: () => 'a function' }), 'a function'],
  bare: [Object.create(null), 'a value without a string form'],
  getter: [throwing('message'), 'a value without a string form'],
  code: [Object.defineProperty(new Error('coded'), 'code', { get() { throw new Error('code is read'); } }), 'coded'],
  proxy: [new Proxy({}, { get() { throw new Error('get'); }, getPrototypeOf() { throw new Error('prototype'); } }), 'a value without a string form'],
  thenable: [Object.defineProperty({}, `th${'en'}`, { value() { throw new Error('then is called'); } }), '[object Object]'],
};

const SANDBOXES = {
  createSandbox: (options) => {
    const sandbox = ivm.createSandbox({ wait: () => new Promise(() => {}) }, options);
    return { execute: (code, signal) => sandbox.execute(code, { signal }), wait: 'wait()' };
  },
  IsolatedVMSandbox: (options) => {
    const sandbox = new ivm.IsolatedVMSandbox(options);
    return { execute: (code, signal) => sandbox.execute(code, [{ name: 'a:b', description: '' }], () => new Promise(() => {}), { signal }), wait: 'await a.b()' };
  },
  ...(process.platform === 'linux' ? {
    SubprocessSandbox: (options) => {
      const sandbox = new ivm.SubprocessSandbox({ poolSize: 2, ...options });
      return { execute: (code, signal) => sandbox.execute(code, [{ name: 'a:b', description: '' }], () => new Promise(() => {}), { signal }), wait: 'await a.b()' };
    },
  } : {}),
};

const manifest = { id: 'org.example.a', name: 'A', version: '1.0.0', description: '', author: 'A', license: 'ISC', entrypoint: 'i.js' };
const later = (time, action) => { setTimeout(action, time); };
const said = ({ result, error, failure }) => [result, error, failure?.code];
const aborted = (text) => [null, `Execution was aborted: ${text}`, 'ERR_ISOLATE_ABORTED'];

/** An object that is a signal only by its interface. */
function signalLike(more = {}) {
  const listeners = new Set();
  const signal = {
    aborted: false,
    reason: undefined,
    addEventListener(_, listener, { once }) { listeners.add(once ? listener : () => listener()); },
    removeEventListener(_, listener) { listeners.delete(listener); },
  };
  const abort = (reason) => {
    Object.defineProperty(signal, 'aborted', { value: true });
    Object.defineProperty(signal, 'reason', { value: reason });
    for (const listener of listeners) {
      listeners.delete(listener);
      listener();
    }
  };
  Object.defineProperties(signal, Object.getOwnPropertyDescriptors(more));
  return { signal, abort, listeners };
}

for (const [name, make] of Object.entries(SANDBOXES)) {
  describe(name, () => {
    test('a reason of any kind, before and during execution', async () => {
      const { execute, wait } = make({});
      await Promise.all(Object.entries(REASONS).map(async ([kind, [reason, text]]) => {
        assert.deepEqual(said(await execute('1', AbortSignal.abort(reason))), aborted(text), `${kind}, before`);
        const controller = new AbortController();
        later(20, () => controller.abort(reason));
        assert.deepEqual(said(await execute(wait, controller.signal)), aborted(text), `${kind}, while it waits`);
      }));
      const controller = new AbortController();
      later(20, () => controller.abort(null));
      assert.deepEqual(said(await execute('for (;;);', controller.signal)), aborted('null'), 'while it computes');
    });

    test('while types are stripped', async () => {
      const { execute } = make({ typescript: true, modules: { './a.ts': 'export const a: number = 1;' } });
      for (const kind of ['null', 'symbol', 'getter', 'proxy']) {
        const [reason, text] = REASONS[kind];
        const controller = new AbortController();
        const running = execute('const n: number = 1; return n', controller.signal);
        controller.abort(reason);
        assert.deepEqual(said(await running), aborted(text), kind);
      }
      const { error, result } = await execute('const n: number = 1; return n', new AbortController().signal);
      assert.deepEqual([error, result], [undefined, 1], 'the isolate stays usable');
    });

    test('anything with the interface of a signal', async () => {
      const { execute, wait } = make({});
      const { signal, abort, listeners } = signalLike();
      later(20, () => abort('like'));
      assert.deepEqual(said(await execute(wait, signal)), aborted('like'));
      assert.equal(listeners.size, 0);
      const patient = signalLike();
      assert.equal((await execute('return 1', patient.signal)).error, undefined);
      assert.equal(patient.listeners.size, 0, 'what has ended does not listen');
      // Listening to it fails.
      const deaf = signalLike({ addEventListener() { throw new Error('deaf'); } });
      assert.deepEqual(said(await execute(wait, deaf.signal)), aborted('deaf'));
      // It is aborted while it is listened to.
      const sudden = signalLike({ addEventListener(_, listener) { sudden.abort('sudden'); listener(); } });
      assert.deepEqual(said(await execute(wait, sudden.signal)), aborted('sudden'));
      // Reading its state fails from the second time on.
      let reads = 0;
      const moody = signalLike({ get aborted() { reads += 1; if (reads > 1) throw new Error('moody'); return false; } });
      assert.deepEqual(said(await execute(wait, moody.signal)), aborted('moody'));
      // Its reason cannot be read, and listeners cannot be removed.
      const secret = signalLike({ aborted: true, get reason() { throw new Error('secret'); } });
      assert.deepEqual(said(await execute(wait, secret.signal)), aborted('secret'));
      const sticky = signalLike({ removeEventListener() { throw new Error('sticky'); } });
      assert.equal((await execute('return 1', sticky.signal)).error, undefined);
    });
  });
}

describe('IsolatedVmSandbox', () => {
  const plugged = async (options, body) => {
    const sandbox = new ivm.IsolatedVmSandbox(undefined, options);
    const isolate = await sandbox.createIsolate(manifest);
    try {
      await body((code, signal) => sandbox.executeInSandbox(isolate, code, { wait: () => new Promise(() => {}) }, { signal }));
    } finally {
      sandbox.disposeAll();
    }
  };
  const rejectsWith = async (promise, reason, place) => {
    const [{ status, reason: got }] = await Promise.allSettled([promise]);
    assert.equal(status, 'rejected', place);
    assert.ok(Object.is(got, reason), place);
  };

  test('a reason of any kind is what executions reject with', () => plugged({}, async (execute) => {
    await Promise.all(Object.entries(REASONS).map(async ([kind, [reason]]) => {
      await rejectsWith(execute('1', AbortSignal.abort(reason)), reason, `${kind}, before`);
      const controller = new AbortController();
      later(20, () => controller.abort(reason));
      await rejectsWith(execute('context.wait()', controller.signal), reason, `${kind}, while it waits`);
    }));
    assert.equal(await execute('6 * 7'), 42);
  }));

  test('while types are stripped', () => plugged({ typescript: true }, async (execute) => {
    for (const kind of ['null', 'symbol', 'getter', 'nan']) {
      const [reason] = REASONS[kind];
      const controller = new AbortController();
      const running = execute('const n: number = 1; n', controller.signal);
      controller.abort(reason);
      await rejectsWith(running, reason, kind);
    }
    assert.equal(await execute('const n: number = 42; n'), 42);
  }));

  test('anything with the interface of a signal', () => plugged({}, async (execute) => {
    const { signal, abort } = signalLike();
    later(20, () => abort('like'));
    await rejectsWith(execute('context.wait()', signal), 'like', 'like');
    await rejectsWith(execute('context.wait()', signalLike({ addEventListener() { throw 'deaf'; } }).signal), 'deaf', 'deaf');
    assert.equal(await execute('1', signalLike({ removeEventListener() { throw new Error('sticky'); } }).signal), 1);
  }));
});

test('executions of createSandbox do not reject for invalid arguments', async () => {
  const text = { toString() { throw new Error('toString is called'); } };
  const { proxy: [proxy], getter: [getter], symbol: [symbol], bare: [bare] } = REASONS;
  for (const code of [undefined, null, 1, symbol, text, proxy, bare]) {
    const { error, failure } = await ivm.createSandbox({}).execute(code);
    assert.deepEqual([error, failure.code], ['`code` must be a string', 'ERR_INVALID_ARG']);
  }
  for (const thrown of [null, symbol, text, proxy, getter, bare]) {
    const fail = { get signal() { throw thrown; } };
    assert.equal(typeof (await ivm.createSandbox({}).execute('1', fail)).error, 'string');
    const globals = { get value() { throw thrown; } };
    assert.equal(typeof (await ivm.createSandbox(globals).execute('1')).error, 'string');
  }
  for (const options of [1, 'x', { signal: 1 }, { signal: {} }, { signal: { get aborted() { throw new Error('no'); } } }, { other: 1 }]) {
    assert.equal((await ivm.createSandbox({}).execute('1', options)).failure.code, 'ERR_INVALID_ARG');
  }
});

test('a failing listener does not prevent other aborts', async () => {
  const isolate = new ivm.Isolate();
  const context = await isolate.createContext();
  const controller = new AbortController();
  const reason = REASONS.proxy[0];
  const calls = Array.from({ length: 20 }, () => context.eval('new Promise(() => {})', { promise: true, signal: controller.signal }));
  controller.abort(reason);
  for (const { status, reason: got } of await Promise.allSettled(calls)) {
    assert.equal(status, 'rejected');
    assert.ok(Object.is(got, reason));
  }
  assert.equal(await context.eval('1'), 1);
  isolate.dispose();
});
