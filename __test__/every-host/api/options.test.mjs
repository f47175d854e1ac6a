// Transfer options: how values travel, in both directions.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

const NOT_TRANSFERABLE = failure(TypeError, 'A non-transferable value was passed');

test('primitives are transferred both ways', () => withContext(({ context }) => {
  const values = [
    undefined, null, true, false, 0, -0, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 31), 0n, -1n, 2n ** 100n, '', 'a',
    'ÿ', 'Ā', '😀', '\ud800', 'x'.repeat(10_000), '☃'.repeat(10_000),
  ];
  for (const value of values) {
    assert.ok(Object.is(context.evalClosureSync('return $0', [value]), value), String(value).slice(0, 20));
    assert.ok(Object.is(context.evalClosureSync('return $0', [value], { arguments: { copy: true }, result: { copy: true } }), value));
  }
}));

test('strings are transferred whole, with any characters in any position', () => withContext(({ context }) => {
  const echo = context.evalSync('(text, length) => { if (text.length !== length) throw new Error(text.length); return text; }', { reference: true });
  for (const length of [254, 255, 256, 257, 1_000, 70_000]) {
    for (const character of ['x', '\x7f', '\x80', 'ÿ', 'Ā', '☃', '\0', '\ud800', '\udc00']) {
      for (const at of [0, 100, 253, length - 1]) {
        for (const rest of ['a', 'ÿ', '☃']) {
          const text = rest.repeat(at) + character + rest.repeat(length - at - 1);
          assert.ok(echo.applySync(undefined, [text, length]) === text, `${length} of ${rest}, ${character} at ${at}`);
        }
      }
    }
  }
}));

test('functions become wrappers that call back', () => withContext(({ context }) => {
  const seen = [];
  const double = context.evalClosureSync('return (value) => $0(value) * 2', [(value) => {
    seen.push(value);
    return value + 1;
  }]);
  assert.equal(double(4), 10);
  assert.deepEqual(seen, [4]);
}));

test('handles stay handles to the same value', () => withContext(({ isolate, context }) => {
  const value = { here: 1 };
  const back = context.evalClosureSync('return $0', [new ivm.Reference(value)]);
  assert.equal(back.deref(), value);
  assert.equal(context.evalClosureSync('return $0', [context]).evalSync('1 + 1'), 2);
  assert.equal(context.evalClosureSync('return $0', [isolate]).isDisposed, false);
  assert.equal(context.evalClosureSync('return $0', [isolate.compileScriptSync('9')]).runSync(context), 9);
  assert.deepEqual(context.evalClosureSync('return $0', [new ivm.ExternalCopy([1])]).copy(), [1]);
}));

test('copy', () => withContext(async ({ context }) => {
  const value = { list: Object.assign([1], { 2: 'a' }), map: new Map([[1, { deep: true }]]), set: new Set([2n]), date: new Date(5), text: '☃' };
  const both = { arguments: { copy: true }, result: { copy: true } };
  assert.deepEqual(context.evalClosureSync('return $0', [value], both), value);
  assert.deepEqual(await context.evalClosure('return $0', [value], both), value);
  const [first, second] = context.evalSync('const one = {}; [one, one]', { copy: true });
  assert.equal(first, second);
  const cyclic = context.evalSync('const self = {}; self.self = self; self', { copy: true });
  assert.equal(cyclic.self, cyclic);
  assert.equal(context.evalClosureSync('return Object.getPrototypeOf($0) === Object.prototype', [value], both), true);
}));

test('copy refuses values that cannot be cloned, with V8\'s message', () => withContext(async ({ context }) => {
  const into = (value) => () => context.evalClosureSync('return 1', [value], { arguments: { copy: true } });
  assert.throws(into(() => 1), failure(TypeError, '() => 1 could not be cloned.'));
  assert.throws(into({ inner() {} }), failure(TypeError, 'inner() {} could not be cloned.'));
  assert.throws(into(Promise.resolve()), failure(TypeError, '#<Promise> could not be cloned.'));
  assert.throws(into(new WeakMap()), failure(TypeError, '#<WeakMap> could not be cloned.'));
  assert.throws(into(Symbol('s')), failure(TypeError, 'Unsupported type'));
  assert.throws(() => context.evalSync('() => 1', { copy: true }), failure(TypeError, '() => 1 could not be cloned.'));
  assert.throws(() => context.evalSync('Promise.resolve()', { copy: true }), failure(TypeError, '#<Promise> could not be cloned.'));
  assert.throws(() => context.evalSync('Symbol("s")', { copy: true }), failure(TypeError, 'Unsupported type'));
  await assert.rejects(context.eval('({ a: Symbol("s") })', { copy: true }), failure(TypeError, 'Symbol(s) could not be cloned.'));
}));

test('externalCopy', () => withContext(async ({ context }) => {
  const copy = context.evalSync('({ a: 1 })', { externalCopy: true });
  assert.ok(copy instanceof ivm.ExternalCopy);
  assert.deepEqual(copy.copy(), { a: 1 });
  assert.deepEqual((await context.eval('[2]', { externalCopy: true })).copy(), [2]);
  assert.equal(context.evalSync('5', { externalCopy: true }).copy(), 5);
}));

test('reference', () => withContext(({ context }) => {
  const names = {
    '1': 'number', '"a"': 'string', 'null': 'null', 'undefined': 'undefined', 'true': 'boolean', 'Symbol()': 'object',
    '5n': 'object', '({})': 'object', '[]': 'object', '(() => 1)': 'function', 'class {}': 'function',
  };
  for (const [code, name] of Object.entries(names)) {
    assert.equal(context.evalSync(`(${code})`, { reference: true }).typeof, name, code);
  }
}));

test('promise returns a promise, also from sync methods and for other values', () => withContext(async ({ context }) => {
  const promise = context.evalSync('Promise.resolve(1)', { promise: true });
  assert.ok(promise instanceof Promise);
  assert.equal(await promise, 1);
  assert.equal(await context.evalSync('2', { promise: true }), 2);
  assert.deepEqual(await context.eval('Promise.resolve({ a: 1 })', { promise: true, copy: true }), { a: 1 });
  assert.equal((await context.eval('Promise.resolve({})', { promise: true, reference: true })).typeof, 'object');
  await assert.rejects(context.eval('Promise.resolve({})', { promise: true }), NOT_TRANSFERABLE);
  await assert.rejects(context.eval('Promise.reject(new RangeError("no"))', { promise: true }), failure(RangeError, 'no'));
  await assert.rejects(context.evalSync('Promise.reject(5)', { promise: true }), (error) => error === 5);
}));

test('promise: a pending promise settles later', () => withContext(async ({ context }) => {
  const promise = context.evalSync('new Promise((resolve, reject) => Object.assign(globalThis, { resolve, reject }))', { promise: true, copy: true });
  context.evalSync('resolve({ late: true })');
  assert.deepEqual(await promise, { late: true });
}));

test('promise: thenables are not promises', () => withContext(async ({ context }) => {
  await assert.rejects(context.eval('({ then() {} })', { promise: true }), NOT_TRANSFERABLE);
}));

test('promise: dispose abandons pending promises', async () => {
  const isolate = new ivm.Isolate();
  const promise = isolate.createContextSync().evalSync('new Promise(() => {})', { promise: true });
  isolate.dispose();
  await assert.rejects(promise, failure(Error, 'Promise was abandoned'));
});

test('promise: into the guest', () => withContext(async ({ context }) => {
  let resolve;
  let reject;
  const promise = new Promise((done) => {
    resolve = done;
  });
  const refused = new Promise((_done, fail) => {
    reject = fail;
  });
  const result = context.evalClosure('return $0.then((value) => value.a + 1)', [promise], {
    arguments: { copy: true, promise: true }, result: { promise: true },
  });
  resolve({ a: 1 });
  assert.equal(await result, 2);
  const rejected = context.evalClosure('return $0.catch((error) => error.message)', [refused], {
    arguments: { promise: true }, result: { promise: true },
  });
  reject(new Error('host'));
  assert.equal(await rejected, 'host');
}));

/** Resolves with the outcome of a call, whether it is sync or async. */
const settled = (call) => new Promise((resolve) => { resolve(call()); }).then((value) => ({ value }), ({ name, message }) => ({ name, message }));

test('promise: other values arrive settled, as they were at the time of the call', () => withContext(async ({ context }) => {
  const options = { arguments: { copy: true, promise: true }, result: { promise: true, copy: true } };
  for (const method of ['evalClosure', 'evalClosureSync']) {
    const value = { a: 1 };
    const result = context[method]('return $0', [value], options);
    value.a = 2;
    assert.deepEqual(await result, { a: 1 }, method);
    context[method]('$0.then((value) => { globalThis.seen = value.a })', [value], { arguments: options.arguments });
    if (method === 'evalClosureSync') assert.equal(context.evalSync('seen'), 2);
  }
  const value = new Uint8Array([1]);
  const first = context.evalSync('(promise) => promise.then((value) => value[0])', { reference: true });
  const applied = first.apply(undefined, [value], options);
  value[0] = 2;
  assert.equal(await applied, 1);
}));

test('promise: a promise of a value that is not transferable is rejected in the same turn', () => withContext(async ({ isolate, context }) => {
  const refusals = [
    [Symbol('x'), {}, 'A non-transferable value was passed'],
    [{}, {}, 'A non-transferable value was passed'],
    [Symbol('x'), { copy: true }, 'Unsupported type'],
    [{ f() {} }, { copy: true }, 'f() {} could not be cloned.'],
    [{ f() {} }, { externalCopy: true }, 'f() {} could not be cloned.'],
  ];
  const ignore = context.evalSync('() => 1', { reference: true });
  const look = context.evalSync('(promise) => promise.then(() => "nothing", (error) => error instanceof TypeError && error.message)', { reference: true });
  for (const [value, type, message] of refusals) {
    // Guests do not see the source of the host's function.
    const shown = message.replace('f() {}', 'function f() { [native code] }');
    const refused = { name: 'TypeError', message };
    const refusedInGuest = { name: 'TypeError', message: shown };
    const transfer = { ...type, promise: true };
    const options = { arguments: transfer, result: { promise: true } };
    for (const method of ['evalClosure', 'evalClosureSync']) {
      assert.equal(await context[method]('return $0.catch((error) => error.message)', [value], options), shown, method);
      // The rejection is not handled, so the call fails as it does without `promise`.
      assert.deepEqual(await settled(() => context[method]('return 1', [value], { arguments: transfer })), refusedInGuest, method);
      assert.deepEqual(await settled(() => context[method]('return 1', [value], { arguments: type })), refused, method);
    }
    for (const method of ['apply', 'applySync']) {
      assert.equal(await look[method](undefined, [value], options), shown, method);
      assert.deepEqual(await settled(() => ignore[method](undefined, [value], { arguments: transfer })), refusedInGuest, method);
      assert.deepEqual(await settled(() => ignore[method](undefined, [value], { arguments: type })), refused, method);
      const local = new ivm.Reference(() => value);
      if (type.copy) assert.deepEqual(await settled(() => local[method](undefined, [], { result: transfer })), refused, method);
    }
    for (const method of ['set', 'setSync']) {
      assert.deepEqual(await settled(() => context.global[method]('value', value, transfer)), refusedInGuest, method);
      assert.equal(await context.eval('value.catch((error) => error.message)', { promise: true }), shown);
    }
    ignore.applyIgnored(undefined, [value], { arguments: transfer });
  }
  assert.equal(isolate.isDisposed, false);
}));

test('promise: a function of the host whose result cannot be transferred', () => withContext(async ({ context }) => {
  context.global.setSync('make', new ivm.Reference(() => ({ f() {} })));
  const code = (call) => `(async () => { let promise; try { promise = ${call} } catch ({ message }) { return ['thrown', message] }
    return promise.then(() => 'nothing', ({ message }) => [promise instanceof Promise, message]) })()`;
  const result = (type) => `make.applySync(undefined, [], { result: ${type} })`;
  const message = 'function f() { [native code] } could not be cloned.';
  const copy = { promise: true, copy: true };
  assert.deepEqual(await context.evalSync(code(result('{ copy: true }')), copy), ['thrown', message]);
  assert.deepEqual(await context.evalSync(code(result('{ copy: true, promise: true }')), copy), [true, message]);
  // In the same turn: the unhandled rejection is that of this very call.
  assert.throws(() => context.evalSync(result('{ copy: true, promise: true }')), failure(TypeError, message));
  assert.deepEqual(await settled(() => context.eval(result('{ copy: true, promise: true }'))), { name: 'TypeError', message });
}));

test('promise: functions and references in other values stay alive', () => withContext(async ({ context }) => {
  const result = { promise: true, copy: true };
  for (const method of ['evalClosure', 'evalClosureSync']) {
    const sum = context[method]('return $0.then(async (add) => add(await $1.then((b) => b.copySync())))', [(b) => 40 + b, new ivm.Reference(2)],
      { arguments: { promise: true }, result });
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    assert.equal(await sum, 42, method);
    await context[method]('globalThis.kept = $0; kept.then((add) => { kept = add }); return 1', [(b) => 40 + b], { arguments: { promise: true } });
    for (let turn = 0; turn < 3; turn += 1) {
      new ivm.Reference({}).release();
      await context.evalClosure('return 1', [() => 0]);
    }
    assert.equal(context.evalSync('kept(2)'), 42, method);
  }
}));

test('copy includes handles', () => withContext(({ context }) => {
  const value = { inner: 7 };
  const result = context.evalClosureSync('return { again: $0.reference }', [{ reference: new ivm.Reference(value) }], {
    arguments: { copy: true }, result: { copy: true },
  });
  assert.equal(result.again.deref(), value);
}));

test('buffers', () => withContext(({ context }) => {
  const both = { arguments: { copy: true }, result: { copy: true } };
  const bytes = new Uint8Array([1, 2, 3, 4]);
  const result = context.evalClosureSync('$0[0] = 9; return $0', [bytes], both);
  assert.deepEqual([...result], [9, 2, 3, 4]);
  assert.deepEqual([...bytes], [1, 2, 3, 4]);
  assert.equal(context.evalClosureSync('return $0', [new ArrayBuffer(16)], both).byteLength, 16);
  const views = [
    new Int8Array(2), new Uint8ClampedArray(2), new Int16Array(2), new Uint16Array(2), new Int32Array(2), new Uint32Array(2),
    new Float32Array(2), new Float64Array(2), new BigInt64Array(2), new BigUint64Array(2), new DataView(new ArrayBuffer(8)),
  ];
  for (const view of views) {
    const back = context.evalClosureSync('return $0', [view], both);
    assert.equal(back.constructor.name, view.constructor.name);
    assert.equal(back.byteLength, view.byteLength);
  }
}));

test('a view of a possible pool brings only its own bytes', ours, () => withContext(({ context }) => {
  const pool = new Uint8Array(8192).fill(3);
  const seen = context.evalClosureSync('return [$0.length, $0.byteOffset, $0.buffer.byteLength, $0[0]].join()', [pool.subarray(2, 4)], {
    arguments: { copy: true },
  });
  assert.equal(seen, '2,0,2,3');
  assert.equal(context.evalClosureSync('return $0.buffer.byteLength', [Buffer.from('hi')], { arguments: { copy: true } }), 2);
}));

test('shared buffers are shared', () => withContext(({ context }) => {
  const shared = new SharedArrayBuffer(8);
  context.global.setSync('shared', shared, { copy: true });
  context.evalSync('new Uint8Array(shared)[3] = 7');
  assert.equal(new Uint8Array(shared)[3], 7);
  new Uint8Array(shared)[4] = 8;
  assert.equal(context.evalSync('new Uint8Array(shared)[4]'), 8);
  assert.equal(context.global.getSync('shared', { copy: true }).byteLength, 8);
}));

test('AsyncLocalStorage is kept across an await', async () => {
  const { AsyncLocalStorage } = await import('node:async_hooks');
  const storage = new AsyncLocalStorage();
  await withContext(({ context }) => storage.run('mine', async () => {
    await context.eval('1');
    assert.equal(storage.getStore(), 'mine');
    await assert.rejects(context.eval('throw new Error("x")'));
    assert.equal(storage.getStore(), 'mine');
  }));
});

test('errors of getters name their receiver, those of methods do not', () => {
  const getters = [[ivm.Isolate, 'cpuTime'], [ivm.Isolate, 'isDisposed'], [ivm.Isolate, 'referenceCount'], [ivm.Context, 'global'], [ivm.Reference, 'typeof']];
  for (const [{ prototype }, key] of getters) {
    const { get } = Object.getOwnPropertyDescriptor(prototype, key);
    for (const self of [{}, undefined]) assert.throws(() => get.call(self), failure(TypeError, '`undefined` requires `this` to be something else'));
  }
  assert.throws(() => ivm.Context.prototype.release.call({}), failure(TypeError, 'Illegal invocation'));
});

test('`memoryLimit` is finite', () => {
  assert.throws(() => new ivm.Isolate({ memoryLimit: Infinity }), failure(Error, '`memoryLimit` must be at least 8'));
});
