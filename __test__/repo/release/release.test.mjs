// The parts of a release: one version everywhere, notes from the changelog, names of packages, and the manifest that names them.
// `npm run installation` checks that packages are published, and can be installed from the registry.

import { cpSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { pages } from '../../docs/pages.mjs';
import { root } from '../../harness.mjs';
import { hasSymbols } from '../../../scripts/release/elf.mjs';
import { readPackage } from '../../../scripts/release/pack.mjs';
import { serve } from '../../../scripts/product/registry.mjs';
import { addonFile, launcherFile } from '../../../scripts/setup.mjs';
import { checkVersions, isPublished, notesOf, publishedManifest, released, setVersion } from '../../../scripts/release/release.mjs';
import { GLIBC, TARGETS, tripleOf } from '../../../scripts/release/targets.mjs';

const changelog = `# Changelog

## [Unreleased]

Soon.

## [1.1.0] - 2027-01-02

### Added

- Something.

## [1.0.0]

The first.
`;

test('notes are the changelog\'s section of a version', () => {
  assert.equal(notesOf(changelog, '1.1.0'), '### Added\n\n- Something.\n');
  assert.equal(notesOf(changelog, '1.0.0'), 'The first.\n');
  assert.throws(() => notesOf(changelog, '1.1'), { message: 'CHANGELOG.md has nothing of 1.1' });
});

test('targets have packages', () => {
  assert.deepEqual(TARGETS.map(tripleOf).toSorted(), readdirSync(join(root, 'npm')).toSorted());
  assert.throws(() => tripleOf('riscv64gc-unknown-linux-gnu'), { message: 'no package has a name for riscv64gc-unknown-linux-gnu' });
});

test('the main package names those of the platforms that are released', () => {
  const manifest = readPackage(root);
  const { optionalDependencies, ...rest } = publishedManifest(manifest, manifest.napi.targets.map(tripleOf));
  assert.deepEqual(optionalDependencies, { 'isolated-v8-linux-x64-gnu': manifest.version });
  assert.deepEqual(rest, manifest);
});

test('a version missing in a registry is not published, even if npm prints nothing', async () => {
  const registry = await serve(['isolated-v8'], 'http://localhost/');
  const before = process.env.npm_config_loglevel;
  process.env.npm_config_loglevel = 'silent';
  after(() => {
    if (before === undefined) delete process.env.npm_config_loglevel;
    else process.env.npm_config_loglevel = before;
    return registry.close();
  });
  assert.equal(await isPublished({ name: 'isolated-v8', version: '0.0.1' }, registry.args), false);
});

test('unreleased entries become a section', () => {
  const text = released(changelog, '2.0.0', '2027-03-04');
  assert.ok(text.includes('\n## [Unreleased]\n\n## [2.0.0] - 2027-03-04\n\nSoon.\n'), text);
  assert.equal(notesOf(text, '2.0.0'), 'Soon.\n');
  assert.throws(() => released('# Changelog\n', '2.0.0', '2027-03-04'), { message: 'CHANGELOG.md has no ## [Unreleased]' });
});

test('a version is set in all files that have one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-version-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const files = [
    'package.json', 'package-lock.json', 'Cargo.toml', 'Cargo.lock', 'fuzz/Cargo.lock', 'launcher/Cargo.toml',
    'README.md', 'docs/migrating-from-isolated-vm.md', 'examples/drop-in/package.json', 'examples/job-queue/package.json', 'CHANGELOG.md',
  ];
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  cpSync(join(root, 'npm'), join(folder, 'npm'), { recursive: true });
  // After a release's version was set, the changelog has no such section.
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  const { version } = readPackage(root);
  checkVersions(root, version);

  setVersion(folder, '12.3.4-beta.5', '2027-03-04');
  checkVersions(folder, '12.3.4-beta.5');
  const mentions = (text, wanted) => text.split(`${wanted}"`).length - 1;
  for (const file of [...files.slice(0, -1), ...TARGETS.map((target) => `npm/${tripleOf(target)}/package.json`)]) {
    const [before, now] = [root, folder].map((place) => readFileSync(join(place, file), 'utf8'));
    const changed = before.split('\n').filter((line, index) => line !== now.split('\n')[index]);
    assert.equal(changed.length, mentions(now, '12.3.4-beta.5'), file);
    assert.ok(changed.length > 0 && changed.every((line) => line.includes(`${version}"`)), file);
  }
  // Every file that asks for the package is among them.
  const manifests = readdirSync(join(root, 'examples'), { recursive: true }).map((name) => join('examples', String(name))).filter((name) => name.endsWith('package.json'));
  const asking = [...pages, ...manifests].filter((file) => /isolated-v8(?:@|": ")\^/.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(asking.filter((file) => !files.includes(file)), []);
  assert.throws(() => setVersion(folder, '1.2', '2027-03-04'), { message: 'not a version: 1.2' });

  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '1.0.0' }).replace(':', ': '));
  assert.throws(() => checkVersions(folder, '12.3.4-beta.5'), { message: 'package.json has version 1.0.0, and not 12.3.4-beta.5' });
});

test('one minimum version of glibc', () => {
  const native = readFileSync(join(root, 'loader/native.js'), 'utf8');
  assert.equal(/const GLIBC = '([\d.]+)'/.exec(native)?.[1], GLIBC);
  for (const target of TARGETS.filter((name) => name.endsWith('-linux-gnu'))) {
    const { libc, description } = readPackage(join(root, 'npm', tripleOf(target)));
    assert.deepEqual(libc, ['glibc']);
    assert.ok(description.endsWith(`, with glibc ${GLIBC} or newer`), description);
  }
});

test('binaries without symbols', { skip: process.platform !== 'linux' && 'other formats' }, () => {
  for (const file of [addonFile, launcherFile]) assert.equal(hasSymbols(join(root, file)), false, file);
});
