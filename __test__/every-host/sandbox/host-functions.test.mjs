// Host functions that throw, reject, or return odd thenables. The process survives, and the error reaches the caller, or is reported if
// there is none. The cases are in the program.

import { join } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { host, isOfHost, programArguments, root, run, runFile } from '../../harness.mjs';

const PROGRAM = join(root, '__test__/sandbox/host-functions-program.mjs');
const isNode = host.startsWith('node');
const WARNING = 'ISOLATED_V8_UNHANDLED_HOST_ERROR';

/** The behaviours of native promises of any class, and those of other thenables. */
const PROMISES = ['rejects', 'rejectsLater', 'strict'];
/** They throw, or reject with, values with promises that reject: nothing can receive these. */
const INSIDE = ['throwsPromise', 'throwsList', 'throwsCause', 'throwsProperty', 'rejectsWithPromise', 'rejectsAggregate'];
const THENABLES = ['thenableRejects', 'thenableThrows', 'thenableThrowsLater', 'thenableBoth', 'thenableGetter'];

/** What callers get: `delivered` has the errors that they get, `reported` those that no caller gets. */
const KINDS = {
  // The caller waits for the promise.
  waits: { delivered: ['throws', ...PROMISES, 'lazy', ...THENABLES], reported: [] },
  waitsForPromises: { delivered: ['throws', ...PROMISES, 'lazy'], reported: [] },
  // The caller gets the returned value at once, and no promise.
  returns: { delivered: ['throws'], reported: PROMISES },
  // The caller gets nothing.
  discards: { delivered: [], reported: ['throws', ...PROMISES] },
  discardsResult: { delivered: ['throws'], reported: PROMISES },
  // It may end before the function fails.
  leaves: { delivered: [], reported: [] },
};

const WAYS = {
  core: {
    function: 'returns', callback: 'returns', callbackAsync: 'returns', callbackIgnored: 'discards', apply: 'returns', applyPromise: 'waitsForPromises',
    applySync: 'returns', applyIgnored: 'discards', applySyncPromise: 'waitsForPromises', applyCallback: 'discards', getter: 'returns', getterCopied: 'returns',
  },
  home: {
    homeApply: 'returns', homeApplyPromise: 'waitsForPromises', homeApplySync: 'returns', homeApplyIgnored: 'discards', homeFunction: 'returns',
    homeFunctionAsync: 'callerOfGuest', homeFunctionIgnored: 'discards', resolver: 'waits', resolverSync: 'returns', resolverImport: 'waits', inspector: 'discards',
  },
  sandboxes: { global: 'waits', globalDeep: 'waits', onLog: 'discards', tool: 'waits', toolAfterEnd: 'leaves', schema: 'waits', approve: 'waits', onLogAgent: 'discards' },
  subprocess: { toolApart: 'waits', onLogApart: 'discards' },
  plugins: {
    method: 'waits', methodNotAwaited: 'leaves', metrics: 'waits', returned: 'waits', cacheGet: 'waits', cacheSet: 'waits', contextLogger: 'discardsResult',
    busOn: 'delivered', busOff: 'delivered', busEmit: 'waits', busNames: 'names', logger: 'discards', onLogPlugin: 'discards', onUsage: 'discards',
  },
};

/** @param {string} group */
async function outcomes(group) {
  const result = await runFile(PROGRAM, { args: [group], timeout: 120_000, hostArgs: [...(isNode ? ['--unhandled-rejections=strict'] : []), ...programArguments()] });
  assert.deepEqual([result.code, result.signal, result.timedOut], [0, null, false], result.stderr.slice(-2_000));
  return { ...JSON.parse(result.stdout), stderr: result.stderr };
}

for (const [group, ways] of Object.entries(WAYS).filter((_, index) => isOfHost(index))) {
  const skip = group === 'subprocess' && process.platform !== 'linux' ? 'there are no processes of their own' : false;
  test(`host functions that fail: ${group}`, { skip, timeout: 150_000 }, async () => {
    const { results, reports, stderr } = await outcomes(group);
    assert.deepEqual(Object.keys(results).toSorted(), Object.keys(ways).toSorted());
    for (const [way, kind] of Object.entries(ways)) {
      for (const [behaviour, outcome] of Object.entries(results[way])) {
        const message = `boom ${way} ${behaviour}`;
        const place = `${message}: ${outcome}`;
        const count = reports.filter(([, text]) => text === message).length;
        const { delivered, reported } = KINDS[kind] ?? {};
        if (delivered?.includes(behaviour)) assert.ok(outcome.includes(message), place);
        if (reported?.includes(behaviour)) assert.ok(count >= 1, `not reported: ${place}`);
        if (INSIDE.includes(behaviour) && kind !== 'leaves') assert.ok(count >= 1, `not reported: ${place}`);
        else if (delivered !== undefined && kind !== 'leaves' && !reported.includes(behaviour) && !['nested', 'array'].includes(behaviour)) assert.equal(count, 0, `reported: ${place}`);
        if (behaviour !== 'never') assert.notEqual(outcome, 'value: nothing came', message);
      }
    }
    assert.ok(reports.length > 0);
    assert.ok(reports.every(([origin]) => typeof origin === 'string' && origin !== ''));
    // A listener subscribes.
    assert.doesNotMatch(stderr, /A host function/);
  });
}

/** Runs a program that must finish; returns its output. */
async function passes(code) {
  const result = await run(`${code}\nconsole.log('the end');`, { timeout: 30_000 });
  assert.deepEqual([result.code, result.signal, result.stdout.trimEnd().endsWith('the end')], [0, null, true], result.stdout + result.stderr);
  return result;
}

/** Waits for calls that `context` has made without waiting: they arrive in their order. Then hosts look for unhandled rejections. */
const ALL_ARRIVED = `await new Promise((resolve) => {
  context.global.setSync('arrived', new ivm.Callback(() => { setTimeout(resolve, 1); }, { ignored: true }));
  context.evalSync('arrived()');
});`;

test('promises that getters create while a value is copied for a guest', async () => {
  const { stdout } = await passes(`
    const { subscribe } = await import('node:diagnostics_channel');
    const context = new ivm.Isolate().createContextSync();
    let created = 0;
    let reported = 0;
    subscribe('isolated-v8:unhandled-host-error', ({ error }) => { reported += error.message === 'of a getter' ? 1 : 0; });
    const fail = () => { created += 1; return Promise.reject(new Error('of a getter')); };
    const make = () => ({ list: [{ get promise() { return fail(); } }] });
    // One of them cannot be cloned, and the others are not reached.
    const makeMany = () => ({ get list() { return [{ inner: {}, first: fail(), get second() { return fail(); } }, fail(), new Map([[1, fail()]])]; } });
    context.global.setSync('call', new ivm.Callback(make));
    context.global.setSync('apply', new ivm.Reference(make));
    context.global.setSync('holder', new ivm.Reference({ inner: make() }));
    context.global.setSync('many', new ivm.Callback(makeMany));
    context.global.setSync('later', new ivm.Reference(async () => makeMany()));
    context.global.setSync('holderOfMany', new ivm.Reference({ inner: makeMany() }));
    const codes = [
      'many()', 'many({})', 'holderOfMany.copySync()', 'holderOfMany.getSync("inner", { copy: true })',
      'call()', 'call({})', 'holder.copySync()', 'holder.getSync("inner", { copy: true })', 'holder.getSync("inner", { externalCopy: true })',
      'holder.getSync("inner", { accessors: true, copy: true })', 'apply.applySync(undefined, [], { result: { copy: true } })', 'apply.applySync(undefined, [{}], { arguments: { copy: true }, result: { externalCopy: true } })',
      'apply.applyIgnored()',
    ];
    const seen = codes.map((code) => context.evalSync('try { ' + code + '; "nothing" } catch (error) { error.message }'));
    const inner = 'holder.get("inner", { copy: true }).catch((error) => error.message)';
    seen.push(await context.eval(inner, { promise: true }));
    seen.push(await context.eval('later.apply(undefined, [], { result: { promise: true, copy: true } }).catch((error) => error.message)', { promise: true }));
    ${ALL_ARRIVED}
    console.log(JSON.stringify([...new Set(seen)]), created === reported, created);`);
  assert.match(stdout, /^\["#<Promise> could not be cloned\.","nothing"\] true 24$/m);
});

describe('reports', () => {
  test('a warning names the origin and the error, once, without control characters', async () => {
    const { stderr } = await passes(`
      process.on('warning', ({ code, name }) => { console.log('warning', name, code); });
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      context.global.setSync('fail', new ivm.Callback((text) => { throw new Error('from a guest: ' + text); }, { ignored: true }));
      await context.eval("for (let i = 0; i < 10; i += 1) fail('\\\\u001b[31mred' + 'x'.repeat(5000))");
      ${ALL_ARRIVED}`);
    assert.equal(stderr.split('from a guest: [31mred').length, 3, 'message and stack, once each');
    assert.ok(!stderr.includes('\u001b'));
    assert.ok(stderr.length < 20_000);
    if (isNode) assert.ok(stderr.includes(WARNING));
  });

  test('without a subscriber there is one warning for each origin', async () => {
    const { stderr } = await passes(`
      const fail = async () => { throw new Error('no'); };
      const sandbox = new ivm.IsolatedVMSandbox({ onLog: fail });
      await sandbox.execute('console.log(1); console.log(2)', [], fail);
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      context.global.setSync('one', new ivm.Reference(fail));
      context.global.setSync('other', fail);
      await context.eval("for (let i = 0; i < 3; i += 1) { one.applyIgnored(undefined, []); one.applySync(undefined, []); try { other(); } catch {} }");
      ${ALL_ARRIVED}`);
    const origins = [...stderr.matchAll(/A host function \(([^)]*)\) failed/g)].map(([, origin]) => origin);
    assert.deepEqual(origins.toSorted(), ['callback', 'onLog', 'reference']);
  });

  test('subscribers get each error and its origin; one that throws changes nothing', async () => {
    const { stdout } = await passes(`
      const { subscribe } = await import('node:diagnostics_channel');
      process.on('uncaughtException', () => {});
      const seen = [];
      subscribe('isolated-v8:unhandled-host-error', (message) => { seen.push(message); });
      const outcome = await ivm.createSandbox({}, { onLog() { throw new RangeError('mine'); } }).execute('return [console.log(1), console.log(2)]');
      console.log(JSON.stringify([outcome.error, seen.map(({ error, origin }) => [origin, error.name, error.message])]));`);
    assert.match(stdout, /\[\["onLog","RangeError","mine"\],\["onLog","RangeError","mine"\]\]/);
  });

  test('a promise that the guest can await is not reported', async () => {
    const { stderr } = await passes(`
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      const reference = new ivm.Reference(async () => { throw new Error('seen'); });
      const seen = await context.evalClosure("return $0.apply(undefined, [], { result: { promise: true } }).catch((error) => error.message)", [reference], { result: { promise: true } });
      if (seen !== 'seen') throw new Error(seen);`);
    assert.doesNotMatch(stderr, /host function/);
  });

  test('a logger that cannot write a BigInt', async () => {
    const { stderr } = await passes(`
      let called;
      const wasCalled = new Promise((resolve) => { called = resolve; });
      const logger = { debug: async (...args) => { called(); JSON.stringify(args); }, info() {}, warn() {}, error() {} };
      const sandbox = new ivm.IsolatedVmSandbox(logger);
      const isolate = await sandbox.createIsolate({ id: 'a.b', name: 'A', version: '1.0.0', description: '', author: 'A', license: 'ISC', entrypoint: 'i.js' });
      if (await sandbox.executeInSandbox(isolate, 'console.log(1n); 7', {}) !== 7) throw new Error('no');
      await wasCalled;
      sandbox.disposeAll();`);
    assert.match(stderr, /A host function \(logger\) failed.*BigInt/);
  });
});

describe('conditions that guests control', () => {
  test('whether an instance with a promise is received', async () => {
    await passes(`
      const { subscribe } = await import('node:diagnostics_channel');
      const reports = [];
      subscribe('isolated-v8:unhandled-host-error', ({ origin, error }) => { reports.push(origin + ' ' + error.message); });
      class Job { done = Promise.reject(new Error('the job')); }
      const start = () => new Job();
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      context.global.setSync('reference', new ivm.Reference(start));
      context.global.setSync('ignored', new ivm.Callback(start, { ignored: true }));
      context.global.setSync('later', new ivm.Reference(async () => new Job()));
      await context.eval('reference.applyIgnored(); ignored(); later.applyIgnored(); 1');
      for (let turns = 0; turns < 500 && reports.length < 3; turns += 1) await new Promise((resolve) => { setTimeout(resolve, 10); });
      if (reports.toSorted().join() !== 'callback the job,reference the job,reference the job') throw new Error(reports.join());`);
  });

  test('how many promises a function returns', async () => {
    await passes(`
      const { subscribe } = await import('node:diagnostics_channel');
      let reports = 0;
      subscribe('isolated-v8:unhandled-host-error', () => { reports += 1; });
      const fail = async () => { throw new Error('no'); };
      const shapes = {
        array: (count) => Array.from({ length: count }, fail),
        objects: (count) => Array.from({ length: count }, (_, id) => ({ id, body: fail() })),
        record: (count) => Object.fromEntries(Array.from({ length: count }, (_, id) => ['k' + id, fail()])),
        map: (count) => new Map(Array.from({ length: count }, (_, id) => [id, fail()])),
        set: (count) => new Set(Array.from({ length: count }, fail)),
        mixed: (count) => [...Array.from({ length: count }, () => ({})), fail()],
      };
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      for (const [name, shape] of Object.entries(shapes)) {
        context.global.setSync('callback', new ivm.Callback(shape));
        context.global.setSync('ignored', new ivm.Callback(shape, { ignored: true }));
        context.global.setSync('reference', new ivm.Reference(shape));
        reports = 0;
        await context.eval('try { callback(1500); } catch {} ignored(1500); reference.applyIgnored(undefined, [1500]);'
          + 'try { reference.applySync(undefined, [1500], { result: { copy: true } }); } catch {}');
        await ivm.createSandbox({ f: shape }).execute('return await f(1500)');
        const expected = name === 'mixed' ? 5 : 7500;
        for (const end = performance.now() + 10_000; reports < expected && performance.now() < end;) await new Promise((resolve) => { setTimeout(resolve, 5); });
        if (reports < expected) throw new Error(name + ' ' + reports);
      }`);
  });

  test('how deeply calls are nested', async () => {
    await passes(`
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      const fail = async () => { throw new Error('no'); };
      const pad = (count, run) => (count === 0 ? run() : pad(count - 1, run));
      const again = isolate.compileScriptSync('dive()');
      let offset = 0;
      context.global.setSync('more', () => {
        pad(offset, () => again.runSync(context));
      });
      context.global.setSync('fail', new ivm.Reference(fail));
      context.global.setSync('list', new ivm.Callback(() => [fail()]));
      context.evalSync(\`function dive() {
        try { more(); } catch {}
        try { fail.applySync(undefined, []); } catch {}
        try { list(); } catch {}
        try { fail.applySync(undefined, [], { result: { promise: true } }).catch(() => {}); } catch {}
      }\`);
      for (; offset < 40; offset += 1) {
        context.evalSync('dive()');
        await new Promise((resolve) => { setTimeout(resolve, 1); });
      }
      ${ALL_ARRIVED}`);
  });
});
