// References and copies that guests make, and where they can travel.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';

/** `outcomeOf(call)`: the result of the call, or its error as a line. */
const OUTCOME_OF = 'const outcomeOf = (call) => { try { return call(); } catch (error) { return error.name + " " + error.code + ": " + error.message; } };';

function withIvm(options) {
  const isolate = new ivm.Isolate(options);
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  return { isolate, context };
}

test('a Reference of a guest passes to the host, to another guest, and back', () => {
  const first = withIvm();
  const second = withIvm();
  const reference = first.context.evalSync('globalThis.object = { n: 1 }; new ivm.Reference(object)');
  assert.ok(reference instanceof ivm.Reference);
  assert.equal(reference.getSync('n'), 1);
  assert.throws(() => reference.deref(), { message: 'Cannot dereference this from current isolate' });
  second.context.global.setSync('reference', reference);
  second.context.global.setSync('home', first.context.global);
  assert.deepEqual(second.context.evalClosureSync(`
    reference.setSync('n', 2);
    let message;
    try { reference.deref(); } catch (error) { message = error.message; }
    home.setSync('back', reference);
    home.setSync('object2', reference.derefInto());
    let refused;
    try { $0(reference.derefInto()); } catch (error) { refused = error.message; }
    return [message, reference.getSync('n'), refused];
  `, [() => {}], { result: { copy: true } }), ['Cannot dereference this from current isolate', 2, 'Cannot dereference this into target isolate']);
  assert.equal(first.context.evalSync('back.deref() === object && object2 === object'), true);
  first.isolate.dispose();
  assert.equal(second.context.evalSync('try { reference.getSync("n") } catch (error) { error.code }'), 'ERR_ISOLATE_DISPOSED');
  second.isolate.dispose();
});

test('a value that a guest dereferences arrives in its own isolate', () => {
  const { isolate, context } = withIvm();
  assert.equal(context.evalClosureSync(`
    const object = {};
    const reference = new ivm.Reference(object);
    $0.setSync('one', reference.derefInto());
    const same = $1.evalClosureSync('return $0', [reference.derefInto()], { result: { reference: true } });
    return one === object && same.deref() === object && $2(reference) && reference.deref() === object;
  `, [context.global, context, () => true]), true);
  isolate.dispose();
});

test('a copy is charged to the guest that makes it until it is released', () => {
  const { isolate, context } = withIvm({ memoryLimit: 16 });
  assert.deepEqual(context.evalClosureSync(`
    const text = 'x'.repeat(1 << 20);
    const kept = [];
    let failure;
    try { for (;;) kept.push(new ivm.ExternalCopy(text)); } catch (error) { failure = error.name + ' ' + error.code; }
    const count = kept.length;
    for (const each of kept) each.release();
    for (let n = 0; n < 100; n += 1) new ivm.ExternalCopy(text).release();
    return [failure, count];
  `, [], { result: { copy: true } }), ['RangeError ERR_ISOLATE_LIMIT', 15]);
  isolate.dispose();
});

test('`lib` of the host is `ivm.lib` in every guest', () => {
  const { isolate, context } = withIvm();
  const other = withIvm();
  context.global.setSync('lib', ivm.lib);
  assert.equal(context.evalSync('lib === ivm.lib && lib.hrtime().length === 2'), true);
  assert.equal(other.context.evalClosureSync('return $0 === ivm.lib', [context.evalSync('lib')]), true);
  isolate.dispose();
  other.isolate.dispose();
});

test('async functions of two guests call each other', async () => {
  const one = withIvm();
  const two = withIvm();
  one.context.global.setSync('other', two.context.global);
  two.context.global.setSync('other', one.context.global);
  one.context.evalSync('globalThis.step = async (n) => n === 0 ? "done" : other.getSync === undefined ? "?" : (await other.get("step", { reference: true })).apply(undefined, [n - 1], { result: { promise: true } })');
  two.context.evalSync('globalThis.step = async (n) => n === 0 ? "done" : (await other.get("step", { reference: true })).apply(undefined, [n - 1], { result: { promise: true } })');
  assert.equal(await one.context.evalClosure('return step(10)', [], { deadline: 20_000, result: { promise: true } }), 'done');
  one.context.evalSync('globalThis.sync = (n) => n === 0 ? "done" : other.getSync("sync", { reference: true }).applySync(undefined, [n - 1])');
  two.context.evalSync('globalThis.sync = (n) => n === 0 ? "done" : other.getSync("sync", { reference: true }).applySync(undefined, [n - 1])');
  assert.equal(one.context.evalClosureSync('return sync(10)'), 'done');
  one.isolate.dispose();
  two.isolate.dispose();
});

test('a Callback is called in its own mode in every isolate', async () => {
  const one = withIvm();
  const two = withIvm();
  one.context.evalSync('globalThis.received = []; globalThis.make = (options) => new ivm.Callback((n) => { received.push(n); return n * 2; }, options); 1');
  two.context.global.setSync('other', one.context.global);
  one.context.global.setSync('other', two.context.global);
  for (const name of ['sync', 'async', 'ignored']) one.context.evalSync(`other.setSync("${name}", make({ ${name}: true })); 1`);
  // In the host.
  assert.equal(one.context.evalSync('make({ sync: true })')(1), 2);
  const later = one.context.evalSync('make({ async: true })')(2);
  assert.ok(later instanceof Promise);
  assert.equal(await later, 4);
  const ignored = one.context.evalSync('make({ ignored: true })');
  assert.equal(ignored(3), undefined);
  assert.throws(() => ignored(() => {}), { name: 'TypeError', message: '() => {} could not be cloned.' });
  // In another guest, and there through the host.
  assert.equal(two.context.evalSync('sync(4)'), 8);
  assert.equal(await two.context.eval('async(5)', { promise: true }), 10);
  assert.equal(two.context.evalSync('ignored(6)'), undefined);
  two.context.global.setSync('ignored', ignored);
  assert.equal(two.context.evalSync('ignored(7)'), undefined);
  await one.context.eval('1');
  // A sync call starts before ignored ones that are queued.
  assert.deepEqual(one.context.evalSync('received', { copy: true }).toSorted(), [1, 2, 3, 4, 5, 6, 7]);
  one.isolate.dispose();
  two.isolate.dispose();
});

describe('a value for a single use', () => {
  test('throws on a second use or in another isolate', () => {
    const [one, two, three] = [withIvm(), withIvm(), withIvm()];
    one.context.evalSync('globalThis.object = {}; 1');
    three.context.global.setSync('reference', one.context.evalSync('new ivm.Reference(object)'));
    three.context.global.setSync('home', one.context.global);
    three.context.global.setSync('elsewhere', two.context.global);
    assert.deepEqual(three.context.evalClosureSync(`
      ${OUTCOME_OF}
      const into = reference.derefInto();
      const copy = new ivm.ExternalCopy({ n: 1 });
      const copied = copy.copyInto({ release: true });
      return [
        outcomeOf(() => home.setSync('one', into)), outcomeOf(() => home.setSync('two', into)), outcomeOf(() => elsewhere.setSync('x', reference.derefInto())),
        outcomeOf(() => home.setSync('copy', copied)), outcomeOf(() => elsewhere.setSync('copy', copied)), outcomeOf(() => copy.copy()),
        outcomeOf(() => reference.deref({ release: true })), outcomeOf(() => reference.derefInto({ release: true }) && reference.typeof),
      ];
    `, [], { result: { copy: true } }), [
      undefined, 'Error ERR_ISOLATE_RELEASED: The return value of `derefInto()` should only be used once', 'TypeError ERR_ISOLATE_TRANSFER: Cannot dereference this into target isolate',
      undefined, 'Error ERR_ISOLATE_RELEASED: The return value of `copyInto()` should only be used once', 'Error ERR_ISOLATE_RELEASED: Copy has been released',
      'TypeError ERR_INVALID_ARG: Cannot dereference this from current isolate', 'Error ERR_ISOLATE_RELEASED: Reference has been released',
    ]);
    assert.equal(one.context.evalSync('one === object && copy.n === 1 && typeof two'), 'undefined');
    for (const { isolate } of [one, two, three]) isolate.dispose();
  });

  test('handles cannot be forged', () => {
    const { isolate, context } = withIvm();
    context.global.setSync('sink', new ivm.Reference({}));
    assert.deepEqual(context.evalClosureSync(`
      ${OUTCOME_OF}
      const refused = [Object.create(ivm.Reference.prototype), Object.create(sink), Object.setPrototypeOf({}, ivm.Reference.prototype), new Proxy(sink, {})]
        .flatMap((forged) => [outcomeOf(() => sink.setSync('x', forged)), outcomeOf(() => ivm.Reference.prototype.getSync.call(forged, 'x'))]);
      const Made = new Proxy(function () {}, { get: (target, key) => key === 'prototype' ? sink : target[key] });
      const odd = Reflect.construct(ivm.Reference, [{ n: 5 }], Made);
      return [...new Set(refused), Reflect.ownKeys(sink).length, Object.isFrozen(sink), ivm.Reference.prototype.getSync.call(odd, 'n'), odd === sink];
    `, [], { result: { copy: true } }), [
      'TypeError ERR_ISOLATE_TRANSFER: A non-transferable value was passed', 'TypeError ERR_INVALID_ARG: Illegal invocation', 0, true, 5, false,
    ]);
    isolate.dispose();
  });
});
