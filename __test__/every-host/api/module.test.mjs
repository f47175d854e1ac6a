// The module itself: what `ivm` is, and that it cannot be changed.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { failure, ivm, ours } from '../../api/ivm.mjs';

const CLASSES = ['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script'];

test('`lib` is the only own key, the classes are on the prototype', () => {
  assert.deepEqual(Object.keys(ivm), ['lib']);
  const prototype = Object.getPrototypeOf(ivm);
  assert.deepEqual(CLASSES.filter((name) => !Object.hasOwn(prototype, name)), []);
  const { Isolate, Reference } = ivm;
  assert.equal(typeof Isolate, 'function');
  assert.equal(typeof Reference, 'function');
});

test('module, prototypes and instances are frozen', () => {
  assert.ok(Object.isFrozen(ivm));
  assert.ok(Object.isFrozen(Object.getPrototypeOf(ivm)));
  for (const name of CLASSES) assert.ok(Object.isFrozen(ivm[name].prototype), name);
  for (const instance of [new ivm.Reference({}), new ivm.ExternalCopy(1), new ivm.Callback(() => {}), ivm.lib]) {
    assert.ok(Object.isFrozen(instance));
    assert.throws(() => Object.setPrototypeOf(instance, {}), TypeError);
  }
});

test('classes have the members of isolated-vm, with the same number of parameters', () => {
  const members = (name) => Object.fromEntries(Object.keys(ivm[name].prototype).map((key) => {
    const { get, value } = Object.getOwnPropertyDescriptor(ivm[name].prototype, key);
    return [key, get ? 'getter' : value.length];
  }));
  assert.deepEqual(members('Context'), {
    eval: 2, evalIgnored: 2, evalSync: 2, evalClosure: 3, evalClosureIgnored: 3, evalClosureSync: 3, global: 'getter', release: 0,
  });
  assert.deepEqual(members('ExternalCopy'), { copy: 1, copyInto: 1, release: 0 });
  assert.deepEqual(members('Isolate'), {
    compileScript: 2, compileScriptSync: 2, compileModule: 2, compileModuleSync: 2, cpuTime: 'getter', createContext: 1,
    createContextSync: 1, createInspectorSession: 0, dispose: 0, getHeapStatistics: 0, getHeapStatisticsSync: 0,
    isDisposed: 'getter', referenceCount: 'getter', wallTime: 'getter', startCpuProfiler: 1, stopCpuProfiler: 1,
  });
  assert.deepEqual(members('Reference'), {
    deref: 1, derefInto: 1, release: 0, copy: 0, copySync: 0, delete: 1, deleteIgnored: 1, deleteSync: 1, get: 2, getSync: 2,
    set: 3, setIgnored: 3, setSync: 3, apply: 3, applyIgnored: 3, applySync: 3, applySyncPromise: 3, typeof: 'getter',
  });
  assert.deepEqual(members('Script'), { release: 0, run: 2, runIgnored: 2, runSync: 2 });
  assert.deepEqual(CLASSES.map((name) => ivm[name].length), [2, 0, 2, 1, 1, 2, 0]);
});

test('constructors require `new` and their parameters', () => {
  assert.throws(() => ivm.Isolate(), failure(TypeError, '`Isolate` must be called with `new`'));
  assert.throws(() => ivm.Reference(1), failure(TypeError, '`Reference` must be called with `new`'));
  assert.throws(() => new ivm.Reference(), failure(TypeError, '`Reference` requires at least 1 parameter'));
  assert.throws(() => new ivm.ExternalCopy(), failure(TypeError, '`ExternalCopy` requires at least 1 parameter'));
  assert.throws(() => new ivm.Callback(), failure(TypeError, '`Callback` requires at least 1 parameter'));
  assert.throws(() => new ivm.Callback(1), failure(TypeError, '`Callback` requires parameter 1 to be a function'));
  assert.throws(() => new ivm.Reference({}, 1), failure(TypeError, '`Reference` requires parameter 2 to be an object'));
  assert.throws(() => new ivm.Isolate(1), failure(TypeError, '`Isolate` requires parameter 1 to be an object'));
  assert.throws(() => new ivm.NativeModule(), failure(TypeError, '`NativeModule` requires at least 1 parameter'));
});

test('classes without a public constructor throw', ours, () => {
  assert.throws(() => new ivm.Context(), failure(TypeError, '`Context` constructor is private'));
  assert.throws(() => new ivm.Script(), failure(TypeError, '`Script` constructor is private'));
  assert.throws(() => ivm.Context(), failure(TypeError, '`Context` constructor is private'));
  assert.throws(() => new (new ivm.Reference(1).derefInto().constructor)(), failure(TypeError, '`Dereference` constructor is private'));
});

test('methods reject receivers of other classes', () => {
  assert.throws(() => ivm.Context.prototype.evalSync.call({}, '1'), failure(TypeError, 'Illegal invocation'));
  assert.throws(() => ivm.Reference.prototype.getSync.call(new ivm.ExternalCopy(1), 'a'), failure(TypeError, 'Illegal invocation'));
  assert.throws(() => ivm.Reference.prototype.applySync.call(undefined), failure(TypeError, 'Illegal invocation'));
  const forged = Object.create(ivm.Reference.prototype);
  assert.throws(() => forged.applySync(), TypeError);
  assert.throws(() => forged.typeof, TypeError);
});

test('methods are not constructors', () => {
  const { copy } = ivm.ExternalCopy.prototype;
  assert.throws(() => new copy(), TypeError);
});

test('subclasses work', () => {
  class Named extends ivm.Reference {
    describe() {
      return `a ${this.typeof}`;
    }
  }
  const named = new Named('x');
  assert.equal(named.describe(), 'a string');
  assert.ok(named instanceof ivm.Reference);
});

test('native modules are refused with a hint', ours, () => {
  assert.throws(() => new ivm.NativeModule('./a.node'), { code: 'ERR_ISOLATE_UNSUPPORTED', message: /`Callback` or a `Reference`/ });
  assert.throws(() => new ivm.NativeModule(1), failure(TypeError, '`NativeModule` requires parameter 1 to be a string'));
});

test('`lib` has a clock', () => {
  const before = ivm.lib.hrtime();
  assert.equal(before.length, 2);
  const [seconds, nanoseconds] = ivm.lib.hrtime(before);
  assert.ok(seconds === 0 && nanoseconds >= 0 && nanoseconds < 1e9);
  assert.throws(() => ivm.lib.hrtime(1), failure(TypeError, '`undefined` requires parameter 1 to be an array'));
  assert.throws(() => ivm.lib.hrtime([]), failure(TypeError, 'hrtime diff must be 2-length array'));
  assert.equal(typeof ivm.lib.privateSymbol('a'), 'symbol');
});

test('one instance by `require`, default and named imports', ours, async () => {
  const named = await import('../../../index.mjs');
  const required = createRequire(import.meta.url)('../../../index.js');
  assert.equal(named.default, required);
  for (const name of [...CLASSES, 'lib']) assert.equal(named[name], required[name], name);
});
