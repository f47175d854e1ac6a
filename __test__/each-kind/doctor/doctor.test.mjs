// `isolated-v8 doctor`: its report and its exit code.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { host, root, runFile } from '../../harness.mjs';

const require = createRequire(import.meta.url);
const { diagnose } = require('../../../doctor/index.js');
const { render } = require('../../../doctor/render.js');
const ivm = require('../../../index.js');

const LIMIT_MS = 120_000;
const doctor = (...args) => runFile(join(root, 'command/index.js'), { args, timeout: LIMIT_MS });
const { version, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const CHECKS = [
  'runs code',
  'has Intl, Temporal and WebAssembly',
  'calls functions of the host',
  'stops an endless loop',
  'leaves the event loop free meanwhile',
  'ends a guest that takes all memory',
  'starts from a snapshot',
  'runs an agent with tools',
  'keeps the state of plugins',
  'removes the types of TypeScript',
  'runs code in a process of its own',
  'has lost no threads or memory',
];

test('it is the command of the package', () => {
  assert.deepEqual(bin, { 'isolated-v8': 'command/index.js' });
  assert.match(readFileSync(join(root, bin['isolated-v8']), 'utf8'), /^#!\/usr\/bin\/env node\n/);
});

test('output as text', async () => {
  const { code, stdout, stderr } = await doctor('doctor');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout);
  assert.ok(stdout.startsWith(`isolated-v8 ${version}\n  v8 `), stdout);
  const hosts = { bun: /^ {2}name +Bun \d/m, deno: /^ {2}name +Deno \d/m };
  assert.match(stdout, hosts[host] ?? /^ {2}name +Node \d/m);
  assert.match(stdout, /^ {2}termination grace +1000 ms$/m);
  assert.match(stdout, /^ {2}seccomp +(?:active|-) /m);
  for (const name of CHECKS) assert.match(stdout, new RegExp(`^ {2}ok {3}${name}, \\d+ ms$`, 'm'));
  assert.ok(stdout.endsWith('\n\nEverything works.\n'), stdout);
});

test('output as JSON', async () => {
  const { code, stdout } = await doctor('doctor', '--json');
  assert.equal(code, 0, stdout);
  const { ok, library, limits, confinement, checks } = JSON.parse(stdout);
  assert.equal(ok, true);
  assert.match(library.v8, /^\d+\.\d+\.\d+\.\d+/);
  if (process.platform === 'linux') assert.equal(library.binary, join(root, `isolated-v8.linux-${process.arch}-gnu.node`));
  assert.deepEqual(limits, { timeout: 'none', deadline: 'none', 'termination grace': '1000 ms' });
  assert.ok(confinement.some(({ name }) => name === 'rlimits'));
  assert.deepEqual(checks.map(({ name }) => name), CHECKS);
});

describe('invalid arguments', () => {
  for (const [args, usage] of [[[], 'Usage: isolated-v8 <command>'], [['nurse'], 'Usage: isolated-v8 <command>'], [['doctor', 'more'], "isolated-v8 doctor: unexpected argument 'more'"]]) {
    test(args.join(' ') || 'none', async () => {
      const { code, stdout, stderr } = await doctor(...args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
      assert.ok(stderr.startsWith(usage), stderr);
    });
  }
});

test('a package without its addon', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-doctor-'));
  try {
    mkdirSync(join(folder, 'host'));
    for (const name of ['command', 'doctor', 'host', 'index.js', 'loader', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
    const { code, stdout, stderr } = await runFile(join(folder, 'command/index.js'), { args: ['doctor'], cwd: folder, timeout: LIMIT_MS });
    assert.deepEqual({ code, stderr }, { code: 1, stderr: '' }, stdout);
    assert.match(stdout, /^ {2}FAIL loads, 0 ms: isolated-v8: there is no build for /m);
    assert.ok(stdout.endsWith('\n1 of 1 checks failed.\n'), stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('Deno with few permissions', { skip: host !== 'deno' }, () => {
  const ask = (...permissions) => runFile(join(root, 'command/index.js'), {
    hostArgs: ['run', '--quiet', '--no-prompt', '--no-check', '--no-lock', '--node-modules-dir=manual', ...permissions],
    args: ['doctor'],
    timeout: LIMIT_MS,
  });

  test('the required permissions are enough', async () => {
    const { code, stdout, stderr } = await ask('--allow-ffi', '--allow-read');
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout);
    assert.match(stdout, /^ {2}platform +linux \w+$/m);
    assert.doesNotMatch(stdout, /^ {2}(memory|glibc) /m);
    assert.ok(stdout.endsWith('\n\nEverything works.\n'), stdout);
  });

  test('without --allow-ffi it names the missing permission', async () => {
    const { code, stdout, stderr } = await ask('--allow-read');
    assert.deepEqual({ code, stderr }, { code: 1, stderr: '' }, stdout);
    assert.match(stdout, /^ {2}FAIL loads, 0 ms: isolated-v8: Deno needs the permissions --allow-ffi and --allow-read to load it \(or -A\)\.$/m);
  });
});

test('a failing feature', async () => {
  // It returns wrong results, and has no processes on this system.
  const unsupported = () => {
    throw Object.assign(new Error('not on this system'), { code: 'ERR_ISOLATE_UNSUPPORTED' });
  };
  const broken = Object.create(ivm, {
    createSandbox: { value: () => ({ execute: async () => ({ result: 41 }) }) },
    createSubprocessSandbox: { value: unsupported },
  });
  const report = await diagnose(() => ({ ivm: broken, v8: '1.2.3.4' }));
  assert.equal(report.ok, false);
  assert.equal(report.confinement, 'not on this system');
  const failed = report.checks.filter(({ failure }) => failure !== undefined);
  assert.deepEqual(failed.map(({ name, failure }) => [name, failure]), [
    ['calls functions of the host', 'result: 41 in the place of 42'],
    ['removes the types of TypeScript', 'result: 41 in the place of 42'],
  ]);
  assert.deepEqual(report.checks.filter(({ missing }) => missing !== undefined).map(({ name }) => name), ['runs code in a process of its own']);
  const text = render(report);
  assert.match(text, /^ {2}none runs code in a process of its own, \d+ ms: not on this system$/m);
  assert.match(text, /^ {2}FAIL calls functions of the host, \d+ ms: result: 41 in the place of 42$/m);
  assert.ok(text.endsWith('\n2 of 12 checks failed.\n'));
});
