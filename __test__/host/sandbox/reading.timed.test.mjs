// What the host itself parses of a guest's text: code, and what errors contain. Whatever the text, that takes time in proportion to its
// length.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createExecutor } from '../../../adapters/codemode.js';
import { Gaps } from '../../hostile/measure.mjs';
import ivm from '../../../index.mjs';
import { hostContext, IsolatedVmSandbox, manifest } from '../../sandbox/plugin-helper.mjs';
import { indices } from '../../wire/collisions.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;

/** What could take minutes takes a fraction of a second; the rest is for busy machines. */
const MAX_GAP_MS = 3_000;
const MANY = 300_000;

/** Runs something, and reports for how long the event loop was blocked meanwhile. */
async function withGap(run) {
  const gaps = new Gaps();
  try {
    return { outcome: await run(), gap: gaps.take() };
  } finally {
    gaps.stop();
  }
}

const options = { timeout: 20_000, memoryLimit: 64, modules: { './a.js': 'export default 1' } };

const SANDBOXES = {
  createSandbox: (code, more) => createSandbox({}, { ...options, ...more }).execute(code),
  IsolatedVMSandbox: (code, more) => new IsolatedVMSandbox({ ...options, ...more }).execute(code, [], () => {}),
  SubprocessSandbox: (code, more) => new SubprocessSandbox({ ...options, ...more }).execute(code, [], () => {}),
  async IsolatedVmSandbox(code, more) {
    const sandbox = new IsolatedVmSandbox(null, { modules: options.modules, ...more });
    try {
      const isolate = await sandbox.createIsolate(manifest());
      return { result: await sandbox.executeInSandbox(isolate, code, hostContext()) };
    } catch (error) {
      return { failure: error.failure ?? error };
    } finally {
      sandbox.disposeAll();
    }
  },
};

const STACKS = {
  'zeros before a column': '"Error: m\\n    at sandbox.js:" + "0".repeat(MANY) + "1:0"',
  'zeros in a column': '"Error: m\\n    at sandbox.js:1:-" + "0".repeat(MANY) + "x"',
  'digits without an end': '"Error: m\\n    at sandbox.js:" + "1".repeat(MANY)',
  'brackets': '"Error: m\\n    at " + " (".repeat(MANY / 2) + ":1:1x"',
  'brackets that end': '"Error: m\\n    at " + " (".repeat(MANY / 2) + ":1:1)"',
  'colons': '"Error: m\\n    at " + ":1".repeat(MANY / 2) + "x"',
  'blanks': '"Error: m\\n" + " ".repeat(MANY) + "x"',
  'frames': '"Error: m" + "\\n    at ./a.js:1:1".repeat(MANY / 20)',
  'frames of the code': '"Error: m" + "\\n    at sandbox.js:0:0".repeat(MANY / 20)',
  'lines': '"\\n".repeat(MANY)',
};

const TEXTS = {
  'lines of a text that is not a program': `const const;${'\n'.repeat(MANY)}x`,
  'blanks of a text that is not a program': `const const;${' '.repeat(MANY)}x`,
  'semicolons': `1${';'.repeat(MANY)}x`,
  'comments': `${'/**/ //\n'.repeat(MANY / 8)}1`,
  'beginnings of comments': `${'/*'.repeat(MANY / 2)}1`,
  'a name without an end': `async ${'a'.repeat(MANY)}`,
  'fences': '```js\n'.repeat(MANY / 6),
  'a long fence, and shorter ones': `${'`'.repeat(MANY / 2)}js\n x${'`'.repeat(MANY / 2 - 1)}x${'`'.repeat(MANY / 2 - 1)}`,
  'a long fence within a line, and shorter ones': `Run ${'`'.repeat(MANY / 2)}js x${'`'.repeat(MANY / 2 - 1)}x${'`'.repeat(MANY / 2 - 1)}`,
  'fences of languages whose names collide': `~~~${indices(50_000).join('\n~~~')}`,
};

for (const [kind, execute] of Object.entries(SANDBOXES)) {
  describe(`${kind} reads quickly`, () => {
    for (const [name, stack] of Object.entries(STACKS)) {
      test(`the stack: ${name}`, async () => {
        const code = `if (1) { const MANY = ${MANY}; const e = new Error('m'); e.stack = ${stack}; throw e; }`;
        const { outcome: { failure }, gap } = await withGap(() => execute(code));
        assert.equal(failure?.message, 'm');
        assert.ok(gap < MAX_GAP_MS, `the event loop stood still for ${gap} ms`);
      });
    }
    for (const [name, text] of Object.entries(TEXTS)) {
      for (const typescript of [false, true]) {
        test(`code${typescript ? ' with types' : ''}: ${name}`, async () => {
          const { outcome, gap } = await withGap(() => execute(text, { typescript }));
          assert.ok('result' in outcome || 'failure' in outcome, JSON.stringify(outcome).slice(0, 200));
          assert.ok(gap < MAX_GAP_MS, `the event loop stood still for ${gap} ms`);
        });
      }
    }
  });
}

describe('codemode reads quickly', () => {
  for (const [name, text] of Object.entries(TEXTS)) {
    test(`code: ${name}`, async () => {
      const { outcome, gap } = await withGap(() => createExecutor({ timeout: 20_000 }).execute(text, {}));
      assert.ok('result' in outcome);
      assert.ok(gap < MAX_GAP_MS, `the event loop stood still for ${gap} ms`);
    });
  }
});

/** As text, it has half a billion characters, and takes as many steps as that for every level. */
const nested = () => { let list = ['x'.repeat(1e6)]; for (let level = 0; level < 900; level += 1) list = ['y', list]; return list; };

describe('an error whose message is a nested array', () => {
  for (const [kind, Sandbox] of Object.entries({ AgentSandbox: ivm.AgentSandbox, SubprocessSandbox })) {
    test(`as the result of a tool of ${kind}`, async () => {
      const sandbox = new Sandbox({ timeout: 60_000, memoryLimit: 128 });
      const code = `const list = (${nested})(); return [(await echo(list)).message, (await echo({ list })).message]`;
      const tool = (_name, message) => Object.assign(new Error('a'), { message });
      const { outcome, gap } = await withGap(() => sandbox.execute(code, [{ name: 'echo', description: '' }], tool));
      assert.deepEqual([outcome.error, outcome.result], [undefined, ['[object Array]', '[object Object]']]);
      assert.ok(gap < MAX_GAP_MS, `${gap} ms`);
    });
  }

  test('among globals of which one cannot be copied', async () => {
    const globals = { error: Object.assign(new Error('a'), { message: nested() }), promise: Promise.resolve() };
    const begin = performance.now();
    const outcome = await createSandbox(globals, options).execute('1').catch((error) => error);
    const took = performance.now() - begin;
    assert.match(`${outcome.error ?? outcome.message ?? outcome}`, /`globals.promise`/);
    assert.ok(took < MAX_GAP_MS, `${took} ms`);
  });
});
