// Debugging through sessions, with guests that run, wait, are paused and are ended meanwhile.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm, failure, withContext } from '../../api/ivm.mjs';
import { Client } from '../../inspector/client.mjs';

const block = (time) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time);

async function debugged(body, options) {
  const isolate = new ivm.Isolate({ inspector: true, ...options });
  try {
    const context = await isolate.createContext({ inspector: true });
    const client = Client.ofIsolate(isolate);
    await client.call('Runtime.enable');
    await client.call('Debugger.enable');
    await body({ isolate, context, client });
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

const evaluateIn = async (client, paused, expression) =>
  (await client.call('Debugger.evaluateOnCallFrame', { callFrameId: paused.callFrames[0].callFrameId, expression })).result.value;

test('sets a breakpoint, hits it, inspects variables and resumes', () => debugged(async ({ context, client }) => {
  await context.eval('function add(a, b) {\n  const sum = a + b;\n  return sum;\n}', { filename: 'file:///add.js' });
  const { locations } = await client.call('Debugger.setBreakpointByUrl', { url: 'file:///add.js', lineNumber: 2 });
  assert.equal(locations.length, 1);
  const result = context.eval('add(20, 22)');
  const paused = await client.event('Debugger.paused');
  assert.equal(paused.callFrames[0].functionName, 'add');
  assert.equal(paused.callFrames[0].location.lineNumber, 2);
  assert.equal(await evaluateIn(client, paused, 'sum'), 42);
  await client.call('Debugger.setVariableValue', { scopeNumber: 0, variableName: 'b', newValue: { value: 1 }, callFrameId: paused.callFrames[0].callFrameId });
  assert.equal(await evaluateIn(client, paused, 'b'), 1);
  await client.call('Debugger.resume');
  await client.event('Debugger.resumed');
  assert.equal(await result, 42);
}));

test('stepping', () => debugged(async ({ context, client }) => {
  const result = context.eval('debugger;\nlet a = 1;\na += 1;\na');
  const lines = [];
  for (let step = 0; step < 3; step += 1) {
    const paused = await client.event('Debugger.paused');
    lines.push(paused.callFrames[0].location.lineNumber);
    await client.call(step < 2 ? 'Debugger.stepOver' : 'Debugger.resume');
  }
  assert.deepEqual(lines, [0, 1, 2]);
  assert.equal(await result, 2);
}));

test('pauses running code and sets a breakpoint', () => debugged(async ({ context, client }) => {
  const result = context.eval('let count = 0;\nlet on = true;console.log("runs");\nwhile (on) {\n  count += 1;\n}\n"ended"', { filename: 'loop.js' });
  await client.event('Runtime.consoleAPICalled');
  await client.call('Debugger.pause');
  const paused = await client.event('Debugger.paused');
  assert.ok((await evaluateIn(client, paused, 'count')) >= 0);
  await client.call('Debugger.resume');
  await client.call('Debugger.setBreakpointByUrl', { url: 'loop.js', lineNumber: 3 });
  const again = await client.event('Debugger.paused', ({ hitBreakpoints }) => hitBreakpoints?.length > 0);
  assert.equal(await evaluateIn(client, again, 'on = false'), false);
  await client.call('Debugger.resume');
  assert.equal(await result, 'ended');
}));

test('another message ends an endless evaluation', () => debugged(async ({ context, client }) => {
  const endless = client.call('Runtime.evaluate', { expression: 'for (;;) {}', contextId: 2 });
  const ended = assert.rejects(endless, { message: 'Execution was terminated' });
  await client.call('Runtime.terminateExecution');
  await ended;
  assert.equal(await context.eval('1 + 1'), 2);
}));

test('messages are handled while the guest waits for its host', () => debugged(async ({ context, client }) => {
  let result;
  const answer = await new Promise((asked) => {
    context.global.setSync('wait', new ivm.Reference(() => new Promise((resolve) => { asked(resolve); })));
    result = context.eval('wait.applySyncPromise(undefined, [])');
  });
  assert.equal((await client.call('Runtime.evaluate', { expression: '6 * 7', contextId: 2 })).result.value, 42);
  answer('waited');
  assert.equal(await result, 'waited');
}));

test('a sync call to a paused isolate runs, and its own debugger statement does not pause', () => debugged(async ({ context, client }) => {
  const result = context.eval('let seen = "nothing"; debugger; seen');
  await client.event('Debugger.paused');
  assert.equal(context.evalSync('seen = "a sync call"; debugger; 1'), 1);
  await client.call('Debugger.resume');
  assert.equal(await result, 'a sync call');
}));

test('timeouts stop during a pause and continue after it', () => debugged(async ({ context, client }) => {
  const result = context.eval('debugger; for (;;) {}', { timeout: 100 });
  const ended = assert.rejects(result, { message: 'Script execution timed out.' });
  await client.event('Debugger.paused');
  await new Promise((resolve) => { setTimeout(resolve, 300); });
  assert.equal((await client.call('Runtime.evaluate', { expression: '1', contextId: 2 })).result.value, 1);
  await client.call('Debugger.resume');
  await ended;
  assert.equal(await context.eval('1 + 1'), 2);
}));

test('a deadline ends a pause', () => debugged(async ({ context, client }) => {
  const result = context.eval('debugger; "ran on"', { deadline: 200 });
  const ended = assert.rejects(result, { code: 'ERR_ISOLATE_DEADLINE' });
  await client.event('Debugger.paused');
  await ended;
  assert.equal(await context.eval('1 + 1'), 2);
}));

test('dispose ends a pause', () => debugged(async ({ isolate, context, client }) => {
  const result = context.eval('debugger; "ran on"');
  const ended = assert.rejects(result, failure(Error, 'Isolate was disposed during execution'));
  await client.event('Debugger.paused');
  isolate.dispose();
  await ended;
  assert.throws(() => client.send('{}'), { code: 'ERR_ISOLATE_DISPOSED', message: 'Session is dead' });
}));

test('the end of its session ends a pause', () => debugged(async ({ context, client }) => {
  const result = context.eval('debugger; "ran on"');
  await client.event('Debugger.paused');
  client.close();
  assert.equal(await result, 'ran on');
}));

test('the end of its session ends a pause that the session requested', () => debugged(async ({ isolate, context, client }) => {
  client.call('Runtime.evaluate', { expression: 'debugger; globalThis.ranOn = true', contextId: 2 }).catch(() => {});
  await client.event('Debugger.paused');
  client.close();
  assert.equal(await context.eval('ranOn'), true);
  const next = Client.ofIsolate(isolate);
  await next.call('Runtime.enable');
  next.close();
}));

test('running out of memory during a pause ends it', () => debugged(async ({ isolate, context, client }) => {
  const result = context.eval('debugger; "ran on"');
  const ended = assert.rejects(result, { code: 'ERR_ISOLATE_MEMORY' });
  const paused = await client.event('Debugger.paused');
  const expression = 'globalThis.kept = []; for (;;) kept.push(new Array(1000).fill(0))';
  client.call('Debugger.evaluateOnCallFrame', { callFrameId: paused.callFrames[0].callFrameId, expression }).catch(() => {});
  await ended;
  assert.equal(isolate.isDisposed, true);
}, { memoryLimit: 16 }));

test('notifications are delivered after a sync call', () => debugged(async ({ context, client }) => {
  context.evalSync('console.log("one"); console.log("two")');
  assert.equal(client.events.filter(({ method }) => method === 'Runtime.consoleAPICalled').length, 0);
  for (const text of ['one', 'two']) {
    assert.equal((await client.event('Runtime.consoleAPICalled')).args[0].value, text);
  }
}));

test('two sessions receive the same pause', () => debugged(async ({ isolate, context, client }) => {
  const other = Client.ofIsolate(isolate);
  await other.call('Debugger.enable');
  const result = context.eval('debugger; 1');
  await Promise.all([client.event('Debugger.paused'), other.event('Debugger.paused')]);
  await other.call('Debugger.resume');
  await client.event('Debugger.resumed');
  assert.equal(await result, 1);
  other.close();
}));

test('without a session `debugger` does nothing', () => {
  const isolate = new ivm.Isolate({ inspector: true });
  assert.equal(isolate.createContextSync({ inspector: true }).evalSync('debugger; 1'), 1);
  isolate.dispose();
});

test('contexts without the option are hidden', () => debugged(async ({ isolate, client }) => {
  await isolate.createContext();
  const seen = client.events.filter(({ method }) => method === 'Runtime.executionContextCreated');
  assert.deepEqual(seen.map(({ params }) => params.context.name).toSorted(), ['<isolated-vm>', 'default']);
}));

test('an unreachable isolate with an open session ends', async () => {
  await withContext(async () => {
    const isolate = new ivm.Isolate({ inspector: true });
    const client = Client.ofIsolate(isolate);
    await client.call('Runtime.enable');
    client.close();
    block(30);
    assert.equal(isolate.createContextSync().evalSync('1'), 1);
    isolate.dispose();
  });
});
