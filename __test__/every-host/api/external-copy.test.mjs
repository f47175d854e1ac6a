// `ExternalCopy`: copies outside all heaps.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

const RELEASED = failure(Error, 'Copy has been released');

test('copy returns a new value each time', () => {
  const value = { list: Object.assign([1], { 2: 'a' }), map: new Map([[1, { deep: true }]]), set: new Set([2n]), date: new Date(5), regexp: /a/gi };
  const copy = new ivm.ExternalCopy(value);
  assert.deepEqual(copy.copy(), value);
  assert.notEqual(copy.copy(), copy.copy());
  for (const primitive of [undefined, null, true, -0, 1.5, 'text', '\ud800', 10n ** 30n]) {
    assert.ok(Object.is(new ivm.ExternalCopy(primitive).copy(), primitive));
  }
});

test('the copy is made at construction', () => {
  const value = { a: 1 };
  const copy = new ivm.ExternalCopy(value);
  value.a = 2;
  assert.deepEqual(copy.copy(), { a: 1 });
});

test('options are checked', () => {
  assert.throws(() => new ivm.ExternalCopy(1, 1), failure(TypeError, '`ExternalCopy` requires parameter 2 to be an object'));
  assert.throws(() => new ivm.ExternalCopy(1, { transferList: 1 }), failure(TypeError, '`transferList` must be an array'));
  assert.throws(() => new ivm.ExternalCopy(1, { transferOut: 1 }), failure(TypeError, '`transferOut` must be a boolean'));
  assert.throws(() => new ivm.ExternalCopy({}, { transferList: [1] }), failure(TypeError, 'Non-ArrayBuffer passed in `transferList`'));
  const copy = new ivm.ExternalCopy(1);
  assert.throws(() => copy.copy(1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
  assert.throws(() => copy.copyInto(1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
  assert.throws(() => copy.copy({ release: 1 }), failure(TypeError, '`release` must be a boolean'));
  assert.throws(() => copy.copyInto({ transferIn: 1 }), failure(TypeError, '`transferIn` must be a boolean'));
  assert.equal(copy.copy(null), 1);
});

test('values that cannot be cloned are refused with V8\'s message', () => {
  assert.throws(() => new ivm.ExternalCopy(Symbol('s')), failure(TypeError, 'Unsupported type'));
  assert.throws(() => new ivm.ExternalCopy(() => 1), failure(TypeError, '() => 1 could not be cloned.'));
  assert.throws(() => new ivm.ExternalCopy({ a() {} }), failure(TypeError, 'a() {} could not be cloned.'));
  assert.throws(() => new ivm.ExternalCopy({ a: Symbol('x') }), failure(TypeError, 'Symbol(x) could not be cloned.'));
  assert.throws(() => new ivm.ExternalCopy(Promise.resolve()), failure(TypeError, '#<Promise> could not be cloned.'));
  assert.throws(() => new ivm.ExternalCopy(new Proxy({}, {})), failure(TypeError, '#<Object> could not be cloned.'));
  assert.throws(() => new ivm.ExternalCopy(new WeakMap()), failure(TypeError, '#<WeakMap> could not be cloned.'));
});

test('errors are copied', ours, () => {
  const { error } = new ivm.ExternalCopy({ error: new RangeError('inside') }).copy();
  assert.ok(error instanceof RangeError);
  assert.equal(error.message, 'inside');
  assert.ok(new ivm.ExternalCopy(new TypeError('whole')).copy() instanceof TypeError);
});

test('handles inside a copy stay handles', () => {
  const value = { q: 1 };
  const { reference } = new ivm.ExternalCopy({ reference: new ivm.Reference(value) }).copy();
  assert.ok(reference instanceof ivm.Reference);
  assert.equal(reference.deref(), value);
  assert.equal(new ivm.ExternalCopy(new ivm.ExternalCopy(4)).copy().copy(), 4);
});

test('copyInto: once, into any isolate', () => withContext(({ context }) => {
  const copy = new ivm.ExternalCopy({ a: [1] });
  const into = copy.copyInto();
  context.global.setSync('value', into);
  assert.equal(context.evalSync('value.a[0]'), 1);
  assert.throws(() => context.global.setSync('value', into), failure(Error, 'The return value of `copyInto()` should only be used once'));
  assert.equal(context.evalClosureSync('return $0.a.length', [copy.copyInto({ release: true })]), 1);
  assert.throws(() => copy.copy(), RELEASED);
  const local = new ivm.Reference((value) => value.b);
  assert.equal(local.applySync(undefined, [new ivm.ExternalCopy({ b: 2 }).copyInto()]), 2);
}));

test('release', () => {
  const copy = new ivm.ExternalCopy('x');
  assert.equal(copy.release(), undefined);
  assert.throws(() => copy.release(), RELEASED);
  assert.throws(() => copy.copy(), RELEASED);
  assert.throws(() => copy.copyInto(), RELEASED);
  const once = new ivm.ExternalCopy({ a: 1 });
  assert.deepEqual(once.copy({ release: true }), { a: 1 });
  assert.throws(() => once.copy(), RELEASED);
});

test('dispose() is an alias of release()', ours, () => {
  const copy = new ivm.ExternalCopy(1);
  copy.dispose();
  assert.throws(() => copy.copy(), { code: 'ERR_ISOLATE_RELEASED' });
});

test('copies that were passed on survive a release', () => withContext(({ context }) => {
  const copy = new ivm.ExternalCopy({ a: 1 });
  context.global.setSync('copy', copy);
  copy.release();
  assert.deepEqual(context.global.getSync('copy').copy(), { a: 1 });
  assert.equal(context.evalSync('copy.copy().a'), 1);
}));

test('transferOut moves a buffer', () => {
  const buffer = new ArrayBuffer(8);
  new Uint8Array(buffer)[0] = 5;
  const copy = new ivm.ExternalCopy(buffer, { transferOut: true });
  assert.equal(buffer.byteLength, 0);
  assert.equal(new Uint8Array(copy.copy())[0], 5);
  const view = new Uint16Array([1, 2, 3]);
  const moved = new ivm.ExternalCopy(view, { transferOut: true });
  assert.equal(view.length, 0);
  assert.deepEqual([...moved.copy()], [1, 2, 3]);
  const plain = new ArrayBuffer(8);
  assert.equal(new ivm.ExternalCopy(plain).copy().byteLength, 8);
  assert.equal(plain.byteLength, 8);
});

test('transferList moves buffers inside', () => {
  const buffer = new ArrayBuffer(8);
  const kept = new ArrayBuffer(4);
  const copy = new ivm.ExternalCopy({ buffer, kept }, { transferList: [buffer] });
  assert.equal(buffer.byteLength, 0);
  assert.equal(kept.byteLength, 4);
  assert.equal(copy.copy().buffer.byteLength, 8);
  assert.equal(copy.copy().kept.byteLength, 4);
});

test('transferIn empties the copy', () => {
  const copy = new ivm.ExternalCopy(new ArrayBuffer(8));
  assert.equal(copy.copy({ transferIn: true }).byteLength, 8);
  assert.throws(() => copy.copy(), failure(Error, 'Array buffer is invalid'));
  assert.throws(() => copy.copyInto({ transferIn: true }) && copy.copy(), failure(Error, 'Array buffer is invalid'));
  copy.release();
});

test('transferIn of a value without buffers has no effect', () => {
  for (const value of ['text', 1, { a: [1] }]) {
    const copy = new ivm.ExternalCopy(value);
    assert.deepEqual(copy.copy({ transferIn: true }), value);
    assert.deepEqual(copy.copy(), value);
    copy.release();
  }
});

test('a view outside its shrunken buffer arrives empty', () => withContext(({ context }) => {
  for (const view of ['new Uint8Array(buffer, 4, 4)', 'new BigInt64Array(buffer, 8)', 'new DataView(buffer, 4, 4)']) {
    const code = `const buffer = new ArrayBuffer(16, { maxByteLength: 32 }); const view = ${view}; buffer.resize(2); return view`;
    const copy = context.evalClosureSync(code, [], { result: { copy: true } });
    assert.equal(copy.constructor.name, /new (\w+)/.exec(view)[1]);
    assert.deepEqual([copy.byteLength, copy.byteOffset, copy.buffer.byteLength], [0, 0, 2]);
  }
}));

test('shared buffers stay shared', () => {
  const shared = new SharedArrayBuffer(8);
  const copy = new ivm.ExternalCopy(shared).copy();
  new Uint8Array(shared)[0] = 3;
  assert.equal(new Uint8Array(copy)[0], 3);
});

test('totalExternalSize counts strings until they are released', () => {
  const before = ivm.ExternalCopy.totalExternalSize;
  assert.equal(typeof before, 'number');
  const copies = ['a'.repeat(1000), '☃'.repeat(1000)].map((text) => new ivm.ExternalCopy(text));
  const between = ivm.ExternalCopy.totalExternalSize;
  assert.ok(between - before >= 3000 && between - before < 3500, `${between - before}`);
  for (const copy of copies) copy.release();
  assert.ok(ivm.ExternalCopy.totalExternalSize <= before);
  assert.throws(() => {
    ivm.ExternalCopy.totalExternalSize = 1;
  }, TypeError);
});

test('transferIn empties a copy of a buffer or a view, and no other copies', () => withContext(({ context }) => {
  const empty = failure(Error, 'Array buffer is invalid');
  for (const value of [new ArrayBuffer(3), new Uint8Array(3)]) {
    const copy = new ivm.ExternalCopy(value);
    assert.deepEqual(copy.copy({ transferIn: true }), value);
    assert.throws(() => copy.copy(), empty);
    const into = copy.copyInto();
    assert.throws(() => context.global.setSync('x', into), empty);
    copy.release();
  }
  for (const value of [{ a: 1 }, { b: new ArrayBuffer(2) }, 'x', 1, undefined, new Date(1)]) {
    const copy = new ivm.ExternalCopy(value);
    assert.deepEqual(copy.copy({ transferIn: true }), value);
    assert.deepEqual(copy.copy({ transferIn: true }), value);
  }
}));

test('a listed buffer is transferred even if the value does not refer to it', () => {
  const inside = new ArrayBuffer(4);
  const outside = new ArrayBuffer(5);
  const copy = new ivm.ExternalCopy({ inside }, { transferList: [inside, outside] });
  assert.deepEqual([inside.byteLength, outside.byteLength], [0, 0]);
  assert.equal(copy.copy().inside.byteLength, 4);
});
