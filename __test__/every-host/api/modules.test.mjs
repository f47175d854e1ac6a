// ES modules: compiling, evaluating, namespaces. Tests that are not marked `ours` run against isolated-vm as well.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';
import { graph } from '../../api/modules.mjs';

const none = () => undefined;

function evaluated(isolate, context, code) {
  const module = isolate.compileModuleSync(code);
  module.instantiateSync(context, none);
  module.evaluateSync();
  return module;
}

describe('Module', () => {
  test('the class is not exported, its members are those of isolated-vm', () => withContext(({ isolate }) => {
    assert.equal(ivm.Module, undefined);
    const module = isolate.compileModuleSync('1');
    const prototype = Object.getPrototypeOf(module);
    assert.equal(prototype.constructor.name, 'Module');
    assert.deepEqual(Object.keys(prototype), [
      'dependencySpecifiers', 'instantiate', 'instantiateSync', 'evaluate', 'evaluateSync', 'namespace', 'release',
    ]);
    assert.deepEqual([Object.isFrozen(prototype), Object.isFrozen(module), Object.keys(module)], [true, false, []]);
  }));

  test('cannot be constructed', ours, () => withContext(({ isolate }) => {
    const { constructor } = isolate.compileModuleSync('1');
    assert.throws(() => new constructor(), failure(TypeError, '`Module` constructor is private'));
    assert.throws(() => constructor.prototype.evaluateSync.call({}), failure(TypeError, 'Illegal invocation'));
    assert.throws(() => constructor.prototype.dependencySpecifiers, failure(TypeError, '`undefined` requires `this` to be something else'));
  }));

  test('is transferable', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('export let a = 1');
    const again = context.evalClosureSync('globalThis.kept = $0; return $0', [module]);
    assert.notEqual(again, module);
    again.instantiateSync(context, none);
    module.evaluateSync();
    assert.equal(again.namespace.getSync('a'), 1);
    assert.equal(context.evalSync('kept.constructor.name'), 'Module');
  }));
});

describe('compileModule', () => {
  test('arguments throw, options throw or reject', () => withContext(async ({ isolate }) => {
    for (const method of ['compileModule', 'compileModuleSync']) {
      assert.throws(() => isolate[method](), failure(TypeError, '`undefined` requires at least 1 parameter'));
      assert.throws(() => isolate[method](1), failure(TypeError, '`undefined` requires parameter 1 to be a string'));
      assert.throws(() => isolate[method]('1', 1), failure(TypeError, '`undefined` requires parameter 2 to be an object'));
    }
    assert.throws(() => isolate.compileModuleSync('1', { meta: 1 }), failure(TypeError, '`meta` must be a function'));
    await assert.rejects(isolate.compileModule('1', { meta: 1 }), failure(TypeError, '`meta` must be a function'));
    await assert.rejects(isolate.compileModule('1', { filename: 1 }), failure(TypeError, '`filename` must be a string'));
    isolate.compileModuleSync('1', { meta: null, filename: undefined });
  }));

  test('a `meta` callback must be a function of the isolate', () => withContext(async ({ isolate }) => {
    const refused = failure(Error, '`meta` callback must belong to entered isolate');
    assert.throws(() => isolate.compileModuleSync('1', { meta() {} }), refused);
    await assert.rejects(isolate.compileModule('1', { meta() {} }), refused);
  }));

  test('syntax errors name their position', () => withContext(async ({ isolate }) => {
    const options = { filename: 'a.mjs', lineOffset: 3 };
    assert.throws(() => isolate.compileModuleSync('let let', options), failure(SyntaxError, 'Unexpected strict mode reserved word [a.mjs:4:5]'));
    await assert.rejects(isolate.compileModule('\nx = @'), failure(SyntaxError, 'Invalid or unexpected token [<isolated-vm>:2:5]'));
  }));

  test('module code is strict and its stacks name the file', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('\nexport const self = this; throw new RangeError("x")', { filename: 'file:///m.mjs', lineOffset: 10 });
    module.instantiateSync(context, none);
    assert.throws(() => module.evaluateSync(), (error) => error instanceof RangeError && /\n {4}at file:\/\/\/m\.mjs:12:33\n {4}at \(<isolated-vm boundary>\)/.test(error.stack));
    assert.equal(module.namespace.getSync('self'), undefined);
  }));

  test('the compilation cache', () => withContext(async ({ isolate, context }) => {
    const code = 'export const foo = () => 123';
    const first = await isolate.compileModule(code, { produceCachedData: true });
    assert.deepEqual(Object.keys(first), ['cachedData']);
    const { cachedData } = first;
    assert.equal(cachedData.copy().constructor, ArrayBuffer);
    const second = isolate.compileModuleSync(code, { cachedData });
    assert.equal(second.cachedDataRejected, false);
    second.instantiateSync(context, none);
    second.evaluateSync();
    assert.equal(second.namespace.getSync('foo')(), 123);
  }));

  test('a cache of other code is refused', ours, () => withContext(({ isolate }) => {
    const { cachedData } = isolate.compileModuleSync('export const foo = () => 123', { produceCachedData: true });
    const { cachedData: scripts } = isolate.compileScriptSync('const foo = () => 123', { produceCachedData: true });
    assert.equal(isolate.compileModuleSync('void 0', { cachedData }).cachedDataRejected, true);
    assert.equal(isolate.compileModuleSync('const foo = () => 123', { cachedData: scripts }).cachedDataRejected, true);
    const both = isolate.compileModuleSync('void 1', { cachedData, produceCachedData: true });
    assert.equal(both.cachedDataRejected, true);
    assert.equal(isolate.compileModuleSync('void 1', { cachedData: both.cachedData }).cachedDataRejected, false);
    assert.equal(isolate.compileModuleSync('void 2', { cachedData: both.cachedData }).cachedDataRejected, true);
    assert.equal(isolate.compileModuleSync('void 1', { cachedData: both.cachedData, filename: 'other' }).cachedDataRejected, false);
    const same = isolate.compileScriptSync('void 1', { produceCachedData: true }).cachedData;
    assert.equal(isolate.compileModuleSync('void 1', { cachedData: same }).cachedDataRejected, true);
    assert.equal(isolate.compileScriptSync('void 1', { cachedData: both.cachedData }).cachedDataRejected, true);
  }));
});

describe('dependencySpecifiers', () => {
  test('names each request once, in order', () => withContext(({ isolate }) => {
    const module = isolate.compileModuleSync('import a from "a"; export * from "b"; import "a"; import c from "c" with { type: "json" }; import "a" with { type: "x" }');
    const specifiers = module.dependencySpecifiers;
    assert.deepEqual(specifiers, ['a', 'b', 'c', 'a']);
    assert.notEqual(module.dependencySpecifiers, specifiers);
    assert.equal(Object.isFrozen(specifiers), false);
    assert.deepEqual(isolate.compileModuleSync('1').dependencySpecifiers, []);
  }));

  test('any string is a valid specifier', ours, () => withContext(({ isolate }) => {
    assert.deepEqual(isolate.compileModuleSync('import "ü"; import "\\u{1f600}"').dependencySpecifiers, ['ü', '\u{1f600}']);
  }));
});

describe('evaluate', () => {
  test('options are checked and throw', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('1');
    for (const method of ['evaluate', 'evaluateSync']) {
      assert.throws(() => module[method](1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
      assert.throws(() => module[method]({ timeout: 'x' }), failure(TypeError, '`timeout` must be a 32-bit number'));
    }
    module.instantiateSync(context, none);
    assert.equal(module.evaluateSync({ copy: true, reference: true }), undefined);
  }));

  test('needs an instantiated module', () => withContext(async ({ isolate }) => {
    const module = isolate.compileModuleSync('1');
    assert.throws(() => module.evaluateSync(), failure(Error, 'Module is uninstantiated'));
    await assert.rejects(module.evaluate(), failure(Error, 'Module is uninstantiated'));
  }));

  test('happens once', () => withContext(async ({ isolate, context }) => {
    const module = evaluated(isolate, context, 'globalThis.count = (globalThis.count ?? 0) + 1; "completion"');
    assert.equal(module.evaluateSync(), undefined);
    assert.equal(await module.evaluate(), undefined);
    assert.equal(context.evalSync('count'), 1);
  }));

  test('errors of the code are thrown', () => withContext(async ({ isolate, context }) => {
    const make = (code) => {
      const module = isolate.compileModuleSync(code);
      module.instantiateSync(context, none);
      return module;
    };
    assert.throws(() => make('throw new TypeError("x")').evaluateSync(), failure(TypeError, 'x'));
    await assert.rejects(make('throw new TypeError("x")').evaluate(), failure(TypeError, 'x'));
    assert.throws(() => make('throw 4').evaluateSync(), (thrown) => thrown === 4);
    assert.throws(() => make('await 0; throw new RangeError("later")').evaluateSync(), failure(RangeError, 'later'));
    await assert.rejects(make('await 0; throw new RangeError("later")').evaluate(), failure(RangeError, 'later'));
    const failed = make('export let a = 1; throw new Error("x")');
    assert.throws(() => failed.evaluateSync(), failure(Error, 'x'));
    assert.equal(failed.namespace.getSync('a'), 1);
  }));

  test('a second evaluation throws the same error, as isolated-vm documents', ours, () => withContext(async ({ isolate, context }) => {
    for (const code of ['throw new TypeError("x")', 'await 0; throw new TypeError("x")']) {
      const module = isolate.compileModuleSync(code);
      module.instantiateSync(context, none);
      assert.throws(() => module.evaluateSync(), failure(TypeError, 'x'));
      assert.throws(() => module.evaluateSync(), failure(TypeError, 'x'));
      await assert.rejects(module.evaluate(), failure(TypeError, 'x'));
      await assert.rejects(module.evaluateSync({ promise: true }), failure(TypeError, 'x'));
    }
  }));

  test('errors of imported modules keep their identity', () => withContext(({ isolate, context }) => {
    const { modules, resolve } = graph(isolate, { a: 'import "b"', b: 'throw new RangeError("in b")' });
    modules.a.instantiateSync(context, resolve);
    assert.throws(() => modules.a.evaluateSync(), failure(RangeError, 'in b'));
  }));

  test('top-level await continues after the result', () => withContext(async ({ isolate, context }) => {
    let go;
    let asked;
    const started = new Promise((resolve) => { asked = resolve; });
    context.global.setSync('wait', new ivm.Reference(() => {
      asked();
      return new Promise((resolve) => { go = resolve; });
    }));
    const module = isolate.compileModuleSync(`
      export let a = 0; await 0; a = 1; a = await wait.apply(undefined, [], { result: { promise: true } });
    `);
    module.instantiateSync(context, none);
    assert.equal(await module.evaluate(), undefined);
    assert.equal(module.namespace.getSync('a'), 1);
    await started;
    go(2);
    while (await module.namespace.get('a') !== 2) await new Promise((resolve) => { setImmediate(resolve); });
  }));

  test('`promise` waits for top-level await', ours, () => withContext(async ({ isolate, context }) => {
    context.global.setSync('wait', new ivm.Callback(() => 5, { async: true }));
    const make = (code) => {
      const module = isolate.compileModuleSync(code);
      module.instantiateSync(context, none);
      return module;
    };
    for (const method of ['evaluate', 'evaluateSync']) {
      const module = make('export const a = await wait()');
      assert.equal(await module[method]({ promise: true }), undefined);
      assert.equal(module.namespace.getSync('a'), 5);
      const failing = make('await wait(); throw new RangeError("late")');
      await assert.rejects(async () => failing[method]({ promise: true }), failure(RangeError, 'late'));
      const stuck = make('await new Promise(() => {})');
      await assert.rejects(async () => stuck[method]({ promise: true, deadline: 50 }), { code: 'ERR_ISOLATE_DEADLINE' });
    }
    assert.throws(() => make('1').evaluateSync({ promise: 1 }), failure(TypeError, '`promise` must be a boolean'));
  }));

  test('timeouts apply', () => withContext(async ({ isolate, context }) => {
    const make = () => {
      const module = isolate.compileModuleSync('export let a = 1; for (;;);');
      module.instantiateSync(context, none);
      return module;
    };
    const out = failure(Error, 'Script execution timed out.');
    const module = make();
    assert.throws(() => module.evaluateSync({ timeout: 20 }), out);
    await assert.rejects(make().evaluate({ timeout: 20 }), out);
    assert.throws(() => module.namespace, failure(Error, 'Module has not been instantiated.'));
    assert.equal(context.evalSync('1'), 1);
  }));

  test('a stopped module cannot continue', ours, () => withContext(async ({ isolate, context }) => {
    const { modules, resolve } = graph(isolate, { a: 'import "b"', b: 'for (;;);' });
    modules.b.instantiateSync(context, resolve);
    assert.throws(() => modules.b.evaluateSync({ timeout: 20 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    const stopped = { code: 'ERR_ISOLATE_ABORTED', message: 'Module was stopped while it was evaluated' };
    assert.throws(() => modules.b.evaluateSync(), stopped);
    await assert.rejects(modules.b.evaluate({ promise: true }), stopped);
    modules.a.instantiateSync(context, resolve);
    assert.throws(() => modules.a.evaluateSync(), stopped);
    await assert.rejects(modules.a.evaluate({ promise: true }), stopped);
  }));
});

describe('namespace', () => {
  test('is a new Reference each time after evaluation', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('export let a = 1; export const up = () => { a += 1; }; export default { b: [2] }');
    const early = failure(Error, 'Module has not been instantiated.');
    assert.throws(() => module.namespace, early);
    module.instantiateSync(context, none);
    assert.throws(() => module.namespace, early);
    module.evaluateSync();
    const { namespace } = module;
    assert.ok(namespace instanceof ivm.Reference);
    assert.notEqual(module.namespace, namespace);
    assert.equal(namespace.typeof, 'object');
    assert.equal(namespace.getSync('a'), 1);
    namespace.getSync('up')();
    assert.equal(namespace.getSync('a'), 2);
    assert.equal(namespace.getSync('missing'), undefined);
    assert.equal(namespace.getSync('default', { reference: true }).getSync('b', { reference: true }).getSync(0), 2);
    assert.deepEqual(namespace.getSync('default', { copy: true }), { b: [2] });
    assert.throws(() => namespace.setSync('a', 3), failure(TypeError, 'Set failed'));
    assert.throws(() => namespace.deleteSync('a'), failure(TypeError, 'Delete failed'));
    assert.throws(() => namespace.copySync(), failure(TypeError, '[object Module] could not be cloned.'));
    namespace.release();
    assert.equal(module.namespace.getSync('a'), 2);
  }));
});

describe('release', () => {
  test('makes a module unusable', () => withContext(async ({ isolate, context }) => {
    const module = evaluated(isolate, context, 'export let a = 1');
    const { namespace } = module;
    assert.equal(module.release(), undefined);
    assert.equal(module.release(), undefined);
    const gone = failure(Error, 'Module has been released');
    assert.throws(() => module.instantiateSync(context, none), gone);
    await assert.rejects(module.instantiate(context, none), gone);
    assert.throws(() => module.evaluateSync(), gone);
    assert.throws(() => module.evaluate(), gone);
    assert.equal(namespace.getSync('a'), 1);
  }));

  test('makes every member throw', ours, () => withContext(({ isolate, context }) => {
    const module = evaluated(isolate, context, '1');
    module.release();
    const gone = { code: 'ERR_ISOLATE_RELEASED', message: 'Module has been released' };
    assert.throws(() => module.namespace, gone);
    assert.throws(() => module.dependencySpecifiers, gone);
    assert.throws(() => module.evaluateSync(), gone);
    assert.throws(() => context.evalClosureSync('1', [module]), gone);
  }));

  test('a released module stays usable by its importers', () => withContext(({ isolate, context }) => {
    const dependency = isolate.compileModuleSync('export const a = 7');
    const module = isolate.compileModuleSync('export { a } from "x"');
    module.instantiateSync(context, () => dependency);
    dependency.release();
    module.evaluateSync();
    assert.equal(module.namespace.getSync('a'), 7);
  }));

  test('modules are counted', ours, () => withContext(({ isolate, context }) => {
    const before = isolate.referenceCount;
    const module = isolate.compileModuleSync('export let a = 1');
    assert.equal(isolate.referenceCount, before + 1);
    module.instantiateSync(context, none);
    assert.equal(isolate.referenceCount, before + 1);
    module.evaluateSync();
    assert.equal(isolate.referenceCount, before + 2);
    const { namespace } = module;
    assert.equal(isolate.referenceCount, before + 2);
    module.release();
    namespace.release();
    assert.equal(isolate.referenceCount, before);
  }));
});

test('modules of a disposed isolate throw', () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const module = evaluated(isolate, context, 'import.meta; export let a = 1');
  isolate.dispose();
  assert.deepEqual(module.dependencySpecifiers, []);
  assert.throws(() => module.evaluateSync(), failure(Error, 'Isolated is disposed'));
  assert.throws(() => module.namespace.getSync('a'), failure(Error, 'Isolated is disposed'));
  assert.throws(() => isolate.compileModuleSync('1'), failure(Error, 'Isolated is disposed'));
});

test('`import.meta` is an empty object without a prototype', () => withContext(({ isolate, context }) => {
  const module = evaluated(isolate, context, 'export const seen = [Object.getPrototypeOf(import.meta), Reflect.ownKeys(import.meta).length, import.meta === import.meta]');
  assert.deepEqual(module.namespace.getSync('seen', { copy: true }), [null, 0, true]);
}));
