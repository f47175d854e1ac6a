// Tools with the schemas of zod, valibot and ArkType themselves.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { standardValidated } from '../../../adapters/schemas.js';
import ivm from '../../../index.mjs';
import { calls, resultOf, tool } from '../../sandbox/tool-helper.mjs';

const { AgentSandbox, describeTools } = ivm;

const SCHEMAS = {
  zod: z.object({ city: z.string().min(1), days: z.number().int().default(1) }),
  'zod, asynchronous': z.object({ city: z.string().refine(async (city) => city !== ''), days: z.number().int().default(1) }),
  valibot: v.object({ city: v.pipe(v.string(), v.minLength(1)), days: v.optional(v.pipe(v.number(), v.integer()), 1) }),
  'valibot, asynchronous': v.objectAsync({ city: v.pipeAsync(v.string(), v.checkAsync(async (city) => city !== '')), days: v.optional(v.number(), 1) }),
  ArkType: type({ city: 'string > 0', days: 'number.integer = 1' }),
};

for (const [what, inputSchema] of Object.entries(SCHEMAS)) {
  describe(what, () => {
    test('validates and completes the params', async () => {
      const seen = [];
      const executor = async (_name, params) => { seen.push(params); return 'called'; };
      const [valid, missing, wrong, empty] = await resultOf(new AgentSandbox(), calls('{ city: "Oslo" }', '{}', '{ city: 5 }', '{ city: "" }'), [tool('t:f', { inputSchema })], executor);
      assert.deepEqual(valid, { value: 'called' });
      assert.deepEqual(seen, [{ city: 'Oslo', days: 1 }]);
      for (const { name, message } of [missing, wrong, empty]) {
        assert.equal(name, 'TypeError');
        assert.match(message, /^Invalid params for the tool "t:f": params\.city: ./);
      }
    });
  });
}

test('describeTools knows the types of those that can be converted', () => {
  for (const what of ['zod', 'ArkType']) {
    const text = describeTools([tool('t:f', { inputSchema: SCHEMAS[what] })]);
    assert.match(text, /f\(params: \{\n[^}]*\bcity: string;/, what);
    assert.match(text, /\bdays\?: number;/, what);
  }
  assert.match(describeTools([tool('t:f', { inputSchema: SCHEMAS.valibot })]), /f\(params\?: unknown\): Promise<unknown>;/);
});

test('values in the path of an issue are not converted to text', async () => {
  let value = ['x'];
  for (let level = 0; level < 40; level += 1) value = [value, value];
  const path = ['a', 0, { key: 'b' }, value, { key: value }, null, { key: 10n ** 100n }, 'c'];
  const schema = { '~standard': { validate: () => ({ issues: [{ path, message: 'no' }] }) } };
  await assert.rejects(standardValidated(schema, {}), { name: 'TypeError', message: 'a.0.b.....c: no' });
});
