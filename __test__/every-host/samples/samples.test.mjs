// The sample programs of isolated-vm's documentation, of 7.0.1 and of earlier years: the same calls in the same order. Each runs in a
// process and a project of its own, where `require('isolated-vm')` returns this package.

import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runFile } from '../../harness.mjs';

let project;
let dependency;

before(() => {
  project = mkdtempSync(join(tmpdir(), 'isolated-v8-samples-'));
  cpSync(join(root, '__test__/samples'), project, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "type": "commonjs" }\n');
  mkdirSync(join(project, 'node_modules'));
  dependency = join(project, 'node_modules/isolated-vm');
  symlinkSync(root, dependency, 'junction');
});
after(() => {
  // First, so that nothing recursive finds it.
  unlinkSync(dependency);
  rmSync(project, { recursive: true, force: true });
});

/** Runs a sample to its end; resolves with its output. */
async function outcome(name, ...args) {
  const { code, signal, timedOut, stdout, stderr } = await runFile(join(project, name), { cwd: project, args });
  assert.deepEqual({ code, signal, timedOut }, { code: 0, signal: null, timedOut: false }, stdout + stderr);
  return { lines: stdout.trimEnd().split('\n'), stderr };
}

const ERROR = 'RangeError: Array buffer allocation failed';
/** What the guest with a limit of 128 MB keeps, in steps of 2 MB. */
const KEPT = Array.from({ length: 64 }, (_, index) => `kept ${(index + 1) * 2} MB`);

describe('a log for the guest, and a guest that exhausts memory', () => {
  for (const [name, first, ...last] of [
    ['log.cjs', 'hello world'],
    ['log-2019.cjs', 'hello world'],
    ['log-2018.cjs', 'hello world undefined undefined'],
    ['log-2017.cjs', 'hello world undefined undefined', 'Reference has been released', 'Copy has been released', 'Reference has been released'],
  ]) {
    test(name, async () => {
      const { lines, stderr } = await outcome(name);
      assert.deepEqual(lines, [first, ...KEPT, ERROR, ...last]);
      assert.equal(stderr.split(ERROR).length, 2, stderr);
    });
  }
});

describe('a sum on four threads', () => {
  for (const name of ['threads.cjs', 'threads-2017.cjs']) {
    test(name, async () => {
      assert.deepEqual(await outcome(name), { lines: ['on one thread: 9007199187632128', 'on four threads: 9007199187632128'], stderr: '' });
    });
  }
});

test('a snapshot, also from a file', async () => {
  assert.deepEqual(await outcome('snapshot.cjs', join(project, 'snapshot.bin')), { lines: ['3', '3'], stderr: '' });
});
