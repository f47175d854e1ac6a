// The bytes of small values are in buffers that many share, and those of larger ones in memory that is used again (src/host/arena.rs,
// surface/host/wire/sink.js). None may see another's.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

describe('small values', () => {
  test('of many concurrent calls stay separate', () => passes(`
    const echo = context.evalSync('(value) => ({ ...value, seen: true })', { reference: true });
    const valueOf = (index) => ({ index, text: 'x'.repeat(index % 300), list: [index, -index, index / 2] });
    const options = { arguments: { copy: true }, result: { copy: true } };
    const results = await Promise.all(Array.from({ length: 3000 }, (_, index) => echo.apply(undefined, [valueOf(index)], options)));
    results.forEach((result, index) => assert.deepEqual(result, { ...valueOf(index), seen: true }));
    for (let index = 0; index < 3000; index += 1) assert.deepEqual(echo.applySync(undefined, [valueOf(index)], options), { ...valueOf(index), seen: true });`));

  test('kept in the host do not change', () => passes(`
    const make = context.evalSync('(index) => ({ index, date: new Date(index), bytes: new Uint8Array([index, index + 1]) })', { reference: true });
    const results = Array.from({ length: 2000 }, (_, index) => make.applySync(undefined, [index % 200], { result: { copy: true } }));
    results.forEach((result, index) => {
      assert.equal(result.index, index % 200);
      assert.deepEqual(result.date, new Date(index % 200));
      assert.deepEqual([...result.bytes], [index % 200, index % 200 + 1]);
      assert.equal(result.bytes.buffer.byteLength, 2);
    });`));

  test('written during another write do not contain its bytes', () => passes(`
    const keep = context.evalSync('globalThis.kept = []; (...values) => { kept.push(...values); return kept.length }', { reference: true });
    const inner = { secret: 'of the inner one' };
    const outer = { first: 'a', get second() { keep.applySync(undefined, [inner], { arguments: { copy: true } }); return 'b'; }, third: 'c' };
    assert.equal(keep.applySync(undefined, [outer, { last: 1 }], { arguments: { copy: true } }), 3);
    assert.deepEqual(context.evalSync('kept', { copy: true }), [inner, { first: 'a', second: 'b', third: 'c' }, { last: 1 }]);`));

  test('of a host whose built-ins were replaced are not written to released memory', () => passes(`
    const echo = context.evalSync('(value) => value', { reference: true });
    const options = { arguments: { copy: true }, result: { copy: true } };
    let taken;
    Object.defineProperty(Array.prototype, 1, { configurable: true, set(value) {
      if (ArrayBuffer.isView(value) && value.byteLength < value.buffer.byteLength) taken = value.buffer;
      Object.defineProperty(this, 1, { value, writable: true, configurable: true, enumerable: true });
    } });
    echo.applySync(undefined, [{ text: 'first' }], options);
    await echo.apply(undefined, [{ text: 'second' }], options);
    delete Array.prototype[1];
    const buffers = new Set(taken === undefined ? [] : [taken]);
    const { Uint8Array } = globalThis;
    globalThis.Uint8Array = class extends Uint8Array {
      constructor(...args) {
        super(...args);
        if (args[0] instanceof ArrayBuffer && args[0].byteLength > 1000) buffers.add(args[0]);
      }
    };
    echo.applySync(undefined, [{ text: 'third' }], options);
    globalThis.Uint8Array = Uint8Array;
    assert.ok(buffers.size > 0);
    const kept = [...buffers].map((buffer) => structuredClone(buffer, { transfer: [buffer] }));
    for (let index = 0; index < 500; index += 1) assert.deepEqual(echo.applySync(undefined, [{ text: 'later', index }], options), { text: 'later', index });
    for (const buffer of kept) assert.ok(!Buffer.from(buffer).includes('later'), 'values were written to what was given away');`));

  test('are read alone: after a longer one, one that is refused, and below each other', () => passes(`
    const give = context.evalSync('(code) => (0, eval)(code)', { reference: true });
    const result = (code) => give.applySync(undefined, [code], { result: { copy: true } });
    context.global.setSync('nested', new ivm.Callback((n) => result('({ n: ' + n + ' })').n + result('[1, 2]').length));
    for (let round = 0; round < 20; round += 1) {
      // Bytes that would continue the next value, if they were part of it: a view on its buffer.
      assert.deepEqual(result('({ text: "V".repeat(1500) })'), { text: 'V'.repeat(1500) });
      const buffer = result('new ArrayBuffer(4)');
      assert.ok(buffer instanceof ArrayBuffer && buffer.byteLength === 4);
      assert.throws(() => result('new RegExp((String.fromCharCode(92) + "p{L}").repeat(501), "u")'), /takes too long/);
      assert.deepEqual(result('[]'), []);
      assert.deepEqual(result('({ sum: nested(' + round + ') + nested(1), nested: { round: ' + round + ' } })'), { sum: round + 5, nested: { round } });
    }`));

  // Between the surface and its binding, lists that begin with a number represent other values.
  test('that functions of the host return to guests arrive as they are, whatever they begin with', () => passes(`
    context.global.setSync('callback', new ivm.Callback((text) => JSON.parse(text)));
    context.global.setSync('reference', new ivm.Reference((text) => JSON.parse(text)));
    context.global.setSync('method', new ivm.Reference(function (text) { return { receiver: this, value: JSON.parse(text) }; }));
    context.evalSync(\`function ask(text) {
      const options = { result: { copy: true } };
      const { receiver, value } = method.applySync('receiver', [text], options);
      if (receiver !== 'receiver') throw new Error('another receiver');
      return [callback(text), reference.applySync(undefined, [text], options), value].map((value) => JSON.stringify(value)).join();
    }\`);
    const ask = context.global.getSync('ask', { reference: true });
    const lists = Array.from({ length: 32 }, (_, tag) => [[tag], [tag, 0], [tag, 'text', 1], [tag, null, 0, 0, 0], [[tag, 1], { tag }]]).flat();
    const objects = [{ 0: 8, 1: 'text' }, { id: 1 }, { id: 2, inner: { id: 3, list: [15, 1] } }, {}, { text: 'text' }];
    for (const value of [...lists, ...Array.from({ length: 12 }, () => objects).flat()]) {
      const text = JSON.stringify(value);
      assert.equal(ask.applySync(undefined, [text]), [text, text, text].join());
      assert.equal(context.evalSync('ask(' + JSON.stringify(text) + ')'), [text, text, text].join());
    }`));

  test('larger values use the memory of earlier ones, and stay separate', () => passes(`
    const keep = context.evalSync('globalThis.kept = []; (...values) => { kept.push(...values); return kept.length }', { reference: true });
    const options = { arguments: { copy: true } };
    const take = () => context.evalSync('kept.splice(0)', { copy: true });
    const of = (name, length) => ({ name, text: name.repeat(length * 90), list: Array.from({ length }, (_, index) => ({ [name]: index })) });
    for (const length of [100, 300, 5_000, 300, 50_000, 500]) {
      const [a, b, c] = [of('a', length), of('b', Math.ceil(length / 2)), of('c', length)];
      assert.equal(keep.applySync(undefined, [a, b, c], options), 3);
      assert.deepEqual(take(), [a, b, c]);
      assert.throws(() => keep.applySync(undefined, [a, b, { c, refused: Symbol() }], options), /could not be cloned/);
      assert.equal(keep.applySync(undefined, [b], options), 1);
      assert.deepEqual(take(), [b]);
      const outer = { a, get inner() { keep.applySync(undefined, [b], options); return c; }, last: a };
      assert.equal(keep.applySync(undefined, [outer, c], options), 3);
      assert.deepEqual(take(), [b, { a, inner: c, last: a }, c]);
    }
    const calls = Array.from({ length: 40 }, (_, index) => keep.apply(undefined, [of('n' + index, 400), of('m' + index, 40)], options));
    await Promise.all(calls);
    assert.deepEqual(take().filter((_, index) => index % 2 === 0), Array.from({ length: 40 }, (_, index) => of('n' + index, 400)));
    const copy = new ivm.ExternalCopy(of('copy', 3_000));
    keep.applySync(undefined, [of('d', 3_000)], options);
    assert.deepEqual(copy.copy(), of('copy', 3_000));`));

  test('long strings in memory of earlier ones have their own characters', () => passes(`
    const make = context.evalSync('(characters, length, end) => characters.repeat(length) + end', { reference: true });
    const kept = [];
    for (let round = 0; round < 60; round += 1) {
      const characters = ['a', 'é', 'ж', '\\ud800', 'zж'][round % 5] + round % 10;
      const length = [131_000, 131_072, 150_000, 262_144, 300_000, 524_288, 9_000_000][(round * 3) % 7] >> 1;
      const text = make.applySync(undefined, [characters, length, 'end ' + round]);
      assert.ok(text === characters.repeat(length) + 'end ' + round, 'round ' + round);
      if (round % 7 === 0) kept.push([text, characters, length, round]);
      if (round % 4 === 3) { gc(); await sleep(1); }
    }
    // Memory that is not used again is freed after a second, while strings still use the rest.
    await sleep(1_200);
    for (const [text, characters, length, round] of kept) assert.ok(text === characters.repeat(length) + 'end ' + round, 'kept ' + round);`, { collects: true }));

  test('around the size of a shared buffer', () => passes(`
    const echo = context.evalSync('(value) => value', { reference: true });
    for (let length = 1900; length < 2200; length += 1) {
      const value = { text: 'y'.repeat(length) };
      assert.deepEqual(echo.applySync(undefined, [value], { arguments: { copy: true }, result: { copy: true } }), value);
    }`));
});
