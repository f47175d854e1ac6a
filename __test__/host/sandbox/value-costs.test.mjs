// The cost of a guest's values for the host wherever they are walked: time grows in proportion to their distinct parts.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import ivm from '../../../index.mjs';
import { createExecutor } from '../../../adapters/codemode.js';
import { createCodeModeTransport } from '../../../adapters/mastra.js';
import { createIsolateDriver } from '../../../adapters/tanstack-ai.js';
import { indices } from '../../wire/collisions.mjs';
import { cloned } from '../../wire/helper.mjs';
import { errorOf, hostContext, IsolatedVmSandbox, manifest, rememberingLogger, until } from '../../sandbox/plugin-helper.mjs';

const require = createRequire(import.meta.url);
const { now } = require('../../../surface/host/clock.js');
const { entryLimits, Shown } = require('../../../surface/host/sandbox/plugin/context/log.js');
const { refusalOf } = require('../../../surface/host/sandbox/common/quota.js');
const { measurementOf, outputSize } = require('../../../surface/host/sandbox/common/size.js');
const { Account, storedBytes, valueSize } = require('../../../surface/host/sandbox/plugin/context/storage.js');
const { URL_LIMITS, UrlCheck } = require('../../../surface/host/sandbox/plugin/urls/check.js');
const { Work } = require('../../../surface/host/work.js');

const range = (count, entry) => Array.from({ length: count }, (_, index) => entry(index));
const doubled = (levels, outer) => { let value = []; for (let level = 0; level < levels; level += 1) value = outer(value); return value; };

/** Runs a task to its end in one piece. */
const done = (task) => {
  assert.equal(task.run(false), true);
  return task;
};
const bearable = (args, length) => done(new Shown(args, new Work(entryLimits(length)), length)).values;
const set = (account, key, value, quota, seconds, cache = { run: () => undefined, isThere: () => true }) => account.perform('set', key, [value, seconds],
  storedBytes(done(valueSize(value, quota, new Work()))), cache, quota, (message) => new RangeError(message));

/** Values of a size whose cost would grow faster than the size in one or another walker. */
const COSTLY = {
  'shared arrays': (size) => doubled(size, (value) => [value, value]),
  'shared objects': (size) => doubled(size, (a) => ({ a, b: a })),
  'shared maps': (size) => doubled(size, (value) => new Map([[value, value]])),
  'shared sets': (size) => doubled(size, (value) => new Set([value, [value]])),
  'shared causes': (size) => doubled(size, (cause) => [new Error('', { cause }), cause]),
  'named keys that are shared': (size) => doubled(size, (value) => Object.assign([value], { value })),
  'nesting': (size) => doubled(size, (value) => [value]),
  'cycles through all': (size) => { const all = range(size, () => []); for (const each of all) each.push(all, all); return all; },
  'a row again and again': (size) => Array(size).fill(Object.fromEntries(range(size, (index) => [`k${index}`, undefined]))),
  'a wide object': (size) => Object.fromEntries(range(size, (index) => [`k${index}`, index])),
  'holes': (size) => Object.assign(Array(size), { 3: 1 }),
  'a sparse array': (size) => Object.assign(Array(4_294_967_295 - size), { 5: range(size, String) }),
  'a text': (size) => '\0'.repeat(size * 16),
  'a boxed text': (size) => [Object('x'.repeat(size * 16))],
  'a BigInt': (size) => [1n << BigInt(size * 16)],
  'views of one buffer': (size) => { const buffer = new ArrayBuffer(size); return range(size, () => new Uint8Array(buffer)); },
};

/** Milliseconds of processor time of the fastest of a few runs, because other processes use the machine too. */
function fastest(run) {
  let best = Infinity;
  for (let round = 0; round < 3; round += 1) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

/** Eight times the size may take 24 times as long, plus a moment: quadratic time would be 64 times, and expanded values never end. */
function growsLinearly(run) {
  const [small, large] = [run(400), run(3_200)];
  assert.ok(large < 24 * small + 100, `${small.toFixed(1)} ms, then ${large.toFixed(1)} ms`);
}

describe('time grows with the distinct parts', () => {
  for (const [what, make] of Object.entries(COSTLY)) {
    test(what, async () => {
      growsLinearly((size) => {
        const value = cloned(make(size));
        return fastest(() => done(measurementOf(value, 1e300, new Work())));
      });
      growsLinearly((size) => {
        const args = range(100, () => cloned(make(size / 100)));
        return fastest(() => bearable(args, 1e9));
      });
      growsLinearly((size) => {
        const value = cloned(make(size));
        const account = new Account('p');
        return fastest(() => {
          try {
            set(account, 'k', value, 1e15);
          } catch (error) {
            assert.match(error.message, /^Storage quota exceeded/);
          }
        });
      });
    });
  }

  test('results are measured in slices, until the deadline, a signal or the end of the sandbox', async () => {
    const value = range(300_000, (index) => ({ index }));
    let turns = 0;
    const timer = setInterval(() => { turns += 1; }, 0);
    const size = await outputSize(value, 1e9, new Work());
    clearInterval(timer);
    assert.equal(size, JSON.stringify(value).length);
    assert.ok(turns > 1);
    const ending = { signal: undefined, until: Infinity, isGone: () => false };
    assert.equal((await refusalOf(value, 1e9, { ...ending, until: now() + 5 })).code, 'ERR_ISOLATE_DEADLINE');
    const controller = new AbortController();
    setImmediate(() => controller.abort(new Error('enough')));
    assert.deepEqual(await refusalOf(value, 1e9, { ...ending, signal: controller.signal }),
      { value: 'Execution was aborted: enough', code: 'ERR_ISOLATE_ABORTED', name: 'Error' });
    let gone = false;
    setImmediate(() => { gone = true; });
    assert.equal((await refusalOf(value, 1e9, { ...ending, isGone: () => gone })).code, 'ERR_ISOLATE_DISPOSED');
    assert.equal(await refusalOf(value, 1e9, ending), undefined);
  });

  test('an entry of the log has one budget for all of its values', () => {
    const shared = range(20_000, () => ({}));
    const args = range(100, () => [...shared]);
    let shown;
    assert.ok(fastest(() => { shown = bearable(args, 1e5); }) < 1_000);
    assert.equal(shown[0].length, 20_000);
    assert.equal(shown.at(-1), '[object of too many values]');
    assert.deepEqual(bearable([Object.assign([], { big: 'x'.repeat(20_000) }), Object('x'.repeat(20_000)), new Map([['x'.repeat(20_000), 1]]), 1n << 100_000n, [1]]),
      [...range(3, () => '[object of more than 10000 bytes]'), '[bigint of more than 10000 bytes]', [1]]);
  });
});

describe('the check of URLs', () => {
  const texts = (count) => Object.fromEntries(range(count, (index) => [`k${index}`, `x${'yyyyyyy\t'.repeat(1_000)}x`]));
  const shared = () => { const list = range(1_000, (index) => `a${index}`); return range(40, () => list); };
  for (const [what, args, refused] of [
    ['texts', [texts(2_000)], undefined], ['a URL behind texts', [texts(2_000), { url: 'https://evil.test/' }], 'evil.test'], ['lists that occur several times', [shared()], undefined],
    ['too many values', [range(200_000, () => 1)], '(too many values)'],
  ]) {
    test(`is done in slices: ${what}`, async () => {
      const work = new Work(URL_LIMITS);
      const check = new UrlCheck(['example.org'], args, work);
      let turns = 0;
      while (!check.run(true)) {
        turns += 1;
        await work.turn();
      }
      assert.equal(check.refused, refused);
      if (what.includes('texts')) assert.ok(turns > 2, `${turns} turns`);
      assert.equal(done(new UrlCheck(['example.org'], args, new Work(URL_LIMITS))).refused, refused);
    });
  }

  test('checks a regular expression in many places once', () => {
    const expression = /x/;
    let reads = 0;
    Object.defineProperty(expression, 'toString', { value: () => { reads += 1; return '/x/'; } });
    const args = [Array(1_000).fill(expression), range(10, () => ({ expression })), new Map([[expression, expression]])];
    assert.equal(done(new UrlCheck(['example.org'], args, new Work(URL_LIMITS))).refused, undefined);
    assert.equal(reads, 1);
  });

  test('compares no more names in one piece than the whole check may visit', () => {
    const names = new Map(range(200_000, (index) => [`k${index}`, 1]));
    for (const holder of [new Map([['port', 80], ...names]), { port: 80, headers: names }, { port: 80, ...Object.fromEntries(range(10, (index) => [`headers${'-'.repeat(index)}`, new Map([...names].slice(0, 20_000))])) }]) {
      let steps = 0;
      const check = new UrlCheck(['example.org'], [holder], { spend() { steps += 1; }, isSliceOver: false });
      assert.equal(check.run(true), true);
      assert.equal(check.refused, '(too many values)');
      assert.ok(steps < 120_000, `${steps} steps`);
    }
  });

  for (const [what, argOf] of [['headers', (names) => ({ headers: ['port', 80, ...names.flatMap((name) => [name, 1])] })], ['entries', (names) => [['port', 80], ...names.map((name) => [name, 1])]]]) {
    test(`takes no longer for names that collide: ${what}`, () => {
      const taken = (names) => fastest(() => {
        done(new UrlCheck(['example.org'], [argOf(names)], new Work(URL_LIMITS)));
      });
      const names = indices(25_000);
      const [plain, colliding] = [taken(names.map((name) => `k${name}`)), taken(names)];
      assert.ok(colliding < 10 * plain + 100, `${plain.toFixed(1)} ms, then ${colliding.toFixed(1)} ms`);
    });
  }
});

describe('BigInts', () => {
  const sizeOf = (value, max) => done(measurementOf(value, max, new Work())).size;

  test('are as many bytes as they have digits', () => {
    for (const bits of [0, 1, 63, 64, 4_095, 4_096, 4_097, 4_099, 5_000, 10_000, 65_536, 99_999]) {
      for (const value of [1n << BigInt(bits), (1n << BigInt(bits)) - 1n, -(1n << BigInt(bits)), 1n - (1n << BigInt(bits)), (1n << BigInt(bits)) / 3n]) {
        const digits = value.toString().length;
        const size = sizeOf(value, Infinity) - 2;
        assert.ok(Math.abs(size - digits) <= (bits < 4_095 ? 0 : 2), `${bits} bits: ${size} and ${digits} digits`);
        assert.ok(Math.abs(sizeOf([value], 50_000) - 4 - digits) <= 2, `${bits} bits`);
        if (digits > 5_000) assert.equal(sizeOf(value, 1_000), Infinity);
      }
    }
  });

  test('take little time, however long they are', () => {
    const long = (1n << BigInt(8 * 2 ** 24 - 8)) - 1n;
    const zeros = -1n << BigInt(8 * 2 ** 24 - 9);
    assert.ok(fastest(() => bearable(range(100, (index) => (index % 2 === 0 ? long : zeros)))) < 250);
    assert.ok(fastest(() => range(5, () => [sizeOf(long, 1e9), sizeOf(zeros, 1e9)])) < 1_000);
    const many = range(2_000, (index) => 1n << BigInt(5_000 + index));
    assert.ok(fastest(() => sizeOf(many, 1e9)) < 1_000);
    assert.ok(Math.abs(sizeOf(long, 1e9) - 40_403_562) < 5);
  });
});

describe('storage', () => {
  test('records beyond the first thousand count the host\'s memory for them', () => {
    const account = new Account('p');
    for (let index = 0; index < 1_000; index += 1) set(account, String(index).padStart(4, '0'), 'x', 7_000);
    assert.throws(() => set(account, '1000', 'x', 7_200), { message: 'Storage quota exceeded: 7263 bytes > 7200 bytes' });
    set(account, '1000', 'x', 7_263);
    set(account, '0999', 'y', 7_263);
    account.perform('delete', '0500', [], 0, { run: () => undefined }, 7_263, () => new Error('no'));
    assert.throws(() => set(account, '1000', 'xx', 7_000), { message: 'Storage quota exceeded: 7001 bytes > 7000 bytes' });
    set(account, '1000', 'x', 7_000);
  });

  test('the cost of a write over the quota does not grow with the number of records', () => {
    const over = (records) => {
      const account = new Account('p');
      for (let index = 0; index < records; index += 1) set(account, `k${index}`, 'x', 1e9, 3_600 + (index * 7919) % 1000);
      return fastest(() => {
        for (let round = 0; round < 100; round += 1) assert.throws(() => set(account, 'more', 'x'.repeat(1_000), 1_000), RangeError);
      });
    };
    over(100);
    const [few, many] = [over(500), over(16_000)];
    assert.ok(many < 8 * few + 50, `${few.toFixed(1)} ms, then ${many.toFixed(1)} ms`);
  });

  test('many objects count at least 64 bytes each, however short their JSON is', () => {
    const bytesOf = (value) => storedBytes(done(valueSize(value, 1e9, new Work())));
    for (const make of [() => new Map(), () => new Set(), () => ({}), () => [], () => Object(1), () => Object(true), () => Object(''), () => new Date(NaN), () => /(?:)/]) {
      assert.equal(bytesOf(range(1_000, make)), (1_001 - 16) * 64, String(make));
      assert.equal(bytesOf(make()), done(valueSize(make(), 1e9, new Work())).size, String(make));
    }
    const plain = range(1_000, (id) => ({ id, name: `${id}`.padEnd(60, '-') }));
    assert.equal(bytesOf(plain), Buffer.byteLength(JSON.stringify(plain)));
    assert.throws(() => set(new Account('p'), 'k', range(1_000, () => new Map()), 50_000), RangeError);
  });

  test('any expired record frees quota', async () => {
    const account = new Account('p');
    const there = new Set();
    const asked = [];
    const access = { run: () => undefined, isThere: (name) => { asked.push(name); return there.has(name); } };
    const write = (key) => set(account, key, 'x', 3_000, undefined, access);
    const expire = (key, seconds) => account.perform('expire', key, [seconds], 0, access, 3_000, () => new Error('no'));
    for (let index = 0; index < 500; index += 1) write(String(100 + index));
    assert.throws(() => write('100x'.repeat(10)), RangeError);
    for (const index of [3, 1, 2]) expire(String(100 + index), 0.001 * index);
    // Times change many times.
    for (let round = 0; round < 5_000; round += 1) expire('100', 3_600);
    there.add('p:101');
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    write('abcd');
    assert.deepEqual(asked.toSorted(), ['p:101', 'p:102', 'p:103']);
  });
});

describe('the log of a plugin', () => {
  test('counts primitives in objects as objects', () => {
    for (const boxed of [1, true, '', 1n].map(Object)) {
      const { bytes, values } = done(new Shown([range(1_000, () => Object(boxed.valueOf())), boxed], new Work(entryLimits())));
      assert.equal(values[0].length, 1_000);
      assert.ok(bytes > 1_002 * 64, `${bytes}`);
    }
  });
});

describe('IsolatedVmSandbox: shared values in one call', () => {
  const shared = 'let a = []; for (let i = 0; i < 60; i += 1) a = [a, a];';

  test('console, logger and cache', async () => {
    const logger = rememberingLogger();
    const sandbox = new IsolatedVmSandbox(logger);
    const said = [];
    const context = { ...hostContext(), logger: { info: (...args) => said.push(args) } };
    const isolate = await sandbox.createIsolate(manifest({ permissions: { storage: { maxSize: 50_000_000 } } }));
    const run = (code) => sandbox.executeInSandbox(isolate, `{ ${shared} ${code} }`, context);
    const start = performance.now();
    await run('console.log(...Array(100).fill(a)); 1');
    await run('context.logger.info(...Array(100).fill(a), Object.assign([], { big: "x".repeat(5e6) })); 1');
    assert.equal((await errorOf(run('context.cache.set("k", a)'))).kind, 'STORAGE');
    await until(() => logger.of('debug', 'Plugin console.log').length === 1);
    assert.ok(performance.now() - start < 10_000);
    assert.deepEqual(said, [[...range(100, () => '[object of more than 10000 bytes]'), '[1 more]']]);
    sandbox.disposeAll();
  });
});

describe('adapters', () => {
  const shared = 'let a = []; for (let i = 0; i < 40; i += 1) a = [a, a]; return a;';

  test('codemode: a result is bounded by its expanded size', async () => {
    const { result, error } = await createExecutor().execute(`async () => { ${shared} }`, {});
    assert.equal(result, undefined);
    assert.match(error, /exceeds the maximum output size of \d+ bytes$/);
  });

  test('tanstack-ai: the same', async () => {
    const context = await createIsolateDriver().createContext({ bindings: {} });
    const { success, error } = await context.execute(shared);
    assert.deepEqual([success, error.code], [false, 'ERR_ISOLATE_LIMIT']);
  });

  test('texts of an error are cut off', async () => {
    const thrown = 'const error = new Error("m".repeat(1e6)); error.name = "N".repeat(1e6); throw error;';
    const { error } = await createExecutor().execute(`async () => { ${thrown} }`, {});
    assert.equal(error.length, 10_000);
    const outcome = await (await createIsolateDriver().createContext({ bindings: {} })).execute(thrown);
    const run = { program: thrown, toolIds: [], dispatch: async () => 1, timeout: 10_000 };
    for (const texts of [outcome.error, (await createCodeModeTransport().run(run)).error]) {
      assert.equal(texts.message.length, 10_000);
      assert.ok(Object.values(texts).every((text) => typeof text !== 'string' || text.length <= 10_000));
    }
  });

  test('codemode: arguments are an array of limited length', async () => {
    const calls = [];
    const tools = { f: async (...args) => { calls.push(args.length); return args.length; } };
    const outcomeOf = async (code) => {
      const { result, error } = await createExecutor().execute(`async () => { try { return await ${code}; } catch (error) { return error.message; } }`, tools);
      return error ?? result;
    };
    const start = performance.now();
    assert.equal(await outcomeOf('$host.f0("x".repeat(2e7))'), 'The arguments of a tool must be an array');
    for (const wrong of ['{ length: 5 }', 'undefined', 'new Set([1])', 'Object("abc")']) {
      assert.equal(await outcomeOf(`$host.f0(${wrong})`), 'The arguments of a tool must be an array');
    }
    for (const long of ['Array(10001)', 'Array(10001).fill(1)', 'Object.assign([], { length: 1e6, 5: 1 })']) {
      assert.equal(await outcomeOf(`$host.f0(${long})`), 'A tool takes at most 10000 arguments');
    }
    assert.equal(await outcomeOf('$host.f0(Array(4294967295))'), 'Invalid string length');
    assert.ok(performance.now() - start < 10_000);
    assert.deepEqual(calls, []);
    assert.equal(await outcomeOf('codemode.f(...Array(10000).fill(1))'), 10_000);
    assert.equal(await outcomeOf('codemode.f()'), 0);
  });
});

describe('IsolatedVMSandbox: the line of an error', () => {
  test('is truncated as others are', async () => {
    const { logs } = await new ivm.IsolatedVMSandbox({ maxLogLength: 50 }).execute('throw new Error("x".repeat(1e5))', [], async () => {});
    assert.deepEqual(logs.map((line) => line.length), [53]);
    assert.match(logs[0], /^\[ERROR\] Execution error: x+\.\.\.$/);
  });

  test('is complete if it is short', async () => {
    for (const code of ['throw new Error("short")', 'throw "short"', 'await Promise.reject(new RangeError("short"))']) {
      assert.deepEqual((await new ivm.IsolatedVMSandbox({ maxLogLength: 30 }).execute(code, [], async () => {})).logs, ['[ERROR] Execution error: short'], code);
    }
  });
});

describe('large results that are trees', () => {
  const read = (code) => new ivm.IsolatedVMSandbox({ maxOutputSize: 32_000_000 }).execute(code, [], async () => {});

  test('are not measured if they cannot be too large', async () => {
    const value = cloned(range(40_000, (index) => ({ index })));
    const ending = { signal: undefined, until: Infinity, isGone: () => assert.fail('it was measured') };
    assert.equal(await refusalOf(value, 1e8, ending), undefined);
    assert.equal((await refusalOf(value, 1e6, ending)).value, 'it was measured');
    for (const small of [undefined, null, true, -Number.MAX_VALUE, 'text']) {
      assert.equal(await refusalOf(small, 64, ending), undefined);
      assert.equal((await refusalOf(small, 0, { ...ending, isGone: () => false }))?.code, small === undefined ? undefined : 'ERR_ISOLATE_LIMIT');
    }
    assert.equal((await read('return Array.from({ length: 4e4 }, (_, index) => ({ index }))')).result.length, 40_000);
  });

  for (const [what, code] of Object.entries({
    'shared values': 'let a = []; for (let i = 0; i < 28; i += 1) a = [a, a]; return [a, "x".repeat(1e5)]',
    'sparse arrays': 'const a = [1]; a.length = 1e8; return [a, "x".repeat(1e5)]',
    'errors': 'return [new Array(200_000).fill().map(() => Object.assign(new RangeError("m"), { stack: "s".repeat(200) }))]',
    'views of one buffer': 'const buffer = new ArrayBuffer(1e6); return Array.from({ length: 1000 }, () => new Uint8Array(buffer))',
    'texts that JSON escapes': 'return ["\\0".repeat(6e6)]',
  })) {
    test(`are measured otherwise: ${what}`, async () => {
      assert.equal((await read(code)).failure?.code, 'ERR_ISOLATE_LIMIT');
    });
  }
});
