// `scripts/product/test262.mjs`, run on a few files with the layout of test262.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { frontMatter } from '../../../scripts/product/test262/tests.mjs';
import { failureOf } from '../../../scripts/product/test262/verdict.mjs';
import { root, runFile } from '../../harness.mjs';

const FILES = {
  'harness/assert.js': 'function assert(value, message) { if (value !== true) throw new Test262Error(message); }',
  'harness/sta.js': 'function Test262Error(message) { this.message = message; }',
  'harness/doneprintHandle.js': "function $DONE(error) { print(error ? 'Test262:AsyncTestFailure:' + error.message : 'Test262:AsyncTestComplete'); }",
  'harness/extra.js': 'var extra = 5;',
  'test/language/good.js': "/*---\nincludes: [extra.js]\n---*/ assert(extra === 5); assert(this === globalThis);",
  'test/language/strict-only.js': '/*---\nflags: [onlyStrict]\n---*/ assert((function () { return this; })() === undefined);',
  'test/language/bad.js': "/*---\nflags: [noStrict]\n---*/ assert(false, 'it is bad');",
  'test/language/raw.js': "/*---\nflags: [raw]\n---*/ if (typeof assert !== 'undefined') throw 1;",
  'test/language/parse.js': '/*---\nnegative:\n  phase: parse\n  type: SyntaxError\nflags: [raw]\n---*/ let let;',
  'test/language/throws.js': '/*---\nnegative:\n  phase: runtime\n  type: Test262Error\n---*/ throw new Test262Error();',
  'test/language/too-good.js': '/*---\nnegative:\n  phase: runtime\n  type: TypeError\nflags: [raw]\n---*/ 1;',
  'test/language/module.js': `/*---\nflags: [module]\n---*/
    import * as self from './module.js'; import { value } from './value_FIXTURE.js';
    export let own = 1;
    assert(self.own === own); assert(value === 7); assert((await import('./value_FIXTURE.js')).value === 7);`,
  'test/language/value_FIXTURE.js': 'export const value = 7;',
  'test/language/unresolved.js': "/*---\nnegative:\n  phase: resolution\n  type: SyntaxError\nflags: [module]\n---*/ import { none } from './value_FIXTURE.js';",
  'test/language/async.js': "/*---\nflags: [async]\n---*/ import('./value_FIXTURE.js').then(({ value }) => { assert(value === 7); $DONE(); }, $DONE);",
  'test/language/async-bad.js': "/*---\nflags: [async, noStrict]\n---*/ $DONE({ message: 'in the end' });",
  'test/language/rejection.js': '/*---\nflags: [noStrict]\n---*/ Promise.reject(new Error("unhandled"));',
  'test/language/endless.js': '/*---\nflags: [noStrict]\n---*/ for (;;);',
  'test/language/skipped.js': '/*---\nfeatures: [IsHTMLDDA]\nflags: [noStrict]\n---*/ 1;',
  'test/language/realm.js': `/*---\n---*/
    const other = $262.createRealm();
    assert(other.global.Array !== Array); assert(other.evalScript('var here = 3; Array') === other.global.Array); assert(other.global.here === 3);
    const buffer = new ArrayBuffer(8); $262.detachArrayBuffer(buffer); assert(buffer.detached); $262.gc();`,
  'test/language/agent.js': `/*---\n---*/
    $262.agent.start("$262.agent.receiveBroadcast((memory, number) => { const view = new Int32Array(memory);"
      + "$262.agent.report(Atomics.add(view, 0, 2) + ' ' + number); Atomics.wait(view, 0, 2); $262.agent.report(view[0]); $262.agent.leaving(); });");
    const view = new Int32Array(new SharedArrayBuffer(8)); view[0] = 0;
    $262.agent.broadcast(view.buffer, 4);
    const nextReport = () => { let text; while ((text = $262.agent.getReport()) === null) $262.agent.sleep(1); return text; };
    assert(nextReport() === '0 4'); assert(view[0] === 2);
    Atomics.store(view, 0, 9); Atomics.notify(view, 0); assert(nextReport() === '9');`,
};

const PASSED = [
  'agent.js', 'agent.js strict', 'async.js', 'async.js strict', 'good.js', 'good.js strict', 'module.js', 'parse.js', 'raw.js', 'realm.js',
  'realm.js strict', 'rejection.js', 'strict-only.js strict', 'throws.js', 'throws.js strict', 'unresolved.js',
].map((name) => `language/${name}`);

const FAILED = {
  'language/async-bad.js': 'Test262:AsyncTestFailure:in the end',
  'language/bad.js': 'runtime: Test262Error: it is bad',
  'language/endless.js': 'timeout: : Script execution timed out.',
  'language/too-good.js': 'runtime TypeError expected; nothing was thrown',
};

async function runTests(folder, ...args) {
  const results = join(folder, 'results.json');
  const { code, stdout, stderr } = await runFile(join(root, 'scripts/product/test262.mjs'), {
    args: [folder, '--filter', 'language', '--concurrency', '1', '--limit', '3000', '--json', results, ...args],
    timeout: 120_000,
  });
  assert.equal(stderr, '');
  return { code, stdout, ...JSON.parse(readFileSync(results, 'utf8')) };
}

describe('the runner of test262', () => {
  test('distinguishes passing tests from failing ones', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-test262-'));
    try {
      for (const [name, text] of Object.entries(FILES)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
      const { code, stdout, passed, failed, skipped } = await runTests(folder);
      assert.deepEqual({ passed, failed, skipped }, { passed: PASSED, failed: FAILED, skipped: { 'language/skipped.js': 'IsHTMLDDA' } });
      assert.equal(code, 1);
      assert.match(stdout, /^16 passed, 4 failed, 1 left out$/m);

      // Compared with a run in which one of them passed.
      const { 'language/bad.js': _, ...others } = failed;
      const earlier = join(folder, 'earlier.json');
      writeFileSync(earlier, JSON.stringify({ passed: [...passed, 'language/bad.js'], failed: { ...others, 'language/good.js': 'so' } }));
      const compared = await runTests(folder, '--against', earlier);
      assert.match(compared.stdout, /^only here FAIL language\/bad\.js: .*\nonly there FAIL language\/good\.js: so\n1 fail only here, 1 only there$/m);
      assert.equal(compared.code, 1);
      writeFileSync(earlier, JSON.stringify({ passed, failed }));
      assert.equal((await runTests(folder, '--filter', 'language/bad.js', '--against', earlier)).code, 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('reads front matter', () => {
    const source = '/*---\r\nflags:\r\n  - async\r\n  - raw\r\nincludes: [a.js,\r\n  b.js]\r\nnegative:\r\n  phase: runtime\r\n  type: TypeError\r\n---*/';
    assert.deepEqual(frontMatter(source), {
      flags: ['async', 'raw'], includes: ['a.js', 'b.js'], features: [], negative: { phase: 'runtime', type: 'TypeError' },
    });
    assert.deepEqual(frontMatter('1;'), { flags: [], includes: [], features: [], negative: undefined });
  });

  test('judges outcomes', () => {
    const negative = { phase: 'parse', type: 'SyntaxError' };
    assert.equal(failureOf({ negative }, { phase: 'parse', name: 'SyntaxError' }), undefined);
    assert.equal(failureOf({ negative }, { phase: 'runtime', name: 'SyntaxError' }), 'parse SyntaxError expected; runtime: SyntaxError');
    assert.equal(failureOf({ async: true }, { printed: 'Test262:AsyncTestComplete' }), undefined);
    assert.equal(failureOf({ async: false }, {}), undefined);
  });
});
