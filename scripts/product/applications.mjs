// Public packages that need isolated-vm, installed unchanged, with an npm `overrides` entry that replaces isolated-vm with this package.

import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, packMain, packPlatform, readPackage } from '../release/pack.mjs';
import { capture } from '../process.mjs';

/**
 * The packages that each application needs. The first is the application itself.
 * @type {Record<string, Record<string, string>>}
 */
export const APPLICATIONS = {
  utcp: { '@utcp/code-mode': '1.2.12', '@utcp/sdk': '1.1.2', '@utcp/direct-call': '1.0.12' },
  n8n: { '@n8n/expression-runtime': '0.32.0' },
  tanstack: { '@tanstack/ai-isolate-node': '0.1.49', '@tanstack/ai-code-mode': '0.3.4', '@tanstack/ai': '0.39.0' },
  directus: { '@directus/api': '39.2.1', '@directus/extensions': '4.0.5', '@directus/utils': '13.5.5' },
};
/** Applications that are taken out of a package whose other dependencies they do not need: the folder in the package. */
const PARTS = { directus: 'dist/operations/exec' };

export const NEEDS = 'isolated-vm';
const ORIGINAL_VERSION = '7.0.1';

/** @param {string} program */
export const applicationOf = (program) => Object.keys(APPLICATIONS[program])[0];

/** Unpacks the package of an application of which only a part is used, into a folder with the application's name. */
async function unpack(folder, program) {
  const name = applicationOf(program);
  const place = join(folder, program);
  mkdirSync(place);
  const file = (await npm(folder, 'pack', '--silent', `${name}@${APPLICATIONS[program][name]}`)).trim();
  const { code, output } = await capture('tar', ['-xzf', join(folder, file), '-C', place, '--strip-components=1', 'package/package.json', `package/${PARTS[program]}`]);
  if (code !== 0) throw new Error(`${file} cannot be unpacked:\n${output}`);
  return readPackage(place);
}

/**
 * Makes a project that depends on the applications. Resolves with the name of the package that replaces isolated-vm, or with isolated-vm's own name
 * if `original` is set.
 * @param {string} folder
 * @param {string[]} programs names of applications
 * @param {{ original?: boolean, tools?: Record<string, string> }} options `tools`: further packages
 * @returns {Promise<string>}
 */
export async function installApplications(folder, programs, { original = false, tools = {} }) {
  const isPart = (program) => Object.hasOwn(PARTS, program);
  /** @type {Record<string, string>} */
  const dependencies = Object.assign({}, tools, ...programs.map((program) => APPLICATIONS[program]));
  for (const program of programs.filter(isPart)) delete dependencies[applicationOf(program)];
  let replacement = { name: NEEDS, spec: ORIGINAL_VERSION };
  if (!original) {
    const [main, platform] = [await packMain(folder), await packPlatform(folder)];
    dependencies[platform.name] = `file:${platform.file}`;
    replacement = { name: main.name, spec: `file:${main.file}` };
  }
  // Some leave it to their users to install isolated-vm.
  dependencies[NEEDS] = replacement.spec;
  const project = { private: true, type: 'module', dependencies, overrides: { [NEEDS]: replacement.spec } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
  // Some name exact versions of their peers that do not exist.
  await npm(folder, 'install', '--ignore-scripts', '--prefer-offline', '--legacy-peer-deps');

  const installed = join(folder, 'node_modules', NEEDS);
  for (const program of programs) {
    const application = applicationOf(program);
    const { dependencies: own, peerDependencies: peers } = isPart(program) ? await unpack(folder, program) : readPackage(join(folder, 'node_modules', application));
    if (!(NEEDS in { ...own, ...peers })) throw new Error(`${application} does not ask for ${NEEDS}`);
    if (existsSync(join(folder, 'node_modules', application, 'node_modules', NEEDS))) throw new Error(`${application} has a ${NEEDS} of its own`);
  }
  if (lstatSync(installed).isSymbolicLink()) throw new Error(`${installed} is a link, not a package`);
  const { name } = readPackage(installed);
  if (name !== replacement.name) throw new Error(`${NEEDS} is ${name}, not ${replacement.name}`);
  return name;
}
