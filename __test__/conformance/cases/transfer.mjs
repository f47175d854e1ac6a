// Transfer options: how values travel, in both directions.

const BOTH = { arguments: { copy: true }, result: { copy: true } };

export default ({ ivm, test, assert, expect, sides }) => {
  const refused = expect.transfer('A non-transferable value was passed');

  test('primitives are transferred both ways', ({ open }) => {
    const { context } = open();
    const values = [
      undefined, null, true, false, 0, -0, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 31), 0n, -1n, 2n ** 100n, '', 'a',
      'ÿ', 'Ā', '😀', '\ud800', 'x'.repeat(10_000), '☃'.repeat(10_000),
    ];
    for (const value of values) {
      assert.equal(context.evalClosureSync('return $0', [value]), value);
      assert.equal(context.evalClosureSync('return $0', [value], BOTH), value);
      context.global.setSync('kept', value);
      assert.equal(context.global.getSync('kept'), value);
    }
  });

  test('functions become wrappers that call back', ({ open }) => {
    const { context } = open();
    const seen = [];
    const double = context.evalClosureSync('return (value) => $0(value) * 2', [(value) => {
      seen.push(value);
      return value + 1;
    }]);
    assert.equal(double(4), 10);
    assert.same(seen, [4]);
  });

  test('handles stay handles to the same value', ({ open }) => {
    const { isolate, context } = open();
    const echo = (value) => context.evalClosureSync('return $0', [value]);
    const value = { here: 1 };
    assert.equal(echo(new ivm.Reference(value)).deref(), value);
    assert.equal(echo(context).evalSync('1 + 1'), 2);
    assert.equal(echo(isolate).isDisposed, false);
    assert.equal(echo(isolate.compileScriptSync('9')).runSync(context), 9);
    assert.same(echo(new ivm.ExternalCopy([1])).copy(), [1]);
    assert.equal(typeof echo(new ivm.Callback(() => 1)), 'function');
    assert.equal(typeof echo(ivm).Isolate, 'function');
  });

  test('transferred handles are instances of the receiver\'s classes', ({ open }) => {
    const { isolate, context } = open();
    const { evalClosureSync } = ivm.Context.prototype;
    for (const [name, value] of Object.entries({ Isolate: isolate, Context: context, Reference: context.global, ExternalCopy: new ivm.ExternalCopy(1), Script: isolate.compileScriptSync('1') })) {
      assert.equal(evalClosureSync.call(context, `return $0 instanceof $1.${name}`, [value, ivm]), true, name);
    }
  });

  test('copy', async ({ open }) => {
    const { context } = open();
    const value = { list: Object.assign([1], { 2: 'a' }), map: new Map([[1, { deep: true }]]), set: new Set([2n]), date: new Date(5), text: '☃' };
    assert.same(context.evalClosureSync('return $0', [value], BOTH), value);
    assert.equal(context.evalClosureSync('return Object.getPrototypeOf($0) === Object.prototype', [value], BOTH), true);
    assert.same(await context.evalClosure('return $0', [value], BOTH), value);
  });

  test('copy keeps cycles and shared references', ({ open }) => {
    const { context } = open();
    const [first, second] = context.evalSync('const one = {}; [one, one]', { copy: true });
    assert.equal(first, second);
    const cyclic = context.evalSync('const self = {}; self.self = self; self', { copy: true });
    assert.equal(cyclic.self, cyclic);
  });

  test('copy rejects arguments that cannot be cloned', ({ open }) => {
    const { context } = open();
    const cases = [
      [() => 1, '() => 1 could not be cloned.'], [{ inner() {} }, 'inner() {} could not be cloned.'], [Promise.resolve(), '#<Promise> could not be cloned.'],
      [new WeakMap(), '#<WeakMap> could not be cloned.'], [Symbol('s'), 'Unsupported type'],
    ];
    for (const [value, message] of cases) {
      assert.throws(() => context.evalClosureSync('return 1', [value], { arguments: { copy: true } }), expect.transfer(message));
      assert.throws(() => context.global.setSync('a', value, { copy: true }), expect.transfer(message));
    }
  });

  test('copy rejects results that cannot be cloned', async ({ open }) => {
    const { context } = open();
    const cases = [['() => 1', '() => 1 could not be cloned.'], ['Promise.resolve()', '#<Promise> could not be cloned.'], ['Symbol("s")', 'Unsupported type'], ['({ a: Symbol("s") })', 'Symbol(s) could not be cloned.']];
    for (const [code, message] of cases) assert.throws(() => context.evalSync(code, { copy: true }), expect.transfer(message));
    for (const [code, message] of cases) await assert.rejects(context.eval(code, { copy: true }), expect.transfer(message));
  });

  test('copy includes handles', ({ open }) => {
    const { context } = open();
    const value = { inner: 7 };
    const result = context.evalClosureSync('return { again: $0.reference, list: [$0.ivm] }', [{ reference: new ivm.Reference(value), ivm }], BOTH);
    assert.equal(result.again.deref(), value);
    assert.equal(typeof result.list[0].Isolate, 'function');
  });

  test('externalCopy', async ({ open }) => {
    const { context } = open();
    const copy = context.evalSync('({ a: 1 })', { externalCopy: true });
    assert.ok(copy instanceof ivm.ExternalCopy);
    assert.same(copy.copy(), { a: 1 });
    assert.equal(context.evalSync('5', { externalCopy: true }).copy(), 5);
    assert.equal(context.evalClosureSync('return $0.copy().n', [{ n: 3 }], { arguments: { externalCopy: true } }), 3);
    assert.same((await context.eval('[2]', { externalCopy: true })).copy(), [2]);
  });

  test('externalCopy rejects values that cannot be cloned', ({ open }) => {
    const { context } = open();
    assert.throws(() => context.evalSync('() => 1', { externalCopy: true }), expect.transfer('() => 1 could not be cloned.'));
    assert.throws(() => context.evalClosureSync('1', [() => 1], { arguments: { externalCopy: true } }), expect.transfer('() => 1 could not be cloned.'));
  });

  test('reference', async ({ open }) => {
    const { context } = open();
    const held = context.evalSync('({ a: 1 })', { reference: true });
    assert.ok(held instanceof ivm.Reference);
    assert.equal(held.getSync('a'), 1);
    assert.equal(context.evalClosureSync('return $0.typeof', [{ n: 3 }], { arguments: { reference: true } }), 'object');
    assert.equal(context.evalClosureSync('return $0.getSync("n")', [{ n: 3 }], { arguments: { reference: true } }), 3);
    assert.equal((await context.eval('Symbol()', { reference: true })).typeof, 'object');
  });

  test('a Reference returned as a Reference refers to the same value', ({ open }) => {
    const { context } = open();
    const value = {};
    const back = context.evalClosureSync('return $0', [new ivm.Reference(value)], { result: { reference: true } });
    assert.ok(back instanceof ivm.Reference);
    assert.equal(back.typeof, 'object');
  });

  test('buffers are copied', ({ open }) => {
    const { context } = open();
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const result = context.evalClosureSync('$0[0] = 9; return $0', [bytes], BOTH);
    assert.same([[...result], [...bytes]], [[9, 2, 3, 4], [1, 2, 3, 4]]);
    assert.equal(context.evalClosureSync('return $0', [new ArrayBuffer(16)], BOTH).byteLength, 16);
  });

  test('every kind of view', ({ open }) => {
    const { context } = open();
    const views = [
      new Int8Array(2), new Uint8ClampedArray(2), new Int16Array(2), new Uint16Array(2), new Int32Array(2), new Uint32Array(2),
      new Float32Array(2), new Float64Array(2), new BigInt64Array(2), new BigUint64Array(2), new DataView(new ArrayBuffer(8)),
    ];
    for (const view of views) assert.same(context.evalClosureSync('return $0', [view], BOTH), view, view.constructor.name);
  });

  test('a view of a possible pool brings only its own bytes', { differs: { host: 'the whole buffer goes' } }, ({ open }) => {
    const pool = new Uint8Array(8192).fill(3);
    const code = 'return [$0.length, $0.byteOffset, $0.buffer.byteLength, $0[0]].join()';
    assert.equal(open().context.evalClosureSync(code, [pool.subarray(2, 4)], { arguments: { copy: true } }), sides.viewsComeAlone ? '2,0,2,3' : '2,2,8192,3');
  });

  test('shared buffers are shared', ({ open }) => {
    const { context } = open();
    const shared = new SharedArrayBuffer(8);
    context.global.setSync('shared', shared, { copy: true });
    context.evalSync('new Uint8Array(shared)[3] = 7');
    assert.equal(new Uint8Array(shared)[3], 7);
    new Uint8Array(shared)[4] = 8;
    assert.equal(context.evalSync('new Uint8Array(shared)[4]'), 8);
    assert.equal(context.global.getSync('shared', { copy: true }).byteLength, 8);
  });

  test('symbols are never transferable', ({ open }) => {
    const { context } = open();
    assert.throws(() => context.global.setSync('a', Symbol('s')), refused);
    assert.throws(() => context.global.setSync('a', Symbol('s'), { copy: true }), expect.transfer('Unsupported type'));
    assert.equal(context.evalClosureSync('return $0.typeof', [Symbol('s')], { arguments: { reference: true } }), 'object');
  });

  test('options are read in the order of isolated-vm', ({ open }) => {
    const { context } = open();
    const read = [];
    context.evalSync('1', new Proxy({}, { get: (_, key) => { read.push(key); } }));
    assert.same(read.filter((key) => key !== 'deadline' && key !== 'signal'), [
      'filename', 'columnOffset', 'lineOffset', 'produceCachedData', 'cachedData', 'copy', 'externalCopy', 'reference', 'promise', 'timeout',
    ]);
  });
};
