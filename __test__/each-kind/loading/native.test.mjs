// The loader's messages if the native part cannot be loaded.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { host, root, run, runFile } from '../../harness.mjs';

const file = 'isolated-v8.linux-x64-gnu.node';

describe('loader/native.js', () => {
  let folder;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'isolated-v8-native-'));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  function copyLoader(place) {
    const copy = join(place, 'loader/native.js');
    mkdirSync(join(place, 'loader'));
    copyFileSync(join(root, 'loader/native.js'), copy);
    return copy;
  }

  /** Loads a copy of the loader that is in a folder with these files. */
  function load(name, files, around = (require, path) => require(path)) {
    const place = join(folder, name);
    mkdirSync(place);
    const copy = copyLoader(place);
    for (const [path, content] of Object.entries(files)) writeFileSync(join(place, path), content);
    return around(createRequire(join(place, 'x.js')), copy);
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
      refused(/^isolated-v8: the package isolated-v8-linux-x64-gnu is missing\. It is an optional dependency, .*: delete both and install again, here\.$/),
    );
  });

  test('a damaged file', () => {
    const damaged = /^isolated-v8: isolated-v8\.linux-x64-gnu\.node is damaged, or was made for another platform \(.*file too short.*\): delete node_modules and install again, here\.$/s;
    assert.throws(() => load('junk', { [file]: 'junk' }), refused(damaged));
  });

  describe('a file that was cut off', () => {
    const whole = readFileSync(join(root, file));
    const message = /^isolated-v8: (?:isolated-v8\.linux-x64-gnu\.node|isolated-v8-linux-x64-gnu) is damaged, or was made for another platform \(file too short\): delete node_modules and install again, here\.$/;

    /** The system ends the process that loads such a file, so each is loaded in a process of its own. */
    async function messageOf(place) {
      const { code, signal, stdout, stderr } = await run(`
        import { createRequire } from 'node:module';
        try { createRequire(${JSON.stringify(join(place, 'x.js'))})('./loader/native.js'); console.log('loaded'); } catch ({ code, message }) { console.log(code + '|' + message); }
        process.exit(0);`, { bare: true });
      assert.deepEqual([code, signal ?? null], [0, null], stderr);
      return stdout.trim().split('|');
    }

    for (const length of [64, 4_096, whole.length >> 1, whole.length - 3_000_000]) {
      test(`after ${length === 64 ? 'its header' : `${length} bytes`}`, async () => {
        const place = join(folder, `cut-${length}`);
        mkdirSync(place);
        copyLoader(place);
        writeFileSync(join(place, file), whole.subarray(0, length));
        const [code, found] = await messageOf(place);
        assert.equal(code, 'ERR_ISOLATE_UNSUPPORTED');
        assert.match(found, message);
      });
    }

    test('in the package of the platform', async () => {
      const modules = join(folder, 'cut', 'node_modules');
      const [place, binary] = ['isolated-v8', 'isolated-v8-linux-x64-gnu'].map((name) => join(modules, name));
      for (const each of [place, binary]) mkdirSync(each, { recursive: true });
      copyLoader(place);
      writeFileSync(join(binary, 'package.json'), JSON.stringify({ name: 'isolated-v8-linux-x64-gnu', main: file }));
      writeFileSync(join(binary, file), whole.subarray(0, 20_000_000));
      const [code, found] = await messageOf(place);
      assert.equal(code, 'ERR_ISOLATE_UNSUPPORTED');
      assert.match(found, message);
    });

    test('only after everything that is loaded: it works', async () => {
      const place = join(folder, 'snapshot-cut');
      mkdirSync(place);
      copyLoader(place);
      writeFileSync(join(place, file), whole.subarray(0, whole.length - 1_000));
      assert.deepEqual(await messageOf(place), ['loaded']);
    });
  });

  /** Runs `work` in a process with fake properties. */
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

  test('an unknown platform', () => {
    assert.throws(
      () => load('platform', {}, onOther({ arch: 'mips64' })),
      refused('isolated-v8: there is no build for linux-mips64-gnu yet (there is one for: linux-x64-gnu). Run it on one of those, in a container for example, or build it from its repository.'),
    );
  });

  test('a platform that this version was not published for', () => {
    const manifest = { optionalDependencies: { 'isolated-v8-linux-x64-gnu': '0.1.0', 'isolated-v8-linux-arm64-gnu': '0.1.0', ws: '1' } };
    assert.throws(
      () => load('unpublished', { 'package.json': JSON.stringify(manifest) }, onOther({ platform: 'darwin', arch: 'arm64' })),
      refused('isolated-v8: there is no build for darwin-arm64 yet (there is one for: linux-x64-gnu, linux-arm64-gnu). Run it on one of those, in a container for example, or build it from its repository.'),
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

  /** Installs a package of the platform whose loading fails with a system's message. */
  const failing = (message, around = (work) => work()) => (require, path) => {
    const place = join(path, '../../node_modules', 'isolated-v8-linux-x64-gnu');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'index.js'), `throw Object.assign(new Error(${JSON.stringify(message)}), { code: 'ERR_DLOPEN_FAILED' });`);
    return around(() => require(path));
  };

  describe('a system whose C library is too old', () => {
    const old = (version) => `/lib/libc.so.6: version \`GLIBC_${version}' not found (required by x)`;
    const tooOld = (needed, own) => refused(
      `isolated-v8: isolated-v8-linux-x64-gnu needs glibc ${needed} or newer, and this system has ${own}. Use a newer system or image, such as node:24-slim.`,
    );
    const onGlibc = (version) => (work) => seeming({ report: { getReport: () => ({ header: { glibcVersionRuntime: version } }) } }, work);

    test('the error names the minimum version, not the first missing symbol', { skip: host === 'deno' && 'its report is made up' }, () => {
      assert.throws(() => load('old', {}, failing(old('2.18'), onGlibc('2.17'))), tooOld('2.28', '2.17'));
    });

    test('a binary built elsewhere can require more', { skip: host === 'deno' && 'its report is made up' }, () => {
      assert.throws(() => load('newer', {}, failing(old('2.99'), onGlibc('2.31'))), tooOld('2.99', '2.31'));
    });

    test('a host that does not report its version', () => {
      assert.throws(() => load('unversioned', {}, failing(old('2.18'), host === 'deno' ? undefined : onGlibc(undefined))), tooOld('2.28', 'an older one'));
    });
  });

  test('a file system mounted noexec', () => {
    const said = 'x.node: failed to map segment from shared object: Operation not permitted';
    assert.throws(
      () => load('noexec', {}, failing(said)),
      refused(`isolated-v8: isolated-v8-linux-x64-gnu lies where nothing may be executed (${said}): is its file system mounted with noexec?`),
    );
  });

  test('unknown errors are passed on', () => {
    assert.throws(() => load('other', {}, failing('the disk is on fire')), refused('isolated-v8: isolated-v8-linux-x64-gnu cannot be loaded: the disk is on fire'));
  });

  test('disabled addons', { skip: !host.startsWith('node') && 'a flag of Node' }, async () => {
    const { code, stderr } = await runFile(join(root, 'loader/native.js'), { hostArgs: ['--no-addons'] });
    assert.equal(code, 1);
    assert.match(stderr, /isolated-v8: native addons are disabled here \(--no-addons, or --permission without --allow-addons\)\./);
  });

  test('there is a package for each platform that the loader knows', () => {
    const known = [...readFileSync(join(root, 'loader/native.js'), 'utf8').matchAll(/require\('(isolated-v8-[\w-]+)'\)/g)].map(([, name]) => name);
    const packages = readdirSync(join(root, 'npm')).map((triple) => JSON.parse(readFileSync(join(root, 'npm', triple, 'package.json'), 'utf8')));
    assert.deepEqual(packages.map(({ name }) => name).toSorted(), known.toSorted());
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const { name, version: own, main, files, os, cpu, libc } of packages) {
      const triple = name.slice('isolated-v8-'.length);
      assert.equal(own, version, name);
      assert.equal(main, `isolated-v8.${triple}.node`);
      assert.deepEqual(files, [main, ...(os[0] === 'win32' ? [] : [`isolated-v8-launcher.${triple}`]), 'THIRD-PARTY-NOTICES']);
      const abi = { glibc: '-gnu', musl: '-musl' }[libc?.[0]] ?? (os[0] === 'win32' ? '-msvc' : '');
      assert.equal(`${os}-${cpu}${abi}`, triple);
    }
  });

  test('Deno without --allow-ffi', { skip: host !== 'deno' }, async () => {
    const { code, stderr } = await runFile(join(root, 'loader/native.js'), {
      hostArgs: ['run', '--no-prompt', '--no-lock', '--allow-read', '--node-modules-dir=manual'],
    });
    assert.equal(code, 1);
    assert.match(stderr, /isolated-v8: Deno needs the permissions --allow-ffi and --allow-read/);
  });

  describe('the package without the addon', () => {
    const require = createRequire(import.meta.url);
    let unavailable;

    before(() => {
      const place = join(folder, 'package');
      for (const name of ['host', 'loader']) mkdirSync(join(place, name), { recursive: true });
      const surface = readdirSync(join(root, 'host')).map((name) => join('host', name));
      for (const name of ['index.js', 'index.mjs', 'loader/index.cjs', 'loader/native.js', 'package.json', ...surface]) copyFileSync(join(root, name), join(place, name));
      unavailable = require(join(place, 'index.js'));
    });

    test('loads, and says that sandboxes are not available', async () => {
      assert.equal(unavailable.AgentSandbox.isAvailable(), false);
      assert.equal(unavailable.SubprocessSandbox.isAvailable(), false);
      const module = await import(new URL('./package/index.mjs', `file://${folder}/`).href);
      assert.equal(module.default, unavailable);
      assert.equal(module.createSandbox, unavailable.createSandbox);
    });

    test('has the same members', () => {
      const ivm = require('../../../index.js');
      assert.deepEqual(Object.keys(unavailable), Object.keys(ivm));
      const namesOf = (value) => Object.getOwnPropertyNames(value).filter((name) => name !== 'constructor').toSorted();
      assert.deepEqual(namesOf(Object.getPrototypeOf(unavailable)), namesOf(Object.getPrototypeOf(ivm)));
      assert.deepEqual(namesOf(unavailable.lib), namesOf(Object.getPrototypeOf(ivm.lib)));
      assert.equal(Object.isFrozen(unavailable) && Object.isFrozen(Object.getPrototypeOf(unavailable)), true);
    });

    const ALIASES = { IsolatedVMSandbox: 'AgentSandbox', IsolatedVmSandbox: 'PluginSandbox' };

    test('has classes with two names', () => {
      for (const [name, other] of Object.entries(ALIASES)) assert.equal(unavailable[name], unavailable[other]);
    });

    test('throws the reason on use', () => {
      const reason = { name: 'Error', code: 'ERR_ISOLATE_UNSUPPORTED', message: /^isolated-v8: there is no build for / };
      for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(unavailable))) {
        const member = unavailable[name];
        assert.equal(member.name, ALIASES[name] ?? name);
        assert.throws(() => (/^[A-Z]/.test(name) ? new member() : member()), reason, name);
      }
      for (const use of [() => unavailable.Isolate.createSnapshot([]), () => unavailable.ExternalCopy.totalExternalSize, () => unavailable.lib.hrtime()]) assert.throws(use, reason);
    });
  });

  test('a checkout without the addon says that it is not built', () => {
    assert.throws(() => load('unbuilt', { 'Cargo.toml': '', 'index.js': readFileSync(join(root, 'index.js'), 'utf8') }, (require) => require('./index.js')),
      refused(`isolated-v8: ${file} is not built yet: run 'npm run build'.`));
  });

  test('it loads', () => {
    assert.equal(typeof createRequire(import.meta.url)('../../../loader/native.js'), 'object');
  });
});
