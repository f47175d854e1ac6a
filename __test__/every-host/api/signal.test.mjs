// `signal`: the caller of an asynchronous call can abort it.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm, withContext } from '../../api/ivm.mjs';

const FOREVER = 'for (;;);';

/** The reason that a call rejects with if its signal is aborted as soon as `begun` resolves. */
async function reasonOf(call, { begun = Promise.resolve(), reason = new Error('enough') } = {}) {
  const controller = new AbortController();
  const outcome = call(controller.signal).then((value) => assert.fail(`it gave ${String(value)}`), (error) => error);
  await begun;
  controller.abort(reason);
  assert.equal(await outcome, reason);
}

/** A promise, and a Callback that a guest fulfills it with. */
function beginning() {
  const { promise, resolve } = Promise.withResolvers?.() ?? later();
  return { begun: promise, begin: new ivm.Callback(() => { resolve(); }, { async: true }) };
}

function later() {
  let resolve;
  const promise = new Promise((fulfill) => { resolve = fulfill; });
  return { promise, resolve };
}

describe('calls that run', () => {
  const cases = {
    'eval': ({ context }, signal) => context.eval(`begin(); ${FOREVER}`, { signal }),
    'evalClosure': ({ context }, signal) => context.evalClosure(`begin(); ${FOREVER}`, [], { signal }),
    'Script.run': async ({ isolate, context }, signal) => (await isolate.compileScript(`begin(); ${FOREVER}`)).run(context, { signal }),
    'Module.evaluate': async ({ isolate, context }, signal) => {
      const module = await isolate.compileModule(`begin(); ${FOREVER}`);
      await module.instantiate(context, () => assert.fail());
      return module.evaluate({ signal });
    },
    'Reference.apply': async ({ context }, signal) => {
      const loop = await context.eval(`() => { begin(); ${FOREVER} }`, { reference: true });
      return loop.apply(undefined, [], { signal });
    },
    'Reference.get': async ({ context }, signal) => {
      const reference = await context.eval(`({ get loop() { begin(); ${FOREVER} } })`, { reference: true });
      return reference.get('loop', { accessors: true, signal });
    },
    'Reference.copy': async ({ context }, signal) => {
      const reference = await context.eval(`({ get loop() { begin(); ${FOREVER} } })`, { reference: true });
      return reference.copy({ signal });
    },
    'a job of microtasks': ({ context }, signal) => context.eval('begin(); const f = () => Promise.resolve().then(f); f()', { signal }),
    'a guest that waits for its host': ({ context }, signal) => context.evalClosure(
      'begin(); $0.applySyncPromise(undefined, [])', [new ivm.Reference(() => new Promise(() => {}))], { signal },
    ),
    'a guest that waits in Atomics.wait': ({ context }, signal) => context.eval(
      'begin(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', { signal },
    ),
  };
  for (const [name, call] of Object.entries(cases)) {
    test(`${name} is stopped, and its isolate stays usable`, () => withContext(async ({ isolate, context }) => {
      const { begun, begin } = beginning();
      await context.global.set('begin', begin);
      await reasonOf((signal) => call({ isolate, context }, signal), { begun });
      assert.equal(await context.eval('6 * 7', { timeout: 10_000 }), 42);
    }));
  }
});

describe('calls that wait', () => {
  test('a queued call rejects at once and never runs', () => withContext(async ({ context }) => {
    const first = new AbortController();
    const { begun, begin } = beginning();
    await context.global.set('begin', begin);
    const running = context.eval(`begin(); ${FOREVER}`, { signal: first.signal });
    await begun;
    await reasonOf((signal) => context.eval('globalThis.ran = true', { signal }));
    await reasonOf((signal) => context.global.set('ran', true, { signal }));
    first.abort();
    await assert.rejects(running, { name: 'AbortError' });
    assert.equal(await context.eval('typeof ran'), 'undefined');
  }));

  test('a promise of the guest is no longer awaited', () => withContext(async ({ context }) => {
    await reasonOf((signal) => context.eval('new Promise(() => {})', { promise: true, signal }), { begun: context.eval('1') });
    // A call with a deadline keeps the process alive until then: this test would not end in time.
    await reasonOf((signal) => context.eval('new Promise(() => {})', { promise: true, signal, deadline: 2 ** 31 - 1 }), { begun: context.eval('1') });
  }));

  test('a settled promise is passed on unchanged', () => withContext(async ({ context }) => {
    const { signal } = new AbortController();
    assert.deepEqual(await context.eval('Promise.resolve([1])', { promise: true, copy: true, signal }), [1]);
    await assert.rejects(context.eval('Promise.reject(new RangeError("no"))', { promise: true, signal }), { name: 'RangeError', message: 'no' });
  }));

  test('a resolver of modules is not called any more', () => withContext(async ({ isolate, context }) => {
    const module = await isolate.compileModule('import "a"');
    const dependency = await isolate.compileModule('import "b"');
    const asked = [];
    const { promise, resolve } = later();
    const resolver = async (specifier) => {
      asked.push(specifier);
      await promise;
      return dependency;
    };
    await reasonOf((signal) => module.instantiate(context, resolver, { signal }));
    resolve();
    await new Promise((done) => { setImmediate(done); });
    assert.deepEqual(asked, ['a']);
  }));
});

test('every asynchronous method accepts a signal', () => withContext(async ({ isolate, context }) => {
  const reason = new Error('before');
  const signal = AbortSignal.abort(reason);
  const reference = await context.eval('(function f() {})', { reference: true });
  const script = await isolate.compileScript('1');
  const module = await isolate.compileModule('1');
  isolate.startCpuProfiler('title');
  const calls = {
    createContext: () => isolate.createContext({ signal }),
    compileScript: () => isolate.compileScript('1', { signal }),
    compileModule: () => isolate.compileModule('1', { signal }),
    getHeapStatistics: () => isolate.getHeapStatistics({ signal }),
    stopCpuProfiler: () => isolate.stopCpuProfiler('title', { signal }),
    eval: () => context.eval('globalThis.ran = true', { signal }),
    evalClosure: () => context.evalClosure('globalThis.ran = true', [], { signal }),
    run: () => script.run(context, { signal }),
    instantiate: () => module.instantiate(context, () => {}, { signal }),
    evaluate: () => module.evaluate({ signal }),
    copy: () => reference.copy({ signal }),
    get: () => context.global.get('x', { signal }),
    set: () => context.global.set('ran', true, { signal }),
    delete: () => context.global.delete('x', { signal }),
    apply: () => reference.apply(undefined, [], { signal }),
  };
  for (const [name, call] of Object.entries(calls)) {
    await assert.rejects(call, (error) => error === reason, name);
  }
  assert.equal(await context.eval('typeof ran'), 'undefined');
}));

test('one signal for many calls: each call is aborted, and ended calls are released', () => withContext(async ({ context }) => {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const counted = new Proxy(signal, {
    get(target, key) {
      if (key === 'addEventListener') listeners += 1;
      if (key === 'removeEventListener') listeners -= 1;
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await Promise.all(Array.from({ length: 100 }, (_, index) => context.eval(`${index}`, { signal: counted })));
  assert.equal(listeners, 0);
  const calls = Array.from({ length: 100 }, () => context.eval(FOREVER, { signal: counted }));
  assert.equal(listeners, 1);
  controller.abort();
  for (const { reason } of await Promise.allSettled(calls)) assert.equal(reason.name, 'AbortError');
}));

test('a signal of another package is accepted', () => withContext(async ({ context }) => {
  let listener;
  const signal = { aborted: false, addEventListener(_type, listen) { listener = listen; }, removeEventListener() {} };
  const call = context.eval(FOREVER, { signal });
  signal.aborted = true;
  listener();
  await assert.rejects(call, { code: 'ERR_ISOLATE_ABORTED', message: 'The call was aborted' });
}));

test('a signal whose listeners cannot be added is an error of the call', () => withContext(async ({ isolate, context }) => {
  const problem = new Error('no listeners');
  const broken = { aborted: false, addEventListener() { throw problem; }, removeEventListener() {} };
  await assert.rejects(context.eval(FOREVER, { signal: broken }), (error) => error === problem);
  const module = await isolate.compileModule('import "a"');
  await assert.rejects(module.instantiate(context, () => {}, { signal: broken }), (error) => error === problem);
  let listener;
  const silent = { aborted: false, get reason() { throw problem; }, addEventListener(_type, listen) { listener = listen; }, removeEventListener() {} };
  const call = context.eval(FOREVER, { signal: silent });
  listener();
  await assert.rejects(call, (error) => error === problem);
  const controller = new AbortController();
  const other = context.eval(FOREVER, { signal: controller.signal });
  controller.abort(null);
  await assert.rejects(other, (error) => error === null);
  assert.equal(await context.eval('1', { timeout: 10_000 }), 1);
}));

test('remaining work of an aborted call gets only the grace period', () => withContext(async ({ context }) => {
  const { begun, begin } = beginning();
  await context.global.set('begin', begin);
  const code = `Promise.resolve().then(() => { ${FOREVER} }); begin(); ${FOREVER}`;
  await reasonOf((signal) => context.eval(code, { signal, timeout: 60_000 }), { begun });
  const start = performance.now();
  assert.equal(await context.eval('1', { timeout: 10_000 }), 1);
  assert.ok(performance.now() - start < 20_000);
}));

test('an abort while options are read is noticed', () => withContext(async ({ context }) => {
  const controller = new AbortController();
  const reason = new Error('meanwhile');
  let looked = 0;
  const signal = new Proxy(controller.signal, {
    get(target, key) {
      if (key === 'aborted' && (looked += 1) === 2) controller.abort(reason);
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await assert.rejects(context.eval(FOREVER, { signal }), (error) => error === reason);
}));

describe('refused', () => {
  test('values that are not signals', () => withContext(async ({ context }) => {
    for (const signal of [{}, 1, 'x', { aborted: false }, () => {}]) {
      await assert.rejects(context.eval('1', { signal }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`signal` must be an AbortSignal' });
    }
    assert.equal(await context.eval('1', { signal: null }), 1);
  }));

  test('in ignored and synchronous calls', () => withContext(({ context }) => {
    const refusal = { code: 'ERR_INVALID_ARG', message: '`signal` can only abort asynchronous calls; `timeout` and `deadline` limit all' };
    const { signal } = new AbortController();
    assert.throws(() => context.evalSync('1', { signal }), refusal);
    assert.throws(() => context.evalIgnored('1', { signal }), refusal);
    assert.throws(() => context.global.getSync('x', { signal }), refusal);
  }));

  test('inside isolates', () => withContext(async ({ context }) => {
    await context.global.set('ivm', ivm);
    assert.equal(await context.eval(`
      new ivm.Isolate().createContext({ signal: { aborted: false, addEventListener() {}, removeEventListener() {} } })
        .catch(({ code, message }) => code + ' ' + message)
    `, { promise: true }), 'ERR_ISOLATE_UNSUPPORTED `signal` is not available inside isolates');
  }));
});

describe('sandboxes', () => {
  const waiting = () => {
    const { promise, resolve } = later();
    return { begun: promise, begin: () => { resolve(); return new Promise(() => {}); } };
  };

  test('createSandbox', async () => {
    const { begun, begin } = waiting();
    const controller = new AbortController();
    const execution = ivm.createSandbox({ begin }).execute('const on = "on"; console.log(on); await begin()', { signal: controller.signal });
    await begun;
    controller.abort(new Error('the user has left'));
    const { error, logs, result } = await execution;
    assert.deepEqual({ error, logs, result }, { error: 'Execution was aborted: the user has left', logs: ['on'], result: null });
    let ran = false;
    const before = await ivm.createSandbox({ run() { ran = true; } }).execute('run()', { signal: AbortSignal.abort('early') });
    assert.equal(before.error, 'Execution was aborted: early');
    assert.equal(ran, false);
    assert.equal((await ivm.createSandbox({}).execute('1', { signal: new AbortController().signal })).result, 1);
    assert.equal((await ivm.createSandbox({}).execute('1', { signal: 1 })).error, '`signal` must be an AbortSignal');
  });

  test('IsolatedVMSandbox', async () => {
    const { begun, begin } = waiting();
    const controller = new AbortController();
    const tools = [{ name: 'a:begin', description: '' }];
    const execution = new ivm.IsolatedVMSandbox().execute('await a.begin()', tools, begin, { signal: controller.signal });
    await begun;
    controller.abort(new Error('the user has left'));
    assert.equal((await execution).error, 'Execution was aborted: the user has left');
    await assert.rejects(new ivm.IsolatedVMSandbox().execute('', [], begin, { signal: 1 }), { code: 'ERR_INVALID_ARG' });
  });
});
