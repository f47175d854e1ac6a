// Guests that attack the inspector, and ends at awkward moments. Each in a process of its own.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { host, run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

const options = '{ inspector: true, memoryLimit: 64 }';

/** A session whose messages are counted, on a context that it can see. */
const INSPECTED = `
  const seen = isolate.createContextSync({ inspector: true });
  const counts = { notifications: 0, bytes: 0 };
  const session = isolate.createInspectorSession();
  let paused;
  let lastPause;
  const isPaused = new Promise((resolve) => { paused = resolve; });
  session.onNotification = (json) => {
    counts.notifications += 1;
    counts.bytes += json.length;
    if (json.startsWith('{"method":"Debugger.paused"')) {
      lastPause = JSON.parse(json).params;
      paused();
    }
  };
  const answers = new Map();
  session.onResponse = (id, json) => answers.get(id)?.(json);
  const call = (id, method, params) => new Promise((resolve) => {
    answers.set(id, resolve);
    session.dispatchProtocolMessage(JSON.stringify({ id, method, params }));
  });
  await call(1, 'Runtime.enable');
  await call(2, 'Debugger.enable');
  const max = 1_000 * 2 ** 20;
  const checkMemory = () => {
    const { rss } = process.memoryUsage();
    assert.ok(rss < max, 'takes ' + (rss >> 20) + ' MiB');
  };
`;

const inspected = (code, settings) => passes(INSPECTED + code, { options, timeout: 60_000, ...settings });

const PRINTS = {
  'an array of long strings': 'console.log(Array(10000).fill("x".repeat(2 ** 20)))',
  'an array of arrays of long strings': 'console.log([Array(5000).fill("x".repeat(2 ** 20)), Array(4000).fill("y".repeat(2 ** 20))])',
  'an array of getters': 'console.log(Object.defineProperty([1], 0, { get: () => "x".repeat(2 ** 28) }))',
  'objects with long names': 'console.dir(Array(10000).fill({ [Symbol.toStringTag]: "x".repeat(2 ** 20) }))',
  'inherited long names': 'Object.prototype[Symbol.toStringTag] = "x".repeat(2 ** 20); console.table(Array(10000).fill({}))',
  'functions with a long text': 'const f = () => {}; f.toString = () => "x".repeat(2 ** 24); console.warn(Array(10000).fill(f))',
  'holes': 'Array.prototype[0] = "x".repeat(2 ** 24); console.log(Array(10000))',
  'many long strings': 'console.log(...Array(60000).fill("x".repeat(2 ** 24)))',
  'an assertion': 'console.assert(false, Array(10000).fill("x".repeat(2 ** 20)))',
  'many long symbols': 'console.log(...Array(60000).fill(Symbol("x".repeat(2 ** 24))))',
  'unbounded labels': 'for (let i = 0; i < 3000; i++) console.count("x".repeat(2 ** 22) + i)',
  'unbounded timers': 'for (let i = 0; i < 3000; i++) { console.time("x".repeat(2 ** 22) + i); console.timeLog("x".repeat(2 ** 22) + i) }',
  'labels of objects': 'for (let i = 0; i < 300; i++) console.countReset({ toString: () => "x".repeat(2 ** 24) + i })',
};

for (const [name, code] of Object.entries(PRINTS)) {
  test(`console: ${name}`, () => inspected(`
    for (const context of [seen, isolate.createContextSync()]) {
      await context.eval(${JSON.stringify(code)}, { deadline: 30_000 }).catch(() => {});
      checkMemory();
      if (isolate.isDisposed) break;
    }
  `));
}

test('console: methods that would bypass the bounds are absent', () => inspected(`
  assert.equal(seen.evalSync('typeof console.context + typeof console.createTask'), 'undefinedundefined');
  assert.equal(seen.evalSync('try { console.count({ toString() { throw 1 } }) } catch (thrown) { thrown }'), 1);
  assert.equal(seen.evalSync('try { new console.log() } catch (error) { error.constructor.name }'), 'TypeError');
`));

test('a flood of messages makes the guest wait, and the host continues', () => inspected(`
  const flood = seen.eval('for (let i = 0; i < 30_000; i++) console.log("x".repeat(5000))');
  let turns = 0;
  const timer = setInterval(() => { turns += 1; }, 1);
  await flood;
  clearInterval(timer);
  await call(3, 'Runtime.evaluate', { expression: '1', contextId: 2 });
  assert.ok(turns > 0);
  assert.ok(counts.notifications > 30_000, String(counts.notifications));
  checkMemory();
`));

test('a flood during a sync call loses messages and ends', () => inspected(`
  seen.evalSync('for (let i = 0; i < 30_000; i++) console.log("x".repeat(5000))');
  checkMemory();
  await call(3, 'Runtime.evaluate', { expression: '1', contextId: 2 });
  assert.ok(counts.notifications >= 10_000 && counts.notifications < 30_000, String(counts.notifications));
`));

test('a guest that waits for its host to listen can be called and ended', () => inspected(`
  const flood = errorOf(() => seen.eval('globalThis.i = 0; for (; i < 1e9; i++) console.log("x".repeat(5000))'));
  block(300);
  assert.equal(syncError(() => seen.evalSync('1', { deadline: 200 })).code, 'ERR_ISOLATE_DEADLINE');
  assert.equal(isolate.isDisposed, false);
  isolate.dispose();
  assert.equal((await flood).code, 'ERR_ISOLATE_DISPOSED');
  checkMemory();
`));

test('unbounded messages are refused', () => inspected(`
  const flood = seen.eval('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)');
  const refused = syncError(() => { for (let i = 0; i < 1e6; i++) session.dispatchProtocolMessage('{}'); });
  assert.equal(refused.code, 'ERR_ISOLATE_LIMIT');
  assert.equal(syncError(() => session.dispatchProtocolMessage('x'.repeat(2 ** 27))).code, 'ERR_ISOLATE_LIMIT');
  await flood;
  await call(3, 'Runtime.enable');
`));

test('unbounded scripts and exceptions', () => inspected(`
  await seen.eval('for (let i = 0; i < 20_000; i++) { try { (0, eval)("//# sourceURL=" + "u".repeat(200) + i + "\\\\n throw " + i) } catch {} }');
  checkMemory();
  await call(3, 'Debugger.disable');
`));

/** Runs `code` below many frames of a function and a script with long names. */
const below = (code) => JSON.stringify(`
  globalThis.name = 'f'.repeat(2 ** 20);
  globalThis.source = 'globalThis.f = { [name]: (depth) => { if (depth > 0) f(depth - 1); else { ${code} } } }[name];';
  (0, eval)([source, '//# sourceURL=' + 'u'.repeat(2 ** 21)].join(String.fromCharCode(10)));
  f(300);
`);

for (const [what, code, domain, event, trace, url] of [
  ['console messages', 'console.log(1)', 'Runtime', 'Runtime.consoleAPICalled', 'params.stackTrace', 'u'.repeat(1_024)],
  ['pauses', 'debugger', 'Debugger', 'Debugger.paused', 'params', ''],
]) {
  test(`stack traces of long names: ${what}`, () => passes(`
    const seen = isolate.createContextSync({ inspector: true });
    const session = isolate.createInspectorSession();
    const traces = [];
    let longest = 0;
    session.onNotification = (json) => {
      const { method, params } = JSON.parse(json);
      if (method !== '${event}') return;
      longest = Math.max(longest, json.length);
      traces.push(${trace}.callFrames);
      if (method === 'Debugger.paused') session.dispatchProtocolMessage('{"id":2,"method":"Debugger.resume"}');
    };
    const enabled = new Promise((resolve) => { session.onResponse = resolve; });
    session.dispatchProtocolMessage('{"id":1,"method":"${domain}.enable"}');
    await enabled;
    for (let round = 0; round < 4; round += 1) await seen.eval(${below(code)});
    await waitFor(() => traces.length === 4);
    const { rss } = process.memoryUsage();
    assert.ok(rss < 600 * 2 ** 20, 'takes ' + (rss >> 20) + ' MiB');
    assert.ok(longest < 2 ** 21, String(longest));
    for (const frames of traces) {
      assert.ok(frames.length >= 200, String(frames.length));
      assert.equal(frames[0].functionName, 'f'.repeat(1_024));
      for (const { name } of frames[0].scopeChain ?? []) assert.ok(name === undefined || name.length <= 1_024);
      assert.equal(frames[0].url, '${url}');
    }
  `, { options, timeout: 60_000 }));
}

test('values that nest deeply are sent, and V8 refuses what it cannot send', () => inspected(`
  seen.evalSync('globalThis.deep = (depth) => { let value = []; while (--depth) value = [value]; return value }');
  const evaluate = async (id, expression, params) => JSON.parse(await call(id, 'Runtime.evaluate', { expression, contextId: 2, ...params }));
  const depthOf = (value) => { let depth = 0; for (let inner = value; inner; [inner] = inner) depth += 1; return depth; };
  for (const params of [{ returnByValue: true }, { serializationOptions: { serialization: 'json' } }]) {
    for (const depth of [250, 350, 900]) {
      const { result } = await evaluate(depth, 'deep(' + depth + ')', params);
      assert.equal(depthOf(result.result.value), depth);
    }
    const { error } = await evaluate(3, 'deep(100_000)', params);
    assert.equal(error.message, 'Object reference chain is too long');
  }
  for (const [index, method] of ['Runtime.evaluate', 'Runtime.\\\\u0065valuate'].entries()) {
    const answered = new Promise((resolve) => { answers.set(index + 10, resolve); });
    session.dispatchProtocolMessage('{"id":' + (index + 10) + ',"method":"' + method + '","params":{"expression":"({ get a() { throw 1 } })","contextId":2,"serializationOptions":{"seri\\\\u0061lization":"deep"}}}');
    assert.match(JSON.parse(await answered).error.message, /deep, which is not supported/);
  }
  const characters = 'String.fromCharCode(233, 0xd83d, 0x2028, 9, 8, 0, 127, 92, 34)';
  assert.equal((await evaluate(20, characters)).result.result.value, String.fromCharCode(233, 0xd83d, 0x2028, 9, 8, 0, 127, 92, 34));
  assert.equal((await evaluate(21, '-1.5e-300')).result.result.value, -1.5e-300);
`));

test('sampling with any settings', () => inspected(`
  await call(3, 'HeapProfiler.enable');
  const sample = async (id, params) => JSON.parse(await call(id, 'HeapProfiler.startSampling', params));
  for (const [index, samplingInterval] of [0, 0.5, 1e-300, -1].entries()) {
    assert.equal((await sample(10 + index, { samplingInterval })).error.message, 'Invalid sampling interval');
  }
  session.dispatchProtocolMessage('{"method":"HeapProfiler.startSampling","id":20,/* */"params":{"samplingInterval":0.5}}');
  assert.deepEqual((await sample(21, { samplingInterval: 64, stackDepth: 1e9 })).result, {});
  seen.evalSync('const f = (n) => n > 0 ? [f(n - 1)] : Array.from({ length: 10_000 }, () => ({})); f(1_500)');
  const { result: { profile } } = JSON.parse(await call(22, 'HeapProfiler.stopSampling'));
  const depthOf = (node) => 1 + Math.max(0, ...node.children.map(depthOf));
  assert.ok(depthOf(profile.head) > 100, String(depthOf(profile.head)));
`));

test('deep recursion at a pause', () => inspected(`
  const result = errorOf(() => seen.eval('function f() { f() } try { f() } catch (error) { debugger; throw error }'));
  await isPaused;
  await call(3, 'Debugger.resume');
  assert.equal((await result).name, 'RangeError');
`));

test('sessions opened and closed at any time', () => inspected(`
  const running = seen.eval('let end = false; while (!end) { debugger; console.log({}) }').catch(() => {});
  for (let round = 0; round < 200; round += 1) {
    let other;
    while (other === undefined) {
      try { other = isolate.createInspectorSession(); } catch (error) {
        assert.equal(error.code, 'ERR_ISOLATE_LIMIT');
        await sleep(1);
      }
    }
    other.onNotification = () => {};
    for (const method of ['Debugger.enable', 'Runtime.enable', 'Profiler.enable', 'Profiler.start', 'Debugger.resume', 'Debugger.pause']) {
      other.dispatchProtocolMessage(JSON.stringify({ id: 1, method }));
    }
    if (round % 3 === 0) await new Promise((resolve) => { setImmediate(resolve); });
    other.dispose();
  }
  isolate.dispose();
  await running;
`));

test('isolates that end while sessions are busy', () => passes(`
  for (let round = 0; round < 40; round += 1) {
    const isolate = new ivm.Isolate({ inspector: true, memoryLimit: 16 });
    const context = await isolate.createContext({ inspector: true });
    const sessions = [1, 2].map(() => isolate.createInspectorSession());
    const notified = new Promise((resolve) => { sessions[0].onNotification = resolve; });
    for (const session of sessions) {
      session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
      session.dispatchProtocolMessage('{"id":2,"method":"Runtime.evaluate","params":{"expression":"debugger; for (;;) debugger","contextId":2}}');
    }
    const running = context.eval(round % 2 ? 'for (;;) debugger' : 'const all = []; for (;;) all.push(new Array(1e4).fill(0))').catch(() => {});
    if (round % 3) await notified;
    if (!isolate.isDisposed) isolate.dispose();
    await running;
  }
  // A session's evaluation inside a pause accepts no termination: such a guest is abandoned after the grace period.
`, { timeout: 150_000 }));

/** Code in which V8 calls `host`, or the promise handler of a session, to describe an error. */
const DESCRIBED = {
  'a message of the console': 'console.log(one, other); 1',
  'a pause at an exception': 'try { throw one } catch {} 1',
  'the result of a promise': 'settle(one); 1',
};

for (const [what, code] of Object.entries(DESCRIBED)) {
  for (const [how, end, then] of [
    ['is closed', 'session.dispose()', ''],
    ['resumes the guest', 'session.dispatchProtocolMessage(\'{"id":9,"method":"Debugger.resume"}\')', 'await call(6, "Debugger.disable");'],
  ]) {
    test(`a session that ${how} while code of the guest describes ${what} to it`, () => inspected(`
      let calls = 0;
      await call(3, 'Debugger.setPauseOnExceptions', { state: 'all' });
      await seen.global.set('host', new ivm.Reference(async () => {
        calls += 1;
        if (calls > 1) return;
        ${end};
        // Meanwhile the guest, which waits, handles the request.
        await sleep(50);
      }));
      // Their stacks, for which V8 reads the name, too, exist before that has a getter.
      await seen.eval('const one = new Error("x"), other = new Error("y"); const promise = new Promise((resolve) => { globalThis.settle = resolve })');
      session.dispatchProtocolMessage('{"id":4,"method":"Runtime.evaluate","params":{"expression":"promise","awaitPromise":true,"contextId":2}}');
      await call(5, 'Runtime.evaluate', { expression: '1', contextId: 2 });
      await seen.eval('Object.defineProperty(Error.prototype, "name", { get() { host.applySyncPromise(); return "E" } }); 0');
      assert.equal(await seen.eval(${JSON.stringify(code)}, { timeout: 10_000 }), 1);
      assert.ok(calls > 0);
      ${then}
      // What takes the memory of what was freed.
      for (let count = 0; count < 40; count += 1) isolate.createInspectorSession().dispose();
      assert.equal(await seen.eval(${JSON.stringify(code)}, { timeout: 10_000 }), 1);
    `));
  }
}

test('sessions that are closed during a call make room for others', () => inspected(`
  const running = seen.eval('globalThis.ends = false; while (!ends) new Error("x")').catch(() => {});
  let closed = 0;
  for (let round = 0; round < 40; round += 1) {
    for (let count = 0; count < 20; count += 1) {
      isolate.createInspectorSession().dispose();
      closed += 1;
    }
    // The guest has handled all requests so far.
    await call(100 + round, 'Runtime.evaluate', { expression: '1', contextId: 2 });
  }
  assert.equal(closed, 800);
  await call(3, 'Runtime.evaluate', { expression: 'ends = true', contextId: 2 });
  await running;
  for (let count = 0; count < 40; count += 1) isolate.createInspectorSession().dispose();
`));

for (const [where, state, code] of [
  ['that was requested', 'none', 'while (!globalThis.ends) f(1e6)'],
  ['at an exception', 'all', 't()'],
  ['at a statement', 'none', 'd()'],
]) {
  test(`a request to restart a frame in a pause ${where} is refused`, () => inspected(`
    seen.evalSync('function f(n) { let x = 0; for (let i = 0; i < n; i++) x += i % 7; return x } function t() { try { throw 1 } catch { return 1 } } function d() { debugger; return 1 } for (let i = 0; i < 50; i++) f(10_000)');
    await call(3, 'Debugger.setPauseOnExceptions', { state: '${state}' });
    const running = seen.eval(${JSON.stringify(code)});
    if (${code.startsWith('while')}) session.dispatchProtocolMessage('{"id":4,"method":"Debugger.pause"}');
    await isPaused;
    // The numbers of the call frames of the first pause.
    const { error } = JSON.parse(await call(5, 'Debugger.restartFrame', { callFrameId: lastPause.callFrames[0].callFrameId, mode: 'StepInto' }));
    assert.match(error.message, /not supported/);
    await call(6, 'Debugger.evaluateOnCallFrame', { callFrameId: lastPause.callFrames[0].callFrameId, expression: 'globalThis.ends = true' });
    await call(7, 'Debugger.resume');
    await running;
  `));
}

test('the process ends with a paused guest', async () => {
  const code = `
    const isolate = new ivm.Isolate({ inspector: true });
    const context = isolate.createContextSync({ inspector: true });
    const session = globalThis.kept = isolate.createInspectorSession();
    session.onNotification = (json) => { if (json.includes('Debugger.paused')) process.exit(7); };
    session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
    context.eval('debugger').catch(() => {});`;
  const { code: status, signal } = await run(code, { timeout: 20_000 });
  assert.deepEqual([status, signal], [7, null]);
});

test('an open session keeps no process alive', async () => {
  const code = `
    const isolate = new ivm.Isolate({ inspector: true });
    const session = globalThis.kept = isolate.createInspectorSession();
    session.onResponse = () => console.log('answered');
    session.dispatchProtocolMessage('{"id":1,"method":"Runtime.enable"}');`;
  const { code: status, stdout } = await run(code, { timeout: 20_000 });
  assert.deepEqual([status, stdout.trim()], [0, 'answered']);
});

test('a worker ends with a guest that a debugger pauses, or would pause', () => passes(`
  const { Worker } = await import('node:worker_threads');
  const entry = ${JSON.stringify(new URL('../../../index.js', import.meta.url).pathname)};
  for (const mode of ['eval', 'evalSync']) {
    const worker = new Worker(\`
      const { parentPort } = require('node:worker_threads');
      const ivm = require(\${JSON.stringify(entry)});
      const isolate = new ivm.Isolate({ inspector: true });
      const context = isolate.createContextSync({ inspector: true });
      const session = globalThis.kept = isolate.createInspectorSession();
      session.onResponse = () => {
        context.global.setSync('begun', () => { parentPort.postMessage('begun'); });
        // A sync call does not stay paused.
        context.\${mode}('begun(); for (;;) debugger');
      };
      session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
    \`, { eval: true });
    worker.on('error', () => {});
    await new Promise((resolve) => { worker.once('message', resolve); });
    await worker.terminate();
  }
`));

test('profiles of a guest that logs and allocates endlessly', () => passes(`
  isolate.startCpuProfiler('a');
  const code = 'for (let i = 0; ; i++) { console.count("x".repeat(2 ** 24) + i); console.time("y".repeat(2 ** 24) + i) }';
  const error = await errorOf(() => context.eval(code, { timeout: 500 }));
  assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT');
  const { rss } = process.memoryUsage();
  assert.ok(rss < 1_000 * 2 ** 20, 'takes ' + (rss >> 20) + ' MiB');
  assert.ok((await isolate.stopCpuProfiler('a')).length > 0);
  isolate.startCpuProfiler('b');
  assert.equal((await errorOf(() => context.eval('const all = []; for (;;) all.push(new Array(1e4).fill(0))'))).code, 'ERR_ISOLATE_MEMORY');
  otherWorks();
`));

test('many isolates are profiled at once', () => passes(`
  const isolates = Array.from({ length: 8 }, () => new ivm.Isolate());
  const results = await Promise.all(isolates.map(async (isolate, index) => {
    isolate.startCpuProfiler('a');
    const context = await isolate.createContext();
    await context.eval('for (let i = 0; i < 3e7; i++);');
    if (index % 2) return isolate.dispose();
    return isolate.stopCpuProfiler('a');
  }));
  for (const result of results) assert.ok(result === undefined || result.length === 2);
`));

test('a host that profiles itself, in every order', { skip: !host.startsWith('node') && 'not on this host' }, () => passes(`
  const { Session } = await import('node:inspector/promises');
  const own = new Session();
  own.connect();
  await own.post('Profiler.enable');
  const spin = (time) => { const end = ms() + time; while (ms() < end); };
  const busy = () => context.eval('for (let end = Date.now() + 200; Date.now() < end;);');
  const hostStarts = () => own.post('Profiler.start');
  const hostStops = () => own.post('Profiler.stop');
  let run;
  const guestStarts = () => { run = busy(); spin(100); };
  const guestStops = () => run;
  for (const steps of [
    [hostStarts, guestStarts, guestStops, hostStops],
    [hostStarts, guestStarts, hostStops, guestStops],
    [guestStarts, hostStarts, hostStops, guestStops],
    [guestStarts, hostStarts, guestStops, hostStops],
  ]) {
    isolate.startCpuProfiler('a');
    for (const step of steps) {
      await step();
      spin(30);
    }
    const profiles = await isolate.stopCpuProfiler('a');
    assert.equal(profiles.length, steps[0] === hostStarts ? 0 : 1);
  }
`));

test('a heap snapshot that was requested before the guest was abandoned, and a pause after that', () => passes(`
  ivm.configureEngine({ terminationGrace: 100 });
  const found = [];
  for (let round = 0; round < 3; round += 1) {
    const one = new ivm.Isolate(${options});
    const within = await one.createContext({ inspector: true });
    const session = one.createInspectorSession();
    session.onNotification = () => {};
    session.onResponse = () => {};
    let id = 0;
    const send = (method, params) => session.dispatchProtocolMessage(JSON.stringify({ id: id += 1, method, params }));
    send('Debugger.enable');
    send('HeapProfiler.enable');
    // V8 notices that it must stop only after the pause.
    const running = errorOf(() => within.eval('{ const end = Date.now() + 150; while (Date.now() < end); [].indexOf.call({ length: 3e7 }, 1); debugger; }', { timeout: 200 }));
    await sleep(30);
    for (let count = 0; count < 8; count += 1) send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    found.push((await running).code);
    // What takes the memory of what was freed.
    await Promise.all(Array.from({ length: 100 }, () => errorOf(() => isolate.createContext().then((context) => context.eval('throw new Error("x".repeat(100))')))));
    await sleep(1_000);
  }
  // The control: a guest was abandoned.
  assert.ok(found.includes('ERR_ISOLATE_UNRESPONSIVE'), found.join());`, { options, timeout: 60_000 }));
