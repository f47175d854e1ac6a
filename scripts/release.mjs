// What a release is made by; CONTRIBUTING.md has the order of things.
//
// `node scripts/release.mjs version 1.2.3` writes that version wherever it stands, and makes what CHANGELOG.md has as unreleased its
// section. `… notes --tag v1.2.3` writes what that section says. `… publish --tag v1.2.3 --binaries <folder>` publishes the packages of the
// platforms in `napi.targets`, whose binaries lie in the folder, and then the main one, which names them as optional dependencies; those that
// the registry has already are left out, so that what has failed half-way can be repeated. With `--dry-run` npm only says what it would publish;
// `--no-provenance` is for publishing by hand, where nobody can vouch for what was built.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { packMain, readPackage, stagePlatform } from './pack.mjs';
import { capture, root, show } from './process.mjs';
import { tripleOf } from './targets.mjs';

const UNRELEASED = '## [Unreleased]';
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** What a changelog says of a version. */
export function notesOf(changelog, version) {
  const sections = changelog.split(/^(?=## \[)/m);
  const section = sections.find((text) => text.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has nothing of ${version}`);
  return `${section.slice(section.indexOf('\n')).trim()}\n`;
}

/** A changelog whose unreleased changes are those of a version. */
export function released(changelog, version, date) {
  if (!changelog.includes(`\n${UNRELEASED}\n`)) throw new Error(`CHANGELOG.md has no ${UNRELEASED}`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** The manifest of the main package, as it is published. */
export const publishedManifest = (manifest, triples) => ({
  ...manifest,
  optionalDependencies: Object.fromEntries(triples.map((triple) => [`${manifest.name}-${triple}`, manifest.version])),
});

/** What users and examples ask for: this version, and what is compatible with it. */
const ASKING = ['README.md', 'docs/migrating-from-isolated-vm.md', 'examples/drop-in/package.json', 'examples/job-queue/package.json'];

/** The files that have the version in them, and how it stands there. */
function versioned(folder) {
  const json = /("version": ")([^"]+)(?=")/;
  const toml = /(^version = ")([^"]+)(?=")/m;
  const platforms = readdirSync(join(folder, 'npm')).map((triple) => [`npm/${triple}/package.json`, json]);
  // The lockfile of npm has it twice: of the project, and of the project as a package.
  const lockfile = [/(^  "version": ")([^"]+)(?=")/m, /(^      "version": ")([^"]+)(?=")/m];
  const asked = /("isolated-v8": "\^|\bisolated-v8@\^)([^"]+)(?=")/;
  const crates = ['isolated-v8', 'isolated-v8-launcher'].map((name) => ['Cargo.lock', new RegExp(`(^name = "${name}"\nversion = ")([^"]+)(?=")`, 'm')]);
  return [
    ['package.json', json], ...platforms, ...lockfile.map((pattern) => ['package-lock.json', pattern]),
    ['Cargo.toml', /(^\[package\]\nname = "isolated-v8"\nversion = ")([^"]+)(?=")/m], ['launcher/Cargo.toml', toml], ...crates,
    ...crates.map(([, pattern]) => ['fuzz/Cargo.lock', pattern]), ...ASKING.map((file) => [file, asked]),
  ];
}

/** Throws where a file has another version. */
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

/** Whether the registry has this very version already. */
export async function isPublished({ name, version }, args) {
  // As JSON npm answers even where its settings ask it to be silent, as `npm test --silent` sets them for what it starts.
  const asked = ['view', `${name}@${version}`, 'version', '--json', '--loglevel=silent', ...args.filter((arg) => arg.startsWith('--registry='))];
  const { code, output } = await capture('npm', asked);
  // Of a package without that version npm says nothing.
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
  // Whoever asks for no version gets no preview.
  const tag = manifest.version.includes('-') ? ['--tag=next'] : [];
  // At a terminal npm may ask for a second factor.
  const code = await show('npm', ['publish', '--access=public', ...tag, ...args], { cwd: folder, stdio: 'inherit' });
  if (code !== 0) throw new Error(`npm publish failed in ${folder} (exit code ${code})`);
}

/** A folder with what is packed of the main package, and its platforms named. */
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
    // All are made ready before the first goes out; the main one goes last, for it asks for the others.
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
  if (!values['dry-run']) notes(); // nothing is published that has none
  const args = [...(values['dry-run'] ? ['--dry-run'] : []), ...(values['no-provenance'] ? ['--provenance=false'] : [])];
  await publishAll(readPackage(root).napi.targets.map(tripleOf), resolve(values.binaries), args);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
