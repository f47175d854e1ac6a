// `SubprocessSandbox`: what code, tools and logs do in a process of their own. subprocess-processes tests the processes themselves,
// subprocess-hostile fake children.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { TERMINATED, noTools, sleep, tool } from '../../sandbox/subprocess-helper.mjs';

const { SubprocessSandbox, createSubprocessSandbox } = ivm;
const execute = (code, tools = [], executor = noTools, config = {}) => new SubprocessSandbox(config).execute(code, tools, executor);

/** One execution that must succeed. */
async function resultOf(...args) {
  const outcome = await execute(...args);
  assert.equal(outcome.error, undefined, `${args[0]}: ${outcome.error}`);
  return outcome.result;
}

const logsOf = async (code, config) => {
  const { logs, error } = await execute(code, [], noTools, config);
  assert.equal(error, undefined);
  return logs;
};

describe('SubprocessSandbox: results', () => {
  const pairs = [
    ['return 1 + 1', 2],
    ['return await Promise.resolve(3)', 3],
    ['const x = 1;', undefined],
    ['', undefined],
    ['return null', null],
    ['return "\\ud800 and ÿ and 中"', '\ud800 and ÿ and 中'],
    ['return (-5n) ** 71n', (-5n) ** 71n],
    ['return { a: [1, "x", null, undefined] }', { a: [1, 'x', null, undefined] }],
    ['return new Map([[1, new Set([2])]])', new Map([[1, new Set([2])]])],
    ['return new Uint8Array([1, 2, 3]).subarray(1)', new Uint8Array([2, 3])],
    ['return new Date(5)', new Date(5)],
    ['return JSON.parse(\'{"__proto__": {"x": 1}}\').x', undefined],
    ['return new Promise((resolve) => setTimeout(resolve, 5, "timer"))', 'timer'],
    ['return await new Promise((resolve) => setImmediate(resolve, 1)) + await new Promise((resolve) => queueMicrotask(() => resolve(2)))', 3],
    ['return typeof global + typeof globalThis', 'objectobject'],
    ['return ["require", "process", "fetch", "Deno", "Bun", "Buffer"].map((name) => typeof globalThis[name]).join()', 'undefined,undefined,undefined,undefined,undefined,undefined'],
    ['return (function () { return this })()', undefined],
    ['return new Intl.NumberFormat("de").format(1234.5)', '1.234,5'],
    ['return typeof WebAssembly.instantiate', 'function'],
    ['const f = () => f(); try { f() } catch (error) { return error.message }', 'Maximum call stack size exceeded'],
    ['const worker = new SharedArrayBuffer(4); return Atomics.wait(new Int32Array(worker), 0, 0, 5)', 'timed-out'],
  ];
  for (const [code, result] of pairs) {
    test(JSON.stringify(code), async () => assert.deepEqual(await resultOf(code), result));
  }

  test('other globals', async () => {
    const sandbox = createSubprocessSandbox();
    assert.ok(sandbox instanceof SubprocessSandbox);
    const outcome = await sandbox.execute('return undefined', [], noTools);
    assert.deepEqual(Object.keys(outcome).toSorted(), ['confinement', 'duration', 'durationMs', 'logs', 'result', 'usage']);
    assert.deepEqual(outcome.confinement, (await sandbox.confinement()).filter(({ active }) => active).map(({ name }) => name));
    const { cpuMs, wallMs, heapPeak, hostCalls } = outcome.usage;
    assert.ok(cpuMs > 0 && wallMs > 0 && wallMs <= outcome.duration + 1 && heapPeak > 100_000 && hostCalls === 0, JSON.stringify(outcome));
    assert.ok(Number.isInteger(outcome.duration));
  });

  test('a buffer of 1 MB, and a string of as many characters', async () => {
    const { bytes, text } = await resultOf('return { bytes: new Uint8Array(1e6).fill(7), text: "中".repeat(1e6) }');
    assert.equal(bytes.length, 1e6);
    assert.ok(bytes.every((byte) => byte === 7));
    assert.equal(text, '中'.repeat(1e6));
  });

  test('code of 1 MB', async () => assert.equal(await resultOf(`/* ${'x'.repeat(1e6)} */ return 1`), 1));

  test('web APIs, if requested', async () => {
    const code = 'return [typeof URL, typeof TextEncoder, typeof structuredClone]';
    assert.deepEqual(await resultOf(code), ['undefined', 'undefined', 'undefined']);
    assert.deepEqual(await resultOf(code, [], noTools, { web: ['URL'] }), ['function', 'undefined', 'undefined']);
    const all = 'return [new URL("/b?c=1", "http://a").searchParams.get("c"), [...new TextEncoder().encode("ÿ")], atob(btoa("x")), structuredClone(new Map([[1, 2]])), crypto.randomUUID().length, performance.now() >= 0]';
    assert.deepEqual(await resultOf(all, [], noTools, { web: true }), ['1', [195, 191], 'x', new Map([[1, 2]]), 36, true]);
  });

  test('TypeScript, if requested', async () => {
    const code = 'const add = (a: number, b: number): number => a + b;\nreturn add(1, 2) as number;';
    assert.equal(await resultOf(code, [], noTools, { typescript: true }), 3);
    assert.equal((await execute(code)).failure.name, 'SyntaxError');
    const { failure } = await execute('const a: number = 1;\n  throw new Error("mine")', [], noTools, { typescript: true });
    assert.deepEqual([failure.message, failure.line, failure.column], ['mine', 2, 9]);
    assert.equal((await execute('enum E { a }', [], noTools, { typescript: true })).failure.name, 'SyntaxError');
  });

  test('terminated before its start', async () => {
    const sandbox = new SubprocessSandbox({ typescript: true });
    const execution = sandbox.execute('for (;;);', [], noTools);
    sandbox.terminate();
    const { error, failure } = await execution;
    assert.deepEqual([error, failure.code], [TERMINATED, 'ERR_ISOLATE_DISPOSED']);
  });

  const refused = [
    ['a function', 'return () => 1'], ['a symbol', 'return Symbol("s")'], ['shared memory', 'return new SharedArrayBuffer(8)'],
    ['a function inside', 'return { f() {} }'], ['a proxy', 'return new Proxy({}, {})'],
  ];
  for (const [what, code] of refused) {
    test(`${what} cannot be a result`, async () => {
      const { result, failure } = await execute(code);
      assert.equal(result, null);
      assert.equal(failure.code, 'ERR_ISOLATE_TRANSFER', JSON.stringify(failure));
    });
  }
});

describe('SubprocessSandbox: strict mode and frozen built-ins', () => {
  const classes = ['Object', 'Array', 'String', 'Number', 'Boolean', 'Function', 'RegExp', 'Date', 'Error', 'Map', 'Set', 'Promise'];
  test('prototypes cannot be changed', async () => {
    const code = `
      const failed = [];
      for (const name of ${JSON.stringify(classes)}) {
        const { prototype } = globalThis[name];
        for (const change of [() => { prototype.extra = 1 }, () => { prototype.constructor = 1 }, () => { delete prototype.constructor }]) {
          try { change(); failed.push(name) } catch (error) { if (!(error instanceof TypeError)) failed.push(error.message) }
        }
        if (!Object.isFrozen(prototype)) failed.push(name + ' is not frozen');
      }
      return failed`;
    assert.deepEqual(await resultOf(code), []);
  });
  test('objects that inherit from them can have own properties', async () => {
    const code = `
      class Failure extends Error { constructor(message) { super(message); this.name = 'Failure'; this.message = message + '!'; } }
      const failure = new Failure('x');
      function Old() {}
      Old.prototype = Object.create(Map.prototype);
      Old.prototype.constructor = Old;
      Old.prototype.get = () => 'own';
      const object = {};
      object.toString = () => 'mine';
      object.valueOf = () => 7;
      object.hasOwnProperty = 1;
      const f = () => {};
      f.call = 1;
      const list = [1];
      list.push = () => 'pushed';
      const date = new Date(0);
      date.toISOString = () => 'then';
      const { name, ...rest } = Object.getOwnPropertyDescriptor(failure, 'name');
      object.toString = () => 'again';
      return [String(failure), failure instanceof Failure, new Old().get(), Old.prototype.constructor === Old, String(object), object + 1, f.call, list.push(2), date.toISOString(),
        rest.writable && rest.enumerable && rest.configurable, Object.keys(object), [].push.name, typeof Object.prototype.toString, ({}).toString()]`;
    assert.deepEqual(await resultOf(code), ['Failure: x!', true, 'own', true, 'again', 8, 1, 'pushed', 'then', true, ['toString', 'valueOf', 'hasOwnProperty'], 'push', 'function', '[object Object]']);
  });
  test('but no path leads back to them', async () => {
    const code = `
      const failed = [];
      for (const name of ${JSON.stringify(classes)}) {
        const { prototype } = globalThis[name];
        for (const key of Reflect.ownKeys(prototype)) {
          const { value, get, set, configurable, writable } = Object.getOwnPropertyDescriptor(prototype, key);
          if (configurable || writable) failed.push(String(key));
          if (set !== undefined && !['__proto__', 'caller', 'arguments'].includes(key)) {
            const before = get.call({});
            for (const change of [() => { prototype[key] = 1 }, () => set.call(prototype, 1), () => set.call(undefined, 1), () => set.call('text', 1), () => { set.extra = 1 }, () => { get.prototype.x = 1 }, () => new set(1)]) {
              try { change(); failed.push(String(key) + change) } catch (error) { if (!(error instanceof TypeError)) failed.push(String(error)) }
            }
            if (get.call({}) !== before) failed.push(String(key));
            const frozen = Object.freeze({});
            try { frozen[key] = 1; failed.push('frozen') } catch (error) { if (!(error instanceof TypeError)) failed.push(String(error)) }
          }
        }
      }
      return failed`;
    assert.deepEqual(await resultOf(code), []);
  });
  test('strict mode', async () => {
    const { error, failure } = await execute('undeclared = 1');
    assert.equal(error, 'undeclared is not defined');
    assert.equal(failure.name, 'ReferenceError');
    assert.equal((await execute('with ({}) {}')).failure.name, 'SyntaxError');
  });
});

describe('SubprocessSandbox: tools', () => {
  const places = [['a:b', 'a.b'], ['a:b:c', 'a.b_c'], ['a.b', 'a.b'], ['a.b', 'tools.a_b'], ['search', 'tools.search'], ['search', 'globalThis.default.search'], ['search', 'search.call'], ['my-tool', 'tools.my_tool'], ['über:größe', '_ber.gr__e']];
  for (const [name, place] of places) {
    test(`${name} is ${place}`, async () => {
      const seen = [];
      const executor = async (toolName, params) => { seen.push([toolName, params]); return 'done'; };
      assert.equal(await resultOf(`return await ${place}({ x: 1 })`, [tool(name)], executor), 'done');
      assert.deepEqual(seen, [[name, { x: 1 }]]);
    });
  }

  test('the own place of a tool comes before those that others also have', async () => {
    const names = ['search', 'tools:search', 'default:search'];
    const code = 'return [await search(), await tools.search(), await globalThis.default.search()]';
    for (const order of [names, names.toReversed()]) {
      assert.deepEqual(await resultOf(code, order.map(tool), async (name) => name), names);
    }
    assert.deepEqual(await resultOf('return [await a.b(), await a_b(), typeof tools.a_b, await tools.c()]', ['a.b', 'a_b', 'c'].map(tool), async (name) => name), ['a.b', 'a_b', 'undefined', 'c']);
  });

  test('params are passed as JSON, results as clones', async () => {
    const seen = [];
    const results = [1, 'text', null, undefined, { deep: [{ a: 1 }] }, 5n, new Date(3), new Map([[1, 2]]), new Uint8Array([1, 2])];
    const executor = async (_, params) => { seen.push(params); return results[params.i]; };
    const code = 'await t.f(); const all = []; for (let i = 0; i < 9; i += 1) all.push(await t.f({ i, d: new Date(0), u: undefined })); return all';
    assert.deepEqual(await resultOf(code, [tool('t:f')], executor), results);
    assert.deepEqual(seen.slice(0, 2), [{}, { i: 0, d: '1970-01-01T00:00:00.000Z' }]);
  });

  test('errors of a tool are errors inside', async () => {
    const executor = async () => { throw new RangeError('too far'); };
    const code = 'try { await t.f() } catch (error) { return [error instanceof Error, error.message] }';
    assert.deepEqual(await resultOf(code, [tool('t:f')], executor), [true, 'too far']);
    const { error } = await execute('await t.f()', [tool('t:f')], executor);
    assert.equal(error, 'too far');
  });

  test('several calls can be pending at once, in any order', async () => {
    let flying = 0;
    let open;
    const all = new Promise((resolve) => { open = resolve; });
    const executor = async (_, { i }) => {
      if ((flying += 1) === 3) open();
      await all;
      return i * 2;
    };
    assert.deepEqual(await resultOf('return Promise.all([1, 2, 3].map((i) => t.f({ i })))', [tool('t:f')], executor), [2, 4, 6]);
  });

  test('a thousand calls, one after the other and all at once', async () => {
    const code = 'let sum = 0; for (let i = 0; i < 500; i += 1) sum += await t.f({ i }); const rest = await Promise.all(Array.from({ length: 500 }, (_, i) => t.f({ i }))); return [sum, rest.length]';
    const { result, usage } = await execute(code, [tool('t:f')], async (_, { i }) => i);
    assert.deepEqual(result, [124_750, 500]);
    assert.equal(usage.hostCalls, 1_000);
  });

  test('params that would use too much memory of the host are refused', async () => {
    let called = 0;
    const code = 'return await t.f("x".repeat(9e6)).catch((error) => `${error.name}: ${error.message}`)';
    assert.equal(await resultOf(code, [tool('t:f')], async () => { called += 1; }), 'RangeError: Tool parameters take 9000002 bytes, more than 8388608');
    assert.equal(called, 0);
  });

  test('params of pending calls count', async () => {
    let peak = 0, now = 0;
    const executor = async (_, params) => {
      peak = Math.max(peak, now += 1);
      await sleep(300);
      now -= 1;
      return params.length;
    };
    const code = 'const rows = Array(2e6).fill(1); const all = await Promise.all(Array.from({ length: 12 }, () => t.f(rows))); return all.length';
    assert.equal(await resultOf(code, [tool('t:f')], executor), 12);
    // Of 4 MB each, in 256 MB, each byte counted 16 times.
    assert.ok(peak <= 4, String(peak));
  });

  test('large params and large results', async () => {
    const executor = async (_, { text }) => text + text;
    assert.equal(await resultOf('return (await t.f({ text: "x".repeat(2e6) })).length', [tool('t:f')], executor), 4e6);
  });

  test('unresolved calls of a tool end with the execution', async () => {
    const { error, failure } = await execute('return await t.f()', [tool('t:f')], () => new Promise(() => {}), { timeout: 300 });
    assert.equal(error, TERMINATED);
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
  });
});

describe('SubprocessSandbox: logs', () => {
  test('levels and data', async () => {
    const code = `
      console.log('text'); console.info({ a: [1] }); console.warn('a', 1, null); console.error(new Date(0)); console.debug(true);
      console.log(); console.log(undefined); console.log(() => 1); console.log([undefined, () => 1]); console.log(undefined, Symbol('s'));
      console.log('quote " and \\n'); console.log('ÿ中');`;
    assert.deepEqual(await logsOf(code), [
      '[log] "text"', '[log] {"a":[1]}', '[warn] ["a",1,null]', '[error] "1970-01-01T00:00:00.000Z"', '[debug] true',
      '[log] []', '[log] undefined', '[log] undefined', '[log] [null,null]', '[log] [null,null]',
      '[log] "quote \\" and \\n"', '[log] "ÿ中"',
    ]);
  });

  test('values without JSON are still logged', async () => {
    const [cycle, bigint] = await logsOf('const cycle = {}; cycle.cycle = cycle; console.log(cycle); console.log(5n);');
    assert.match(cycle, /^\[log\] .+/);
    assert.match(bigint, /^\[log\] 5n?$/);
  });

  test('logs of a killed execution are kept', async () => {
    const { logs, error } = await execute('console.log("before"); for (;;);', [], noTools, { timeout: 500 });
    assert.equal(error, TERMINATED);
    assert.deepEqual(logs, ['[log] "before"']);
  });

  test('bounded in number and length', async () => {
    const { logs, lostLogs } = await execute('for (let i = 0; i < 10; i += 1) console.log("x".repeat(20 + i))', [], noTools, { maxLogEntries: 3, maxLogLength: 10 });
    assert.deepEqual(logs, Array(3).fill('[log] "xxxxxxxxx...'));
    assert.equal(lostLogs, 7);
  });

  test('onLog receives each entry immediately', async () => {
    const entries = [];
    const config = { onLog: (entry) => { entries.push(entry); }, maxLogEntries: 3 };
    const seen = [];
    const executor = async () => { seen.push(entries.length); };
    await execute('console.log("a"); console.warn({ b: 1 }); await t.f(); console.info(3); console.log("lost")', [tool('t:f')], executor, config);
    assert.deepEqual(entries, [{ level: 'log', message: '"a"' }, { level: 'warn', message: '{"b":1}' }, { level: 'info', message: '3' }]);
    assert.deepEqual(seen, [2]);
  });
});

describe('SubprocessSandbox: failures', () => {
  test('an error of the code', async () => {
    const { result, error, failure, logs } = await execute('const a = 1;\n  throw new TypeError("mine");');
    assert.deepEqual([result, error, logs], [null, 'mine', []]);
    const { name, message, line, column } = failure;
    assert.deepEqual({ name, message, line, column, code: failure.code }, { name: 'TypeError', message: 'mine', line: 2, column: 9, code: undefined });
    assert.match(failure.frame, /> 2 \| {3}throw new TypeError/);
  });

  test('thrown values that are not errors', async () => assert.equal((await execute('throw "text"')).error, 'text'));

  const endless = ['for (;;);', 'await new Promise(() => {})', 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', '/^(a+)+$/.test("a".repeat(40) + "b")', 'const f = () => { Promise.resolve().then(f); }; f(); await new Promise(() => {})'];
  for (const code of endless) {
    test(`timeout: ${code}`, async () => {
      const { result, error, failure, duration, usage } = await execute(code, [], noTools, { timeout: 400 });
      assert.deepEqual([result, error, failure.code, failure.message], [null, TERMINATED, 'ERR_ISOLATE_DEADLINE', TERMINATED]);
      assert.ok(duration >= 390 && duration < 5_000, `${duration}`);
      assert.ok(usage.wallMs >= 390);
    });
  }

  const greedy = ['const all = []; for (;;) all.push(new Array(1000).fill(1.5))', 'return Array(1e9).fill(0)', '"a".repeat(2 ** 28).split("")', 'let s = "x"; const all = []; for (;;) all.push(s += s.slice(0, 1e5) + all.length)'];
  for (const code of greedy) {
    test(`memory: ${code}`, async () => {
      const { result, error, failure } = await execute(code, [], noTools, { memoryLimit: 16 });
      assert.deepEqual([result, error, failure.code], [null, TERMINATED, 'ERR_ISOLATE_MEMORY']);
    });
  }

  test('an abort', async () => {
    const controller = new AbortController();
    const sandbox = new SubprocessSandbox();
    const executor = async () => { controller.abort(new Error('no more')); };
    const { result, error, failure } = await sandbox.execute('await t.f(); for (;;);', [tool('t:f')], executor, { signal: controller.signal });
    assert.deepEqual([result, error, failure.code], [null, 'Execution was aborted: no more', 'ERR_ISOLATE_ABORTED']);
    const again = await sandbox.execute('return 1', [], noTools, { signal: controller.signal });
    assert.equal(again.failure.code, 'ERR_ISOLATE_ABORTED');
  });
});

describe('SubprocessSandbox: terminate and isRunning', () => {
  test('terminate ends all executions at once', async () => {
    const sandbox = new SubprocessSandbox();
    assert.equal(sandbox.isRunning(), false);
    sandbox.terminate();
    let started = 0;
    let all;
    const running = new Promise((resolve) => { all = resolve; });
    const executor = async () => { if ((started += 1) === 2) all(); };
    const executions = [1, 2].map(() => sandbox.execute('console.log(1); await t.f(); for (;;);', [tool('t:f')], executor));
    assert.equal(sandbox.isRunning(), true);
    await running;
    sandbox.terminate();
    for (const { result, error, failure, logs } of await Promise.all(executions)) {
      assert.deepEqual([result, error, failure.code, logs], [null, TERMINATED, 'ERR_ISOLATE_DISPOSED', ['[log] 1']]);
    }
    assert.equal(sandbox.isRunning(), false);
    assert.equal((await sandbox.execute('return 5', [], noTools)).result, 5);
  });

  test('terminate before the process has started', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 0 });
    const execution = sandbox.execute('return 1', [], noTools);
    sandbox.terminate();
    assert.equal((await execution).error, TERMINATED);
  });

  test('executions do not wait for each other', async () => {
    const sandbox = new SubprocessSandbox();
    const stuck = sandbox.execute('for (;;);', [], noTools);
    assert.equal((await sandbox.execute('return 2', [], noTools)).result, 2);
    sandbox.terminate();
    assert.equal((await stuck).error, TERMINATED);
  });
});

describe('SubprocessSandbox: options', () => {
  const wrong = [{ timeout: '1' }, { timeout: 0 }, { memoryLimit: 1 }, { minimalEnv: 1 }, { poolSize: -1 }, { onLog: 1 }, { maxLogEntries: -1 }, { confinement: 1 }, { confinement: { a: 1 } }, 'text'];
  for (const config of wrong) {
    test(JSON.stringify(config), () => assert.throws(() => new SubprocessSandbox(config), { name: 'TypeError', code: 'ERR_INVALID_ARG' }));
  }
  test('none, or null', () => {
    createSubprocessSandbox();
    createSubprocessSandbox(null);
    createSubprocessSandbox({ timeout: null, minimalEnv: null, poolSize: undefined });
  });
  test('only on supported systems', () => {
    const { platform } = process;
    Object.defineProperty(process, 'platform', { value: 'win32' });
    try {
      assert.throws(() => createSubprocessSandbox(), { name: 'Error', code: 'ERR_ISOLATE_UNSUPPORTED' });
    } finally {
      Object.defineProperty(process, 'platform', { value: platform });
    }
  });
  for (const [name, args] of [['code', [1, [], noTools]], ['tools', ['', {}, noTools]], ['tools', ['', [{}], noTools]], ['toolExecutor', ['', [{ name: 'a' }]]], ['toolExecutor', ['', [], 'x']], ['signal', ['', [], noTools, { signal: 1 }]]]) {
    test(`execute refuses a wrong ${name}`, () => assert.rejects(new SubprocessSandbox().execute(...args), { name: 'TypeError', code: 'ERR_INVALID_ARG' }));
  }
});
