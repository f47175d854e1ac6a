// ES modules that a host gives its plugins.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, hostContext, IsolatedVmSandbox, manifest, PluginError, SandboxViolationError } from '../../sandbox/plugin-helper.mjs';

const MODULES = {
  'lib/a.js': 'import { b } from "./b.js"; export const a = "a" + b; export default 1;',
  'lib/b.js': 'export const b = "b";',
  state: 'let count = 0; export default () => (count += 1);',
  endless: 'for (;;);',
  thrower: '\nthrow new TypeError("mine");',
};

async function plugin(modules = MODULES, more = {}) {
  const sandbox = new IsolatedVmSandbox(undefined, { modules });
  const isolate = await sandbox.createIsolate(manifest(more));
  return { sandbox, run: (code, options) => sandbox.executeInSandbox(isolate, code, hostContext(), options) };
}

describe('IsolatedVmSandbox: modules', () => {
  test('by import(), and by code that is a module', async () => {
    const { sandbox, run } = await plugin();
    for (const [code, expected] of [
      ['import("lib/a.js").then((module) => module.a)', 'ab'],
      ['import { a } from "./lib/a.js"; export default a + pluginId;', 'aborg.example.plugin'],
      ['import "lib/a.js";', undefined],
      ['export default await import("lib/b.js").then((module) => module.b)', 'b'],
      ['export default async () => typeof context.config', 'object'],
      ['1 + 1', 2],
      ['await 1; export default 3', 3],
    ]) {
      assert.equal(await run(code), expected, code);
    }
    sandbox.disposeAll();
  });

  test('keep state as the plugin does', async () => {
    const { sandbox, run } = await plugin();
    for (let i = 1; i <= 150; i += 1) {
      assert.equal(await run('import next from "state"; export default next()'), i);
    }
    assert.equal(await run('import("state").then((module) => module.default())'), 151);
    assert.equal(await run('import next from "state"; export default next()', { fresh: true }), 1);
    sandbox.disposeAll();
  });

  test('fail as plugins do', async () => {
    const { sandbox, run } = await plugin(MODULES, { limits: { cpuMs: 200 } });
    const cases = [
      ['import "nothing"', "Plugin execution failed: Cannot find module 'nothing' imported by sandbox.js"],
      ['import("nothing")', "Plugin execution failed: Cannot find module 'nothing' imported by sandbox.js"],
      ['import "thrower"', 'Plugin execution failed: mine'],
      ['import x from "lib/a.js"; let y; let y;', /^Plugin execution failed: Identifier 'y' has already been declared/],
      ['let 1', /^Plugin execution failed: /],
    ];
    for (const [code, message] of cases) {
      const error = await errorOf(run(code));
      assert.ok(error instanceof PluginError, code);
      assert[typeof message === 'string' ? 'equal' : 'match'](error.message, message);
    }
    assert.match((await errorOf(run('import "thrower"'))).cause.stack, /thrower:2:7/);
    for (const code of ['import "endless"', 'import("endless")']) {
      const error = await errorOf(run(code));
      assert.ok(error instanceof SandboxViolationError && /exceeded 200ms timeout/.test(error.message), error.stack);
    }
    assert.equal(await run('import x from "lib/a.js"; export default x'), 1);
    sandbox.disposeAll();
  });

  test('many concurrently', async () => {
    const { sandbox, run } = await plugin();
    const numbers = Array.from({ length: 150 }, (_, index) => index);
    const results = await Promise.all(numbers.map((number) => run(`import { b } from "lib/b.js"; export default b + ${number};`)));
    assert.deepEqual(results, numbers.map((number) => `b${number}`));
    sandbox.disposeAll();
  });

  test('are not available without the option', async () => {
    const sandbox = new IsolatedVmSandbox();
    const isolate = await sandbox.createIsolate(manifest());
    assert.match((await errorOf(sandbox.executeInSandbox(isolate, 'import("lib/a.js")', hostContext()))).message, /Cannot find module 'lib\/a\.js': the sandbox has no `modules`$/);
    assert.match((await errorOf(sandbox.executeInSandbox(isolate, 'import "lib/a.js"', hostContext()))).message, /Cannot use import statement/);
    sandbox.disposeAll();
    assert.throws(() => new IsolatedVmSandbox(undefined, { modules: { a: 1 } }), { code: 'ERR_INVALID_ARG' });
  });
});
