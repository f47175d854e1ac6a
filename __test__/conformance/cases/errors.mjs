// Errors across the boundary, both ways.

const NOT_AN_ERROR = 'An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.';
const CLASSES = [Error, RangeError, ReferenceError, SyntaxError, TypeError];
const PRIMITIVES = [['1', 1], ['"text"', 'text'], ['null', null], ['undefined', undefined], ['5n', 5n], ['false', false]];

export default ({ ivm, test, assert, expect, sides }) => {
  test('the standard classes keep their class', async ({ open }) => {
    const { context } = open();
    for (const Class of CLASSES) assert.throws(() => context.evalSync(`throw new ${Class.name}('text')`), expect.thrown(Class, 'text'));
    for (const Class of CLASSES) await assert.rejects(context.eval(`throw new ${Class.name}('text')`), expect.thrown(Class, 'text'));
  });

  test('syntax and runtime errors of the code', ({ open }) => {
    const { context } = open();
    assert.throws(() => context.evalSync('missing'), expect.thrown(ReferenceError, 'missing is not defined'));
    assert.throws(() => context.evalSync('null.a'), expect.thrown(TypeError, "Cannot read properties of null (reading 'a')"));
    assert.throws(() => context.evalSync('(function f() { f() })()'), expect.thrown(RangeError, 'Maximum call stack size exceeded'));
    assert.equal(context.evalSync('1'), 1);
  });

  test('other classes arrive as Error with their name', ({ open }) => {
    const { context } = open();
    const custom = assert.caught(() => context.evalSync('class Custom extends TypeError { get name() { return "Custom" } } throw new Custom("m")'));
    assert.equal(Object.getPrototypeOf(custom), Error.prototype);
    assert.same([custom.name, custom.message, Object.getOwnPropertyDescriptor(custom, 'name').enumerable], ['Custom', 'm', false]);
    assert.matches(custom.stack, /^Custom: m\n/);
    const extended = assert.caught(() => context.evalSync('class A extends TypeError {} throw new A("m")'));
    assert.equal(Object.getPrototypeOf(extended), Error.prototype);
    assert.equal(extended.name, 'TypeError');
    assert.equal(assert.caught(() => context.evalSync('throw new EvalError("m")')).name, 'EvalError');
  });

  test('objects in properties do not survive', ({ open }) => {
    const { context } = open();
    const error = assert.caught(() => context.evalSync('throw Object.assign(new Error("m"), { extra: {} })'));
    assert.same([error.extra, error.cause], [undefined, undefined]);
    assert.same(Object.keys(error), []);
    assert.equal(assert.caught(() => context.evalSync('const e = new Error(); e.message = 1234; throw e')).message, '1234');
  });

  test('thrown primitives are passed unchanged', async ({ open }) => {
    const { context } = open();
    for (const [code, value] of PRIMITIVES) assert.equal(assert.caught(() => context.evalSync(`throw ${code}`)), value, code);
    for (const [code, value] of PRIMITIVES) assert.equal(await context.eval(`throw ${code}`).then(() => 'it did not throw', (reason) => reason), value, code);
  });

  test('thrown objects and symbols are not passed', ({ open }) => {
    const { context } = open();
    for (const code of ['{}', '[]', 'Symbol("s")', '() => 1', 'new Proxy({}, { get() { throw 1 } })', '{ __proto__: null }']) {
      assert.throws(() => context.evalSync(`throw (${code})`), expect.thrown(Error, NOT_AN_ERROR), code);
    }
  });

  test('a thrown object with a message keeps the message', ({ open }) => {
    assert.equal(assert.caught(() => open().context.evalSync('throw { message: 5, name: "Foo" }')).message, '5');
  });

  test('stacks show both sides, joined by a boundary', async ({ open }) => {
    const { context } = open();
    function outer() {
      context.evalSync('function inner() { throw new Error("E\\nm") } inner()', { filename: 'file:///guest.js' });
    }
    const { stack } = assert.caught(outer);
    assert.matches(stack, /^Error: E\nm\n {4}at inner \(file:\/\/\/guest\.js:1:[^]*\n {4}at \(<isolated-vm boundary>\)\n {4}at outer \(/);
    assert.equal(Object.getOwnPropertyDescriptor(assert.caught(outer), 'stack').enumerable, false);
    let calls = 0;
    function asyncOuter() {
      try {
        return context.eval('function inner() { throw new Error("E") } inner()');
      } finally {
        // In some engines, a caller that has nothing left to do leaves the stack.
        calls += 1;
      }
    }
    const rejection = await asyncOuter().catch((error) => error.stack);
    assert.matches(rejection, /^Error: E\n {4}at inner \(<isolated-vm>:1:[^]*\n {4}at \(<isolated-vm boundary>\)\n {4}at asyncOuter \(/);
    assert.equal(calls, 1);
  });

  test('errors of the library have the caller\'s stack', async ({ open }) => {
    const { isolate } = open();
    isolate.dispose();
    let calls = 0;
    function caller() {
      try {
        return isolate.compileScript('1');
      } finally {
        calls += 1;
      }
    }
    assert.matches(await caller().catch((error) => error.stack), /at caller \(/);
    assert.equal(calls, 1);
  });

  const THROWN = [
    [() => { throw new RangeError('hey'); }, 'error.constructor === RangeError && error.message', 'hey'],
    [() => { throw 5; }, 'error', 5],
    [() => { throw undefined; }, 'String(error)', 'undefined'],
    [() => { throw {}; }, 'error.message', NOT_AN_ERROR],
    [() => { class A extends TypeError {} throw new A('z'); }, 'error.constructor.name + error.name + error.message', 'ErrorTypeErrorz'],
    [() => { throw Object.assign(new Error('m'), { extra: {} }); }, 'Object.getOwnPropertyNames(error).sort().join()', 'message,stack'],
  ];

  test('an error thrown here is thrown there', ({ open }) => {
    const { context } = open();
    for (const [call, code, expected] of THROWN) {
      context.global.setSync('call', call);
      assert.equal(context.evalSync(`try { call(); 'it did not throw' } catch (error) { ${code} }`), expected, code);
    }
  });

  test('an error thrown here is thrown there, from a Reference', ({ open }) => {
    const { context } = open();
    for (const [call, code, expected] of THROWN) {
      context.global.setSync('call', new ivm.Reference(call));
      assert.equal(context.evalSync(`try { call.applySync(); 'it did not throw' } catch (error) { ${code} }`), expected, code);
    }
  });

  test('an error thrown here passes through the other realm', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => { throw new RangeError('through'); });
    const error = assert.caught(() => context.evalSync('(function between() { call() })()'));
    assert.throws(() => { throw error; }, expect.thrown(RangeError, 'through'));
    assert.matches(error.stack, /at between \(<isolated-vm>:1:/);
    await sides.calledBack(context.eval('try { call() } catch (error) { if (error instanceof RangeError) error.message; else throw error; }'), 'through');
  });

  test('errors inside copies are errors', ({ open }) => {
    const { error } = open().context.evalSync('({ error: new RangeError("w") })', { copy: true });
    assert.ok(error instanceof RangeError);
    assert.equal(error.message, 'w');
  });

  test('tampering in one realm does not affect the other', ({ open }) => {
    const error = assert.caught(() => open().context.evalSync(`
      Error.prepareStackTrace = () => ({ evil: true });
      Object.defineProperty(Error.prototype, 'name', { get() { return { evil: true } } });
      const error = new Error('m');
      Object.defineProperty(error, 'stack', { get() { throw 1 } });
      throw error;
    `));
    assert.ok(error instanceof Error);
    assert.same([error.message, typeof error.stack], ['m', 'string']);
  });

  test('other code cannot give its errors codes of the library', ({ open }) => {
    const { context } = open();
    const error = assert.caught(() => context.evalSync('throw Object.assign(new Error("Isolate is disposed"), { code: "ERR_ISOLATE_DISPOSED" })'));
    assert.equal('code' in error, false);
  });

  test('errors that other code throws during a copy have no code', { differs: 'it throws the text "illegal access"' }, ({ open }) => {
    const { context } = open();
    const held = context.evalSync('({ get a() { throw new TypeError("() => 1 could not be cloned.") } })', { reference: true });
    assert.equal('code' in assert.caught(() => held.copySync()), false);
  });
};
