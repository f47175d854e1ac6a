// `maxOutputSize` and `maxApiCalls`, which all sandboxes have, with the same errors.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { errorOf, hostContext, IsolatedVmSandbox, manifest, PluginError } from '../../sandbox/plugin-helper.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;

/** Runs code that calls its host with `call`. Returns the result or message, and how often the host was called. */
const agentBy = (Class) => async (code, options) => {
  let calls = 0;
  const executor = async (_name, { x }) => { calls += 1; return x; };
  const { result, error, failure } = await new Class(options).execute(code, [{ name: 'api:request', description: '' }], executor);
  return { result, error, code: failure?.code, name: failure?.name, calls };
};

const SANDBOXES = {
  async createSandbox(code, options) {
    let calls = 0;
    const request = async ({ x }) => { calls += 1; return x; };
    const { result, error, failure, apiCallCount } = await createSandbox({ api: { request } }, options).execute(code);
    assert.equal(apiCallCount, calls);
    return { result, error, code: failure?.code, name: failure?.name, calls };
  },
  IsolatedVMSandbox: agentBy(IsolatedVMSandbox),
  ...(process.platform === 'linux' ? { SubprocessSandbox: agentBy(SubprocessSandbox) } : {}),
};

/** Values with much content in places that JSON ignores. */
const HIDDEN = {
  'named keys of arrays': 'const a = []; a.big = "x".repeat(5e6); return a',
  'named keys of arrays inside': 'const a = [1]; a.in = [Object.assign([2], { big: { text: "x".repeat(5e5) } })]; return [new Map([[1, a]])]',
  'the names of such keys': 'const a = []; a["x".repeat(5e5)] = 1; return a',
  'many such keys': 'const a = []; for (let i = 0; i < 5_000; i += 1) a["k" + i] = i; return { a }',
  'such keys of a sparse array': 'const a = []; a[4] = 1; a.big = "x".repeat(5e5); return a',
  'keys of maps': 'return new Map([["x".repeat(5e5), 1]])',
  'objects as keys of maps': 'return new Map([[{ a: "x".repeat(5e5) }, 1]])',
  'long keys without a value': 'return { ["x".repeat(5e5)]: undefined }',
  'many keys without a value': 'const o = {}; for (let i = 0; i < 5_000; i += 1) o["k" + i] = undefined; return o',
  'causes of errors': 'return new Error("a", { cause: new Error("b", { cause: ["x".repeat(5e5)] }) })',
  'boxed strings': 'return [Object("x".repeat(5e5))]',
  'the buffer behind a view': 'return new Uint8Array(new ArrayBuffer(5e5), 0, 1)',
  'the length of a sparse array': 'const a = [1]; a.length = 1_000; return a',
  'shared values': 'let a = ["x"]; for (let i = 0; i < 28; i += 1) a = [a, a]; return a',
};

for (const [kind, run] of Object.entries(SANDBOXES)) {
  describe(`${kind}: maxOutputSize`, () => {
    test('typed arrays count as JSON writes them', async () => {
      for (const length of [0, 1, 10, 11, 100, 5_000]) {
        const maxOutputSize = JSON.stringify(new Uint8Array(length)).length;
        assert.equal((await run(`return new Uint8Array(${length})`, { maxOutputSize })).result?.length, length);
        if (length === 0) continue;
        const { error, code } = await run(`return new Uint8Array(${length})`, { maxOutputSize: maxOutputSize - 1 });
        assert.match(error, /exceeds the maximum output size/);
        assert.equal(code, 'ERR_ISOLATE_LIMIT');
      }
      assert.equal((await run('return new ArrayBuffer(5_000)', { maxOutputSize: 5_004 })).result?.byteLength, 5_000);
      const inside = 'return { list: Array.from({ length: 100 }, () => new Uint8Array(1_000)) }';
      assert.equal((await run(inside, { maxOutputSize: 700_000 })).code, 'ERR_ISOLATE_LIMIT');
      assert.equal((await run(inside, { maxOutputSize: 900_000 })).error, undefined);
    });

    test('bytes of JSON, to the byte', async () => {
      assert.deepEqual((await run('return "x".repeat(8)', { maxOutputSize: 10 })).result, 'xxxxxxxx');
      for (const [code, size] of [['return "x".repeat(9)', 11], ['return ["ü", 1, null]', 13], ['return { a: [1, 2, 3], b: 1 }', 19]]) {
        const { result, error, code: failureCode, name } = await run(code, { maxOutputSize: 10 });
        assert.deepEqual([result, failureCode, name], [null, 'ERR_ISOLATE_LIMIT', 'RangeError']);
        assert.equal(error, `Result of ${size} bytes exceeds the maximum output size of 10 bytes`);
      }
      assert.equal((await run('return undefined', { maxOutputSize: 0 })).error, undefined);
    });

    test('a large result is not read to its end', async () => {
      const { error, code } = await run('return "x".repeat(3e6)', { maxOutputSize: 1_000, memoryLimit: 64 });
      assert.match(error, /^Result of (more than )?\d+ bytes exceeds the maximum output size of 1000 bytes$/);
      assert.equal(code, 'ERR_ISOLATE_LIMIT');
    });

    test('a result that is far too large does not leave the guest', async () => {
      for (const value of ['"x".repeat(2e7)', '["x".repeat(2e7)]', 'new Uint8Array(2e7)', 'Array.from({ length: 1e6 }, () => "x".repeat(20))']) {
        const { result, error, code } = await run(`return ${value}`, { maxOutputSize: 1_000, memoryLimit: 128 });
        assert.match(error, /^Result of \d{8} bytes as a clone exceeds the maximum output size of 1000 bytes by far$/, value);
        assert.deepEqual([result, code], [null, 'ERR_ISOLATE_LIMIT'], value);
      }
    });

    test('undefined has no size', async () => {
      const rows = 'Array.from({ length: 2e4 }, (_, id) => ({ id, aaaaaaaaaa: undefined, bbbbbbbbbb: undefined, cccccccccc: undefined, dddddddddd: undefined }))';
      assert.equal((await run(`return ${rows}`, { maxOutputSize: 300_000 })).result?.length, 20_000);
      // The same object many times: what takes no bytes is checked once.
      const shared = "const row = {}; for (let i = 0; i < 5_000; i += 1) row['k' + i] = undefined; return Array(20_000).fill(row)";
      assert.equal((await run(shared, { maxOutputSize: 100_000, timeout: 5_000 })).result?.length, 20_000);
    });

    test('cycles are measured in linear time', async () => {
      const cycle = "const row = {}; for (let i = 0; i < 5_000; i += 1) row['k' + i] = undefined; row.self = row; return Array(20_000).fill(row)";
      assert.equal((await run(cycle, { maxOutputSize: 1e9, timeout: 5_000 })).result?.length, 20_000);
    });

    for (const [what, code] of Object.entries(HIDDEN)) {
      test(`counts ${what}`, async () => {
        const { result, error, code: failureCode } = await run(code, { maxOutputSize: 100, memoryLimit: 64 });
        assert.deepEqual([result, failureCode], [null, 'ERR_ISOLATE_LIMIT'], error);
      });
    }

    test(`the default is ${kind === 'createSandbox' ? '1 MB' : 'the memory limit, at least 64 MB'}`, async () => {
      const { result, error } = await run('return "x".repeat(1_100_000)', { memoryLimit: 64 });
      assert.equal(error ?? result.length, kind === 'createSandbox' ? 'Result of 1100002 bytes exceeds the maximum output size of 1048576 bytes' : 1_100_000);
      const start = performance.now();
      const shared = await run('let a = []; for (let i = 0; i < 28; i += 1) a = [a, a]; return a', {});
      assert.equal(shared.code, 'ERR_ISOLATE_LIMIT');
      if (kind !== 'createSandbox') {
        assert.match(shared.error, /exceeds the maximum output size of 134217728 bytes$/);
        assert.match((await run('let a = []; for (let i = 0; i < 28; i += 1) a = [a, a]; return a', { memoryLimit: 32 })).error, / 67108864 bytes$/);
      }
      assert.ok(performance.now() - start < 10_000);
    });

    test('Infinity is no limit', async () => {
      const { result, error } = await run('let a = []; for (let i = 0; i < 28; i += 1) a = [a, a]; return a', { maxOutputSize: Infinity });
      assert.equal(error, undefined);
      assert.equal(result[0], result[1]);
    });
  });

  describe(`${kind}: maxApiCalls`, () => {
    test('a call over the limit fails in the guest, and does not reach the host', async () => {
      const code = 'const outcomes = []; for (let x = 0; x < 5; x += 1) { try { outcomes.push(await api.request({ x })); } catch (error) { outcomes.push(error.message); } } return outcomes;';
      const { result, calls } = await run(code, { maxApiCalls: 3 });
      const refused = 'The maximum of 3 API calls is exceeded';
      assert.deepEqual(result, [0, 1, 2, refused, refused]);
      assert.equal(calls, 3);
      assert.equal((await run('return await api.request({ x: 1 })', { maxApiCalls: 0 })).error, 'The maximum of 0 API calls is exceeded');
    });

    test(`each execution has its own limit; the default is ${kind === 'createSandbox' ? '50' : 'none'}`, async () => {
      const code = 'for (let x = 0; x < 60; x += 1) await api.request({ x }); return "all"';
      for (let i = 0; i < 2; i += 1) {
        const { result, error } = await run(code, {});
        assert.equal(error ?? result, kind === 'createSandbox' ? 'The maximum of 50 API calls is exceeded' : 'all');
      }
    });
  });

  test(`${kind}: invalid limits are refused`, async () => {
    for (const name of ['maxOutputSize', 'maxApiCalls']) {
      for (const value of [-1, NaN, '1', {}]) {
        await assert.rejects(run('1', { [name]: value }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: `\`${name}\` must be a finite number of at least 0` });
      }
    }
  });
}

describe('IsolatedVmSandbox: maxOutputSize and maxApiCalls', () => {
  const plugin = async (options, context = hostContext()) => {
    const sandbox = new IsolatedVmSandbox(undefined, options);
    const isolate = await sandbox.createIsolate(manifest());
    return { sandbox, run: (code) => sandbox.executeInSandbox(isolate, code, context) };
  };

  for (const [what, code] of Object.entries(HIDDEN)) {
    test(`results: counts ${what}`, async () => {
      const { sandbox, run } = await plugin({ maxOutputSize: 100 });
      assert.equal((await errorOf(run(`(() => { ${code} })()`))).cause.code, 'ERR_ISOLATE_LIMIT');
      sandbox.disposeAll();
    });
  }

  test('the default is the memory limit, at least 64 MB', async () => {
    const { sandbox, run } = await plugin({});
    const shared = 'let a = []; for (let i = 0; i < 28; i += 1) a = [a, a]; a';
    assert.match((await errorOf(run(`{ ${shared} }`))).message, /exceeds the maximum output size of \d{8,} bytes$/);
    sandbox.disposeAll();
    const unlimited = await plugin({ maxOutputSize: Infinity });
    assert.equal((await unlimited.run(`{ ${shared} }`)).length, 2);
    unlimited.sandbox.disposeAll();
  });

  for (const [what, code] of Object.entries(HIDDEN)) {
    test(`storage: counts ${what}`, async () => {
      const { sandbox, run } = await plugin({});
      const error = await errorOf(run(`context.cache.set("k", (() => { ${code.replaceAll('5_000', '500')} })())`));
      assert.equal(error.kind, 'STORAGE');
      sandbox.disposeAll();
    });
  }

  test('results', async () => {
    const { sandbox, run } = await plugin({ maxOutputSize: 10 });
    assert.equal(await run('"x".repeat(8)'), 'xxxxxxxx');
    const error = await errorOf(run('Promise.resolve("x".repeat(9))'));
    assert.ok(error instanceof PluginError);
    assert.equal(error.message, 'Plugin execution failed: Result of 11 bytes exceeds the maximum output size of 10 bytes');
    assert.deepEqual([error.cause.name, error.cause.code], ['RangeError', 'ERR_ISOLATE_LIMIT']);
    sandbox.disposeAll();
  });

  test('calls, of each execution', async () => {
    let calls = 0;
    const { sandbox, run } = await plugin({ maxApiCalls: 2 }, { ...hostContext(), metrics: { setGauge: () => { calls += 1; } } });
    const code = '[1, 2, 3].map((x) => { try { context.metrics.setGauge("x", x); return x; } catch (error) { return error.message; } })';
    for (let i = 1; i <= 2; i += 1) {
      assert.deepEqual(await run(code), [1, 2, 'The maximum of 2 API calls is exceeded']);
      assert.equal(calls, i * 2);
    }
    sandbox.disposeAll();
  });
});
