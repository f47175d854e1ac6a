// What hosts give to guests as JSON, because it cannot be cloned. It may have what a guest sent, whose JSON can be far larger than itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { AgentSandbox, createSandbox, PluginSandbox } from '../../../index.mjs';

const TOOLS = [{ name: 'own:tool', description: '' }];
const MESSAGE = /Value is too large as JSON: it has the same objects in too many places, or too many elements of typed arrays or holes of arrays/;

/** Values as code. Their JSON takes millions of parts. */
const LARGE = {
  'the same objects in many places': 'let a = { x: 1 }; for (let i = 0; i < 20; i += 1) a = { l: a, r: a }; give(a)',
  'an array in many places': 'const part = new Array(10_000).fill(7); give(new Array(200).fill(part))',
  'a text in many places': "const part = ['x'.repeat(1e6)]; give(new Array(100).fill(part))",
  'an object of texts in many places': "const part = Object('x'.repeat(1e6)); give(new Array(100).fill(part))",
  'a key in many places': "const part = { ['x'.repeat(1e6)]: 1 }; give(new Array(100).fill(part))",
  'a typed array': 'give({ bytes: new Uint8Array(1_000_001) })',
  'an array with holes': 'const list = [1]; list.length = 100_000_000; give({ list })',
  'arrays with holes': 'give(Array.from({ length: 11 }, () => new Array(100_000)))',
  'a date in many places': 'give({ list: new Array(130_000).fill(new Date(0)) })',
  'typed arrays': 'give(Array.from({ length: 11 }, () => new Uint8Array(100_000)))',
};
const SMALL = 'const part = { bytes: new Uint8Array([1, 2]), list: [1, null] }; give(new Array(1_000).fill(part))';

/** What a guest sends to its host. */
async function sent(code) {
  let value;
  const sandbox = createSandbox({ give: (given) => { value = given; } });
  const { error } = await sandbox.execute(code);
  assert.equal(error, undefined);
  await sandbox.close();
  return value;
}

describe('JSON that is much larger than the value is refused', () => {
  for (const [name, code] of Object.entries(LARGE)) {
    test(`in results of tools: ${name}`, async () => {
      const value = await sent(code);
      for (const [options, result] of [[{}, { value, method() {} }], [{ results: 'json' }, { value }]]) {
        const sandbox = new AgentSandbox(options);
        const got = await sandbox.execute('try { await own.tool({}); } catch ({ name, message, code }) { return [name, message, code]; }', TOOLS, () => result);
        assert.match(got.result?.[1] ?? '', MESSAGE);
        await sandbox.close();
      }
    });

    test(`in the configuration of a plugin: ${name}`, async () => {
      const config = { value: await sent(code), method() {} };
      const sandbox = new PluginSandbox();
      const plugin = await sandbox.createIsolate({ id: 'org.example.json', permissions: {} });
      await assert.rejects(sandbox.executeInSandbox(plugin, 'context.config', { config }), MESSAGE);
      assert.equal(await sandbox.executeInSandbox(plugin, '1 + 1', {}), 2);
      await sandbox.close();
    });
  }

  test('but not other JSON', async () => {
    const value = await sent(SMALL);
    const sandbox = new AgentSandbox();
    const { result } = await sandbox.execute('const { value } = await own.tool({}); return [value.length, value[999]]', TOOLS, () => ({ value, method() {} }));
    assert.deepEqual(result, [1_000, { bytes: { 0: 1, 1: 2 }, list: [1, null] }]);
    const own = Array.from({ length: 300_000 }, (_, index) => ({ index }));
    const { result: length } = await sandbox.execute('return (await own.tool({})).own.length', TOOLS, () => ({ own, method() {} }));
    assert.equal(length, 300_000);
    await sandbox.close();
  });
});
