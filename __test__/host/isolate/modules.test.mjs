// Modules under attack, and at awkward moments: resolvers that never answer, floods of imports, limits, disposal. Each program must finish
// by itself.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const HELP = `
  const none = () => {};
  const never = () => new Promise(none);
  const make = (code, resolve = none, where = context) => {
    const module = isolate.compileModuleSync(code);
    module.instantiateSync(where, resolve);
    return module;
  };
`;
const holds = (code, settings) => passes(HELP + code, settings);

describe('a resolver that never answers', () => {
  test('keeps no process alive', () => holds(`
    const module = isolate.compileModuleSync('import "x"');
    module.instantiate(context, never).then(() => assert.fail(), () => assert.fail());
    assert.equal(await make('await import("x")', never).evaluate(), undefined);
  `));

  test('is abandoned with the isolate, however that ends', () => holds(`
    const ends = {
      disposed: [(each) => each.dispose(), 'ERR_ISOLATE_DISPOSED'],
      memory: [(each, where) => where.eval('const all = []; for (;;) all.push(new Array(1e4).fill(1.5))').catch(none), 'ERR_ISOLATE_MEMORY'],
    };
    const alive = setInterval(none, 1_000);
    for (const [end, code] of Object.values(ends)) {
      const each = new ivm.Isolate({ memoryLimit: 16 });
      const where = each.createContextSync();
      const linked = errorOf(() => each.compileModuleSync('import "x"; import "y"').instantiate(where, never));
      const importing = each.compileModuleSync('await import("x")');
      importing.instantiateSync(where, never);
      const imported = errorOf(() => importing.evaluate({ promise: true }));
      await end(each, where);
      assert.equal((await linked).code, code);
      assert.match((await imported).code, /^ERR_ISOLATE_(DISPOSED|MEMORY)$/);
    }
    clearInterval(alive);
    otherWorks();
  `));

  test('does not delay other calls', () => holds(`
    const stuck = isolate.compileModuleSync('import "x"');
    stuck.instantiate(context, never).catch(none);
    const dependency = isolate.compileModuleSync('export default 1');
    const importing = make('export const load = (name) => import(name).then((x) => x.default)', (specifier) => (specifier === 'stuck' ? stuck : dependency));
    importing.evaluateSync();
    const load = importing.namespace.getSync('load', { reference: true });
    const result = { result: { promise: true } };
    assert.match((await errorOf(() => load.apply(undefined, ['stuck'], result))).message, /being linked by another linker/);
    assert.equal(await load.apply(undefined, ['x'], result), 1);
    isolate.dispose();
  `));
});

describe('floods', () => {
  test('of import(), endless', () => holds(`
    let asked = 0;
    const module = make('for (;;) import("x").catch(() => {})', () => { asked += 1; throw new Error('no'); });
    assert.equal(syncError(() => module.evaluateSync({ timeout: 200 })).code, 'ERR_ISOLATE_TIMEOUT');
    const again = make('for (;;) import("x").catch(() => {})', () => { asked += 1; throw new Error('no'); });
    assert.match((await errorOf(() => again.evaluate({ timeout: 500 }))).code, /^ERR_ISOLATE_(TIMEOUT|MEMORY)$/);
    if (!isolate.isDisposed) isolate.dispose();
    otherWorks();
  `, { timeout: 60_000, options: '{ memoryLimit: 64 }' }));

  test('of import() with long specifiers', () => holds(`
    const module = make('const long = "x".repeat(1 << 20); export const all = []; for (let i = 0; i < 200; i += 1) all.push(import(long + i).catch((error) => error.name + error.message));', never);
    module.evaluateSync();
    const first = await module.namespace.getSync('all', { reference: true }).get(199, { promise: true });
    assert.match(first, /^RangeErrorToo many calls/);
    isolate.dispose();
  `, { timeout: 60_000, options: '{ memoryLimit: 64 }' }));

  test('of requests: many in one module, and a long chain', () => holds(`
    const leaf = isolate.compileModuleSync('export {}');
    const wide = isolate.compileModuleSync(Array.from({ length: 20_000 }, (_, i) => 'import "' + i + '";').join(''));
    wide.instantiateSync(context, () => leaf);
    wide.evaluateSync();
    const chain = Array.from({ length: 20_000 }, (_, i) => isolate.compileModuleSync('import "' + (i + 1) + '"'));
    const resolve = (specifier) => chain[specifier] ?? leaf;
    assert.equal(syncError(() => chain[0].instantiateSync(context, resolve)).message, 'Maximum call stack size exceeded');
    assert.equal((await errorOf(() => chain[0].instantiate(context, resolve))).message, 'Maximum call stack size exceeded');
    chain[19_000].instantiateSync(context, resolve);
    chain[19_000].evaluateSync();
    isolate.dispose();
  `, { timeout: 60_000 }));
});

describe('evaluation', () => {
  test('within evaluation', () => holds(`
    const modules = {};
    const resolve = (specifier) => modules[specifier];
    modules.a = isolate.compileModuleSync('import "b"; again(); export const v = 1');
    modules.b = isolate.compileModuleSync('import "a"; export const w = 2');
    modules.c = isolate.compileModuleSync('import { v } from "a"; import { w } from "b"; export const sum = () => v + w');
    modules.a.instantiateSync(context, resolve);
    const errors = [];
    context.global.setSync('again', () => {
      for (const name of ['a', 'b', 'c']) {
        try {
          modules[name].instantiateSync(context, resolve);
          modules[name].evaluateSync();
          errors.push(name);
        } catch (error) {
          errors.push(error.message);
        }
      }
    });
    modules.a.evaluateSync();
    assert.deepEqual(errors.slice(0, 1), ['Module is being evaluated']);
    for (const module of Object.values(modules)) module.evaluateSync();
    assert.equal(modules.c.namespace.getSync('sum')(), 3);
    isolate.dispose();
  `));

  test('with exhausted memory', () => holds(`
    const module = make('export const all = []; for (;;) all.push(new Array(1e4).fill(1.5))');
    assert.equal(syncError(() => module.evaluateSync()).code, 'ERR_ISOLATE_MEMORY');
    assert.equal(isolate.isDisposed, true);
    assert.equal(syncError(() => module.evaluateSync()).code, 'ERR_ISOLATE_MEMORY');
    otherWorks();
  `, { options: '{ memoryLimit: 16 }' }));

  test('disposed in the middle, from its own resolver and from its own call', () => holds(`
    const module = make('await import("x")', () => { isolate.dispose(); return module; });
    assert.equal((await errorOf(() => module.evaluate({ promise: true }))).code, 'ERR_ISOLATE_DISPOSED');
    const other = new ivm.Isolate();
    const where = other.createContextSync();
    where.global.setSync('end', () => other.dispose());
    const ending = other.compileModuleSync('end(); for (;;);');
    ending.instantiateSync(where, none);
    assert.equal(syncError(() => ending.evaluateSync()).code, 'ERR_ISOLATE_DISPOSED');
  `));

  test('with modified built-ins', () => holds(`
    context.evalSync(\`
      Promise.prototype.then = function () { throw new Error('then'); };
      Object.prototype.resolve = 1; Array.prototype[Symbol.iterator] = null;
      Object.defineProperty(Object.prototype, 'then', { configurable: true, get() { throw new Error('get then'); } });
      globalThis.Promise = null;
    \`);
    const dependency = isolate.compileModuleSync('export const x = 4');
    const module = make('import { x } from "x"; export let a = 0; const y = await import("x"); a = x + y.x;', () => dependency);
    await module.evaluate({ promise: true });
    assert.equal(module.namespace.getSync('a'), 8);
    const thenable = make('export const p = (async () => { try { return await import("x"); } catch (error) { return error; } })()',
      () => isolate.compileModuleSync('export const then = (resolve) => resolve(9)'));
    thenable.evaluateSync();
    isolate.dispose();
  `));
});

describe('the host', () => {
  test('stays alive for a pending import', () => holds(`
    const received = [];
    context.global.setSync('done', new ivm.Callback((value) => { received.push(value); }, { ignored: true }));
    const code = 'import("x").then(async (x) => { done(x.default); done((await import("y")).default); })';
    make(code, async (specifier) => {
      await sleep(20);
      return isolate.compileModuleSync('await 0; export default "' + specifier + '"');
    }).evaluate();
    process.on('exit', () => { process.exitCode = received.join() === 'x,y' ? 0 : 9; });
  `));

  test('gets no unhandled rejection for errors that are reported elsewhere', () => holds(`
    process.on('unhandledRejection', (error) => { console.error('unhandled', error); process.exit(3); });
    const failing = async (specifier) => { throw new Error(specifier); };
    const module = isolate.compileModuleSync('import "x"; import "y"; import "z"');
    assert.equal((await errorOf(() => module.instantiate(context, failing))).message, 'x');
    const importing = make('export const outcome = await import("x").catch((error) => error.message)', failing);
    await importing.evaluate({ promise: true });
    assert.equal(importing.namespace.getSync('outcome'), 'x');
    await sleep(20);
    isolate.dispose();
  `));
});
