// `syncCalls: 'caller'`: sync calls that run on the caller's own thread. `caller-thread-ends` tests how they end.

import { describe, test } from 'node:test';
import { here, SKIP } from '../../isolate/caller.mjs';

describe("sync calls on the caller's thread", { skip: SKIP }, () => {
  test('return values and errors, call the host, and nest', () => here(`
    context.global.setSync('increment', new ivm.Callback((n) => n + 1));
    assert.equal(context.evalSync('increment(41)'), 42);
    context.global.setSync('again', new ivm.Callback(() => context.evalSync('increment(5) * 2')));
    assert.equal(context.evalSync('again() + 1'), 13);
    assert.throws(() => context.evalSync('throw new RangeError("x")'), { name: 'RangeError', message: 'x' });
    context.global.setSync('fails', new ivm.Callback(() => { throw new TypeError('y'); }));
    assert.throws(() => context.evalSync('fails()'), { name: 'TypeError', message: 'y' });
    assert.equal(context.evalSync('let p = 1; Promise.resolve().then(() => { p = 2; }); p'), 1);
    assert.equal(context.evalSync('p'), 2);
    assert.equal(await context.eval('Promise.resolve(5)', { promise: true }), 5);
    assert.equal(context.evalSync('increment(1)'), 2);
    context.global.setSync('deeper', new ivm.Callback((n) => (n === 0 ? 0 : context.evalSync('deeper(' + (n - 1) + ') + 1'))));
    assert.equal(context.evalSync('deeper(50)'), 50);
    assert.throws(() => context.evalSync('(function f() { f(); })()'), { name: 'RangeError' });`));

  test('run on the thread of their caller', () => here(`
    const all = Array.from({ length: 20 }, () => new ivm.Isolate().createContextSync());
    for (let round = 0; round < 100; round += 1) for (const one of all) assert.equal(one.evalSync('6 * 7'), 42);
    const used = process.resourceUsage?.();
    for (let round = 0; round < 20_000; round += 1) context.evalSync('1');
    // A message to another thread wakes one of two threads.
    const after = process.resourceUsage?.();
    if (used?.voluntaryContextSwitches > 0) assert.ok(after.voluntaryContextSwitches - used.voluntaryContextSwitches < 10_000, JSON.stringify([used, after]));`));

  test('collect short-lived objects on the thread of their caller', () => here(`
    const { readdirSync, readFileSync } = await import('node:fs');
    // How often the threads that run guests have slept.
    const sleeps = () => readdirSync('/proc/self/task')
      .map((task) => readFileSync('/proc/self/task/' + task + '/status', 'utf8'))
      .filter((status) => /^Name:\\tisolated-v8$/m.test(status))
      .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\\t(\\d+)$/m.exec(status)[1]), 0);
    await context.eval('1');
    const before = sleeps();
    assert.ok(before > 0);
    for (let round = 0; round < 2_000; round += 1) context.evalSync('for (let i = 0; i < 1_000; i += 1) [i]');
    const after = sleeps();
    assert.ok(after - before < 50, before + ' and ' + after);`));

  test('mark and sweep on the thread of their caller, and elsewhere once no call comes', () => here(`
    const { readdirSync, readFileSync } = await import('node:fs');
    const read = (task, file) => readFileSync('/proc/self/task/' + task + '/' + file, 'utf8');
    // How long the threads that run guests have run, in milliseconds.
    const busy = () => readdirSync('/proc/self/task')
      .filter((task) => read(task, 'comm') === 'isolated-v8\\n')
      .reduce((sum, task) => sum + Number(read(task, 'schedstat').split(' ')[0]) / 1e6, 0);
    await context.eval('const kept = []');
    const churn = (calls) => {
      for (let call = 0; call < calls; call += 1) context.evalSync('kept.push(Array.from({ length: 400 }, (_, i) => ({ i }))); if (kept.length > 1000) kept.splice(0, 500)');
    };
    const [before, began] = [busy(), process.cpuUsage()];
    assert.ok(before > 0);
    churn(8_000);
    const { user, system } = process.cpuUsage(began);
    const share = (busy() - before) / ((user + system) / 1000);
    assert.ok(share < 0.04, String(share));
    // In some of the pauses, there is something to mark.
    let pauses = 0;
    for (let round = 0; round < 100 && pauses < 2; round += 1) {
      churn(200);
      const rests = busy();
      await sleep(150);
      if (busy() > rests) pauses += 1;
    }
    assert.equal(pauses, 2);`));

  test('run on the thread of their caller soon after asynchronous work', () => here(`
    const { readdirSync, readFileSync } = await import('node:fs');
    const read = (task, file) => readFileSync('/proc/self/task/' + task + '/' + file, 'utf8');
    // How long the threads that run guests have run, in milliseconds.
    const busy = () => readdirSync('/proc/self/task')
      .filter((task) => read(task, 'comm') === 'isolated-v8\\n')
      .reduce((sum, task) => sum + Number(read(task, 'schedstat').split(' ')[0]) / 1e6, 0);
    context.global.setSync('host', new ivm.Callback((n) => n + 1));
    const call = () => context.evalSync('for (let i = 0; i < 3_000; i += 1) host(i)');
    for (let round = 0; round < 20; round += 1) call();
    await context.eval('1');
    const [before, began] = [busy(), process.cpuUsage()];
    assert.ok(before > 0);
    for (let round = 0; round < 60; round += 1) {
      assert.equal(await context.eval('6 * 7'), 42);
      call();
    }
    const { user, system } = process.cpuUsage(began);
    const share = (busy() - before) / ((user + system) / 1000);
    assert.ok(share < 0.2, String(share));`));

  test('call other isolates, also through the host', () => here(`
    const other = new ivm.Isolate();
    const second = other.createContextSync();
    context.global.setSync('triple', second.evalSync('(x) => x * 3', { reference: true }));
    assert.equal(context.evalSync('triple.applySync(undefined, [5])'), 15);
    second.global.setSync('host', new ivm.Callback((n) => context.evalSync('triple.applySync(undefined, [' + n + '])')));
    assert.throws(() => second.evalSync('for (;;) host(1)', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    for (let n = 0; n < 200; n += 1) assert.equal(second.evalSync('host(' + n + ')'), 3 * n);
    assert.equal(context.evalSync('const all = []; for (let n = 0; n < 1e6; n += 1) all.push([n]); all.length'), 1e6);`));

  test('leave an isolate to other threads, and get it back', () => here(`
    // More than V8's lock is kept for.
    for (let round = 0; round < 2_500; round += 1) assert.equal(context.evalSync('6 * 7'), 42);
    const all = Array.from({ length: 8 }, () => new ivm.Isolate()).map((isolate) => ({ isolate, context: isolate.createContextSync() }));
    const run = ({ context }, code) => context.evalSync(code);
    for (let round = 0; round < 20; round += 1) {
      for (const one of all) assert.equal(run(one, 'globalThis.n = (globalThis.n ?? 0) + 1'), 5 * round + 1);
      // On our threads.
      assert.deepEqual(await Promise.all(all.map(({ context }) => context.eval('n += 1'))), all.map(() => 5 * round + 2));
      // Each on a fiber of its own, in another order than before.
      const nest = (rest) => {
        if (rest.length === 0) return 0;
        const [one, ...others] = rest;
        one.context.global.setSync('next', new ivm.Callback(() => nest(others)));
        return run(one, 'n += 1; next() + 1');
      };
      assert.equal(nest(round % 2 === 0 ? all : all.toReversed()), 8);
      for (const one of all) run(one, 'n += 1; for (let i = 0; i < 100; i += 1) new Array(1000).fill(i); /(a|b)+$/.test("ab".repeat(1000))');
      // A stack that V8 scans, and one that overflows.
      const { isolate, context } = all[round % all.length];
      assert.throws(() => context.evalSync('(function f() { f(); })()'), { name: 'RangeError' });
      assert.ok(isolate.getHeapStatisticsSync().used_heap_size > 0);
      for (const one of all) run(one, 'n += 1');
    }
    assert.equal(run(all[0], 'n'), 100);
    for (const { isolate } of all) isolate.dispose();
    assert.equal(context.evalSync('6 * 7'), 42);`));

  test('call functions of the host with all kinds of arguments and results', () => here(`
    const seen = [];
    context.global.setSync('call', new ivm.Callback((...args) => { seen.push(args); return args.at(-1); }));
    context.global.setSync('refer', new ivm.Reference(function (...args) { seen.push([this, ...args]); return args.at(-1); }));
    const values = ['undefined', 'null', 'true', '-0', 'NaN', '"short"', '"\\u{1f600}".repeat(300)', '12n', '[1, { a: 2 }]', 'new Date(5)'];
    for (const value of values) {
      const expected = eval('(' + value + ')');
      assert.deepEqual(context.evalSync('call(1, ' + value + ')', { copy: true }), expected);
      assert.deepEqual(context.evalSync('refer.applySync(3, [' + value + '], { arguments: { copy: true }, result: { copy: true } })', { copy: true }), expected);
      assert.deepEqual(seen.splice(0), [[1, expected], [3, expected]]);
    }
    assert.deepEqual([context.evalSync('call()'), context.evalSync('call(...Array(20).keys())')], [undefined, 19]);
    assert.equal(context.evalSync('refer.applySync(undefined, Array.from(Array(20).keys()))'), 19);
    // Results that are not primitives, for primitives.
    context.global.setSync('give', new ivm.Callback((what) => ({ object: { a: [1] }, symbol: Symbol('s'), promise: Promise.resolve(1), reference: new ivm.Reference(4) })[what]));
    assert.deepEqual(context.evalSync('give("object")', { copy: true }), { a: [1] });
    assert.equal(context.evalSync('give("reference").typeof'), 'number');
    for (const what of ['symbol', 'promise']) assert.throws(() => context.evalSync('give("' + what + '")'), TypeError);
    context.global.setSync('promise', new ivm.Reference(async (n) => n + 1));
    assert.equal(await context.evalSync('promise.applySync(undefined, [4], { result: { promise: true } })', { promise: true }), 5);
    context.global.setSync('object', new ivm.Reference({}));
    assert.throws(() => context.evalSync('object.applySync(undefined, [1])'), { message: 'Reference is not a function' });
    context.global.setSync('callback', new ivm.Reference(new ivm.Callback((n) => n * 2)));
    assert.equal(context.evalSync('callback.applySync(undefined, [4])'), 8);
    // Errors, in both directions, and the end of the stack.
    context.global.setSync('fails', new ivm.Callback((n) => { throw n === 1 ? 'text' : Object.assign(new RangeError('no'), { detail: n }); }));
    assert.equal(context.evalSync('try { fails(1) } catch (error) { error }'), 'text');
    assert.equal(context.evalSync('try { fails(2) } catch (error) { error.message + error.detail }'), 'no2');
    assert.throws(() => context.evalSync('call(Symbol("x"))'), TypeError);
    context.global.setSync('deep', new ivm.Callback((n) => context.evalSync('deep(' + (n + 1) + ')')));
    assert.throws(() => context.evalSync('deep(0)'), { name: 'RangeError' });
    // What a stopped guest would have called is not called.
    context.global.setSync('stop', new ivm.Callback(() => { isolate.dispose(); return 1; }));
    assert.equal(syncError(() => context.evalSync('stop(1); call(2)')).code, 'ERR_ISOLATE_DISPOSED');
    assert.deepEqual(seen.splice(0).length, 3);
    otherWorks();`));

  test('are served in a row, however they differ', () => here(`
    const other = new ivm.Isolate().createContextSync();
    const seen = [];
    const functions = {
      one: new ivm.Callback((n) => n + 1),
      two: new ivm.Callback((a, b) => a + '/' + b),
      fails: new ivm.Callback((n) => { throw new RangeError('no ' + n); }),
      reference: new ivm.Reference(function (n) { 'use strict'; seen.push(this); return n + 2; }),
      wrapped: new ivm.Reference(new ivm.Callback((n) => n + 3)),
      object: new ivm.Callback((n) => ({ n })),
      nested: new ivm.Callback((n) => other.evalSync('ask(' + n + ') + ask(1)')),
      limited: new ivm.Callback(() => syncError(() => context.evalSync('for (;;) one(1)', { timeout: 20 })).code),
    };
    for (const [name, value] of Object.entries(functions)) context.global.setSync(name, value);
    other.global.setSync('ask', new ivm.Callback((n) => context.evalSync('one(' + n + ')')));
    const results = context.evalSync(\`{
      const results = [];
      for (let i = 0; i < 100; i += 1) {
        let error;
        try { fails(i); } catch (caught) { error = caught.message; }
        const applied = [reference.applySync(undefined, [i]), reference.applySync(i, [i]), reference.applySync('self', [i]), wrapped.applySync(undefined, [i])];
        results.push([one(i), two(i, -0), two(null), error, ...applied, object(i).n, nested(i)]);
      }
      results.push(limited(), one(1));
      results;
    }\`, { copy: true, timeout: 50_000 });
    assert.deepEqual(results.splice(-2), ['ERR_ISOLATE_TIMEOUT', 2]);
    for (const [i, result] of results.entries()) {
      assert.deepEqual(result, [i + 1, i + '/0', 'null/undefined', 'no ' + i, i + 2, i + 2, i + 2, i + 3, i, i + 3]);
      assert.deepEqual(seen.splice(0, 3), [undefined, i, 'self']);
    }
    assert.deepEqual([results.length, seen.length], [100, 0]);`));

  test('use the records of one call for the next, and never those of another', () => here(`
    const kept = [];
    context.global.setSync('keep', new ivm.Callback((...args) => { kept.push(args); return args.length; }));
    const counts = Array.from({ length: 200 }, (_, index) => index % 8);
    assert.equal(context.evalSync('let sum = 0; for (let i = 0; i < 200; i += 1) sum += keep(...Array(i % 8).keys()); sum'), counts.reduce((sum, count) => sum + count));
    assert.deepEqual(kept.splice(0), counts.map((count) => [...Array(count).keys()]));
    context.global.setSync('below', new ivm.Callback((n, text) => (n === 0 ? text : context.evalSync('below(' + (n - 1) + ', "' + text + 'x") + "y"'))));
    for (let round = 0; round < 20; round += 1) assert.equal(context.evalSync('below(5, "a") + below(3, "b")'), 'axxxxxyyyyybxxxyyy');
    context.global.setSync('echo', new ivm.Callback((text) => text));
    assert.equal(context.evalSync('let length = 0; for (let i = 0; i < 100; i += 1) length += echo("z".repeat(i * 100)).length; length'), 495_000);
    // A guest that is stopped below its own call of the host: the host still has the record.
    for (let round = 0; round < 20; round += 1) {
      const guest = new ivm.Isolate();
      const inside = guest.createContextSync();
      inside.global.setSync('end', new ivm.Callback(() => { guest.dispose(); }));
      inside.global.setSync('stop', new ivm.Callback((...args) => {
        assert.equal(syncError(() => inside.evalSync('for (;;) end(1, 2, 3)')).code, 'ERR_ISOLATE_DISPOSED');
        kept.push(args);
        return 'value';
      }));
      assert.equal(syncError(() => inside.evalSync('stop("first", "second"); keep("third")')).code, 'ERR_ISOLATE_DISPOSED');
      assert.deepEqual(kept.splice(0), [['first', 'second']]);
      assert.equal(context.evalSync('keep("other")'), 1);
      assert.deepEqual(kept.splice(0), [['other']]);
    }
    // The alarm of a deadline knows the call that it would end.
    for (const syncCalls of ['thread', 'caller']) {
      ivm.configureEngine({ syncCalls });
      for (let round = 0; round < 10; round += 1) {
        // A busy machine may take longer than that.
        try { context.evalSync('1', { deadline: 20 }); } catch (error) { assert.equal(error.code, 'ERR_ISOLATE_DEADLINE'); }
        assert.equal(context.evalSync('{ const end = Date.now() + 25; while (Date.now() < end); } ' + round), round);
      }
    }`));

  for (const syncCalls of ['thread', 'caller']) {
    test(`leave turns to async calls that wait, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const many = 50;
      const count = new Int32Array(new SharedArrayBuffer(4));
      context.global.setSync('shared', new ivm.ExternalCopy(count.buffer).copyInto());
      context.evalSync('const count = new Int32Array(shared)');
      const calls = Array.from({ length: many }, () => context.eval('for (const end = Date.now() + 2; Date.now() < end; ); Atomics.add(count, 0, 1)'));
      // The event loop does not run meanwhile.
      let before = 0;
      for (const end = ms() + 20_000; Atomics.load(count, 0) < many && ms() < end; before += 1) context.evalSync('1');
      assert.equal(Atomics.load(count, 0), many);
      assert.ok(before > 0);
      assert.deepEqual(await Promise.all(calls), calls.map((_, index) => index));`));
  }

  test('meet async calls', () => here(`
    const results = [];
    context.global.setSync('note', new ivm.Callback((value) => { results.push(value); }));
    for (let round = 0; round < 50; round += 1) {
      const pending = context.eval('note("async"); ' + round);
      assert.equal(context.evalSync('note("sync"); 1'), 1);
      assert.equal(await pending, round);
    }
    assert.equal(results.length, 100);
    const long = context.eval('const end = Date.now() + 200; while (Date.now() < end); 5');
    assert.equal(context.evalSync('6'), 6);
    assert.equal(await long, 5);
    context.global.setSync('later', new ivm.Callback(() => { context.evalIgnored('globalThis.ignored = 7'); return 1; }));
    assert.equal(context.evalSync('later()'), 1);
    assert.equal(await context.eval('ignored'), 7);`));

  test('refuses other values', () => here(`
    for (const syncCalls of ['', 'Caller', 1, true, {}]) {
      assert.throws(() => ivm.configureEngine({ syncCalls }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '\`syncCalls\` must be "thread" or "caller"' });
    }
    assert.equal(ivm.configureEngine({ syncCalls: 'thread' }).syncCalls, 'thread');
    assert.equal(context.evalSync('6 * 7'), 42);`));
});
