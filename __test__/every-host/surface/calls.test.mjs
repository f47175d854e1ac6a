// The surface's calls of the native side, and how it handles their results.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fake, KIND, MODE, OP, protocol, TAG, TRANSFER } from '../../surface/fake.mjs';

function withContext(answer) {
  const made = fake(answer);
  const isolate = new made.ivm.Isolate({ memoryLimit: 8.9 });
  return { ...made, isolate, context: isolate.createContextSync() };
}

test('isolates', () => {
  const { ivm, invoked } = fake();
  new ivm.Isolate();
  new ivm.Isolate({ memoryLimit: 64.9, onCatastrophicError: function alarm(_message) {}, warm: 3 });
  assert.deepEqual(invoked.map(({ op, mode, handle, args }) => [op, mode, handle, args]), [
    [OP.CREATE_ISOLATE, MODE.SYNC, 0, [undefined, undefined, false, undefined, false, 1, undefined]],
    [OP.CREATE_ISOLATE, MODE.SYNC, 0, [64, undefined, false, [TAG.FUNCTION, 0, '', 0, 0], false, 3, undefined]],
  ]);
});

test('a snapshot is never created without a deadline', () => {
  const { ivm, last } = fake();
  const deadlineOf = (options) => {
    ivm.Isolate.createSnapshot([], undefined, options);
    return last().args[2];
  };
  assert.equal(deadlineOf(undefined), 30_000);
  assert.equal(deadlineOf({ deadline: 0 }), 30_000);
  assert.equal(deadlineOf({ deadline: null }), 30_000);
  assert.equal(deadlineOf({ deadline: 5 }), 5);
});

test('eval without options is one short call', () => {
  const { context, last } = withContext();
  context.evalSync('1');
  assert.deepEqual(last(), { op: OP.EVAL, mode: MODE.SYNC, request: 0, handle: 2, args: ['1', undefined, undefined, undefined, TRANSFER.OR_UNDEFINED] });
  context.evalIgnored('1');
  assert.equal(last().mode, MODE.IGNORED);
  context.eval('1');
  assert.deepEqual([last().mode, last().request], [MODE.ASYNC, 1]);
  context.eval('1', {});
  assert.equal(last().request, 2);
});

test('an abortable call is also one call, and its id marks it', async () => {
  const { context, invoked, last, notes } = withContext();
  const controller = new AbortController();
  const before = invoked.length;
  const result = context.eval('1', { signal: controller.signal });
  assert.equal(invoked.length, before + 1);
  assert.equal(last().request, 1 | protocol.ABORTABLE);
  context.eval('1');
  assert.equal(last().request, 2, 'no other number does');
  controller.abort(new Error('enough'));
  await assert.rejects(result, { message: 'enough' });
  assert.deepEqual(notes.aborted, [1 | protocol.ABORTABLE]);
  const settled = context.eval('1', { signal: new AbortController().signal });
  notes.settle(last().request, 5);
  assert.equal(await settled, 5);
});

test('eval with options', () => {
  const { context, last } = withContext();
  context.evalSync('1', { filename: 'a.js', lineOffset: 1, columnOffset: 2, timeout: 3, deadline: 4, copy: true, promise: true });
  // A promise that becomes undefined would hide the refusal.
  assert.deepEqual(last().args, ['1', 'a.js', 1, 2, TRANSFER.COPY | TRANSFER.PROMISE, 3, 4]);
  context.evalSync('1', { timeout: -1, reference: true });
  assert.deepEqual(last().args, ['1', '<isolated-vm>', 0, 0, TRANSFER.OR_UNDEFINED | TRANSFER.REFERENCE, -1, 0]);
});

test('evalClosure', () => {
  const { context, last } = withContext();
  context.evalClosureSync('return $0', [1, 'a'], { result: { externalCopy: true }, timeout: 5 });
  assert.deepEqual(last().args, ['return $0', '<isolated-vm>', 0, 0, TRANSFER.EXTERNAL_COPY, 5, 0, 1, 'a']);
  context.evalClosureSync('1');
  assert.deepEqual(last().args, ['1', undefined, 0, 0, TRANSFER.OR_THROW, 0, 0]);
  context.evalClosureSync('1', [{ a: 1 }], { arguments: { reference: true } });
  assert.deepEqual(last().args.at(-1), [TAG.REFERENCE, 0, 'object', 0]);
});

test('scripts', () => {
  const { isolate, context, last, released } = withContext();
  const script = isolate.compileScriptSync('1');
  assert.deepEqual(last().args, ['1']);
  script.runSync(context);
  assert.deepEqual([last().handle, last().args], [3, [2, TRANSFER.OR_UNDEFINED]]);
  script.runSync(context, { timeout: 7, release: true });
  assert.deepEqual(last().args, [2, TRANSFER.OR_UNDEFINED, 7, 0]);
  assert.deepEqual(released, [3]);
});

test('References to values of an isolate', () => {
  const { context, last, released } = withContext();
  const { global } = context;
  assert.deepEqual([last().op, last().mode], [OP.GLOBAL, MODE.SYNC]);
  global.getSync('a');
  assert.deepEqual([last().op, last().handle, last().args], [OP.REF_GET, 3, ['a', TRANSFER.OR_REFERENCE]]);
  global.getSync(7, { copy: true, accessors: true });
  assert.deepEqual(last().args, [7, TRANSFER.OR_REFERENCE | TRANSFER.COPY | TRANSFER.ACCESSORS, 0, 0]);
  global.setSync('a', 1);
  assert.deepEqual([last().op, last().args], [OP.REF_SET, ['a', 1]]);
  global.deleteIgnored('a');
  assert.deepEqual([last().op, last().mode, last().args[0]], [OP.REF_DELETE, MODE.IGNORED, 'a']);
  global.copy();
  assert.deepEqual([last().op, last().mode], [OP.REF_COPY, MODE.ASYNC]);
  global.applySync(null, [1, 2], { timeout: 5, deadline: 6, result: { copy: true } });
  assert.deepEqual([last().op, last().args], [OP.REF_APPLY, [TRANSFER.OR_REFERENCE | TRANSFER.COPY, 5, 6, null, 1, 2]]);
  context.release();
  assert.deepEqual(released, [2, 3]);
});

test('an answer settles its promise, once; others are ignored', async () => {
  const { context, last, settle } = withContext();
  const promise = context.eval('1');
  settle(last().request + 1, 'unrequested');
  settle(last().request, 5);
  settle(last().request, 6);
  assert.equal(await promise, 5);
});

test('faults become errors with both stacks', async () => {
  const fault = [TAG.FAULT, 'TypeError', undefined, 'message\nof two lines', '    at guest (<isolated-vm>:1:1)', undefined];
  const { context, last, settle } = withContext((op) => (op === OP.EVAL ? fault : undefined));
  const expected = /^TypeError: message\nof two lines\n {4}at guest \(<isolated-vm>:1:1\)\n {4}at \(<isolated-vm boundary>\)\n {4}at caller \(.*calls\.test/;
  const check = (error) => {
    assert.equal(Object.getPrototypeOf(error), TypeError.prototype);
    assert.match(error.stack, expected);
    return true;
  };
  let called = 0;
  function caller(method) {
    try {
      return context[method]('1');
    } finally {
      // In some engines, a caller that has nothing left to do leaves the stack.
      called += 1;
    }
  }
  assert.throws(() => caller('evalSync'), check);
  const promise = caller('eval');
  assert.equal(called, 2);
  settle(last().request, fault);
  await assert.rejects(promise, check);
});

test('faults: names and codes', () => {
  let fault;
  const { context } = withContext((op) => (op === OP.EVAL ? fault : undefined));
  const caught = () => {
    try {
      return context.evalSync('1');
    } catch (error) {
      return error;
    }
  };
  fault = [TAG.FAULT, 'Error', 'Custom', 'm', '', undefined];
  const custom = caught();
  assert.deepEqual([custom.name, Object.keys(custom)], ['Custom', []]);
  assert.match(custom.stack, /^Custom: m\n {4}at caught/);
  fault = [TAG.FAULT, 'Error', undefined, 'm', '', 'ERR_ISOLATE_TIMEOUT'];
  assert.equal(caught().code, 'ERR_ISOLATE_TIMEOUT');
  fault = [TAG.FAULT, 'Evil', undefined, 'm', '', undefined];
  assert.equal(Object.getPrototypeOf(caught()), Error.prototype);
  fault = [TAG.THROWN, 'text'];
  assert.equal(caught(), 'text');
});

test('received handles have their class', () => {
  const { surface, ivm, binding } = withContext();
  assert.ok(binding.unpack([TAG.HANDLE, KIND.CONTEXT, 9, -1]) instanceof ivm.Context);
  assert.ok(binding.unpack([TAG.HANDLE, KIND.ISOLATE, 9, -1]) instanceof ivm.Isolate);
  assert.ok(binding.unpack([TAG.HANDLE, KIND.EXTERNAL_COPY, 9, -1]) instanceof ivm.ExternalCopy);
  assert.equal(binding.unpack([TAG.HANDLE, KIND.IVM, 0, -1]), surface.ivm);
  const script = binding.unpack([TAG.HANDLE, KIND.SCRIPT, 9, -1]);
  assert.equal(Object.isFrozen(script), false);
  const reference = binding.unpack([TAG.HANDLE, KIND.REFERENCE, 9, -1, 'function', 0]);
  assert.equal(reference.typeof, 'function');
  assert.throws(() => binding.unpack([TAG.HANDLE, 99, 9, -1]), { code: 'ERR_ISOLATE_UNSUPPORTED' });
  assert.deepEqual(binding.unpack([TAG.LIST, 1, 'a', [TAG.LIST]]), [1, 'a', []]);
});

test('received functions are called in their own isolate', () => {
  const { binding, last } = withContext((op, _mode, args) => (op === OP.CALL ? args.length : undefined));
  const called = binding.unpack([TAG.FUNCTION, 9, 'their', 3, 0, -1]);
  assert.deepEqual([called.name, called.length, 'prototype' in called], ['their', 3, false]);
  assert.equal(called(1, 'a'), 2);
  assert.deepEqual(last(), { op: OP.CALL, mode: MODE.SYNC, request: 0, handle: 9, args: [1, 'a'] });
  assert.throws(() => called(() => 1), { message: '() => 1 could not be cloned.' });
});

test('received promises settle by their negative id', async () => {
  const { binding, settle } = withContext();
  const first = binding.unpack([TAG.PROMISE, -1]);
  const second = binding.unpack([TAG.PROMISE, -2]);
  settle(-2, [TAG.FAULT, 'RangeError', undefined, 'no', '', undefined]);
  settle(-1, 7);
  assert.equal(await first, 7);
  await assert.rejects(second, { name: 'RangeError', message: 'no' });
});

test('an entry is released once, when its last wrapper is', () => {
  const { context, released, last } = withContext();
  const { global } = context;
  const into = global.derefInto({ release: true });
  assert.deepEqual(released, []);
  context.evalClosureSync('1', [into]);
  assert.deepEqual(last().args.at(-1), [TAG.DEREF, 3]);
  assert.deepEqual(released, [3], 'by the call that names it');
});

test('copyInto shares the copy and sets whether to move', () => {
  const { ivm, context, released, last } = withContext();
  const copy = new ivm.ExternalCopy({ a: 1 });
  assert.deepEqual([last().op, last().args[0][0]], [OP.COPY_NEW, TAG.WIRE]);
  context.evalClosureSync('1', [copy.copyInto({ transferIn: true })]);
  assert.deepEqual(last().args.at(-1), [TAG.COPY_INTO, 3, true, false]);
  assert.deepEqual(released, []);
  copy.release();
  assert.deepEqual(released, [3]);
});

test('moved buffers are marked, and are detached in the caller', () => {
  const { ivm, last } = withContext();
  const make = () => new Uint8Array([1, 2, 3, 4]).buffer;
  const lends = !('Bun' in globalThis) && !('Deno' in globalThis);
  const moved = ([tag, carried, lent], buffer) => {
    assert.deepEqual([tag, lent], [TAG.MOVE, lends]);
    assert.notEqual(carried, buffer);
    assert.deepEqual([carried, buffer.byteLength], [make(), 0]);
  };
  const buffer = make();
  new ivm.ExternalCopy(buffer, { transferOut: true });
  moved(last().args[0], buffer);
  const inside = make();
  new ivm.ExternalCopy({ inside }, { transferList: [inside] });
  moved(last().args[0][2][0], inside);
  const copied = make();
  new ivm.ExternalCopy(copied);
  assert.deepEqual(last().args[0], [TAG.BUFFER, copied, 0, 4]);
});

/** Collects garbage now, if the host offers that. */
async function collector() {
  if ('Bun' in globalThis) return () => globalThis.Bun.gc(true);
  if ('Deno' in globalThis) return undefined;
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}

const collect = await collector();

test('unreferenced values are released', { skip: collect === undefined && 'no way to collect garbage on demand' }, async () => {
  const made = withContext();
  const { binding, released } = made;
  const kept = made.context.global;
  const called = binding.unpack([TAG.FUNCTION, 50, 'kept', 0, 0, -1]);
  (() => {
    for (let id = 100; id < 110; id += 1) binding.unpack([TAG.HANDLE, KIND.REFERENCE, id, -1, 'object', 0]);
    binding.unpack([TAG.HANDLE, KIND.REFERENCE, 110, -1, 'object', 0]).release();
  })();
  for (let round = 0; round < 100 && released.length < 5; round += 1) {
    collect();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  assert.ok(released.length >= 5, `${released}`);
  assert.equal(released.filter((id) => id === 110).length, 1);
  assert.equal(released.filter((id) => id < 100).length, 0, 'what is still named is kept');
  assert.equal(kept.typeof, 'object');
  assert.equal(called(), undefined);
  assert.equal(made.isolate.isDisposed, made.context.evalSync('1'));
});
