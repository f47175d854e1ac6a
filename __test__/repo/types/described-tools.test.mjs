// What `describeTools` writes is TypeScript, and has the types of the schemas.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { z } from 'zod';
import ivm from '../../../index.mjs';
import { root, runFile } from '../../harness.mjs';

const tsc = join(root, 'node_modules/typescript/bin/tsc');
const list = z.object({ value: z.number(), get next() { return list.optional(); } });

const tools = [
  {
    name: 'shop:order',
    description: 'Orders */ an item',
    inputSchema: z.object({ item: z.string(), count: z.int().default(1), kind: z.enum(['a', 'b']).optional(), pair: z.tuple([z.string(), z.number()]).optional() }),
    outputSchema: z.object({ id: z.string() }),
  },
  { name: 'lists:sum', description: 'Adds up', inputSchema: list, outputSchema: { type: 'number' } },
  { name: 'delete:it', description: '' },
  { name: 'odd name', description: 'x\ny', inputSchema: { oneOf: [{ type: 'string' }, { type: 'object', properties: { 'a-b': { enum: [1, 'x'] } }, required: ['a-b'] }] } },
];
const USE = `
const { id } = await shop.order({ item: 'fig', pair: ['a', 1] });
id.toUpperCase();
(await lists.sum({ value: 1, next: { value: 2 } })).toFixed();
await global.delete.it();
await odd_name('text');
await odd_name({ 'a-b': 'x' });
// @ts-expect-error -- an item is required
await shop.order({});
// @ts-expect-error -- a or b
await shop.order({ item: 'fig', kind: 'c' });
// @ts-expect-error -- a number
await lists.sum({ value: 1, next: { value: 'x' } });
// @ts-expect-error -- no such form
await odd_name({ 'a-b': 2 });
export {};
`;

test('described tools compile', async () => {
  mkdirSync(join(root, '__test__/.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '__test__/.tmp/tools-'));
  try {
    writeFileSync(join(folder, 'program.mts'), ivm.describeTools(tools) + USE);
    const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2024', lib: ['es2024'], types: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.mts'] }));
    const { code, stdout, stderr } = await runFile(tsc, { args: ['--project', join(folder, 'tsconfig.json')], timeout: 120_000 });
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
