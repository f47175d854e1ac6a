// What the loader says when the native part cannot be had.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    assert.throws(() => load('install', {}), refused(/^isolated-v8: the package isolated-v8-linux-x64-gnu is missing\./));
  });

  test('a file that is no library', () => {
    assert.throws(() => load('junk', { [file]: 'junk' }), refused(/^isolated-v8: isolated-v8\.linux-x64-gnu\.node cannot be loaded: /));
  });

  test('a platform without a build', () => {
    const onOther = (require, path) => {
      const arch = Object.getOwnPropertyDescriptor(process, 'arch');
      Object.defineProperty(process, 'arch', { configurable: true, enumerable: true, value: 'mips64' });
      try {
        return require(path);
      } finally {
        Object.defineProperty(process, 'arch', arch);
      }
    };
    assert.throws(
      () => load('platform', {}, onOther),
      refused('isolated-v8: there is no build for linux-mips64-gnu yet (there is one for: linux-x64-gnu).'),
    );
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
