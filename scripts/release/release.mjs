// Makes a release; CONTRIBUTING.md has the order of the steps.
//
// `node scripts/release/release.mjs version 1.2.3` writes that version everywhere, and turns CHANGELOG.md's unreleased section into the version's.
// `… notes --tag v1.2.3` prints that section. `… publish --tag v1.2.3 --binaries <folder>` publishes the packages of the platforms in
// `napi.targets`, whose binaries are in the folder, and then the main one, which names them as optional dependencies. It skips packages
// that the registry already has, so that a failed run can be repeated. With `--dry-run`, npm only prints what it would publish.
// `--no-provenance` is for publishing by hand, where nothing attests what was built.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { packMain, readPackage, stagePlatform } from './pack.mjs';
import { capture, root, show } from '../process.mjs';
import { tripleOf } from './targets.mjs';

const UNRELEASED = '## [Unreleased]';
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** A changelog's section about a version. */
export function notesOf(changelog, version) {
  const sections = changelog.split(/^(?=## \[)/m);
  const section = sections.find((text) => text.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has nothing of ${version}`);
  return `${section.slice(section.indexOf('\n')).trim()}\n`;
}

/** A changelog whose unreleased changes have become those of a version. */
export function released(changelog, version, date) {
  if (!changelog.includes(`\n${UNRELEASED}\n`)) throw new Error(`CHANGELOG.md has no ${UNRELEASED}`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** The manifest of the main package as it is published. */
export const publishedManifest = (manifest, triples) => ({
  ...manifest,
  optionalDependencies: Object.fromEntries(triples.map((triple) => [`${manifest.name}-${triple}`, manifest.version])),
});

/** Files that tell users and examples to install this version or a compatible one. */
const ASKING = ['README.md', 'docs/migrating-from-isolated-vm.md', 'examples/drop-in/package.json', 'examples/job-queue/package.json'];

/** The files that contain the version, and the pattern that finds it there. */
function versioned(folder) {
  const json = /("version": ")([^"]+)(?=")/;
  const toml = /(^version = ")([^"]+)(?=")/m;
  const platforms = readdirSync(join(folder, 'npm')).map((triple) => [`npm/${triple}/package.json`, json]);
  // npm's lockfile has it twice: for the project, and for the project as a package.
  const lockfile = [/(^  "version": ")([^"]+)(?=")/m, /(^      "version": ")([^"]+)(?=")/m];
  const asked = /("isolated-v8": "\^|\bisolated-v8@\^)([^"]+)(?=")/;
  const crates = ['isolated-v8', 'isolated-v8-launcher'].map((name) => ['Cargo.lock', new RegExp(`(^name = "${name}"\nversion = ")([^"]+)(?=")`, 'm')]);
  return [
    ['package.json', json], ...platforms, ...lockfile.map((pattern) => ['package-lock.json', pattern]),
    ['Cargo.toml', /(^\[package\]\nname = "isolated-v8"\nversion = ")([^"]+)(?=")/m], ['launcher/Cargo.toml', toml], ...crates,
    ...crates.map(([, pattern]) => ['fuzz/Cargo.lock', pattern]), ...ASKING.map((file) => [file, asked]),
  ];
}

/** Throws if a file has another version. */
export function checkVersions(folder, version) {
  for (const [file, pattern] of versioned(folder)) {
    const [, , found] = pattern.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
    if (found !== version) throw new Error(`${file} has version ${found}, and not ${version}`);
  }
}

export function setVersion(folder, version, date) {
  if (!VERSION.test(version)) throw new Error(`not a version: ${version}`);
  const changelog = join(folder, 'CHANGELOG.md');
  const text = released(readFileSync(changelog, 'utf8'), version, date);
  for (const [file, pattern] of versioned(folder)) {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, `$1${version}`));
  }
  writeFileSync(changelog, text);
  checkVersions(folder, version);
}

function versionOf(tag) {
  const { version } = readPackage(root);
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, and the version in package.json ${version}`);
  checkVersions(root, version);
  return version;
}

/** Whether the registry already has this version. */
export async function isPublished({ name, version }, args) {
  // With JSON output, npm answers even if its settings make it silent, as `npm test --silent` does for its children.
  const asked = ['view', `${name}@${version}`, 'version', '--json', '--loglevel=silent', ...args.filter((arg) => arg.startsWith('--registry='))];
  const { code, output } = await capture('npm', asked);
  // For a package without that version, npm prints nothing.
  if (code === 0) return output.trim() !== '';
  if (/"code": *"E404"/.test(output)) return false;
  throw new Error(`npm view ${name}@${version} failed (exit code ${code}):\n${output}`);
}

async function publish(folder, args) {
  const manifest = readPackage(folder);
  if (await isPublished(manifest, args)) {
    console.log(`${manifest.name}@${manifest.version} is there already`);
    return;
  }
  // Previews are not the default version.
  const tag = manifest.version.includes('-') ? ['--tag=next'] : [];
  // At a terminal, npm may ask for a second factor.
  const code = await show('npm', ['publish', '--access=public', ...tag, ...args], { cwd: folder, stdio: 'inherit' });
  if (code !== 0) throw new Error(`npm publish failed in ${folder} (exit code ${code})`);
}

/** Makes a folder with the packed files of the main package, and adds its platforms to the manifest. */
async function stageMain(stage, triples) {
  const { file } = await packMain(stage);
  const { code, output } = await capture('tar', ['-xzf', join(stage, file), '-C', stage]);
  if (code !== 0) throw new Error(output);
  const folder = join(stage, 'package');
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(readPackage(folder), triples), null, 2)}\n`);
  return folder;
}

/** Publishes the packages of these platforms, and then the main one. */
export async function publishAll(triples, binaries, args) {
  const stage = mkdtempSync(join(tmpdir(), 'isolated-v8-release-'));
  try {
    // All are prepared before the first is published. The main one is last, because it depends on the others.
    const folders = triples.map((triple) => join(stage, triple));
    for (const [index, triple] of triples.entries()) stagePlatform(folders[index], triple, binaries);
    folders.push(await stageMain(stage, triples));
    for (const folder of folders) await publish(folder, args);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function main() {
  const { values, positionals: [command, argument] } = parseArgs({
    allowPositionals: true,
    options: {
      tag: { type: 'string', default: '' },
      binaries: { type: 'string', default: '.' },
      'dry-run': { type: 'boolean', default: false },
      'no-provenance': { type: 'boolean', default: false },
    },
  });
  if (command === 'version') {
    setVersion(root, argument ?? '', new Date().toISOString().slice(0, 10));
    return;
  }
  const version = versionOf(values.tag);
  const notes = () => notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (command === 'notes') {
    process.stdout.write(notes());
    return;
  }
  if (command !== 'publish') throw new Error('version, notes or publish?');
  if (!values['dry-run']) notes(); // nothing is published without notes
  const args = [...(values['dry-run'] ? ['--dry-run'] : []), ...(values['no-provenance'] ? ['--provenance=false'] : [])];
  await publishAll(readPackage(root).napi.targets.map(tripleOf), resolve(values.binaries), args);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
