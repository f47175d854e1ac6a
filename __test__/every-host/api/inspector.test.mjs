// `InspectorSession` and the CPU profiler, as in isolated-vm.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm, failure, ours } from '../../api/ivm.mjs';

const NOT_ENABLED = failure(Error, 'Inspector is not enabled for this isolate');
const DEAD = failure(Error, 'Session is dead');

/** A session, and a promise of its answers to `messages`: responses as `[id, json]`, notifications as `json`. */
function conversation(isolate, messages) {
  const session = isolate.createInspectorSession();
  const said = [];
  return new Promise((resolve) => {
    session.onResponse = (id, json) => {
      assert.equal(typeof json, 'string');
      said.push([id, JSON.parse(json)]);
      if (id === 1_000) resolve({ session, said: said.slice(0, -1) });
    };
    session.onNotification = (json) => said.push(JSON.parse(json));
    for (const message of [...messages, '{"id":1000,"method":"Schema.getDomains"}']) session.dispatchProtocolMessage(message);
  });
}

async function inspected(body) {
  const isolate = new ivm.Isolate({ inspector: true });
  try {
    await body(isolate, await isolate.createContext({ inspector: true }));
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

test('an isolate must be created with `inspector`', async () => {
  const isolate = new ivm.Isolate();
  assert.throws(() => isolate.createInspectorSession(), NOT_ENABLED);
  assert.throws(() => isolate.createContextSync({ inspector: true }), NOT_ENABLED);
  await assert.rejects(isolate.createContext({ inspector: true }), NOT_ENABLED);
  isolate.dispose();
  assert.throws(() => isolate.createInspectorSession(), failure(Error, 'Isolate is diposed'));
});

test('errors have codes', ours, () => {
  const isolate = new ivm.Isolate();
  assert.throws(() => isolate.createInspectorSession(), { code: 'ERR_ISOLATE_UNSUPPORTED' });
  assert.throws(() => isolate.createContextSync({ inspector: true }), { code: 'ERR_ISOLATE_UNSUPPORTED' });
  isolate.dispose();
  assert.throws(() => isolate.createInspectorSession(), { code: 'ERR_ISOLATE_DISPOSED' });
});

test('a session answers', () => inspected(async (isolate) => {
  const { session, said } = await conversation(isolate, [
    '{"id":1,"method":"Runtime.enable"}',
    '{"id":2,"method":"Runtime.evaluate","params":{"expression":"6 * 7","contextId":2}}',
    '{"id":3,"method":"Runtime.evaluate","params":{"expression":"1"}}',
  ]);
  const contexts = said.filter(({ method }) => method === 'Runtime.executionContextCreated').map(({ params }) => params.context);
  assert.deepEqual(contexts.map(({ id, name, origin }) => [id, name, origin]).toSorted(), [[1, 'default', ''], [2, '<isolated-vm>', '']]);
  assert.deepEqual(said.filter((one) => Array.isArray(one)), [
    [1, { id: 1, result: {} }],
    [2, { id: 2, result: { result: { type: 'number', value: 42, description: '42' } } }],
    [3, { id: 3, error: { code: -32000, message: 'Cannot find default execution context' } }],
  ]);
  session.dispose();
}));

test('bad messages get errors of the protocol', () => inspected(async (isolate) => {
  const { session, said } = await conversation(isolate, [
    '', 'x', '[]', '1', '{}', '{"id":1}', '{"id":"a","method":"Runtime.enable"}', '{"id":3,"method":"No.such"}',
    '{"id":99999999999,"method":"Runtime.enable"}', '\u00d8\u005a\u0000', '\ud800', '{"id":4,"method":"Runtime.evaluate"}',
  ]);
  const notification = (code, message) => ({ error: { code, message } });
  assert.deepEqual(said.slice(0, 9), [
    notification(-32700, 'JSON: no input at position 0'),
    notification(-32700, 'JSON: invalid token at position 0'),
    notification(-32600, 'Message must be an object'),
    notification(-32600, 'Message must be an object'),
    notification(-32600, "Message must have integer 'id' property"),
    [1, { id: 1, ...notification(-32600, "Message must have string 'method' property") }],
    notification(-32600, "Message must have integer 'id' property"),
    [3, { id: 3, ...notification(-32601, "'No.such' wasn't found") }],
    notification(-32600, "Message must have integer 'id' property"),
  ]);
  assert.deepEqual(said.slice(9).map((one) => (one[1] ?? one).error.code), [-32700, -32700, -32602]);
  session.dispose();
}));

test('the console of an inspected context', () => inspected(async (isolate, context) => {
  const { session, said } = await conversation(isolate, ['{"id":1,"method":"Runtime.enable"}']);
  said.length = 0;
  const notified = new Promise((resolve) => { session.onNotification = (json) => resolve(JSON.parse(json)); });
  await context.eval('\n  console.log("a", { b: 1 }, [2])', { filename: 'prints.js' });
  const { method, params } = await notified;
  assert.equal(method, 'Runtime.consoleAPICalled');
  assert.equal(params.type, 'log');
  assert.equal(params.executionContextId, 2);
  const { url, lineNumber, columnNumber } = params.stackTrace.callFrames[0];
  assert.deepEqual({ url, lineNumber, columnNumber }, { url: 'prints.js', lineNumber: 1, columnNumber: 10 });
  assert.deepEqual(params.args.map(({ type, value, description }) => [type, value ?? description]), [
    ['string', 'a'], ['object', 'Object'], ['object', 'Array(1)'],
  ]);
  session.dispose();
}));

test('arguments of a session', () => inspected((isolate) => {
  const session = isolate.createInspectorSession();
  assert.throws(() => session.dispatchProtocolMessage(), failure(TypeError, '`undefined` requires at least 1 parameter'));
  assert.throws(() => session.dispatchProtocolMessage({}), failure(TypeError, '`undefined` requires parameter 1 to be a string'));
  assert.throws(() => session.dispatchProtocolMessage.call({}, '{}'), failure(TypeError, 'Illegal invocation'));
  assert.deepEqual([session.onResponse, session.onNotification], [undefined, undefined]);
  const listener = () => {};
  session.onResponse = listener;
  assert.equal(session.onResponse, listener);
  assert.equal(session.onNotification, undefined);
  assert.equal(session.dispatchProtocolMessage('{}'), undefined);
  assert.equal(session.dispose(), undefined);
}));

test('inputs that end the process in isolated-vm', ours, () => inspected((isolate) => {
  const session = isolate.createInspectorSession();
  for (const wrong of [undefined, null, 1, {}]) {
    assert.throws(() => { session.onResponse = wrong; }, failure(TypeError, '`undefined` requires parameter 1 to be a function'));
    assert.throws(() => { session.onNotification = wrong; }, failure(TypeError, '`undefined` requires parameter 1 to be a function'));
  }
  const { constructor } = session;
  assert.equal(constructor.name, 'Session');
  assert.throws(() => new constructor(), failure(TypeError, '`Session` constructor is private'));
  isolate.dispose();
  assert.throws(() => session.dispatchProtocolMessage('{}'), DEAD);
  assert.equal(session.dispose(), undefined);
}));

test('after dispose a session is dead', () => inspected((isolate) => {
  const session = isolate.createInspectorSession();
  session.dispose();
  assert.throws(() => session.dispose(), DEAD);
  assert.throws(() => session.dispatchProtocolMessage('{}'), DEAD);
  assert.throws(() => session.onResponse, DEAD);
  assert.throws(() => session.onNotification, DEAD);
  assert.throws(() => { session.onResponse = () => {}; }, DEAD);
}));

test('a session is not transferable', () => inspected((isolate, context) => {
  const session = isolate.createInspectorSession();
  assert.throws(() => context.evalClosureSync('return 1', [session]), failure(TypeError, 'A non-transferable value was passed'));
  session.dispose();
}));

test('errors of listeners are ignored', () => inspected(async (isolate) => {
  const { session } = await conversation(isolate, []);
  const failed = new Promise((resolve) => {
    session.onResponse = (id) => {
      if (id === 2) resolve();
      throw new Error('from a listener');
    };
  });
  session.dispatchProtocolMessage('{"id":1,"method":"Schema.getDomains"}');
  session.dispatchProtocolMessage('{"id":2,"method":"Schema.getDomains"}');
  await failed;
  session.dispose();
}));

test('there is a bound on sessions', ours, () => inspected(async (isolate) => {
  const sessions = Array.from({ length: 100 }, () => isolate.createInspectorSession());
  assert.throws(() => isolate.createInspectorSession(), { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT' });
  for (const session of sessions) session.dispose();
  await isolate.getHeapStatistics();
  isolate.createInspectorSession().dispose();
}));

const BUSY = 'function busy() { let sum = 0; for (let i = 0; i < 2e7; i++) sum += Math.sqrt(i); return sum; }\nbusy()';

test('CPU profiles', async () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  assert.deepEqual(await isolate.stopCpuProfiler('never started'), []);
  assert.equal(isolate.startCpuProfiler('a'), true);
  assert.equal(isolate.startCpuProfiler('a'), true);
  context.evalSync(BUSY, { filename: 'busy.js' });
  const profiles = await isolate.stopCpuProfiler('a');
  assert.equal(profiles.length, 1);
  const [{ threadId, profile }] = profiles;
  assert.deepEqual(Object.keys(profiles[0]), ['threadId', 'profile']);
  assert.equal(typeof threadId, 'number');
  assert.deepEqual(Object.keys(profile), ['startTime', 'endTime', 'samples', 'timeDeltas', 'nodes']);
  const { startTime, endTime, samples, timeDeltas, nodes } = profile;
  assert.ok(endTime > startTime);
  assert.ok(samples.length > 0);
  assert.equal(timeDeltas.length, samples.length);
  assert.ok(timeDeltas.every((time, index) => time >= (timeDeltas[index - 1] ?? 0) && time <= endTime - startTime));
  const ids = new Set(nodes.map(({ id }) => id));
  assert.ok(samples.every((id) => ids.has(id)));
  assert.ok(nodes.every(({ children }) => children.every((id) => ids.has(id))));
  assert.deepEqual(nodes[0], {
    hitCount: 0, id: 1, children: nodes[0].children,
    callFrame: { functionName: '(root)', url: '', scriptId: 0, lineNumber: 0, columnNumber: 0 },
  });
  const { hitCount, callFrame } = nodes.find((node) => node.callFrame.functionName === 'busy');
  assert.ok(hitCount > 0);
  assert.deepEqual({ ...callFrame, scriptId: 0 }, { functionName: 'busy', url: 'busy.js', scriptId: 0, lineNumber: 1, columnNumber: 14 });
  assert.equal(typeof callFrame.scriptId, 'number');
  assert.deepEqual(await isolate.stopCpuProfiler('a'), []);
  isolate.dispose();
});

test('several profiles each contain the code that ran since their start', ours, async () => {
  const isolate = new ivm.Isolate({ inspector: true });
  const context = isolate.createContextSync();
  isolate.startCpuProfiler('outer');
  context.evalSync('1');
  isolate.startCpuProfiler('inner');
  await context.eval('2');
  assert.equal((await isolate.stopCpuProfiler('inner')).length, 1);
  // A call of `stopCpuProfiler` is a run of its own.
  assert.equal((await isolate.stopCpuProfiler('outer')).length, 3);
  isolate.dispose();
});

test('misuse of the profiler', () => {
  const isolate = new ivm.Isolate();
  for (const method of ['startCpuProfiler', 'stopCpuProfiler']) {
    assert.throws(() => isolate[method](), failure(TypeError, '`undefined` requires at least 1 parameter'));
    assert.throws(() => isolate[method](1), failure(TypeError, '`undefined` requires parameter 1 to be a string'));
  }
  isolate.dispose();
  assert.throws(() => isolate.startCpuProfiler('a'), failure(Error, 'Isolate is disposed'));
  assert.throws(() => isolate.stopCpuProfiler('a'), failure(Error, 'Isolate is disposed'));
});
