// `isolated-v8 repl`, with lines from a pipe.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { root, runFile } from '../../harness.mjs';

const require = createRequire(import.meta.url);
const { MORE, Session } = require('../../../command/session.js');

const command = join(root, 'command/index.js');

test('lines from standard input', async () => {
  const lines = ['let n = 40', 'const add = (a, b) => {', '  return a + b;', '}', 'add(n, 2)', '{ a: n }', 'await Promise.resolve([n])', 'console.log("said")', '.reset', 'typeof n', 'null.x', '"last"', '.exit', '"never"'];
  const { code, stdout, stderr } = await runFile(command, { args: ['repl'], input: `${lines.join('\n')}\n` });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout);
  const [shown, failed] = stdout.split("'undefined'\n");
  assert.equal(shown, '42\n{ a: 40 }\n[ 40 ]\nsaid\n');
  assert.match(failed, /^TypeError: Cannot read properties of null[^]*\n> 1 \| null\.x\n[^]*\n'last'\n$/);
});

test('an input that is not complete, and options', async () => {
  const { code, stdout } = await runFile(command, { args: ['repl', '--web', '--typescript', '--timeout', '5000'], input: 'const u: string = new URL("http://a/b").host; u\nf(' });
  assert.deepEqual({ code, stdout }, { code: 0, stdout: "'a'\n(the last input is not complete)\n" });
  assert.equal((await runFile(command, { args: ['repl', 'file.js'] })).code, 2);
});

describe('a session', () => {
  const signal = new AbortController().signal;
  const withSession = async (settings, use) => {
    const written = [];
    const session = new Session({ timeout: 10_000, memoryLimit: 32, typescript: false, web: false, ...settings }, (text) => written.push(text));
    try {
      await use(async (text, by = signal) => {
        written.length = 0;
        const outcome = await session.run(text, by);
        return outcome === MORE ? MORE : written.join('');
      });
    } finally {
      session.reset();
    }
  };

  test('knows what is complete', () => withSession({}, async (run) => {
    for (const text of ['f(', 'f(1', 'function f() {', '`a', '[1,', '({ a: 1', '{ a: 1', 'if (1) {\n2', '1 +', 'await f(', 'for await (const x of y) {\n']) {
      assert.equal(await run(text), MORE, text);
    }
    for (const text of ['f(1 2)', 'f(1 2)\n', 'a b', '{ a b }', 'await 1 2', ')', 'let 1']) assert.match(String(await run(text)), /^SyntaxError: /, text);
    assert.equal(await run('await 1'), '1\n');
    assert.equal(await run('for await (const x of [1]) await x'), '');
    assert.match(await run('}'), /^SyntaxError: /);
    assert.equal(await run('  '), '');
    assert.equal(await run('// nothing'), '');
  }));

  test('a function is not shown', () => withSession({}, async (run) => {
    assert.equal(await run('function f() {}\nf'), '(not shown: function f() {} could not be cloned.)\n');
  }));

  test('a syntax error of `eval` is not one of the input, which runs once', () => withSession({}, async (run) => {
    await run('var n = 0');
    assert.match(await run('{ n += 1; eval("(") }'), /^SyntaxError: /);
    assert.equal(await run('n'), '1\n');
  }));

  test('keeps its state after a timeout', () => withSession({ timeout: 300 }, async (run) => {
    await run('var kept = 1');
    assert.match(await run('for (;;);'), /exceeded 300ms timeout/);
    assert.equal(await run('kept'), '1\n');
  }));

  test('loses its state with its memory', () => withSession({ memoryLimit: 16 }, async (run) => {
    await run('var kept = 1');
    assert.match(await run('var all = []; for (;;) all.push(new Array(1000).fill(1.5));'), /\(the isolate has ended, and its state is lost\)\n$/);
    assert.equal(await run('typeof kept'), "'undefined'\n");
  }));

  test('large values and many lines are cut off', () => withSession({}, async (run) => {
    assert.ok((await run('new Array(9e4).fill("abc")')).length < 10_000);
    assert.ok((await run('Array.from({ length: 99 }, () => "x".repeat(9_000))')).length < 110_000);
    const logs = await run('for (let i = 0; i < 5000; i += 1) console.log(i)');
    assert.ok(logs.split('\n').length <= 1_001, `${logs.split('\n').length}`);
  }));

  test('ends what runs on abort', () => withSession({}, async (run) => {
    const aborted = new AbortController();
    setTimeout(() => aborted.abort(), 100);
    assert.equal(await run('for (;;);', aborted.signal), '(aborted)\n');
    assert.equal(await run('1'), '1\n');
  }));
});
