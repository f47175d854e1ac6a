// What the loader says when the native part cannot be had.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { host, root, runFile } from './harness.mjs';

const file = 'isolated-v8.linux-x64-gnu.node';

describe('native.js', () => {
  let folder;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'isolated-v8-native-'));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Loads a copy of native.js that stands in a folder with these files. */
  function load(name, files, around = (require, path) => require(path)) {
    const place = join(folder, name);
    mkdirSync(place);
    const copy = join(place, 'native.js');
    copyFileSync(join(root, 'native.js'), copy);
    for (const [path, content] of Object.entries(files)) writeFileSync(join(place, path), content);
    return around(createRequire(copy), copy);
  }

  const refused = (message) => ({ name: 'Error', code: 'ERR_ISOLATE_UNSUPPORTED', message });

  test('a checkout that was not built', () => {
    assert.throws(
      () => load('checkout', { 'Cargo.toml': '' }),
      refused(`isolated-v8: ${file} is not built yet: run 'npm run build'.`),
    );
  });

  test('an install without the package of the platform', () => {
    const manifest = { name: 'isolated-v8', optionalDependencies: { 'isolated-v8-linux-x64-gnu': '0.1.0' } };
    assert.throws(
      () => load('install', { 'package.json': JSON.stringify(manifest) }),
      refused(/^isolated-v8: the package isolated-v8-linux-x64-gnu is missing\. It is an optional dependency: install again/),
    );
  });

  test('a file that is no library', () => {
    assert.throws(() => load('junk', { [file]: 'junk' }), refused(/^isolated-v8: isolated-v8\.linux-x64-gnu\.node cannot be loaded: /));
  });

  /** Runs `work` in a process that seems to be another one. */
  function seeming(properties, work) {
    const real = Object.keys(properties).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)]);
    for (const [name, value] of Object.entries(properties)) Object.defineProperty(process, name, { configurable: true, enumerable: true, writable: true, value });
    try {
      return work();
    } finally {
      for (const [name, descriptor] of real) Object.defineProperty(process, name, descriptor);
    }
  }
  const onOther = (properties) => (require, path) => seeming(properties, () => require(path));

  test('a platform that nobody writes for', () => {
    assert.throws(
      () => load('platform', {}, onOther({ arch: 'mips64' })),
      refused('isolated-v8: there is no build for linux-mips64-gnu yet (there is one for: linux-x64-gnu).'),
    );
  });

  test('a platform that this version was not published for', () => {
    const manifest = { optionalDependencies: { 'isolated-v8-linux-x64-gnu': '0.1.0', 'isolated-v8-linux-arm64-gnu': '0.1.0', ws: '1' } };
    assert.throws(
      () => load('unpublished', { 'package.json': JSON.stringify(manifest) }, onOther({ platform: 'darwin', arch: 'arm64' })),
      refused('isolated-v8: there is no build for darwin-arm64 yet (there is one for: linux-x64-gnu, linux-arm64-gnu).'),
    );
  });

  test('musl', { skip: host === 'deno' && 'its process cannot seem to be another one' }, () => {
    const executable = join(folder, 'node-on-musl');
    writeFileSync(executable, '\x7fELF … /lib/ld-musl-x86_64.so.1 …');
    assert.throws(
      () => load('musl', {}, onOther({ execPath: executable })),
      refused(/^isolated-v8: there is no build for linux-x64-musl yet \(there is one for: linux-x64-gnu\)\. On Alpine, use an image with glibc/),
    );
  });

  test('a system whose C library is too old', () => {
    const name = 'isolated-v8-linux-x64-gnu';
    const old = "module.exports = (() => { throw new Error(\"/lib/libc.so.6: version `GLIBC_2.99' not found (required by x)\"); })();";
    const install = (require, path) => {
      const place = join(path, '..', 'node_modules', name);
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, 'index.js'), old);
      return require(path);
    };
    assert.throws(() => load('old', {}, install), refused(`isolated-v8: ${name} needs glibc 2.99 or newer, and this system has an older one.`));
  });

  test('there is a package for each platform that the loader knows', () => {
    const known = [...readFileSync(join(root, 'native.js'), 'utf8').matchAll(/require\('(isolated-v8-[\w-]+)'\)/g)].map(([, name]) => name);
    const packages = readdirSync(join(root, 'npm')).map((triple) => JSON.parse(readFileSync(join(root, 'npm', triple, 'package.json'), 'utf8')));
    assert.deepEqual(packages.map(({ name }) => name).toSorted(), known.toSorted());
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const { name, version: own, main, files, os, cpu, libc } of packages) {
      const triple = name.slice('isolated-v8-'.length);
      assert.equal(own, version, name);
      assert.equal(main, `isolated-v8.${triple}.node`);
      assert.deepEqual(files, os[0] === 'win32' ? [main] : [main, `isolated-v8-launcher.${triple}`]);
      const abi = { glibc: '-gnu', musl: '-musl' }[libc?.[0]] ?? (os[0] === 'win32' ? '-msvc' : '');
      assert.equal(`${os}-${cpu}${abi}`, triple);
    }
  });

  test('Deno without --allow-ffi', { skip: host !== 'deno' }, async () => {
    const { code, stderr } = await runFile(join(root, 'native.js'), {
      hostArgs: ['run', '--no-prompt', '--no-lock', '--allow-read', '--node-modules-dir=manual'],
    });
    assert.equal(code, 1);
    assert.match(stderr, /isolated-v8: Deno needs the permissions --allow-ffi and --allow-read/);
  });

  test('it loads', () => {
    assert.equal(typeof createRequire(import.meta.url)('../native.js'), 'object');
  });
});
