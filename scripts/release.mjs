// `node scripts/release.mjs notes --tag v1.2.3` writes what CHANGELOG.md says of a version. `… publish --tag v1.2.3 --binaries <folder>`
// publishes the packages of the platforms in `napi.targets`, whose files lie in `<folder>/binary-<triple>`, and then the main one, which
// names them as optional dependencies. With `--dry-run` npm only says what it would publish.

import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { packMain, readPackage } from './pack.mjs';
import { capture, root, show } from './process.mjs';

const ABI = { gnu: '-gnu', musl: '-musl', msvc: '-msvc', darwin: '' };
const ARCHITECTURES = { x86_64: 'x64', aarch64: 'arm64' };

/** The name that packages have for a target of Rust's. */
export function tripleOf(target) {
  const [cpu, , system, abi = system] = target.split('-');
  const platform = system === 'windows' ? 'win32' : system;
  if (ARCHITECTURES[cpu] === undefined || ABI[abi] === undefined) throw new Error(`no package has a name for ${target}`);
  return `${platform}-${ARCHITECTURES[cpu]}${ABI[abi]}`;
}

/** What a changelog says of a version. */
export function notesOf(changelog, version) {
  const sections = changelog.split(/^(?=## \[)/m);
  const section = sections.find((text) => text.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has nothing of ${version}`);
  return `${section.slice(section.indexOf('\n')).trim()}\n`;
}

/** The manifest of the main package, as it is published. */
export const publishedManifest = (manifest, triples) => ({
  ...manifest,
  optionalDependencies: Object.fromEntries(triples.map((triple) => [`${manifest.name}-${triple}`, manifest.version])),
});

function versionOf(tag) {
  const { version } = readPackage(root);
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, and the version in package.json ${version}`);
  return version;
}

async function publish(folder, dryRun) {
  const code = await show('npm', ['publish', '--access=public', ...(dryRun ? ['--dry-run'] : [])], { cwd: folder });
  if (code !== 0) throw new Error(`npm publish failed in ${folder} (exit code ${code})`);
}

/** A folder with the package of a platform, its binaries in it. */
function stagePlatform(stage, triple, version, binaries) {
  const folder = join(stage, triple);
  cpSync(join(root, 'npm', triple), folder, { recursive: true });
  const { version: own, files } = readPackage(folder);
  if (own !== version) throw new Error(`npm/${triple} has version ${own}`);
  for (const file of files) {
    const from = join(binaries, `binary-${triple}`, file);
    if (!existsSync(from)) throw new Error(`${from} is missing`);
    cpSync(from, join(folder, file));
    chmodSync(join(folder, file), 0o755);
  }
  return folder;
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

async function main() {
  const { values, positionals: [command] } = parseArgs({
    allowPositionals: true,
    options: { tag: { type: 'string', default: '' }, binaries: { type: 'string', default: '.' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const version = versionOf(values.tag);
  const notes = () => notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (command === 'notes') {
    process.stdout.write(notes());
    return;
  }
  if (command !== 'publish') throw new Error('notes or publish?');
  if (!values['dry-run']) notes(); // nothing is published that has none
  const triples = readPackage(root).napi.targets.map(tripleOf);
  const stage = mkdtempSync(join(tmpdir(), 'isolated-v8-release-'));
  try {
    // All are made ready before the first goes out; the main one goes last, for it asks for the others.
    const folders = triples.map((triple) => stagePlatform(stage, triple, version, resolve(values.binaries)));
    folders.push(await stageMain(stage, triples));
    for (const folder of folders) await publish(folder, values['dry-run']);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
