// The cache of compiled code: what it stores, which isolates use it, and what it does not change. Each test has its own process, because the cache is
// shared by the whole process.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const PRELUDE = `
  const stats = () => { const { codeCacheBytes, codeCacheHits } = ivm.engineStats(); return { bytes: codeCacheBytes, hits: codeCacheHits }; };
  const filler = (unit) => Array.from({ length: 600 }, (_, i) => 'function f' + i + '(a) { return a + ' + i + " + '" + unit + "'; }").join('\\n') + '\\n';
  const text = filler('x');
  /** Waits until the cache has written something since \`before\`. */
  const written = (before = 0) => waitFor(() => stats().bytes !== before);
  /** A result of \`work\` in a new isolate, which is disposed of. */
  const inNew = async (work, options = {}) => {
    const isolate = new ivm.Isolate(options);
    try {
      return await work(isolate, await isolate.createContext());
    } finally {
      isolate.dispose();
    }
  };
  const evaluates = (code, options) => (isolate, context) => context.eval(code, options);
`.replaceAll('\n', ' ').replaceAll(/\/\*\*.*?\*\//g, '');

/** @param {string} code */
const caches = (code) => passes(`${PRELUDE}${code}`);

test('the second run of a text uses what the first has compiled', () => caches(`
  assert.equal(await inNew(evaluates(text + 'f1(2)')), '3x');
  await written();
  assert.equal(stats().hits, 0);
  assert.equal(await inNew(evaluates(text + 'f1(2)')), '3x');
  assert.equal(stats().hits, 1);
  // An isolate that lives has the code as well.
  assert.equal(context.evalSync(text + 'f1(2)'), '3x');
  assert.equal(stats().hits, 2);
  assert.equal(context.evalSync('f599(0)'), '599x');`));

test('the third run of a text uses what the second has compiled, while the isolate of the first lives', () => caches(`
  assert.equal(await context.eval(text + 'f1(2)'), '3x');
  const second = new ivm.Isolate();
  const other = await second.createContext();
  await sleep(20);
  assert.deepEqual(stats(), { bytes: 0, hits: 0 });
  assert.equal(await other.eval(text + 'f1(2)'), '3x');
  await written();
  assert.equal(stats().hits, 0);
  assert.equal(await inNew(evaluates(text + 'f1(2)')), '3x');
  assert.equal(stats().hits, 1);`));

test('an isolate keeps no text for the cache that takes much of its heap, unless another has compiled it', () => caches(`
  const large = text + '"' + 'ab'.repeat(1_500_000) + '".length';
  const small = { memoryLimit: 16 };
  const { alive } = ivm.engineStats();
  assert.equal(await inNew(evaluates(large), small), 3_000_000);
  await waitFor(() => ivm.engineStats().alive === alive);
  assert.deepEqual(stats(), { bytes: 0, hits: 0 });
  assert.equal(await inNew(evaluates(large), small), 3_000_000);
  await written();`));

test('scripts and modules', () => caches(`
  const runs = async (isolate, context) => (await isolate.compileScript(text + 'f2(2)')).run(context);
  const imports = async (isolate, context) => {
    const module = await isolate.compileModule(text + 'export default f3(2)');
    await module.instantiate(context, () => {});
    await module.evaluate();
    return module.namespace.get('default');
  };
  for (const [work, expected] of [[runs, '4x'], [imports, '5x']]) {
    const before = stats();
    assert.equal(await inNew(work), expected);
    await written(before.bytes);
    assert.equal(await inNew(work), expected);
    assert.equal(stats().hits, before.hits + 1);
  }
  // A module is not a script.
  await inNew(evaluates(text + 'f2(3)'));
  const { hits } = stats();
  await inNew((isolate) => isolate.compileModule(text + 'f2(3)'));
  assert.equal(stats().hits, hits);`));

test('sandboxes', () => caches(`
  for (const [make, code, expected] of [
    [() => ivm.createSandbox({}), text + 'return f1(4)', '5x'],
    [() => ivm.createSandbox({}), 'async () => { ' + text + 'return f2(4); }', '6x'],
    [() => new ivm.AgentSandbox(), text + 'return f3(4)', '7x'],
    [() => new ivm.AgentSandbox({ modules: {} }), text + 'export default f4(4)', '8x'],
  ]) {
    const before = stats();
    const execute = async () => {
      const sandbox = make();
      const result = await sandbox.execute(code);
      assert.equal(result.result, expected, JSON.stringify(result));
      sandbox.dispose?.();
    };
    await execute();
    await written(before.bytes);
    await execute();
    assert.ok(stats().hits > before.hits, code.slice(0, 20));
  }`));

test('code is of its own text, name and position', () => caches(`
  const other = filler('y');
  assert.equal(other.length, text.length);
  const thrower = (text) => text + 'function fails() { throw new Error("e"); }';
  const stackOf = (isolate, context, name) => context.evalSync('try { fails() } catch ({ stack }) { stack }');
  const evaluated = async (text, options) => inNew(async (isolate, context) => {
    await context.eval(thrower(text), options);
    return stackOf(isolate, context) + context.evalSync('f1(1)') + context.evalSync('String(f5)');
  });
  await evaluated(text, { filename: 'file:///one.js' });
  await written();
  const cached = await evaluated(text, { filename: 'file:///one.js' });
  assert.equal(stats().hits, 1);
  assert.match(cached, /one\\.js:601:26/);
  assert.match(cached, /2xfunction f5\\(a\\) { return a \\+ 5 \\+ 'x'; }$/);
  assert.match(await evaluated(other, { filename: 'file:///one.js' }), /one\\.js:601:26[^]*2yfunction f5/);
  assert.match(await evaluated(text, { filename: 'file:///two.js', lineOffset: 7 }), /two\\.js:608:26[^]*2xfunction f5/);
  assert.equal(stats().hits, 1);`));

test('import() in cached code is that of its own module', () => caches(`
  const code = text + 'export const load = async () => (await import("dependency")).default';
  const loads = async (isolate, context, others) => {
    const made = async (code, resolve) => {
      const module = await isolate.compileModule(code);
      await module.instantiate(context, resolve);
      await module.evaluate();
      return module;
    };
    const dependency = await made('export default "own"', () => {});
    for (let i = 0; i < others; i += 1) await made('export const other = () => import("x");', () => { throw new Error('of another module'); });
    const module = await made(code, () => dependency);
    return module.namespace.get('load', { reference: true }).then((load) => load.apply(undefined, [], { result: { promise: true } }));
  };
  assert.equal(await inNew((isolate, context) => loads(isolate, context, 1)), 'own');
  await written();
  for (const others of [0, 1, 5]) assert.equal(await inNew((isolate, context) => loads(isolate, context, others)), 'own');
  assert.equal(stats().hits, 3);`));

test('short texts and failures are not cached', () => caches(`
  for (let i = 0; i < 3; i += 1) assert.equal(await inNew(evaluates('1 + 1')), 2);
  for (let i = 0; i < 3; i += 1) await errorOf(() => inNew(evaluates(text + 'let let = 1')));
  assert.deepEqual(stats(), { bytes: 0, hits: 0 });`));

test('inspected isolates, isolates of guests, and code with a cache of its own do without', () => caches(`
  await inNew(evaluates(text));
  await written();
  const { bytes } = stats();
  await inNew(evaluates(text), { inspector: true });
  await inNew((isolate) => isolate.compileScript(text, { produceCachedData: true }));
  context.global.setSync('ivm', ivm);
  context.global.setSync('text', text);
  context.evalSync('{ const isolate = new ivm.Isolate(); isolate.createContextSync().evalSync(text); isolate.dispose(); }');
  assert.deepEqual(stats(), { bytes, hits: 0 });
  await inNew(evaluates(text));
  assert.equal(stats().hits, 1);`));

test('a heap without room for the code does without', () => caches(`
  const large = text + '"' + 'ab'.repeat(1_250_000) + '".length';
  assert.equal(await inNew(evaluates(large)), 2_500_000);
  await written();
  assert.equal(await inNew(evaluates(large), { memoryLimit: 8 }), 2_500_000);
  assert.equal(stats().hits, 0);
  assert.equal(await inNew(evaluates(large)), 2_500_000);
  assert.equal(stats().hits, 1);`));

test('each snapshot has code of its own', () => caches(`
  const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.base = 10; function help(a) { return a + base; }' }]);
  const code = text + '[f1(1), typeof help === "function" ? help(f2.length) : 0].join()';
  for (const [options, expected] of [[{}, '2x,0'], [{ snapshot }, '2x,11']]) {
    const { bytes, hits } = stats();
    assert.equal(await inNew(evaluates(code), options), expected);
    await written(bytes);
    assert.equal(stats().hits, hits);
    assert.equal(await inNew(evaluates(code), options), expected);
    assert.equal(stats().hits, hits + 1);
  }`));

test('a call that waits comes before the texts that are still to be written', () => caches(`
  const evaluatesAll = (texts) => (isolate, context) => Promise.all(texts.map((text) => context.eval(text)));
  // A caller's thread would take the isolate, and end the writing.
  ivm.configureEngine({ syncCalls: 'thread' });
  // An isolate that lives has not written the texts that it was the first to compile.
  const first = [];
  // Whether the call is posted while the isolate writes is a matter of chance.
  for (let attempt = 0; ; attempt += 1) {
    assert.ok(attempt < 40, 'calls always wait for all texts');
    const texts = Array.from({ length: 8 }, (_, i) => filler(attempt + '.' + i).repeat(6));
    first.push(new ivm.Isolate());
    await evaluatesAll(texts)(first[attempt], await first[attempt].createContext());
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    const before = stats().bytes;
    await evaluatesAll(texts)(isolate, context);
    await waitFor(() => stats().bytes > before);
    context.evalSync('1');
    const during = stats().bytes;
    // The rest follows.
    let after = during;
    for (let still = 0; still < 10; still += 1) {
      await sleep(5);
      if (stats().bytes !== after) { after = stats().bytes; still = 0; }
    }
    isolate.dispose();
    if (during > before && during < after) break;
  }`));

test('it can be switched off', () => caches(`
  await inNew(evaluates(text));
  await written();
  assert.equal(ivm.configureEngine().codeCache, true);
  assert.equal(ivm.configureEngine({ codeCache: false }).codeCache, false);
  assert.deepEqual(stats(), { bytes: 0, hits: 0 });
  for (let i = 0; i < 4; i += 1) await inNew(evaluates(text));
  assert.deepEqual(stats(), { bytes: 0, hits: 0 });
  assert.throws(() => ivm.configureEngine({ codeCache: 1 }), { code: 'ERR_INVALID_ARG', message: '\`codeCache\` must be a boolean' });
  ivm.configureEngine({ codeCache: true });
  await inNew(evaluates(text));
  await written();`));
