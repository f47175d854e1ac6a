// What the sandbox for plugins reports beside a result: resource use, the location of failures, and output.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, gate, hostContext, IsolatedVmSandbox, manifest, PluginError, rememberingLogger, SandboxViolationError, until } from '../../sandbox/plugin-helper.mjs';

/** A sandbox with one isolate, and `execute(code, execution's options)` in it. */
async function plugin(options, { made = manifest(), logger = null, context = hostContext() } = {}) {
  const sandbox = new IsolatedVmSandbox(logger, options);
  const isolate = await sandbox.createIsolate(made);
  const execute = (code, settings) => sandbox.executeInSandbox(isolate, code, context, settings);
  return { sandbox, isolate, execute };
}

describe('plugins: usage', () => {
  const measured = async (execute, code, options = {}) => {
    const received = [];
    await execute(code, { ...options, onUsage: (usage) => { received.push(usage); } }).catch(() => {});
    assert.equal(received.length, 1);
    const [usage] = received;
    assert.deepEqual(Object.keys(usage), ['cpuMs', 'wallMs', 'heapPeak', 'hostCalls']);
    return usage;
  };

  for (const fresh of [false, true]) {
    test(`is that of a single execution, fresh: ${fresh}`, async () => {
      const context = hostContext({ wait: { for: (time) => new Promise((resolve) => { setTimeout(resolve, time); }) } });
      const { sandbox, execute } = await plugin({}, { context });
      const large = await measured(execute, `(async () => {
        let kept = [];
        for (const end = Date.now() + 50; Date.now() < end || kept.length < 200_000;) kept.push({ a: kept.length });
        for (let i = 0; i < 3; i += 1) await context.wait.for(100);
      })()`, { fresh });
      assert.equal(large.hostCalls, 3);
      assert.ok(large.cpuMs >= 49 && large.cpuMs < large.wallMs - 200, JSON.stringify(large));
      assert.ok(large.wallMs >= 49 + 300 - 5, JSON.stringify(large));
      assert.ok(large.heapPeak > 8_000_000 && large.heapPeak < 128_000_000, JSON.stringify(large));
      await execute('typeof gc === "function" ? gc() : 0');
      const small = await measured(execute, 'context.metrics.incrementCounter("n"); 1', { fresh: true });
      assert.equal(small.hostCalls, 1);
      assert.ok(small.heapPeak > 0 && small.heapPeak < large.heapPeak / 2 && small.cpuMs < large.cpuMs, JSON.stringify([small, large]));
      sandbox.disposeAll();
    });
  }

  test('reports failures, too', async () => {
    const { sandbox, execute } = await plugin({}, { made: manifest({ limits: { cpuMs: 60 } }) });
    const slow = await measured(execute, 'for (;;);');
    assert.ok(slow.wallMs >= 60 && slow.cpuMs >= 60 && slow.hostCalls === 0, JSON.stringify(slow));
    assert.ok((await measured(execute, 'syntax error')).wallMs > 0);
    const small = await plugin({}, { made: manifest({ limits: { memoryMB: 8 } }) });
    const full = await measured(small.execute, 'const kept = []; for (;;) kept.push(new Array(1_000).fill(1));');
    assert.ok(full.heapPeak > 4_000_000, JSON.stringify(full));
    assert.equal(small.sandbox.getActiveIsolateCount(), 0);
    sandbox.disposeAll();
  });

  test('a failing listener has no effect', async () => {
    const { sandbox, execute } = await plugin();
    assert.equal(await execute('1', { onUsage() { throw new Error('no'); } }), 1);
    assert.equal(await execute('2', { onUsage: async () => { throw new Error('no'); } }), 2);
    await assert.rejects(execute('3', { onUsage: 1 }), { code: 'ERR_INVALID_ARG', message: '`onUsage` must be a function' });
    sandbox.disposeAll();
  });
});

test('executions that are refused the same have errors of their own', async () => {
  const { promise, open } = gate();
  let waiting = 0;
  const wait = () => {
    waiting += 1;
    if (waiting === 2) open();
    return promise;
  };
  const { sandbox, execute } = await plugin({}, { context: hostContext({ fetch: async () => 1, wait }) });
  // Both are refused before either has failed.
  const codeOf = (name) => `(async () => {
    try { context.fetch('https://other.example/'); } catch (error) { await context.wait(); throw error; } // ${name}
  })()`;
  const [first, second] = await Promise.all(['first', 'second'].map((name) => errorOf(execute(codeOf(name)))));
  assert.notEqual(first, second);
  assert.deepEqual([first, second].map((error) => [error instanceof SandboxViolationError, error.kind, error.failure.line]), [[true, 'NETWORK', 2], [true, 'NETWORK', 2]]);
  assert.deepEqual([first.failure.frame.includes('first'), second.failure.frame.includes('second')], [true, true]);
  sandbox.disposeAll();
});
describe('plugins: failure', () => {
  test('names the position in the code as it was passed', async () => {
    const { sandbox, execute } = await plugin();
    for (const file of ['sandbox.js', 'sandbox.js#2']) {
      const error = await errorOf(execute('var a = 1;\nvar o = null;\no.x;\n// end'));
      const message = "Cannot read properties of null (reading 'x')";
      assert.ok(error instanceof PluginError);
      assert.equal(error.message, `Plugin execution failed: ${message}`);
      assert.deepEqual(error.failure, {
        name: 'TypeError', message, line: 3, column: 3,
        stack: `TypeError: ${message}\n    at ${file}:3:3`,
        frame: '  1 | var a = 1;\n  2 | var o = null;\n> 3 | o.x;\n    |   ^\n  4 | // end',
      });
    }
    sandbox.disposeAll();
  });

  test('of code that does not compile', async () => {
    const { sandbox, execute } = await plugin();
    const { failure } = await errorOf(execute('const a = 1;\nconst b = ;'));
    assert.deepEqual([failure.name, failure.line, failure.column], ['SyntaxError', 2, 11]);
    assert.equal(failure.frame, '  1 | const a = 1;\n> 2 | const b = ;\n    |           ^');
    sandbox.disposeAll();
  });

  test('of a function of an earlier execution shows the line that called it', async () => {
    const { sandbox, execute } = await plugin();
    await execute('function fail() {\n\n\n\n  throw new RangeError("no");\n}');
    const { failure } = await errorOf(execute('\nfail();'));
    assert.deepEqual([failure.name, failure.line, failure.column], ['RangeError', 2, 1]);
    assert.equal(failure.stack, 'RangeError: no\n    at fail (sandbox.js:5:9)\n    at sandbox.js#2:2:1');
    const later = await errorOf(execute('Promise.resolve().then(fail)'));
    assert.equal(later.failure.frame, undefined);
    assert.equal(later.failure.stack, 'RangeError: no\n    at fail (sandbox.js:5:9)');
    sandbox.disposeAll();
  });

  test('of modules, and of module code', async () => {
    const { sandbox, execute } = await plugin({ modules: { 'lib.js': 'export function fail() {\n  throw new Error("in lib");\n}' } });
    const { failure } = await errorOf(execute('import { fail } from "lib.js";\nexport default 1;\nfail();'));
    assert.deepEqual([failure.module, failure.line, failure.column], ['lib.js', 2, 9]);
    const own = await errorOf(execute('import { fail } from "lib.js";\nnull.x;'));
    assert.deepEqual([own.failure.module, own.failure.line, own.failure.column], [undefined, 2, 6]);
    assert.equal(own.failure.frame, '  1 | import { fail } from "lib.js";\n> 2 | null.x;\n    |      ^');
    const none = await errorOf(execute('import "none.js";'));
    assert.equal(none.failure.message, "Cannot find module 'none.js' imported by sandbox.js#3");
    sandbox.disposeAll();
  });

  test('of the host, of values that are not errors, and of limits', async () => {
    const context = hostContext({ shop: { fail() { throw new RangeError('from the host'); } } });
    const { sandbox, execute } = await plugin({}, { context, made: manifest({ limits: { cpuMs: 60 } }) });
    const { failure } = await errorOf(execute('\n  context.shop.fail();'));
    assert.deepEqual([failure.name, failure.message, failure.line], ['RangeError', 'from the host', 2]);
    assert.deepEqual((await errorOf(execute('throw 5'))).failure, { name: 'Error', message: '5', stack: 'Error: 5' });
    const slow = await errorOf(execute('\nfor (;;);'));
    assert.ok(slow instanceof SandboxViolationError);
    assert.deepEqual([slow.failure.code, slow.failure.message, slow.failure.line], ['ERR_ISOLATE_TIMEOUT', 'Plugin execution exceeded 60ms timeout', 2]);
    const denied = await errorOf(execute('\n\ncontext.eventBus.on("secret", () => {})'));
    assert.ok(denied instanceof SandboxViolationError);
    assert.deepEqual([denied.kind, denied.failure.message, denied.failure.line], ['HOOK', denied.message, 3]);
    sandbox.disposeAll();
  });

  test('has the name of the error', async () => {
    class Broken extends Error {
      name = 'Broken';
    }
    const context = hostContext({ shop: { fail() { throw new Broken('from the host'); }, async reject() { throw Object.assign(new TypeError('later'), { name: 'Named' }); } } });
    const { sandbox, execute } = await plugin({}, { context });
    for (const [code, name, message] of [
      ['throw Object.assign(new Error("m"), { name: "QuotaError" })', 'QuotaError', 'm'],
      ['throw Object.defineProperty(new TypeError("m"), "name", { get: () => "Got" })', 'Got', 'm'],
      ['class OwnError extends RangeError { constructor(m) { super(m); this.name = "OwnError" } } throw new OwnError("m")', 'OwnError', 'm'],
      ['class Unnamed extends RangeError {} throw new Unnamed("m")', 'RangeError', 'm'],
      ['throw new URIError("m")', 'URIError', 'm'], ['throw new AggregateError([], "m")', 'AggregateError', 'm'], ['throw new SyntaxError("m")', 'SyntaxError', 'm'],
      ['throw "text"', 'Error', 'text'], ['throw { name: "Object", message: "m" }', 'Object', 'm'],
      ['context.shop.fail()', 'Broken', 'from the host'],
    ]) {
      for (const whole of [`{ ${code} }`, `(async () => { await null; ${code} })()`]) {
        const error = await errorOf(execute(whole));
        assert.ok(error instanceof PluginError);
        assert.deepEqual([whole, error.failure.name, error.failure.message, error.failure.stack.split('\n')[0]], [whole, name, message, `${name}: ${message}`]);
      }
    }
    const later = await errorOf(execute('context.shop.reject()'));
    assert.deepEqual([later.failure.name, later.cause.name, later.cause instanceof TypeError], ['Named', 'Named', true]);
    const denied = await errorOf(execute('context.eventBus.on("secret", () => {})'));
    assert.deepEqual([denied.name, denied.failure.name, denied.failure.code, denied.failure.line], ['SandboxViolationError', 'SandboxViolationError', undefined, 1]);
    sandbox.disposeAll();
  });

  test('is present for every kind of failure', async () => {
    const { sandbox, execute } = await plugin({ maxOutputSize: 100 });
    const failures = [
      ['"x".repeat(200)', 'RangeError', 'ERR_ISOLATE_LIMIT'], ['(() => {})', 'TypeError', 'ERR_ISOLATE_TRANSFER'], ['new Promise(() => {})', 'Error', 'ERR_ISOLATE_DEADLINE', { deadline: 300 }],
      ['context.logger.info(() => {})', 'TypeError', 'ERR_ISOLATE_TRANSFER'],
    ];
    for (const [code, name, own, options] of failures) {
      const { failure } = await errorOf(execute(code, options));
      assert.deepEqual([code, failure.name, failure.code, failure.stack.startsWith(`${name}: ${failure.message}`)], [code, name, own, true]);
    }
    const ended = execute('new Promise(() => {})');
    sandbox.disposeAll();
    const { failure } = await errorOf(ended);
    assert.deepEqual([failure.name, failure.code], ['Error', 'ERR_ISOLATE_DISPOSED']);
  });

  test('shows no paths of the host\'s code', async () => {
    const context = hostContext({ shop: { fail() { throw new Error('from the host'); } } });
    const { sandbox, execute } = await plugin({}, { context });
    const { failure } = await errorOf(execute('context.shop.fail()'));
    assert.doesNotMatch(failure.stack, /plugin-reports|surface|node:/);
    sandbox.disposeAll();
  });
});

describe('plugins: onLog', () => {
  test('receives each entry as text, while the plugin runs', async () => {
    const logger = rememberingLogger();
    const received = [];
    const { promise, open } = gate();
    const context = hostContext({ wait: { forIt: () => promise } });
    const { sandbox, isolate, execute } = await plugin({ onLog: (entry) => { received.push(entry); if (entry.message === 'now') open(); } }, { logger, context });
    await execute(`(async () => {
      for (const level of ['log', 'info', 'warn', 'error', 'debug']) console[level](level, 1, { a: [undefined, 2n === 2n] }, null);
      console.log('now');
      await context.wait.forIt();
    })()`);
    await until(() => received.length === 6);
    const { id: isolateId, pluginId } = isolate;
    assert.deepEqual(received, [
      ...['log', 'info', 'warn', 'error', 'debug'].map((level) => ({ level, message: `${level} 1 {"a":[null,true]} null`, pluginId, isolateId })),
      { level: 'log', message: 'now', pluginId, isolateId },
    ]);
    // The logger still gets values.
    assert.deepEqual(logger.of('warn', 'Plugin console.warn'), [['warn', 'Plugin console.warn', { pluginId, args: ['warn', 1, { a: [undefined, true] }, null] }]]);
    sandbox.disposeAll();
  });

  test('values that cannot be transferred, errors, and getters', async () => {
    const received = [];
    const { sandbox, execute } = await plugin({ onLog: ({ message }) => { received.push(message); } });
    await execute(`const cycle = {}; cycle.cycle = cycle;
      console.log(() => 1, Symbol('s'), 2n, undefined); console.log(cycle); console.log({ get x() { throw 1 } });
      console.error(new RangeError('no', { cause: new Error('why') })); console.log('last')`);
    await until(() => received.at(-1) === 'last');
    assert.equal(received[0], '() => 1 Symbol(s) 2 undefined');
    assert.equal(received[1], '#<Object>');
    assert.match(received[3], /^RangeError: no\n {4}at sandbox\.js:3:\d+\n {2}\[cause\]: Error: why\n/);
    sandbox.disposeAll();
  });

  test('limits and truncation, for each execution', async () => {
    const logger = rememberingLogger();
    const received = [];
    const { sandbox, execute } = await plugin({ maxLogEntries: 3, maxLogLength: 4, onLog: ({ message }) => { received.push(message); } }, { logger });
    for (let round = 1; round <= 2; round += 1) {
      await execute('for (let i = 0; i < 5; i += 1) console.log("abcdef".slice(0, 3 + i), { list: [1, 2, 3] })');
      await until(() => logger.of('warn').length === round);
    }
    assert.deepEqual(received, ['abc ...', 'abcd...', 'abcd...', 'abc ...', 'abcd...', 'abcd...']);
    assert.deepEqual(logger.of('debug', 'Plugin console.log').map(([, , { args }]) => args[0]), ['abc', 'abcd', 'abcd...', 'abc', 'abcd', 'abcd...']);
    assert.deepEqual(logger.of('debug', 'Plugin console.log')[0][2].args[1], '[object of more than 4 bytes]');
    assert.deepEqual(logger.of('warn')[0], ['warn', 'Plugin log limit reached', { pluginId: 'org.example.plugin', limit: 3 }]);
    sandbox.disposeAll();
  });

  test('entries of timers and of handlers of events', async () => {
    const received = [];
    const context = hostContext();
    const { sandbox, execute } = await plugin({ timers: true, onLog: ({ message }) => { received.push(message); } }, { context });
    await execute('setTimeout(() => console.log("later"), 5); context.eventBus.on("item.indexed", (id) => console.log("indexed", id))');
    context.eventBus.emit('item.indexed', 7);
    await until(() => received.length === 2);
    assert.deepEqual(received.toSorted(), ['indexed 7', 'later']);
    sandbox.disposeAll();
  });

  test('a failing listener has no effect', async () => {
    const logger = rememberingLogger();
    const { sandbox, execute } = await plugin({ onLog() { throw new Error('no'); } }, { logger });
    assert.equal(await execute('console.log(1); console.log(2); 3'), 3);
    await until(() => logger.of('debug', 'Plugin console.log').length === 2);
    const other = await plugin({ onLog: async () => { throw new Error('no'); } });
    assert.equal(await other.execute('console.log(1); 4'), 4);
    sandbox.disposeAll();
    other.sandbox.disposeAll();
  });

  test('very many values in one call', async () => {
    const received = [];
    const logger = rememberingLogger();
    const { sandbox, execute } = await plugin({ onLog: (entry) => { received.push(entry.message); } }, { logger });
    for (const code of ['console.log(...list)', 'console.log(...list, () => {})', 'console.log.apply(null, list)']) {
      await execute(`{ const list = new Array(100_000).fill(7); ${code} }`);
      await until(() => received.length === 1);
      assert.equal(received.splice(0)[0], `${'7 '.repeat(5_000)}...`);
      const [[, , { args }]] = logger.of('debug', 'Plugin console.log').splice(-1);
      assert.deepEqual([args.length, args[99], args[100]], [101, 7, code.includes('()') ? '[99901 more]' : '[99900 more]']);
    }
    sandbox.disposeAll();
  });

  test('tampering by a plugin', async () => {
    const received = [];
    const { sandbox, execute } = await plugin({ onLog: ({ message }) => { received.push(message); } });
    await execute(`
      JSON.stringify = () => 'mine'; Reflect.apply = () => 'mine'; Array.prototype.join = () => 'mine'; String = () => 'mine';
      Function.prototype.call = Function.prototype.apply = () => 'mine';
      console.log({ a: 1 }, 'text')`);
    await until(() => received.length === 1);
    assert.deepEqual(received, ['{"a":1} text']);
    sandbox.disposeAll();
  });

  test('wrong options', () => {
    for (const [options, message] of [
      [{ onLog: 1 }, '`onLog` must be a function'], [{ maxLogEntries: -1 }, '`maxLogEntries` must be a finite number of at least 0'],
      [{ maxLogLength: 0 }, '`maxLogLength` must be a finite number of at least 1'], [{ typescript: 1 }, '`typescript` must be a boolean'],
    ]) {
      assert.throws(() => new IsolatedVmSandbox(null, options), { name: 'TypeError', code: 'ERR_INVALID_ARG', message });
    }
  });
});

describe('plugins: TypeScript', () => {
  test('types are stripped, and positions are kept', async () => {
    const { sandbox, execute } = await plugin({ typescript: true });
    assert.equal(await execute('interface A { n: number }\nconst a: A = { n: 4 } as A;\nfunction twice(x: number): number { return x * 2 }\ntwice(a.n)'), 8);
    // State persists, and a script remains a script.
    assert.equal(await execute('a.n satisfies number'), 4);
    assert.equal(await execute('(async (x?: string): Promise<string> => typeof x)()'), 'undefined');
    const { failure } = await errorOf(execute('const b: string | null = null;\n(b as any).x;'));
    assert.deepEqual([failure.line, failure.column, failure.frame.split('\n')[1]], [2, 12, '> 2 | (b as any).x;']);
    sandbox.disposeAll();
  });

  test('refused syntax', async () => {
    const { sandbox, execute } = await plugin({ typescript: true });
    const error = await errorOf(execute('const a = 1;\n  enum A { B }'));
    assert.ok(error instanceof PluginError);
    assert.ok(error.cause instanceof SyntaxError);
    const { failure } = error;
    assert.deepEqual([failure.name, failure.line, failure.column, failure.frame], ['SyntaxError', 2, 3, '  1 | const a = 1;\n> 2 |   enum A { B }\n    |   ^']);
    const plain = await plugin();
    await assert.rejects(plain.execute('const a: number = 1'), PluginError);
    sandbox.disposeAll();
    plain.sandbox.disposeAll();
  });

  test('modules, and module code', async () => {
    const modules = { 'lib.ts': 'export const one: number = 1;', 'plain.js': 'export const two = 2;' };
    const { sandbox, execute } = await plugin({ typescript: true, modules });
    assert.equal(await execute('import { one } from "lib.ts";\nimport { two } from "plain.js";\nexport default (): number => one + two as number;'), 3);
    assert.equal(await execute('import("lib.ts").then(({ one }: { one: number }) => one)'), 1);
    const { failure } = await errorOf(execute('import { one } from "lib.ts";\nconst a: number = one;\nthrow new Error("x" as string);'));
    assert.deepEqual([failure.line, failure.column], [3, 7]);
    const bad = new IsolatedVmSandbox(null, { typescript: true, modules: { 'bad.ts': 'export const a = 1;\nenum A { B }' } });
    const refused = await errorOf(bad.createIsolate(manifest()));
    assert.ok(refused instanceof PluginError);
    assert.deepEqual([refused.failure.module, refused.failure.line], ['bad.ts', 2]);
    assert.equal(bad.getActiveIsolateCount(), 0);
    sandbox.disposeAll();
  });

  test('under the deadline, the signal and the end of the isolate', async () => {
    const { sandbox, isolate, execute } = await plugin({ typescript: true });
    const slow = `const a = [${'['.repeat(2_000)}${']'.repeat(2_000)}];`;
    await assert.rejects(execute(slow, { deadline: 1 }), (error) => error instanceof SandboxViolationError || error instanceof PluginError);
    await assert.rejects(execute('1 as number', { signal: AbortSignal.abort(new Error('mine')) }), { message: 'mine' });
    const controller = new AbortController();
    const running = execute('1 as number', { signal: controller.signal });
    controller.abort(new Error('mine, too'));
    await assert.rejects(running, { message: 'mine, too' });
    const gone = errorOf(execute('1 as number'));
    sandbox.dispose(isolate);
    assert.match((await gone).message, /Isolate was disposed during execution/);
  });
});
