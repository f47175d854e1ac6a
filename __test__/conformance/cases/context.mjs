// `Context`: its methods' arguments and options, `global`, `release`.

const CLOSURES = ['evalClosure', 'evalClosureSync', 'evalClosureIgnored'];
const EVALS = ['eval', 'evalSync', 'evalIgnored'];

const OPTIONS = [
  [{ copy: 1 }, '`copy` must be a boolean'],
  [{ externalCopy: 'yes' }, '`externalCopy` must be a boolean'],
  [{ reference: {} }, '`reference` must be a boolean'],
  [{ promise: 0 }, '`promise` must be a boolean'],
  [{ timeout: 1.5 }, '`timeout` must be a 32-bit number'],
  [{ timeout: Infinity }, '`timeout` must be a 32-bit number'],
  [{ timeout: 2 ** 31 }, '`timeout` must be a 32-bit number'],
  [{ timeout: '10' }, '`timeout` must be a 32-bit number'],
  [{ filename: 5 }, '`filename` must be a string'],
  [{ lineOffset: 0.5 }, '`lineOffset` must be a 32-bit number'],
  [{ columnOffset: true }, '`columnOffset` must be a 32-bit number'],
  [{ produceCachedData: 1 }, '`produceCachedData` must be a boolean'],
  [{ cachedData: {} }, '`cachedData` must be an ExternalCopy to ArrayBuffer'],
  [{ copy: true, reference: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
  [{ copy: true, externalCopy: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
  [{ externalCopy: true, reference: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
];

const CLOSURE_OPTIONS = [
  [{ result: 1 }, '`result` must be an object'],
  [{ arguments: 1 }, '`arguments` must be an object'],
  [{ result: { copy: 1 } }, '`copy` must be a boolean'],
  [{ arguments: { reference: 1 } }, '`reference` must be a boolean'],
  [{ arguments: { copy: true, reference: true } }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
  [{ timeout: 'a' }, '`timeout` must be a 32-bit number'],
  [{ filename: 1 }, '`filename` must be a string'],
];

export default ({ ivm, test, assert, expect }) => {
  for (const method of [...EVALS, ...CLOSURES]) {
    test(`${method} requires code`, ({ open }) => {
      const { context } = open();
      assert.throws(() => context[method](), expect.invalid('`undefined` requires at least 1 parameter'));
      for (const code of [1, undefined, null, {}, ['1']]) {
        assert.throws(() => context[method](code), expect.invalid('`undefined` requires parameter 1 to be a string'));
      }
    });
  }

  for (const method of EVALS) {
    test(`${method} requires options to be an object`, async ({ open }) => {
      const { context } = open();
      for (const options of [1, 'a', true]) {
        assert.throws(() => context[method]('1', options), expect.invalid('`undefined` requires parameter 2 to be an object'));
      }
      for (const options of [undefined, null, {}, () => {}]) assert.equal(await context[method]('1', options), method === 'evalIgnored' ? undefined : 1);
    });
  }

  for (const method of CLOSURES) {
    test(`${method} requires an array of arguments and an options object`, async ({ open }) => {
      const { context } = open();
      for (const list of [1, 'a', {}, { length: 0 }]) {
        assert.throws(() => context[method]('1', list), expect.invalid('`undefined` requires parameter 2 to be an array'));
      }
      assert.throws(() => context[method]('1', [], 1), expect.invalid('`undefined` requires parameter 3 to be an object'));
      assert.equal(await context[method]('return arguments.length', null, null), method === 'evalClosureIgnored' ? undefined : 0);
    });
  }

  test('eval rejects for wrong options', async ({ open }) => {
    const { context } = open();
    for (const [options, message] of OPTIONS) await assert.rejects(context.eval('1', options), expect.invalid(message));
  });

  for (const method of ['evalSync', 'evalIgnored']) {
    test(`${method} throws for wrong options`, ({ open }) => {
      const { context } = open();
      for (const [options, message] of OPTIONS) assert.throws(() => context[method]('1', options), expect.invalid(message));
    });
  }

  test('evalClosure rejects for wrong options', async ({ open }) => {
    const { context } = open();
    for (const [options, message] of CLOSURE_OPTIONS) await assert.rejects(context.evalClosure('1', [], options), expect.invalid(message));
  });

  for (const method of ['evalClosureSync', 'evalClosureIgnored']) {
    test(`${method} throws for wrong options`, ({ open }) => {
      const { context } = open();
      for (const [options, message] of CLOSURE_OPTIONS) assert.throws(() => context[method]('1', [], options), expect.invalid(message));
    });
  }

  test('no limit is 0, and negative; null and undefined are the default', ({ open }) => {
    const { context } = open();
    for (const options of [{ timeout: 0 }, { timeout: -1 }, { timeout: null, copy: null, filename: undefined, reference: undefined, cachedData: null }]) {
      assert.equal(context.evalSync('1', options), 1);
    }
  });

  test('deadline is checked like timeout', { differs: 'it has no deadlines' }, async ({ open }) => {
    const { context } = open();
    assert.throws(() => context.evalSync('1', { deadline: 'a' }), expect.invalid('`deadline` must be a 32-bit number'));
    assert.throws(() => context.evalSync('1', { deadline: -1 }), expect.invalid('`deadline` must be at least 0'));
    assert.equal(context.evalSync('1', { deadline: 10_000 }), 1);
    await assert.rejects(context.eval('1', { deadline: 0.5 }), expect.invalid('`deadline` must be a 32-bit number'));
  });

  test('global is one Reference', ({ open }) => {
    const { context } = open();
    const { global } = context;
    assert.ok(global instanceof ivm.Reference);
    assert.equal(context.global, global);
    assert.equal(global.typeof, 'object');
    global.setSync('here', 5);
    assert.equal(context.evalSync('here'), 5);
    assert.equal(global.getSync('here'), 5);
  });

  test('global is the global object of its context', ({ open }) => {
    const { context } = open();
    assert.equal(context.evalClosureSync('return $0 === globalThis', [context.global.derefInto()]), true);
  });

  test('release', ({ open }) => {
    const { isolate } = open();
    const context = isolate.createContextSync();
    const { global } = context;
    assert.equal(context.release(), true);
    assert.equal(context.release(), false);
    assert.equal(context.global, undefined);
    assert.throws(() => global.getSync('here'), expect.released('Reference has been released'));
  });

  test('a released context refuses code', async ({ open }) => {
    const { context } = open();
    context.release();
    const released = expect.released('Context is released');
    for (const method of ['evalSync', 'evalIgnored', 'evalClosureSync', 'evalClosureIgnored']) assert.throws(() => context[method]('1'), released, method);
    await assert.rejects(context.eval('1'), released);
    await assert.rejects(context.evalClosure('1'), released);
  });

  test('values of a released context stay usable', ({ open }) => {
    const { context } = open();
    const reference = context.evalSync('globalThis.state = 1; () => ++state', { reference: true });
    context.release();
    assert.equal(reference.applySync(), 2);
    assert.equal(reference.applySync(), 3);
  });
};
