'use strict';
// Builds a value from bytes. The function is self-contained and uses only what every engine has: its source also runs in a guest, where the
// same bytes produce the same value.

/**
 * @param {Uint8Array} bytes
 * @returns {unknown}
 */
function build(bytes) {
  let at = 0;
  const MOST = 400;
  // Far more than the codec's recursion, and less than overflows V8's stack.
  const MAX_LEVELS = 1000;
  let values = 0;
  let levels = 0;
  const objects = [];
  const byte = () => (at < bytes.length ? bytes[at++] : 0);
  const below = (limit) => byte() % limit;
  const raw = (count) => bytes.slice(at, (at += count));
  const TEXTS = ['', 'a', '__proto__', 'constructor', 'toString', 'length', 'then', 'name', 'message', 'stack', 'cause', '0', '1', '7', '4294967294', '4294967295', '-1', '01',
    '1.5', '2147483648', 'caf\u00e9', '\u20ac', '\ud800', '\ud83d\ude00', 'get', 'valueOf', 'x'.repeat(63), '\u20ac'.repeat(64), 'y'.repeat(200)];
  const NUMBERS = [0, -0, 1, -1, 63, 64, -64, -65, 8191, 2 ** 30, -(2 ** 30) - 1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 53, 0.5, -1.5, NaN, Infinity, -Infinity, 5e-324];
  const VIEWS = ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'DataView'];
  const ERRORS = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];

  function text() {
    const kind = below(4);
    if (kind < 2) return TEXTS[below(TEXTS.length)];
    const count = byte();
    if (kind === 2) return Array.from(raw(count), (code) => String.fromCharCode(code)).join('');
    return Array.from({ length: count }, () => String.fromCharCode(byte() | (byte() << 8))).join('');
  }

  function number() {
    const kind = below(3);
    if (kind === 0) return NUMBERS[below(NUMBERS.length)];
    if (kind === 1) return byte() - 128;
    const parts = new DataView(new ArrayBuffer(8));
    for (let index = 0; index < 8; index += 1) parts.setUint8(index, byte());
    return parts.getFloat64(0);
  }

  function bigint() {
    const sign = below(2) ? -1n : 1n;
    return raw(below(40)).reduce((sum, each) => sum * 256n + BigInt(each), 0n) * sign;
  }

  const keep = (object) => {
    objects.push(object);
    return object;
  };
  const define = (object, key, descriptor) => Object.defineProperty(object, key, { configurable: true, enumerable: true, ...descriptor });

  function buffer() {
    if (objects.length > 0 && below(3) === 0) {
      const known = objects[below(objects.length)];
      if (known instanceof ArrayBuffer) return known;
    }
    const content = raw(below(48));
    const more = below(4) === 0 ? below(64) : -1;
    const made = more < 0 ? new ArrayBuffer(content.length) : new ArrayBuffer(content.length, { maxByteLength: content.length + more });
    new Uint8Array(made).set(content);
    return keep(made);
  }

  function view() {
    const View = globalThis[VIEWS[below(VIEWS.length)]];
    const on = buffer();
    const size = View.BYTES_PER_ELEMENT ?? 1;
    if (on.resizable) {
      // Only the viewed part of a resizable buffer would be transferred.
      if (on.byteLength % size !== 0) return on;
      return keep(below(2) ? new View(on) : new View(on, 0, on.byteLength / size));
    }
    const offset = Math.min(below(8) * size, on.byteLength - (on.byteLength % size));
    const length = Math.floor((on.byteLength - offset) / size);
    return keep(new View(on, offset, Math.min(length, below(16))));
  }

  function property(object, depth) {
    const key = below(4) === 0 && Array.isArray(object) ? String(below(20)) : text();
    if (key === 'length' && Array.isArray(object)) return;
    // Elements of arrays are plain properties.
    const kind = Array.isArray(object) && key <= '9' ? 11 : below(12);
    if (kind === 0) define(object, key, { enumerable: false, value: value(depth + 1) });
    else if (kind === 1) define(object, key, { get: () => key });
    // Deleting an array's length fails, and throws in strict code only.
    else if (kind === 2) define(object, key, { get() { Reflect.deleteProperty(object, text()); return 1; } });
    else if (kind === 3) define(object, key, { get() { define(object, 'late', { writable: true, value: 5 }); return 2; } });
    else if (kind === 4 && Array.isArray(object)) define(object, key, { get() { object.length = Math.min(object.length, 1); return 3; } });
    else define(object, key, { writable: true, value: value(depth + 1) });
  }

  function container(depth) {
    const count = below(8);
    switch (below(9)) {
      case 0: {
        const object = keep({});
        for (let index = 0; index < count; index += 1) property(object, depth);
        return object;
      }
      case 1: {
        const object = keep(Object.create(below(2) ? null : { inherited: 1, get trap() { return 1; } }));
        for (let index = 0; index < count; index += 1) property(object, depth);
        return object;
      }
      case 2: {
        const array = keep([]);
        for (let index = 0; index < count; index += 1) array[index] = value(depth + 1);
        return array;
      }
      case 3: {
        const array = keep([]);
        for (let index = 0; index < count; index += 1) if (below(3)) array[index] = value(depth + 1);
        array.length = Math.max(array.length, below(30));
        if (below(4) === 0) property(array, depth);
        return array;
      }
      case 4: {
        const array = keep(Array.from({ length: count }, number));
        if (below(3) === 0) array.length = [0, 1, 1000, 1_000_000, 4294967295][below(5)];
        return array;
      }
      case 5: {
        const map = keep(new Map());
        for (let index = 0; index < count; index += 1) map.set(value(depth + 1), value(depth + 1));
        if (below(4) === 0) map.set(map, 1);
        return map;
      }
      case 6: {
        const set = keep(new Set());
        for (let index = 0; index < count; index += 1) set.add(value(depth + 1));
        return set;
      }
      case 7: {
        const error = keep(new globalThis[ERRORS[below(ERRORS.length)]](text()));
        define(error, 'stack', { value: below(4) ? `${text()}\n at home` : value(depth + 1), writable: true, enumerable: false });
        if (below(3) === 0) define(error, 'cause', { value: value(depth + 1), enumerable: false });
        if (below(4) === 0) define(error, 'name', { value: [...ERRORS, 'Other', 5][below(9)] });
        return error;
      }
      default: {
        let inner = value(depth + 1);
        for (let level = below(256); level > 0 && levels < MAX_LEVELS; level -= 1, levels += 1) inner = level % 3 ? [inner] : { inner };
        return inner;
      }
    }
  }

  function value(depth) {
    values += 1;
    if (depth > 12 || values > MOST) return number();
    switch (below(24)) {
      case 0: return undefined;
      case 1: return null;
      case 2: return below(2) === 0;
      case 3: case 4: return number();
      case 5: case 6: return text();
      case 7: return bigint();
      case 8: return keep(new Date(number()));
      case 9: return keep(new RegExp(['a', '(?:)', '[\\/]\\n', '\u20ac', '\\p{L}'][below(5)], ['', 'g', 'dgimsuy', 'v', 'y'][below(5)]));
      case 10: return keep(Object([true, false, 1, -0, 'text', '\u20ac', 12n, NaN][below(8)]));
      case 11: return buffer();
      case 12: case 13: return view();
      case 14: return objects.length > 0 ? objects[below(objects.length)] : null;
      case 15: return below(16) === 0 ? [Symbol('s'), () => 1, Promise.resolve(1), new WeakMap(), new Proxy({}, {}), Object(Symbol.iterator)][below(6)] : -1;
      default: return container(depth);
    }
  }

  return value(0);
}

module.exports = { build };
