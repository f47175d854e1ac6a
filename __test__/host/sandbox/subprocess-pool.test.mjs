// Waiting processes of `SubprocessSandbox`: processes that are stopped from outside meanwhile, which sandbox has which share, and how much
// of the host's memory they take.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ivm from '../../../index.mjs';
import { root, run } from '../../harness.mjs';
import { TERMINATED, childrenOf, end, fakeLauncher, frame, hostWith, isAlive, log, memoryOf, noTools, ready, startedChildren, tool, until, value } from '../../sandbox/subprocess-helper.mjs';

const { SubprocessSandbox } = ivm;
const helper = JSON.stringify(join(root, '__test__/sandbox/subprocess-helper.mjs'));

/** The process that waits for the next execution of a sandbox, the only one with this limit, once it is ready. */
async function waitingFor(sandbox, memoryLimit) {
  await sandbox.confinement();
  const [{ pid }] = await until('one waits', () => {
    const found = startedChildren().filter((child) => memoryOf(child.pid) === memoryLimit);
    return found.length === 1 && found;
  });
  return pid;
}

/** Stops a process with a signal that it cannot refuse. */
async function stop(pid) {
  process.kill(pid, 'SIGSTOP');
  const state = () => { const stat = readFileSync(`/proc/${pid}/stat`, 'latin1'); return stat[stat.lastIndexOf(')') + 2]; };
  await until('it is stopped', () => state() === 'T');
}

describe('SubprocessSandbox: processes that are stopped', () => {
  test('while they wait: a new one replaces them', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 1, memoryLimit: 41, timeout: 60_000 });
    const pid = await waitingFor(sandbox, 41);
    await stop(pid);
    const { result, error, logs, duration } = await sandbox.execute('console.log("once"); return 2', [], noTools);
    assert.deepEqual([result, error, logs], [2, undefined, ['[log] "once"']]);
    assert.ok(duration < 30_000, `${duration}`);
    await until('it is gone', () => !isAlive(pid));
  });

  test('while they wait: a deadline applies', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 1, memoryLimit: 42, timeout: 500 });
    const pid = await waitingFor(sandbox, 42);
    await stop(pid);
    const { error, failure, duration } = await sandbox.execute('return 2', [], noTools);
    assert.deepEqual([error, failure.code], [TERMINATED, 'ERR_ISOLATE_DEADLINE']);
    assert.ok(duration >= 490 && duration < 5_000, `${duration}`);
    await until('it is gone', () => !isAlive(pid));
    const later = new SubprocessSandbox({ poolSize: 1, memoryLimit: 42, timeout: 30_000 });
    assert.equal((await later.execute('return 3', [], noTools)).result, 3);
  });

  test('while they wait: confinement() does not wait for them', async () => {
    const sandbox = new SubprocessSandbox({ poolSize: 1, memoryLimit: 43 });
    await stop(await waitingFor(sandbox, 43));
    assert.ok((await sandbox.confinement()).length > 5);
  });

  test('while they run: until the deadline, or until they continue', async () => {
    const running = async (timeout, then) => {
      const sandbox = new SubprocessSandbox({ poolSize: 0, memoryLimit: 44, timeout });
      const executor = async () => {
        const [{ pid }] = await until('it runs', () => { const found = startedChildren().filter((child) => !before.has(child.pid)); return found.length === 1 && found; });
        await stop(pid);
        then(pid);
      };
      const before = new Set(childrenOf().map(({ pid }) => pid));
      return sandbox.execute('await t.f(); return 5', [tool('t:f')], executor);
    };
    const { failure, duration } = await running(1_000, () => {});
    assert.equal(failure?.code, 'ERR_ISOLATE_DEADLINE');
    assert.ok(duration >= 990 && duration < 5_000, `${duration}`);
    const { result } = await running(60_000, (pid) => setTimeout(() => process.kill(pid, 'SIGCONT'), 1_500));
    assert.equal(result, 5);
  });
});

describe('waiting processes that are foreign programs', () => {
  const RESULT = Buffer.concat([ready(), end(true, value.number(5))]);
  // The first one waits, and does something else.
  const script = (later) => `
    echo $$ >> started
    if mkdir first 2>/dev/null; then ${later}; fi
    head -c 1 >/dev/null; cat bytes >&0; exec sleep 60`;

  async function waiting(later, said = ready()) {
    const { file, folder } = fakeLauncher(script(later));
    writeFileSync(join(folder, 'bytes'), RESULT);
    writeFileSync(join(folder, 'said'), said);
    const { SubprocessSandbox: Sandbox } = hostWith(file);
    await new Sandbox({ poolSize: 1, timeout: 60_000 }).confinement();
    const started = () => readFileSync(join(folder, 'started'), 'utf8').split('\n').slice(0, -1).map(Number);
    const sandbox = new Sandbox({ poolSize: 0, timeout: 60_000 });
    return { sandbox, started, first: started()[0], end: () => rmSync(folder, { recursive: true, force: true }) };
  }

  const gone = [
    ['have closed their connection', 'cat said >&0; exec 0<&-; exec sleep 60'],
    ['send unrequested messages', 'cat said >&0; exec sleep 60', Buffer.concat([ready(), log(0, 'x')])],
    ['send bytes that are not a message', 'cat said >&0; exec sleep 60', Buffer.concat([ready(), Buffer.from([255, 255, 255, 255, 19])])],
    ['send endlessly', 'cat said >&0; while cat said >&0; do :; done; exec sleep 60', Buffer.concat([ready(), frame(17, [0])])],
  ];
  for (const [what, later, said] of gone) {
    test(`processes that ${what} are ended`, async () => {
      const { sandbox, started, first, end: remove } = await waiting(later, said);
      await until('it is gone', () => !isAlive(first));
      const { result, error } = await sandbox.execute('', [], noTools);
      assert.deepEqual([result, error, started().length], [5, undefined, 2]);
      remove();
    });
  }

  const mute = [
    ['say nothing', 'cat said >&0; exec sleep 60'],
    ['send half of a message', 'cat said >&0; exec sleep 60', Buffer.concat([ready(), end(true, value.number(1)).subarray(0, 3)])],
    ['take nothing', 'cat said >&0; kill -STOP $$'],
  ];
  for (const [what, later, said] of mute) {
    test(`processes that ${what} when an execution starts are replaced`, async () => {
      const { sandbox, started, first, end: remove } = await waiting(later, said);
      const { result, error, duration } = await sandbox.execute('', [], noTools);
      assert.deepEqual([result, error, started().length], [5, undefined, 2]);
      assert.ok(duration < 30_000, `${duration}`);
      await until('it is gone', () => !isAlive(first));
      remove();
    });
  }
});

test('SubprocessSandbox: confinement() reports the next process if an execution finds that the first does not start', async () => {
  const { file, folder } = fakeLauncher('if mkdir first 2>/dev/null; then exec sleep 60; fi; cat ready >&0; head -c 1 >/dev/null; cat end >&0; exec sleep 60');
  writeFileSync(join(folder, 'ready'), ready());
  writeFileSync(join(folder, 'end'), end(true, value.number(5)));
  const { SubprocessSandbox: Sandbox } = hostWith(file);
  const sandbox = new Sandbox({ poolSize: 1, timeout: 60_000 });
  const report = sandbox.confinement();
  const { result } = await sandbox.execute('', [], noTools);
  assert.deepEqual([result, Array.isArray(await report)], [5, true]);
  rmSync(folder, { recursive: true, force: true });
});

describe('SubprocessSandbox: confinement() while executions begin', () => {
  test('ends no execution, although no process is to wait', async () => {
    for (let round = 0; round < 3; round += 1) {
      const memoryLimit = 45 + round;
      const layers = new SubprocessSandbox({ poolSize: 0, memoryLimit }).confinement();
      const { result, error } = await new SubprocessSandbox({ poolSize: 1, memoryLimit }).execute('return 6', [], noTools);
      assert.deepEqual([result, error], [6, undefined]);
      assert.ok((await layers).length > 5);
    }
  });

  for (const [what, code, conclude] of [['terminated', 'ERR_ISOLATE_DISPOSED', (sandbox) => sandbox.terminate()], ['late', 'ERR_ISOLATE_DEADLINE', () => {}]]) {
    test(`does not fail if an execution that got its process is ${what}`, async () => {
      // No process reports before this file is there.
      const { file, folder } = fakeLauncher('echo $$ >> started; while [ ! -e go ]; do sleep 0.02; done; cat ready >&0; exec sleep 60');
      writeFileSync(join(folder, 'ready'), ready('landlock\ton\tx\n'));
      const { SubprocessSandbox: Sandbox } = hostWith(file);
      const started = () => { try { return readFileSync(join(folder, 'started'), 'utf8').split('\n').length - 1; } catch { return 0; } };
      const layers = new Sandbox({ poolSize: 0 }).confinement();
      await until('it is started', () => started() === 1);
      const other = new Sandbox({ poolSize: 0, timeout: 400 });
      const outcome = other.execute('', [], noTools);
      await new Promise((resolve) => { setTimeout(resolve, 100); });
      assert.equal(started(), 1);
      conclude(other);
      assert.equal((await outcome).failure.code, code);
      writeFileSync(join(folder, 'go'), '');
      assert.deepEqual((await layers).filter(({ name }) => name === 'landlock'), [{ name: 'landlock', active: true, detail: 'x' }]);
      rmSync(folder, { recursive: true, force: true });
    });
  }
});

test('SubprocessSandbox: at most 64 processes wait after confinement() of many sandboxes', { timeout: 180_000 }, async () => {
  const { file, folder } = fakeLauncher('cat ready >&0; head -c 1 >/dev/null');
  writeFileSync(join(folder, 'ready'), ready());
  // No processes of others wait there.
  const { stdout, stderr } = await run(`
    import { childrenOf, hostWith, until } from ${helper};
    const { SubprocessSandbox } = hostWith(${JSON.stringify(file)});
    const waiting = () => childrenOf().filter(({ state }) => state !== 'Z').length;
    const all = await Promise.all(Array.from({ length: 80 }, (_, each) => new SubprocessSandbox({ memoryLimit: 8 + each }).confinement()));
    await until('64 wait', () => waiting() === 64, 30_000);
    console.log(all.length);
    process.exit();
  `, { timeout: 150_000 });
  rmSync(folder, { recursive: true, force: true });
  assert.equal(stdout, '80\n', stderr);
});

test('SubprocessSandbox: of competing sandboxes the least recently used makes room, and none takes all', { timeout: 180_000 }, async () => {
  const { file, folder } = fakeLauncher('cat ready >&0; head -c 1 >/dev/null; cat end >&0; exec sleep 60');
  writeFileSync(join(folder, 'ready'), ready());
  writeFileSync(join(folder, 'end'), end(true, value.number(5)));
  // No processes of others wait there.
  const { stdout, stderr } = await run(`
    import { childrenOf, hostWith, memoryOf, noTools, until } from ${helper};
    const { SubprocessSandbox } = hostWith(${JSON.stringify(file)});
    const waiting = () => {
      const counts = {};
      for (const { pid, state } of childrenOf()) if (state !== 'Z') counts[memoryOf(pid)] = (counts[memoryOf(pid)] ?? 0) + 1;
      return JSON.stringify(counts);
    };
    const ask = async (memoryLimit, poolSize, expected) => {
      const { error } = await new SubprocessSandbox({ memoryLimit, poolSize, timeout: 60_000 }).execute('', [], noTools);
      if (error !== undefined) console.log(error);
      await until('they wait', () => waiting() === JSON.stringify(expected), 15_000).catch(() => console.log(waiting(), 'and not', JSON.stringify(expected)));
    };
    await ask(51, 32, { 51: 32 });
    await ask(52, 32, { 51: 32, 52: 32 });
    // There are 64 places.
    await ask(53, 1, { 51: 31, 52: 32, 53: 1 });
    // First the older ones of the limits with more processes.
    await ask(54, 64, { 51: 15, 52: 24, 53: 1, 54: 24 });
    await ask(53, 1, { 51: 15, 52: 24, 53: 1, 54: 24 });
    console.log('done');
    process.exit();
  `, { timeout: 150_000 });
  rmSync(folder, { recursive: true, force: true });
  assert.equal(stdout, 'done\n', stderr);
});

test('SubprocessSandbox: a snapshot is in the host once, however many processes start from it', { timeout: 120_000 }, async () => {
  const { stdout, stderr } = await run(`
    import { childrenOf, noTools, residentBytes, startedChildren, until } from ${helper};
    const snapshot = ivm.Isolate.createSnapshot([{ code: 'var data = Array.from({ length: 400000 }, (_, i) => ({ i }));' }]);
    const size = snapshot.copy().byteLength;
    const ask = async (poolSize) => {
      const { result, error } = await new ivm.SubprocessSandbox({ snapshot, memoryLimit: 64, poolSize }).execute('return data.length', [], noTools);
      if (result !== 400000) console.log(error);
    };
    await ask(1);
    await until('one waits', () => startedChildren().length === 1 && childrenOf().length === 1);
    const before = residentBytes();
    await ask(8);
    await until('eight wait', () => startedChildren().length === 8 && childrenOf().length === 8);
    const grown = residentBytes() - before;
    console.log(size > 5e6 && grown < size ? 'once' : \`\${size} bytes, \${grown} more\`);
    process.exit();
  `, { timeout: 90_000 });
  assert.equal(stdout, 'once\n', stderr);
});
