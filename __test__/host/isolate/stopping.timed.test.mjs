// Every reason to stop × every state of a call. exit/matrix.test.mjs tests the ends of environments.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const TIMEOUT = 'ERR_ISOLATE_TIMEOUT';
const DEADLINE = 'ERR_ISOLATE_DEADLINE';
const DISPOSED = 'ERR_ISOLATE_DISPOSED';
const MEMORY = 'ERR_ISOLATE_MEMORY';
const ABORTED = 'abortReason to';
/** The call continues, and returns its value. */
const CONTINUES = 'continues';

/**
 * The outcome of a call in each state, by reason. `enter` is code of a function that makes the call with `options` and returns its outcome,
 * or a promise of it. It calls `act` when the state is reached, which triggers the reason unless time does.
 * @type {Record<string, { enter: string, isolate?: string, outcomes: Record<string, string> }>}
 */
const STATES = {
  'running, in an async call': {
    enter: `context.global.setSync('started', new ivm.Callback(act, { ignored: true }));
      return context.eval(MARKED('started(); for (;;);'), options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED },
  },
  'running, in a sync call': {
    enter: `return context.evalSync(MARKED('for (;;);'), options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE },
  },
  'running out of memory': {
    enter: `return context.eval(MARKED(FILL), options);`,
    outcomes: { nothing: MEMORY },
  },
  'running out of memory, in a sync call': {
    enter: `return context.evalSync(MARKED(FILL), options);`,
    outcomes: { nothing: MEMORY },
  },
  'running microtasks': {
    enter: `context.global.setSync('started', new ivm.Callback(act, { ignored: true }));
      return context.eval('started(); (async () => { for (;;) await 0 })()', options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED },
  },
  'in a callback, of an async call': {
    enter: `context.global.setSync('wait', () => { act(); block(WHILE); return 'value'; });
      return context.eval(MARKED('wait()'), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
  'in a callback, of a sync call': {
    enter: `context.global.setSync('wait', () => { act(); block(WHILE); return 'value'; });
      return context.evalSync(MARKED('wait()'), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, dispose: DISPOSED, memory: MEMORY },
  },
  'in applySyncPromise': {
    enter: `context.global.setSync('wait', new ivm.Reference(async () => { await sleep(10); act(); await sleep(WHILE); return 'value'; }));
      return context.eval(MARKED('wait.applySyncPromise()'), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
  'waiting for a promise': {
    enter: `setTimeout(act, 10);
      setTimeout(() => { if (!isolate.isDisposed) context.evalSync("done('value')"); }, WHILE);
      return context.eval('new Promise((resolve) => { globalThis.done = resolve; })', { ...options, promise: true });`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
  'waiting for a promise of the host': {
    enter: `setTimeout(act, 10);
      const value = new Promise((resolve) => { setTimeout(() => resolve('value'), WHILE); });
      return context.evalClosure('return $0', [value], { ...options, arguments: { promise: true, copy: true }, result: { promise: true, copy: true } });`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
  'in a nested call': {
    enter: `context.global.setSync('act', act);
      context.global.setSync('outer', () => context.evalSync(MARKED('act(); ' + BUSY + "'value'")));
      return context.eval(MARKED('outer()'), options);`,
    // The outer call waits for the host; the inner one has limits of its own.
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED },
  },
  'in a nested call, of a sync call': {
    enter: `context.global.setSync('act', act);
      context.global.setSync('outer', () => context.evalSync(MARKED('act(); ' + BUSY + "'value'")));
      return context.evalSync(MARKED('outer()'), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, dispose: DISPOSED },
  },
  'in a nested call that runs out of memory': {
    enter: `context.global.setSync('outer', () => context.evalSync(MARKED(FILL)));
      return context.evalSync(MARKED('outer()'), options);`,
    outcomes: { nothing: MEMORY },
  },
  'in a call of another isolate, which runs': {
    enter: `const other = new ivm.Isolate().createContextSync();
      other.global.setSync('act', act);
      context.global.setSync('other', other.evalSync('() => { act(); for (;;); }', { reference: true }));
      return context.evalSync(MARKED('other.applySync()'), options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE, dispose: DISPOSED },
  },
  'in a call of another isolate, which waits for a callback': {
    enter: `const other = new ivm.Isolate().createContextSync();
      other.global.setSync('wait', () => { act(); block(WHILE); return 'value'; });
      context.global.setSync('other', other.evalSync('() => wait()', { reference: true }));
      return context.evalSync(MARKED('other.applySync()'), options);`,
    // Only waiting for a host does not count.
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE, dispose: DISPOSED, memory: MEMORY },
  },
  'in Atomics.wait': {
    enter: `context.global.setSync('started', new ivm.Callback(act, { ignored: true }));
      return context.eval(MARKED('started(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'), options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED },
  },
  'in Atomics.wait, of a sync call': {
    enter: `return context.evalSync(MARKED('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'), options);`,
    outcomes: { timeout: TIMEOUT, deadline: DEADLINE },
  },
  'in a pause of the debugger': {
    isolate: '{ inspector: true, memoryLimit: 32 }',
    enter: `const seen = isolate.createContextSync({ inspector: true });
      seen.global.setSync('mark', mark);
      const session = isolate.createInspectorSession();
      globalThis.kept = session;
      session.onNotification = (json) => {
        if (!json.startsWith('{"method":"Debugger.paused"')) return;
        setTimeout(act, 10);
        setTimeout(() => { if (!isolate.isDisposed) session.dispatchProtocolMessage('{"id":2,"method":"Debugger.resume"}'); }, WHILE);
      };
      session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
      return seen.eval(MARKED("debugger; 'value'"), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
  'queued behind a guest that runs': {
    enter: `context.global.setSync('started', new ivm.Callback(act, { ignored: true }));
      context.eval('started(); ' + BUSY).catch(() => {});
      return context.eval(MARKED("'value'"), options);`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED },
  },
  'waiting for an import': {
    enter: `const module = isolate.compileModuleSync("await import('x'); export default 1");
      module.instantiateSync(context, async () => {
        await sleep(10);
        act();
        await sleep(WHILE);
        return isolate.compileModuleSync('');
      });
      return module.evaluate({ ...options, promise: true }).then(() => 'value');`,
    outcomes: { timeout: CONTINUES, deadline: DEADLINE, abort: ABORTED, dispose: DISPOSED, memory: MEMORY },
  },
};

/** Triggers each reason, in an isolate of its own, and checks what is left. */
const PROGRAM = `
  /** Milliseconds of waits that nothing ends, and of limits. */
  const WHILE = 250;
  const LIMIT = 80;
  const PROMPT = 3_000;
  const FILL = 'const all = []; for (;;) all.push(new Array(1000).fill(1.5));';
  const BUSY = 'for (const end = Date.now() + ' + WHILE + '; Date.now() < end;); ';
  let marks = 0;
  const mark = () => { marks += 1; };
  /** Guest code that notes when more of it runs after it should have stopped. */
  const MARKED = (code) => '(() => { let ended = false; try { const value = eval(' + JSON.stringify(code) + '); ended = true; return value } finally { if (!ended) mark() } })()';
  const abortReason = Object.assign(new Error('abortReason to'), { code: 'abortReason to' });

  for (const [reason, expected] of Object.entries(THE_OUTCOMES)) {
    const isolate = new ivm.Isolate(THE_OPTIONS);
    const context = isolate.createContextSync();
    context.global.setSync('mark', mark);
    const controller = new AbortController();
    const acts = {
      abort: () => controller.abort(abortReason),
      dispose: () => isolate.dispose(),
      memory: () => assert.equal(syncError(() => context.evalSync(FILL)).code, 'ERR_ISOLATE_MEMORY'),
    };
    let acted = 0;
    const act = () => { acted += 1; if (acted === 1) acts[reason]?.(); };
    const options = { timeout: { timeout: LIMIT }, deadline: { deadline: LIMIT }, abort: { signal: controller.signal } }[reason] ?? {};
    const enter = (act, options) => { THE_CALL };
    const start = ms();
    let outcome;
    try {
      assert.equal(await enter(act, options), 'value', reason);
      outcome = 'continues';
    } catch (error) {
      if (error.code === undefined) throw error;
      if (expected === 'abortReason to') assert.equal(error, abortReason);
      outcome = error.code;
    }
    const took = ms() - start;
    assert.equal(outcome, expected, reason);
    assert.ok(took < PROMPT, reason + ' took ' + took);
    if (reason in { timeout: 1, deadline: 1 } && expected !== 'continues') assert.ok(took >= LIMIT - 1, reason + ' took ' + took);
    // The awaited results have arrived too late.
    await sleep(WHILE + 50);
    assert.equal(marks, 0, reason + ': guest code ran after its end');
    if (reason in { dispose: 1, memory: 1 } || expected === 'ERR_ISOLATE_MEMORY') {
      const after = reason === 'dispose' ? 'ERR_ISOLATE_DISPOSED' : 'ERR_ISOLATE_MEMORY';
      assert.equal(isolate.isDisposed, true);
      assert.equal(syncError(() => context.evalSync('1')).code, after);
      assert.equal((await errorOf(() => context.eval('1'))).code, after);
    } else {
      assert.equal(isolate.isDisposed, false);
      assert.equal(context.evalSync('6 * 7'), 42);
      assert.equal(await context.eval('6 * 7', { timeout: 5_000 }), 42);
      isolate.dispose();
    }
  }
  otherWorks();`;

describe('a call is stopped, or continues', () => {
  for (const [state, { enter, isolate = '{ memoryLimit: 32 }', outcomes }] of Object.entries(STATES)) {
    test(`${state}: ${Object.keys(outcomes).join(', ')}`, () => passes(
      PROGRAM.replace('THE_OUTCOMES', () => JSON.stringify(outcomes)).replace('THE_OPTIONS', () => isolate).replace('THE_CALL', () => enter),
      { timeout: 60_000 },
    ));
  }
});
