// What guests may request of this host's values, and the form of the answers.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fake, OP, TAG, TRANSFER } from '../../surface/fake.mjs';

/** The carrier and slot of a value that was sent, and a function that requests it. */
function sent(value, bits = TRANSFER.REFERENCE) {
  const made = fake();
  const carrier = made.binding.pack(value, bits);
  return { ...made, carrier, slot: carrier[1], ask: (op, ...args) => made.serve(1, op, carrier[1], ...args) };
}

test('carriers of local values', () => {
  assert.deepEqual(sent({}).carrier, [TAG.REFERENCE, 0, 'object', 0]);
  assert.deepEqual(sent(null).carrier, [TAG.REFERENCE, 0, 'null', 0]);
  assert.deepEqual(sent(function named(_a) {}, TRANSFER.DEFAULT).carrier, [TAG.FUNCTION, 0, 'named', 1, 0]);
  const { ivm, binding } = fake();
  assert.deepEqual(binding.pack(new ivm.Callback(() => {}, { async: true }), 0), [TAG.FUNCTION, 0, '', 0, 1]);
  assert.deepEqual(binding.pack(new ivm.Reference({}, { unsafeInherit: true }), 0), [TAG.REFERENCE, 1, 'object', TRANSFER.UNSAFE_INHERIT]);
  assert.deepEqual(binding.pack(new ivm.Reference(new ivm.Callback(() => {})), 0), [TAG.REFERENCE, 2, 'function', 0]);
  assert.deepEqual(binding.pack(ivm, 0), [TAG.HANDLE, 0]);
});

test('every carrier has its own slot, released once', () => {
  const { binding, serve, disowned } = fake();
  const value = {};
  assert.equal(binding.pack(value, TRANSFER.REFERENCE)[1], 0);
  assert.equal(binding.pack(value, TRANSFER.REFERENCE)[1], 1);
  disowned.push(0);
  assert.equal(serve(0, OP.REF_RELEASE, 0), undefined);
  assert.equal(binding.owned(0), undefined);
  assert.equal(binding.owned(1), value);
  assert.equal(binding.pack('reused', TRANSFER.REFERENCE)[1], 0);
});

test('a Reference that returns to its realm refers to the value itself', () => {
  const value = {};
  const { binding, slot } = sent(value);
  assert.equal(binding.unpack([TAG.HANDLE, 4, 8, slot, 'object', 0]).deref(), value);
});

test('get, set, delete and copy', () => {
  const target = { a: 1, o: { b: 2 }, get g() { return 1; } };
  const { ask } = sent(target);
  assert.equal(ask(OP.REF_GET, 'a', TRANSFER.OR_REFERENCE), 1);
  assert.deepEqual(ask(OP.REF_GET, 'o', TRANSFER.OR_REFERENCE), [TAG.REFERENCE, 1, 'object', 0]);
  assert.deepEqual(ask(OP.REF_GET, 'g', TRANSFER.OR_REFERENCE).slice(0, 4), [TAG.FAULT, 'TypeError', undefined, 'Property is getter']);
  ask(OP.REF_SET, 'n', 5);
  assert.equal(target.n, 5);
  ask(OP.REF_DELETE, 'n');
  assert.equal('n' in target, false);
  delete target.g;
  assert.equal(ask(OP.REF_COPY)[0], TAG.WIRE);
});

test('References with unsafeInherit see prototypes', () => {
  const { ivm, binding, serve } = fake();
  const [, slot] = binding.pack(new ivm.Reference(Object.create({ a: { b: 1 } }), { unsafeInherit: true }), 0);
  assert.deepEqual(serve(1, OP.REF_GET, slot, 'a', TRANSFER.OR_REFERENCE), [TAG.REFERENCE, 1, 'object', TRANSFER.UNSAFE_INHERIT]);
});

test('apply and call', () => {
  const { ask } = sent(function (a, b) {
    return [this, a, b].map(String).join();
  });
  assert.equal(ask(OP.REF_APPLY, TRANSFER.OR_REFERENCE, 0, 0, 'me', 1, 2), 'me,1,2');
  const call = sent((a) => ({ a }), TRANSFER.DEFAULT);
  assert.equal(call.ask(OP.CALL, 1)[0], TAG.WIRE);
  assert.deepEqual(sent({}).ask(OP.REF_APPLY, 0, 0, 0, undefined).slice(0, 4), [TAG.FAULT, 'TypeError', undefined, 'Reference is not a function']);
});

test('an undefined result is sent as a reply', () => {
  const { ask, replied } = sent(() => {}, TRANSFER.DEFAULT);
  assert.equal(ask(OP.CALL), undefined);
  assert.deepEqual(replied, [[1, undefined]]);
});

test('promises: refused by calls, awaited by applySyncPromise and awaited callbacks', async () => {
  const settled = () => new Promise((resolve) => {
    setImmediate(resolve);
  });
  const { ask, replied } = sent(async (value) => value, TRANSFER.DEFAULT);
  assert.deepEqual(ask(OP.CALL, 1).slice(0, 4), [TAG.FAULT, 'TypeError', undefined, '#<Promise> could not be cloned.']);
  assert.equal(ask(OP.CALL_AWAITED, 2), undefined);
  assert.equal(ask(OP.REF_APPLY_SYNC_PROMISE, TRANSFER.OR_REFERENCE, 0, 0, undefined, 3), undefined);
  assert.deepEqual(replied, []);
  await settled();
  assert.deepEqual(replied, [[1, 2], [1, 3]]);
  const failing = sent(async () => {
    throw new RangeError('later');
  });
  failing.ask(OP.REF_APPLY_SYNC_PROMISE, TRANSFER.OR_REFERENCE, 0, 0, undefined);
  await settled();
  assert.deepEqual(failing.replied[0][1].slice(0, 4), [TAG.FAULT, 'RangeError', undefined, 'later']);
});

test('local promises are announced with negative ids', async () => {
  const { binding, replied } = fake();
  const thenable = Object.defineProperty({}, `th${'en'}`, { value() {} });
  assert.deepEqual(binding.pack(Promise.resolve({ a: 1 }), TRANSFER.PROMISE), [TAG.PROMISE, -1]);
  assert.deepEqual(binding.pack(Promise.resolve(5), TRANSFER.PROMISE), [TAG.PROMISE, -2]);
  assert.deepEqual(replied, [], 'not before the call that announces it');
  // Already settled: the outcome is sent along.
  assert.deepEqual(binding.pack(5, TRANSFER.PROMISE | TRANSFER.COPY), [TAG.PROMISE, 0, 5]);
  assert.deepEqual(binding.pack(() => {}, TRANSFER.PROMISE).slice(0, 2), [TAG.PROMISE, 0]);
  const refused = binding.pack(thenable, TRANSFER.PROMISE);
  assert.deepEqual(refused.slice(0, 2), [TAG.PROMISE, 0]);
  assert.equal(refused[2][0], TAG.FAULT);
  assert.equal(refused[2][3], 'A non-transferable value was passed');
  for (const end = Date.now() + 10_000; replied.length < 2 && Date.now() < end;) await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepEqual(replied.map(([request]) => request).toSorted(), [-1, -2]);
  assert.equal(replied.find(([request]) => request === -2)[1], 5);
  assert.equal(replied.find(([request]) => request === -1)[1][0], TAG.FAULT);
});

test('what is thrown', () => {
  const thrown = (value) => sent(() => {
    throw value;
  }, TRANSFER.DEFAULT).ask(OP.CALL);
  assert.deepEqual(thrown(5), [TAG.THROWN, 5]);
  assert.deepEqual(thrown(undefined), [TAG.THROWN, undefined]);
  for (const odd of [{}, [], Symbol('s'), new Proxy({}, { get() { throw 1; } })]) {
    assert.match(thrown(odd)[3], /^An object was thrown from supplied code/);
  }
  class Custom extends TypeError {
    get name() {
      return 'Custom';
    }
  }
  assert.deepEqual(thrown(new Custom('m')).slice(0, 4), [TAG.FAULT, 'Error', 'Custom', 'm']);
  assert.deepEqual(thrown(new RangeError('m')).slice(0, 4), [TAG.FAULT, 'RangeError', undefined, 'm']);
  assert.equal(thrown(Object.assign(new Error('m'), { code: 'ENOENT' }))[5], undefined);
});

test('stacks show names but no paths to guests, unless permitted', () => {
  const hidden = () => sent(function named() {
    throw new Error('m');
  }, TRANSFER.DEFAULT).ask(OP.CALL)[4];
  // One line represents all frames of the host.
  assert.equal(hidden(), '\n    at named (<host>)');
  assert.doesNotMatch(hidden(), /serve\.test|[/\\]|file:/);
  const shown = sent(function named() {
    throw new Error('m');
  }, TRANSFER.DEFAULT).ask(OP.CALL | OP.SHOWS_STACKS)[4];
  assert.match(shown, /serve\.test\.mjs/);
});

test('no request makes serve throw', () => {
  const { serve } = fake();
  for (const op of [0, 999, ...Object.values(OP)]) {
    assert.doesNotThrow(() => serve(1, op, 12_345, {}, [99], null));
  }
});
