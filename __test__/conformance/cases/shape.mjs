// The parts of `ivm`: classes, members, freezing.

const CLASSES = ['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script'];

/** The members of a prototype: the number of a method's parameters, or that it is a getter. */
function membersOf({ prototype }) {
  const members = {};
  for (const key of Object.keys(prototype)) {
    const { get, value } = Object.getOwnPropertyDescriptor(prototype, key);
    members[key] = get === undefined ? value.length : 'getter';
  }
  return members;
}

export default ({ ivm, test, assert, expect }) => {
  test('`lib` is the only own key', () => assert.same(Object.keys(ivm), ['lib']));

  test('the classes are on the prototype', () => {
    const prototype = Object.getPrototypeOf(ivm);
    assert.same(CLASSES.filter((name) => !Object.hasOwn(prototype, name)), []);
    assert.same(CLASSES.map((name) => typeof ivm[name]), CLASSES.map(() => 'function'));
  });

  test('there is no `ivm.Module`', () => assert.equal(ivm.Module, undefined));

  test('classes can be destructured', () => {
    const { Callback, ExternalCopy, Isolate, Reference } = ivm;
    const isolate = new Isolate({ memoryLimit: 8 });
    isolate.dispose();
    assert.same([new Reference(1).typeof, new ExternalCopy(2).copy(), new Callback(() => {}) instanceof ivm.Callback], ['number', 2, true]);
  });

  test('the module is frozen', () => {
    assert.ok(Object.isFrozen(ivm));
    assert.ok(Object.isFrozen(Object.getPrototypeOf(ivm)));
  });

  for (const name of CLASSES) {
    test(`the prototype of ${name} is frozen`, () => {
      assert.ok(Object.isFrozen(ivm[name].prototype));
      assert.equal(ivm[name].prototype.constructor, ivm[name]);
      assert.equal(ivm[name].name, name);
    });
  }

  test('prototypes cannot be replaced', { differs: 'its are writable' }, () => {
    for (const name of CLASSES) assert.equal(Object.getOwnPropertyDescriptor(ivm[name], 'prototype').writable, false, name);
  });

  test('instances are frozen', ({ open }) => {
    const { isolate, context } = open();
    for (const instance of [isolate, context, context.global, new ivm.Reference({}), new ivm.ExternalCopy(1), new ivm.Callback(() => {}), ivm.lib]) {
      assert.ok(Object.isFrozen(instance), instance.constructor.name);
      assert.throws(() => Object.setPrototypeOf(instance, {}), expect.thrown(TypeError, /./));
    }
  });

  test('results of derefInto() and copyInto() are frozen', () => {
    assert.ok(Object.isFrozen(new ivm.Reference({}).derefInto()));
    assert.ok(Object.isFrozen(new ivm.ExternalCopy(1).copyInto()));
  });

  test('instances of Script and Module are not frozen', ({ open }) => {
    const { isolate } = open();
    assert.equal(Object.isFrozen(isolate.compileScriptSync('1')), false);
    assert.equal(Object.isFrozen(isolate.compileModuleSync('1')), false);
  });

  test('instances have no keys', ({ open }) => {
    const { isolate, context } = open();
    for (const instance of [isolate, context, context.global, isolate.compileScriptSync('1'), isolate.compileModuleSync('1'), new ivm.ExternalCopy(1)]) {
      assert.same(Reflect.ownKeys(instance), []);
    }
  });

  test('members of Isolate', () => assert.same(membersOf(ivm.Isolate), {
    compileScript: 2, compileScriptSync: 2, compileModule: 2, compileModuleSync: 2, cpuTime: 'getter', createContext: 1,
    createContextSync: 1, createInspectorSession: 0, dispose: 0, getHeapStatistics: 0, getHeapStatisticsSync: 0,
    isDisposed: 'getter', referenceCount: 'getter', wallTime: 'getter', startCpuProfiler: 1, stopCpuProfiler: 1,
  }));

  test('members of Context', () => assert.same(membersOf(ivm.Context), {
    eval: 2, evalIgnored: 2, evalSync: 2, evalClosure: 3, evalClosureIgnored: 3, evalClosureSync: 3, global: 'getter', release: 0,
  }));

  test('members of Script', () => assert.same(membersOf(ivm.Script), { release: 0, run: 2, runIgnored: 2, runSync: 2 }));

  test('members of Module', ({ open }) => assert.same(membersOf(open().isolate.compileModuleSync('1').constructor), {
    dependencySpecifiers: 'getter', instantiate: 2, instantiateSync: 2, evaluate: 1, evaluateSync: 1, namespace: 'getter', release: 0,
  }));

  test('members of Reference', () => assert.same(membersOf(ivm.Reference), {
    deref: 1, derefInto: 1, release: 0, copy: 0, copySync: 0, delete: 1, deleteIgnored: 1, deleteSync: 1, get: 2, getSync: 2,
    set: 3, setIgnored: 3, setSync: 3, apply: 3, applyIgnored: 3, applySync: 3, applySyncPromise: 3, typeof: 'getter',
  }));

  test('members of ExternalCopy', () => assert.same(membersOf(ivm.ExternalCopy), { copy: 1, copyInto: 1, release: 0 }));

  test('members of Callback', () => assert.same(membersOf(ivm.Callback), {}));

  test('constructors have the right length', () => {
    assert.same(CLASSES.map((name) => ivm[name].length), [2, 0, 2, 1, 1, 2, 0]);
  });

  test('constructors require `new`', () => {
    for (const name of ['Callback', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference']) {
      assert.throws(() => ivm[name](() => {}), expect.invalid(`\`${name}\` must be called with \`new\``));
    }
  });

  test('constructors require their parameters', () => {
    for (const name of ['Callback', 'ExternalCopy', 'NativeModule', 'Reference']) {
      assert.throws(() => new ivm[name](), expect.invalid(`\`${name}\` requires at least 1 parameter`));
    }
  });

  test('Context and Script cannot be constructed', { differs: 'it ends the process' }, () => {
    for (const name of ['Context', 'Script']) {
      const refused = expect.invalid(`\`${name}\` constructor is private`);
      assert.throws(() => new ivm[name](), refused);
      assert.throws(() => ivm[name](), refused);
      assert.throws(() => Reflect.construct(Object, [], ivm[name]).release(), expect.invalid('Illegal invocation'));
    }
  });

  test('unexported classes cannot be constructed', { differs: 'it ends the process' }, ({ open }) => {
    const instances = {
      Dereference: new ivm.Reference(1).derefInto(), ExternalCopyInto: new ivm.ExternalCopy(1).copyInto(),
      Module: open().isolate.compileModuleSync('1'), Lib: ivm.lib, isolated_vm: ivm,
    };
    for (const [name, { constructor }] of Object.entries(instances)) {
      assert.throws(() => new constructor(), expect.invalid(`\`${name}\` constructor is private`));
    }
  });

  test('methods reject receivers of other classes', ({ open }) => {
    const { isolate, context } = open();
    const illegal = expect.invalid('Illegal invocation');
    const { getSync } = ivm.Reference.prototype;
    for (const self of [undefined, null, 1, {}, isolate, context, new ivm.ExternalCopy(1), Object.create(ivm.Reference.prototype)]) {
      assert.throws(() => getSync.call(self, 'a'), illegal);
    }
    assert.throws(() => ivm.Context.prototype.evalSync.call({}, '1'), illegal);
    assert.throws(() => ivm.Isolate.prototype.dispose.call(context), illegal);
    assert.throws(() => ivm.ExternalCopy.prototype.copy.call({}), illegal);
    assert.throws(() => ivm.Script.prototype.runSync.call({}, context), illegal);
    assert.throws(() => ivm.Context.prototype.eval.call({}, '1'), illegal, 'asynchronous ones throw as well');
  });

  test('errors of getters name their receiver', () => {
    const getters = [
      [ivm.Isolate, 'cpuTime'], [ivm.Isolate, 'wallTime'], [ivm.Isolate, 'isDisposed'], [ivm.Isolate, 'referenceCount'],
      [ivm.Context, 'global'], [ivm.Reference, 'typeof'],
    ];
    for (const [{ prototype }, key] of getters) {
      const { get } = Object.getOwnPropertyDescriptor(prototype, key);
      for (const self of [undefined, {}, ivm]) assert.throws(() => get.call(self), expect.invalid('`undefined` requires `this` to be something else'), key);
    }
  });

  test('methods are not constructors', () => {
    for (const method of [ivm.ExternalCopy.prototype.copy, ivm.Reference.prototype.getSync, ivm.Isolate.prototype.dispose]) {
      assert.throws(() => new method(), expect.thrown(TypeError, /./));
    }
  });

  test('methods have no `prototype`', { differs: 'theirs have' }, () => {
    for (const method of [ivm.ExternalCopy.prototype.copy, ivm.Isolate.prototype.dispose]) assert.equal(Object.hasOwn(method, 'prototype'), false);
  });

  test('the aliases exist and are not enumerable', { differs: 'it has no old names any more' }, ({ open }) => {
    const { context } = open();
    assert.equal(context.globalReference(), context.global);
    for (const [{ prototype }, name] of [[ivm.Context, 'globalReference'], [ivm.Reference, 'dispose'], [ivm.ExternalCopy, 'dispose']]) {
      const { enumerable, writable, value } = Object.getOwnPropertyDescriptor(prototype, name);
      assert.same([enumerable, writable, typeof value], [false, false, 'function']);
    }
  });

  test('classes can be extended', () => {
    class Named extends ivm.Reference {
      describe() {
        return `a ${this.typeof}`;
      }
    }
    const named = new Named('text');
    assert.equal(named.describe(), 'a string');
    assert.ok(named instanceof ivm.Reference);
    class Room extends ivm.Isolate {}
    const room = new Room({ memoryLimit: 8 });
    assert.equal(room.isDisposed, false);
    room.dispose();
  });
};
