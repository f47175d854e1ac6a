// What a release is made of: notes from the changelog, names of packages, and the manifest that names them.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../harness.mjs';
import { readPackage } from '../../scripts/pack.mjs';
import { notesOf, publishedManifest, tripleOf } from '../../scripts/release.mjs';

const changelog = `# Changelog

## [Unreleased]

Soon.

## [1.1.0] - 2027-01-02

### Added

- Something.

## [1.0.0]

The first.
`;

test('notes are what the changelog says of a version', () => {
  assert.equal(notesOf(changelog, '1.1.0'), '### Added\n\n- Something.\n');
  assert.equal(notesOf(changelog, '1.0.0'), 'The first.\n');
  assert.throws(() => notesOf(changelog, '1.1'), { message: 'CHANGELOG.md has nothing of 1.1' });
});

test('targets have packages', () => {
  const targets = [
    'aarch64-apple-darwin', 'aarch64-unknown-linux-gnu', 'aarch64-unknown-linux-musl', 'x86_64-apple-darwin', 'x86_64-pc-windows-msvc',
    'x86_64-unknown-linux-gnu', 'x86_64-unknown-linux-musl',
  ];
  assert.deepEqual(targets.map(tripleOf).toSorted(), readdirSync(join(root, 'npm')).toSorted());
  assert.throws(() => tripleOf('riscv64gc-unknown-linux-gnu'), { message: 'no package has a name for riscv64gc-unknown-linux-gnu' });
});

test('the main package names those of the platforms that are released', () => {
  const manifest = readPackage(root);
  const { optionalDependencies, ...rest } = publishedManifest(manifest, manifest.napi.targets.map(tripleOf));
  assert.deepEqual(optionalDependencies, { 'isolated-v8-linux-x64-gnu': manifest.version });
  assert.deepEqual(rest, manifest);
});
