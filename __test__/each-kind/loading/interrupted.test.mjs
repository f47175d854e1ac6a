// A time limit of `node:vm` that ends the loading of the package's files: JavaScript ends there without `catch` and `finally`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../harness.mjs';

const LIMIT_MS = 10;

test('files of which a part was loaded are loaded again', async () => {
  // The limit expires at different places, in processes of their own.
  const outputs = await Promise.all(Array.from({ length: 8 }, (_, index) => run(`
    import { runInNewContext } from 'node:vm';
    const context = new ivm.Isolate().createContextSync();
    context.evalSync('1');
    const first = () => {
      const start = performance.now();
      while (performance.now() - start < ${LIMIT_MS - 8 + index});
      return context.evalSync('({ a: 1 })', { copy: true });
    };
    let interrupted = false;
    try {
      runInNewContext('first()', { first }, { timeout: ${LIMIT_MS} });
    } catch (error) {
      if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      interrupted = true;
    }
    console.log(JSON.stringify([interrupted, context.evalSync('({ a: 1 })', { copy: true })]));`)));
  const results = outputs.map(({ stdout, stderr }) => {
    assert.match(stdout, /^\[(?:true|false),\{"a":1\}\]$/m, stderr);
    return JSON.parse(stdout);
  });
  assert.ok(results.some(([interrupted]) => interrupted));
});
