// The memory of values that arrive during a synchronous call does not stay until the event loop gets a turn.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

test('values of 5 MB, and many of 2 KB at a time', () => passes(`
  let count = 0;
  let most = 0;
  const before = process.memoryUsage.rss();
  context.global.setSync('host', new ivm.Callback((...values) => { count += values.length; most = Math.max(most, process.memoryUsage.rss() - before); }));
  context.evalSync('const value = ["x".repeat(5e6)]; for (let i = 0; i < 150; i += 1) host(value);');
  context.evalSync('host(...Array(8_000).fill(["x".repeat(2_100)]));');
  assert.equal(count, 8_150);
  assert.ok(most < 350e6, most + ' bytes');`, { options: '{ memoryLimit: 128 }', timeout: 60_000 }));
