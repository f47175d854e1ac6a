// Values that leave a guest with handles in them. Where a guest has none, V8's serializer is not asked about each object; the first one may be made
// while a value is written.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ivm from '../../../index.js';

test('a getter makes the first handle', () => {
  const isolate = new ivm.Isolate();
  try {
    const context = isolate.createContextSync();
    context.global.setSync('make', new ivm.Callback(() => new ivm.Reference(5)));
    const source = '({ before: {}, get first() { return make(); }, between: [{ a: 1 }], get second() { return [make(), {}]; } })';
    for (let round = 0; round < 2; round += 1) {
      const { before, first, between, second: [second, after] } = context.evalSync(source, { copy: true });
      assert.deepEqual({ before, between, after }, { before: {}, between: [{ a: 1 }], after: {} });
      for (const each of [first, second]) assert.equal(each instanceof ivm.Reference && each.copySync(), 5);
    }
  } finally {
    isolate.dispose();
  }
});

test('a getter clones values while one is written', () => {
  const isolate = new ivm.Isolate();
  try {
    const context = isolate.createContextSync({ web: ['structuredClone', 'TextEncoder'] });
    const source = `({
      get refused() { try { return structuredClone({ encoder: new TextEncoder() }); } catch ({ message }) { return message; } },
      get copied() { return structuredClone({ a: [{}] }); },
      after: { b: {} },
    })`;
    const expected = { refused: '#<TextEncoder> could not be cloned.', copied: { a: [{}] }, after: { b: {} } };
    assert.deepEqual(context.evalSync(source, { copy: true }), expected);
    context.global.setSync('reference', new ivm.Reference(7));
    const { reference, ...rest } = context.evalSync(`Object.defineProperty(${source}, 'reference', { enumerable: true, get: () => (structuredClone({}), reference) })`, { copy: true });
    assert.deepEqual(rest, expected);
    assert.equal(reference.copySync(), 7);
  } finally {
    isolate.dispose();
  }
});

test('small buffers and views', () => {
  const isolate = new ivm.Isolate();
  try {
    const context = isolate.createContextSync();
    for (const length of [0, 1, 8, 2_047, 2_048, 2_049, 5_000]) {
      const bytes = Uint8Array.from({ length }, (_, index) => index);
      assert.deepEqual(context.evalSync(`Uint8Array.from({ length: ${length} }, (_, index) => index)`, { copy: true }), bytes);
      assert.deepEqual(context.evalSync(`Uint8Array.from({ length: ${length} }, (_, index) => index).buffer`, { copy: true }), bytes.buffer);
      const part = context.evalSync(`new DataView(Uint8Array.from({ length: ${length + 3} }, (_, index) => index).buffer, 1, ${length})`, { copy: true });
      assert.ok(part instanceof DataView && part.byteOffset === 1 && part.byteLength === length && part.buffer.byteLength === length + 3);
      assert.equal(structuredClone(part.buffer, { transfer: [part.buffer] }).byteLength, length + 3);
    }
    assert.equal(context.evalSync('const gone = new ArrayBuffer(9); gone.transfer(); gone', { copy: true }).byteLength, 0);
  } finally {
    isolate.dispose();
  }
});
