// Guests that a debugger would pause while a thread of the host waits for them, which is the thread that could resume them. Each in a process of
// its own, which would wait forever.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** A session that pauses the guest, and the pauses that it has seen. */
const SESSION = `
  const inspect = async (isolate) => {
    const session = isolate.createInspectorSession();
    const events = [];
    const answers = new Map();
    session.onNotification = (json) => { events.push(JSON.parse(json)); };
    session.onResponse = (id, json) => answers.get(id)?.(JSON.parse(json).result);
    let last = 0;
    const send = (method, params) => {
      last += 1;
      session.dispatchProtocolMessage(JSON.stringify({ id: last, method, params }));
      return new Promise((resolve) => { answers.set(last, resolve); });
    };
    await send('Runtime.enable');
    await send('Debugger.enable');
    const count = (method) => events.filter((event) => event.method === method).length;
    /** How often the guest was paused and resumed so far. */
    const pauses = async () => {
      await send('Runtime.enable');
      assert.equal(count('Debugger.resumed'), count('Debugger.paused'));
      return count('Debugger.paused');
    };
    return { send, pauses, count, session };
  };
  const seen = isolate.createContextSync({ inspector: true });
  const { send, pauses, count } = await inspect(isolate);
`;

const inspected = (code, way) => passes(SESSION + code, { options: '{ inspector: true }', env: { ISOLATED_V8_SYNC_CALLS: way } });

for (const way of ['caller', 'thread']) {
  describe(`sync calls on the ${way}`, () => {
    test('`debugger` does not pause, whatever the limits of the call', () => inspected(`
      for (const limits of [{}, { timeout: 300 }, { deadline: 20_000 }]) assert.equal(seen.evalSync('debugger; 7', limits), 7);
      assert.equal(await pauses(), 3);
      assert.equal(seen.evalSync('let sum = 0; for (let i = 0; i < 1_000; i++) { debugger; sum += i } sum', { timeout: 20_000 }), 499_500);
      assert.throws(() => seen.evalSync('for (;;) debugger', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      assert.equal(seen.evalSync('8'), 8);
    `, way));

    test('breakpoints, steps and exceptions do not pause', () => inspected(`
      seen.evalSync('function add(a, b) {\\n  const sum = a + b;\\n  return sum;\\n}', { filename: 'file:///add.js' });
      await send('Debugger.setBreakpointByUrl', { url: 'file:///add.js', lineNumber: 2 });
      await send('Debugger.setInstrumentationBreakpoint', { instrumentation: 'beforeScriptExecution' });
      await send('Debugger.setPauseOnExceptions', { state: 'all' });
      const before = await pauses();
      assert.equal(seen.evalSync('add(20, 22)', { timeout: 300 }), 42);
      assert.throws(() => seen.evalSync('throw new Error("thrown")', { timeout: 300 }), { message: 'thrown' });
      assert.ok(await pauses() > before);
      // A step that was requested earlier ends in a pause, like these.
      const run = seen.eval('add(1, 2); globalThis.stepped = true');
      await waitFor(() => count('Debugger.paused') > count('Debugger.resumed'));
      send('Debugger.stepOver');
      assert.equal(seen.evalSync('debugger; 9', { timeout: 300 }), 9);
      const timer = setInterval(() => { send('Debugger.resume'); }, 5);
      await run;
      clearInterval(timer);
      assert.equal(seen.evalSync('stepped'), true);
    `, way));

    test('requests to pause that wait for the call do not pause', () => inspected(`
      for (const method of ['Debugger.pause', 'Runtime.runIfWaitingForDebugger', 'Debugger.pause']) send(method);
      assert.equal(seen.evalSync('let sum = 0; for (let i = 0; i < 10; i++) sum += i; sum', { timeout: 300 }), 45);
      send('Debugger.pause');
      assert.equal(isolate.compileScriptSync('6 * 7').runSync(seen, { timeout: 300 }), 42);
      send('Runtime.evaluate', { expression: 'debugger; globalThis.evaluated = true', contextId: 2 });
      assert.equal(seen.evalSync('10'), 10);
      const timer = setInterval(() => { send('Debugger.resume'); }, 5);
      await waitFor(() => seen.eval('globalThis.evaluated === true'));
      clearInterval(timer);
    `, way));

    test('guests that a waiting host has reached through others do not pause', () => inspected(`
      // From the host through its callback into the same isolate, and through another isolate, which calls this one.
      seen.global.setSync('back', () => seen.evalSync('debugger; 1', { timeout: 300 }));
      assert.equal(seen.evalSync('debugger; back() + 1'), 2);
      const other = new ivm.Isolate({ inspector: true }).createContextSync({ inspector: true });
      other.global.setSync('add', seen.evalSync('(a, b) => { debugger; return a + b }', { reference: true }));
      assert.equal(other.evalSync('add.applySync(undefined, [20, 22])', { timeout: 300 }), 42);
      // A message that arrives in the callback makes the guest pause while it waits for the callback, or after that.
      seen.global.setSync('ask', () => { send('Runtime.evaluate', { expression: 'debugger; globalThis.asked = true', contextId: 2 }); });
      assert.equal(seen.evalSync('ask(); while (!globalThis.asked); 11', { timeout: 20_000 }), 11);
      assert.ok(await pauses() >= 4);
    `, way));

    test('guests that no host waits for pause', () => inspected(`
      seen.evalSync('debugger');
      const before = await pauses();
      const other = new ivm.Isolate().createContextSync();
      other.global.setSync('add', seen.evalSync('(a, b) => { debugger; return a + b }', { reference: true }));
      for (const call of [() => seen.eval('debugger; 42'), () => other.eval('add.apply(undefined, [20, 22])', { promise: true })]) {
        const paused = count('Debugger.paused');
        const result = call();
        await waitFor(() => count('Debugger.paused') > paused);
        assert.equal(seen.evalSync('debugger; 1'), 1);
        await send('Debugger.resume');
        assert.equal(await result, 42);
      }
      assert.equal(await pauses(), before + 2);
    `, way));

    test('workers do not wait either', () => inspected(`
      const { Worker } = await import('node:worker_threads');
      const worker = new Worker(\`
        const { parentPort } = require('node:worker_threads');
        const ivm = require(\${JSON.stringify(${JSON.stringify(new URL('../../../index.js', import.meta.url).pathname)})});
        const isolate = new ivm.Isolate({ inspector: true });
        const context = isolate.createContextSync({ inspector: true });
        const session = globalThis.kept = isolate.createInspectorSession();
        session.onResponse = () => { parentPort.postMessage(context.evalSync('debugger; 12', { timeout: 300 })); };
        session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
      \`, { eval: true });
      const message = new Promise((resolve, reject) => { worker.once('message', resolve).once('error', reject); });
      assert.equal(await message, 12);
      await worker.terminate();
    `, way));
  });
}
