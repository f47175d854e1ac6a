// Large buffers and strings that leave guests one after the other. They use the same memory again (src/value/block_pool.rs), which no value shows.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const MAKE = `
  const bufferOf = context.evalSync('(length, byte) => new Uint8Array(length).fill(byte).buffer', { reference: true });
  const textOf = context.evalSync('(length, unit) => unit.repeat(length)', { reference: true });
  const out = { result: { copy: true } };
  const sizes = [1_000_000, 900_000, 300_000, 299_999, 1_000_001, 5, 400_000, 1_000_000];
  const isFilled = (buffer, byte) => new Uint8Array(buffer).every((each) => each === byte);
`.replaceAll('\n', ' ');

test('have their own contents', () => passes(`${MAKE}
  const kept = [];
  for (let round = 1; round <= 4; round += 1) {
    for (const [place, length] of sizes.entries()) {
      const byte = round * 10 + place;
      const buffer = bufferOf.applySync(undefined, [length, byte], out);
      assert.equal(buffer.byteLength, length);
      kept.push([buffer, byte]);
      const unit = String.fromCharCode(place % 2 === 0 ? 65 + byte : 0x400 + byte);
      assert.ok(textOf.applySync(undefined, [length, unit]) === unit.repeat(length));
    }
  }
  for (const [buffer, byte] of kept) assert.ok(isFilled(buffer, byte), String(byte));`));

test('belong to the side that has them', () => passes(`${MAKE}
  const sink = context.evalSync('(buffer) => { new Uint8Array(buffer).fill(1); return buffer.byteLength }', { reference: true });
  for (const length of [...sizes, ...sizes]) {
    const made = bufferOf.applySync(undefined, [length, 7], { result: { externalCopy: true } });
    const first = made.copy();
    assert.equal(sink.applySync(undefined, [made.copyInto()]), length);
    const second = made.copy();
    new Uint8Array(first).fill(2);
    assert.ok(isFilled(second, 7) && isFilled(made.copy(), 7), String(length));
    assert.equal(sink.applySync(undefined, [made.copyInto({ release: true, transferIn: true })]), length);
    assert.equal(new Uint8Array(structuredClone(first, { transfer: [first] })).length, length);
  }`));

test('in turns of the event loop and of sandboxes', () => passes(`${MAKE}
  const sandbox = ivm.createSandbox({}, { maxOutputSize: 16 * 2 ** 20 });
  const results = await Promise.all(sizes.flatMap((length, place) => [
    bufferOf.apply(undefined, [length, place], out).then((buffer) => buffer.byteLength === length && isFilled(buffer, place)),
    sandbox.execute('return "' + place + '".repeat(' + length + ')').then(({ result }) => result === String(place).repeat(length)),
  ]));
  assert.deepEqual(results, results.map(() => true));`));
