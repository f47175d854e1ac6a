// Checks that the packed packages have all required files, and that THIRD-PARTY-NOTICES matches Cargo.lock. Then runs publint (do the names
// in package.json lead to packed files in the right format?) and Are The Types Wrong (does TypeScript find the right declarations, however
// it resolves modules?). Suggestions of publint are failures too.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { NOTICES, areNoticesCurrent } from '../release/notices.mjs';
import { packMain, packPlatform } from '../release/pack.mjs';
import { capture, root, show } from '../process.mjs';
import { addonFile, launcherFile, setup } from '../setup.mjs';
import { surfaceFiles } from '../setup/surface.mjs';

/** Resolves with whether a tarball has these files, and executables are executable. */
async function checkFiles(folder, { name, file }, files) {
  const { output } = await capture('tar', ['-tvzf', join(folder, file)]);
  const wrong = files.filter((wanted) => wanted !== undefined).filter((wanted) => {
    const line = output.split('\n').find((entry) => entry.endsWith(` package/${wanted}`));
    return line === undefined || (wanted === launcherFile && !line.startsWith('-rwxr-xr-x'));
  });
  console.log(`files: ${name}: ${wrong.length === 0 ? 'all there' : `missing or not executable: ${wrong.join(', ')}`}`);
  return wrong.length === 0;
}

/** Resolves with whether the notices match what is linked now. */
async function checkNotices() {
  const current = await areNoticesCurrent();
  console.log(`notices: ${current ? 'as Cargo.lock has it' : `not as Cargo.lock and vendor/NOTICES have it: node scripts/release/notices.mjs`}`);
  return current;
}

/** Resolves with whether publint has no messages. */
async function lint(folder, { name, file }) {
  const [{ publint }, { formatMessage }] = await Promise.all([import('publint'), import('publint/utils')]);
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(readFileSync(join(folder, file))).buffer } });
  for (const message of messages) console.log(`publint: ${name}: ${message.type}: ${formatMessage(message, pkg)}`);
  if (messages.length === 0) console.log(`publint: ${name}: nothing to say`);
  return messages.length === 0;
}

async function checkTypes(folder, { file }) {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  return (await show(process.execPath, [attw, join(folder, file), '--no-color', '--no-emoji'])) === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-packaging-'));
try {
  await setup('dependencies', 'addon');
  const [main, platform] = [await packMain(folder), await packPlatform(folder)];
  const results = [
    await checkNotices(), await lint(folder, main), await lint(folder, platform), await checkTypes(folder, main),
    await checkFiles(folder, main, ['LICENSE', 'README.md', 'CHANGELOG.md', 'loader/native.js', ...surfaceFiles.map((file) => relative(root, file))]),
    await checkFiles(folder, platform, [addonFile, launcherFile, 'LICENSE', NOTICES]),
  ];
  if (results.includes(false)) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
