// `createSandbox`: what the guest finds, what it may call, what it returns. `create-sandbox-limits` tests its limits, and
// `normalize-code` what the value of code is.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { errorOf, resultOf } from '../../sandbox/execution-helper.mjs';

const { createSandbox } = ivm;

describe('execute: the result', () => {
  test('has its fields and no other', async () => {
    const outcome = await createSandbox({}).execute('console.log("x"); return 1'.replace('console', 'if (1) console'));
    assert.deepEqual(Object.keys(outcome).toSorted(), ['durationMs', 'logs', 'result', 'usage']);
    assert.deepEqual(outcome.logs, ['x']);
    assert.equal(typeof outcome.durationMs, 'number');
    const failed = await createSandbox({}).execute('throw new Error("no")');
    assert.deepEqual(Object.keys(failed).toSorted(), ['durationMs', 'error', 'failure', 'logs', 'result', 'usage']);
  });

  test('durationMs covers the waits', async () => {
    const wait = () => new Promise((resolve) => { setTimeout(resolve, 80); });
    const outcome = await createSandbox({ wait }).execute('wait()');
    assert.ok(outcome.durationMs >= 75 && outcome.durationMs < 10_000, `${outcome.durationMs}`);
  });

  test('is awaited, at any depth of promises and thenables', async () => {
    assert.equal(await resultOf('Promise.resolve(Promise.resolve(3))'), 3);
    assert.equal(await resultOf('return { then(resolve) { resolve(Promise.resolve(4)) } }'), 4);
    assert.equal(await errorOf('Promise.reject(new Error("rejected"))'), 'rejected');
  });

  test('is structured-cloned', async () => {
    const result = await resultOf(`
      const shared = { s: 1 };
      const value = { date: new Date(5), map: new Map([[1, shared]]), set: new Set(['a']), big: 10n, shared, re: /x/g,
        bytes: new Uint8Array([1, 2]), error: new RangeError('r'), zero: -0, hole: [, 1] };
      value.self = value;
      return value`);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
    assert.equal(result.self, result);
    assert.ok(result.date instanceof Date && result.date.getTime() === 5);
    assert.ok(result.map instanceof Map && result.map.get(1) === result.shared);
    assert.ok(result.set instanceof Set && result.set.has('a'));
    assert.equal(result.big, 10n);
    assert.equal(String(result.re), '/x/g');
    assert.deepEqual([...result.bytes], [1, 2]);
    assert.ok(result.error instanceof RangeError && result.error.message === 'r');
    assert.ok(Object.is(result.zero, -0));
    assert.equal(0 in result.hole, false);
  });

  test('that cannot be cloned is an error', async () => {
    assert.match(await errorOf('return () => 1'), /could not be cloned/);
    assert.match(await errorOf('return { f() {} }'), /could not be cloned/);
    assert.match(await errorOf('return Symbol("s")'), /could not be cloned|Unsupported type/);
  });

  test('`__proto__` in a result touches no prototype', async () => {
    const result = await resultOf('return JSON.parse(\'{"__proto__":{"polluted":1},"a":[{"__proto__":{"polluted":1}}]}\')');
    assert.equal({}.polluted, undefined);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
    assert.deepEqual(Object.keys(result), ['__proto__', 'a']);
  });
});

describe('execute: errors', () => {
  test('resolves for any thrown value', async () => {
    assert.equal(await errorOf('throw new Error("boom")'), 'boom');
    assert.equal(await errorOf('throw new TypeError("wrong")'), 'wrong');
    assert.equal(await errorOf('await Promise.reject(new Error("later"))'), 'later');
    assert.equal(await errorOf('throw "text"'), 'text');
    assert.equal(await errorOf('throw 5'), '5');
    assert.equal(await errorOf('throw null'), 'null');
    assert.equal(await errorOf('throw undefined'), 'undefined');
    assert.equal(await errorOf('null.x'), "Cannot read properties of null (reading 'x')");
    assert.equal(await errorOf('missing'), 'missing is not defined');
    await errorOf('throw { no: "message" }');
    await errorOf('throw Object.create(null)');
    await errorOf('throw Symbol("s")');
    await errorOf('throw { get message() { throw 1 }, toString() { throw 2 } }');
  });

  test('a syntax error is V8\'s own', async () => {
    assert.match(await errorOf('return ('), /Unexpected|Invalid/);
    assert.match(await errorOf('const a: number = 1'), /Missing initializer|Unexpected/);
    assert.match(await errorOf('} catch {'), /Unexpected|Missing/);
  });

  test('code cannot close its wrapper', async () => {
    await errorOf('1 }; globalStolen = 1; async () => { 2');
  });

  test('code that is not a string is an error, not a rejection', async () => {
    for (const wrong of [undefined, null, 1, {}, Symbol('s')]) {
      const outcome = await createSandbox({}).execute(wrong);
      assert.equal(outcome.result, null);
      assert.match(outcome.error, /`code` must be a string/);
      assert.deepEqual(outcome.logs, []);
      assert.equal(typeof outcome.durationMs, 'number');
    }
  });

  test('globals that cannot be transferred are an error, not a rejection', async () => {
    assert.match(await errorOf('1', { bad: Symbol('s') }), /could not be cloned|Unsupported type/);
    assert.match(await errorOf('1', { deep: { bad: new WeakMap() } }), /could not be cloned/);
    assert.equal(await errorOf('1', { deep: { get bad() { throw new Error('getter'); } } }), 'getter');
  });

  test('logs of a failed run are kept', async () => {
    const outcome = await createSandbox({}).execute('const a = 1; console.log("before"); throw new Error("after")');
    assert.deepEqual([outcome.logs, outcome.error], [['before'], 'after']);
  });
});

describe('createSandbox: globals', () => {
  test('primitives, null and undefined are set unchanged', async () => {
    const globals = { text: 'ü☃', number: -0, yes: true, nothing: null, missing: undefined, big: 2n ** 70n };
    assert.deepEqual(await resultOf('[text, Object.is(number, -0), yes, nothing, missing, big, typeof missing]', globals), ['ü☃', true, true, null, undefined, 2n ** 70n, 'undefined']);
    assert.equal(await resultOf('"missing" in this', globals), true);
  });

  test('objects are copies', async () => {
    const config = { list: [1, { deep: new Map([['a', new Date(1)]]) }], bytes: new Uint8Array([7]) };
    const code = 'const seen = config.list[1].deep.get("a").getTime() + config.bytes[0]; config.list.push(2); config.bytes[0] = 9; return seen';
    assert.equal(await resultOf(code, { config }), 8);
    assert.deepEqual([config.list.length, config.bytes[0]], [2, 7]);
  });

  test('shared references and cycles are kept', async () => {
    const shared = {};
    const cycle = { a: shared, b: [shared] };
    cycle.self = cycle;
    assert.deepEqual(await resultOf('[cycle.self === cycle, cycle.a === cycle.b[0], other === cycle.a]', { cycle, other: shared }), [true, true, true]);
  });

  test('functions are functions at any depth, with their object as `this`', async () => {
    const globals = {
      double: (x) => x * 2,
      api: { base: 40, add(x) { return this.base + x; }, v1: { users: { get: async (id) => ({ id }) } } },
      list: [1, (x) => x + 1, { f: () => 'in a list' }],
    };
    assert.equal(await resultOf('double(21)', globals), 42);
    assert.equal(await resultOf('api.add(2)', globals), 42);
    assert.deepEqual(await resultOf('api.v1.users.get("u")', globals), { id: 'u' });
    assert.deepEqual(await resultOf('[list[0], list[1](1), list[2].f(), typeof api.v1.users.get]', globals), [1, 2, 'in a list', 'function']);
  });

  test('globals are read again for each run', async () => {
    const globals = { n: 1 };
    const sandbox = createSandbox(globals);
    assert.equal((await sandbox.execute('n')).result, 1);
    globals.n = 2;
    assert.equal((await sandbox.execute('n')).result, 2);
  });

  test('a global named `__proto__` changes no prototype', async () => {
    const globals = JSON.parse('{"__proto__":{"polluted":1},"o":{"__proto__":{"polluted":1}}}');
    assert.deepEqual(await resultOf('[({}).polluted, Object.getPrototypeOf(o) === Object.prototype]', globals), [undefined, true]);
    assert.equal({}.polluted, undefined);
  });

  test('each run has a new isolate', async () => {
    const sandbox = createSandbox({ o: { a: 1 } });
    const spoil = 'Array.prototype.spoiled = 1; leaked = 2; o.a = 3; Object.freeze(JSON); return [].spoiled + leaked';
    assert.equal((await sandbox.execute(`if (1) { ${spoil} }`)).result, 3);
    assert.deepEqual((await sandbox.execute('[[].spoiled, typeof leaked, o.a, Object.isFrozen(JSON)]')).result, [undefined, 'undefined', 1, false]);
  });

  test('globalThis is shadowed', async () => {
    assert.equal(await resultOf('typeof globalThis'), 'undefined');
    assert.equal(await resultOf('() => (() => globalThis)()'), undefined);
    assert.equal(await resultOf('globalThis === undefined'), true);
  });

  test('globals of the host are absent', async () => {
    const names = ['require', 'process', 'fetch', 'module', 'exports', 'Buffer', 'Deno', 'Bun', 'global', 'self', 'window', 'ivm',
      'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'queueMicrotask', '__dirname', 'XMLHttpRequest', 'WebSocket', 'navigator'];
    for (const name of names) assert.equal(await resultOf(`typeof ${name}`), 'undefined', name);
    assert.match(await errorOf('await import("node:fs")'), /./);
  });

  test('timers are present if requested', async () => {
    const names = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'];
    for (const name of names) assert.equal(await resultOf(`typeof ${name}`, {}, { timers: true }), 'function', name);
    assert.equal(await resultOf('new Promise((resolve) => setTimeout(resolve, 5, "late"))', {}, { timers: true }), 'late');
    const code = `
      const order = [];
      const cleared = setTimeout(() => order.push('cleared'), 1);
      clearTimeout(cleared);
      setTimeout(() => order.push('b'), 20);
      setTimeout(() => order.push('a'), 1);
      await new Promise((resolve) => { let n = 0; const id = setInterval(() => { if ((n += 1) === 3) { clearInterval(id); resolve(); } }, 15); });
      return order`;
    assert.deepEqual(await resultOf(code, {}, { timers: true }), ['a', 'b']);
    assert.equal(await errorOf('new Promise(() => setTimeout(() => { throw new Error("in a timer") }, 1))', {}, { timers: true }), 'in a timer');
  });
});

describe('createSandbox: host functions', () => {
  test('look synchronous, and can be awaited', async () => {
    const later = async (value) => { await new Promise((resolve) => { setTimeout(resolve, 5); }); return value; };
    assert.equal(await resultOf('const a = later(20); const b = later(22); return a + b', { later }), 42);
    assert.equal(await resultOf('await later(1) + await later(2)', { later }), 3);
    assert.deepEqual(await resultOf('[1, 2, 3].map((x) => later(x * 2))', { later }), [2, 4, 6]);
  });

  test('arguments and results are copies', async () => {
    const seen = [];
    const result = { list: [1] };
    const keep = (...args) => { seen.push(args); return result; };
    assert.deepEqual(await resultOf('const o = { a: new Map([[1, 2]]) }; const r = keep(o, 5n, undefined); r.list.push(2); o.a.clear(); return keep().list', { keep }), [1]);
    assert.deepEqual(seen, [[{ a: new Map([[1, 2]]) }, 5n, undefined], []]);
    assert.deepEqual(result, { list: [1] });
    assert.match(await resultOf('try { keep(() => 1) } catch (error) { return error.message }', { keep }), /could not be cloned/);
    assert.equal(seen.length, 2);
  });

  test('a result that cannot be cloned is an error in the guest', async () => {
    assert.match(await resultOf('try { make() } catch (error) { return error.message }', { make: () => Symbol('s') }), /could not be cloned|Unsupported type/);
    assert.match(await errorOf('make()', { make: async () => new WeakMap() }), /could not be cloned/);
  });

  test('errors arrive as the guest\'s Error with the message', async () => {
    const fail = () => { throw new Error('sync'); };
    const reject = async () => { throw new TypeError('async'); };
    const code = (name) => `try { ${name}() } catch (error) { return [error instanceof Error, error.message, error.constructor.constructor('return typeof process')()] }`;
    assert.deepEqual(await resultOf(code('fail'), { fail }), [true, 'sync', 'undefined']);
    assert.deepEqual(await resultOf(code('reject'), { reject }), [true, 'async', 'undefined']);
    assert.equal(await errorOf('fail()', { fail }), 'sync');
    assert.equal(await errorOf('reject()', { reject }), 'async');
    assert.match(await errorOf('fail()', { fail: () => { throw 'a string'; } }), /a string/);
  });

  test('nothing of the host is reachable through one', async () => {
    const code = 'f.constructor("return typeof process")() + f.__proto__.constructor("return typeof process")() + f().constructor.constructor("return typeof process")()';
    assert.equal(await resultOf(code, { f: async () => ({}) }), 'undefinedundefinedundefined');
  });

  test('the host\'s event loop runs while a guest loops', async () => {
    let ticks = 0;
    const interval = setInterval(() => { ticks += 1; }, 5);
    await resultOf('for (const end = Date.now() + 300; Date.now() < end;);');
    clearInterval(interval);
    assert.ok(ticks >= 10, `${ticks} ticks`);
  });

  test('the host\'s event loop runs while a guest waits', async () => {
    // The function settles after ten turns of the loop that it must not block.
    const wait = () => new Promise((resolve) => {
      let ticks = 0;
      const interval = setInterval(() => {
        if ((ticks += 1) === 10) { clearInterval(interval); resolve(ticks); }
      }, 2);
    });
    assert.equal(await resultOf('wait()', { wait }), 10);
  });

  test('two executions run at the same time', async () => {
    const waiting = [];
    // Neither continues before both have arrived.
    const meet = (name) => new Promise((resolve) => {
      waiting.push(() => resolve(name));
      if (waiting.length === 2) waiting.forEach((go) => go());
    });
    const sandbox = createSandbox({ meet });
    const outcomes = await Promise.all([sandbox.execute('meet("a")'), sandbox.execute('meet("b")')]);
    assert.deepEqual(outcomes.map(({ result }) => result), ['a', 'b']);
  });

  test('twenty executions are isolated from each other', async () => {
    const sandbox = createSandbox({ echo: async (x) => x });
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => sandbox.execute(`const x = ${i}; console.log(x); return echo(x) * 2`)));
    assert.deepEqual(outcomes.map(({ result, logs }) => [result, ...logs]), Array.from({ length: 20 }, (_, i) => [i * 2, `${i}`]));
  });
});
