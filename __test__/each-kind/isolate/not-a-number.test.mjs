// Engines have one NaN, whose bits a program cannot see. V8 keeps the bits that a guest has given one. JavaScriptCore uses those of most of them for
// its other values: `null` or `true`, for example, or the address of an object.

import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm } from '../../api/ivm.mjs';

/** By the value that the same bits would be in JavaScriptCore. */
const BITS = {
  null: '0xfffe000000000002n', true: '0xfffe000000000007n', undefined: '0xfffe00000000000an', 'an integer': '0xfffc000000000005n', 'no value': '0xfffe000000000000n',
  'itself, negative': '0xfff8000000000000n', 'itself, signalling': '0x7ff0000000000001n',
};

describe("a guest's NaN with bits of its own", () => {
  let isolate;
  let context;
  before(() => {
    isolate = new ivm.Isolate();
    context = isolate.createContextSync();
    context.evalSync(`
      const nan = (bits) => new Float64Array(new BigUint64Array([bits]).buffer)[0];
      const bitsOf = (number) => new BigUint64Array(new Float64Array([number]).buffer)[0];`);
  });
  after(() => isolate.dispose());

  for (const [name, bits] of Object.entries(BITS)) {
    test(`that would be ${name} is NaN`, async () => {
      const seen = [];
      context.global.setSync('see', new ivm.Callback((...values) => { seen.push(...values); }));
      context.global.setSync('apply', new ivm.Reference((...values) => { seen.push(...values); }));
      context.evalSync(`see(nan(${bits})); see(nan(${bits}), nan(${bits}), [nan(${bits})][0]); apply.applySync(undefined, [nan(${bits})])`);
      await context.eval(`see(nan(${bits}), nan(${bits}))`);
      seen.push(context.evalSync(`nan(${bits})`), await context.eval(`nan(${bits})`), ...context.evalSync(`[nan(${bits}), ...new Array(300).fill(nan(${bits}))]`, { copy: true }), context.evalSync(`({ a: nan(${bits}) })`, { copy: true }).a);
      assert.equal(seen.length, 7 + 2 + 301 + 1);
      assert.ok(seen.every((value) => typeof value === 'number' && Number.isNaN(value)), String(seen.find((value) => !Number.isNaN(value))));
    });
  }

  test('keeps its bits in the guest', () => {
    assert.equal(context.evalSync('bitsOf(nan(0xfffe000000000007n)) === 0xfffe000000000007n'), true);
  });
});
