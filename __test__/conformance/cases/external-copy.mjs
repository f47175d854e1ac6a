// `ExternalCopy`: copies outside all heaps.

export default ({ ivm, test, assert, expect }) => {
  const gone = expect.released('Copy has been released');
  const empty = expect.released('Array buffer is invalid');

  test('copy returns a new value each time', () => {
    const value = { list: Object.assign([1], { 2: 'a' }), map: new Map([[1, { deep: true }]]), set: new Set([2n]), date: new Date(5), regexp: /a/gi };
    const copy = new ivm.ExternalCopy(value);
    assert.same(copy.copy(), value);
    assert.ok(copy.copy() !== copy.copy());
  });

  test('primitives', () => {
    for (const primitive of [undefined, null, true, false, 0, -0, 1.5, Number.NaN, 'text', '', '☃', '\ud800', 10n ** 30n, -1n]) {
      assert.equal(new ivm.ExternalCopy(primitive).copy(), primitive);
    }
  });

  test('cycles and shared references', () => {
    const part = {};
    const value = { one: part, two: part };
    value.self = value;
    const copy = new ivm.ExternalCopy(value).copy();
    assert.ok(copy.self === copy && copy.one === copy.two && copy.one !== part);
  });

  test('the copy is made at construction', () => {
    const value = { a: 1 };
    const copy = new ivm.ExternalCopy(value);
    value.a = 2;
    assert.same(copy.copy(), { a: 1 });
  });

  test('options of the constructor', () => {
    assert.throws(() => new ivm.ExternalCopy(1, 1), expect.invalid('`ExternalCopy` requires parameter 2 to be an object'));
    assert.throws(() => new ivm.ExternalCopy(1, { transferList: 1 }), expect.invalid('`transferList` must be an array'));
    assert.throws(() => new ivm.ExternalCopy(1, { transferOut: 1 }), expect.invalid('`transferOut` must be a boolean'));
    assert.throws(() => new ivm.ExternalCopy({}, { transferList: [1] }), expect.invalid('Non-ArrayBuffer passed in `transferList`'));
    for (const options of [undefined, null, {}, { transferList: null, transferOut: undefined }]) assert.equal(new ivm.ExternalCopy(1, options).copy(), 1);
  });

  test('options of copy and copyInto', () => {
    const copy = new ivm.ExternalCopy(1);
    for (const method of ['copy', 'copyInto']) {
      assert.throws(() => copy[method](1), expect.invalid('`undefined` requires parameter 1 to be an object'));
      assert.throws(() => copy[method]({ release: 1 }), expect.invalid('`release` must be a boolean'));
      assert.throws(() => copy[method]({ transferIn: 1 }), expect.invalid('`transferIn` must be a boolean'));
    }
    assert.equal(copy.copy(null), 1);
  });

  test('values that cannot be cloned are rejected', () => {
    const cases = [
      [Symbol('s'), 'Unsupported type'], [() => 1, '() => 1 could not be cloned.'], [{ a() {} }, 'a() {} could not be cloned.'],
      [{ a: Symbol('x') }, 'Symbol(x) could not be cloned.'], [Promise.resolve(), '#<Promise> could not be cloned.'],
      [new Proxy({}, {}), '#<Object> could not be cloned.'], [new WeakMap(), '#<WeakMap> could not be cloned.'],
    ];
    for (const [value, message] of cases) assert.throws(() => new ivm.ExternalCopy(value), expect.transfer(message));
  });

  test('getters are read once', { differs: 'it throws the text "illegal access"' }, () => {
    let reads = 0;
    const copy = new ivm.ExternalCopy({ get a() { reads += 1; return reads; } });
    assert.same([copy.copy(), copy.copy(), reads], [{ a: 1 }, { a: 1 }, 1]);
  });

  test('errors of getters are thrown', { differs: 'it throws the text "illegal access"' }, () => {
    assert.throws(() => new ivm.ExternalCopy({ get a() { throw new RangeError('read'); } }), expect.thrown(RangeError, 'read'));
  });

  test('errors are copied', { differs: { host: 'it throws the text "illegal access"' } }, () => {
    const whole = new ivm.ExternalCopy(new TypeError('whole')).copy();
    assert.ok(whole instanceof TypeError && whole.message === 'whole');
    const { error } = new ivm.ExternalCopy({ error: new RangeError('inside') }).copy();
    assert.ok(error instanceof RangeError && error.message === 'inside');
  });

  test('handles inside a copy stay handles', () => {
    const value = { q: 1 };
    const { reference } = new ivm.ExternalCopy({ reference: new ivm.Reference(value) }).copy();
    assert.ok(reference instanceof ivm.Reference);
    assert.equal(reference.deref(), value);
    assert.equal(new ivm.ExternalCopy(new ivm.ExternalCopy(4)).copy().copy(), 4);
    assert.equal(typeof new ivm.ExternalCopy([ivm]).copy()[0].Isolate, 'function');
  });

  test('copyInto', async ({ open }) => {
    const { context } = open();
    const copy = new ivm.ExternalCopy({ a: [1] });
    const into = copy.copyInto();
    context.global.setSync('value', into);
    assert.equal(context.evalSync('value.a[0]'), 1);
    assert.throws(() => context.global.setSync('value', into), expect.released('The return value of `copyInto()` should only be used once'));
    assert.equal(context.evalClosureSync('return $0.a.length', [copy.copyInto()]), 1);
    assert.equal(await context.evalClosure('return $0.a.length', [copy.copyInto({ release: true })]), 1);
    assert.throws(() => copy.copy(), gone);
  });

  test('copyInto works for functions of this realm', () => {
    const local = new ivm.Reference((value) => value.b);
    assert.equal(local.applySync(undefined, [new ivm.ExternalCopy({ b: 2 }).copyInto()]), 2);
  });

  test('release', () => {
    const copy = new ivm.ExternalCopy('x');
    assert.equal(copy.release(), undefined);
    assert.throws(() => copy.release(), gone);
    assert.throws(() => copy.copy(), gone);
    assert.throws(() => copy.copyInto(), gone);
  });

  test('the option release', () => {
    const copy = new ivm.ExternalCopy({ a: 1 });
    assert.same(copy.copy({ release: true }), { a: 1 });
    assert.throws(() => copy.copy(), gone);
  });

  test('dispose() is an alias of release()', { differs: 'it has no old names any more' }, () => {
    const copy = new ivm.ExternalCopy(1);
    assert.equal(copy.dispose(), undefined);
    assert.throws(() => copy.dispose(), gone);
  });

  test('copies that were passed to an isolate survive a release', ({ open }) => {
    const { context } = open();
    const copy = new ivm.ExternalCopy({ a: 1 });
    context.global.setSync('copy', copy);
    copy.release();
    assert.same(context.global.getSync('copy').copy(), { a: 1 });
    assert.equal(context.evalSync('copy.copy().a'), 1);
  });

  test('copies outlive the isolate of the copied value', ({ open }) => {
    const { isolate, context } = open();
    const copy = context.evalSync('({ a: [1] })', { externalCopy: true });
    isolate.dispose();
    assert.same(copy.copy(), { a: [1] });
  });

  test('buffers and views', () => {
    const views = [
      new Int8Array([1, 2]), new Uint8ClampedArray([1, 2]), new Int16Array([1, 2]), new Uint16Array([1, 2]), new Int32Array([1, 2]),
      new Uint32Array([1, 2]), new Float32Array([1, 2]), new Float64Array([1, 2]), new BigInt64Array([1n, 2n]), new BigUint64Array([1n, 2n]),
      new DataView(new Uint8Array([1, 2, 3, 4]).buffer), new Uint8Array([1, 2]).buffer,
    ];
    for (const view of views) assert.same(new ivm.ExternalCopy(view).copy(), view, view.constructor.name);
  });

  test('a view is copied with its buffer', () => {
    const view = new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2);
    const copy = new ivm.ExternalCopy(view).copy();
    assert.same([[...copy], copy.byteOffset, copy.buffer.byteLength], [[2, 3], 1, 4]);
  });

  test('transferOut moves a buffer', () => {
    const buffer = new Uint8Array([5]).buffer;
    const copy = new ivm.ExternalCopy(buffer, { transferOut: true });
    assert.equal(buffer.byteLength, 0);
    assert.equal(new Uint8Array(copy.copy())[0], 5);
    const plain = new ArrayBuffer(8);
    assert.equal(new ivm.ExternalCopy(plain, { transferOut: false }).copy().byteLength, 8);
    assert.equal(plain.byteLength, 8);
  });

  test('transferOut moves the buffer of a view', () => {
    const view = new Uint16Array([1, 2, 3]);
    const copy = new ivm.ExternalCopy(view, { transferOut: true });
    assert.equal(view.length, 0);
    assert.same([...copy.copy()], [1, 2, 3]);
  });

  test('transferList moves the buffers it lists', () => {
    const [inside, kept, outside] = [new ArrayBuffer(8), new ArrayBuffer(4), new ArrayBuffer(5)];
    const copy = new ivm.ExternalCopy({ inside, kept }, { transferList: [inside, outside] });
    assert.same([inside.byteLength, kept.byteLength, outside.byteLength], [0, 4, 0]);
    assert.same([copy.copy().inside.byteLength, copy.copy().kept.byteLength], [8, 4]);
  });

  test('no buffer is transferred if the copy fails', () => {
    const kept = new ArrayBuffer(4);
    assert.throws(() => new ivm.ExternalCopy([kept, () => 1], { transferList: [kept] }), expect.transfer('() => 1 could not be cloned.'));
    assert.equal(kept.byteLength, 4);
  });

  test('a buffer is moved once, wherever it is listed', { differs: 'its bytes are lost' }, () => {
    const listed = new ArrayBuffer(8);
    const copy = new ivm.ExternalCopy({ listed, same: [listed] }, { transferList: [listed, listed] }).copy();
    assert.same([listed.byteLength, copy.listed.byteLength, copy.listed === copy.same[0]], [0, 8, true]);
  });

  test('transferIn empties a copy of a buffer, or of a view', ({ open }) => {
    const { context } = open();
    for (const value of [new ArrayBuffer(3), new Uint8Array(3)]) {
      const copy = new ivm.ExternalCopy(value);
      assert.same(copy.copy({ transferIn: true }), value);
      assert.throws(() => copy.copy(), empty);
      const into = copy.copyInto();
      assert.throws(() => context.global.setSync('x', into), empty);
      copy.release();
    }
  });

  test('transferIn does not affect other copies', () => {
    for (const value of [{ a: 1 }, { b: new ArrayBuffer(2) }, 'x', 1, undefined, new Date(1)]) {
      const copy = new ivm.ExternalCopy(value);
      for (let time = 0; time < 2; time += 1) assert.same(copy.copy({ transferIn: true }), value);
    }
  });

  test('copyInto transfers a buffer', ({ open }) => {
    const { context } = open();
    const copy = new ivm.ExternalCopy(new Uint8Array([7]).buffer);
    assert.equal(context.evalClosureSync('return new Uint8Array($0)[0]', [copy.copyInto({ transferIn: true })]), 7);
    assert.throws(() => copy.copy(), empty);
  });

  test('shared buffers stay shared', () => {
    const shared = new SharedArrayBuffer(8);
    const copy = new ivm.ExternalCopy(shared).copy();
    assert.ok(copy instanceof SharedArrayBuffer);
    new Uint8Array(shared)[0] = 3;
    assert.equal(new Uint8Array(copy)[0], 3);
  });

  test('totalExternalSize counts strings until they are released', () => {
    const before = ivm.ExternalCopy.totalExternalSize;
    const copies = ['a'.repeat(1000), '☃'.repeat(1000)].map((text) => new ivm.ExternalCopy(text));
    const between = ivm.ExternalCopy.totalExternalSize;
    assert.ok(between - before >= 3000 && between - before < 3500, `${before} → ${between}`);
    for (const copy of copies) copy.release();
    assert.ok(ivm.ExternalCopy.totalExternalSize <= before);
  });

  test('totalExternalSize cannot be set', () => {
    assert.throws(() => { ivm.ExternalCopy.totalExternalSize = 1; }, expect.thrown(TypeError, /./));
  });
};
