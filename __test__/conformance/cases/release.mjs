// What can be done with handles that were released.

export default ({ ivm, test, assert, expect }) => {
  const gone = expect.released('Reference has been released');
  const both = (open) => [new ivm.Reference({}), open().context.evalSync('({})', { reference: true })];

  test('a Reference can be released only once', ({ open }) => {
    for (const reference of both(open)) {
      assert.equal(reference.release(), undefined);
      assert.throws(() => reference.release(), gone);
      assert.throws(() => reference.typeof, gone);
    }
  });

  test('a released Reference rejects deref and derefInto', ({ open }) => {
    for (const reference of both(open)) {
      reference.release();
      assert.throws(() => reference.deref(), gone);
      assert.throws(() => reference.derefInto(), gone);
    }
  });

  for (const [method, ...args] of [
    ['getSync', 'a'], ['setSync', 'a', 1], ['deleteSync', 'a'], ['copySync'], ['applySync'], ['setIgnored', 'a', 1], ['deleteIgnored', 'a'], ['applyIgnored'], ['applySyncPromise'],
  ]) {
    test(`a released Reference throws on ${method}`, ({ open }) => {
      for (const reference of both(open)) {
        reference.release();
        assert.throws(() => reference[method](...args), gone);
      }
    });
  }

  for (const [method, ...args] of [['get', 'a'], ['set', 'a', 1], ['delete', 'a'], ['copy'], ['apply']]) {
    test(`a released Reference rejects ${method}`, async ({ open }) => {
      const references = both(open);
      for (const reference of references) reference.release();
      for (const reference of references) await assert.rejects(reference[method](...args), gone);
    });
  }

  test('dispose() is an alias of release()', { differs: 'it has no old names any more' }, ({ open }) => {
    for (const reference of both(open)) {
      assert.equal(reference.dispose(), undefined);
      assert.throws(() => reference.dispose(), gone);
      assert.throws(() => reference.typeof, gone);
    }
  });

  test('other References to the same value stay valid', ({ open }) => {
    const { context } = open();
    const value = { a: 1 };
    const first = new ivm.Reference(value);
    context.global.setSync('kept', first);
    first.release();
    assert.equal(context.global.getSync('kept').deref(), value);
  });

  test('the result of derefInto() outlives a release', ({ open }) => {
    const { context } = open();
    const object = context.evalSync('globalThis.object = {}', { reference: true });
    const into = object.derefInto();
    object.release();
    assert.equal(context.evalClosureSync('return $0 === object', [into]), true);
  });

  test('the result of copyInto() outlives a release', ({ open }) => {
    const copy = new ivm.ExternalCopy({ a: 1 });
    const into = copy.copyInto();
    copy.release();
    assert.equal(open().context.evalClosureSync('return $0.a', [into]), 1);
  });

  test('released handles cannot be transferred', { differs: 'it passes them on' }, ({ open }) => {
    const { isolate, context } = open();
    const handles = {
      'Reference has been released': new ivm.Reference({}), 'Copy has been released': new ivm.ExternalCopy(1),
      'Script has been released': isolate.compileScriptSync('1'), 'Module has been released': isolate.compileModuleSync('1'),
      'Context is released': isolate.createContextSync(),
    };
    for (const [message, handle] of Object.entries(handles)) {
      handle.release();
      assert.throws(() => context.evalClosureSync('1', [handle]), expect.released(message));
      assert.throws(() => context.evalClosureSync('1', [{ handle }], { arguments: { copy: true } }), expect.released(message));
    }
  });

  test('a handle released in one realm stays valid in another', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('6 * 7');
    context.global.setSync('script', script);
    script.release();
    assert.equal(context.global.getSync('script').runSync(context), 42);
  });
};
