// The confinement of the processes of `SubprocessSandbox`. Each operation succeeds in an unconfined process, and is refused by each layer
// that must refuse it, alone and with all others.
//
// Kernels and systems without a layer pass too: then the child must report that, and why. A layer that is reported as active must hold.

import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ERRNO, LAYERS, REQUIRED, SIGNAL, allBut, probe, threadsOf, waitingProbe } from '../../sandbox/confinement-probe.mjs';

const options = { skip: process.platform !== 'linux' && 'there are no such processes' };

const { EPERM, ENOENT, ESRCH, EAGAIN, ENOMEM, EACCES, EFAULT, EMFILE, ENOSYS, ENETUNREACH } = ERRNO;
const { SIGSYS, SIGXFSZ } = SIGNAL;

const WAIT_MS = 20;
const WAIT_LIMIT_MS = 10_000;
/** The maximum time between the end of a parent and that of its child. */
const ORPHANED_MS = 1_000;

async function until(condition, what, limit = WAIT_LIMIT_MS) {
  const start = performance.now();
  for (;;) {
    const value = condition();
    if (value) return value;
    assert.ok(performance.now() - start < limit, `${what} in ${limit} ms`);
    await new Promise((resolve) => { setTimeout(resolve, WAIT_MS); });
  }
}

/** The targets of operations: a process, a server and a folder of this test. */
let bystander;
let server;
let folder;

/** In this order: the last one replaces the process. */
let operations;
let canTrace;

before(async () => {
  if (options.skip) return;
  folder = mkdtempSync(join(tmpdir(), 'isolated-v8-confinement-'));
  bystander = spawn('sleep', ['600'], { stdio: 'ignore' });
  server = createServer((socket) => { socket.on('error', () => {}).end(); });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  operations = {
    open: 'open /etc/passwd',
    write: `write ${join(folder, 'file')}`,
    connect: `connect ${server.address().port}`,
    fork: 'fork',
    ptrace: `ptrace ${bystander.pid}`,
    kill: `kill ${bystander.pid}`,
    execve: 'execve /bin/true',
  };
  const scope = '/proc/sys/kernel/yama/ptrace_scope';
  canTrace = !existsSync(scope) || readFileSync(scope, 'utf8').trim() === '0';
});

after(() => {
  bystander?.kill('SIGKILL');
  server?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** The results of operations that nothing refuses. The program that `execve` starts prints nothing. */
const unconfined = () => ({ open: 0, write: 0, connect: 0, fork: 0, ptrace: canTrace ? 0 : EPERM, kill: 0 });

/** Layers that need another one, unless root asks for them. */
const NEEDS = { networkNamespace: ['userNamespace'], mountNamespace: ['userNamespace'], pidNamespace: ['userNamespace'] };

const of = (probed, layer) => {
  const found = probed.layers.get(layer);
  assert.ok(found !== undefined, `nothing is said of ${layer}`);
  assert.notEqual(found.detail, '', layer);
  return found;
};

describe('with no layer', options, () => {
  test('every operation succeeds', async () => {
    const { layers, results, end } = await probe(LAYERS, Object.values(operations));
    assert.deepEqual([...layers.keys()], LAYERS);
    for (const [name, { active, detail }] of layers) assert.deepEqual([name, active, detail], [name, false, 'switched off']);
    assert.deepEqual(results, unconfined());
    assert.deepEqual(end, { exit: 0 });
    assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'x');
  });
});

describe('a single layer', options, () => {
  const REFUSES = {
    userNamespace: () => ({ ptrace: EPERM }),
    networkNamespace: () => ({ connect: ENETUNREACH }),
    mountNamespace: () => ({ open: ENOENT, write: ENOENT, execve: ENOENT }),
    pidNamespace: () => ({ ptrace: ESRCH, kill: ESRCH }),
    landlock: (covers) => ({
      open: EACCES,
      write: EACCES,
      execve: EACCES,
      ptrace: EPERM,
      ...(covers.includes('network') ? { connect: EACCES } : {}),
      ...(covers.includes('signals') ? { kill: EPERM } : {}),
    }),
    descriptors: () => ({ open: EMFILE, write: EMFILE, connect: EMFILE }),
  };
  for (const [layer, refusals] of Object.entries(REFUSES)) {
    test(layer, async () => {
      const needed = NEEDS[layer] ?? [];
      const { execve, ...others } = operations;
      const run = await probe(allBut(layer, ...needed), Object.values(others));
      const { active, detail } = of(run, layer);
      if (REQUIRED.includes(layer)) assert.ok(active, detail);
      const { execve: replaced, ...refused } = active ? refusals(detail) : {};
      const expected = { ...unconfined(), ...refused };
      if (needed.some((other) => of(run, other).active) && expected.ptrace === 0) expected.ptrace = EPERM;
      assert.deepEqual(run.results, expected);
      assert.deepEqual(run.end, { exit: 0 });
      if (replaced !== undefined) {
        const { results } = await probe(allBut(layer, ...needed), [execve]);
        assert.deepEqual(results, { execve: replaced });
      }
    });
  }

  test('rlimits: nothing is written to a file', async () => {
    const run = await probe(allBut('rlimits'), [operations.open, operations.write]);
    assert.ok(of(run, 'rlimits').active);
    assert.deepEqual([run.results, run.end], [{ open: 0 }, { signal: SIGXFSZ }]);
  });

  test('rlimits: writable memory is bounded for every way to allocate it, and the limit cannot be raised', async () => {
    const asked = ['reserve 900', 'grow 900', 'raise'];
    const [without, alone] = [await probe(LAYERS, asked), await probe(allBut('rlimits', 'capabilities'), asked)];
    assert.deepEqual(without.results, { reserve: 0, grow: 0, raise: 0 });
    assert.ok(of(alone, 'rlimits').active);
    assert.deepEqual(alone.results, { reserve: ENOMEM, grow: ENOMEM, raise: EPERM });
    const within = await probe(allBut('rlimits'), ['reserve 300', 'grow 100']);
    assert.deepEqual(within.results, { reserve: 0, grow: 0 });
  });

  test('rlimits: threads are bounded even if the host is root', async () => {
    const layers = ['rlimits', 'ownUser', 'userNamespace'];
    const [without, alone] = [await probe(LAYERS, ['threads 300']), await probe(allBut(...layers), ['threads 300'])];
    assert.deepEqual(without.results, { threads: 0 });
    const counted = of(alone, 'rlimits').detail.includes('nproc');
    // Older kernels count for the whole user, and not at all for root.
    if (process.getuid() === 0 && of(alone, 'ownUser').active) assert.ok(counted, of(alone, 'rlimits').detail);
    assert.deepEqual(alone.results, { threads: counted ? EAGAIN : 0 });
    assert.deepEqual((await probe(allBut(...layers), ['threads 100'])).results, { threads: 0 });
  });

  test('ownUser: the child of root is not root, with or without namespaces', async () => {
    for (const layers of [['ownUser'], ['ownUser', 'userNamespace', 'pidNamespace', 'parentDeath']]) {
      const child = await waitingProbe(allBut(...layers));
      const [main] = threadsOf(child.pid);
      await child.kill();
      const root = process.getuid() === 0;
      for (const ids of [main.Uid, main.Gid]) {
        const found = ids.split('\t').map(Number);
        assert.equal(new Set(found).size, 1, ids);
        if (root) assert.ok(found[0] >= 65_534, ids);
        else assert.equal(found[0], process.getuid());
      }
      if (root) assert.equal(main.Groups.trim(), '');
    }
  });

  test('oomScore: the child is killed first', async () => {
    const child = await waitingProbe(allBut('oomScore'));
    const score = readFileSync(`/proc/${child.pid}/oom_score_adj`, 'utf8').trim();
    await child.kill();
    assert.equal(score, '1000');
  });

  test('utsNamespace: the host name is hidden', async () => {
    const name = hostname();
    const [without, alone] = [await probe(LAYERS, [`uname ${name}`]), await probe(allBut('utsNamespace', 'userNamespace'), ['uname sandbox'])];
    assert.deepEqual(without.results, { uname: 0 });
    assert.equal(alone.results.uname === 0, of(alone, 'utsNamespace').active);
  });

  test('seccomp: uncounted memory and information about the machine are refused', async () => {
    const MAP = { SHARED: 1, PRIVATE: 2, SHARED_VALIDATE: 3, ANONYMOUS: 0x20, GROWSDOWN: 0x100, HUGETLB: 0x40000 };
    const operation = (...flags) => `map ${flags.reduce((all, flag) => all | MAP[flag], MAP.ANONYMOUS)}`;
    const refused = [operation('SHARED'), operation('SHARED_VALIDATE'), operation('PRIVATE', 'GROWSDOWN'), operation('SHARED', 'HUGETLB'), operation('PRIVATE', 'HUGETLB')];
    for (const mapping of refused) assert.deepEqual((await probe(allBut('seccomp'), [mapping])).results, { map: ENOSYS }, mapping);
    const others = await probe(allBut('seccomp'), [operation('PRIVATE'), 'memfd', 'shmget', 'children', `uname ${hostname()}`, 'thread']);
    assert.deepEqual(others.results, { map: 0, memfd: ENOSYS, shmget: ENOSYS, children: ENOSYS, uname: ENOSYS, thread: 0 });
    const without = await probe(LAYERS, [operation('SHARED'), 'memfd', 'shmget', 'children']);
    assert.deepEqual(without.results, { map: 0, memfd: 0, shmget: 0, children: 0 });
    const limits = `limits ${bystander.pid}`;
    const asked = [await probe(LAYERS, [limits]), await probe(allBut('seccomp'), [limits]), await probe(allBut('seccomp'), ['limits 0'])];
    assert.deepEqual(asked.map(({ results }) => results.limits), [0, ENOSYS, 0]);
    assert.deepEqual((await probe(LAYERS, [operation('PRIVATE', 'GROWSDOWN')])).results, { map: 0 });
  });

  test('seccomp: the stack of the first thread cannot be moved and enlarged', async () => {
    // RLIMIT_DATA does not count a growing stack.
    const [without, alone] = [await probe(allBut('rlimits'), ['stack 2000']), await probe(allBut('rlimits', 'seccomp'), ['stack 2000'])];
    assert.deepEqual([without.results, alone.results], [{ stack: 0 }, { stack: ENOSYS }]);
  });

  test('seccomp: nor can it be moved together with memory below it', async () => {
    const [without, alone] = [await probe(allBut('rlimits'), ['stacks']), await probe(allBut('rlimits', 'seccomp'), ['stacks'])];
    // Linux moves one mapping at a time before 6.17.
    assert.ok([0, EFAULT].includes(without.results.stacks), JSON.stringify(without.results));
    assert.deepEqual(alone.results, { stacks: ENOSYS });
  });

  test('seccomp: priority-inheritance futexes are refused', async () => {
    const [WAKE, LOCK_PI, PRIVATE] = [1, 6, 128];
    for (const flags of [0, PRIVATE]) {
      const [lock, wake] = [`futex ${LOCK_PI | flags}`, `futex ${WAKE | flags}`];
      assert.deepEqual((await probe(LAYERS, [lock])).results, { futex: 0 });
      assert.deepEqual((await probe(allBut('seccomp'), [wake])).results, { futex: 0 });
      const refused = await probe(allBut('seccomp'), [lock]);
      assert.deepEqual([refused.results, refused.end], [{}, { signal: SIGSYS }]);
    }
  });

  test('without any layer, it inherits no open descriptors of its parent', async () => {
    const left = openSync('/etc/passwd');
    const child = await waitingProbe(LAYERS, { inherited: left });
    closeSync(left);
    const [parents, own] = [child.parent, child.pid].map((pid) => readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`)));
    await child.kill();
    assert.ok(parents.includes('/etc/passwd'), String(parents));
    // The connection, and the output: one of them may be open twice.
    assert.equal(new Set(own).size, 3, String(own));
  });

  test('capabilities: none', async () => {
    const child = await waitingProbe(allBut('capabilities'));
    const threads = threadsOf(child.pid);
    await child.kill();
    for (const thread of threads) assert.deepEqual([thread.CapEff, thread.CapPrm, thread.CapInh], Array(3).fill('0'.repeat(16)), thread.Name);
    // Running a program does not restore capabilities that are missing in this set. Only a process with CAP_SETPCAP can empty it.
    const [own] = threadsOf(process.pid);
    if (BigInt(`0x${own.CapEff}`) & (1n << 8n)) for (const thread of threads) assert.equal(thread.CapBnd, '0'.repeat(16), thread.Name);
  });

  test('noNewPrivileges: the flag is set', async () => {
    const [without, alone] = [await probe(LAYERS, ['privileges']), await probe(allBut('noNewPrivileges'), ['privileges'])];
    assert.ok(of(alone, 'noNewPrivileges').active);
    // This process may have been started with it.
    const inherited = readFileSync('/proc/self/status', 'utf8').includes('NoNewPrivs:\t1');
    assert.deepEqual([without.results, alone.results], [{ privileges: inherited ? EPERM : 0 }, { privileges: EPERM }]);
  });

  test('seccomp: files cannot be read, and system calls that only an attack makes end the process', async () => {
    const off = allBut('seccomp');
    const harmless = await probe(off, ['thread', operations.open, 'privileges']);
    assert.ok(of(harmless, 'seccomp').active, of(harmless, 'seccomp').detail);
    assert.deepEqual([harmless.results, harmless.end], [{ thread: 0, open: EPERM, privileges: ENOSYS }, { exit: 0 }]);
    const { open, ...others } = operations;
    // Urgent data on its own connection needs no descriptor, and has been used to attack kernels.
    const attacks = { ...others, oob: 'oob' };
    assert.deepEqual((await probe(LAYERS, ['oob'])).results, { oob: 0 });
    for (const [name, operation] of Object.entries(attacks)) {
      const { results, end } = await probe(off, [operation]);
      assert.deepEqual([name, results, end], [name, {}, { signal: SIGSYS }]);
    }
  });
});

describe('all layers', options, () => {
  test('apply, or report why they do not', async () => {
    const run = await probe([], ['thread', operations.open]);
    assert.deepEqual([...run.layers.keys()], LAYERS);
    for (const layer of LAYERS) of(run, layer);
    for (const layer of REQUIRED) assert.ok(of(run, layer).active, `${layer}: ${of(run, layer).detail}`);
    assert.equal(run.results.thread, 0);
    assert.equal(run.results.open, EPERM);
    assert.deepEqual(run.end, { exit: 0 });
  });

  test('end the process at every attack', async () => {
    const { open, ...attacks } = operations;
    for (const [name, operation] of Object.entries(attacks)) {
      const { results, end } = await probe([], [operation]);
      assert.deepEqual([name, results, end], [name, {}, { signal: SIGSYS }]);
    }
  });

  test('without the filter refuse the same, where the kernel supports them', async () => {
    const { execve, fork, ...others } = operations;
    const run = await probe(['seccomp'], Object.values(others));
    const holds = (...layers) => layers.some((layer) => of(run, layer).active);
    const { detail } = of(run, 'landlock');
    const refused = (name) => run.results[name] !== 0;
    assert.ok(refused('open'));
    assert.ok(refused('write'));
    assert.ok(refused('connect'));
    if (holds('userNamespace', 'pidNamespace', 'landlock')) assert.ok(refused('ptrace'));
    if (holds('pidNamespace') || detail.includes('signals')) assert.ok(refused('kill'));
    if (holds('mountNamespace', 'landlock')) {
      const { results } = await probe(['seccomp'], [execve]);
      assert.ok(results.execve > 0);
    }
  });

  test('match the kernel\'s state of every thread', async () => {
    const child = await waitingProbe([]);
    const threads = threadsOf(child.pid);
    assert.ok(threads.length > 1);
    for (const thread of threads) {
      assert.deepEqual([thread.NoNewPrivs, thread.Seccomp, thread.CapEff], ['1', '2', '0'.repeat(16)], thread.Name);
    }
    await child.kill();
  });
});

describe('a parent that is killed', options, () => {
  for (const [what, off] of [['with all layers', []], ['with no layer but that', allBut('parentDeath')]]) {
    test(`ends its child, ${what}`, async () => {
      const child = await waitingProbe(off);
      // A child that is dead, and waits to be reaped by the process that has inherited it, is gone.
      const isGone = () => {
        try {
          return readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1][0] === 'Z';
        } catch {
          return true;
        }
      };
      assert.ok(!isGone());
      const killed = child.kill();
      try {
        await until(isGone, 'the end of the child', ORPHANED_MS);
      } finally {
        if (!isGone()) process.kill(child.pid, 'SIGKILL');
      }
      await killed;
    });
  }
});
