// The option `inspector` of the sandboxes: a debugger that attaches before the code of an execution runs.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { AgentSandbox, createSandbox, SubprocessSandbox } from '../../../index.mjs';
import { serve } from '../../../adapters/inspector.js';
import { Client } from '../../inspector/client.mjs';

/** An execution that is paused at its `debugger` statement. */
async function paused(make, code, ...rest) {
  let client;
  let closed = 0;
  const sandbox = make(async (isolate) => {
    client = Client.ofIsolate(isolate);
    await client.call('Runtime.enable');
    await client.call('Debugger.enable');
    attached();
    return { close() { closed += 1; } };
  });
  let attached;
  const ready = new Promise((resolve) => { attached = resolve; });
  const outcome = sandbox.execute(code, ...rest);
  await ready;
  return { sandbox, client, outcome, at: await client.event('Debugger.paused'), timesClosed: () => closed };
}

const agent = (inspector) => new AgentSandbox({ inspector, timeout: 300 });
const evaluate = async (client, at, expression) =>
  (await client.call('Debugger.evaluateOnCallFrame', { callFrameId: at.callFrames[0].callFrameId, expression })).result.value;

test('code pauses, and its timeout with it', async () => {
  for (const make of [agent, (inspector) => createSandbox({}, { inspector, timeout: 300 })]) {
    const { client, outcome, at, timesClosed } = await paused(make, 'const x = 41; debugger; return x + 1;');
    await sleep(500);
    assert.equal(await evaluate(client, at, 'x'), 41);
    await client.call('Debugger.resume');
    const { result, error } = await outcome;
    assert.deepEqual([error, result, timesClosed()], [undefined, 42, 1]);
  }
});

test('the timeout continues after a pause', async () => {
  const { client, outcome, timesClosed } = await paused(agent, 'debugger; for (;;);');
  await sleep(400);
  await client.call('Debugger.resume');
  assert.equal((await outcome).failure.code, 'ERR_ISOLATE_DEADLINE');
  assert.equal(timesClosed(), 1);
});

test('a tool can be called after a pause', async () => {
  const { client, outcome } = await paused(agent, 'debugger; return await f({ a: 1 });', [{ name: 'f' }], async (_, { a }) => a + 1);
  await sleep(400);
  await client.call('Debugger.resume');
  assert.equal((await outcome).result, 2);
});

test('`dispose()` and signals end a paused execution', async () => {
  const first = await paused(agent, 'debugger');
  first.sandbox.dispose();
  assert.equal((await first.outcome).failure.code, 'ERR_ISOLATE_DISPOSED');
  const controller = new AbortController();
  const second = await paused(agent, 'debugger', [], undefined, { signal: controller.signal });
  controller.abort();
  assert.equal((await second.outcome).failure.code, 'ERR_ISOLATE_ABORTED');
});

test('`dispose()` and signals end the wait for the function', async () => {
  const sandbox = agent(() => new Promise(() => {}));
  const ended = sandbox.execute('return 1');
  sandbox.dispose();
  assert.equal((await ended).failure.code, 'ERR_ISOLATE_DISPOSED');
  const controller = new AbortController();
  const aborted = sandbox.execute('return 1', [], undefined, { signal: controller.signal });
  await sleep(0);
  controller.abort();
  assert.equal((await aborted).failure.code, 'ERR_ISOLATE_ABORTED');
});

test('what the function throws is the failure', async () => {
  const outcomes = [() => { throw new TypeError('no debugger'); }, async () => { throw new TypeError('no debugger'); }]
    .map((inspector) => agent(inspector).execute('return 1'));
  for (const { failure: { name, message } } of await Promise.all(outcomes)) assert.deepEqual([name, message], ['TypeError', 'no debugger']);
});

test('a server attaches, closes with the execution, and frees its port for the next one', async () => {
  let port = 0;
  const sandbox = new AgentSandbox({
    inspector: async (isolate) => {
      const server = await serve(isolate, { port });
      ({ port } = server);
      const socket = new WebSocket(server.url);
      await new Promise((resolve) => { socket.once('open', resolve); });
      const client = new Client((message) => socket.send(message), () => socket.close());
      socket.on('message', (data) => client.take(String(data)));
      await client.call('Debugger.enable');
      client.event('Debugger.paused').then(() => client.call('Debugger.resume'));
      client.call('Runtime.runIfWaitingForDebugger').catch(() => {});
      await server.attached;
      return server;
    },
  });
  for (const expected of [1, 2]) assert.equal((await sandbox.execute(`debugger; return ${expected}`)).result, expected);
});

test('`true` prints an address, and runs the code if no debugger comes', async () => {
  const lines = [];
  const { error } = console;
  console.error = (line) => { lines.push(line); };
  try {
    assert.equal((await createSandbox({}, { inspector: true, timeout: 50 }).execute('6 * 7')).result, 42);
  } finally {
    console.error = error;
  }
  assert.match(lines.join('\n'), /^Waiting for a debugger on ws:\/\/127\.0\.0\.1:\d+\/\S+\nIn Chrome: devtools:\/\/\S+$/);
});

test('processes cannot be debugged', { skip: process.platform !== 'linux' }, () => {
  assert.throws(() => new SubprocessSandbox({ inspector: true }), { code: 'ERR_ISOLATE_UNSUPPORTED', message: /`inspector`.*AgentSandbox/ });
});

test('other values are refused', () => {
  for (const inspector of ['yes', 1, {}]) {
    assert.throws(() => new AgentSandbox({ inspector }), { code: 'ERR_INVALID_ARG', message: '`inspector` must be a boolean or a function' });
  }
});
