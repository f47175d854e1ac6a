// Strings of a guest, in the forms that V8 keeps them in.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

test('a string whose content V8 has replaced by an equal one of one byte per character', () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const text = 'x'.repeat(40) + 'y'.repeat(28);
  const seen = [];
  context.global.setSync('host', new ivm.Callback((...args) => { seen.push(...args); }));
  context.evalSync(`
    const names = { ${text}: 1 };
    // Two bytes per character, since they were parts of wider strings.
    const joined = ('\\u65e5' + 'x'.repeat(40)).slice(1) + ('\\u65e5' + 'y'.repeat(28)).slice(1);
    // The string that it consists of now. As a key, that becomes the same string as the name above.
    names[joined.normalize()];
  `);
  assert.equal(context.evalSync('joined.length'), text.length);
  assert.equal(context.evalSync('joined'), text);
  context.evalSync('host(joined); host(joined, [joined])');
  assert.deepEqual(seen, [text, text, [text]]);
  isolate.dispose();
});
