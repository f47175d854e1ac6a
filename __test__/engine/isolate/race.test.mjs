// The race between a limit that passes and the work that it limits.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

test('a call that ends exactly at its timeout, 10,000 times, does not affect later calls', () => passes(`
  const spin = context.evalSync('(function (n) { let x = 0; for (let i = 0; i < n; i += 1) x = (x + i) | 0; return n })', { reference: true });
  const fastest = (count) => Math.min(...Array.from({ length: 5 }, () => { const start = ms(); spin.applySync(undefined, [count]); return ms() - start; }));
  for (let i = 0; i < 20; i += 1) spin.applySync(undefined, [1e6]);
  let n = 1e5;
  while (fastest(n) < 1) n = Math.ceil(n * 1.1);
  // Each call uses another kind of termination.
  const call = [
    (count) => spin.applySync(undefined, [count], { timeout: 1 }),
    (count) => spin.apply(undefined, [count], { timeout: 1 }),
    (count) => spin.applySync(undefined, [count], { deadline: 1 }),
    (count) => spin.apply(undefined, [count], { timeout: 1, deadline: 1 }),
  ];
  let passed = 0;
  let timedOut = 0;
  for (let i = 0; i < 10_000; i += 1) {
    const count = Math.round(n * (0.6 + (i % 100) / 100));
    try {
      const value = await call[i % call.length](count);
      assert.equal(value, count);
      passed += 1;
    } catch (error) {
      assert.match(error.code, /^ERR_ISOLATE_(TIMEOUT|DEADLINE)$/, error.stack);
      timedOut += 1;
    }
    // A termination that is still pending would hit this.
    assert.equal(spin.applySync(undefined, [10]), 10);
  }
  console.log(passed, timedOut);
  assert.ok(passed > 0 && timedOut > 0, passed + ' passed, ' + timedOut + ' timed out');`, { timeout: 200_000 }));
