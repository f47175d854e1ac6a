// Guests and their hosts pass short texts to each other, of all lengths and kinds of characters, alone and several at a time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ivm from '../../../index.mjs';

/** Around the length at which a text is no longer short, and the lengths of V8's kinds of strings. */
const LENGTHS = [0, 1, 2, 3, 7, 8, 9, 12, 13, 15, 16, 17, 60, 127, 128, 200, 253, 254, 255, 256, 257, 300, 5_000];
const CHARACTERS = ['a', 'é', '\xff', 'Ā', '日', '\ud800', '\udc00', '😀'];
const texts = CHARACTERS.flatMap((character) => LENGTHS.map((length) => character.repeat(length).slice(0, length)))
  .concat(LENGTHS.map((length) => `${'x'.repeat(length)}\0é`), LENGTHS.map((length) => `${'x'.repeat(length)}日`));

/** A context whose `host` returns its arguments as a text, or one of them. */
function started(t) {
  const isolate = new ivm.Isolate();
  t.after(() => isolate.dispose());
  const context = isolate.createContextSync();
  const received = [];
  const record = (...args) => {
    received.push(args);
    return args[args.length - 1];
  };
  context.global.setSync('callback', new ivm.Callback(record));
  context.global.setSync('plain', record);
  context.global.setSync('reference', new ivm.Reference(record));
  context.global.setSync('texts', new ivm.ExternalCopy(texts).copyInto());
  return { context, received };
}

/** How a guest calls the host with some arguments. */
const WAYS = [
  'callback(...args)',
  'plain(...args)',
  'reference.applySync(undefined, args, { arguments: { copy: true }, result: { copy: true } })',
];

/** How a text that has a certain content came to be: V8 keeps it in another way each time. */
const MADE = {
  whole: 'text',
  joined: "text.slice(0, text.length >> 1) + (text.slice(text.length >> 1) + '')",
  part: "('<' + text + '>').slice(1, -1)",
  key: "Object.keys({ ['_' + text]: 1 })[0].slice(1)",
};

for (const way of WAYS) {
  for (const [how, made] of Object.entries(MADE)) {
    test(`${way}, ${how}`, (t) => {
      const { context, received } = started(t);
      const wrong = context.evalSync(`
        const wrong = [];
        for (const text of texts) {
          const args = [${made}];
          if (${way} !== text) wrong.push(text.length);
        }
        wrong.join()`);
      assert.equal(wrong, '');
      assert.deepEqual(received, texts.map((text) => [text]));
    });
  }

  test(`${way}, ten of them with other primitives`, (t) => {
    const { context, received } = started(t);
    const wrong = context.evalSync(`
      const others = [undefined, null, true, false, 0, -1, 2 ** 31, 0.5, 10n];
      const wrong = [];
      for (let index = 0; index < texts.length; index += 1) {
        const at = (by) => texts[(index + by) % texts.length];
        const args = [at(0), others[index % 9], at(1), at(7), others[(index + 3) % 9], at(11), at(23), others[(index + 5) % 9], at(31), at(46)];
        if (${way} !== args[9]) wrong.push(index);
      }
      wrong.join()`);
    assert.equal(wrong, '');
    const others = [undefined, null, true, false, 0, -1, 2 ** 31, 0.5, 10n];
    const expected = texts.map((_, index) => {
      const at = (by) => texts[(index + by) % texts.length];
      return [at(0), others[index % 9], at(1), at(7), others[(index + 3) % 9], at(11), at(23), others[(index + 5) % 9], at(31), at(46)];
    });
    assert.deepEqual(received, expected);
  });
}

test('texts, lists, objects and getters in one call are read once and in order', (t) => {
  const { context, received } = started(t);
  const order = context.evalSync(`
    const order = [];
    const object = { get value() { order.push('read'); return 'inner'; } };
    for (let index = 0; index < 50; index += 1) {
      callback('first', ['list', index], object, 'between', 'é'.repeat(index), ['日'], null, object);
    }
    order.length`);
  assert.equal(order, 100);
  assert.deepEqual(received, Array.from({ length: 50 }, (_, index) => (
    ['first', ['list', index], { value: 'inner' }, 'between', 'é'.repeat(index), ['日'], null, { value: 'inner' }]
  )));
});

test('a call within a call does not change the outer one', (t) => {
  const { context } = started(t);
  const inner = context.evalSync("(text) => callback('inner ' + text)", { reference: true });
  context.global.setSync('nested', new ivm.Callback((first, second) => `${inner.applySync(undefined, [second])} ${first} ${second}`));
  assert.equal(context.evalSync("nested('outer', 'é日') + '|' + nested('a', 'b')"), 'inner é日 outer é日|inner b a b');
});
