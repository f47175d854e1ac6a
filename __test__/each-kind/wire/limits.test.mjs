// Limits of depth and bytes, in both directions, and what happens to buffers.

/* oxlint-disable no-sparse-arrays -- holes travel, too */

import assert from 'node:assert';
import { test } from 'node:test';
import { arrived, CARRIER, cloned, encoding, read, write } from '../../wire/helper.mjs';

const nested = (levels, wrap = (inner) => [inner]) => {
  let value = wrap(1);
  for (let level = 1; level < levels; level++) value = wrap(value);
  return value;
};
const tooDeep = { name: 'RangeError', message: /^Value is nested too deeply: the limit is \d+ levels$/ };
const tooLarge = { name: 'RangeError', message: /^Value is too large: the limit is \d+ bytes$/ };

const wraps = {
  'arrays': (inner) => [inner],
  'objects': (inner) => ({ inner }),
  'maps': (inner) => new Map([[inner, 1]]),
  'sets': (inner) => new Set([inner]),
  'errors': (inner) => Object.defineProperty(new Error('', { cause: inner }), 'stack', { value: '' }),
  'sparse arrays': (inner) => [, inner],
  'instances': (inner) => Object.assign(new (class {})(), { inner }),
};
for (const [name, wrap] of Object.entries(wraps)) {
  test(`depth of ${name}`, () => {
    for (const levels of [1, 2, 63, 64, 65, 128, 200]) {
      const value = nested(levels, wrap);
      const { bytes, table } = write(value, { maxDepth: levels });
      assert.throws(() => write(value, { maxDepth: levels - 1 }), tooDeep);
      assert.ok(read(bytes, table, { maxDepth: levels }));
      assert.throws(() => read(bytes, table, { maxDepth: levels - 1 }), tooDeep);
    }
  });
}

test('ten thousand levels work, and more are refused', () => {
  const { bytes } = write(nested(10_000));
  let value = read(bytes);
  let levels = 0;
  for (; Array.isArray(value); value = value[0]) levels++;
  assert.strictEqual(levels, 10_000);
  assert.throws(() => write(nested(10_001)), tooDeep);
});

test('a million levels do not use the native stack', () => {
  const levels = 1_000_000;
  const { bytes } = write(nested(levels), { maxDepth: levels });
  assert.ok(Array.isArray(read(bytes, [], { maxDepth: levels })));
  assert.throws(() => read(bytes), tooDeep);
  const open = new Uint8Array(2_000_002).fill(1);
  open.set(encoding());
  for (let index = 2; index < open.length; index += 2) open[index] = 'A'.charCodeAt(0);
  assert.throws(() => read(open), tooDeep);
  assert.throws(() => read(open, [], { maxDepth: Infinity }), /unexpected end/);
});

test('the limit of bytes is exact', () => {
  const values = [
    'x'.repeat(1000), '\u20ac'.repeat(1000), 'short', 5, 2n ** 5000n, [1, 2, 3], { a: 'b' }, new Uint8Array(500), new ArrayBuffer(100, { maxByteLength: 900 }),
    [new Uint8Array(100), 'y'.repeat(100), new ArrayBuffer(7)], new Uint8Array(new ArrayBuffer(1000), 10, 100), Array.from({ length: 5000 }, (_, index) => `item ${index}`),
  ];
  for (const value of values) {
    const { bytes, table } = write(value);
    const total = table.reduce((sum, [, , , length]) => sum + length, bytes.length);
    assert.strictEqual(write(value, { maxBytes: total }).bytes.length, bytes.length);
    assert.throws(() => write(value, { maxBytes: total - 1 }), tooLarge);
  }
});

test('a limit is checked before memory is allocated', () => {
  // Repeated text is written each time: all of it would be 50 GB.
  const text = 'x'.repeat(2 ** 20);
  const before = process.memoryUsage().rss;
  assert.throws(() => write(Array.from({ length: 50_000 }, () => text), { maxBytes: 8 * 2 ** 20 }), tooLarge);
  assert.throws(() => write([new ArrayBuffer(2 ** 24), new Uint8Array(2 ** 24)], { maxBytes: 2 ** 24 }), tooLarge);
  assert.throws(() => write('\u20ac'.repeat(2 ** 22), { maxBytes: 2 ** 22 }), tooLarge);
  assert.ok(process.memoryUsage().rss - before < 200 * 2 ** 20);
});

/** The longest buffer that is not in the table. */
const MAX_INLINE = 2048;
const counting = (length) => Uint8Array.from({ length }, (_, index) => index);

test('large buffers are passed by the table without a copy', () => {
  const { buffer } = counting(MAX_INLINE + 1);
  const { bytes, table } = write({ buffer, view: new Uint8Array(buffer), again: buffer });
  assert.deepStrictEqual(table, [[CARRIER.BUFFER, buffer, 0, MAX_INLINE + 1]]);
  assert.strictEqual(table[0][1], buffer);
  const other = new ArrayBuffer(MAX_INLINE + 1);
  const received = read(bytes, [[CARRIER.BUFFER, other]]);
  assert.ok(received.buffer === other && received.view.buffer === other && received.again === other);
});

test('small buffers are among the bytes', () => {
  for (const length of [0, 1, 7, 127, 128, MAX_INLINE - 1, MAX_INLINE]) {
    const { buffer } = counting(length);
    const { bytes, table } = write({ buffer, view: new Uint8Array(buffer), data: new DataView(buffer, length >> 1), again: buffer, end: [1] });
    assert.deepStrictEqual(table, []);
    const received = read(bytes);
    assert.deepStrictEqual(new Uint8Array(received.buffer), counting(length));
    assert.ok(received.view.buffer === received.buffer && received.data.buffer === received.buffer && received.again === received.buffer);
    assert.deepStrictEqual([received.view.length, received.data.byteOffset, received.end], [length, length >> 1, [1]]);
  }
  // A copy of a buffer or view alone can be transferred.
  for (const whole of [new Uint8Array(3), new DataView(new ArrayBuffer(3)), new ArrayBuffer(3)]) assert.strictEqual(write(whole).table.length, 1);
  const doubles = [new Float64Array([1.5, -0, NaN, Infinity]), new Uint8Array(3), new Float64Array([2]), new BigInt64Array([-1n])];
  assert.deepStrictEqual(cloned(doubles), doubles);
  assert.throws(() => write([new Uint8Array(100)], { maxBytes: 100 }), tooLarge);
});

test('a view brings only its own bytes', () => {
  const pool = new Uint8Array(16_384).fill(7);
  const part = new Uint8Array(pool.buffer, 8, 4);
  const large = new Uint8Array(pool.buffer, 32, 4096);
  const { bytes, table } = write([part, new Uint16Array(pool.buffer, 16, 2), new DataView(pool.buffer, 0, 1), part, large]);
  assert.deepStrictEqual(table.map(([tag, , offset, length]) => [tag, offset, length]), [[CARRIER.BUFFER, 32, 4096]]);
  assert.strictEqual(bytes.filter((byte) => byte === 7).length, 9);
  const [first, second, third, last, other] = read(bytes, arrived(table));
  assert.deepStrictEqual([first, second, third, other].map(({ buffer }) => buffer.byteLength), [4, 4, 1, 4096]);
  assert.ok(first === last && first.buffer !== second.buffer);
  const small = Buffer.from('pooled');
  assert.strictEqual(cloned(small).buffer.byteLength, 6);
  assert.strictEqual(cloned(new Uint8Array(pool.buffer, 10, 0)).buffer.byteLength, 0);
});

test('a view of a buffer too small to be a pool brings the whole buffer, as in isolated-vm', () => {
  const [view, other] = cloned((() => { const { buffer } = new Uint8Array([1, 2, 3, 4]); return [new Uint8Array(buffer, 2), new DataView(buffer, 1)]; })());
  assert.deepStrictEqual([...new Uint8Array(view.buffer)], [1, 2, 3, 4]);
  assert.ok(view.byteOffset === 2 && view.buffer === other.buffer);
  const largest = new Uint8Array(new ArrayBuffer(8191), 1, 1);
  assert.strictEqual(cloned(largest).buffer.byteLength, 8191);
});

test('views share a buffer that is transferred as a whole', () => {
  const whole = new Uint8Array(8192);
  const part = new Uint8Array(whole.buffer, 1, 2);
  const after = cloned([whole, part]);
  assert.ok(after[0].buffer === after[1].buffer && after[1].byteOffset === 1);
  const withBuffer = cloned([whole.buffer, part, whole]);
  assert.ok(withBuffer[0] === withBuffer[1].buffer && withBuffer[0] === withBuffer[2].buffer);
  const before = cloned([part, whole]);
  assert.ok(before[0].buffer !== before[1].buffer && before[0].buffer.byteLength === 2);
});

test('moved buffers are transferred as a whole, with every view of them', () => {
  const buffer = new Uint8Array([1, 2, 3, 4]).buffer;
  const { bytes, table } = write([new Uint8Array(buffer, 1, 2), buffer], { transfer: [buffer] });
  assert.deepStrictEqual(table, [[CARRIER.MOVE, buffer]]);
  const [view, moved] = read(bytes, arrived(table));
  assert.ok(view.buffer === moved && view.byteOffset === 1 && moved.byteLength === 4);
  assert.strictEqual(buffer.byteLength, 0);
  assert.throws(() => write(new Uint8Array(4), { transfer: [], maxBytes: 5 }), tooLarge);
});

test('detached buffers and their views are refused', () => {
  const message = 'An ArrayBuffer is detached and could not be cloned.';
  const buffer = new ArrayBuffer(8);
  const views = [new Uint8Array(buffer), new Uint16Array(buffer, 2, 2), new DataView(buffer, 1)];
  structuredClone(buffer, { transfer: [buffer] });
  for (const value of [buffer, ...views]) assert.throws(() => write([value]), { name: 'TypeError', message });
  assert.strictEqual(cloned(new ArrayBuffer(0)).byteLength, 0);
  for (const length of [8, MAX_INLINE + 1]) {
    const later = new ArrayBuffer(length);
    assert.throws(() => write([later, { get detach() { return structuredClone(later, { transfer: [later] }), 1; } }]), { name: 'TypeError', message });
  }
});

test('resizable buffers and the views that follow their length', () => {
  const make = (maxByteLength) => {
    const buffer = new ArrayBuffer(8, { maxByteLength });
    new Uint8Array(buffer).set([1, 2, 3, 4, 5, 6, 7, 8]);
    return buffer;
  };
  for (const maxByteLength of [8, 32]) {
    const buffer = make(maxByteLength);
    const value = [buffer, new Uint8Array(buffer), new Uint8Array(buffer, 0, 8), new Uint16Array(buffer, 2), new Uint16Array(buffer, 2, 3), new DataView(buffer, 4), new DataView(buffer, 4, 4)];
    const [copy, ...views] = cloned(value);
    assert.deepStrictEqual([buffer.byteLength, ...new Uint8Array(buffer)], [8, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepStrictEqual([copy.byteLength, copy.maxByteLength, ...new Uint8Array(copy)], [8, maxByteLength, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert.ok(views.every((view) => view.buffer === copy));
    copy.resize(6);
    const lengthOf = (view) => {
      try {
        return view.byteLength;
      } catch {
        return 'outside';
      }
    };
    assert.deepStrictEqual(views.map(lengthOf), [6, 0, 4, 0, 2, 'outside']);
  }
});

test('a part of a resizable buffer', () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
  const [fixed, tracking] = [cloned(new Uint8Array(buffer, 2, 3)), cloned(new Uint8Array(buffer, 2))];
  assert.deepStrictEqual([fixed.buffer.byteLength, fixed.buffer.resizable], [3, false]);
  assert.deepStrictEqual([tracking.buffer.byteLength, tracking.buffer.maxByteLength], [6, 14]);
  tracking.buffer.resize(10);
  assert.strictEqual(tracking.length, 10);
});

test('views outside of their shrunken buffer are refused', () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
  const views = [new Uint8Array(buffer, 4, 4), new DataView(buffer, 4, 4)];
  buffer.resize(2);
  for (const view of views) assert.throws(() => write(view), { name: 'TypeError', message: /could not be cloned\.$/ });
});
