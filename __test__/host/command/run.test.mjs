// `isolated-v8 run`: output, exit codes, and what hostile code can do to the terminal that shows it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { programArguments, root, runFile } from '../../harness.mjs';
import { doubles } from '../../wire/collisions.mjs';

const require = createRequire(import.meta.url);
const { json, shown, visible, writerTo } = require('../../../command/text.js');
const { exitCodeOf } = require('../../../command/exit.js');
const { main } = require('../../../command/main.js');

const command = join(root, 'command/index.js');
const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-run-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs code from standard input, in this process. */
async function run(input, ...args) {
  const written = { stdout: '', stderr: '' };
  const streamTo = (name) => ({ write: (text) => { written[name] += text; } });
  const code = await main(['run', ...args], { stdin: new PassThrough().end(input), stdout: streamTo('stdout'), stderr: streamTo('stderr') });
  return { code, ...written };
}

test('in a process of its own', async () => {
  const { code, stdout, stderr } = await runFile(command, { args: ['run', '-', '--json'], input: 'console.error(1); throw new Error("no")', cwd: folder });
  const { ok, error, logs } = JSON.parse(stdout);
  assert.deepEqual({ code, stderr, ok, error, logs }, { code: 1, stderr: '', ok: false, error: 'no', logs: ['[ERROR] 1', '[ERROR] Execution error: no'] });
  const plain = await runFile(command, { args: ['run'], input: 'console.log(1); console.error(2); return 3', cwd: folder });
  assert.deepEqual([plain.code, plain.stdout, plain.stderr], [0, '1\n3\n', '2\n']);
});

describe('output', () => {
  test('console and result', async () => {
    const code = 'console.log("a", [1]); console.warn("b"); await new Promise((resolve) => setTimeout(resolve, 1)); return { n: 42n };';
    assert.deepEqual(await run(code), { code: 0, stdout: 'a [1]\n{ n: 42n }\n', stderr: 'b\n' });
  });

  test('a string stands as it is, and undefined is nothing', async () => {
    assert.deepEqual(await run('return "a\\nb"', '-'), { code: 0, stdout: 'a\nb\n', stderr: '' });
    assert.deepEqual(await run('#!/usr/bin/env node\n1', '-'), { code: 0, stdout: '', stderr: '' });
  });

  test('a file, as a module, with types', async () => {
    const file = join(folder, 'a.mts');
    writeFileSync(file, 'const n: number = 41;\nexport default (): number => n + 1;\n');
    assert.deepEqual(await run('', file), { code: 0, stdout: '42\n', stderr: '' });
  });

  test('web APIs if they are asked for', async () => {
    assert.equal((await run('return typeof URL')).stdout, 'undefined\n');
    assert.equal((await run('return new URL("http://a/b").pathname', '--web')).stdout, '/b\n');
  });

  test('there is nothing of the host', async () => {
    const names = ['process', 'require', 'fetch', 'Deno', 'Bun', 'navigator', 'module'];
    assert.equal((await run(`return [${names.map((name) => `typeof ${name}`)}].join()`)).stdout, `${names.map(() => 'undefined').join()}\n`);
    assert.match((await run('return import("node:fs")')).stderr, /^\w*Error: .*node:fs/);
    assert.match((await run('return import("./run.test.mjs")')).stderr, /^\w*Error: .*run\.test\.mjs/);
  });
});

describe('exit codes', () => {
  test('1: the code fails', async () => {
    const { code, stdout, stderr } = await run('const a = 1;\nnull.x;');
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, /^TypeError: Cannot read properties of null \(reading 'x'\)\n {4}at sandbox\.js:2:6\n[^]*\n> 2 \| null\.x;\n/);
    assert.equal((await run('return {')).code, 1);
  });

  for (const [what, input, ...args] of [
    ['an unknown option', '', '--unsafe'],
    ['two files', '', 'a', 'b'],
    ['a time that is none', '', '--timeout', 'soon'],
    ['a time that is too long', '', '--timeout', '1e12'],
    ['too little memory', '', '--memory', '7'],
    ['a file that does not exist', '', 'missing.js'],
  ]) {
    test(`2: ${what}`, async () => {
      const { code, stdout, stderr } = await run(input, ...args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
      assert.match(stderr, /^isolated-v8 run: [^\n]+\n\nUsage: isolated-v8 run /);
    });
  }

  test('3: it never ends', async () => {
    const { code, stderr } = await run('for (;;);', '--timeout', '200');
    assert.equal(code, 3);
    assert.match(stderr, /^Error: Execution timeout after 200ms\n/);
    assert.equal((await run('await new Promise(() => {})', '--timeout', '200')).code, 3);
  });

  test('4: it takes all memory', async () => {
    const { code, stderr } = await run('const all = []; for (;;) all.push(new Array(1000).fill(1.5));', '--memory', '16');
    assert.equal(code, 4, stderr);
  });

  test('5: a result that is too large, or cannot be returned', async () => {
    const { code, stdout, stderr } = await run('return "x".repeat(2 ** 25)');
    assert.deepEqual({ code, stdout }, { code: 5, stdout: '' });
    assert.match(stderr, /^RangeError: Result of .* exceeds the maximum output size/);
    assert.equal((await run('return () => 1')).code, 5);
  });

  test('each has a reason', () => {
    assert.deepEqual([undefined, {}, { code: 'ERR_ISOLATE_TIMEOUT' }, { code: 'ERR_ISOLATE_MEMORY' }, { code: 'ERR_ISOLATE_ABORTED' }].map(exitCodeOf), [0, 1, 3, 4, 5]);
  });
});

describe('hostile code', () => {
  test('endless logs are cut off', async () => {
    const { code, stdout, stderr } = await run('for (;;) console.log("x".repeat(9_999));', '--timeout', '1500');
    assert.equal(code, 3);
    assert.ok(stdout.length > 1e6 && stdout.length < 1e7, `${stdout.length}`);
    assert.match(stderr, /^\(\d+ more console calls are not shown\)\n/);
  });

  test('an endless message of an error is cut off', async () => {
    const { code, stderr } = await run('throw new Error("x".repeat(3e6))');
    assert.equal(code, 1);
    assert.ok(stderr.length < 200_000, `${stderr.length}`);
  });

  test('stacks of errors in a value are cut off, since all lines of one are compared with those of its cause', () => {
    const failed = (cause) => {
      const error = new Error('x', { cause });
      error.stack = `Error: x${Array.from({ length: 2_000 }, (_, line) => `\n    at ${cause === undefined ? 'a' : 'b'}${line}`).join('')}`;
      return error;
    };
    for (const value of [failed(failed()), { list: [new Set([failed(failed())])] }, new Map([[failed(), { e: failed(failed()) }]])]) {
      const lines = shown(value).split('\n').length;
      assert.ok(lines > 40 && lines < 250, `${lines}`);
    }
    const circular = { error: failed() };
    circular.error.cause = circular;
    assert.match(shown(circular), /\[Circular/);
  });

  test('a value does not take long to show', () => {
    const processorTime = (value) => {
      const start = process.cpuUsage();
      shown(value);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000;
    };
    const text = 'x'.repeat(4e6);
    const numbers = doubles(40_000);
    // At most some 100 ms. `inspect` takes seconds for the text, and so does a table for the numbers.
    for (const value of [Object(text), [[Object(text)]], new Map(numbers.map((number, index) => [index, number]))]) {
      const time = processorTime(value);
      assert.ok(time < 800, `${time} ms`);
    }
    assert.equal(shown([Object('a\nb'), { c: Object("d'") }]), `[ [String: 'a\\nb'], { c: [String: "d'"] } ]`);
    assert.match(shown(Object(text)), /^\[String: 'x{100000}'\.{3} \d+ more characters\]$/);
  });

  test('it ends when the reader of its output has gone', async () => {
    const child = spawn(process.execPath, [...programArguments(), command, 'run', '--timeout', '60000'], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.end('for (let i = 0; ; i += 1) { console.log(i); await new Promise((resolve) => setTimeout(resolve, 1)); }');
    child.stdout.once('data', () => child.stdout.destroy());
    const start = performance.now();
    await new Promise((resolve) => { child.once('exit', resolve); });
    assert.ok(performance.now() - start < 30_000);
  });

  const NASTY = '\u001b]0;title\u0007\u001b[2J\r\u009b31m\u007f\u202e\u2066\u2028';
  const IN_JSON = /[\p{Cc}\u202e\u2066\u2028]/u;

  test('a terminal gets no control characters', () => {
    assert.equal(visible(NASTY), '\\x1b]0;title\\x07\\x1b[2J\\x0d\\x9b31m\\x7f\\u202e\\u2066\\u2028');
    assert.equal(visible('a\tb\r\nc\n👩‍👩‍👧 é 中 עברית'), 'a\tb\r\nc\n👩‍👩‍👧 é 中 עברית');
    const written = [];
    for (const isTTY of [true, false]) writerTo({ isTTY, write: (text) => written.push(text) })('\u001b[2J');
    assert.deepEqual(written, ['\\x1b[2J', '\u001b[2J']);
    assert.doesNotMatch(visible(shown({ [NASTY]: NASTY, error: new Error(NASTY) })), /[^\n\P{Cc}]/u);
  });

  test('the length of long BigInts is shown instead of their digits, wherever they are', () => {
    const long = 1n << 1_000_000n;
    const instead = '[BigInt of 1,000,004 bits]';
    const error = Object.assign(new Error('x', { cause: long }), { own: long });
    const part = { own: [long, 5n, Object(long), Object(3n)], map: new Map([[long, 1], [2n, long]]), set: new Set([long, 7]), error };
    const text = shown(part);
    assert.equal(text.split(instead).length - 1, 7, text);
    for (const short of ['5n', '[BigInt: 3n]', '2n =>', ', 7 }']) assert.ok(text.includes(short), text);
    assert.equal(shown(long), instead);
    // All together, too: half of these have too many digits.
    const several = shown(Array.from({ length: 8 }, (_, index) => (1n << 60_000n) - BigInt(index)));
    assert.equal(several.split('[BigInt of 60,000 bits]').length - 1, 4, several.slice(0, 1_000));
  });

  test('JSON has none either, and the same value', () => {
    const text = json({ [NASTY]: [NASTY, 1n] });
    assert.doesNotMatch(text, IN_JSON);
    assert.deepEqual(JSON.parse(text), { [NASTY]: [NASTY, '1'] });
  });
});

describe('--json', () => {
  async function document(input, ...args) {
    const { code, stdout } = await run(input, '--json', ...args);
    assert.match(stdout, /^\{[^\n]*\}\n$/);
    return { exit: code, ...JSON.parse(stdout) };
  }

  test('success', async () => {
    const { usage, durationMs, ...rest } = await document('console.log("a"); console.error("\\u009b31m"); return [1n, undefined, new Date(0)];');
    assert.deepEqual(rest, { exit: 0, ok: true, result: ['1', null, '1970-01-01T00:00:00.000Z'], logs: ['a', '[ERROR] \u009b31m'] });
    assert.ok(usage.heapPeak > 0 && durationMs >= 0);
    assert.equal((await document('1')).result, null);
  });

  test('failures', async () => {
    const { exit, ok, result, error, failure } = await document('throw new RangeError("no")');
    assert.deepEqual({ exit, ok, result, error, name: failure.name, line: failure.line }, { exit: 1, ok: false, result: null, error: 'no', name: 'RangeError', line: 1 });
    assert.equal((await document('for (;;);', '--timeout', '200')).failure.code, 'ERR_ISOLATE_DEADLINE');
  });

  test('a result that is no JSON', async () => {
    const { exit, ok, error, failure, logs } = await document('console.log("a"); const a = {}; a.a = a; return a;');
    assert.deepEqual({ exit, ok, code: failure.code, logs }, { exit: 5, ok: false, code: failure.code, logs: ['a'] });
    assert.match(error, /\S/);
  });

  test('wrong arguments', async () => {
    const { exit, ok, error, failure } = await document('', 'missing.js');
    assert.deepEqual({ exit, ok, code: failure.code }, { exit: 2, ok: false, code: 'ERR_INVALID_ARG' });
    assert.match(error, /^cannot read missing\.js: /);
    assert.equal((await document('', '--unsafe')).ok, false);
  });
});
