// `importModuleDynamically`: `import()` in scripts.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

/** A world whose scripts import from `sources`. `asked` has what the handler got. */
async function withImports(sources, run, options = {}) {
  const asked = [];
  const modules = new Map();
  const isolate = new ivm.Isolate({
    memoryLimit: 32,
    importModuleDynamically: (specifier, filename, attributes) => {
      asked.push([specifier, filename, { ...attributes }]);
      const known = modules.get(specifier);
      if (known !== undefined) return known;
      if (sources[specifier] === undefined) throw new RangeError(`no ${specifier}`);
      const module = isolate.compileModule(sources[specifier]);
      modules.set(specifier, module);
      return module;
    },
    ...options,
  });
  try {
    const context = await isolate.createContext();
    const evaluate = (code, more) => context.eval(code, { promise: true, copy: true, deadline: 20_000, ...more });
    return await run({ isolate, context, asked, modules, evaluate });
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

test('a script imports a module, which is instantiated and evaluated once', () => withImports({ a: 'globalThis.count = (globalThis.count ?? 0) + 1; export const value = 5; export default 1' }, async ({ evaluate, asked }) => {
  assert.deepEqual(await evaluate('import("a").then(async (a) => [a.value, a.default, a === await import("a"), count])', { filename: 'file:///main.js' }), [5, 1, true, 1]);
  assert.deepEqual(asked, [['a', 'file:///main.js', {}], ['a', 'file:///main.js', {}]]);
}));

test('from scripts, closures, functions of earlier scripts and code from strings', () => withImports({ a: 'export default 5' }, async ({ isolate, context, evaluate }) => {
  assert.equal(await context.evalClosure('return import("a").then((a) => a.default + $0)', [1], { result: { promise: true } }), 6);
  const script = await isolate.compileScript('globalThis.later = () => import("a"); import("a").then((a) => a.default)');
  assert.equal(await script.run(context, { promise: true }), 5);
  assert.equal(await evaluate('later().then((a) => a.default)'), 5);
  assert.equal(await evaluate('(0, eval)("import(\\"a\\")").then((a) => a.default)'), 5);
  assert.equal(await evaluate('new Function("return import(\\"a\\")")().then((a) => a.default)'), 5);
}));

test('imports of imported modules, static and dynamic', () => withImports({
  a: 'import { b } from "b"; export const value = b + (await import("c")).c;', b: 'export const b = "b"', c: 'await 0; export const c = "c"',
}, async ({ evaluate, asked }) => {
  assert.equal(await evaluate('import("a").then((a) => a.value)', { filename: 'main.js' }), 'bc');
  assert.deepEqual(asked, [['a', 'main.js', {}], ['b', undefined, {}], ['c', undefined, {}]]);
}));

test('a module that is instantiated and evaluated already', () => withImports({}, async ({ isolate, context, modules, evaluate }) => {
  const greeting = await isolate.compileModule('globalThis.runs = (globalThis.runs ?? 0) + 1; export const message = "hello";');
  await greeting.instantiate(context, assert.fail);
  await greeting.evaluate();
  modules.set('greeting', greeting);
  assert.equal(await evaluate('import("greeting").then(({ message }) => message + runs)'), 'hello1');
}));

test('modules keep the resolver that they were instantiated with', () => withImports({ a: 'export default "of the isolate"' }, async ({ isolate, context }) => {
  const own = await isolate.compileModule('export default "of the module"');
  const module = await isolate.compileModule('export const done = import("a").then((a) => a.default)');
  await module.instantiate(context, () => own);
  await module.evaluate();
  assert.equal(await module.namespace.get('done', { promise: true }), 'of the module');
}));

test('attributes', () => withImports({ a: 'export default 5' }, async ({ evaluate, asked }) => {
  assert.equal(await evaluate('import("a", { with: { type: "json" } }).then((a) => a.default)'), 5);
  assert.deepEqual(asked[0][2], { type: 'json' });
  await assert.rejects(evaluate('import("a", { with: { mode: "x" } })'), { message: 'Import attribute "mode" is not supported' });
}));

describe('failures', () => {
  test('of the handler reject the import', () => withImports({}, async ({ evaluate }) => {
    await assert.rejects(evaluate('import("missing")'), { name: 'RangeError', message: 'no missing' });
    assert.equal(await evaluate('import("missing").catch((error) => error.message)'), 'no missing');
  }));

  test('what is no module of the isolate is refused', async () => {
    const other = new ivm.Isolate();
    const foreign = await other.compileModule('export default 1');
    for (const [value, message] of [[5, 'Resolved dependency was not `Module`'], [undefined, 'Resolved dependency was not `Module`'], [Promise.resolve({}), 'Resolved dependency was not `Module`'], [foreign, /./]]) {
      await withImports({}, async ({ evaluate }) => {
        await assert.rejects(evaluate('import("a")'), { message });
        assert.equal(await evaluate('1 + 1'), 2);
      }, { importModuleDynamically: () => value });
    }
    other.dispose();
  });

  test('of compiling, instantiating and evaluating reject the import', () => withImports({ syntax: 'export {', link: 'import { x } from "empty"', empty: '', throws: 'throw new TypeError("no")' }, async ({ evaluate }) => {
    assert.deepEqual(await evaluate('Promise.all(["syntax", "link", "throws"].map((name) => import(name).catch((error) => error.name)))'), ['SyntaxError', 'SyntaxError', 'TypeError']);
  }));

  test('a handler that does not answer ends with the deadline', () => withImports({}, async ({ evaluate }) => {
    await assert.rejects(evaluate('import("a")', { deadline: 200 }), { code: 'ERR_ISOLATE_DEADLINE' });
  }, { importModuleDynamically: () => new Promise(() => {}) }));

  test('without the option, scripts cannot import', () => withImports({}, async ({ evaluate }) => {
    await assert.rejects(evaluate('import("a")'), { message: 'Not supported' });
    assert.equal(await evaluate('import("a").catch((error) => error.code)'), 'ERR_ISOLATE_UNSUPPORTED');
  }, { importModuleDynamically: undefined }));

  test('anything but a function is refused by name', () => {
    for (const wrong of [1, 'x', {}, true]) {
      assert.throws(() => new ivm.Isolate({ importModuleDynamically: wrong }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`importModuleDynamically` must be a function' });
    }
  });
});

test('isolates that are made one after another do not share handlers', async () => {
  for (let index = 0; index < 5; index += 1) {
    await withImports({ a: `export default ${index}` }, async ({ evaluate }) => assert.equal(await evaluate('import("a").then((a) => a.default)'), index));
    const plain = new ivm.Isolate({ memoryLimit: 32 });
    const context = await plain.createContext();
    await assert.rejects(context.eval('import("a")', { promise: true }), { message: 'Not supported' });
    plain.dispose();
  }
});

test('an isolate inside an isolate has its own handler, or none', () => withImports({ a: 'export default "of the host"' }, async ({ context, evaluate }) => {
  await context.global.set('ivm', ivm);
  assert.deepEqual(await evaluate(`(async () => {
    const run = async (options) => {
      const inner = new ivm.Isolate(options);
      const context = await inner.createContext();
      return [inner, (code) => context.eval(code, { promise: true })];
    };
    const [, plain] = await run({});
    const [inner, own] = await run({ importModuleDynamically: (specifier) => inner.compileModule('export default "of the guest, ' + specifier + '"') });
    return [await plain('import("a").catch((error) => error.message)'), await own('import("a").then((a) => a.default)')];
  })()`), ['Not supported', 'of the guest, a']);
}));

test('in contexts that have web APIs, timers or a console, and in modules beside them', () => withImports({ a: 'export default 5' }, async ({ isolate, evaluate }) => {
  for (const options of [{ web: true }, { timers: true }, { console() {} }, { web: ['URL'], timers: true, console: true }]) {
    const context = await isolate.createContext(options);
    assert.equal(await context.eval('import("a").then((a) => a.default)', { promise: true }), 5, JSON.stringify(options));
    const module = await isolate.compileModule('export default (await import("b")).default');
    await module.instantiate(context, () => isolate.compileModule('export default 6'));
    await module.evaluate({ promise: true });
    assert.equal(await module.namespace.get('default'), 6, JSON.stringify(options));
  }
  assert.equal(await evaluate('import("a").then((a) => a.default)'), 5);
}));
