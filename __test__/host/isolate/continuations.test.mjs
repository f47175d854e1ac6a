// Work of a guest after the call that caused it has that call's limits, and does not burden the host.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const DEADLINE = "{ name: 'Error', code: 'ERR_ISOLATE_DEADLINE' }";

describe('continuations of a call have the call\'s limits', () => {
  const endless = {
    'a result of an async callback': "g().then(() => { begun(); for (;;); })",
    'a result of an applied Reference': "r.apply(undefined, []).then(() => { begun(); for (;;); })",
    'Atomics.waitAsync': "const a = new Int32Array(new SharedArrayBuffer(4)); Atomics.waitAsync(a, 0, 0, 10).value.then(() => { begun(); for (;;); })",
    'a compiled WebAssembly module': "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => { begun(); for (;;); })",
  };
  for (const [what, code] of Object.entries(endless)) {
    test(what, () => passes(`
      context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
      context.global.setSync('r', new ivm.Reference(() => 1));
      const begun = new Promise((resolve) => { context.global.setSync('begun', new ivm.Callback(() => { resolve(); }, { ignored: true })); });
      context.evalSync(${JSON.stringify(`${code}; 1`)}, { timeout: 100 });
      const alive = setInterval(() => {}, 1000);
      await begun;
      clearInterval(alive);
      // Waits its turn behind the continuation at most.
      assert.equal(context.evalSync('1 + 1'), 2);`));
  }
});

/** Makes sure that the isolate is busy. */
const BUSY = `
  const startEndlessCall = () => new Promise((resolve) => {
    context.global.setSync('running', new ivm.Callback(() => resolve(), { ignored: true }));
    context.eval('running(); for (;;);').catch(() => {});
  });`;

describe('a deadline counts from the call', () => {
  test('sync, behind a guest without limits', () => passes(`${BUSY}
    await startEndlessCall();
    const start = ms();
    assert.throws(() => context.evalSync('1', { deadline: 200 }), ${DEADLINE});
    assert.ok(ms() - start < 5_000, String(ms() - start));
    isolate.dispose();`));

  test('async, behind a guest without limits', () => passes(`${BUSY}
    await startEndlessCall();
    await assert.rejects(context.eval('1', { deadline: 200 }), ${DEADLINE});
    isolate.dispose();`));

  test('a call that was abandoned does not run later', () => passes(`
    let ran = 0;
    context.global.setSync('run', () => { ran += 1; });
    const busy = context.eval('for (;;);', { timeout: 400 }).catch(() => {});
    await assert.rejects(context.eval('run()', { deadline: 100 }), ${DEADLINE});
    await busy;
    assert.equal(await context.eval('1'), 1);
    assert.equal(ran, 0);`));

  test('and covers the returned promise', () => passes(`
    await assert.rejects(context.eval('new Promise(() => {})', { promise: true, deadline: 100 }), ${DEADLINE});
    await assert.rejects(context.evalSync('new Promise(() => {})', { promise: true, deadline: 100 }), ${DEADLINE});
    assert.equal(await context.eval('Promise.resolve(3)', { promise: true, deadline: 5000 }), 3);`));
});

describe('a guest that waits for a result stays alive until it arrives', () => {
  test('when the host no longer refers to it', () => passes(`
    const collect = globalThis.gc ?? (() => { globalThis.Bun?.gc(true); });
    let answer;
    const promise = (() => {
      const other = new ivm.Isolate().createContextSync();
      other.global.setSync('r', new ivm.Reference(() => new Promise((resolve) => { answer = resolve; })));
      return other.eval('r.apply(undefined, [], { result: { promise: true } }).then((value) => value + 1)', { promise: true });
    })();
    while (answer === undefined) await sleep(5);
    for (let i = 0; i < 20; i += 1) { collect(); await sleep(5); }
    answer(7);
    assert.equal(await promise, 8);`));

  test('in a released context', () => passes(`
    context.global.setSync('g', new ivm.Callback(() => 5, { async: true }));
    const promise = context.evalSync('g().then((value) => value + 1)', { promise: true });
    context.release();
    assert.equal(await promise, 6);`));
});

describe('pending calls are bounded', () => {
  test('in bytes', () => passes(`
    context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
    const code = context.evalSync('const s = "x".repeat(1e6); let code; try { for (;;) g(s) } catch (error) { code = error.code } code', { timeout: 10_000 });
    assert.equal(code, 'ERR_ISOLATE_LIMIT');
    otherWorks();`, { options: '{ memoryLimit: 16 }' }));
});

const TIMEOUT = "{ code: 'ERR_ISOLATE_TIMEOUT' }";

describe('a call fails when code that continues it exceeds its timeout', () => {
  const PREPARE = `
    context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
    context.global.setSync('r', new ivm.Reference(() => 1));`;
  const endless = {
    'after an async callback': '(async () => { await g(); for (;;); })()',
    'in a reaction': 'new Promise(() => { g().then(() => { for (;;); }); })',
    'after an applied Reference': '(async () => { await r.apply(undefined, []); for (;;); })()',
    'in a microtask': '(async () => { await 0; for (;;); })()',
    'in a built-in function': '(async () => { await g(); for (;;) new Array(1e6).fill(1).sort(); })()',
    'after Atomics.waitAsync': '(async () => { await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10).value; for (;;); })()',
  };
  for (const [what, code] of Object.entries(endless)) {
    test(what, () => passes(`${PREPARE}
      // A wait of the guest alone does not keep the host alive.
      const keepAlive = setTimeout(() => {}, 10_000);
      await assert.rejects(context.eval(${JSON.stringify(code)}, { promise: true, timeout: 100 }), ${TIMEOUT});
      assert.equal(await context.eval('(async () => 1 + await g())()', { promise: true, timeout: 10_000 }), 2);
      clearTimeout(keepAlive);`));
  }

  // Such a guest handles no interrupts, so its execution is terminated from outside.
  const uninterruptible = {
    'after an async callback': 'await g()',
    'after Atomics.waitAsync': 'await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10).value',
    'after a compiled WebAssembly module': 'await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))',
  };
  for (const [what, code] of Object.entries(uninterruptible)) {
    test(`in one long operation ${what}`, { skip: process.platform !== 'linux' && 'Linux only' }, () => passes(`${PREPARE}
      const keepAlive = setTimeout(() => {}, 10_000);
      context.evalSync('let next = 1; const numbers = new Float64Array(1e6).map(() => next = next * 16807 % 2147483647);');
      const code = ${JSON.stringify(`(async () => { ${code}; for (;;) numbers.slice().sort(); })()`)};
      await assert.rejects(context.eval(code, { promise: true, timeout: 20 }), ${TIMEOUT});
      assert.equal(await context.eval('(async () => 1 + await g())()', { promise: true, timeout: 10_000 }), 2);
      clearTimeout(keepAlive);`));
  }

  test('but other calls do not fail', () => passes(`${PREPARE}
    let answer;
    context.global.setSync('wait', new ivm.Reference(() => new Promise((resolve) => { answer = resolve; })));
    const other = context.eval('(async () => await wait.apply(undefined, [], { result: { promise: true } }))()', { promise: true, timeout: 100 });
    while (answer === undefined) await sleep(1);
    await assert.rejects(context.eval('(async () => { await g(); for (;;); })()', { promise: true, timeout: 100 }), ${TIMEOUT});
    answer(3);
    assert.equal(await other, 3);`));

  test('nor does a call whose continuations each take less', () => passes(`${PREPARE}
    const code = '(async () => { for (let i = 0; i < 4; i += 1) { for (const end = Date.now() + 100; Date.now() < end;); await g(); } return 5; })()';
    assert.equal(await context.eval(code, { promise: true, timeout: 390 }), 5);`));
});

/** On other systems V8 drops the microtasks of all calls, and of a guest that is terminated from outside it is not known whose code ran. */
const LINUX = { skip: process.platform !== 'linux' && 'Linux only' };

describe('calls whose code runs in the same job', LINUX, () => {
  const PREPARE = `
    const keepAlive = setTimeout(() => {}, 15_000);
    context.evalSync('let open; const gate = new Promise((resolve) => { open = resolve; });');
    const wait = (code, options = {}) => context.eval('gate.then(() => { ' + code + ' })', { promise: true, ...options });
    let opened = () => {};
    context.global.setSync('notify', new ivm.Callback(() => { opened(); }, { ignored: true }));
    const first = wait('notify(); return 1');
    const endless = wait('for (;;);');
    const module = isolate.compileModuleSync('await gate;');
    module.instantiateSync(context, () => {});
    context.evalSync('var ready = gate.then(() => 5);');
    const others = [
      wait('return 2'), wait('return Promise.resolve().then(() => 3)'), context.evalSync('gate.then(() => 4)', { promise: true }),
      context.eval('ready', { promise: true }), module.evaluate({ promise: true }).then(() => 6),
    ];
    await context.eval('0');
    const areAnswered = async () => {
      assert.deepEqual(await Promise.all([first, ...others]), [1, 2, 3, 4, 5, 6]);
      clearTimeout(keepAlive);
    };`;

  test('when it exceeds its timeout', () => passes(`${PREPARE}
    const isStopped = assert.rejects(endless, ${TIMEOUT});
    assert.throws(() => context.evalSync('open()', { timeout: 100 }), ${TIMEOUT});
    await isStopped;
    await areAnswered();`));

  test('when it exceeds its deadline', () => passes(`${PREPARE}
    const isStopped = assert.rejects(endless, ${DEADLINE});
    await assert.rejects(context.eval('open()', { deadline: 100 }), ${DEADLINE});
    await isStopped;
    await areAnswered();`));

  test('when code of two calls exceeds it, and a promise was rejected before', () => passes(`${PREPARE}
    const both = [wait('Promise.reject(new Error("unhandled")); for (;;);'), wait('for (;;);')];
    await context.eval('0');
    const areStopped = Promise.all([endless, ...both].map((call) => assert.rejects(call, ${TIMEOUT})));
    await assert.rejects(context.eval('Promise.reject(new Error("unhandled")); open()', { timeout: 100 }), ${TIMEOUT});
    await areStopped;
    await areAnswered();`));

  test('when a call was stopped before', () => passes(`${PREPARE}
    context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
    const code = 'var later = gate.then(() => 7); (async () => { await g(); for (;;); })()';
    await assert.rejects(context.eval(code, { promise: true, timeout: 50 }), ${TIMEOUT});
    const later = context.eval('later', { promise: true });
    await context.eval('0');
    const isStopped = assert.rejects(endless, ${TIMEOUT});
    assert.throws(() => context.evalSync('open()', { timeout: 100 }), ${TIMEOUT});
    await isStopped;
    assert.equal(await later, 7);
    await areAnswered();`));

  test('also if two calls continue each other again and again', () => passes(`
    const keepAlive = setTimeout(() => {}, 15_000);
    context.evalSync('let steps = 0; const go = [];');
    const code = (me, other) => 'const again = () => { new Promise((resolve) => { go[' + me + '] = resolve; }).then(step); };'
      + ' const step = () => { steps += 1; again(); go[' + other + '](); for (;;); }; again();';
    const calls = [[0, 1], [1, 0]].map(([me, other]) => context.eval('new Promise(() => { ' + code(me, other) + ' })', { promise: true, timeout: 1000 }));
    const areStopped = Promise.all(calls.map((call) => assert.rejects(call, ${TIMEOUT})));
    await context.eval('0');
    assert.throws(() => context.evalSync('go[0]()', { timeout: 50 }), ${TIMEOUT});
    await areStopped;
    // Then the isolate is idle.
    assert.equal(await context.eval('steps'), 2);
    assert.equal(context.evalSync('steps', { timeout: 5_000 }), 2);
    clearTimeout(keepAlive);`));

  test('when it is aborted', () => passes(`${PREPARE}
    const user = new AbortController();
    opened = () => { user.abort(new Error('enough')); };
    const isStopped = assert.rejects(endless, { code: 'ERR_ISOLATE_ABORTED' });
    await assert.rejects(context.eval('open()', { signal: user.signal }), { message: 'enough' });
    await isStopped;
    await areAnswered();`));
});
