// V8 starts with the first isolate. If the process has no memory or no threads for that, calls fail, and the host continues.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { run } from '../../harness.mjs';

const skip = process.platform !== 'linux' || spawnSync('prlimit', ['--version']).status !== 0;

/** What `code` prints in a process that may use this many more MB of data. `limit` changes that. */
async function outcome(more, code) {
  const result = await run(`
    import { execFileSync } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    const limit = (more) => {
      const now = Number(/VmData:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
      const soft = more === undefined ? 'unlimited' : now + more * 2 ** 20;
      execFileSync('prlimit', ['--pid', String(process.pid), '--data=' + soft + ':']);
    };
    const use = async () => {
      const context = await new ivm.Isolate({ memoryLimit: 64 }).createContext();
      return context.eval('6 * 7');
    };
    const answers = async (count) => {
      const settled = await Promise.allSettled(Array.from({ length: count }, use));
      return [...new Set(settled.map(({ value, reason }) => value ?? reason.code))].join();
    };
    limit(${more});
    ${code}
    process.exit(0);`, { timeout: 30_000 });
  assert.deepEqual({ code: result.code, timedOut: result.timedOut }, { code: 0, timedOut: false }, result.stdout + result.stderr);
  return result.stdout.trim().split('\n');
}

for (const count of [1, 10]) {
  test(`${count} isolates at a time, without memory for V8; with memory they work`, { skip }, async () => {
    const lines = await outcome(300, `
      console.log(await answers(${count}));
      limit();
      console.log(await answers(${count}));`);
    assert.deepEqual(lines, ['ERR_ISOLATE_MEMORY', '42']);
  });
}

test('synchronous calls', { skip }, async () => {
  const lines = await outcome(300, `
    for (let i = 0; i < 3; i += 1) {
      try { new ivm.Isolate().createContextSync(); console.log('made'); } catch ({ code }) { console.log(code); }
    }
    try { ivm.Isolate.createSnapshot([{ code: '1' }]); console.log('made'); } catch ({ code }) { console.log(code); }`);
  assert.deepEqual(lines, Array.from({ length: 4 }, () => 'ERR_ISOLATE_MEMORY'));
});

test('a snapshot of another process', { skip }, async () => {
  const { stdout } = await run(`
    const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.x = 1' }]).copy();
    console.log(Buffer.from(snapshot).toString('base64'));
    process.exit(0);`);
  const lines = await outcome(300, `
    const bytes = new Uint8Array(Buffer.from(${JSON.stringify(stdout.trim())}, 'base64'));
    try { new ivm.Isolate({ snapshot: new ivm.ExternalCopy(bytes.buffer) }); console.log('made'); } catch ({ code }) { console.log(code); }`);
  assert.deepEqual(lines, ['ERR_ISOLATE_MEMORY']);
});

/** Root's processes are not counted, so the process becomes another user. */
const skipThreads = skip || (process.getuid() !== 0 && 'only root can become another user');

/** What isolates give in a process that may have this many more threads, and what it prints to its error output. */
async function withThreads(more) {
  const result = await run(`
    import { execFileSync } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    const now = Number(/Threads:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=' + (now + ${more}) + ':']);
    process.setuid(0x60000000 + process.pid);
    const use = async () => {
      const isolate = new ivm.Isolate();
      const context = await isolate.createContext();
      return context.eval('for (const end = Date.now() + 5; Date.now() < end;); 6 * 7');
    };
    const settled = await Promise.allSettled(Array.from({ length: 100 }, use));
    console.log([...new Set(settled.map(({ value, reason }) => value ?? reason.code))].join());
    try { console.log(new ivm.Isolate().createContextSync().evalSync('for (;;);', { timeout: 50 })); } catch ({ code }) { console.log(code); }
    process.exit(0);`, { timeout: 60_000 });
  assert.deepEqual({ code: result.code, timedOut: result.timedOut }, { code: 0, timedOut: false }, result.stdout + result.stderr);
  return result.stdout.trim().split('\n');
}

test('without threads for V8', { skip: skipThreads, timeout: 200_000 }, async () => {
  assert.deepEqual(await withThreads(0), ['ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_LIMIT']);
  // One for the clock, one for the isolates, then those of V8.
  assert.deepEqual(await withThreads(1), ['ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_LIMIT']);
  assert.deepEqual(await withThreads(2), ['ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_LIMIT']);
  assert.deepEqual(await withThreads(60), ['42', 'ERR_ISOLATE_TIMEOUT']);
});

test('idle isolates wait while the system starts no threads, and keep their state', { skip: skipThreads, timeout: 100_000 }, async () => {
  const { stdout, stderr, code } = await run(`
    import { execFileSync, spawn } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    const user = 0x60000000 + process.pid;
    const TAKE = 'while read count; do taken=; while [ $count -gt 0 ]; do sleep 60 & taken="$taken $!"; count=$((count-1)); done; echo; read line; kill $taken; wait; echo; done';
    const other = spawn('setpriv', ['--reuid=' + user, '--regid=' + user, '--clear-groups', 'sh', '-c', TAKE], { stdio: ['pipe', 'pipe', 'inherit'] });
    const say = (text) => new Promise((resolve) => { other.stdout.once('data', resolve); other.stdin.write(text + '\\n'); });
    const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
    const threads = () => Number(/Threads:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=' + (threads() + 60)]);
    process.setuid(user);
    const contexts = [];
    for (let index = 0; index < 5; index += 1) {
      contexts.push(await new ivm.Isolate({ memoryLimit: 16 }).createContext());
      await contexts[index].eval('var state = ' + index);
    }
    while (ivm.engineStats().threads > 0) await sleep(20);
    await say(String(threads() + 80));
    const states = () => Promise.all(contexts.map((context) => context.eval('state').catch((error) => error.code)));
    const found = states();
    await sleep(300);
    console.log(await new ivm.Isolate().createContext().catch((error) => error.code));
    await say('');
    console.log((await found).join());
    console.log((await states()).join());
    other.kill();
    process.exit(0);`, { timeout: 60_000 });
  assert.deepEqual([stdout, code], ['ERR_ISOLATE_LIMIT\n0,1,2,3,4\n0,1,2,3,4\n', 0], stderr);
});
