// `Module`: compiling, evaluating, the namespace. linking.mjs tests the steps in between.

const none = () => undefined;

export default ({ ivm, test, assert, expect, sides }) => {
  const linked = (isolate, context, code) => {
    const module = isolate.compileModuleSync(code);
    module.instantiateSync(context, none);
    return module;
  };
  const evaluated = (isolate, context, code) => {
    const module = linked(isolate, context, code);
    module.evaluateSync();
    return module;
  };

  test('compileModule returns a Module', async ({ open }) => {
    const { isolate } = open();
    const module = isolate.compileModuleSync('1');
    assert.equal(module.constructor.name, 'Module');
    const later = await isolate.compileModule('1', null);
    assert.equal(Object.getPrototypeOf(later), Object.getPrototypeOf(module));
  });

  test('`meta` must be a function', async ({ open }) => {
    const { isolate } = open();
    assert.throws(() => isolate.compileModuleSync('1', { meta: 1 }), expect.invalid('`meta` must be a function'));
    await assert.rejects(isolate.compileModule('1', { meta: {} }), expect.invalid('`meta` must be a function'));
  });

  test('`meta` must be a function of the isolate', async ({ open }) => {
    const { isolate } = open();
    const refused = expect.wrong('`meta` callback must belong to entered isolate');
    assert.throws(() => isolate.compileModuleSync('1', { meta() {} }), refused);
    await assert.rejects(isolate.compileModule('1', { meta() {} }), refused);
  });

  test('`import.meta` is an empty object without a prototype', ({ open }) => {
    const { isolate, context } = open();
    const module = evaluated(isolate, context, 'export const seen = [Object.getPrototypeOf(import.meta), Reflect.ownKeys(import.meta).length, import.meta === import.meta]');
    assert.same(module.namespace.getSync('seen', { copy: true }), [null, 0, true]);
  });

  test('dependencySpecifiers', ({ open }) => {
    const { isolate } = open();
    const module = isolate.compileModuleSync('import a from "a"; export * from "b"; import "a"; import c from "c" with { type: "json" }; import "a" with { type: "x" }');
    const specifiers = module.dependencySpecifiers;
    assert.same(specifiers, ['a', 'b', 'c', 'a']);
    assert.ok(module.dependencySpecifiers !== specifiers && !Object.isFrozen(specifiers));
    assert.same(isolate.compileModuleSync('1').dependencySpecifiers, []);
  });

  test('specifiers can be any strings', { differs: 'it keeps Latin-1 only' }, ({ open }) => {
    assert.same(open().isolate.compileModuleSync('import "ü"; import "\\u{1f600}"').dependencySpecifiers, ['ü', '\u{1f600}']);
  });

  test('evaluate checks its options, and throws in every form', ({ open }) => {
    const { isolate, context } = open();
    const module = linked(isolate, context, '1');
    for (const method of ['evaluate', 'evaluateSync']) {
      assert.throws(() => module[method](1), expect.invalid('`undefined` requires parameter 1 to be an object'));
      assert.throws(() => module[method]({ timeout: 'x' }), expect.invalid('`timeout` must be a 32-bit number'));
    }
    assert.equal(module.evaluateSync({ copy: true, reference: true }), undefined);
  });

  test('evaluate needs a linked module', async ({ open }) => {
    const module = open().isolate.compileModuleSync('1');
    assert.throws(() => module.evaluateSync(), expect.wrong('Module is uninstantiated'));
    await assert.rejects(module.evaluate(), expect.wrong('Module is uninstantiated'));
  });

  test('evaluate runs a module once', async ({ open }) => {
    const { isolate, context } = open();
    const module = evaluated(isolate, context, 'globalThis.count = (globalThis.count ?? 0) + 1; "completion"');
    assert.equal(module.evaluateSync(), undefined);
    assert.equal(await module.evaluate(), undefined);
    assert.equal(await context.eval('count'), 1);
  });

  test('evaluate, asynchronously', async ({ open }) => {
    const { isolate, context } = open();
    const module = linked(isolate, context, 'export const a = 5');
    assert.equal(await module.evaluate(), undefined);
    assert.equal(await module.namespace.get('a'), 5);
  });

  test('errors of a module are thrown', ({ open }) => {
    const { isolate, context } = open();
    assert.throws(() => linked(isolate, context, 'throw new TypeError("x")').evaluateSync(), expect.thrown(TypeError, 'x'));
    assert.equal(assert.caught(() => linked(isolate, context, 'throw 4').evaluateSync()), 4);
    assert.throws(() => linked(isolate, context, 'await 0; throw new RangeError("later")').evaluateSync(), expect.thrown(RangeError, 'later'));
    const failed = linked(isolate, context, 'export let a = 1; throw new Error("x")');
    assert.throws(() => failed.evaluateSync(), expect.thrown(Error, 'x'));
    assert.equal(failed.namespace.getSync('a'), 1);
  });

  test('errors after an await are thrown', async ({ open }) => {
    const { isolate, context } = open();
    const modules = ['throw new TypeError("x")', 'await 0; throw new TypeError("x")'].map((code) => linked(isolate, context, code));
    for (const module of modules) await assert.rejects(module.evaluate(), expect.thrown(TypeError, 'x'));
  });

  test('a second evaluation throws the same error', { differs: 'its second call gives undefined' }, ({ open }) => {
    const { isolate, context } = open();
    for (const code of ['throw new TypeError("x")', 'await 0; throw new TypeError("x")']) {
      const module = linked(isolate, context, code);
      for (let time = 0; time < 3; time += 1) assert.throws(() => module.evaluateSync(), expect.thrown(TypeError, 'x'));
    }
  });

  test('stacks name the file of a module', ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('\nexport const self = this; throw new RangeError("x")', { filename: 'file:///m.mjs', lineOffset: 10 });
    module.instantiateSync(context, none);
    assert.matches(assert.caught(() => module.evaluateSync()).stack, /\n {4}at file:\/\/\/m\.mjs:12:33\n {4}at \(<isolated-vm boundary>\)/);
    assert.equal(module.namespace.getSync('self'), undefined);
  });

  test('timeouts apply', async ({ open }) => {
    const { isolate, context } = open();
    const [one, two] = [linked(isolate, context, 'export let a = 1; for (;;);'), linked(isolate, context, 'for (;;);')];
    assert.throws(() => one.evaluateSync({ timeout: 20 }), expect.timeout());
    assert.throws(() => one.namespace, expect.wrong('Module has not been instantiated.'));
    await assert.rejects(two.evaluate({ timeout: 20 }), expect.timeout());
    assert.equal(await context.eval('1'), 1);
  });

  test('top-level await continues after the result', async ({ open }) => {
    const { isolate, context } = open();
    context.evalSync('globalThis.asked = new Promise((resolve) => { globalThis.go = resolve; })');
    const module = evaluated(isolate, context, 'export let a = 0; await 0; a = 1; a = await asked;');
    assert.equal(module.namespace.getSync('a'), 1);
    context.evalSync('go(2)');
    assert.equal(module.namespace.getSync('a'), 2);
    assert.equal(await module.evaluate(), undefined);
  });

  test('`promise` waits for top-level await', { differs: 'an addition' }, async ({ open }) => {
    const { isolate, context } = open();
    context.global.setSync('wait', new ivm.Callback(() => 5, { async: true }));
    const make = (code) => linked(isolate, context, code);
    const [first, second, failing] = [make('export const a = await wait()'), make('export const a = await wait()'), make('await wait(); throw new RangeError("late")')];
    assert.throws(() => make('1').evaluateSync({ promise: 1 }), expect.invalid('`promise` must be a boolean'));
    const waiting = first.evaluateSync({ promise: true });
    assert.ok(waiting instanceof Promise);
    assert.equal(await waiting, undefined);
    assert.equal(await first.namespace.get('a'), 5);
    assert.equal(await second.evaluate({ promise: true }), undefined);
    assert.equal(await second.namespace.get('a'), 5);
    await assert.rejects(failing.evaluate({ promise: true }), expect.thrown(RangeError, 'late'));
  });

  test('namespace is a new Reference each time after evaluation', ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('export let a = 1; export const up = () => { a += 1; }; export default { b: [2] }');
    assert.throws(() => module.namespace, expect.wrong('Module has not been instantiated.'));
    module.instantiateSync(context, none);
    assert.throws(() => module.namespace, expect.wrong('Module has not been instantiated.'));
    module.evaluateSync();
    const { namespace } = module;
    assert.ok(namespace instanceof ivm.Reference);
    assert.ok(module.namespace !== namespace);
    assert.equal(namespace.typeof, 'object');
    assert.equal(namespace.getSync('a'), 1);
    namespace.getSync('up')();
    assert.equal(namespace.getSync('a'), 2);
    assert.equal(namespace.getSync('missing'), undefined);
    assert.equal(namespace.getSync('default', { reference: true }).getSync('b', { reference: true }).getSync(0), 2);
    assert.same(namespace.getSync('default', { copy: true }), { b: [2] });
  });

  test('a namespace cannot be changed or copied', ({ open }) => {
    const { isolate, context } = open();
    const { namespace } = evaluated(isolate, context, 'export let a = 1');
    assert.throws(() => namespace.setSync('a', 3), expect.invalid('Set failed'));
    assert.throws(() => namespace.deleteSync('a'), expect.invalid('Delete failed'));
    assert.throws(() => namespace.copySync(), expect.transfer('[object Module] could not be cloned.'));
  });

  test('a module cannot be used after release, which can be repeated', async ({ open }) => {
    const { isolate, context } = open();
    const module = evaluated(isolate, context, 'export let a = 1');
    const { namespace } = module;
    assert.equal(module.release(), undefined);
    assert.equal(module.release(), undefined);
    const gone = expect.released('Module has been released');
    assert.throws(() => module.instantiateSync(context, none), gone);
    assert.throws(() => module.evaluateSync(), gone);
    assert.throws(() => module.evaluate(), gone);
    assert.equal(namespace.getSync('a'), 1);
    await assert.rejects(module.instantiate(context, none), gone);
  });

  test('getters of a released module throw', { differs: 'it ends the process' }, ({ open }) => {
    const { isolate, context } = open();
    const module = evaluated(isolate, context, '1');
    module.release();
    assert.throws(() => module.namespace, expect.released('Module has been released'));
    assert.throws(() => module.dependencySpecifiers, expect.released('Module has been released'));
  });

  test('members reject receivers that are not modules', ({ open }) => {
    const { constructor } = open().isolate.compileModuleSync('1');
    assert.throws(() => constructor.prototype.evaluateSync.call({}), expect.invalid('Illegal invocation'));
    for (const key of ['dependencySpecifiers', 'namespace']) {
      assert.throws(() => constructor.prototype[key], expect.invalid('`undefined` requires `this` to be something else'), key);
    }
  });

  test('modules of a disposed isolate throw', ({ open }) => {
    const { isolate, context } = open();
    const module = evaluated(isolate, context, 'export let a = 1');
    isolate.dispose();
    assert.same(module.dependencySpecifiers, []);
    assert.throws(() => module.evaluateSync(), expect.disposed('Isolated is disposed'));
    assert.throws(() => module.namespace.getSync('a'), expect.disposed('Isolated is disposed'));
  });

  test('the compilation cache', { differs: { guest: 'it believes caches of guests' } }, async ({ open }) => {
    const { isolate, context } = open();
    const code = 'export const foo = () => 123';
    const first = isolate.compileModuleSync(code, { produceCachedData: true });
    assert.same(Object.keys(first), ['cachedData']);
    const { cachedData } = first;
    assert.equal(cachedData.copy().constructor, ArrayBuffer);
    const second = isolate.compileModuleSync(code, { cachedData });
    assert.equal(second.cachedDataRejected, sides.cacheIsRejected);
    second.instantiateSync(context, none);
    second.evaluateSync();
    assert.equal(second.namespace.getSync('foo')(), 123);
    assert.equal((await isolate.compileModule(code, { cachedData })).cachedDataRejected, sides.cacheIsRejected);
  });

  test('modules are transferable', ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('export let a = 1');
    const again = context.evalClosureSync('globalThis.kept = $0; return $0', [module]);
    assert.ok(again !== module);
    again.instantiateSync(context, none);
    module.evaluateSync();
    assert.equal(again.namespace.getSync('a'), 1);
    assert.equal(context.evalSync('kept.constructor.name'), 'Module');
  });
};
