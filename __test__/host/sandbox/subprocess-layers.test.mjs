// Processes of `SubprocessSandbox` on systems that do not give each of them every layer, and for hosts of other users.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ivm from '../../../index.mjs';
import { host, moduleEntry, programArguments, root } from '../../harness.mjs';
import { noTools } from '../../sandbox/subprocess-helper.mjs';

const { SubprocessSandbox } = ivm;
const isLinux = process.platform === 'linux';
const isRoot = isLinux && process.getuid() === 0;

const works = (command) => isLinux && spawnSync(command[0], [...command.slice(1), 'true']).status === 0;
const NESTED = ['unshare', '--user', '--map-root-user'];
const OTHER = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const LIMIT_MS = 60_000;

/** The output of a program that a command starts, as JSON. `ivm` is the package. */
function runBy(command, code) {
  const folder = join(root, '__test__/.tmp');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${host}-${process.pid}-layers-${Math.random()}.mjs`);
  writeFileSync(file, `import ivm from ${JSON.stringify(moduleEntry)};\n${code}`);
  chmodSync(file, 0o644);
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...env } = process.env;
  const child = spawn(command[0], [...command.slice(1), process.execPath, ...programArguments(), file], { cwd: '/', env: { ...env, HOME: '/tmp', DENO_DIR: '/tmp/deno' }, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let [output, errors] = ['', ''];
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.stdout.setEncoding('utf8').on('data', (chunk) => { output += chunk; });
    child.stderr.setEncoding('utf8').on('data', (chunk) => { errors += chunk; });
    child.on('error', reject);
    child.on('close', () => {
      clearTimeout(timer);
      rmSync(file, { force: true });
      try {
        resolve(JSON.parse(output));
      } catch {
        reject(new Error(`no JSON: ${output}${errors}`));
      }
    });
  });
}

/** Eight executions at a time, each of which must wait for all others, so there are eight processes. */
const EIGHT = (config) => `
  const sandbox = new ivm.SubprocessSandbox({ poolSize: 0, timeout: 40_000, ...${JSON.stringify(config)} });
  let [waiting, go] = [0];
  const all = new Promise((resolve) => { go = resolve; });
  const meet = async () => { waiting += 1; if (waiting === expected) go(); await all; };
  let expected = 8;
  const outcomes = Array.from({ length: 8 }, () => sandbox.execute('await t.meet(); return 1', [{ name: 't:meet', description: '' }], meet).then((outcome) => {
    if (outcome.failure?.code === 'ERR_ISOLATE_UNSUPPORTED') { expected -= 1; if (waiting === expected) go(); }
    return { result: outcome.result, code: outcome.failure?.code, error: outcome.error, layers: outcome.confinement };
  }));
  console.log(JSON.stringify(await Promise.all(outcomes)));
  process.exit();`;

const limited = (number) => ['sh', '-c', `for name in net ipc uts mnt pid user; do echo ${number} > /proc/sys/user/max_\${name}_namespaces || exit 1; done; exec "$@"`, 'sh'];

describe('when namespaces are exhausted', { skip: !works([...NESTED, ...limited(100)]) && 'there are no user namespaces to be had' }, () => {
  test('each result lists the layers of its own process', { timeout: 2 * LIMIT_MS }, async () => {
    const outcomes = await runBy([...NESTED, ...limited(3)], EIGHT({}));
    assert.deepEqual(outcomes.map(({ result }) => result), Array(8).fill(1), JSON.stringify(outcomes));
    const confined = outcomes.filter(({ layers }) => layers.includes('networkNamespace')).length;
    assert.ok(confined > 0 && confined <= 3, `${confined}`);
    for (const { layers } of outcomes) assert.ok(layers.includes('seccomp') && layers.includes('rlimits'), `${layers}`);
  });

  // If all six are needed, each process may have some that others lack, so that none has all.
  for (const [require, least, needed] of [['networkNamespace', 1, ['network']], ['namespaces', 0, ['user', 'network', 'ipc', 'uts', 'mount', 'pid']]]) {
    test(`nothing runs without a layer that is required: ${require}`, { timeout: 2 * LIMIT_MS }, async () => {
      const outcomes = await runBy([...NESTED, ...limited(3)], EIGHT({ confinement: { require: [require] } }));
      const served = outcomes.filter(({ result }) => result === 1);
      const refused = outcomes.filter(({ result }) => result === null);
      assert.ok(served.length >= least && served.length <= 3 && served.length + refused.length === 8, JSON.stringify(outcomes));
      for (const { layers } of served) for (const name of needed) assert.ok(layers.includes(`${name}Namespace`), `${layers}`);
      for (const { code, error } of refused) {
        assert.equal(code, 'ERR_ISOLATE_UNSUPPORTED');
        assert.match(error, /^The process is not confined as required: \w+Namespace does not hold \(\w+: No space left on device\)$/);
      }
    });
  }

  test('no namespaces are available', { timeout: 2 * LIMIT_MS }, async () => {
    const outcomes = await runBy([...NESTED, ...limited(0)], EIGHT({ confinement: { require: ['seccomp', 'noNewPrivileges', 'rlimits', 'descriptors'] } }));
    for (const { result, layers } of outcomes) {
      assert.equal(result, 1);
      assert.ok(!layers.some((name) => name.endsWith('Namespace')), `${layers}`);
    }
  });
});

describe('a host that is not root', { skip: !(isRoot && works(OTHER)) && 'this host cannot become another' }, () => {
  test('runs code, in processes of its own user', { timeout: 2 * LIMIT_MS }, async () => {
    const outcomes = await runBy(OTHER, EIGHT({ confinement: { require: ['ownUser', 'seccomp', 'rlimits', 'noNewPrivileges', 'capabilities'] } }));
    for (const { result, error } of outcomes) assert.equal(result, 1, error);
  });

  test('kills processes at their deadline or memory limit', { timeout: 2 * LIMIT_MS }, async () => {
    const found = await runBy(OTHER, `
      const sandbox = new ivm.SubprocessSandbox({ memoryLimit: 16, timeout: 3_000 });
      const codes = ['for (;;);', 'const all = []; for (;;) all.push(new Array(1000).fill(1.5))', 'return new Uint8Array(1e6).length'];
      const outcomes = [];
      for (const code of codes) { const { result, failure } = await sandbox.execute(code, [], async () => {}); outcomes.push(failure?.code ?? result); }
      console.log(JSON.stringify(outcomes));
      process.exit();`);
    assert.deepEqual(found, ['ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_MEMORY', 1e6]);
  });
});

describe('confinement.require', { skip: !isLinux && 'layers are other ones there' }, () => {
  test('of layers that apply, code runs', async () => {
    const layers = (await new SubprocessSandbox().confinement()).filter(({ active }) => active).map(({ name }) => name);
    const { result, confinement } = await new SubprocessSandbox({ confinement: { require: layers } }).execute('return 7', [], noTools);
    assert.deepEqual([result, confinement], [7, layers]);
  });

  test('of a layer that this system lacks, no code runs, and confinement() still reports', async () => {
    const sandbox = new SubprocessSandbox({ confinement: { require: ['seatbelt'] } });
    const { result, failure } = await sandbox.execute('return 7', [], noTools);
    assert.deepEqual([result, failure.code, failure.message], [null, 'ERR_ISOLATE_UNSUPPORTED', 'The process is not confined as required: seatbelt does not hold (this system has no such layer)']);
    assert.ok((await sandbox.confinement()).some(({ name, active }) => name === 'seccomp' && active));
  });

  test('waiting processes are not shared with sandboxes that require less', async () => {
    const less = new SubprocessSandbox({ confinement: { landlock: false } });
    assert.equal((await less.execute('return 1', [], noTools)).result, 1);
    const { result, confinement } = await new SubprocessSandbox({ confinement: { require: ['seccomp'] } }).execute('return 1', [], noTools);
    assert.ok(result === 1 && confinement.includes('seccomp'));
  });

  test('invalid layers are refused by name', () => {
    for (const require of ['seccomp', 1, {}, true]) assert.throws(() => new SubprocessSandbox({ confinement: { require } }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`confinement.require` must be an array of names of layers' });
    for (const name of ['secomp', '__proto__', 'toString', '', 1, null, Symbol.iterator]) assert.throws(() => new SubprocessSandbox({ confinement: { require: [name] } }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /^`confinement\.require` must be an array of namespaces, cgroup, / });
    assert.throws(() => new SubprocessSandbox({ confinement: { require: ['namespaces'], pidNamespace: false } }), { message: '`confinement` requires `pidNamespace` and turns it off: choose one' });
    for (const require of [undefined, null, [], ['namespaces', 'pidNamespace']]) assert.ok(new SubprocessSandbox({ confinement: { require } }));
  });
});

describe('memory without a control group', { skip: !isLinux && 'only there it is bounded' }, () => {
  test('large heaps, large buffers and WebAssembly work', { timeout: 120_000 }, async () => {
    const sandbox = new SubprocessSandbox({ memoryLimit: 512, poolSize: 0, confinement: { require: ['rlimits'] } });
    const { result, error } = await sandbox.execute(`
      const heap = Array.from({ length: 300 }, (_, i) => new Array(100_000).fill(i + 0.5));
      const buffers = Array.from({ length: 8 }, () => new Uint8Array(32 << 20).fill(1));
      const memory = new WebAssembly.Memory({ initial: 16, maximum: 4096 });
      memory.grow(1024);
      new Uint8Array(memory.buffer).fill(7);
      const module = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11]));
      return [heap.length, buffers.length, memory.buffer.byteLength, new WebAssembly.Instance(module).exports.f()]`, [], noTools);
    assert.deepEqual([result, error], [[300, 8, 1040 * 65_536, 42], undefined]);
  });

  test('results with many buffers are received', async () => {
    const sandbox = new SubprocessSandbox({ memoryLimit: 256 });
    const { result, error } = await sandbox.execute('return Array.from({ length: 100_000 }, (_, i) => new Uint8Array([i]))', [], noTools);
    assert.deepEqual([error, result?.length, result?.[77][0]], [undefined, 100_000, 77]);
    const one = await sandbox.execute('return new Float64Array(1e6).fill(0.5)', [], noTools);
    assert.deepEqual([one.error, one.result?.length, one.result?.[9]], [undefined, 1e6, 0.5]);
  });
});
