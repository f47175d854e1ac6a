// A comparison with the host's own V8: it reads what the codec writes, and the codec reads what it writes. On other hosts (Bun's node:v8
// uses JavaScriptCore's format) the golden bytes replace it, and the only test checks that this is so.

/* oxlint-disable no-sparse-arrays -- holes travel, too */

import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import v8 from 'node:v8';
import { arrived, CARRIER, difference, evaluate, read, write, writeHooks } from '../../wire/helper.mjs';

function nativeBytes(value) {
  const serializer = new v8.Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return new Uint8Array(serializer.releaseBuffer());
}

let hostVersion = 0;
try {
  const [mark, version] = nativeBytes(1);
  if (mark === 0xff) hostVersion = version;
} catch {
  // This host has no such class.
}

test('the host supports the format, or is not V8', () => {
  if (hostVersion === 0) assert.ok('Bun' in globalThis);
  else assert.ok(hostVersion >= 15);
});

/** What the host's V8 makes of bytes and a table. */
function nativeValue({ bytes, table }) {
  const copy = Buffer.from(bytes);
  copy[1] = Math.min(copy[1], hostVersion);
  const deserializer = new v8.Deserializer(copy);
  deserializer.readHeader();
  arrived(table).forEach(([tag, buffer], index) => {
    assert.strictEqual(tag, CARRIER.BUFFER);
    deserializer.transferArrayBuffer(index, buffer);
  });
  return deserializer.readValue();
}

if (hostVersion > 0) {
  const sharedBuffer = new ArrayBuffer(8);
  const big = Array.from({ length: 2000 }, (_, id) => ({ id, name: `name ${id}`, at: new Date(id), more: { list: [id, -id, id / 3], text: '\u20ac'.repeat(id % 40) } }));
  const values = {
    'many objects': big,
    'a view over a whole buffer': new Uint16Array([1, 2, 3]),
    'a view over a part': new Uint8Array(sharedBuffer, 2, 3),
    'a view over a part of a possible pool': new Uint8Array(new ArrayBuffer(8192), 2, 3),
    'views that share a buffer': [new Uint8Array(sharedBuffer), new DataView(sharedBuffer, 4), sharedBuffer, sharedBuffer],
    'a resizable buffer': new ArrayBuffer(3, { maxByteLength: 20 }),
    'views on a resizable buffer': (() => {
      const buffer = new ArrayBuffer(8, { maxByteLength: 20 });
      return [new Uint8Array(buffer), new Uint16Array(buffer, 2), new Uint8Array(buffer, 1, 2), new DataView(buffer)];
    })(),
    'a sparse array among others': [[1, , 2], Object.assign([, 1], { x: [] }), []],
    'a deep value': (() => {
      let deep = [];
      for (let level = 0; level < 1000; level++) deep = level % 3 ? { deep, level } : level % 2 ? [deep, level] : new Map([[level, deep]]);
      return deep;
    })(),
    'an error with a cause': new TypeError('m', { cause: new Map([[1, [2]]]) }),
  };
  for (const { expression } of JSON.parse(readFileSync(new URL('../../wire/golden.json', import.meta.url), 'utf8'))) {
    if (!/Object\.create|new \(?class|Error/.test(expression)) values[expression.slice(0, 80)] = evaluate(expression);
  }
  for (const [name, value] of Object.entries(values)) {
    test(`V8 reads ${name}`, () => {
      const received = nativeValue(write(value));
      // A part of a large buffer becomes a buffer of its own with the same bytes; so does a part of a resizable buffer.
      if (ArrayBuffer.isView(value) && value.byteLength < value.buffer.byteLength && (value.buffer.byteLength >= 8192 || value.buffer.resizable)) {
        const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
        assert.strictEqual(received.constructor, value.constructor);
        assert.deepStrictEqual(bytesOf(received), bytesOf(value));
        assert.strictEqual(received.buffer.byteLength, value.byteLength);
      } else {
        assert.strictEqual(difference(value, received), undefined);
      }
    });
    test(`the codec reads V8's output: ${name}`, () => {
      assert.strictEqual(difference(value, read(nativeBytes(value))), undefined);
    });
  }

  test('V8 numbers objects behind a part of a buffer as the codec does', () => {
    const object = {};
    const [part, first, { second }] = nativeValue(write([new Uint8Array(new Uint8Array(8192).fill(7).buffer, 1, 2), object, { second: object }]));
    assert.deepStrictEqual([...part], [7, 7]);
    assert.strictEqual(part.buffer.byteLength, 2);
    assert.strictEqual(first, second);
  });

  test('V8 sees that a view follows the length of its buffer', () => {
    const buffer = new ArrayBuffer(4, { maxByteLength: 16 });
    const [tracking, fixed, whole] = nativeValue(write([new Uint8Array(buffer), new Uint8Array(buffer, 0, 4), buffer]));
    whole.resize(10);
    assert.deepStrictEqual([tracking.length, fixed.length, tracking.buffer === whole], [10, 4, true]);
  });

  test('errors have V8\'s messages', () => {
    const bound = Math.max.bind(null);
    const refused = [
      () => 1, function named() { return 'a longer text than one hundred and twenty-eight characters, so that the middle is left out of the message'; },
      class A {}, bound, Math.max, Symbol('x'), Symbol(), Object(Symbol('z')), Promise.resolve(), new WeakMap(), new WeakSet(),
      new WeakRef({}), new FinalizationRegistry(() => {}), new Proxy({}, {}), new Proxy([], {}), (function* g() {})(), (function () { return arguments; })(),
      new Intl.NumberFormat(), new Map().entries(), [].values(), ''[Symbol.iterator](), Object.setPrototypeOf(Promise.resolve(), null),
      Object.assign(new (class Extended extends Promise {})(() => {}), { a: 1 }), { deep: [new Map([[1, new Set([() => 2])]])] },
    ];
    const messageOf = (run) => {
      try {
        run();
      } catch (error) {
        return error.message;
      }
      return 'no error';
    };
    for (const value of refused) {
      assert.strictEqual(messageOf(() => write(value)), messageOf(() => nativeBytes(value)));
    }
  });

  test('side effects have V8\'s order', () => {
    const trace = (serializeValue) => {
      const log = [];
      const logged = (name, value) => ({ enumerable: true, configurable: true, get: () => (log.push(name), value) });
      const value = Object.defineProperties({}, {
        b: logged('b', Object.defineProperties([], { 0: logged('0', 'zero'), x: logged('x', 1) })),
        7: logged('7', new Map([[Object.defineProperty({}, 'key', logged('key', 1)), Object.defineProperty({}, 'value', logged('value', 1))]])),
        a: logged('a', Object.create({ get name() { log.push('inherited'); return 1; } }, { own: logged('own', 2) })),
        error: logged('error', Object.defineProperties(new Error('m'), {
          name: { get: () => (log.push('name'), { toString: () => (log.push('name text'), 'TypeError') }) },
          stack: { get: () => (log.push('stack'), 's') },
          message: { value: { toString: () => (log.push('message text'), 'm') } },
        })),
      });
      serializeValue(value);
      return log;
    };
    const expected = trace(nativeBytes);
    assert.deepStrictEqual(trace((value) => write(value, writeHooks)), expected);
    assert.ok(expected.length >= 13);
  });

  test('changes by getters are written as V8 writes them', () => {
    const changes = [
      (object, array) => { delete object.later; array.length = 2; },
      (object, array) => { object.later = 'new'; object.added = 1; array.push('more'); },
      (object, array) => { delete array[3]; array.extra = 1; Object.defineProperty(object, 'later', { get: () => 'a getter now' }); },
      (object, array) => { array.splice(0, 4, 'x'); object[5] = 'index'; },
      (object, array) => { object.later = object; array[3] = array; array[2] = { get deep() { array.length = 1; return 1; } }; },
    ];
    for (const change of changes) {
      const make = () => {
        const array = [0, { get trigger() { change(object, array); return 'triggered'; } }, 2, 3, 4];
        const object = { first: 1, array, later: 2, last: 3 };
        return object;
      };
      assert.strictEqual(difference(nativeValue(write(make())), read(nativeBytes(make()))), undefined, String(change));
    }
  });
}
