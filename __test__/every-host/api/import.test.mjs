// `import()` in modules, with the resolver that they were instantiated with. isolated-vm refuses it everywhere.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

const none = () => undefined;

test('scripts cannot import', () => withContext(async ({ isolate, context }) => {
  const refused = failure(Error, 'Not supported');
  await assert.rejects(context.eval('import("x")', { promise: true }), refused);
  await assert.rejects(context.evalClosure('return import("x")', [], { result: { promise: true } }), refused);
  await assert.rejects(isolate.compileScriptSync('import("x")').run(context, { promise: true }), refused);
}));

/** Runs modules. The first is evaluated; the result is what its `done` resolves to. */
async function run({ isolate, context }, sources, change = (resolve) => resolve) {
  const modules = {};
  const asked = [];
  for (const [name, code] of Object.entries(sources)) modules[name] = isolate.compileModuleSync(code);
  const nameOf = (module) => Object.keys(modules).find((name) => modules[name] === module);
  const resolve = change((specifier, referrer, attributes) => {
    asked.push([specifier, nameOf(referrer), { ...attributes }]);
    if (modules[specifier] === undefined) throw new RangeError(`no ${specifier}`);
    return modules[specifier];
  });
  modules.main.instantiateSync(context, resolve);
  modules.main.evaluateSync();
  const result = await modules.main.namespace.get('done', { promise: true, copy: true });
  return { result, asked, modules };
}

describe('import()', ours, () => {
  test('resolves, links, evaluates and returns the namespace', () => withContext(async (world) => {
    const { result, asked } = await run(world, {
      main: `import { count } from 'count'; export const done = (async () => {
        const a = await import('a');
        return [a.value, a === await import('a'), count()];
      })()`,
      a: 'import { b } from "b"; import { count } from "count"; export const value = "a" + b; count();',
      b: 'import "a"; await 0; export const b = "b";',
      count: 'let n = 0; export const count = () => { n += 1; return n; }',
    });
    assert.deepEqual(result, ['ab', true, 2]);
    assert.deepEqual(asked, [
      ['count', 'main', {}], ['a', 'main', {}], ['b', 'a', {}], ['count', 'a', {}], ['a', 'b', {}], ['a', 'main', {}],
    ]);
  }));

  test('with attributes', () => withContext(async (world) => {
    const { result, asked } = await run(world, {
      main: `const message = (error) => error.name + ': ' + error.message + ' ' + error.code;
        export const done = Promise.all([
          import('data', { with: { type: 'json' } }).then((data) => data.default),
          import('data', { with: { mode: 'x' } }).catch(message),
          import('data', { with: 1 }).catch((error) => error.name),
        ])`,
      data: 'export default 5',
    });
    assert.deepEqual(result, [5, 'TypeError: Import attribute "mode" is not supported ERR_ISOLATE_UNSUPPORTED', 'TypeError']);
    assert.deepEqual(asked, [['data', 'main', { type: 'json' }]]);
  }));

  test('an asynchronous resolver', () => withContext(async (world) => {
    const { result } = await run(world, { main: 'export const done = import("a").then((a) => a.v)', a: 'export { v } from "b"', b: 'export const v = 3' },
      (resolve) => async (...args) => {
        await new Promise((done) => { setImmediate(done); });
        return resolve(...args);
      }).catch((error) => error);
    assert.equal(result, 3);
  }));

  test('failures reject, each time', () => withContext(async (world) => {
    const { result } = await run(world, {
      main: `const errorOf = async (specifier) => { try { await import(specifier); } catch (error) { return error.name + ': ' + error.message; } };
        export const done = (async () => [
          await errorOf('missing'), await errorOf('missing'), await errorOf('throws'), await errorOf('throws'), await errorOf('late'),
          await errorOf('unlinked'), await errorOf({ toString() { throw new SyntaxError('mine'); } }),
        ])()`,
      throws: 'throw new TypeError("thrown")',
      late: 'await 0; throw new TypeError("late")',
      unlinked: 'import { nothing } from "late"',
    });
    assert.deepEqual(result, [
      'RangeError: no missing', 'RangeError: no missing', 'TypeError: thrown', 'TypeError: thrown', 'TypeError: late',
      "SyntaxError: The requested module 'late' does not provide an export named 'nothing'", 'SyntaxError: mine',
    ]);
  }));

  test('the resolver must return a module of the isolate', () => withContext(async (world) => {
    const other = new ivm.Isolate();
    const wrong = { object: {}, foreign: other.compileModuleSync('1'), released: world.isolate.compileModuleSync('1') };
    wrong.released.release();
    const { result } = await run(world, {
      main: `export const done = Promise.all(['object', 'foreign', 'released'].map((name) => import(name).catch((error) => error.message)))`,
    }, () => (specifier) => wrong[specifier]);
    assert.deepEqual(result, [
      'Resolved dependency was not `Module`', 'Invalid context', 'Module has been released',
    ]);
    other.dispose();
  }));

  test('in code that a module generates', () => withContext(async (world) => {
    const { result } = await run(world, {
      main: 'export const done = Promise.all([eval("import(\'a\')"), new Function("return import(\'a\')")()]).then((all) => all.map((a) => a.v))',
      a: 'export const v = 1',
    });
    assert.deepEqual(result, [1, 1]);
  }));

  test('several concurrent imports with common dependencies', () => withContext(async (world) => {
    const { result, asked } = await run(world, {
      main: `export const done = Promise.all([import('a'), import('b'), import('a'), import('missing').catch((error) => error), import('c')])
        .then((all) => [all[0].v, all[1].v, all[0] === all[2], all[3].message, all[4].v])`,
      a: 'import { c } from "c"; import { b } from "b"; export const v = "a" + c',
      b: 'import { c } from "c"; import "a"; export const b = 1; export const v = "b" + c',
      c: 'export const c = "c"; export const v = c',
    }, (resolve) => async (...args) => {
      await undefined;
      return resolve(...args);
    });
    assert.deepEqual(result, ['ac', 'bc', true, 'no missing', 'c']);
    // Each request of a module is resolved once, however often the module is imported.
    assert.deepEqual(asked.filter(([, referrer]) => referrer !== 'main').map(([specifier, referrer]) => `${referrer}>${specifier}`).toSorted(),
      ['a>b', 'a>c', 'b>a', 'b>c']);
  }));

  test('a module can import itself, and modules that await it', () => withContext(async (world) => {
    const { result } = await run(world, {
      main: 'export const v = 1; export const done = (async () => [(await import("main")).v, (await import("a")).w])()',
      a: 'import * as main from "main"; export const w = (await import("b")).x + main.v',
      b: 'export const x = 1',
    });
    assert.deepEqual(result, [1, 2]);
  }));

  test('delays top-level await, under the limits of the evaluation', () => withContext(async ({ isolate, context }) => {
    const make = (code) => isolate.compileModuleSync(code);
    const module = make('export const a = (await import("x")).default');
    module.instantiateSync(context, async () => make('export default 9'));
    assert.equal(await module.evaluate({ promise: true }), undefined);
    assert.equal(module.namespace.getSync('a'), 9);
    for (const method of ['evaluate', 'evaluateSync']) {
      const stuck = make('await import("x")');
      stuck.instantiateSync(context, () => new Promise(none));
      await assert.rejects(async () => stuck[method]({ promise: true, deadline: 50 }), { code: 'ERR_ISOLATE_DEADLINE' });
      // The imported code runs later, but on behalf of this call.
      const slow = make('await import("x")');
      slow.instantiateSync(context, () => make('for (;;);'));
      // A synchronous call has returned when the code is stopped, and its promise is rejected by `import()`.
      const error = method === 'evaluate' ? { code: 'ERR_ISOLATE_TIMEOUT' } : failure(Error, 'Module was stopped while it was evaluated');
      await assert.rejects(async () => slow[method]({ promise: true, timeout: 50 }), error);
    }
    assert.equal(context.evalSync('1'), 1);
  }));

  test('without a handle on the module', () => withContext(async ({ isolate, context }) => {
    const dependency = isolate.compileModuleSync('export default "still there"');
    const module = isolate.compileModuleSync('globalThis.load = () => import("x").then((x) => x.default)');
    let seen;
    module.instantiateSync(context, (specifier, referrer) => {
      seen = [specifier, referrer === module];
      return dependency;
    });
    module.evaluateSync();
    module.release();
    assert.equal(await context.eval('load()', { promise: true }), 'still there');
    assert.deepEqual(seen, ['x', true]);
  }));

  test('without any handle, while a call is pending', ours, async () => {
    const isolate = new ivm.Isolate();
    const start = () => {
      const context = isolate.createContextSync();
      context.global.setSync('pause', new ivm.Callback(() => 1, { async: true }));
      const module = isolate.compileModuleSync('await pause(); await import("x"); await pause(); await import("x")');
      const dependency = isolate.compileModuleSync('await pause()');
      module.instantiateSync(context, () => dependency);
      const end = module.evaluate({ promise: true });
      // As a garbage collection would do.
      module.release();
      context.release();
      return end;
    };
    assert.equal(await start(), undefined);
    isolate.dispose();
  });

  test('each context has its own module graph', () => withContext(async ({ isolate, context }) => {
    const other = isolate.createContextSync();
    for (const [each, name] of [[context, 'one'], [other, 'two']]) {
      const module = isolate.compileModuleSync('globalThis.load = () => import("x").then((x) => [x.default, x.where === globalThis])');
      module.instantiateSync(each, () => isolate.compileModuleSync(`export default "${name}"; export const where = globalThis`));
      module.evaluateSync();
    }
    assert.deepEqual(await context.eval('load()', { promise: true, copy: true }), ['one', true]);
    assert.deepEqual(await other.eval('load()', { promise: true, copy: true }), ['two', true]);
  }));

  test('leaves no memory', () => withContext(async ({ isolate, context }) => {
    const dependency = isolate.compileModuleSync('export default 1');
    const module = isolate.compileModuleSync('export const load = () => import("x").then((x) => x.default)');
    module.instantiateSync(context, () => dependency);
    module.evaluateSync();
    const load = module.namespace.getSync('load', { reference: true });
    const call = () => load.apply(undefined, [], { result: { promise: true } });
    await call();
    const before = isolate.referenceCount;
    for (let round = 0; round < 20; round += 1) assert.equal(await call(), 1);
    // The host's collector may have released others meanwhile.
    assert.ok(isolate.referenceCount <= before, `${isolate.referenceCount} > ${before}`);
  }));

  test('disposal rejects pending imports', () => withContext(async () => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    const module = isolate.compileModuleSync('await import("x")');
    let asked;
    const started = new Promise((resolve) => { asked = resolve; });
    module.instantiateSync(context, () => {
      asked();
      return new Promise(none);
    });
    const end = module.evaluate({ promise: true });
    await started;
    isolate.dispose();
    await assert.rejects(end, { code: 'ERR_ISOLATE_DISPOSED' });
  }));
});
