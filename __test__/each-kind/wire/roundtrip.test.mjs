// Random values from the host into a real isolate and back, and what V8 sees of them inside.

/* oxlint-disable no-sparse-arrays, no-new-array -- holes travel, too */

import assert from 'node:assert/strict';
import { after, before, describe as group, test } from 'node:test';
import fc from 'fast-check';
import ivm from '../../../index.mjs';
import { describe } from '../../wire/describe.mjs';
import { difference } from '../../wire/helper.mjs';

const RUNS = 150;

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '\ud800', '\udc00\ud800', 'ÿ'.repeat(5000), '☃'.repeat(5000), 'x'.repeat(4097)),
);
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'then', 'toJSON', 'id', '0', '7', '4294967294', '4294967295', '-1', '1.5'));
const number = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger(), fc.constantFrom(0, -0, NaN, Infinity, -Infinity, 2 ** 30, 2 ** 31, -(2 ** 31), 2 ** 32 - 1));
const bigint = fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 2000n), max: 2n ** 2000n }), fc.constantFrom(0n, -1n, 2n ** 63n, 2n ** 64n, -(2n ** 64n), 2n ** 64n - 1n));
const primitive = fc.oneof(number, text, bigint, fc.boolean(), fc.constantFrom(null, undefined));
const bytes = fc.uint8Array({ maxLength: 64 });
const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  ...('Float16Array' in globalThis ? [globalThis.Float16Array] : []), DataView];
const sizeOf = (View) => View.BYTES_PER_ELEMENT ?? 1;
const view = fc.tuple(fc.constantFrom(...views), bytes).map(([View, content]) => new View(content.slice(0, content.length - (content.length % sizeOf(View))).buffer));
const resizable = fc.tuple(bytes, fc.nat(50)).map(([content, more]) => {
  const buffer = new ArrayBuffer(content.length, { maxByteLength: content.length + more });
  new Uint8Array(buffer).set(content);
  return buffer;
});
/** A stack that is not cut off, whatever the message. */
const stackText = text.map((stack) => stack.slice(0, 4_000));
const error = fc.tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError, URIError, EvalError, ReferenceError), text, stackText).map(([Class, message, stack]) =>
  Object.defineProperty(new Class(message), 'stack', { value: stack, configurable: true, writable: true }));
const leaf = fc.oneof(
  { arbitrary: primitive, weight: 3 },
  fc.date({ noInvalidDate: false }),
  fc.constantFrom(/a/g, /[x-z]+/dimsuy, /\u20ac/v, /(?:)/, /\//).map(({ source, flags }) => new RegExp(source, flags)),
  fc.oneof(number, text, bigint, fc.boolean()).map(Object),
  bytes.map((content) => content.slice().buffer),
  view,
  error,
);
const HOLE = Symbol('hole');
const holey = (items) => {
  const array = new Array(items.length);
  items.forEach((item, index) => { if (item !== HOLE) array[index] = item; });
  return array;
};
/** Defines own properties: assigning to `__proto__` would not. */
const withKeys = (object, pairs) => {
  for (const [name, value] of pairs) {
    if (Array.isArray(object) && (name === 'length' || String(name >>> 0) === name)) continue;
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return object;
};
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5, depthSize: 'small' }, leaf, tie('container')),
  container: fc.oneof(
    fc.array(tie('value'), { maxLength: 8 }),
    fc.array(fc.oneof(tie('value'), fc.constant(HOLE)), { maxLength: 8 }).map(holey),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 8 }).map((pairs) => withKeys({}, pairs)),
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), fc.array(fc.tuple(key, tie('value')), { maxLength: 3 })).map(([array, pairs]) => withKeys(array, pairs)),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 5 }).map((pairs) => new Map(pairs)),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => new Set(items)),
  ),
}));

/** Nodes with random edges: cycles and shared references. */
const kinds = [() => ({}), () => [], () => new Map(), () => new Set(), () => Object.defineProperty(new Error('e'), 'stack', { value: '', configurable: true, writable: true })];
const link = (from, to, name) => {
  if (from instanceof Map) from.set(name, to).set(to, name);
  else if (from instanceof Set) from.add(to);
  else if (from instanceof Error) Object.defineProperty(from, 'cause', { value: to, configurable: true, writable: true });
  else if (Array.isArray(from)) from.push(to);
  else from[`to${name}`] = to;
};
const graph = fc.tuple(
  fc.array(fc.nat(kinds.length - 1), { minLength: 1, maxLength: 30 }),
  fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 80 }),
).map(([nodes, links]) => {
  const made = nodes.map((kind) => kinds[kind]());
  links.forEach(([from, to], name) => link(made[from % made.length], made[to % made.length], name));
  return made;
});

group('host → guest → host', () => {
  let isolate;
  let context;
  let global;

  before(() => {
    isolate = new ivm.Isolate();
    context = isolate.createContextSync();
    ({ global } = context);
    context.evalSync(`globalThis.describe = ${describe}`);
  });
  after(() => isolate.dispose());

  test('BigInts of each number of digits', () => {
    const near = Array.from({ length: 300 }, (_, bits) => [0n, 1n, -1n, 5n].map((more) => (1n << BigInt(bits)) + more)).flat();
    const values = near.flatMap((each) => [each, -each]);
    const texts = context.evalSync('(values) => values.map(String)', { reference: true }).applySync(undefined, [values], { arguments: { copy: true }, result: { copy: true } });
    assert.deepEqual(texts, values.map(String));
    const made = context.evalSync('(texts) => texts.map(BigInt)', { reference: true }).applySync(undefined, [texts], { arguments: { copy: true }, result: { copy: true } });
    assert.deepEqual(made, values);
  });

  /** All ways to send a value and get it back. */
  const ways = {
    'ExternalCopy, copyInto, Reference.copySync': (sent) => {
      global.setSync('it', new ivm.ExternalCopy(sent).copyInto({ release: true }));
      const reference = context.evalSync('[it]', { reference: true });
      const [received] = reference.copySync();
      reference.release();
      return received;
    },
    'evalClosure with copies': (sent) => context.evalClosureSync('return $0', [sent], { arguments: { copy: true }, result: { copy: true } }),
    'evalClosure, result as ExternalCopy': (sent) => {
      const copy = context.evalClosureSync('return [$0]', [sent], { arguments: { copy: true }, result: { externalCopy: true } });
      const [received] = copy.copy();
      copy.release();
      return received;
    },
    'the result of a callback': (sent) => {
      global.setSync('give', () => sent);
      return context.evalSync('[give()]', { copy: true })[0];
    },
    'the argument of a callback': (sent) => {
      let seen;
      global.setSync('take', (it) => { seen = it; });
      context.evalClosureSync('take($0)', [sent], { arguments: { copy: true } });
      return seen;
    },
  };

  for (const [way, trip] of Object.entries(ways)) {
    test(`random values: ${way}`, () => {
      fc.assert(fc.property(value, (sent) => assert.equal(difference(sent, trip(sent)), undefined)), { numRuns: RUNS });
    });

    test(`random graphs: ${way}`, () => {
      fc.assert(fc.property(graph, (sent) => assert.equal(difference(sent, trip(sent)), undefined)), { numRuns: RUNS / 3 });
    });

    test(`the received value is a new value of the host's realm: ${way}`, () => {
      const sent = { list: [new Map(), new Date(0), new Uint8Array(2), new TypeError('e'), /x/] };
      const received = trip(sent);
      assert.notEqual(received, sent);
      assert.equal(Object.getPrototypeOf(received), Object.prototype);
      for (const [index, Class] of [Map, Date, Uint8Array, TypeError, RegExp].entries()) {
        assert.equal(Object.getPrototypeOf(received.list[index]), Class.prototype);
        assert.notEqual(received.list[index], sent.list[index]);
      }
      assert.equal(Object.getPrototypeOf(received.list), Array.prototype);
    });
  }

  test('async: random values', async () => {
    await fc.assert(fc.asyncProperty(value, async (sent) => {
      const received = await context.evalClosure('return $0', [sent], { arguments: { copy: true }, result: { copy: true } });
      assert.equal(difference(sent, received), undefined);
    }), { numRuns: RUNS / 3 });
  });

  test('V8 sees the same value inside: random values', () => {
    fc.assert(fc.property(value, (sent) => {
      assert.equal(context.evalClosureSync('return describe($0)', [sent], { arguments: { copy: true } }), describe(sent));
      global.setSync('it', new ivm.ExternalCopy(sent).copyInto({ release: true }));
      assert.equal(context.evalSync('describe(it)'), describe(sent));
    }), { numRuns: RUNS });
  });

  test('V8 sees the same value inside: random graphs', () => {
    fc.assert(fc.property(graph, (sent) => {
      assert.equal(context.evalClosureSync('return describe($0)', [sent], { arguments: { copy: true } }), describe(sent));
    }), { numRuns: RUNS });
  });

  test('V8 sees the types', () => {
    const tags = [
      [{}, 'Object'], [[], 'Array'], [new Map(), 'Map'], [new Set(), 'Set'], [new Date(), 'Date'], [/x/, 'RegExp'], [new RangeError('r'), 'Error'],
      [Object(1), 'Number'], [Object('s'), 'String'], [Object(true), 'Boolean'], [Object(1n), 'BigInt'], [new ArrayBuffer(1), 'ArrayBuffer'],
      ...views.map((View) => [new View(new ArrayBuffer(16)), View.name]), [null, 'Null'], [undefined, 'Undefined'], [1n, 'BigInt'], ['s', 'String'],
    ];
    for (const [sent, tag] of tags) {
      assert.equal(context.evalClosureSync('return Object.prototype.toString.call($0)', [sent], { arguments: { copy: true } }), `[object ${tag}]`);
    }
  });

  test('descriptions distinguish values', () => {
    const different = [0, -0, NaN, '0', 0n, null, undefined, 'null', [undefined], [,], {}, { a: undefined }, new Map(), new Set(), Object(0), new Error('a'), new Error('b'),
      new TypeError('a'), new Uint8Array(1), new Uint8Array(2), new Int8Array(1), new ArrayBuffer(1), new ArrayBuffer(1, { maxByteLength: 2 }), /a/, /a/g, new Date(0), new Date(NaN)];
    for (const one of different) if (one instanceof Error) Object.defineProperty(one, 'stack', { value: '' });
    assert.equal(new Set(different.map(describe)).size, different.length);
    const shared = {};
    assert.notEqual(describe([shared, shared]), describe([{}, {}]));
  });

  test('views that are smaller than their buffer', () => {
    fc.assert(fc.property(fc.constantFrom(...views), fc.uint8Array({ minLength: 16, maxLength: 64 }), fc.nat(3), fc.nat(3), (View, content, skip, count) => {
      const sent = new View(content.slice().buffer, skip * sizeOf(View) % 8, sizeOf(View) > 4 ? 1 : count);
      const bytesOf = (one) => [...new Uint8Array(one.buffer, one.byteOffset, one.byteLength)];
      for (const [way, trip] of Object.entries(ways)) {
        const received = trip(sent);
        assert.equal(Object.getPrototypeOf(received), View.prototype, way);
        assert.deepEqual(bytesOf(received), bytesOf(sent), way);
      }
      const inside = context.evalClosureSync('return $0.constructor.name + [...new Uint8Array($0.buffer, $0.byteOffset, $0.byteLength)].join()', [sent], { arguments: { copy: true } });
      assert.equal(inside, View.name + bytesOf(sent).join());
    }), { numRuns: RUNS / 3 });
  });

  for (const [way, trip] of Object.entries(ways)) {
    test(`resizable buffers stay resizable: ${way}`, () => {
      fc.assert(fc.property(resizable, (sent) => {
        assert.equal(difference(sent, trip(sent)), undefined);
        assert.equal(difference([{ sent }, new Uint8Array(sent)], trip([{ sent }, new Uint8Array(sent)])), undefined);
      }), { numRuns: 50 });
    });
  }

  test('V8 sees a resizable buffer inside', () => {
    const sent = new ArrayBuffer(4, { maxByteLength: 10 });
    assert.equal(context.evalClosureSync('$0.resize(8); return describe($0)', [sent], { arguments: { copy: true } }), describe(new ArrayBuffer(8, { maxByteLength: 10 })));
  });

  test('two views of one buffer still share it', () => {
    const buffer = new ArrayBuffer(16);
    const sent = [new Uint8Array(buffer), new Float64Array(buffer), buffer];
    for (const [way, trip] of Object.entries(ways)) {
      const [first, second, third] = trip(sent);
      assert.equal(first.buffer, third, way);
      assert.equal(second.buffer, third, way);
    }
    assert.equal(context.evalClosureSync('$0[0][0] = 7; return $0[0].buffer === $0[2] && new Uint8Array($0[2])[0] === 7', [sent], { arguments: { copy: true } }), true);
    assert.equal(new Uint8Array(buffer)[0], 0);
  });

  test('changes to the guest\'s copy do not reach the host', () => {
    const sent = { list: [1], bytes: new Uint8Array([1]), map: new Map([[1, 2]]) };
    context.evalClosureSync('$0.list.push(2); $0.bytes[0] = 9; $0.map.clear()', [sent], { arguments: { copy: true } });
    assert.deepEqual(sent, { list: [1], bytes: new Uint8Array([1]), map: new Map([[1, 2]]) });
  });

  test('large values', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ i, name: `n${i}`, list: [i, -i] }));
    const big = { text: 'x☃'.repeat(500_000), bytes: new Uint8Array(3_000_000).map((_, i) => i * 7), many };
    for (const [way, trip] of Object.entries(ways)) assert.equal(difference(big, trip(big)), undefined, way);
  });

  test('a SharedArrayBuffer is shared, both ways', () => {
    const shared = new SharedArrayBuffer(64);
    const here = new Int32Array(shared);
    here[0] = 5;
    global.setSync('shared', new ivm.ExternalCopy(shared).copyInto());
    assert.equal(context.evalSync('Object.prototype.toString.call(shared) + shared.byteLength'), '[object SharedArrayBuffer]64');
    assert.equal(context.evalSync('globalThis.there = new Int32Array(shared); there[0]'), 5);
    context.evalSync('there[1] = 6; Atomics.add(there, 0, 10)');
    assert.deepEqual([here[0], here[1]], [15, 6]);
    here[2] = 7;
    assert.equal(context.evalSync('Atomics.load(there, 2)'), 7);
    // Sent again, by itself and inside other values, it is the same memory.
    context.evalClosureSync('new Int32Array($0.deep[0])[3] = 8', [{ deep: [shared] }], { arguments: { copy: true } });
    assert.deepEqual([here[3], context.evalSync('there[3]')], [8, 8]);
    const back = context.evalSync('shared', { copy: true });
    assert.ok(back instanceof SharedArrayBuffer);
    new Int32Array(back)[4] = 9;
    assert.deepEqual([here[4], context.evalSync('there[4]')], [9, 9]);
    const part = context.evalSync('new Uint8Array(shared, 4, 4)', { copy: true });
    assert.deepEqual([part.buffer instanceof SharedArrayBuffer, part.byteOffset, [...part]], [true, 4, [6, 0, 0, 0]]);
    part[1] = 1;
    assert.equal(here[1], 262);
  });

  test('a SharedArrayBuffer of a guest is shared with another guest', () => {
    const other = new ivm.Isolate();
    const there = other.createContextSync();
    const copy = context.evalSync('globalThis.own = new Uint8Array(new SharedArrayBuffer(16)); own', { externalCopy: true });
    there.global.setSync('own', copy.copyInto());
    there.evalSync('own[3] = 9');
    assert.equal(context.evalSync('own[3]'), 9);
    context.evalSync('own[4] = 8');
    assert.equal(there.evalSync('own[4]'), 8);
    other.dispose();
    assert.equal(context.evalSync('own[3]'), 9);
  });

  test('a waiting guest sees writes of the host', async () => {
    const shared = new SharedArrayBuffer(8);
    const here = new Int32Array(shared);
    const pending = context.evalClosure('const there = new Int32Array($0); Atomics.store(there, 1, 1); return Atomics.wait(there, 0, 0, 20000) + there[0]', [shared], { arguments: { copy: true } });
    while (Atomics.load(here, 1) === 0) await new Promise((resolve) => { setImmediate(resolve); });
    Atomics.store(here, 0, 42);
    Atomics.notify(here, 0);
    // The guest may have started to wait too late, but it does not wait until the timeout.
    assert.match(await pending, /^(ok|not-equal)42$/);
  });
});
