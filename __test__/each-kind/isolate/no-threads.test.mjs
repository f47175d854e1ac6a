// A process that may have no more threads: guests that do not stop have used them up.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { host, run } from '../../harness.mjs';

const isLinux = process.platform === 'linux' && process.arch === 'x64';
/** Root's threads are not counted, so the process becomes another user. */
const skip = !isLinux || process.getuid() !== 0 || spawnSync('prlimit', ['--version']).status !== 0 || (host === 'deno' && 'Deno itself ends without threads');

test('a synchronous call still leaves a guest that does not stop', { skip, timeout: 200_000 }, async () => {
  const result = await run(`
    import { execFileSync } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    import { setgid, setuid } from 'node:process';
    const SPIN = '[].indexOf.call({ length: 2 ** 53 - 1 }, 1)';
    const codeOf = async (work) => { try { return await work(); } catch ({ code }) { return code; } };
    const [mine, others] = [0, 1].map(() => new ivm.Isolate({ memoryLimit: 16 }).createContextSync());
    for (const context of [mine, others]) context.evalSync('1');
    ivm.configureEngine({ terminationGrace: 100 });
    const threads = Number(/Threads:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=' + (threads + 20) + ':']);
    setgid(0x60000000 + process.pid);
    setuid(0x60000000 + process.pid);
    const found = new Set();
    for (let round = 0; round < 20 && !found.has('ERR_ISOLATE_LIMIT'); round += 1) {
      const guest = () => codeOf(async () => (await new ivm.Isolate({ memoryLimit: 8 }).createContext()).eval(SPIN, { deadline: 20 }));
      for (const code of await Promise.all(Array.from({ length: 4 }, guest))) found.add(code);
    }
    // The control: there are no more threads.
    console.log(found.has('ERR_ISOLATE_LIMIT'), ivm.engineStats().lostThreads > 5);
    const start = Date.now();
    console.log(await codeOf(() => mine.evalSync(SPIN, { deadline: 100 })), Date.now() - start < 20_000, await codeOf(() => others.evalSync('6 * 7')));
    process.exit(0);`, { timeout: 100_000 });
  const [control, outcome] = result.stdout.trim().split('\n');
  assert.equal(control, 'true true', result.stdout + result.stderr);
  // An isolate that V8 has a task for waits for a thread.
  assert.match(String(outcome), /^ERR_ISOLATE_(?:DEADLINE|UNRESPONSIVE) true (?:42|ERR_ISOLATE_LIMIT)$/, result.stdout + result.stderr);
  assert.equal(result.code, 0, result.stderr);
});

const IMPORTS = `
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    import { setgid, setuid } from 'node:process';
    const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });`;

/** Functions that forbid and permit more threads for this process, which becomes another user. */
const LIMITS = `
    const id = 0x60000000 + process.pid;
    /** Sets the limit when it is called. Only a process of the same user may do that, and by then there can be no new one. */
    const limit = (count) => {
      const waiting = spawn('sh', ['-c', 'read line; exec prlimit --pid ' + process.pid + ' --nproc=' + count + ':'], { stdio: ['pipe', 'inherit', 'inherit'], uid: id, gid: id });
      return async () => {
        waiting.stdin.end('\\n');
        await once(waiting, 'close');
      };
    };
    const [forbid, permit] = [limit(1), limit(500)];
    setgid(id);
    setuid(id);`;

test('isolates end once there are threads again', { skip, timeout: 100_000 }, async () => {
  const result = await run(`
    ${IMPORTS}
    const waitFor = async (holds) => {
      for (const end = Date.now() + 15_000; !holds() && Date.now() < end;) await sleep(10);
      return holds();
    };
    const guests = Array.from({ length: 8 }, () => {
      const guest = new ivm.Isolate({ memoryLimit: 8, warm: 0 });
      guest.createContextSync().evalSync('1');
      return guest;
    });
    ${LIMITS}
    // The threads of the pool end without work.
    console.log(await waitFor(() => ivm.engineStats().threads === 0));
    await forbid();
    // The control: there are no more threads.
    console.log(await new ivm.Isolate({ warm: 0 }).createContext().catch(({ code }) => code));
    const [first, second, ...others] = guests;
    const { alive } = ivm.engineStats();
    for (const guest of [first, second]) {
      guest.dispose();
      await sleep(50);
    }
    console.log(ivm.engineStats().alive === alive);
    await permit();
    console.log(await waitFor(() => ivm.engineStats().alive === alive - 2));
    for (const [index, guest] of others.entries()) {
      guest.dispose();
      if (!await waitFor(() => ivm.engineStats().alive === alive - 3 - index)) console.log('does not end', index);
    }
    console.log(ivm.engineStats().alive === alive - 8);
    process.exit(0);`, { timeout: 80_000 });
  assert.equal(result.stdout, 'true\nERR_ISOLATE_LIMIT\ntrue\ntrue\ntrue\n', result.stderr);
  assert.equal(result.code, 0, result.stderr);
});

// On a machine with two processors, V8 has one thread.
test('a thread of V8 that has stopped permanently is replaced once there are threads again', { skip: skip || (host === 'bun' && 'Bun itself needs more threads'), timeout: 150_000 }, async () => {
  const result = await run(`
    ${IMPORTS}
    const source = '(function (a, list, times) { let s = 0; for (let i = 0; i < times; i++) s += i & 3; if (times === 0) {'
      + Array.from({ length: 1_000 }, (_, i) => 's += list[' + i + '] | 0;').join('') + 'if (a) s++;'.repeat(1_000) + '} return s; })';
    const realm = await new ivm.Isolate({ memoryLimit: 8 }).createContext();
    const other = await new ivm.Isolate().createContext();
    await realm.eval('globalThis.list = Array.from({ length: 1000 }, (_, i) => i); globalThis.f = ' + source + '; for (let i = 0; i < 60; i++) f(i & 1, list, 0); 0');
    ${LIMITS}
    await forbid();
    let code;
    for (const end = Date.now() + 60_000; code === undefined && Date.now() < end;) {
      try {
        realm.evalSync('for (const end = Date.now() + 100; Date.now() < end;) { f(1, list, 20000); f(0, list, 0); }', { timeout: 20_000 });
      } catch (error) {
        code = error.code;
      }
      await sleep(1);
    }
    // The control: the thread that compiled for the guest was stopped.
    for (const end = Date.now() + 20_000; ivm.engineStats().lostThreads === 0 && Date.now() < end;) await sleep(10);
    console.log(code, ivm.engineStats().lostThreads);
    await permit();
    const compile = 'WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(String)';
    console.log(await other.eval(compile, { promise: true, deadline: 20_000 }).catch((error) => error.code));
    process.exit(0);`, { timeout: 120_000 });
  assert.equal(result.stdout, 'ERR_ISOLATE_MEMORY 1\n[object WebAssembly.Module]\n', result.stderr);
  assert.equal(result.code, 0, result.stderr);
});
