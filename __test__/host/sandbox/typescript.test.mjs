// Code in TypeScript: what is stripped, what is refused, where errors are, and the results of hostile text.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { passes } from '../../isolate/helper.mjs';

const require = createRequire(import.meta.url);
const ivm = require('../../../index.js');
const { guard } = require('../../../surface/host/calls/signals.js');
const { Executions } = require('../../../surface/host/sandbox/common/executions.js');
const { createStripper } = require('../../../surface/host/sandbox/common/typescript.js');
const run = (code, options, globals = {}) => ivm.createSandbox(globals, { typescript: true, timeout: 20_000, ...options }).execute(code);

describe('createSandbox', () => {
  const pairs = [
    ['const a: number = 1 as number;\nreturn a satisfies number;', 1],
    ['async (x: any): Promise<number> => { return 2 as number }', 2],
    ['function (x?: string): string { return typeof x }', 'undefined'],
    ['({ a: 3 as number }) as Record<string, number>', { a: 3 }],
    ['interface A { x: string }\nreturn ((a: A) => a.x)({ x: "4" })', '4'],
    ['type A = { x: string };\nreturn ((a: A) => a.x)({ x: "5" })', '5'],
    ['declare const unused: number; return 12', 12],
    ['abstract class A { abstract f(): void; g(): number { return 13 } } return A.prototype.g()', 13],
    ['type + 1', 'type is not defined'],
    ['let a = "ü😀" as string; return [a, a.length]', ['ü😀', 3]],
    ['class Q<T> { private x: T; constructor(x: T) { this.x = x } get y(): T { return this.x! } } return new Q<number>(6).y', 6],
    ['const f = <T,>(x: T): T => x; return f<number>(7)', 7],
    ['const a = 8; // the end: number', undefined],
    ['9', 9],
    ['() => 10', 10],
    ['```js\nreturn 11 as number\n```', 11],
  ];
  for (const [code, expected] of pairs) {
    test(JSON.stringify(code), async () => {
      const { result, error } = await run(code);
      assert.deepEqual(error ?? result, expected);
    });
  }

  test('host functions and limits work as usual', async () => {
    assert.equal((await run('const n: number = await add(1, 2 as number); return n;', {}, { add: async (a, b) => a + b })).result, 3);
    assert.equal((await run('for (;;) { const a: number = 1; }', { timeout: 1_000 })).error, 'Execution timed out after 1000ms');
    const { result } = await run('return "x".repeat(20) as string', { maxOutputSize: 10 });
    assert.equal(result, null);
  });

  test('a fence names the language', async () => {
    const plain = ivm.createSandbox({});
    for (const language of ['ts', 'typescript', 'TypeScript']) {
      assert.equal((await plain.execute(`\`\`\`${language}\nconst a: number = 1;\nreturn a;\n\`\`\``)).result, 1);
    }
    for (const code of ['```js\nconst a: number = 1;\nreturn a;\n```', 'const a: number = 1; return a;']) {
      assert.match((await plain.execute(code)).error, /^Missing initializer in const declaration/);
    }
  });

  test('positions are those of the user\'s code', async () => {
    const { failure } = await run('const a: string = "";\nconst b = 5 as any;  null.x;');
    assert.deepEqual([failure.name, failure.line, failure.column], ['TypeError', 2, 27]);
    assert.match(failure.frame, /> 2 \| const b = 5 as any; {2}null\.x;/);
    const fenced = await run('\n```ts\nconst a: string = "";\nnull.x;\n```');
    assert.deepEqual([fenced.failure.line, fenced.failure.column], [4, 6]);
  });

  test('syntax that is more than types is refused, with its position', async () => {
    const { result, error, failure } = await run('const a = 1;\n  enum B { C }\n');
    assert.deepEqual({ result, error }, { result: null, error: 'TypeScript enum is not supported in strip-only mode' });
    assert.deepEqual([failure.name, failure.line, failure.column, failure.code], ['SyntaxError', 2, 3, undefined]);
    const first = await run('const a: = 1');
    assert.deepEqual([first.failure.name, first.failure.line, first.failure.column], ['SyntaxError', 1, 10]);
  });

  test('an abort reason without a message does no harm', async () => {
    const { error, failure } = await ivm.createSandbox({}).execute('1', { signal: AbortSignal.abort(Object.create(null)) });
    assert.deepEqual([error, failure.code], ['Execution was aborted: a value without a string form', 'ERR_ISOLATE_ABORTED']);
  });

  test('an aborted execution reports the abort', async () => {
    const controller = new AbortController();
    const sandbox = ivm.createSandbox({}, { typescript: true });
    const running = sandbox.execute('for (;;) { const a: number = 1; }', { signal: controller.signal });
    controller.abort(new Error('gone'));
    assert.equal((await running).error, 'Execution was aborted: gone');
    assert.equal((await sandbox.execute('1', { signal: controller.signal })).error, 'Execution was aborted: gone');
  });

  test('text that breaks the stripper does not affect other executions', async () => {
    const deep = await run('('.repeat(200_000));
    assert.equal(deep.result, null);
    assert.equal(typeof deep.error, 'string');
    const hostile = ['['.repeat(100_000), '`${'.repeat(50_000), 'a<'.repeat(50_000), '\ud800', '\0', 'x'.repeat(2 ** 22)];
    const results = await Promise.all(hostile.map((code) => run(code, { timeout: 5_000 })));
    assert.ok(results.every(({ error }) => typeof error === 'string'), JSON.stringify(results.map(({ error }) => error)));
    assert.equal((await run('1 as number')).result, 1);
  });

  test('twenty concurrently', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => run(`const a: number = ${i}; return a;`)));
    assert.deepEqual(results.map(({ result }) => result), Array.from({ length: 20 }, (_, i) => i));
  });

  test('anything but a boolean is refused', () => {
    assert.throws(() => ivm.createSandbox({}, { typescript: 'yes' }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`typescript` must be a boolean' });
    assert.throws(() => new ivm.IsolatedVMSandbox({ typescript: 1 }), { name: 'TypeError', code: 'ERR_INVALID_ARG' });
  });
});

describe('IsolatedVMSandbox', () => {
  const tools = [{ name: 'a:b', description: '' }];
  const execute = (code, config) => new ivm.IsolatedVMSandbox({ typescript: true, timeout: 20_000, ...config }).execute(code, tools, async (_, params) => params.x + 1);

  test('runs it', async () => {
    assert.equal((await execute('const n: number = await a.b({ x: 1 as const });\nreturn n!')).result, 2);
  });

  test('errors have positions', async () => {
    const { failure, logs } = await execute('const a: number = 1;\nreturn 1 +: number');
    assert.deepEqual([failure.name, failure.line, failure.column], ['SyntaxError', 2, 11]);
    assert.deepEqual(logs, ['[ERROR] Execution error: Expression expected']);
    assert.match((await execute('return 1 as number', { typescript: false })).error, /Unexpected identifier 'as'/);
  });

  test('code of a sandbox that is disposed meanwhile does not run', async () => {
    const sandbox = new ivm.IsolatedVMSandbox({ typescript: true });
    let called = false;
    const running = sandbox.execute('await a.b({}); return 1 as number', tools, async () => { called = true; });
    sandbox.dispose();
    assert.equal((await running).error, 'Sandbox has been disposed');
    assert.equal(called, false);
  });
});

describe('the type stripper', () => {
  test('counts as an idle isolate without an owner', () => passes(`
    isolate.dispose();
    // A warm isolate with the same settings now waits.
    const until = async (isSo) => { for (const end = Date.now() + 20_000; Date.now() < end && !isSo(ivm.engineStats());) await new Promise((resolve) => { setTimeout(resolve, 5); }); };
    await until(({ alive, warm }) => alive === 0 && warm === 1);
    const { made } = ivm.engineStats();
    const sandbox = ivm.createSandbox({}, { typescript: true, warm: 0 });
    for (let round = 1; round <= 3; round += 1) {
      const { result } = await sandbox.execute('const a: number = 7; return a');
      assert.equal(result, 7);
      await until(({ alive, warm }) => alive === 0 && warm === 2);
      const stats = ivm.engineStats();
      assert.deepEqual([stats.made - made, stats.alive, stats.warm], [round, 0, 2]);
    }`));

  test('does not wait forever', async () => {
    const made = [];
    const make = (memoryLimit) => {
      const isolate = new ivm.Isolate({ memoryLimit });
      made.push(isolate);
      return isolate;
    };
    const strip = createStripper(make, 100);
    for (let round = 1; round <= 2; round += 1) {
      const [{ body }] = await strip([{ text: 'return 1 as number', line: 0, column: 0 }], 20_000, undefined);
      assert.equal(body.text, 'return 1          ');
      assert.equal(made.length, round * 2);
      for (const end = Date.now() + 20_000; Date.now() < end && made.some(({ isDisposed }) => !isDisposed);) await new Promise((resolve) => { setTimeout(resolve, 5); });
      assert.ok(made.every(({ isDisposed }) => isDisposed));
    }
  });

  test('an execution does not wait beyond its limits for the start of what removes types', async () => {
    let context;
    const made = [];
    const make = () => {
      const isolate = new ivm.Isolate({ memoryLimit: 256 });
      made.push(isolate);
      return {
        createContext: () => new Promise((resolve) => { context = () => resolve(isolate.createContext()); }),
        get isDisposed() { return isolate.isDisposed; },
        dispose: () => isolate.dispose(),
      };
    };
    const strip = createStripper(make);
    const body = { text: 'return 1 as number', line: 0, column: 0 };
    const [{ failure }] = await strip([body], 10, undefined);
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    const controller = new AbortController();
    const aborted = strip([body], 60_000, guard(controller.signal));
    controller.abort();
    assert.equal((await aborted)[0].failure.code, 'ERR_ISOLATE_ABORTED');
    // The isolate serves the next text.
    const next = strip([body], 60_000, undefined);
    context();
    assert.deepEqual([(await next)[0].body.text, made[0].isDisposed], ['return 1          ', true]);
    for (const isolate of made) if (!isolate.isDisposed) isolate.dispose();
  });

  test('ends with the executions of a sandbox, and with their signals', async () => {
    const waiting = (_, __, signal) => new Promise((resolve) => { signal.follow(() => resolve([signal.aborted])); });
    const executions = new Executions();
    const strip = executions.ending(waiting);
    const first = strip([], 60_000, undefined);
    // It runs no code.
    assert.equal(executions.last, undefined);
    executions.dispose();
    assert.deepEqual(await first, [true]);
    const controller = new AbortController();
    const second = strip([], 60_000, guard(controller.signal));
    controller.abort();
    assert.deepEqual(await second, [true]);
  });
});

describe('a sandbox that is disposed of while types are removed', { timeout: 40_000 }, () => {
  /** The time that SWC takes doubles with each repetition. */
  const slow = `${'a ? (b) : c => '.repeat(60)}d`;
  const tests = {
    createSandbox: () => ivm.createSandbox({}, { typescript: true, timeout: 60_000 }),
    AgentSandbox: () => new ivm.AgentSandbox({ typescript: true, timeout: 60_000 }),
    ...(process.platform === 'win32' ? {} : { SubprocessSandbox: () => new ivm.SubprocessSandbox({ typescript: true, timeout: 60_000 }) }),
  };
  for (const [name, make] of Object.entries(tests)) {
    test(name, async () => {
      const sandbox = make();
      const start = performance.now();
      const execution = sandbox.execute(slow);
      setTimeout(() => sandbox.dispose(), 100);
      assert.equal((await execution).failure.code, 'ERR_ISOLATE_DISPOSED');
      assert.ok(performance.now() - start < 30_000);
    });
  }

  test('PluginSandbox', async () => {
    const sandbox = new ivm.PluginSandbox(undefined, { typescript: true });
    const isolate = await sandbox.createIsolate({ id: 'a' });
    const execution = sandbox.executeInSandbox(isolate, slow, {}, { deadline: 60_000 });
    setTimeout(() => sandbox.dispose(isolate), 100);
    const start = performance.now();
    await assert.rejects(execution, { name: 'PluginError', message: /Isolate was disposed/ });
    assert.ok(performance.now() - start < 30_000);
  });
});
