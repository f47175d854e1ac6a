// Random sessions that step, set breakpoints and end while guests run, wait and are paused. The process survives, and all calls settle.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const SOURCE = `
globalThis.f = function f(n) { let x = 0; for (let i = 0; i < n * 200; i++) x += g(i & 7); return x; };
globalThis.g = function g(n) { return n > 0 ? g(n - 1) + 1 : 0; };
globalThis.h = async function h(n) { let sum = 0; for (let i = 0; i < n; i++) { sum += await i; sum += g(i & 3); } return sum; };
globalThis.A = class A { y = g(2); constructor(n) { this.n = n; if (n > 0) this.next = new A(n - 1); } get d() { debugger; return 3; } };
globalThis.viaHost = (n) => { for (let i = 0; i < n; i++) host.applySync(undefined, [i]); };
0`;

const CODES = [
  'f(5)', 'f(50)', 'h(20)', 'h(200)', 'new A(4).d', 'viaHost(60)', 'debugger; f(3)', 'for (;;) g(3)', 'for (;;) debugger',
  'for (let i = 0; i < 20; i++) { debugger; f(2) }', 'eval("debugger; f(2)")', 'h(3).then(() => { debugger; return f(2) })',
  '[3, 2, 1].sort((a, b) => { debugger; return a - b })', '"aaa".replace(/a/g, () => { debugger; return g(2) })',
  'new Proxy({}, { get() { debugger; return g(1) } }).x', 'try { null.x } catch {}', 'console.log(f, [1, { a: new A(1) }])',
];

const METHODS = [
  'Debugger.enable', 'Debugger.disable', 'Debugger.pause', 'Debugger.resume', 'Debugger.stepOver', 'Debugger.stepInto', 'Debugger.stepOut',
  'Debugger.setBreakpointByUrl', 'Debugger.setPauseOnExceptions', 'Debugger.setBreakpointsActive', 'Debugger.restartFrame', 'Runtime.terminateExecution',
];

for (const seed of [1, 2, 3]) {
  test(`random sessions, seed ${seed}`, () => passes(`
    ivm.configureEngine({ terminationGrace: 500 });
    let state = ${seed};
    const random = (below) => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
    };
    const pick = (list) => list[random(list.length)];
    const METHODS = ${JSON.stringify(METHODS)};
    const CODES = ${JSON.stringify(CODES)};
    let pauses = 0;
    /** A guest that does not stop loses its isolate. */
    const unlessEnded = (action) => {
      try { return action(); } catch (error) { assert.equal(error.code, 'ERR_ISOLATE_DISPOSED'); }
    };
    async function round() {
      const one = new ivm.Isolate({ inspector: true, memoryLimit: 256 });
      const within = await one.createContext({ inspector: true });
      const sessions = [];
      const calls = new Set();
      let frame = 'none';
      let isOver = false;
      const send = (session, method) => {
        const params = {
          'Debugger.setBreakpointByUrl': { url: 'file:///s.js', lineNumber: 1 + random(5), columnNumber: random(60) },
          'Debugger.setPauseOnExceptions': { state: pick(['none', 'all']) },
          'Debugger.setBreakpointsActive': { active: random(3) > 0 },
          'Debugger.restartFrame': { callFrameId: frame, mode: 'StepInto' },
        }[method];
        unlessEnded(() => session.dispatchProtocolMessage(JSON.stringify({ id: 1, method, params })));
      };
      const open = () => {
        const session = unlessEnded(() => one.createInspectorSession());
        if (session === undefined) return;
        sessions.push(session);
        session.onResponse = () => {};
        session.onNotification = (json) => {
          const { method, params } = JSON.parse(json);
          if (method !== 'Debugger.paused') return;
          pauses += 1;
          frame = params.callFrames[0]?.callFrameId ?? frame;
          setImmediate(() => {
            if (sessions.includes(session) && random(5) > 0) send(session, pick(METHODS.slice(3, 7)));
          });
        };
        send(session, 'Debugger.enable');
        send(session, 'Runtime.enable');
      };
      const act = () => {
        if (isOver || one.isDisposed) return;
        const kind = random(100);
        if (kind < 55 && sessions.length > 0) send(pick(sessions), pick(METHODS));
        else if (kind < 80 && calls.size < 6) {
          const called = within.eval(pick(CODES), { timeout: pick([20, 200, 400]) }).catch(() => {}).finally(() => calls.delete(called));
          calls.add(called);
        } else if (kind < 85 && sessions.length < 4) open();
        else if (kind < 90 && sessions.length > 0) sessions.splice(random(sessions.length), 1)[0].dispose();
        else if (kind < 94) {
          try { within.evalSync(pick(CODES), { timeout: 100, deadline: 300 }); } catch {}
        }
      };
      await within.global.set('host', new ivm.Reference(() => { if (random(20) === 0) act(); }));
      await within.eval(${JSON.stringify(SOURCE)}, { filename: 'file:///s.js' });
      open();
      for (let step = 0; step < 60; step += 1) {
        act();
        if (random(3) === 0) await sleep(pick([0, 1, 5, 20]));
      }
      isOver = true;
      for (const session of sessions.splice(0)) session.dispose();
      await waitFor(() => calls.size === 0, 30_000);
      if (!one.isDisposed) one.dispose();
    }
    for (const end = ms() + 8_000; ms() < end;) await round();
    // The control: the debugger was at work.
    assert.ok(pauses > 20, String(pauses));
    otherWorks();
  `, { timeout: 60_000 }));
}
