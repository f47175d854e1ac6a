// Typical mistakes of programs and of models, and what the error says.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { AgentSandbox, createSandbox, SubprocessSandbox } = ivm;
const hasProcesses = process.platform !== 'win32';

describe('code that is a module, or imports one, in a sandbox without modules', () => {
  const executors = {
    createSandbox: (code) => createSandbox({}).execute(code),
    AgentSandbox: (code) => new AgentSandbox().execute(code),
    ...(hasProcesses ? { SubprocessSandbox: (code) => new SubprocessSandbox().execute(code) } : {}),
  };
  const cases = {
    'import fs from "fs";\nreturn 1': 'Cannot use import statement outside a module (the sandbox has no `modules`) [sandbox.js:1:1]',
    '\n  export default 5': "Unexpected token 'export' (the sandbox has no `modules`) [sandbox.js:2:3]",
    'await import("lodash")': "Cannot find module 'lodash': the sandbox has no `modules`",
    'await import("x".repeat(300))': `Cannot find module '${'x'.repeat(200)}...': the sandbox has no \`modules\``,
  };
  for (const [kind, execute] of Object.entries(executors)) {
    test(kind, async () => {
      for (const [code, message] of Object.entries(cases)) {
        const { error, failure } = await execute(code);
        assert.equal(error, message);
        assert.equal(failure.code, undefined);
      }
      // Other errors have no such addition, and code may catch the one of import().
      assert.equal((await execute('return [1')).error.includes('modules'), false);
      assert.equal((await execute('return import("x").catch((error) => error.name + (error instanceof Error))')).result, 'Errortrue');
    });
  }
});

describe('globals that cannot be copied are named', () => {
  const cyclic = { list: [1, { promise: Promise.resolve(1) }] };
  cyclic.self = cyclic;
  const cases = {
    'globals.console.pending': { console: { ...console, pending: Promise.resolve(1) } },
    'globals.pending': { fine: 1, pending: Promise.resolve(1) },
    'globals.symbol': { f: () => 1, symbol: Symbol('x') },
    'globals.map': { data: { list: [1], f: () => 1 }, map: new Map([['f', () => 1]]) },
    'globals.cyclic.list[1].promise': { cyclic },
  };
  for (const [path, globals] of Object.entries(cases)) {
    test(path, async () => {
      const { error, failure } = await createSandbox(globals).execute('1');
      assert.equal(error.slice(0, path.length + 4), `\`${path}\`: `);
      assert.match(error, / could not be cloned\.$/);
      assert.deepEqual([failure.name, failure.code], ['TypeError', 'ERR_ISOLATE_TRANSFER']);
    });
  }
});

describe('executions without tools', () => {
  const sandboxes = { AgentSandbox, ...(hasProcesses ? { SubprocessSandbox } : {}) };
  for (const [kind, Sandbox] of Object.entries(sandboxes)) {
    test(kind, async () => {
      const sandbox = new Sandbox();
      for (const more of [[], [undefined, undefined, {}], [[]], [[], () => 1]]) assert.equal((await sandbox.execute('return 6 * 7', ...more)).result, 42);
      const refused = (message) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG', message });
      const executor = refused('`toolExecutor` must be a function, the third argument of `execute`');
      await assert.rejects(sandbox.execute('1', [{ name: 'a' }]), executor);
      await assert.rejects(sandbox.execute('1', [{ name: 'a', execute: () => 1 }], null), executor);
      await assert.rejects(sandbox.execute('1', [], {}), executor);
      const list = refused('`tools` must be an array of objects with a `name`');
      for (const wrong of [null, {}, { a: () => 1 }, ['a'], [{ name: '' }]]) await assert.rejects(sandbox.execute('1', wrong, () => 1), list);
    });
  }
});

test('numbers that are not finite', () => {
  for (const timeout of [Infinity, NaN, 0, '5s']) {
    assert.throws(() => createSandbox({}, { timeout }), { code: 'ERR_INVALID_ARG', message: '`timeout` must be a finite number of at least 1' });
  }
});
