// Every class of the package does its basic work on this host. `every-host/api` has the details.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import ivm, { Isolate } from '../../index.mjs';
import { entry } from '../harness.mjs';

/** An isolate and a context for one test. */
async function withContext(body, options) {
  const isolate = new Isolate(options);
  try {
    await body(isolate, await isolate.createContext());
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

test('the package loads in both ways', () => {
  assert.equal(createRequire(import.meta.url)(entry), ivm);
  assert.equal(ivm.Isolate, Isolate);
});

test('Context: code, with and without waiting', () => withContext(async (isolate, context) => {
  assert.equal(context.evalSync('6 * 7'), 42);
  assert.equal(await context.eval('Promise.resolve(43)', { promise: true }), 43);
  assert.deepEqual(await context.evalClosure('return { sum: $0 + $1 }', [1, 2], { result: { copy: true } }), { sum: 3 });
  assert.throws(() => context.evalSync('throw new RangeError("of the guest")'), { name: 'RangeError', message: 'of the guest' });
}));

test('Context: every kind of value, in both directions', () => withContext(async (isolate, context) => {
  const value = {
    text: 'ä\ud800', numbers: [-0, 1.5, NaN, 2n ** 70n], nothing: [null, undefined], date: new Date(5), pattern: /a+/gi, map: new Map([[1, new Set(['x'])]]),
    bytes: new Uint8Array([1, 2, 3]), error: new TypeError('copied'),
  };
  const back = await context.evalClosure('return $0', [value], { arguments: { copy: true }, result: { copy: true } });
  assert.deepEqual(back, value);
  assert.ok(back.error instanceof TypeError && Object.is(back.numbers[0], -0));
}));

test('Callback: called by the guest, synchronously and with a promise', () => withContext(async (isolate, context) => {
  await context.global.set('double', (number) => 2 * number);
  await context.global.set('later', new ivm.Callback((number) => number + 1, { async: true }));
  assert.equal(context.evalSync('double(21)'), 42);
  assert.equal(await context.eval('double(4)'), 8);
  assert.equal(await context.eval('later(1)', { promise: true }), 2);
}));

test('Reference: to an object of the guest, and to a function of the host', () => withContext(async (isolate, context) => {
  const reference = await context.eval('({ a: 1, add: (x, y) => x + y })', { reference: true });
  assert.equal(await reference.get('a'), 1);
  assert.equal((await reference.get('add', { reference: true })).applySync(undefined, [1, 2]), 3);
  reference.release();
  await context.global.set('host', new ivm.Reference((text) => `${text}!`));
  assert.equal(await context.eval("host.applySyncPromise(undefined, ['a'])"), 'a!');
}));

test('ExternalCopy: a copy outside all heaps', () => withContext(async (isolate, context) => {
  const copy = new ivm.ExternalCopy({ list: [1, 2] });
  assert.deepEqual(copy.copy(), { list: [1, 2] });
  assert.equal(await context.evalClosure('return $0.list.length', [copy.copyInto()]), 2);
}));

test('Script and Module', () => withContext(async (isolate, context) => {
  const script = await isolate.compileScript('globalThis.runs = (globalThis.runs ?? 0) + 1');
  assert.deepEqual([await script.run(context), script.runSync(context)], [1, 2]);
  const module = await isolate.compileModule('import { value } from "other"; export const result = value + 1;');
  const other = await isolate.compileModule('export const value = 41;');
  await module.instantiate(context, () => other);
  await module.evaluate();
  assert.equal(await module.namespace.get('result'), 42);
}));

test('limits: time, and a deadline', () => withContext(async (isolate, context) => {
  assert.throws(() => context.evalSync('for (;;);', { timeout: 50 }), { code: 'ERR_ISOLATE_TIMEOUT' });
  await assert.rejects(context.eval('for (;;);', { timeout: 50 }), { code: 'ERR_ISOLATE_TIMEOUT' });
  await assert.rejects(context.eval('new Promise(() => {})', { promise: true, deadline: 50 }), { code: 'ERR_ISOLATE_DEADLINE' });
  assert.equal(await context.eval('1'), 1);
}));

test('limits: memory', () => withContext(async (isolate, context) => {
  await assert.rejects(context.eval('const all = []; for (;;) all.push(new Array(1000).fill(1.5))'), { code: 'ERR_ISOLATE_MEMORY' });
  assert.equal(isolate.isDisposed, true);
}, { memoryLimit: 8 }));

test('dispose: pending calls reject', () => withContext(async (isolate, context) => {
  const waiting = assert.rejects(context.eval('new Promise(() => {})', { promise: true }), Error);
  isolate.dispose();
  await waiting;
  assert.throws(() => context.evalSync('1'), { code: 'ERR_ISOLATE_DISPOSED' });
}));

test('a snapshot, and an isolate that starts from it', async () => {
  const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.kept = { a: 1 };' }]);
  await withContext(async (isolate, context) => assert.equal(await context.eval('kept.a'), 1), { snapshot });
});

test('an inspector session, and a CPU profile', () => withContext(async (isolate, context) => {
  const session = isolate.createInspectorSession();
  const answer = new Promise((resolve) => { session.onResponse = (id, json) => resolve([id, JSON.parse(json)]); });
  session.dispatchProtocolMessage('{"id":7,"method":"Schema.getDomains"}');
  const [id, { result }] = await answer;
  assert.equal(id, 7);
  assert.ok(result.domains.some(({ name }) => name === 'Debugger'));
  session.dispose();
  isolate.startCpuProfiler('smoke');
  await context.eval('for (let i = 0; i < 1e5; i++) Math.sin(i)');
  const profiles = await isolate.stopCpuProfiler('smoke');
  assert.ok(profiles.length > 0);
}, { inspector: true }));

test('a guest that creates an isolate', () => withContext(async (isolate, context) => {
  await context.global.set('ivm', ivm);
  assert.equal(context.evalSync('const inner = new ivm.Isolate(); inner.createContextSync().evalSync("6 * 7")'), 42);
}));
