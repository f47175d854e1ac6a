// `createSandbox`: console, timeout, sizes, counts, memory, and what is refused.

import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { run } from '../../harness.mjs';

const { createSandbox } = ivm;
const { createSandboxFactory } = createRequire(import.meta.url)('../../../surface/host/sandbox/code/sandbox.js');
const execute = (code, globals = {}, options = {}) => createSandbox(globals, options).execute(code);

describe('createSandbox: console', () => {
  test('every level goes to the logs, in order', async () => {
    const { logs } = await execute('["log", "info", "warn", "error", "debug"].forEach((level) => console[level](level + "!"))');
    assert.deepEqual(logs, ['log!', 'info!', 'warn!', 'error!', 'debug!']);
  });

  test('strings unchanged, other values as JSON, joined by a space', async () => {
    const cases = [
      ['"a", "b"', 'a b'], ['"a", 1, true, null', 'a 1 true null'], ['{ a: [1, "x"] }', '{"a":[1,"x"]}'], ['[1, [2]]', '[1,[2]]'],
      ['"☃ \\u{1f600}"', '☃ 😀'], ['new Date(0)', '"1970-01-01T00:00:00.000Z"'], ['', ''], ['"", ""', ' '], ['undefined', 'undefined'], ['NaN', 'null'],
    ];
    for (const [args, line] of cases) assert.deepEqual((await execute(`console.log(${args})`)).logs, [line], args);
  });

  test('values without JSON do not fail the run', async () => {
    for (const value of ['(() => { const a = {}; a.a = a; return a })()', '1n', '{ big: 1n }', 'Symbol("s")', '() => 1', '{ toJSON() { throw 1 } }', '{ get a() { throw 1 } }']) {
      const outcome = await execute(`const v = ${value}; console.log("x", v); return 1`);
      assert.equal(outcome.error, undefined, value);
      assert.equal(outcome.result, 1);
      assert.equal(outcome.logs.length, 1);
      assert.equal(outcome.logs[0].startsWith('x'), true);
    }
  });

  test('at most 100 entries', async () => {
    const { logs } = await execute('for (let i = 0; i < 150; i += 1) console.log(i)');
    assert.deepEqual(logs, Array.from({ length: 100 }, (_, i) => `${i}`));
  });

  test('each is truncated at 1,000 characters, followed by "..."', async () => {
    const { logs } = await execute('for (const n of [999, 1000, 1001, 5000]) console.log("x".repeat(n)); console.log("y".repeat(999), { a: 1 })');
    assert.deepEqual(logs, ['x'.repeat(999), 'x'.repeat(1000), `${'x'.repeat(1000)}...`, `${'x'.repeat(1000)}...`, `${'y'.repeat(999)} ...`]);
  });

  test('a flood of large entries ends soon', async () => {
    const { result, logs } = await execute('const big = "x".repeat(1e6); for (let i = 0; i < 1e5; i += 1) console.log(big); return 1', {}, { timeout: 10_000 });
    assert.equal(result, 1);
    assert.equal(logs.length, 100);
  });

  test('guest code called by logging counts towards the timeout', async () => {
    const outcome = await execute('if (1) console.log("first"); console.log({ toJSON() { for (;;); } })', {}, { timeout: 60 });
    assert.equal(outcome.error, 'Execution timed out after 60ms');
  });
});

describe('createSandbox: timeout', () => {
  for (const code of [
    'for (;;);', 'while (true) { new Array(1000).fill(1.5) }', 'await new Promise(() => {})', 'for (;;) await 0',
    '() => { for (;;); }', '/^(a+)+$/.test("a".repeat(40) + "b")', 'return { get a() { for (;;); } }',
    'return { then() { for (;;); } }', 'throw { get message() { for (;;); } }',
  ]) {
    test(code, async () => {
      const start = performance.now();
      const outcome = await execute(`${code}`, {}, { timeout: 80 });
      const ms = performance.now() - start;
      assert.deepEqual([outcome.result, outcome.error], [null, 'Execution timed out after 80ms']);
      assert.ok(ms >= 79 && ms < 5_000, `${ms} ms`);
      assert.ok(outcome.durationMs >= 79 && outcome.durationMs < 5_000);
    });
  }

  test('earlier logs are kept', async () => {
    const outcome = await execute('const a = 1; console.log("before"); for (;;);', {}, { timeout: 80 });
    assert.deepEqual(outcome.logs, ['before']);
  });

  test('covers waiting for host functions, whose late result is dropped', async () => {
    const gate = Promise.withResolvers?.() ?? (() => { let resolve; const promise = new Promise((go) => { resolve = go; }); return { promise, resolve }; })();
    let marked = 0;
    const globals = { slow: () => gate.promise, mark: () => { marked += 1; } };
    const outcome = await execute('try { slow() } finally { mark() } mark(); return 1', globals, { timeout: 80 });
    assert.deepEqual([outcome.result, outcome.error], [null, 'Execution timed out after 80ms']);
    gate.resolve('late');
    await gate.promise;
    // Anything that was still to come would arrive before the end of further runs.
    for (let i = 0; i < 3; i += 1) assert.equal((await execute('1')).result, 1);
    assert.equal(marked, 0);
  });

  test('no part of the run continues afterwards', async () => {
    let calls = 0;
    const outcome = await execute('for (;;) tick()', { tick: () => { calls += 1; } }, { timeout: 80 });
    assert.equal(outcome.error, 'Execution timed out after 80ms');
    const seen = calls;
    assert.ok(seen > 0);
    for (let i = 0; i < 3; i += 1) assert.equal((await execute('1')).result, 1);
    assert.equal(calls, seen);
  });

  test('no timer fires after the end', async () => {
    let calls = 0;
    const globals = { tick: () => { calls += 1; } };
    const outcome = await execute('const id = setInterval(() => tick(), 1); await new Promise(() => {})', globals, { timeout: 80, timers: true });
    assert.equal(outcome.error, 'Execution timed out after 80ms');
    assert.ok(calls > 0);
    calls = 0;
    const done = await execute('const id = setInterval(() => tick(), 1); tick(); return 1', globals, { timers: true });
    assert.equal(done.result, 1);
    const seen = calls;
    for (let i = 0; i < 3; i += 1) assert.equal((await execute('if (1) await new Promise((go) => setTimeout(go, 10)); return 1', {}, { timers: true })).result, 1);
    assert.equal(calls, seen);
  });

  test('a late rejection of a host function is not left unhandled', async () => {
    const result = await run(`
      let reject;
      const slow = () => new Promise((_, no) => { reject = no; });
      const outcome = await ivm.createSandbox({ slow }, { timeout: 500 }).execute('slow()');
      console.log(outcome.error);
      reject(new Error('late'));
      await new Promise((go) => setTimeout(go, 20));
      console.log('still here');`);
    assert.deepEqual([result.stdout, result.code, result.signal], ['Execution timed out after 500ms\nstill here\n', 0, null], result.stderr);
  });

  test('is 30 seconds by default', async () => {
    // Other tests show that executions end after the timeout. This one shows which timeout they get, and does not wait for it.
    const timeouts = [];
    const factory = createSandboxFactory(async ({ timeout }) => {
      timeouts.push(timeout);
      return { ok: false, code: 'ERR_ISOLATE_DEADLINE', name: 'Error', value: 'No result before the deadline', logs: [], lost: 0 };
    }, undefined, () => undefined);
    const errorOf = async (options) => (await factory({}, options).execute('await new Promise(() => {})')).error;
    assert.equal(await errorOf(), 'Execution timed out after 30000ms');
    assert.equal(await errorOf({ timeout: undefined }), 'Execution timed out after 30000ms');
    assert.equal(await errorOf({ timeout: 70 }), 'Execution timed out after 70ms');
    assert.deepEqual(timeouts, [30_000, 30_000, 70]);
  });

  test('an execution settles even if its guest cannot be stopped', async () => {
    const result = await run(`
      const start = performance.now();
      const outcome = await ivm.createSandbox({}, { timeout: 100 }).execute('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)');
      console.log(outcome.error, performance.now() - start < 1350);
      console.log((await ivm.createSandbox({}).execute('1 + 1')).result);`);
    assert.deepEqual([result.stdout, result.code, result.signal], ['Execution timed out after 100ms true\n2\n', 0, null], result.stderr);
  });
});

describe('createSandbox: maxOutputSize', () => {
  const refused = (outcome, size, max) => {
    assert.equal(outcome.result, null, `a result of ${JSON.stringify(outcome.result)?.length} characters came out`);
    assert.match(outcome.error, new RegExp(`\\b${size}\\b.*\\b${max}\\b`));
  };

  test('counts UTF-8 bytes of JSON and names both sizes', async () => {
    refused(await execute('"x".repeat(100)', {}, { maxOutputSize: 50 }), 102, 50);
    refused(await execute('"é".repeat(30)', {}, { maxOutputSize: 50 }), 62, 50);
    refused(await execute('"☃".repeat(20)', {}, { maxOutputSize: 50 }), 62, 50);
    assert.equal((await execute('"x".repeat(48)', {}, { maxOutputSize: 50 })).result.length, 48);
    refused(await execute('"x".repeat(49)', {}, { maxOutputSize: 50 }), 51, 50);
  });

  test('keeps logs and figures if the result cannot be transferred', async () => {
    const outcome = await execute('if (1) {} console.log("here"); return [new RegExp("a".repeat(2 ** 17 + 1))]');
    assert.equal(outcome.result, null);
    assert.equal(outcome.error, 'Unable to deserialize cloned data: a regular expression that takes too long to make');
    assert.deepEqual([outcome.failure.name, outcome.failure.code], ['Error', 'ERR_ISOLATE_TRANSFER']);
    assert.deepEqual(outcome.logs, ['here']);
    assert.ok(outcome.usage.wallMs > 0);
  });

  test('names the class of an error before its code', async () => {
    const outcome = await execute('return 1', { get a() { throw new RangeError('no'); } });
    assert.deepEqual([outcome.error, outcome.failure.name, outcome.result], ['no', 'RangeError', null]);
  });

  test('measures a large result in slices', async () => {
    const list = await execute('if (1) {} return Array.from({ length: 1e5 }, (_, i) => ({ i }))', {}, { maxOutputSize: 2e6, memoryLimit: 64 });
    assert.equal(list.result.length, 1e5);
    const size = JSON.stringify(list.result).length;
    refused(await execute('if (1) {} return Array.from({ length: 1e5 }, (_, i) => ({ i }))', {}, { maxOutputSize: size - 1, memoryLimit: 64 }), size, size - 1);
  });

  test('counts the digits of long BigInts without writing them', async () => {
    // In decimal these take a second and more, on the host's thread.
    const start = performance.now();
    for (const code of ['return 1n << 1_000_000n', 'return [-(7n << 1_000_000n)]', 'return Object(1n << 1_000_000n)']) {
      const outcome = await execute(code, {}, { maxOutputSize: 300_000 });
      const size = Number(/\b\d+\b/.exec(outcome.error)?.[0]);
      assert.ok(size > 301_030 && size < 301_045, outcome.error);
    }
    assert.ok(performance.now() - start < 5_000);
    assert.equal((await execute('return 10n ** 500n', {}, { maxOutputSize: 503 })).error, undefined);
    refused(await execute('return 10n ** 500n', {}, { maxOutputSize: 502 }), 503, 502);
  });

  test('undefined has no JSON, and so no size', async () => {
    assert.equal((await execute('return undefined', {}, { maxOutputSize: 0 })).error, undefined);
  });

  test('is 1 MB by default', async () => {
    assert.equal((await execute('"x".repeat(1048574)')).result.length, 1_048_574);
    refused(await execute('"x".repeat(1048575)'), 1_048_577, 1_048_576);
  });

  for (const [what, code] of [
    ['that has no JSON', 'return { big: 1n, text: "x".repeat(5000) }'],
    ['with a cycle', 'const a = { text: "x".repeat(5000) }; a.a = a; return a'],
    ['whose content JSON omits: Map', 'return new Map([["text", "x".repeat(5000)]])'],
    ['whose content JSON omits: Set', 'return new Set(["x".repeat(5000)])'],
    ['whose content JSON omits: ArrayBuffer', 'return new ArrayBuffer(5000)'],
    ['whose content JSON omits: Error', 'return new Error("x".repeat(5000))'],
    ['that hides its size in toJSON', 'class A { text = "x".repeat(5000); toJSON() { return 1 } } return new A()'],
    ['that hides its size in a shared toJSON', 'Object.prototype.toJSON = () => 1; return { text: "x".repeat(5000) }'],
  ]) {
    test(`a result ${what} does not bypass it`, async () => {
      const outcome = await execute(`if (1) {} ${code}`, {}, { maxOutputSize: 1000 });
      assert.equal(outcome.result, null);
      assert.match(outcome.error, /\b1000\b/);
    });
  }
});

describe('createSandbox: maxApiCalls', () => {
  test('50 by default; a further call throws in the guest', async () => {
    let calls = 0;
    const api = { request: async () => (calls += 1), other: () => 'free' };
    const code = 'let n = 0; try { for (;;) { api.request(); n += 1; api.other() } } catch (error) { return [n, error instanceof Error, error.message] }';
    const outcome = await execute(code, { api });
    assert.deepEqual(outcome.result.slice(0, 2), [50, true]);
    assert.match(outcome.result[2], /50/);
    assert.deepEqual([calls, outcome.apiCallCount], [50, 50]);
  });

  test('the option sets the maximum of each run', async () => {
    const sandbox = createSandbox({ api: { request: async (x) => x } }, { maxApiCalls: 2 });
    for (let i = 0; i < 2; i += 1) {
      const outcome = await sandbox.execute('const a = [api.request(1), api.request(2)]; try { api.request(3) } catch { a.push("no") } return a');
      assert.deepEqual([outcome.result, outcome.apiCallCount], [[1, 2, 'no'], 2]);
    }
    assert.equal((await execute('api.request()', { api: { request: () => 1 } }, { maxApiCalls: 0 })).result, null);
  });

  test('the option counts calls of every host function', async () => {
    const globals = { f: (value) => value, deep: [{ g: async (value) => value }], api: { request: () => 1 } };
    const code = 'const done = []; try { for (;;) done.push(f(1), deep[0].g(2), api.request()) } catch (error) { return [done.length, error.message, f.name, f.length] }';
    const limited = await execute(code, globals, { maxApiCalls: 7 });
    assert.deepEqual(limited.result, [6, 'The maximum of 7 API calls is exceeded', 'f', 1]);
    assert.equal(limited.apiCallCount, 7);
    const free = await execute('for (let i = 0; i < 100; i += 1) f(1); return f(2)', globals);
    assert.deepEqual([free.result, free.apiCallCount], [2, 0]);
    assert.equal('apiCallCount' in await execute('f(1)', { f: globals.f }), false);
    for (const maxApiCalls of [null, undefined]) assert.equal('apiCallCount' in await execute('f(1)', { f: globals.f }, { maxApiCalls }), false);
  });

  test('apiCallCount counts on failure, too, and is 0 without calls', async () => {
    const globals = { api: { request: () => { throw new Error('down'); } } };
    const failed = await execute('api.request()', globals);
    assert.deepEqual([failed.error, failed.apiCallCount], ['down', 1]);
    assert.equal((await execute('1', globals)).apiCallCount, 0);
    assert.equal((await execute('for (;;) api.request.name', globals, { timeout: 60 })).apiCallCount, 0);
  });
});

describe('createSandbox: memory', () => {
  const hold = (megabytes) => `const kept = []; for (let i = 0; i < ${megabytes}; i += 1) kept.push(new Array(131072).fill(i + 0.5)); return kept.length`;
  const program = (options) => `
    const outcome = await ivm.createSandbox({}, ${JSON.stringify(options)}).execute(${JSON.stringify(hold(48))});
    console.log(outcome.result, /memory/i.test(outcome.error));
    console.log((await ivm.createSandbox({}).execute('1 + 1')).result);`;
  for (const [what, options, env, printed] of [
    ['32 MB by default', {}, {}, 'null true'],
    ['the option', { memoryLimit: 128 }, {}, '48 false'],
    ['the environment', {}, { SANDBOX_MEMORY_MB: '128' }, '48 false'],
    ['the option before the environment', { memoryLimit: 16 }, { SANDBOX_MEMORY_MB: '128' }, 'null true'],
    ['a lower environment', {}, { SANDBOX_MEMORY_MB: '16' }, 'null true'],
    ['an invalid environment variable is ignored', {}, { SANDBOX_MEMORY_MB: 'lots' }, 'null true'],
  ]) {
    test(what, async () => {
      const result = await run(program(options), { env });
      assert.deepEqual([result.stdout, result.code, result.signal], [`${printed}\n2\n`, 0, null], result.stderr);
    });
  }

  test('isolates are always disposed', async () => {
    const result = await run(`
      const sandbox = ivm.createSandbox({ f: () => 1 }, { timeout: 300 });
      const ends = ['return 1', 'throw new Error("x")', 'const k = new Array(131072 * 16).fill(0.5); for (;;);', 'return kept'];
      await sandbox.execute('1');
      const before = process.memoryUsage.rss();
      for (let i = 0; i < 60; i += 1) {
        const kept = 'if (1) { kept = []; for (let i = 0; i < 16; i += 1) kept.push(new Array(131072).fill(i + 0.5)); f(); }';
        const outcome = await sandbox.execute(i % 10 === 9 ? ends[2] : kept + ends[i % 2]);
        if (outcome.logs.length !== 0) throw new Error('logs');
      }
      const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
      console.log(grown < 250 ? 'ok' : grown);`, { timeout: 60_000 });
    assert.deepEqual([result.stdout, result.code, result.signal], ['ok\n', 0, null], result.stderr);
  });
});

describe('createSandbox: arguments', () => {
  const invalid = (name) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG', message: new RegExp(`\`${name}\``) });

  test('invalid arguments are refused by name', () => {
    for (const wrong of [undefined, null, 1, 'x']) assert.throws(() => createSandbox(wrong), invalid('globals'), String(wrong));
    for (const wrong of [1, 'x', true]) assert.throws(() => createSandbox({}, wrong), invalid('options'), String(wrong));
    for (const name of ['timeout', 'maxOutputSize', 'maxApiCalls', 'memoryLimit']) {
      for (const wrong of ['1', true, {}, NaN, -1]) assert.throws(() => createSandbox({}, { [name]: wrong }), invalid(name), `${name}: ${wrong}`);
    }
    for (const wrong of ['yes', 1, {}]) assert.throws(() => createSandbox({}, { timers: wrong }), invalid('timers'), String(wrong));
    assert.throws(() => createSandbox({}, { memoryLimit: 7 }), invalid('memoryLimit'));
  });

  test('null and undefined mean the default', async () => {
    for (const nothing of [undefined, null]) {
      assert.equal((await createSandbox({}, nothing).execute('1')).result, 1);
      const options = { timeout: nothing, maxOutputSize: nothing, maxApiCalls: nothing, memoryLimit: nothing, timers: nothing };
      assert.equal((await createSandbox({}, options).execute('1')).result, 1);
    }
  });
});

test('createSandbox: an execution does not reject either where no file can be opened', { skip: process.platform !== 'linux' && 'it has no `prlimit`', timeout: 60_000 }, async () => {
  const { stdout, stderr } = await run(`
    const { execFileSync } = await import('node:child_process');
    const { closeSync, openSync } = await import('node:fs');
    const execute = (code, globals = {}) => ivm.createSandbox(globals).execute(code);
    console.log((await execute('1')).result);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=200']);
    const taken = [];
    try { for (;;) taken.push(openSync('/dev/null')); } catch ({ code }) { if (code !== 'EMFILE') throw new Error(code); }
    const outcomes = [await execute('({})'), await execute('f({})', { f: async () => ({}) }), await execute('2')];
    for (const each of taken) closeSync(each);
    for (const { result, error } of outcomes) console.log(JSON.stringify(result), error && /EMFILE|Too many open files/.test(error));
    console.log(JSON.stringify((await execute('f({})', { f: async () => ({}) })).result));
    process.exit();
  `, { timeout: 50_000 });
  assert.equal(stdout, '1\nnull true\nnull true\n2 undefined\n{}\n', stderr);
});

describe('createSandbox: results without JSON', () => {
  for (const code of ['return Object(1n)', 'return [Object(2n)]', 'return new Map([[1, Object(3n)]])', 'const a = []; a.push(a); return a']) {
    test(code, async () => {
      const { error, result } = await createSandbox({}).execute(code);
      assert.equal(error, undefined);
      assert.equal(typeof result, 'object');
    });
  }
});
