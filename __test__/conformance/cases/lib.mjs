// `lib` and `NativeModule`.

export default ({ ivm, test, assert, expect }) => {
  test('`lib` has its members', () => {
    const prototype = Object.getPrototypeOf(ivm.lib);
    assert.same(Object.keys(prototype).toSorted(), ['hrtime', 'privateSymbol', 'testHang', 'testOOM']);
    assert.ok(Object.isFrozen(ivm.lib) && Object.isFrozen(prototype));
    assert.same(Reflect.ownKeys(ivm.lib), []);
  });

  test('hrtime is a clock', () => {
    const before = ivm.lib.hrtime();
    assert.equal(before.length, 2);
    const [seconds, nanoseconds] = ivm.lib.hrtime(before);
    assert.ok(seconds === 0 && nanoseconds >= 0 && nanoseconds < 1e9);
  });

  test('hrtime checks its argument', () => {
    assert.throws(() => ivm.lib.hrtime(1), expect.invalid('`undefined` requires parameter 1 to be an array'));
    assert.throws(() => ivm.lib.hrtime([]), expect.invalid('hrtime diff must be 2-length array'));
    assert.throws(() => ivm.lib.hrtime([1, 2, 3]), expect.invalid('hrtime diff must be 2-length array'));
  });

  test('privateSymbol', () => {
    assert.equal(typeof ivm.lib.privateSymbol('a'), 'symbol');
    assert.ok(ivm.lib.privateSymbol('a') !== ivm.lib.privateSymbol('a'));
    assert.throws(() => ivm.lib.privateSymbol(1), expect.invalid('`undefined` requires parameter 1 to be a string'));
  });

  test('`lib` is transferable', { differs: 'it is not transferable' }, ({ open }) => {
    const { context } = open();
    assert.equal(context.evalClosureSync('return $0 === $1.lib', [ivm.lib, ivm]), true);
    assert.equal(context.evalClosureSync('return $0', [ivm.lib]), ivm.lib);
  });

  test('native modules are rejected with a hint', { differs: 'it loads them' }, () => {
    assert.throws(() => new ivm.NativeModule('./a.node'), expect.unsupported(/`Callback` or a `Reference`/));
    assert.throws(() => ivm.NativeModule.prototype.createSync(), expect.unsupported(/`Callback` or a `Reference`/));
  });

  test('NativeModule checks its argument', () => {
    assert.throws(() => new ivm.NativeModule(1), expect.invalid('`NativeModule` requires parameter 1 to be a string'));
  });

  test('testOOM ends its isolate only', { differs: 'on a host it ends the process' }, ({ open }) => {
    const { context, isolate } = open({ memoryLimit: 8 });
    context.global.setSync('ivm', ivm);
    assert.throws(() => context.evalSync('ivm.lib.testOOM()'), expect.memory());
    assert.equal(isolate.isDisposed, true);
  });
};
