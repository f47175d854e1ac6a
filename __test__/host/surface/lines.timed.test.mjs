// Lines of a user's code that may consist only of line breaks or comments.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import ivm from '../../../index.mjs';

const require = createRequire(import.meta.url);
const { endPosition, Lines } = require('../../../surface/host/sandbox/common/lines.js');
const { failureOf } = require('../../../surface/host/sandbox/common/failure.js');

test('line ends match V8\'s', () => {
  for (const parts of [[''], ['a'], ['', ''], ['a', 'b', ''], ['', '', 'abc']]) {
    for (const end of ['\n', '\r', '\r\n', '\u2028', '\u2029']) {
      const lines = new Lines(parts.join(end));
      assert.equal(lines.count, parts.length);
      assert.equal(lines.line(0), undefined);
      parts.forEach((part, index) => assert.equal(lines.line(index + 1), part));
      assert.equal(lines.line(parts.length + 1), undefined);
      assert.deepEqual(endPosition(parts.join(end)), { line: parts.length - 1, column: parts.at(-1).length });
    }
  }
  assert.equal(new Lines('\n\r\n\r').count, 4);
});

test('code of millions of lines is located without a list of them', async () => {
  const sandbox = ivm.createSandbox({});
  for (const [before, expected] of [['\n'.repeat(8_000_000), 'x'], ['/**/'.repeat(1_000_000), undefined], ['//\n'.repeat(4_000_000), undefined]]) {
    let gap = 0;
    const state = { isOver: false };
    const watch = (async () => {
      for (let last = performance.now(); !state.isOver;) {
        await setImmediate();
        const now = performance.now();
        gap = Math.max(gap, now - last);
        last = now;
      }
    })();
    const start = process.memoryUsage().rss;
    const { error, failure } = await sandbox.execute(`${before}throw new Error('x')`);
    state.isOver = true;
    await watch;
    assert.ok(!String(error).includes('stack'), error);
    if (expected !== undefined) assert.deepEqual([error, failure.line], [expected, before.length + 1]);
    assert.ok(gap < 1_000, `${gap} ms`);
    assert.ok(process.memoryUsage().rss - start < 300e6);
  }
});

test('a stack with a large module in each frame searches it once', () => {
  const module = 'x\n'.repeat(200_000);
  const start = performance.now();
  const { line, frame, module: name } = failureOf({ ok: false, value: 'm', logs: [], lost: 0, name: 'E', stack: '\n    at library:7:1'.repeat(150) }, 'code', 'm', new Map([['library', module]]));
  assert.deepEqual([name, line, frame.split('\n').length], ['library', 7, 6]);
  assert.ok(performance.now() - start < 500);
});
