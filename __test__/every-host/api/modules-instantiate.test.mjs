// ES modules: linking. Tests that are not marked `ours` run against isolated-vm as well.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';
import { graph } from '../../api/modules.mjs';

const none = () => undefined;

describe('instantiate', () => {
  test('arguments are checked', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('1');
    for (const method of ['instantiate', 'instantiateSync']) {
      assert.throws(() => module[method](), failure(TypeError, '`undefined` requires at least 2 parameters'));
      assert.throws(() => module[method](context), failure(TypeError, '`undefined` requires at least 2 parameters'));
      assert.throws(() => module[method](1, none), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
      assert.throws(() => module[method](isolate, none), failure(TypeError, '`undefined` requires parameter 1 to be something else'));
      assert.throws(() => module[method](context, 1), failure(TypeError, '`undefined` requires parameter 2 to be a function'));
    }
    const released = isolate.createContextSync();
    released.release();
    assert.throws(() => module.instantiateSync(released, none), failure(Error, 'Context is released'));
    assert.throws(() => module.instantiate(released, none), failure(Error, 'Context is released'));
  }));

  test('a context of another isolate is refused', () => withContext(async ({ isolate }) => {
    const other = new ivm.Isolate();
    const foreign = other.createContextSync();
    const module = isolate.compileModuleSync('1');
    assert.throws(() => module.instantiateSync(foreign, none), failure(Error, 'Invalid context'));
    await assert.rejects(isolate.compileModuleSync('1').instantiate(foreign, none), failure(Error, 'Invalid context'));
    other.dispose();
  }));

  const SOURCES = {
    a: 'import { b } from "b"; import { c } from "c"; export const sum = b + c',
    b: 'import { d } from "d"; export const b = d + 1',
    c: 'import { d } from "d"; import "a"; export const c = d + 2',
    d: 'import "a"; globalThis.runs = (globalThis.runs ?? 0) + 1; export const d = 10',
  };

  test('instantiateSync resolves depth first, each request once', () => withContext(({ isolate, context }) => {
    const { asked, modules, resolve } = graph(isolate, SOURCES);
    assert.equal(modules.a.instantiateSync(context, resolve), undefined);
    assert.deepEqual(asked, ['a>b', 'b>d', 'd>a', 'a>c', 'c>d', 'c>a']);
    assert.equal(modules.a.evaluateSync(), undefined);
    assert.equal(modules.a.namespace.getSync('sum'), 23);
    assert.equal(context.evalSync('runs'), 1);
  }));

  test('instantiate resolves breadth first', () => withContext(async ({ isolate, context }) => {
    const { asked, modules, resolve } = graph(isolate, SOURCES);
    assert.equal(await modules.a.instantiate(context, async (...args) => resolve(...args)), undefined);
    assert.deepEqual(asked, ['a>b', 'a>c', 'b>d', 'c>d', 'c>a', 'd>a']);
    assert.equal(await modules.a.evaluate(), undefined);
    assert.equal(modules.a.namespace.getSync('sum'), 23);
    assert.equal(context.evalSync('runs'), 1);
  }));

  test('the resolver is called with specifier and referrer, and no `this`', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('import "x"');
    let seen;
    module.instantiateSync(context, function resolve(specifier, referrer) {
      'use strict';
      seen = [this, specifier, referrer === module];
      return isolate.compileModuleSync('1');
    });
    assert.deepEqual(seen, [undefined, 'x', true]);
  }));

  test('thenables are awaited', () => withContext(async ({ isolate, context }) => {
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('1');
    // oxlint-disable-next-line unicorn/no-thenable -- what a resolver may return
    const thenable = { then: (resolve) => resolve(dependency) };
    await module.instantiate(context, () => thenable);
    module.evaluateSync();
  }));

  test('rejects a value that is not a module, and can be retried', () => withContext(async ({ isolate, context }) => {
    const refused = failure(TypeError, 'Resolved dependency was not `Module`');
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('1');
    for (const wrong of [undefined, null, 1, {}, context, Promise.resolve(dependency)]) {
      assert.throws(() => module.instantiateSync(context, () => wrong), refused);
    }
    for (const wrong of [undefined, {}, isolate]) await assert.rejects(module.instantiate(context, async () => wrong), refused);
    const released = isolate.compileModuleSync('1');
    released.release();
    assert.throws(() => module.instantiateSync(context, () => released), failure(Error, 'Module has been released'));
    await assert.rejects(module.instantiate(context, () => released), failure(Error, 'Module has been released'));
    module.instantiateSync(context, () => dependency);
  }));

  test('a module of another isolate is refused', ours, () => withContext(async ({ isolate, context }) => {
    const other = new ivm.Isolate();
    const foreign = other.compileModuleSync('1');
    const refused = failure(TypeError, 'Resolved dependency belongs to another isolate');
    const module = isolate.compileModuleSync('import "x"');
    assert.throws(() => module.instantiateSync(context, () => foreign), refused);
    await assert.rejects(module.instantiate(context, () => foreign), refused);
    other.dispose();
  }));

  test('errors of the resolver are thrown unchanged, and it can be retried', () => withContext(async ({ isolate, context }) => {
    const { modules, resolve } = graph(isolate, SOURCES);
    const error = new RangeError('no c');
    const failing = (specifier, referrer) => {
      if (specifier === 'c') throw error;
      return resolve(specifier, referrer);
    };
    const same = (thrown) => thrown === error;
    assert.throws(() => modules.a.instantiateSync(context, failing), same);
    await assert.rejects(modules.a.instantiate(context, failing), same);
    await assert.rejects(modules.a.instantiate(context, async (...args) => failing(...args)), same);
    await assert.rejects(modules.a.instantiate(context, () => Promise.reject(7)), (thrown) => thrown === 7);
    await modules.a.instantiate(context, resolve);
    // Links are kept.
    modules.a.instantiateSync(context, () => { throw error; });
    await modules.b.instantiate(context, () => { throw error; });
  }));

  test('one linker at a time', () => withContext(async ({ isolate, context }) => {
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('export let a = 1');
    let go;
    const first = module.instantiate(context, () => new Promise((resolve) => { go = resolve; }));
    const taken = failure(Error, 'Module is currently being linked by another linker');
    assert.throws(() => module.instantiateSync(context, none), taken);
    await assert.rejects(module.instantiate(context, none), taken);
    assert.throws(() => module.evaluateSync(), failure(Error, 'Module is uninstantiated'));
    go(dependency);
    assert.equal(await first, undefined);
    module.evaluateSync();
  }));

  test('a missing export is a syntax error, and can be retried', () => withContext(({ isolate, context }) => {
    const module = isolate.compileModuleSync('import { q } from "x"; export default q');
    const missing = failure(SyntaxError, "The requested module 'x' does not provide an export named 'q'");
    assert.throws(() => module.instantiateSync(context, () => isolate.compileModuleSync('1')), missing);
  }));

  test('a failed instantiation releases the modules', ours, () => withContext(async ({ isolate, context }) => {
    const module = isolate.compileModuleSync('import { q } from "x"; export default q');
    const without = isolate.compileModuleSync('1');
    assert.throws(() => module.instantiateSync(context, () => without), SyntaxError);
    await assert.rejects(module.instantiate(context, () => without), SyntaxError);
    module.instantiateSync(context, () => isolate.compileModuleSync('export const q = 4'));
    module.evaluateSync();
    assert.equal(module.namespace.getSync('default'), 4);
    without.instantiateSync(context, none);
  }));

  test('a resolver that fails twice fails once', () => withContext(async ({ isolate, context }) => {
    const module = isolate.compileModuleSync('import "x"; import "y"');
    await assert.rejects(module.instantiate(context, (specifier) => Promise.reject(new Error(specifier))), failure(Error, 'x'));
  }));

  test('a resolver can dispose the isolate', () => withContext(async () => {
    for (const [method, message] of [['instantiateSync', 'Isolated is disposed'], ['instantiate', 'Isolate is disposed']]) {
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      const module = isolate.compileModuleSync('import "x"');
      const dependency = isolate.compileModuleSync('1');
      const call = async () => module[method](context, () => {
        isolate.dispose();
        return dependency;
      });
      await assert.rejects(call, failure(Error, message));
    }
  }));

  test('disposal ends a pending resolution', ours, () => withContext(async () => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    const module = isolate.compileModuleSync('import "x"; import "y"');
    const waiting = module.instantiate(context, () => new Promise(none));
    isolate.dispose();
    await assert.rejects(waiting, { code: 'ERR_ISOLATE_DISPOSED', message: 'Isolate is disposed' });
    await assert.rejects(module.instantiate(context, none), { code: 'ERR_ISOLATE_DISPOSED', message: 'Isolate is disposed' });
    assert.throws(() => module.instantiateSync(context, none), { code: 'ERR_ISOLATE_DISPOSED', message: 'Isolated is disposed' });
  }));

  test('resolvers receive import attributes', ours, () => withContext(async ({ isolate, context }) => {
    const module = isolate.compileModuleSync('import data from "d" with { type: "json" }; import "e"; export default data.a');
    const seen = [];
    module.instantiateSync(context, (specifier, referrer, attributes) => {
      seen.push([specifier, Object.getPrototypeOf(attributes), { ...attributes }, Object.isFrozen(attributes)]);
      return isolate.compileModuleSync(attributes.type === 'json' ? 'export default { a: 1 }' : '1');
    });
    assert.deepEqual(seen, [['d', null, { type: 'json' }, true], ['e', null, {}, true]]);
    module.evaluateSync();
    assert.equal(module.namespace.getSync('default'), 1);
    const unknown = isolate.compileModuleSync('import "d" with { mode: "x" }');
    const refused = { name: 'SyntaxError', code: 'ERR_ISOLATE_UNSUPPORTED', message: 'Import attribute "mode" is not supported' };
    assert.throws(() => unknown.instantiateSync(context, none), refused);
    await assert.rejects(unknown.instantiate(context, none), refused);
  }));
});
