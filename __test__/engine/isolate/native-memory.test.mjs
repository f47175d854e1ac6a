// Memory that V8 takes outside its heap while it parses, writes, splits and formats. A guest that makes it take much loses its isolate, and
// the host does not grow by gigabytes.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const METER = `
  const { readFileSync } = await import('node:fs');
  const status = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const before = status('VmRSS');
  const grown = () => status('VmHWM') - before;`.replaceAll(/\n\s*/g, '\n');

/** What V8 may take before it stops or is refused more, in MB: see `src/native`. */
const NATIVE = 32 + 128;

/** A guest that ends in this way at every limit, alternately async and sync. `max` is the permitted growth of the process in MB. */
function guest(name, code, { max = (limit) => limit * 2 + NATIVE + 64, outcome = 'ERR_ISOLATE_MEMORY', limits = [8, 128] } = {}) {
  for (const [index, limit] of limits.entries()) {
    const mode = ['eval', 'evalSync'][index];
    test(`${name}, at ${limit} MB, by ${mode}`, () => passes(`${METER}
      let got;
      try { got = await context.${mode}(${JSON.stringify(code)}, { timeout: 20_000 }); } catch (error) { got = error.code ?? error.name; }
      assert.match(String(got), /^(${outcome})$/);
      assert.ok(grown() < ${max(limit)}, grown() + ' MB more');
      otherWorks();`, { options: `{ memoryLimit: ${limit} }`, timeout: 60_000 }));
  }
}

/** Every string may briefly take this much (docs/limits-and-errors.md). */
const LOAN = () => 1_400;

describe('V8 allocates much memory', () => {
  guest('to parse deep JSON', "JSON.parse('['.repeat(1e7))");
  guest('to parse the longest possible JSON', "JSON.parse('['.repeat(2 ** 29 - 30))", { max: LOAN, limits: [8] });
  guest('to write JSON', String.raw`const o = { a: '\u0001'.repeat(2 ** 25) }; JSON.stringify(Array(16).fill(o)).length`);
  guest('to split a string', "'a,'.repeat(2 ** 27).split(',').length", { max: (limit) => limit * 2 + NATIVE + 256 + 64 });
  guest('to normalize a string', "'\\ufdfa'.repeat(2 ** 23).normalize('NFKD').length");
  guest('to normalize a very long one', "'\\ufdfa'.repeat(2 ** 28).normalize('NFKD').length", { max: LOAN, limits: [8], outcome: 'ERR_ISOLATE_MEMORY|TypeError' });
  guest('to format dates', "const kept = []; for (;;) kept.push(new Intl.DateTimeFormat('de', { dateStyle: 'full', timeStyle: 'full' }))");
  guest('for waiters', 'const a = new Int32Array(new SharedArrayBuffer(8)); for (;;) Atomics.waitAsync(a, 0, 0)');
  guest('for waiters at many addresses', 'const a = new BigInt64Array(new SharedArrayBuffer(2 ** 20)); for (let i = 0;; i += 1) Atomics.waitAsync(a, i % a.length, 0n, 1e6)');
  guest('for the objects of Temporal', 'const kept = []; for (;;) kept.push(new Temporal.Duration(1))', { max: (limit) => limit * 2 + 96, limits: [128] });
  guest('to segment texts', "const kept = []; for (;;) kept.push(new Intl.Segmenter('th', { granularity: 'word' }).segment('x'.repeat(1e6)))");
});

describe('WebAssembly modules count, however small they are', () => {
  const MODULE = 'new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])';

  guest('compiled at the same time', `for (;;) WebAssembly.compile(${MODULE})`);
  guest('instantiated at the same time', `for (;;) WebAssembly.instantiate(${MODULE})`, { limits: [8] });
  guest('kept', `const kept = []; for (;;) kept.push(new WebAssembly.Module(${MODULE}))`);
  guest('dropped', `for (let k = 0; k < 15_000; k += 1) { new WebAssembly.Module(${MODULE}); WebAssembly.validate(${MODULE}); } 'fine'`, { outcome: 'fine', limits: [8] });
});

// V8 has one list of waiters for all isolates, and searches it under its lock when one ends.
test('the number of waiters is bounded', () => passes(`
  let made = 0;
  context.global.setSync('report', new ivm.Callback((number) => { made = number; }));
  const code = 'const a = new Int32Array(new SharedArrayBuffer(8)); for (let i = 0;; i += 1) { Atomics.waitAsync(a, i % 2, 0); if (i % 1_000 === 0) report(i); }';
  await assert.rejects(context.eval(code), { code: 'ERR_ISOLATE_MEMORY' });
  assert.ok(made >= 20_000 && made <= 60_000, String(made));`, { options: '{ memoryLimit: 128 }', timeout: 60_000 }));

describe('garbage does not count', () => {
  guest('of formatters', "for (let k = 0; k < 1_000; k += 1) new Intl.DateTimeFormat('de', { dateStyle: 'full', timeStyle: 'full' }).format(0); 'fine'", { outcome: 'fine' });
  guest('of Temporal', "for (let k = 0; k < 1e6; k += 1) new Temporal.Duration(1); 'fine'", { outcome: 'fine', limits: [8] });
  guest('of texts', "let n = 0; for (let k = 0; k < 20; k += 1) n += JSON.stringify(JSON.parse('[' + '1,'.repeat(2 ** 19) + '1]')).length; 'fine'", { outcome: 'fine', limits: [32, 128] });

  test('of waiters', () => passes(`
    const code = \`(async () => {
      const a = new Int32Array(new SharedArrayBuffer(8));
      for (let round = 0; round < 50; round += 1) {
        const waiters = Array.from({ length: 1_000 }, () => Atomics.waitAsync(a, 0, 0).value);
        Atomics.notify(a, 0);
        await Promise.all(waiters);
      }
      return 'fine';
    })()\`;
    const alive = setInterval(() => {}, 1_000);
    assert.equal(await context.eval(code, { promise: true }), 'fine');
    clearInterval(alive);`, { options: '{ memoryLimit: 8 }', timeout: 60_000 }));

  test('memory of an ended isolate does not count, either', () => passes(`${METER}
    for (let k = 0; k < 20; k += 1) {
      const one = new ivm.Isolate({ memoryLimit: 8 });
      const code = "globalThis.kept = []; for (let i = 0; i < 400; i += 1) kept.push(new Intl.Collator('de')); kept.length";
      assert.equal(one.createContextSync().evalSync(code), 400);
      one.dispose();
    }
    assert.ok(grown() < 200, grown() + ' MB more');`, { timeout: 60_000 }));

  test('native memory of an inspected isolate is not counted', () => passes(`
    assert.equal(context.evalSync("try { JSON.parse('['.repeat(5e6)) } catch (error) { error.name }"), 'SyntaxError');`, { options: '{ memoryLimit: 128, inspector: true }' }));
});

describe('values that the host sends', () => {
  const WAYS = ['set', 'setSync', 'copyInto', 'apply', 'applySync', 'evalClosureSync'];
  /** A value, and the ways to send it. */
  const values = {
    'many objects': ['Array.from({ length: 1.2e5 }, (_, i) => ({ i, a: [i] }))', WAYS],
    'many strings': ["Array.from({ length: 1e5 }, (_, i) => 's' + i + 'y'.repeat(200))", ['set', 'applySync']],
    'a large map': ['new Map(Array.from({ length: 1.5e5 }, (_, i) => [i, { i }]))', ['copyInto', 'evalClosureSync']],
    'a long string': ["'é€'.repeat(2 ** 22)", WAYS],
  };
  for (const [what, [value, how]] of Object.entries(values)) {
    test(`${what}, into 8 MB`, () => passes(`${METER}
      const value = ${value};
      const ways = {
        set: (context) => context.global.set('x', value, { copy: true }),
        setSync: (context) => context.global.setSync('x', value, { copy: true }),
        copyInto: (context) => context.global.set('x', new ivm.ExternalCopy(value).copyInto()),
        apply: (context, keep) => keep.apply(undefined, [value], { arguments: { copy: true } }),
        applySync: (context, keep) => keep.applySync(undefined, [value], { arguments: { copy: true } }),
        evalClosureSync: (context) => context.evalClosureSync('globalThis.x = $0; 0', [value], { arguments: { copy: true } }),
      };
      for (const how of ${JSON.stringify(how)}) {
        const call = ways[how];
        const small = new ivm.Isolate({ memoryLimit: 8 });
        const context = small.createContextSync();
        const keep = context.evalSync('(x) => { globalThis.x = x }', { reference: true });
        const error = await errorOf(async () => call(context, keep));
        if (error.code === 'ERR_ISOLATE_LIMIT') {
          // A copy of a string stays outside the heap, where a guest may not have that much.
          assert.deepEqual([typeof value, how, context.evalSync('6 * 7')], ['string', 'copyInto', 42]);
          continue;
        }
        assert.equal(error.code, 'ERR_ISOLATE_MEMORY', how + ': ' + error.stack);
        assert.equal(error.message, 'Isolate was disposed during execution due to memory limit');
        assert.equal(small.isDisposed, true);
        assert.throws(() => context.evalSync('1'), { code: 'ERR_ISOLATE_MEMORY' });
      }
      // Most of it is the host's: the value and what the host writes of it, six times.
      assert.ok(grown() < 2_000, grown() + ' MB more');
      otherWorks();`, { timeout: 120_000 }));
  }

  test('small buffers that together exceed the limit are a RangeError as well', () => passes(`
    const value = Array.from({ length: 20_000 }, () => new Uint8Array(2_000));
    await assert.rejects(context.global.set('x', value, { copy: true }), { name: 'RangeError', message: 'Array buffer allocation failed', code: 'ERR_ISOLATE_LIMIT' });
    assert.throws(() => context.evalClosureSync('0', [value], { arguments: { copy: true } }), { name: 'RangeError', message: 'Array buffer allocation failed' });
    assert.equal(context.evalClosureSync('return $0.length', [value.slice(0, 1_000)], { arguments: { copy: true } }), 1_000);`, { options: '{ memoryLimit: 16 }' }));

  test('a buffer over the limit is a RangeError, and the isolate stays usable', () => passes(`
    const value = new Uint8Array(2 ** 26);
    await assert.rejects(context.global.set('x', value, { copy: true }), { name: 'RangeError', message: 'Array buffer allocation failed' });
    assert.throws(() => context.evalClosureSync('0', [value], { arguments: { copy: true } }), { name: 'RangeError', message: 'Array buffer allocation failed' });
    assert.equal(context.evalSync('6 * 7'), 42);`, { options: '{ memoryLimit: 8 }' }));
});
