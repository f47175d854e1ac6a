// `npm run newcomer`: the first steps of a new user, in an empty folder: `npm init`, `npm install`, README's first program under the name
// that README gives it. All steps, with the installation from an empty cache, must finish within two minutes. The packages are those that would be
// published.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programsOf } from '../../__test__/docs/pages.mjs';
import { packMain, packPlatform } from '../release/pack.mjs';
import { capture, environmentOfUser, root } from '../process.mjs';
import { setup } from '../setup.mjs';

const LIMIT_MS = 120_000;

/** The program from README. */
function firstProgram() {
  const [program] = programsOf(readFileSync(join(root, 'README.md'), 'utf8'));
  if (program?.file === undefined) throw new Error('README.md does not say how to save its first program');
  return program;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-newcomer-'));
try {
  await setup('addon');
  const { file, code, printed } = firstProgram();
  const packages = [await packMain(folder), await packPlatform(folder)].map((packed) => join(folder, packed.file));
  const project = join(folder, 'project');
  mkdirSync(project);

  const start = performance.now();
  const left = () => Math.max(LIMIT_MS - (performance.now() - start), 1);
  const run = async (...command) => {
    const [executable, ...args] = command;
    const result = await capture(executable, args, { cwd: project, limit: left(), env: environmentOfUser() });
    if (result.late) throw new Error(`\`${command.join(' ')}\` was still running after ${LIMIT_MS / 1000} s`);
    if (result.code !== 0) throw new Error(`\`${command.join(' ')}\` failed (exit code ${result.code}):\n${result.output}`);
    return result.output;
  };
  await run('npm', 'init', '-y');
  await run('npm', 'install', `--cache=${join(folder, 'cache')}`, ...packages);
  writeFileSync(join(project, file), code);
  const output = await run('node', file);
  if (output.trimEnd() !== printed.join('\n')) throw new Error(`${file} printed:\n${output}`);
  console.log(`ok   ${file} ran ${((performance.now() - start) / 1000).toFixed(1)} s after \`npm init\`, of ${LIMIT_MS / 1000} s`);
} catch (error) {
  console.log(`FAIL ${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
