// `IsolatedVMSandbox`: code of an agent and the tools that it calls.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { run } from '../../harness.mjs';

const { IsolatedVMSandbox, createIsolatedVMSandbox } = ivm;
const noTools = async (name) => { throw new Error(`unexpected tool ${name}`); };
const tool = (name) => ({ name, description: `the tool ${name}` });
const execute = (code, tools = [], executor = noTools, config = {}) => new IsolatedVMSandbox(config).execute(code, tools, executor);

/** One execution that must succeed. */
async function resultOf(...args) {
  const outcome = await execute(...args);
  assert.equal(outcome.error, undefined, `${args[0]}: ${outcome.error}`);
  return outcome.result;
}

const gate = () => {
  let open;
  const promise = new Promise((resolve) => { open = resolve; });
  return { promise, open };
};

describe('IsolatedVMSandbox: results', () => {
  const pairs = [
    ['return 1 + 1', 2],
    ['return await Promise.resolve(3)', 3],
    ['const x = 1;', undefined],
    ['', undefined],
    ['return', undefined],
    ['return undefined', undefined],
    ['return null', null],
    ['return { a: [1, "x", null] }', { a: [1, 'x', null] }],
    ['return new Map([[1, new Set([2])]])', new Map([[1, new Set([2])]])],
    ['return new Date(5)', new Date(5)],
    ['return 5 // a comment', 5],
    ['return new Promise((resolve) => setTimeout(resolve, 5, "timer"))', 'timer'],
    ['for (const i of [1, 2, 3]) { if (i === 2) return i }', 2],
    ['let n = 0; for await (const i of [1, Promise.resolve(2)]) n += i; return n', 3],
    ['return typeof global + typeof globalThis', 'objectobject'],
    ['return global === globalThis && globalThis.Array === Array', true],
    ['return ["require", "process", "fetch", "Deno", "Bun", "Buffer"].map((name) => typeof globalThis[name]).join()', 'undefined,undefined,undefined,undefined,undefined,undefined'],
  ];
  for (const [code, result] of pairs) {
    test(JSON.stringify(code), async () => assert.deepEqual(await resultOf(code), result));
  }

  test('an undefined result is a property of the outcome, which has no error', async () => {
    const outcome = await execute('return undefined');
    assert.deepEqual(Object.keys(outcome).toSorted(), ['duration', 'durationMs', 'logs', 'result', 'usage']);
    assert.equal(outcome.result, undefined);
  });

  test('a fresh isolate each time', async () => {
    const sandbox = createIsolatedVMSandbox();
    assert.ok(sandbox instanceof IsolatedVMSandbox);
    assert.equal((await sandbox.execute('globalThis.leaked = 1; Array.prototype.x = 2; return [].x + leaked', [], noTools)).result, 3);
    assert.deepEqual((await sandbox.execute('return [typeof leaked, [].x]', [], noTools)).result, ['undefined', undefined]);
  });

  test('duration covers the waits', async () => {
    const outcome = await execute('await new Promise((resolve) => setTimeout(resolve, 60))');
    assert.ok(outcome.duration >= 55 && outcome.duration < 10_000, `${outcome.duration}`);
  });

  test('timers: order, arguments, clearing, intervals', async () => {
    const code = `
      const order = [];
      clearTimeout(setTimeout(() => order.push('cleared'), 1));
      setTimeout((a, b) => order.push(a + b), 20, 'x', 'y');
      setTimeout(() => order.push('first'), 1);
      await new Promise((resolve) => { let n = 0; const id = setInterval(() => { if ((n += 1) === 4) { clearInterval(id); resolve() } }, 10) });
      return order`;
    assert.deepEqual(await resultOf(code), ['first', 'xy']);
  });
});

describe('IsolatedVMSandbox: tools', () => {
  const places = [
    ['a:b', 'a.b'], ['a.b', 'a.b'], ['a:b:c', 'a.b_c'], ['a.b.c', 'a.b_c'], ['a:b:c:d', 'a.b_c_d'], ['a:b.c', 'a.b_c'], ['a.b:c', 'a_b.c'],
    ['search', 'search.call'], ['my-tool', 'my_tool.call'], ['my-ns:do-it', 'my_ns.do_it'], ['$a:b$_9', '$a.b$_9'], ['ns:with space', 'ns.with_space'],
    ['über:größe', '_ber.gr__e'], ['a:', 'a.call'], ['constructor:toString', 'globalThis.constructor.toString'], ['a:__proto__x', 'a.__proto__x'],
  ];
  for (const [name, place] of places) {
    test(`${name} is ${place}`, async () => {
      const seen = [];
      const executor = async (toolName, params) => { seen.push([toolName, params]); return 'done'; };
      assert.equal(await resultOf(`return await ${place}({ x: 1 })`, [tool(name)], executor), 'done');
      assert.deepEqual(seen, [[name, { x: 1 }]]);
    });
  }

  test('`__proto__` in a name touches no prototype', async () => {
    const executor = async (name) => name;
    const code = 'return [({}).x, ({}).polluted, typeof Object.prototype.polluted, Object.getPrototypeOf(a) === Object.prototype]';
    assert.deepEqual(await resultOf(code, [tool('a:__proto__'), tool('__proto__:polluted')], executor), [undefined, undefined, 'undefined', true]);
  });

  test('tools of one namespace share an object', async () => {
    const executor = async (name, { n }) => `${name}${n}`;
    const tools = [tool('fs:read'), tool('fs:write'), tool('web.get')];
    assert.deepEqual(await resultOf('return [await fs.read({ n: 1 }), await fs.write({ n: 2 }), await web.get({ n: 3 }), Object.keys(fs)]', tools, executor),
      ['fs:read1', 'fs:write2', 'web.get3', ['read', 'write']]);
  });

  test('params are passed as JSON, `{}` when absent', async () => {
    const seen = [];
    const executor = async (_, params) => { seen.push(params); };
    const code = 'await t.f(); await t.f({ d: new Date(0), u: undefined, n: NaN, a: [undefined] }); await t.f([1]); await t.f("text"); await t.f(undefined)';
    await resultOf(code, [tool('t:f')], executor);
    assert.deepEqual(seen, [{}, { d: '1970-01-01T00:00:00.000Z', n: null, a: [null] }, [1], 'text', {}]);
  });

  test('params without JSON reject the call, and the tool does not run', async () => {
    const code = `
      const caught = [];
      const cycle = {}; cycle.cycle = cycle;
      for (const params of [cycle, { n: 1n }, { toJSON() { throw new Error('mine') } }, () => 1, Symbol('s')]) {
        const promise = t.f(params);
        caught.push(promise instanceof Promise, await promise.then(() => 'fulfilled', (error) => error instanceof Error));
      }
      return caught`;
    assert.deepEqual(await resultOf(code, [tool('t:f')]), Array(10).fill(true));
  });

  test('resolves with the result', async () => {
    const results = [1, 'text', null, undefined, { deep: [{ a: 1 }] }, 5n, new Date(3), new Map([[1, 2]])];
    const executor = async (_, { i }) => results[i];
    const code = 'const all = []; for (let i = 0; i < 8; i += 1) all.push(await t.f({ i })); return all';
    assert.deepEqual(await resultOf(code, [tool('t:f')], executor), results);
    assert.equal(await resultOf('return await t.f()', [tool('t:f')], () => 'no promise'), 'no promise');
  });

  test('the call is asynchronous', async () => {
    const code = 'const order = ["before"]; const p = t.f().then(() => order.push("done")); order.push("after"); await p; return [order, p instanceof Promise]';
    assert.deepEqual(await resultOf(code, [tool('t:f')], async () => 1), [['before', 'after', 'done'], true]);
  });

  test('several calls can be pending at once', async () => {
    const { promise, open } = gate();
    let flying = 0;
    // No call returns before all three have arrived.
    const executor = async (_, { i }) => {
      if ((flying += 1) === 3) open();
      await promise;
      return i * 2;
    };
    assert.deepEqual(await resultOf('return Promise.all([1, 2, 3].map((i) => t.f({ i })))', [tool('t:f')], executor), [2, 4, 6]);
  });

  test('two hundred concurrent calls return the right results', async () => {
    const code = 'return Promise.all(Array.from({ length: 200 }, (_, i) => t.f({ i })))';
    assert.deepEqual(await resultOf(code, [tool('t:f')], async (_, { i }) => i), Array.from({ length: 200 }, (_, i) => i));
  });

  test('errors of a tool are Errors of the guest with the message', async () => {
    const code = 'try { await t.f() } catch (error) { return [error instanceof Error, error.message, error.constructor.constructor("return typeof process")()] }';
    assert.deepEqual(await resultOf(code, [tool('t:f')], async () => { throw new Error('rejected'); }), [true, 'rejected', 'undefined']);
    assert.deepEqual(await resultOf(code, [tool('t:f')], () => { throw new TypeError('thrown'); }), [true, 'thrown', 'undefined']);
    const uncaught = await execute('await t.f()', [tool('t:f')], async () => { throw new Error('down'); });
    assert.deepEqual([uncaught.result, uncaught.error], [null, 'down']);
  });

  test('tools that were not given do not exist', async () => {
    const outcome = await execute('await t.g()', [tool('t:f')]);
    assert.match(outcome.error, /t\.g is not a function/);
    assert.match((await execute('await other.f()', [tool('t:f')])).error, /other is not defined/);
  });

  test('nothing of the host is reachable through one', async () => {
    const code = 'const look = (x) => x.constructor.constructor("return typeof process")(); return [look(t), look(t.f), look(t.f()), look(await t.f())].join()';
    assert.equal(await resultOf(code, [tool('t:f')], async () => ({})), 'undefined,undefined,undefined,undefined');
  });
});

describe('IsolatedVMSandbox: logs and errors', () => {
  test('levels and formats', async () => {
    const { logs } = await execute('console.log("a", 1, { b: [2] }); console.info("i"); console.warn("w", { x: 1 }); console.error("e"); console.log(null, true)');
    assert.deepEqual(logs, ['a 1 {"b":[2]}', 'i', '[WARN] w {"x":1}', '[ERROR] e', 'null true']);
  });

  for (const [code, message] of [
    ['throw new Error("boom")', 'boom'], ['await Promise.reject(new TypeError("later"))', 'later'], ['throw "text"', 'text'], ['missing', 'missing is not defined'],
    ['await new Promise((_, reject) => setTimeout(reject, 1, new Error("timer")))', 'timer'],
  ]) {
    test(`an error is reported and logged: ${code}`, async () => {
      const outcome = await execute(`console.log("before"); ${code}`);
      assert.deepEqual([outcome.result, outcome.error, outcome.logs], [null, message, ['before', `[ERROR] Execution error: ${message}`]]);
      assert.equal(typeof outcome.duration, 'number');
    });
  }

  test('a syntax error and a result that cannot be cloned are errors', async () => {
    const syntax = await execute('return (');
    assert.match(syntax.error, /Unexpected/);
    assert.equal(syntax.result, null);
    const uncloneable = await execute('return () => 1');
    assert.match(uncloneable.error, /could not be cloned/);
    assert.equal(uncloneable.result, null);
  });

  test('timeout: a loop', async () => {
    const outcome = await execute('console.log("before"); for (;;);', [], noTools, { timeout: 80 });
    assert.deepEqual([outcome.result, outcome.error, outcome.logs[0]], [null, 'Execution timeout after 80ms', 'before']);
    assert.ok(outcome.duration >= 79 && outcome.duration < 5_000, `${outcome.duration}`);
  });

  test('timeout: a pending promise and a pending timer', async () => {
    assert.equal((await execute('await new Promise(() => {})', [], noTools, { timeout: 60 })).error, 'Execution timeout after 60ms');
    assert.equal((await execute('await new Promise((r) => setTimeout(r, 60000))', [], noTools, { timeout: 60 })).error, 'Execution timeout after 60ms');
  });

  test('timeout: a pending tool call, whose late result is dropped', async () => {
    const { promise, open } = gate();
    const calls = [];
    const executor = async (name) => { calls.push(name); if (name === 't:slow') await promise; };
    const code = 'try { await t.slow() } finally { await t.after() }';
    const outcome = await execute(code, [tool('t:slow'), tool('t:after')], executor, { timeout: 80 });
    assert.deepEqual([outcome.result, outcome.error], [null, 'Execution timeout after 80ms']);
    open();
    for (let i = 0; i < 3; i += 1) assert.equal(await resultOf('return 1'), 1);
    assert.deepEqual(calls, ['t:slow']);
  });

  test('the host\'s event loop runs while the agent loops', async () => {
    let ticks = 0;
    const interval = setInterval(() => { ticks += 1; }, 5);
    await resultOf('for (const end = Date.now() + 300; Date.now() < end;);');
    clearInterval(interval);
    assert.ok(ticks >= 10, `${ticks} ticks`);
  });

  test('memory', async () => {
    const result = await run(`
      const sandbox = new ivm.IsolatedVMSandbox({ memoryLimit: 16 });
      const outcome = await sandbox.execute('const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))', [], () => {});
      console.log(outcome.result, outcome.error);
      console.log((await sandbox.execute('return 2', [], () => {})).result);
      const large = await new ivm.IsolatedVMSandbox().execute('const kept = []; for (let i = 0; i < 90; i += 1) kept.push(new Array(131072).fill(i + 0.5)); return kept.length', [], () => {});
      console.log(large.result);`);
    assert.deepEqual([result.stdout, result.code, result.signal], ['null Execution terminated (memory limit exceeded)\n2\n90\n', 0, null], result.stderr);
  });
});

describe('IsolatedVMSandbox: the object', () => {
  test('dispose ends running executions; they resolve with an error', async () => {
    for (const code of ['for (;;);', 'await t.wait()', 'await new Promise(() => {})']) {
      const { promise: started, open } = gate();
      const sandbox = new IsolatedVMSandbox();
      const executor = (name) => (name === 't:started' ? open() : new Promise(() => {}));
      const pending = sandbox.execute(`await t.started(); ${code}`, [tool('t:started'), tool('t:wait')], executor);
      await started;
      assert.equal(sandbox.dispose(), undefined);
      const outcome = await pending;
      assert.equal(outcome.result, null, code);
      assert.equal(typeof outcome.error, 'string', code);
    }
  });

  test('dispose leaves the object usable', async () => {
    const sandbox = new IsolatedVMSandbox();
    for (const result of [1, 2]) {
      const pending = sandbox.execute('await new Promise(() => {})', [], () => {});
      sandbox.dispose();
      sandbox.dispose();
      const later = sandbox.execute(`return ${result}`, [], () => {});
      assert.match((await pending).error, /disposed/);
      assert.equal((await later).result, result);
    }
  });

  test('close ends running executions, and waits for them', async () => {
    const sandbox = new IsolatedVMSandbox();
    let isOver = false;
    const pending = sandbox.execute('await new Promise(() => {})', [], () => {}).then((outcome) => { isOver = true; return outcome; });
    assert.equal(await sandbox.close(), undefined);
    assert.equal(isOver, true);
    assert.match((await pending).error, /disposed/);
    assert.equal(await sandbox.close(), undefined);
  });

  test('executions after close do not run', async () => {
    const sandbox = new IsolatedVMSandbox();
    void sandbox.close();
    let calls = 0;
    const outcome = await sandbox.execute('await t.f(); return 1', [tool('t:f')], async () => { calls += 1; });
    assert.deepEqual([outcome.result, calls], [null, 0]);
    assert.match(outcome.error, /disposed/);
  });

  test('getHeapStatistics: figures during an execution, else null', async () => {
    const sandbox = new IsolatedVMSandbox({ memoryLimit: 64 });
    assert.equal(sandbox.getHeapStatistics(), null);
    let seen;
    await sandbox.execute('globalThis.kept = new Array(131072 * 4).fill(1.5); await t.look()', [tool('t:look')], async () => { seen = sandbox.getHeapStatistics(); });
    for (const name of ['used_heap_size', 'total_heap_size', 'heap_size_limit', 'externally_allocated_size']) assert.equal(typeof seen[name], 'number', name);
    assert.ok(seen.used_heap_size > 100_000 && seen.used_heap_size < 64 * 2 ** 20, `${seen.used_heap_size}`);
    assert.equal(sandbox.getHeapStatistics(), null);
  });

  test('isAvailable, unless the environment disables it', () => {
    const before = process.env.NCP_DISABLE_ISOLATED_VM;
    try {
      delete process.env.NCP_DISABLE_ISOLATED_VM;
      assert.equal(IsolatedVMSandbox.isAvailable(), true);
      process.env.NCP_DISABLE_ISOLATED_VM = 'true';
      assert.equal(IsolatedVMSandbox.isAvailable(), false);
      process.env.NCP_DISABLE_ISOLATED_VM = 'false';
      assert.equal(IsolatedVMSandbox.isAvailable(), true);
    } finally {
      if (before === undefined) delete process.env.NCP_DISABLE_ISOLATED_VM;
      else process.env.NCP_DISABLE_ISOLATED_VM = before;
    }
  });

  test('wrong arguments are refused by name', async () => {
    const invalid = (name) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG', message: new RegExp(`\`${name}\``) });
    for (const make of [(config) => new IsolatedVMSandbox(config), createIsolatedVMSandbox]) {
      for (const wrong of [1, 'x', true]) assert.throws(() => make(wrong), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`(config|options)`/ });
      for (const name of ['timeout', 'memoryLimit']) for (const wrong of ['1', true, NaN, -1]) assert.throws(() => make({ [name]: wrong }), invalid(name));
      assert.throws(() => make({ inspector: 'yes' }), invalid('inspector'));
      assert.ok(make(undefined) && make(null) && make({ timeout: undefined, memoryLimit: null }));
    }
    const sandbox = new IsolatedVMSandbox();
    await assert.rejects(sandbox.execute(1, [], noTools), invalid('code'));
    await assert.rejects(sandbox.execute('1', {}, noTools), invalid('tools'));
    await assert.rejects(sandbox.execute('1', [{ description: 'no name' }], noTools), invalid('tools'));
    await assert.rejects(sandbox.execute('1', [], 'x'), invalid('toolExecutor'));
  });
});

describe('IsolatedVMSandbox: odd params', () => {
  const tools = [{ name: 't:f', description: '' }];
  for (const [what, code, expected] of [
    ['a getter that throws a primitive', 'try { await t.f({ get a() { throw 5 } }) } catch (error) { return error }', 5],
    ['a function', 'return await t.f(() => 1)', {}],
    ['a symbol', 'return await t.f(Symbol())', {}],
    ['a cycle', 'const a = {}; a.a = a; try { await t.f(a) } catch (error) { return error.name }', 'TypeError'],
  ]) {
    test(what, async () => {
      const { result, error } = await new IsolatedVMSandbox({ timeout: 2000 }).execute(code, tools, async (_name, params) => params);
      assert.equal(error, undefined);
      assert.deepEqual(result, expected);
    });
  }
});
