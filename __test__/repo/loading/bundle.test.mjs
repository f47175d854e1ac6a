// Bundlers can follow an installed package: from either entry to the native part, past the platforms that are not installed.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { root, runFile } from '../../harness.mjs';
import { ownTriple } from '../../../scripts/release/pack.mjs';
import { addonFile } from '../../../scripts/setup.mjs';

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-bundle-'));
after(() => rmSync(folder, { recursive: true, force: true }));

before(() => {
  const main = join(folder, 'node_modules/isolated-v8');
  const platform = `${main}-${ownTriple}`;
  for (const place of [main, platform]) mkdirSync(place, { recursive: true });
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const file of ['package.json', ...files]) cpSync(join(root, file), join(main, file), { recursive: true });
  cpSync(join(root, 'npm', ownTriple, 'package.json'), join(platform, 'package.json'));
  symlinkSync(join(root, addonFile), join(platform, addonFile));
});

const PROGRAM = 'createSandbox({ f: (n) => 2 * n }).execute("return f(21)").then(({ result }) => console.log(result));';

for (const [name, load] of [['main.mjs', "import { createSandbox } from 'isolated-v8';"], ['main.cjs', "const { createSandbox } = require('isolated-v8');"]]) {
  test(`esbuild, from ${name}`, async () => {
    writeFileSync(join(folder, name), `${load}\n${PROGRAM}\n`);
    // What follows must not find the installed package.
    const place = mkdtempSync(join(tmpdir(), 'isolated-v8-bundled-'));
    try {
      const { errors } = await build({
        entryPoints: [join(folder, name)], outfile: join(place, 'program.cjs'), bundle: true, platform: 'node', format: 'cjs', loader: { '.node': 'copy' }, logLevel: 'silent',
      });
      assert.deepEqual(errors, []);
      assert.equal(readdirSync(place).filter((file) => file.endsWith('.node')).length, 1);
      const { code, stdout, stderr } = await runFile(join(place, 'program.cjs'), { cwd: place });
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '42\n', stderr: '' });
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
}
