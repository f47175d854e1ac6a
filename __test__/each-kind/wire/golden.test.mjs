// Every host reads the bytes that V8 wrote, and writes the same bytes for values where V8's format leaves no choice.

import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { difference, evaluate, hex, read, unhex, write } from '../../wire/helper.mjs';

const entries = JSON.parse(readFileSync(new URL('../../wire/golden.json', import.meta.url), 'utf8'));
const shorten = (text) => (text.length > 80 ? `${text.slice(0, 77)}…` : text);
/** Whether only its properties define an object: class and prototype do not travel. */
const classless = (value) => Object.prototype.toString.call(value) === '[object Object]';
const atVersion16 = (bytes) => `ff10${bytes.slice(4)}`;

test('the fixtures are there', () => {
  assert.ok(entries.length > 120);
  assert.ok(entries.filter(({ exact }) => exact).length > 90);
});

for (const { expression, exact, bytes } of entries) {
  test(`reads ${shorten(expression)}`, () => {
    const expected = evaluate(expression);
    if (expected instanceof Error) {
      const received = read(unhex(bytes));
      const standard = ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];
      assert.strictEqual(received.constructor.name, standard.includes(expected.name) ? expected.name : 'Error');
      for (const name of ['message', 'cause']) {
        assert.strictEqual(Object.hasOwn(received, name), Object.hasOwn(expected, name));
        assert.strictEqual(difference(expected[name], received[name]), undefined);
      }
      assert.strictEqual(received.stack, typeof expected.stack === 'string' ? expected.stack : undefined);
      assert.deepStrictEqual(Object.keys(received), []);
      return;
    }
    const received = read(unhex(bytes));
    assert.strictEqual(difference(expected, received), undefined);
    if (classless(expected)) assert.strictEqual(Object.getPrototypeOf(received), Object.prototype);
  });
  if (exact) {
    test(`writes ${shorten(expression)}`, () => {
      const written = write(evaluate(expression));
      assert.deepStrictEqual(written.table, []);
      assert.strictEqual(hex(written.bytes), atVersion16(bytes));
    });
  }
}
