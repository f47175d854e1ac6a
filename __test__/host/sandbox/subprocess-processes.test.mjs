// The processes of `SubprocessSandbox`: their environment, their number, and that none is left over.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ivm from '../../../index.mjs';
import { host, moduleEntry, programArguments, root, run } from '../../harness.mjs';
import { childrenOf, environmentOf, isAlive, noTools, openDescriptors, residentBytes, startedChildren, tool, until } from '../../sandbox/subprocess-helper.mjs';

const { SubprocessSandbox } = ivm;
const helper = JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'));

/** Calls `look` with the process of an execution while it runs. */
async function whileRunning(config, look) {
  const sandbox = new SubprocessSandbox({ poolSize: 0, ...config });
  const before = new Set(childrenOf().map(({ pid }) => pid));
  let seen;
  const executor = async () => {
    const [child, ...others] = childrenOf().filter(({ pid }) => !before.has(pid));
    assert.equal(others.length, 0);
    seen = await look(child);
  };
  const { error } = await sandbox.execute('await t.f()', [tool('t:f')], executor);
  assert.equal(error, undefined);
  return seen;
}

/** Only root may read the environment of a child that is not dumpable. */
const READABLE = { confinement: { notDumpable: false } };

test('SubprocessSandbox: without a descriptor for a process that has moved, an execution fails with a limit', { skip: process.platform !== 'linux' && 'processes do not move there', timeout: 60_000 }, async (t) => {
  const layers = await new SubprocessSandbox({ poolSize: 0 }).confinement();
  if (!layers.some(({ name, active }) => name === 'pidNamespace' && active)) return t.skip('no process moves here');
  const { stdout, stderr } = await run(`
    import { closeSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
    import { execFileSync } from 'node:child_process';
    import { fakeLauncher, hostWith, noTools, sleep, until } from ${helper};
    const open = () => readdirSync('/proc/self/fd').length;
    const { file, folder } = fakeLauncher('echo $$ >started; while [ ! -e go ]; do sleep 0.02; done; exec ${join(root, 'isolated-v8-launcher.linux-x64-gnu')} "$@"');
    const { SubprocessSandbox } = hostWith(file);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=' + (open() + 60)]);
    const outcome = new SubprocessSandbox({ poolSize: 0, timeout: 30_000 }).execute('return 1', [], noTools);
    await until('it is started', () => readdirSync(folder).includes('started'));
    writeFileSync(folder + '/wait', '');
    const taken = [];
    const fill = () => { try { for (;;) taken.push(openSync('/dev/null')); } catch ({ code }) { if (code !== 'EMFILE') throw new Error(code); } };
    fill();
    renameSync(folder + '/wait', folder + '/go');
    // The host may close some.
    const timer = setInterval(fill, 1);
    const { failure } = await outcome;
    clearInterval(timer);
    for (const each of taken) closeSync(each);
    console.log(failure.code, failure.message);
    console.log((await new SubprocessSandbox({ poolSize: 0 }).execute('return 1', [], noTools)).result);
    rmSync(folder, { recursive: true });
    process.exit();
  `, { timeout: 50_000 });
  assert.match(stdout, /^ERR_ISOLATE_LIMIT No process can be started: .*\n1\n$/, stderr);
});

const gone = () => until('no child is left', () => childrenOf().length === 0);

describe('SubprocessSandbox: the process', () => {
  test('its environment is PATH, NODE_ENV and a time zone', async () => {
    const environment = await whileRunning(READABLE, ({ pid }) => environmentOf(pid));
    assert.deepEqual(environment, { PATH: process.env.PATH, NODE_ENV: 'sandbox', ...(process.env.TZ === undefined ? {} : { TZ: process.env.TZ }) });
  });

  test('dates use the time zone of this process', async () => {
    const zone = process.env.TZ;
    try {
      for (const [name, hours] of [['Asia/Tokyo', 9], ['America/Caracas', 20]]) {
        process.env.TZ = name;
        for (const minimalEnv of [true, false]) {
          const { result } = await new SubprocessSandbox({ minimalEnv, poolSize: 0 }).execute('return [new Date(0).getHours(), Intl.DateTimeFormat().resolvedOptions().timeZone]', [], noTools);
          assert.deepEqual(result, [hours, name]);
        }
      }
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test('waiting processes serve executions of any timeout', async () => {
    const { stdout } = await run(`
      import { childrenOf, noTools, until } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};
      const { SubprocessSandbox } = ivm;
      for (let i = 0; i < 12; i += 1) {
        const { result, error } = await new SubprocessSandbox({ timeout: 20_000 - i * 1_000 }).execute('return 1', [], noTools);
        if (result !== 1) console.log(error);
        await until('one waits', () => childrenOf().filter(({ state }) => state !== 'Z').length >= 1);
      }
      await until('one is left', () => childrenOf().length === 1);
      console.log('one');
      process.exit();
    `, { timeout: 60_000 });
    assert.equal(stdout, 'one\n');
  });

  test('a process that has ended while it waited fails no execution', async () => {
    const { stdout } = await run(`
      import { childrenOf, isAlive, noTools, startedChildren, until } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};
      const { SubprocessSandbox } = ivm;
      const sandbox = new SubprocessSandbox({ poolSize: 1, timeout: 30_000 });
      const distinct = new Set();
      for (let killed = 0; killed < 8;) {
        await sandbox.execute('return 1', [], noTools);
        const [child] = await until('one waits', () => { const all = startedChildren(); return all.length === 1 && childrenOf().length === 1 && all; });
        // It counts as ready at the same moment.
        await sandbox.confinement();
        // It may have been the previous one, about to end.
        if (!isAlive(child.pid)) continue;
        process.kill(child.pid, 'SIGKILL');
        killed += 1;
        const { result, error, logs } = await sandbox.execute('console.log("once"); return 2', [], noTools);
        distinct.add(JSON.stringify([result, error, logs]));
      }
      console.log([...distinct].join());
      process.exit();
    `, { timeout: 60_000 });
    assert.equal(stdout, '[2,null,["[log] \\"once\\""]]\n');
  });

  test('without minimalEnv it is the host\'s environment, except for loader variables', async () => {
    const loaders = { LD_LIBRARY_PATH: '/nowhere', LD_AUDIT: '', GLIBC_TUNABLES: 'glibc.malloc.check=0', DYLD_INSERT_LIBRARIES: '/nowhere' };
    Object.assign(process.env, loaders, { SUBPROCESS_TEST: 'a=b' });
    const environment = await whileRunning({ ...READABLE, minimalEnv: false }, ({ pid }) => environmentOf(pid));
    for (const name of Object.keys(loaders)) {
      assert.equal(environment[name], undefined, name);
      delete process.env[name];
    }
    assert.equal(environment.SUBPROCESS_TEST, 'a=b');
    assert.equal(environment.PATH, process.env.PATH);
    delete process.env.SUBPROCESS_TEST;
  });

  test('has its own process group', async () => {
    const groupOf = (pid) => {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    };
    const groups = [groupOf(process.pid)];
    for (let round = 0; round < 2; round += 1) groups.push(await whileRunning({}, ({ pid }) => groupOf(pid)));
    assert.equal(new Set(groups).size, 3);
  });

  test('ends as soon as its execution has ended', async () => {
    const pid = await whileRunning({}, (child) => child.pid);
    await until('the process is gone', () => !isAlive(pid), 1_000);
    await gone();
  });
});

describe('SubprocessSandbox: the pool', () => {
  test('as many wait as requested, and each serves one execution', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 2, memoryLimit: 33 });
    await sandbox.confinement();
    const waiting = (others) => until('two wait', () => {
      const found = startedChildren().filter(({ pid }) => !others.includes(pid));
      return found.length === 2 ? found : undefined;
    });
    const [first, second] = await waiting([]);
    let serving;
    const executor = async () => { serving = childrenOf().map(({ pid }) => pid); };
    await sandbox.execute('await t.f()', [tool('t:f')], executor);
    await until('one of them has gone', () => [first.pid, second.pid].filter(isAlive).length === 1);
    assert.ok(serving.includes(first.pid) && serving.includes(second.pid));
    const gonePids = [first.pid, second.pid].filter((pid) => !isAlive(pid));
    const later = await waiting(gonePids);
    assert.equal(later.filter(({ pid }) => pid === first.pid || pid === second.pid).length, 1);
  });

  test('no state of an execution reaches the next', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 2, memoryLimit: 34 });
    const code = `
      const found = [typeof globalThis.marker, typeof Symbol.prototype.marker, typeof Reflect.marker, String(Math.max), typeof JSON.marker, typeof Symbol.for('marker').marker];
      globalThis.marker = 1; Symbol.prototype.marker = 1; Reflect.marker = 1; Math.max = () => 1; JSON.marker = 1;
      globalThis.Array = class {}; globalThis.kept = new ArrayBuffer(1e6); new Uint8Array(kept).fill(77);
      const fresh = new Uint8Array(1e6);
      found.push(fresh.some((byte) => byte !== 0));
      setTimeout(() => {}, 1e6);
      return found.join()`;
    const results = [];
    for (let round = 0; round < 6; round += 1) {
      const { result, error } = await sandbox.execute(code, [], noTools);
      assert.equal(error, undefined);
      results.push(result);
      if (round % 2 === 1) await until('one waits', () => childrenOf().length > 0);
    }
    assert.deepEqual(new Set(results), new Set(['undefined,undefined,undefined,function max() { [native code] },undefined,undefined,false']));
  });

  test('confinement is reported, without an execution', async () => {
    const layers = await new SubprocessSandbox({ poolSize: 0, memoryLimit: 35 }).confinement();
    assert.ok(Array.isArray(layers));
    for (const { name, active, detail, ...more } of layers) {
      assert.deepEqual([typeof name, typeof active, typeof detail, more], ['string', 'boolean', 'string', {}]);
    }
  });
});

describe('SubprocessSandbox: no resources remain', () => {
  test('of a hundred executions that run out of memory', { timeout: 200_000 }, async () => {
    const sandbox = new SubprocessSandbox({ memoryLimit: 8, poolSize: 0 });
    const round = async (count) => {
      for (let done = 0; done < count; done += 4) {
        const outcomes = await Promise.all(Array.from({ length: 4 }, () => sandbox.execute('const all = []; for (;;) all.push([all.length, 1.5])', [], noTools)));
        for (const { failure } of outcomes) assert.equal(failure.code, 'ERR_ISOLATE_MEMORY', JSON.stringify(failure));
      }
      const waiting = () => childrenOf().filter(({ state }) => state === 'Z').length === 0;
      await until('none is a zombie', waiting);
    };
    await round(20);
    const [descriptors, bytes] = [openDescriptors(), residentBytes()];
    await round(80);
    await until('no descriptor more', () => openDescriptors() <= descriptors + 3);
    assert.ok(residentBytes() - bytes < 32e6, `${residentBytes() - bytes} bytes more`);
  });
});

/** Starts a program. Resolves with its process and its first line, once it has written that line. */
function start(code) {
  const folder = join(root, '__test__/.tmp');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${host}-${process.pid}-parent-${Math.random()}.mjs`);
  writeFileSync(file, `import ivm from ${JSON.stringify(moduleEntry)};\nimport { startedChildren } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};\n${code}`);
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...env } = process.env;
  const child = spawn(process.execPath, [...programArguments(), file], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let written = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      written += chunk;
      const end = written.indexOf('\n');
      if (end !== -1) resolve({ child, line: written.slice(0, end) });
    });
    child.on('close', () => {
      rmSync(file, { force: true });
      reject(new Error(`it has ended: ${written}`));
    });
  });
}

/** A busy child, and a waiting one; `pids` has both. A child is known by its final id once it has sent a message. */
const TWO = `
  const sandbox = new ivm.SubprocessSandbox({ timeout: 60_000 });
  await sandbox.execute('return 1', [], async () => {});
  let begun;
  const begins = new Promise((resolve) => { begun = resolve; });
  const running = sandbox.execute('await t.f(); for (;;);', [{ name: 't:f', description: '' }], async () => begun());
  await begins;
  await sandbox.confinement();
  const pids = startedChildren().map(({ pid }) => pid);`;

describe('SubprocessSandbox: the parent', () => {
  test('killed by SIGKILL ends all children within a second', { timeout: 60_000 }, async () => {
    const { child, line } = await start(`${TWO}\nconsole.log(JSON.stringify(pids)); await running;`);
    const pids = JSON.parse(line);
    assert.ok(pids.length >= 2 && pids.every(isAlive), line);
    child.kill('SIGKILL');
    await until('all are gone', () => !pids.some(isAlive), 1_000);
  });

  for (const [what, ending] of [['process.exit', 'process.exit(3)'], ['an uncaught error', 'setTimeout(() => { throw new Error("uncaught") })']]) {
    test(`that ends by ${what} leaves no children`, { timeout: 60_000 }, async () => {
      const { stdout, timedOut } = await run(`import { startedChildren } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};${TWO}\nconsole.log(JSON.stringify(pids)); ${ending};`);
      assert.equal(timedOut, false);
      const pids = JSON.parse(stdout.split('\n')[0]);
      assert.ok(pids.length >= 2);
      await until('all are gone', () => !pids.some(isAlive), 1_000);
    });
  }

  test('ends by itself while a child waits', { timeout: 60_000 }, async () => {
    const code = `
      const sandbox = new ivm.SubprocessSandbox({ poolSize: 2 });
      console.log((await sandbox.execute('return 6 * 7', [], async () => {})).result);
      await sandbox.confinement();`;
    const { code: exit, stdout, stderr, timedOut } = await run(code, { timeout: 15_000 });
    assert.deepEqual([exit, stdout, timedOut], [0, '42\n', false], stderr);
  });

  test('a worker that is terminated ends its executions', { timeout: 60_000 }, async () => {
    const code = `
      import { Worker, isMainThread, parentPort } from 'node:worker_threads';
      import { childrenOf } from ${JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'))};
      if (isMainThread) {
        const worker = new Worker(new URL(import.meta.url));
        await new Promise((resolve) => { worker.once('message', resolve); });
        const before = childrenOf().length;
        await worker.terminate();
        const end = Date.now() + 5_000;
        while (childrenOf().length > 0 && Date.now() < end) await new Promise((resolve) => { setTimeout(resolve, 5); });
        console.log(before, childrenOf().length);
        process.exit(0);
      } else {
        const sandbox = new ivm.SubprocessSandbox({ poolSize: 0 });
        sandbox.execute('await t.f(); for (;;);', [{ name: 't:f' }], async () => { parentPort.postMessage('running'); });
      }`.replaceAll(/\n\s*/g, '\n');
    const { stdout, stderr, code: exit } = await run(code, { timeout: 30_000 });
    assert.deepEqual([stdout, exit], ['1 0\n', 0], stderr);
  });
});
