// Loops that V8 once compiled without the check that a termination needs, and a short run of the generator that searches for more
// (fuzz/README.md).

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { host, root, runFile } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

/** A WebAssembly function: it makes an array of `length` elements, then counts a parameter down by another, in a loop too large to unroll. */
const afterArrayNew = (length) => `{
  const section = (id, ...content) => { const bytes = content.flat(9); return [id, bytes.length & 127 | 128, bytes.length >> 7, ...bytes]; };
  const much = Array.from({ length: 120 }, (_, index) => [0x20, 2, 0x41, index % 60 + 1, index % 3 ? 0x6a : 0x73, 0x21, 2]);
  const body = [1, 1, 0x7f, 0x41, 7, 0x41, ${length}, 0xfb, 6, 0, 0x1a,
    0x03, 0x40, much, 0x20, 0, 0x20, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 2, 0x24, 0, 0x0b].flat(9);
  const bytes = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...section(1, 2, 0x5e, 0x7f, 1, 0x60, 2, 0x7f, 0x7f, 0), ...section(3, 1, 1),
    ...section(6, 1, 0x7f, 1, 0x41, 0, 0x0b), ...section(7, 1, 1, 0x66, 0, 0), ...section(10, 1, body.length & 127 | 128, body.length >> 7, body)]);
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  const end = Date.now() + 300;
  while (Date.now() < end) for (let index = 0; index < 100; index += 1) f(1000, 1);
  f(1, 0);
}`;

describe('loops that are optimized stop at their timeout', () => {
  test('after an inlined initialization', () => passes(`
    assert.equal(syncError(() => context.evalSync('for (;;) new Array(1000).fill(1.5)', { timeout: 200 })).code, 'ERR_ISOLATE_TIMEOUT');`));

  test('in WebAssembly, after an array allocation', () => passes(`
    for (const code of [${JSON.stringify(afterArrayNew(10))}, ${JSON.stringify(afterArrayNew(12))}]) {
      assert.equal(syncError(() => context.evalSync(code, { timeout: 1000 })).code, 'ERR_ISOLATE_TIMEOUT');
    }`));

  // V8 decides for which call it starts to compile. Each comparison takes long, and V8 checks nothing meanwhile.
  test('in a function that V8 compiles on another thread', () => passes(`
    isolate.dispose();
    for (let calls = 20; calls < 60; calls += 1) {
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      context.evalSync(\`
        const one = 'a'.repeat(20000) + 'b', other = 'a'.repeat(20000) + 'b';
        let equal = one === other;
        function count(end) { for (let n = 0; n !== end; n += 1) equal = one === other; }
        for (let call = 0; call < \${calls}; call += 1) count(12);\`);
      assert.equal(syncError(() => context.evalSync('count(-1)', { timeout: 30 })).code, 'ERR_ISOLATE_TIMEOUT', \`after \${calls} calls\`);
      isolate.dispose();
    }`, { timeout: 60_000 }));

  // V8 has nothing to decide for such a function, so its own interval between two checks is 2^30 bytes of bytecode.
  test('in a function that is too long to be optimized', () => passes(`
    context.evalSync(\`
      var one = 'a'.repeat(20000) + 'b', other = 'a'.repeat(20000) + 'b';
      var equal = one === other, never = false;
      const long = 'equal = one + other + never;'.repeat(6000);
      const count = Function('end', 'slow', 'if (never) { ' + long + ' } for (let n = 0; n !== end; n += 1) if (slow) equal = one === other;');\`);
    for (let call = 0; call < 3; call += 1) context.evalSync('count(200000, false)');
    assert.equal(syncError(() => context.evalSync('count(-1, true)', { timeout: 30 })).code, 'ERR_ISOLATE_TIMEOUT');`, { timeout: 60_000 }));

  const skip = host === 'node24' || host === 'bun' ? false : 'takes long; V8 is the same on all hosts';
  test('generated loops', { skip }, async () => {
    const args = ['--seed', '1', '--programs', '30', '--timeout', '100'];
    const { code, signal, stdout, stderr } = await runFile(join(root, 'fuzz/loops/main.mjs'), { args, timeout: 120_000 });
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `${stdout}${stderr}`);
    const counts = JSON.parse(stdout.split('\n')[0]);
    assert.ok(counts.stopped >= 25, stdout);
  });
});
