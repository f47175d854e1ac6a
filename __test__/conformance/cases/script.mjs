// `Script`: run, release, the compilation cache.

export default ({ ivm, test, assert, expect, sides }) => {
  for (const method of ['run', 'runSync', 'runIgnored']) {
    test(`${method} checks its arguments`, ({ open }) => {
      const { isolate, context } = open();
      const script = isolate.compileScriptSync('1');
      assert.throws(() => script[method](), expect.invalid('`undefined` requires at least 1 parameter'));
      assert.throws(() => script[method](1), expect.invalid('`undefined` requires parameter 1 to be an object'));
      for (const wrong of [{}, isolate, script, context.global]) {
        assert.throws(() => script[method](wrong), expect.invalid('`undefined` requires parameter 1 to be something else'));
      }
      assert.throws(() => script[method](context, 1), expect.invalid('`undefined` requires parameter 2 to be an object'));
    });
  }

  test('wrong options are thrown or rejected', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    const cases = [[{ release: 1 }, '`release` must be a boolean'], [{ timeout: 'a' }, '`timeout` must be a 32-bit number'], [{ copy: 1 }, '`copy` must be a boolean']];
    for (const [options, message] of cases) {
      assert.throws(() => script.runSync(context, options), expect.invalid(message));
      assert.throws(() => script.runIgnored(context, options), expect.invalid(message));
    }
    for (const [options, message] of cases) await assert.rejects(script.run(context, options), expect.invalid(message));
  });

  test('a script runs any number of times in any context', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('globalThis.count = (globalThis.count ?? 0) + 1');
    const other = isolate.createContextSync();
    assert.equal(script.runSync(context), 1);
    assert.equal(script.runSync(context), 2);
    assert.equal(await script.run(other), 1);
    assert.equal(script.runIgnored(other), undefined);
    assert.equal(await other.eval('count'), 2);
  });

  test('compileScript resolves with a Script', async ({ open }) => {
    const { isolate, context } = open();
    const script = await isolate.compileScript('40 + 2', {});
    assert.ok(script instanceof ivm.Script);
    assert.equal(await script.run(context), 42);
  });

  test('runSync returns the result in the requested form', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('({ a: [1] })');
    assert.equal(script.runSync(context), undefined);
    assert.same(script.runSync(context, { copy: true }), { a: [1] });
    assert.same(script.runSync(context, { externalCopy: true }).copy(), { a: [1] });
    assert.equal(script.runSync(context, { reference: true }).typeof, 'object');
    assert.ok(script.runSync(context, { copy: true, promise: true }) instanceof Promise);
  });

  test('run resolves with the result in the requested form', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('({ a: [1] })');
    assert.equal(await script.run(context), undefined);
    assert.same(await script.run(context, { copy: true }), { a: [1] });
    assert.same((await script.run(context, { externalCopy: true })).copy(), { a: [1] });
    assert.equal((await script.run(context, { reference: true })).typeof, 'object');
    assert.same(await script.run(context, { copy: true, promise: true }), { a: [1] });
  });

  test('errors of a script are thrown', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('throw new RangeError("thrown")', { filename: 'file:///s.js' });
    assert.throws(() => script.runSync(context), expect.thrown(RangeError, 'thrown'));
    assert.matches(assert.caught(() => script.runSync(context)).stack, /at file:\/\/\/s\.js:1:7/);
    script.runIgnored(context);
    await assert.rejects(script.run(context), expect.thrown(RangeError, 'thrown'));
  });

  test('rejects a context of another isolate', async ({ open }) => {
    const { isolate } = open();
    const { context: foreign } = open();
    const script = isolate.compileScriptSync('1');
    assert.throws(() => script.runSync(foreign), expect.wrong('Invalid context'));
    assert.throws(() => script.runIgnored(foreign), expect.wrong('Invalid context'));
    await assert.rejects(script.run(foreign), expect.wrong('Invalid context'));
  });

  test('rejects a released context', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    context.release();
    assert.throws(() => script.runSync(context), expect.released('Context is released'));
    assert.throws(() => script.runIgnored(context), expect.released('Context is released'));
    await assert.rejects(script.run(context), expect.released('Context is released'));
  });

  test('release can be repeated, and values of the script stay valid', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('(function () { return 3 })');
    const made = script.runSync(context);
    assert.equal(script.release(), undefined);
    assert.equal(script.release(), undefined);
    assert.equal(made(), 3);
  });

  test('a released script cannot run', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    assert.equal(script.runSync(context, { release: true }), 1);
    assert.throws(() => script.runSync(context), expect.released('Script has been released'));
    assert.throws(() => script.runIgnored(context), expect.released('Script has been released'));
    await assert.rejects(script.run(context), expect.released('Script has been released'));
  });

  test('the option release works in every form', async ({ open }) => {
    const { isolate, context } = open();
    const [one, two] = [isolate.compileScriptSync('1'), isolate.compileScriptSync('globalThis.two = 2')];
    two.runIgnored(context, { release: true });
    assert.throws(() => two.runSync(context), expect.released('Script has been released'));
    assert.equal(await one.run(context, { release: true }), 1);
    await assert.rejects(one.run(context), expect.released('Script has been released'));
    assert.equal(await context.eval('two'), 2);
  });

  test('the compilation cache', { differs: { guest: 'it believes caches of guests' } }, ({ open }) => {
    const { isolate, context } = open();
    const code = 'function twice(a) { return a * 2 } twice(21)';
    const first = isolate.compileScriptSync(code, { produceCachedData: true });
    assert.same(Object.keys(first), ['cachedData']);
    assert.ok(first.cachedData instanceof ivm.ExternalCopy);
    assert.ok(first.cachedData.copy().byteLength > 0);
    const second = isolate.compileScriptSync(code, { cachedData: first.cachedData });
    assert.same(Object.keys(second), ['cachedDataRejected']);
    assert.equal(second.cachedDataRejected, sides.cacheIsRejected);
    assert.equal(second.runSync(context), 42);
  });

  test('the compilation cache, asynchronously', { differs: { guest: 'it believes caches of guests' } }, async ({ open }) => {
    const { isolate } = open();
    const first = await isolate.compileScript('1 + 1', { produceCachedData: true });
    const second = await isolate.compileScript('1 + 1', { cachedData: first.cachedData });
    assert.equal(second.cachedDataRejected, sides.cacheIsRejected);
  });

  test('a cache of other code is rejected, and a new one is produced', ({ open }) => {
    const { isolate, context } = open();
    const cachedData = new ivm.ExternalCopy(new ArrayBuffer(16));
    const script = isolate.compileScriptSync('6 * 7', { cachedData, produceCachedData: true });
    assert.equal(script.cachedDataRejected, true);
    assert.ok(script.cachedData instanceof ivm.ExternalCopy);
    assert.equal(script.runSync(context), 42);
  });
};
