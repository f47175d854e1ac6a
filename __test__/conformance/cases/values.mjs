// What happens to values that are copied: by an `ExternalCopy`, into another isolate, and out of it.

const BOTH = { arguments: { copy: true }, result: { copy: true } };

/** Code that makes a value, so that it can be made on either side. */
const EQUAL = {
  'plain objects': '({ a: 1, b: { c: [null, undefined] }, "": 0 })',
  'keys in order': '({ z: 1, a: 2, 10: 3, 9: 4 })',
  'a key named __proto__': 'JSON.parse(\'{ "__proto__": { "a": 1 } }\')',
  'sparse arrays': 'Object.assign([], { 3: 1, length: 6 })',
  'arrays with names': 'Object.assign([1, 2], { name: "list" })',
  'arrays of numbers': '[1, -0, 1.5, NaN, Infinity, 2 ** 53]',
  'long arrays': 'Array.from({ length: 2000 }, (_, index) => index)',
  'boxed primitives': '[Object(1), Object("text"), Object(true), Object(5n)]',
  'dates': '[new Date(0), new Date(NaN), new Date(8.64e15)]',
  'regular expressions': '[/a/, /b/gimsuy, /[/]\\n/]',
  'maps': 'new Map([[1, { a: 1 }], ["two", new Map([[{}, []]])], [NaN, -0]])',
  'sets': 'new Set([1, "two", { three: 3 }, [4], undefined])',
  'BigInts': '[0n, -1n, 2n ** 64n, -(2n ** 200n)]',
  'text of every width': '["", "a", "\\u00ff", "\\u0100", "\\ud83d\\ude00", "\\ud800", "\\0"]',
  'empty buffers': '[new ArrayBuffer(0), new Uint8Array(0), new DataView(new ArrayBuffer(0))]',
  'buffers in objects': '({ a: new Uint8Array([1, 2]).buffer, b: [new Float64Array([1.5, -0])] })',
};

const GETTERS = 'getters are values';

/** Code, and code of the value that arrives instead. */
const CHANGED = {
  'class instances are plain objects': ['new (class A { a = 1; get b() { return 2; } })()', '({ a: 1 })'],
  'symbols among keys stay behind': ['({ a: 1, [Symbol("s")]: 2 })', '({ a: 1 })'],
  'what is not enumerable stays behind': ['Object.defineProperty({ a: 1 }, "b", { value: 2 })', '({ a: 1 })'],
  'what is inherited stays behind': ['Object.create({ a: 1 }, { b: { value: 2, enumerable: true } })', '({ b: 2 })'],
  [GETTERS]: ['({ get a() { return 1; } })', '({ a: 1 })'],
  'objects without a prototype get one': ['Object.assign(Object.create(null), { a: 1 })', '({ a: 1 })'],
  'lastIndex is reset': ['Object.assign(/a/g, { lastIndex: 3 })', '/a/g'],
  'frozen objects are open': ['Object.freeze({ a: 1 })', '({ a: 1 })'],
};

/** Values that cannot be copied, and V8's messages. */
const REFUSED = {
  'class A {}': 'class A {} could not be cloned.',
  '[() => 1]': '() => 1 could not be cloned.',
  '({ a: Symbol() })': 'Symbol() could not be cloned.',
  'new WeakSet()': '#<WeakSet> could not be cloned.',
  'new Map([[1, Promise.resolve()]])': '#<Promise> could not be cloned.',
  '(function* () {})()': '[object Generator] could not be cloned.',
  '(function () { return arguments; })(1, 2)': '#<Object> could not be cloned.',
};

const made = (code) => new Function(`return (${code})`)();

export default ({ ivm, test, assert, expect }) => {
  /** The value on each of its paths. */
  function each(open, code, check) {
    const { context } = open();
    check(new ivm.ExternalCopy(made(code)).copy(), 'copied here');
    check(new ivm.Reference(made(code)).copySync(), 'a Reference to it, copied');
    check(context.evalSync(`(${code})`, { copy: true }), 'out of the isolate');
    check(context.evalSync(`(${code})`, { externalCopy: true }).copy(), 'out of the isolate, as an ExternalCopy');
    check(context.evalClosureSync('return $0', [made(code)], BOTH), 'in and out');
    check(context.evalClosureSync('return $0', [new ivm.ExternalCopy(made(code)).copyInto()], BOTH), 'into the isolate and out');
    check(context.evalSync(`((value) => value)`)(made(code)), 'through a function there');
    context.global.setSync('call', (value) => value);
    check(context.evalSync(`call(${code})`, { copy: true }), 'through a function here');
  }

  for (const [name, code] of Object.entries(EQUAL)) {
    test(name, ({ open }) => each(open, code, (value, way) => assert.same(value, made(code), way)));
  }

  for (const [name, [code, other]] of Object.entries(CHANGED)) {
    const options = name === GETTERS ? { differs: 'it throws the text "illegal access"' } : {};
    test(name, options, ({ open }) => each(open, code, (value, way) => assert.same(value, made(other), way)));
  }

  for (const [code, message] of Object.entries(REFUSED)) {
    test(`cannot copy ${code}`, ({ open }) => {
      const { context } = open();
      const refused = expect.transfer(message);
      assert.throws(() => new ivm.ExternalCopy(made(code)), refused, 'copied here');
      assert.throws(() => new ivm.Reference(made(code)).copySync(), refused, 'a Reference to it, copied');
      assert.throws(() => context.evalSync(`(${code})`, { copy: true }), refused, 'out of the isolate');
      assert.throws(() => context.evalClosureSync('1', [made(code)], BOTH), refused, 'into the isolate');
      assert.throws(() => context.evalSync(`((value) => value)`)(made(code)), refused, 'through a function there');
    });
  }

  test('copied errors keep class, name and message', { differs: { host: 'it throws the text "illegal access"' } }, ({ open }) => {
    for (const code of ['new Error("a")', 'new TypeError("b")', 'new EvalError("c")', 'new URIError("d")', 'new (class A extends RangeError {})("e")']) {
      const { context } = open();
      for (const value of [new ivm.ExternalCopy(made(code)).copy(), context.evalSync(`(${code})`, { copy: true }), context.evalClosureSync('return $0', [made(code)], BOTH)]) {
        const { name, message, constructor } = made(code);
        assert.same([value.name, value.message], [name, message], code);
        assert.equal(value instanceof (/^[A-Z]\w*Error$/.test(constructor.name) ? constructor : Error), true, code);
        assert.equal(typeof value.stack, 'string', code);
      }
    }
  });

  test('a detached buffer can be copied only by itself', ({ open }) => {
    const { context } = open();
    const buffer = new ArrayBuffer(8);
    new ivm.ExternalCopy(buffer, { transferOut: true }).release();
    assert.equal(new ivm.ExternalCopy(buffer).copy().byteLength, 0);
    assert.equal(new ivm.ExternalCopy(buffer, { transferOut: true }).copy().byteLength, 0);
    assert.equal(context.evalClosureSync('return $0.byteLength', [buffer], BOTH), 0);
    assert.throws(() => new ivm.ExternalCopy({ buffer }), expect.transfer('An ArrayBuffer is detached and could not be cloned.'));
    assert.throws(() => context.evalClosureSync('1', [{ buffer }], BOTH), expect.transfer('An ArrayBuffer is detached and could not be cloned.'));
  });

  test('every option is read once, in the order of isolated-vm', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    const read = (call) => {
      const keys = [];
      call(new Proxy({}, { get: (_, key) => { keys.push(key); } }));
      return keys.filter((key) => !['console', 'deadline', 'hostStacks', 'importModuleDynamically', 'signal', 'timers', 'warm', 'web'].includes(key)).join();
    };
    const transfer = 'copy,externalCopy,reference,promise';
    const reference = new ivm.Reference({ f: 1 });
    const apply = new ivm.Reference(() => 1);
    const copy = new ivm.ExternalCopy(1);
    assert.equal(read((options) => context.evalClosureSync('1', [], options)), 'filename,columnOffset,lineOffset,produceCachedData,cachedData,result,arguments,timeout', 'evalClosure');
    assert.equal(read((options) => script.runSync(context, options)), `release,timeout,${transfer}`, 'run');
    assert.equal(read((options) => reference.getSync('f', options)), `${transfer},accessors`, 'get');
    assert.equal(read((options) => reference.setSync('f', 1, options)), transfer, 'set');
    assert.equal(read((options) => apply.applySync(undefined, [], options)), 'timeout,arguments,result', 'apply');
    assert.equal(read((options) => apply.applySync(undefined, [], { result: options })), transfer, 'result');
    assert.equal(read((options) => apply.applySync(undefined, [], { arguments: options })), transfer, 'arguments');
    assert.equal(read((options) => reference.deref(options)), 'release', 'deref');
    assert.equal(read((options) => reference.derefInto(options)), 'release', 'derefInto');
    assert.equal(read((options) => copy.copy(options)), 'release,transferIn', 'copy');
    assert.equal(read((options) => copy.copyInto(options)), 'release,transferIn', 'copyInto');
    assert.equal(read((options) => new ivm.ExternalCopy(1, options)), 'transferOut,transferList', 'ExternalCopy');
    assert.equal(read((options) => new ivm.Reference(1, options)), 'unsafeInherit', 'Reference');
    assert.equal(read((options) => new ivm.Callback(() => {}, options)), 'async,ignored', 'Callback');
    assert.equal(read((options) => isolate.createContextSync(options)), 'inspector', 'createContext');
    assert.equal(read((options) => new ivm.Isolate(options).dispose()), 'memoryLimit,snapshot,inspector,onCatastrophicError', 'Isolate');
  });
};
