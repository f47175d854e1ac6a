// `form` of `AgentSandbox`: code as models write it, and what syntax errors say.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { AgentSandbox, createSandbox, PluginSandbox } from '../../../index.mjs';

const tools = [{ name: 'shop:price', description: '' }];
const execute = (code, options = {}) => new AgentSandbox({ form: 'any', ...options }).execute(code, tools, async (name, { item }) => item.length);

describe('any form', () => {
  const pairs = [
    ['shop.price({ item: "fig" })', 3],
    ['await shop.price({ item: "fig" });', 3],
    ['async () => shop.price({ item: "fig" }); // the end', 3],
    ['async function main() { return shop.price({ item: "fig" }) }', 3],
    ['shop.price({ item: "" }); return await shop.price({ item: "fig" })', 3],
    ['const item = "fig";\nreturn shop.price({ item })', 3],
    ['Here:\n\n```JS\nshop.price({ item: "fig" })\n```\nThat is all.', 3],
    ['~~~\nreturn shop.price({ item: "fig" })', 3],
    ['```ts\nasync (): Promise<number> => shop.price({ item: "fig" } as object)\n```', 3],
    ['typeof globalThis', 'object'],
    ['{ a: 1 }', { a: 1 }],
    // With letters of other languages.
    ['größe => typeof größe', 'undefined'],
    ['async имя => 5', 5],
    ['globalThis.variable = 4, "ж"', 'ж'],
    ['varж = 4', 4],
    ['var ж = 4; return ж', 4],
    ['function основа() { return 6 }', 6],
    ['Führe ```js shop.price({ item: "fig" })``` aus.', 3],
  ];
  for (const [code, result] of pairs) {
    test(JSON.stringify(code), async () => {
      const outcome = await execute(code);
      assert.equal(outcome.error, undefined);
      assert.deepEqual(outcome.result, result);
    });
  }

  test('with types and modules', async () => {
    const options = { typescript: true, modules: { 'a.ts': 'export const a: number = 40;' } };
    assert.equal((await execute('(await import("a.ts")).a + (2 as number)', options)).result, 42);
    assert.equal((await execute('import { a } from "a.ts";\nexport default async (): Promise<number> => a + 2', options)).result, 42);
    assert.match((await execute('enum A { B }', options)).error, /enum/);
  });

  test('errors are at the positions of the text', async () => {
    const { failure } = await execute('Text\n```js\n\n  shop.price({ item: "" }); nothing()\n```');
    assert.deepEqual([failure.name, failure.line, failure.column], ['ReferenceError', 4, 29]);
    assert.match((await execute('f(')).error, /^Unexpected end of input \[sandbox\.js:1:3\]$/);
  });

  test('it ends with its sandbox and its signal', async () => {
    const sandbox = new AgentSandbox({ form: 'any' });
    const running = sandbox.execute('for (;;);', [], async () => {});
    sandbox.dispose();
    assert.equal((await running).failure.code, 'ERR_ISOLATE_DISPOSED');
    assert.equal((await sandbox.execute('1', [], async () => {}, { signal: AbortSignal.abort(new Error('no')) })).error, 'Execution was aborted: no');
  });
});

test('without it, code is the body of a function', async () => {
  for (const form of ['body', undefined, null]) {
    assert.equal((await execute('1', { form })).result, undefined);
    assert.equal((await execute('return 1', { form })).result, 1);
  }
  for (const form of ['all', '', 1, {}]) {
    assert.throws(() => new AgentSandbox({ form }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`form` must be one of "body", "any"' });
  }
});

test('an error of code with types names the option', async () => {
  const hint = / \(code with types needs the option `typescript: true`\)$/;
  for (const form of ['body', 'any']) {
    assert.match((await execute('let a = 1;\nconst b: number = a;\nreturn b', { form })).error, hint);
    assert.doesNotMatch((await execute('const b = ;', { form })).error, hint);
  }
  const plugins = new PluginSandbox();
  const plugin = await plugins.createIsolate({ id: 'a', permissions: {} });
  for (const code of ['const a: number = 1;', 'let a = 1;\nconst b: number = a;']) {
    await assert.rejects(plugins.executeInSandbox(plugin, code, {}), ({ message, failure }) => hint.test(message) && hint.test(failure.message));
  }
  await assert.rejects(plugins.executeInSandbox(plugin, 'const c = ;', {}), ({ message }) => !hint.test(message));
  plugins.dispose(plugin);
  assert.equal((await execute('const a: number = 1; return a', { typescript: true })).result, 1);
  assert.doesNotMatch((await createSandbox({}, { typescript: true }).execute('const a: number = 1; return }')).error, hint);
});
