// The web APIs for texts, base64, clones, random values and time.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorsOf, resultOf } from '../../sandbox/web-helper.mjs';

describe('TextEncoder and TextDecoder', () => {
  test('round trips, marks and errors', async () => {
    assert.deepEqual(await resultOf(`
      const bytes = (text) => [...new TextEncoder().encode(text)];
      const decode = (list, label, options) => new TextDecoder(label, options).decode(Uint8Array.from(list));
      return [
        bytes('é☃😀\\ud800'), bytes(), bytes(undefined), decode([0xef, 0xbb, 0xbf, 0x41]), decode([0xef, 0xbb, 0xbf, 0x41], 'utf8', { ignoreBOM: true }), decode([0xc3, 0x28, 0xff]),
        decode([0x41, 0, 0x3d, 0xd8], 'utf-16le'), decode([0xfe, 0xff, 0, 0x41], 'utf-16be'), decode([0x80, 0xe9], 'latin1'), decode([0x82, 0xa0], 'sjis'), decode([0xff], 'x-user-defined'),
        decode([0x1b, 0x24, 0x42, 0x24, 0x22], 'iso-2022-jp'), new TextDecoder(' UTF-8\\n').encoding, new TextDecoder('ascii').encoding, new TextEncoder().encoding,
      ];
    `), [[0xc3, 0xa9, 0xe2, 0x98, 0x83, 0xf0, 0x9f, 0x98, 0x80, 0xef, 0xbf, 0xbd], [], [], 'A', '\ufeffA', '\ufffd(\ufffd', 'A\ufffd', 'A', '€é', 'あ', '\uf7ff', 'あ', 'utf-8', 'windows-1252', 'utf-8']);
    assert.deepEqual(await errorsOf([
      'new TextDecoder("nothing")', 'new TextDecoder("replacement")', 'new TextDecoder("utf-7")', 'new TextDecoder("\\ud800")', 'new TextDecoder("x".repeat(1e7))',
      'new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.of(0xff))', 'new TextDecoder("utf-16le", { fatal: true }).decode(Uint8Array.of(1))',
    ]).then((errors) => errors.map((error) => error.slice(0, error.startsWith('T') ? 41 : 40))), [
      'RangeError: The "nothing" encoding is no', 'RangeError: The "replacement" encoding i', 'RangeError: The "utf-7" encoding is not ', 'RangeError: The "\ud800" encoding is not supp',
      'RangeError: The "xxxxxxxxxxxxxxxxxxxxxxx', 'TypeError: The encoded data was not valid', 'TypeError: The encoded data was not valid',
    ]);
  });

  /** https://encoding.spec.whatwg.org/#names-and-labels, one label of each encoding and those that are easily forgotten. */
  const LABELS = {
    'utf-8': ['unicode-1-1-utf-8', 'utf8', 'x-unicode20utf8'], ibm866: ['866', 'csibm866'], 'iso-8859-2': ['latin2', 'l2'], 'iso-8859-3': ['latin3'], 'iso-8859-4': ['l4'],
    'iso-8859-5': ['cyrillic'], 'iso-8859-6': ['arabic', 'asmo-708'], 'iso-8859-7': ['greek', 'sun_eu_greek'], 'iso-8859-8': ['hebrew', 'visual'], 'iso-8859-8-i': ['logical', 'csiso88598i'],
    'iso-8859-10': ['l6'], 'iso-8859-13': ['iso8859-13'], 'iso-8859-14': ['iso885914'], 'iso-8859-15': ['l9'], 'iso-8859-16': ['iso-8859-16'], 'koi8-r': ['koi', 'koi8'],
    'koi8-u': ['koi8-ru'], macintosh: ['mac', 'x-mac-roman'], 'windows-874': ['tis-620', 'iso-8859-11'], 'windows-1250': ['cp1250'], 'windows-1251': ['x-cp1251'],
    'windows-1252': ['ascii', 'latin1', 'iso-8859-1', 'us-ascii', 'l1'], 'windows-1253': ['cp1253'], 'windows-1254': ['latin5', 'iso-8859-9'], 'windows-1255': ['cp1255'],
    'windows-1256': ['x-cp1256'], 'windows-1257': ['cp1257'], 'windows-1258': ['cp1258'], 'x-mac-cyrillic': ['x-mac-ukrainian'], gbk: ['gb2312', 'chinese', 'x-gbk'], gb18030: ['gb18030'],
    big5: ['cn-big5', 'big5-hkscs'], 'euc-jp': ['x-euc-jp'], 'iso-2022-jp': ['csiso2022jp'], shift_jis: ['sjis', 'ms932', 'windows-31j'], 'euc-kr': ['korean', 'windows-949', 'ks_c_5601-1987'],
    'utf-16be': ['unicodefffe'], 'utf-16le': ['utf-16', 'ucs-2', 'unicode'], 'x-user-defined': ['x-user-defined'],
  };
  test('labels', async () => {
    const pairs = Object.entries(LABELS).flatMap(([name, labels]) => [name, ...labels].flatMap((label) => [[label, name], [`\t ${label.toUpperCase()}\r\n\f`, name]]));
    assert.deepEqual(await resultOf('pairs.map(([label]) => new TextDecoder(label).encoding)', {}, { pairs }), pairs.map(([, name]) => name));
  });

  test('streams', async () => {
    assert.deepEqual(await resultOf(`
      const decoder = new TextDecoder();
      const at = (list, more) => decoder.decode(Uint8Array.from(list), { stream: more });
      const seen = [at([0xef, 0xbb], true), at([0xbf, 0xf0, 0x9f], true), at([0x98], true), at([0x80, 0xe2], true), at([], false), at([0xe2], true), decoder.decode(), decoder.decode()];
      const strict = new TextDecoder('utf-8', { fatal: true });
      seen.push(strict.decode(Uint8Array.of(0xe2), { stream: true }));
      try { strict.decode(); } catch (error) { seen.push(error.name); }
      seen.push(strict.decode(Uint8Array.of(0x41)));
      const states = new TextDecoder('iso-2022-jp');
      seen.push(states.decode(Uint8Array.of(0x1b, 0x24, 0x42), { stream: true }), states.decode(Uint8Array.of(0x24), { stream: true }), states.decode(Uint8Array.of(0x22)));
      return seen;
    `), ['', '', '', '😀', '\ufffd', '', '\ufffd', '', '', 'TypeError', 'A', '', '', 'あ']);
  });

  test('open streams count for memory, and are freed with their decoders', async () => {
    assert.deepEqual(await resultOf(`
      const open = [];
      let error;
      try { for (;;) { const decoder = new TextDecoder(); decoder.decode(Uint8Array.of(0xe2), { stream: true }); open.push(decoder); } } catch (thrown) { error = thrown; }
      const full = [error.name, error.message, open.length];
      open.pop().decode();
      return [...full, new TextDecoder().decode(Uint8Array.of(0xe2), { stream: true })];
    `, { memoryLimit: 16 }), ['RangeError', 'Too many streams are being decoded', 16 * 1_024, '']);
    // More than may be open at the same time.
    assert.equal(await resultOf(`
      for (let i = 0; i < 60; i += 1) {
        for (let j = 0; j < 1_000; j += 1) new TextDecoder('big5').decode(Uint8Array.of(0x81), { stream: true });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return 'all';
    `, { memoryLimit: 16, timers: true, timeout: 60_000 }), 'all');
  });

  test('every kind of buffer', async () => {
    assert.deepEqual(await resultOf(`
      const decoder = new TextDecoder();
      const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
      const whole = new Uint8Array(buffer);
      const tracking = new Uint8Array(buffer, 4);
      const fixed = new Uint8Array(buffer, 4, 4);
      whole.set(new TextEncoder().encode('abcdefgh'));
      const seen = [decoder.decode(buffer), decoder.decode(tracking), decoder.decode(fixed), decoder.decode(new DataView(buffer, 1, 2)), decoder.decode(new Uint16Array(buffer, 2, 2))];
      buffer.resize(6);
      seen.push(decoder.decode(buffer), decoder.decode(tracking), decoder.decode(fixed));
      buffer.resize(16);
      seen.push(decoder.decode(tracking).length, decoder.decode(fixed));
      const shared = new SharedArrayBuffer(4, { maxByteLength: 8 });
      const view = new Uint8Array(shared);
      seen.push(new TextEncoder().encodeInto('wxyz', view), decoder.decode(shared), decoder.decode(view), decoder.decode(new DataView(shared, 1)));
      shared.grow(8);
      seen.push(decoder.decode(view).length);
      structuredClone(buffer, { transfer: [buffer] });
      seen.push(decoder.decode(buffer), decoder.decode(whole), new TextEncoder().encodeInto('abc', whole));
      const late = new Uint8Array(4);
      seen.push(decoder.decode(late, { get stream() { late.buffer.transfer(); return false; } }));
      seen.push(new TextEncoder().encodeInto({ toString() { return 'é'; } }, new Uint8Array(1)), new TextEncoder().encodeInto('', new Uint8Array(0)));
      return seen;
    `), ['abcdefgh', 'efgh', 'efgh', 'bc', 'cdef', 'abcdef', 'ef', '', 12, 'ef\0\0', { read: 4, written: 4 }, 'wxyz', 'wxyz', 'xyz', 8, '', '', { read: 0, written: 0 }, '',
      { read: 0, written: 0 }, { read: 0, written: 0 }]);
    assert.match((await errorsOf(['new TextEncoder().encodeInto("a", new Uint8ClampedArray(1))']))[0], /^TypeError: The "dest" argument/);
  });
});

describe('atob, btoa, structuredClone', () => {
  test('base64', async () => {
    assert.deepEqual(await resultOf("[btoa('\\xff\\0é'), atob(' /w Dp\\n'), atob('YQ'), atob('YR=='), btoa(''), atob(''), btoa(null), atob(btoa('x'.repeat(1e6))).length]"),
      ['/wDp', '\xff\0é', 'a', 'a', '', '', 'bnVsbA==', 1e6]);
    assert.deepEqual(await resultOf(`return ['=', 'a', 'ab=', 'abc==', 'a-b_', '\\u0100', '\\v'].map((text) => { try { return atob(text); } catch (error) { return [error.name, error.code, error instanceof DOMException]; } })`),
      Array.from({ length: 7 }, () => ['InvalidCharacterError', 5, true]));
    assert.deepEqual(await errorsOf(['btoa("\\u0100")']), ['InvalidCharacterError: Invalid character']);
  });

  test('clones', async () => {
    assert.deepEqual(await resultOf(`
      const value = { date: new Date(5), map: new Map([[1, { a: 1 }]]), set: new Set([2n]), error: new RangeError('e', { cause: 1 }), bytes: new Uint8Array([1, 2]), list: [1, , undefined], re: /a/gi };
      value.self = value;
      const copy = structuredClone(value);
      class Own { x = 1; get y() { return 2; } }
      return [copy !== value, copy.self === copy, copy.date.getTime(), copy.map.get(1), copy.set.has(2n), copy.error instanceof RangeError, copy.error.message, copy.error.cause, [...copy.bytes],
        1 in copy.list, String(copy.re), structuredClone(new Own()), structuredClone('text'), structuredClone(undefined, null)];
    `), [true, true, 5, { a: 1 }, true, true, 'e', 1, [1, 2], false, '/a/gi', { x: 1 }, 'text', undefined]);
  });

  test('values that cannot be cloned', async () => {
    const outcomes = await resultOf(`
      return [() => {}, Symbol('s'), { f() {} }, new WeakMap(), Promise.resolve(), new Proxy({}, {}), api.call, new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))].map((value) => {
        try { structuredClone(value); return 'none'; } catch (error) { return [error.name, error.code, error instanceof DOMException, error.message.endsWith('could not be cloned.')]; }
      });
    `, {}, { api: { call: () => {} } });
    for (const [index, outcome] of outcomes.entries()) assert.deepEqual(outcome, ['DataCloneError', 25, true, true], `${index}`);
    assert.deepEqual(await resultOf(`
      class Sub extends URL {}
      return [new URL('a:b'), new URLSearchParams('a=b'), new URL('a:b?c').searchParams, new TextDecoder(), new TextEncoder(), { deep: [new Map([[1, new URL('a:b')]])] }, new Sub('a:b')].map((value) => {
        try { structuredClone(value); return 'none'; } catch (error) { return [error.name, error.message]; }
      });
    `), ['URL', 'URLSearchParams', 'URLSearchParams', 'TextDecoder', 'TextEncoder', 'URL', 'Sub'].map((name) => ['DataCloneError', `#<${name}> could not be cloned.`]));
    assert.deepEqual(await resultOf(`
      const own = { any: 'thing' };
      try { structuredClone({ get a() { throw own; } }); } catch (error) { return error === own; }
    `), true);
  });

  test('transferred values are detached', async () => {
    assert.deepEqual(await resultOf(`
      const buffer = new Uint8Array([1, 2, 3]).buffer;
      const { view, again } = structuredClone({ view: new Uint8Array(buffer, 1), again: buffer }, { transfer: [buffer] });
      const resizable = new ArrayBuffer(2, { maxByteLength: 4 });
      const moved = structuredClone(resizable, { transfer: new Set([resizable]) });
      const shared = new SharedArrayBuffer(4);
      const other = structuredClone({ shared, twice: [shared, shared] });
      new Uint8Array(shared)[0] = 9;
      return [buffer.detached, [...view], view.buffer === again, moved.resizable, moved.maxByteLength, resizable.detached, other.shared !== shared, new Uint8Array(other.shared)[0], other.shared === other.twice[1]];
    `), [true, [2, 3], true, true, 4, true, true, 9, true]);
    assert.deepEqual(await errorsOf([
      'structuredClone(1, { transfer: [{}] })', 'structuredClone(1, { transfer: [1] })', 'structuredClone(1, { transfer: 1 })', 'structuredClone(1, { transfer: [b, b] })',
      'structuredClone(1, { transfer: [new SharedArrayBuffer(1)] })', 'structuredClone(1, { transfer: [gone] })', 'structuredClone(1, { transfer: [new WebAssembly.Memory({ initial: 1 }).buffer] })',
      'structuredClone({ get a() { b.transfer(); return 1; } }, { transfer: [b] })', 'structuredClone(1, 1)',
    ], 'var b = new ArrayBuffer(1), gone = new ArrayBuffer(1); gone.transfer();').then((errors) => errors.map((error) => error.split(':')[0])),
    ['DataCloneError', 'TypeError', 'TypeError', 'DataCloneError', 'DataCloneError', 'DataCloneError', 'DataCloneError', 'DataCloneError', 'TypeError']);
  });
});

describe('crypto and performance', () => {
  test('random values', async () => {
    assert.deepEqual(await resultOf(`
      const filled = (array) => crypto.getRandomValues(array) === array && array.some((each) => each != 0);
      const buffer = new ArrayBuffer(64, { maxByteLength: 128 });
      const part = new Uint8Array(64);
      crypto.getRandomValues(part.subarray(0, 32));
      return [[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array].every((Type) => filled(new Type(64))),
        filled(new Uint8Array(65_536)), filled(new Uint8Array(buffer)), crypto.getRandomValues(new Uint8Array(0)).length, part.subarray(32).every((byte) => byte === 0)];
    `), [true, true, true, 0, true]);
    assert.deepEqual(await errorsOf([
      'crypto.getRandomValues(new Float64Array(1))', 'crypto.getRandomValues(new DataView(new ArrayBuffer(1)))', 'crypto.getRandomValues(new Uint8Array(65_537))', 'crypto.getRandomValues(new ArrayBuffer(1))',
      'crypto.getRandomValues([])', 'crypto.getRandomValues(new Uint8Array(new SharedArrayBuffer(1)))', 'crypto.getRandomValues({ __proto__: Uint8Array.prototype })',
      'crypto.getRandomValues(new Proxy(new Uint8Array(1), {}))',
    ]).then((errors) => errors.map((error) => error.split(':')[0])),
    ['TypeMismatchError', 'TypeMismatchError', 'QuotaExceededError', 'TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError']);
    assert.equal(await resultOf('const gone = new Uint8Array(4); gone.buffer.transfer(); return crypto.getRandomValues(gone).length'), 0);
  });

  test('UUIDs', async () => {
    const uuids = await resultOf('Array.from({ length: 100 }, () => crypto.randomUUID())');
    for (const uuid of uuids) assert.match(uuid, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    assert.equal(new Set(uuids).size, 100);
  });

  test('the clock counts whole milliseconds from its origin', async () => {
    const [first, times] = await resultOf(`
      const first = performance.now();
      const until = first + 20;
      const times = [];
      while (performance.now() < until) times.push(performance.now());
      return [first, times];
    `);
    assert.ok(first >= 0 && first < 10_000, String(first));
    assert.ok(times.every((time, index) => Number.isInteger(time) && (index === 0 || time >= times[index - 1])));
  });
});
