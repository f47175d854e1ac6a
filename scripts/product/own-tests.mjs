// `node scripts/product/own-tests.mjs <application> <checkout>`: runs the own tests of a public package that needs isolated-vm, with this package
// instead. The checkout is that of its repository, because npm has the packages without their tests. `--original` uses isolated-vm itself.

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { environmentOfUser, show } from '../process.mjs';
import { setup } from '../setup.mjs';
import { NEEDS, applicationOf, installApplications } from './applications.mjs';

/** Where the sources and tests are in each repository. */
const FOLDERS = {
  utcp: 'typescript-library',
  n8n: 'packages/@n8n/expression-runtime',
  tanstack: 'packages/ai-isolate-node',
  directus: 'api/src/operations/exec',
};
/** Files that a build has made, which the tests need and the published package has. */
const BUILT = { n8n: 'dist' };
const VITEST = '4.1.10';
/** Settings of the repository, which depend on its other packages. */
const isSetting = (path) => /^(package|tsconfig.*)\.json$|\.config\.\w+$|^node_modules$/.test(basename(path));

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-own-tests-'));
try {
  const { values, positionals: [program, checkout] } = parseArgs({ allowPositionals: true, options: { original: { type: 'boolean' } } });
  if (checkout === undefined || !Object.hasOwn(FOLDERS, program)) {
    throw new Error(`usage: node scripts/product/own-tests.mjs ${Object.keys(FOLDERS).join('|')} <checkout of its repository>`);
  }
  const source = join(checkout, FOLDERS[program]);
  if (!existsSync(source)) throw new Error(`${source} does not exist`);
  await setup('addon', 'hosts');
  const name = await installApplications(folder, [program], { ...values, tools: { vitest: VITEST } });
  const own = join(folder, 'own');
  cpSync(source, own, { recursive: true, filter: (path) => !isSetting(path) });
  const built = BUILT[program];
  if (built !== undefined) cpSync(join(folder, 'node_modules', applicationOf(program), built), join(own, built), { recursive: true });
  console.log(`${program}: the tests of ${source}, with ${name} for ${NEEDS}`);
  const [{ executable }] = selectHosts('node24');
  const flags = values.original ? ['--no-node-snapshot'] : [];
  process.exitCode = await show(executable, [...flags, 'node_modules/vitest/vitest.mjs', 'run', '--globals', '--silent', '--root=own'], { cwd: folder, env: environmentOfUser() });
} catch (error) {
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
