// Memory that the guest of a sandbox has made is not shared: a host that checks what it got can rely on it afterwards.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentSandbox, createSandbox, PluginSandbox } from '../../../index.mjs';

const REFUSED = 'A SharedArrayBuffer of a sandbox could not be shared.';

const VALUES = [
  'new SharedArrayBuffer(8)', 'new Uint8Array(new SharedArrayBuffer(8))', 'new Uint8Array(new SharedArrayBuffer(8), 4, 2)', 'new DataView(new SharedArrayBuffer(100_000))',
  '[new Map([[1, { bytes: new Float64Array(new SharedArrayBuffer(8)) }]])]', 'new Error("x", { cause: new SharedArrayBuffer(8) })',
];

/** Code whose value lists the errors of calls of `called` with all of the values. */
const failuresOf = (called) => `(async () => {
  const failures = [];
  for (const value of [${VALUES.join(', ')}]) {
    try { await ${called}; failures.push('none'); } catch ({ name, message, code }) { failures.push([name, message, code].join()); }
  }
  return failures;
})()`;

const EXPECTED = VALUES.map(() => `TypeError,${REFUSED},ERR_ISOLATE_TRANSFER`);

test('functions of createSandbox get no memory of a guest, nor does its caller', async () => {
  const got = [];
  const sandbox = createSandbox({ take: (value) => { got.push(value); } });
  assert.deepEqual((await sandbox.execute(`return await ${failuresOf('take(value)')}`)).result, EXPECTED);
  assert.deepEqual(got, []);
  for (const value of VALUES.slice(0, 5)) {
    const { error, failure } = await sandbox.execute(`return ${value}`);
    assert.deepEqual([error, failure?.code], [REFUSED, 'ERR_ISOLATE_TRANSFER'], value);
  }
  await sandbox.close();
});

test('the caller of AgentSandbox gets no memory of a guest', async () => {
  const sandbox = new AgentSandbox();
  for (const value of VALUES.slice(0, 5)) {
    const { error, failure } = await sandbox.execute(`return ${value}`, [], () => {});
    assert.match(error ?? '', /of a sandbox could not be shared/, value);
    assert.equal(failure?.code, 'ERR_ISOLATE_TRANSFER');
  }
  await sandbox.close();
});

test('methods of a plugin get no memory of a guest', async () => {
  const sandbox = new PluginSandbox();
  const permissions = { storage: { maxSize: 1_000_000 }, hooks: ['event'] };
  const isolate = await sandbox.createIsolate({ id: 'org.example.shared', permissions });
  const got = [];
  const take = (...args) => { got.push(args); };
  const context = { tools: { take }, cache: { set: take }, eventBus: { emit: take, on() {}, off() {} }, logger: { debug: take } };
  const run = (code) => sandbox.executeInSandbox(isolate, code, context);
  for (const called of ['context.tools.take(value)', "context.cache.set('key', value)", "context.eventBus.emit('event', value)", 'context.logger.debug(value)']) {
    assert.deepEqual(await run(failuresOf(called)), EXPECTED, called);
  }
  assert.deepEqual(got, []);
  await assert.rejects(run(VALUES[1]), (error) => error.message.includes(REFUSED) && error.failure.code === 'ERR_ISOLATE_TRANSFER');
  await sandbox.close();
});

test('memory of the host that a guest got comes back as the same memory', async () => {
  const shared = new SharedArrayBuffer(8);
  const got = [];
  const sandbox = createSandbox({ shared, take: (value) => { got.push(value); } });
  const code = 'new Uint8Array(shared)[1] = 7; await take(new Uint8Array(shared, 1, 2)); await take(new SharedArrayBuffer(0)); return shared';
  const { result } = await sandbox.execute(code);
  assert.equal(result, shared);
  assert.equal(got[0].buffer, shared);
  assert.deepEqual([got[0].byteOffset, got[0].length, got[0][0], got[1].byteLength], [1, 2, 7, 0]);
  await sandbox.close();
});
