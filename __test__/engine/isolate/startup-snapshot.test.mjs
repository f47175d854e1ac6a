// The startup snapshot at the end of the addon's file. If it is missing or damaged, V8 makes it, and guests notice no difference.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../harness.mjs';
import { addonFile } from '../../../scripts/setup.mjs';
import { root } from '../../../scripts/process.mjs';

const TRAILER = 16;
const addon = join(root, addonFile);
const { size } = statSync(addon);

/** Reads or changes one byte of a file, whose position is relative to its end. */
function byteAt(file, position, change) {
  const descriptor = openSync(file, 'r+');
  try {
    const byte = Buffer.alloc(1);
    const at = statSync(file).size - position;
    readSync(descriptor, byte, 0, 1, at);
    byte[0] = change(byte[0]);
    writeSync(descriptor, byte, 0, 1, at);
  } finally {
    closeSync(descriptor);
  }
}

const end = readFileSync(addon).subarray(-TRAILER);
const length = Number(end.readBigUInt64LE());

/** What a guest says of its realm, with the addon in this file. */
async function realmWith(file) {
  const { stdout, stderr, code } = await run(`
    const addon = { exports: {} };
    process.dlopen(addon, ${JSON.stringify(file)});
    const { createHost } = (await import('node:module')).createRequire(import.meta.url)(${JSON.stringify(createRequire(import.meta.url).resolve('../../../host/index.js'))});
    const own = createHost(addon.exports);
    const isolate = new own.Isolate({ memoryLimit: 32 });
    const context = isolate.createContextSync();
    context.global.setSync('ivm', own);
    context.global.setSync('double', (value) => value * 2);
    const snapshot = own.Isolate.createSnapshot([{ code: 'globalThis.kept = 5' }]);
    const other = new own.Isolate({ snapshot }).createContextSync();
    console.log(JSON.stringify([
      context.evalSync('[Object.getOwnPropertyNames(globalThis).sort().join(), Object.getOwnPropertyNames(ivm).sort().join(), double(21), new ivm.Isolate().createContextSync().evalSync("1 + 1")].join(" ")'),
      other.evalSync('kept'),
      (await own.createSandbox({ f: async () => 3 }).execute('await f()')).result,
    ]));
    process.exit();`, { timeout: 30_000 });
  assert.equal(code, 0, stderr);
  const [realm, kept, result] = JSON.parse(stdout);
  assert.match(realm, / 42 2$/);
  assert.deepEqual([kept, result], [5, 3]);
  return realm;
}

test('the addon contains a startup snapshot', () => {
  assert.equal(end.subarray(8).toString(), 'iv8-snap');
  assert.ok(length > 100_000 && length < size);
});

describe('realms are the same with it and without it', () => {
  const changes = {
    'missing': (file) => truncateSync(file, size - length - TRAILER),
    'damaged': (file) => byteAt(file, TRAILER + 1_000, (byte) => byte ^ 1),
    'cut off': (file) => truncateSync(file, size - 1),
    'said to be longer than the file': (file) => byteAt(file, TRAILER - 7, () => 0xff),
  };
  for (const [name, change] of Object.entries(changes)) {
    test(name, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-'));
      try {
        const file = join(folder, addonFile);
        copyFileSync(addon, file);
        change(file);
        assert.equal(await realmWith(file), await realmWith(addon));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
