// How sync calls on the caller's own thread end: by their limits, by disposal, and when the host exits.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { entry, run } from '../../harness.mjs';
import { ENDLESS, here, SKIP } from '../../isolate/caller.mjs';

/** A worker whose guest does not end. */
const WORKER = `
  const ivm = require(${JSON.stringify(entry)});
  const context = new ivm.Isolate().createContextSync();
  context.evalSync('1');
  require('node:worker_threads').parentPort.postMessage('begins');
  context.evalSync(${JSON.stringify(ENDLESS[0])});`;

/** The same, in a function of the host that another guest waits for. */
const NESTED_WORKER = `
  const ivm = require(${JSON.stringify(entry)});
  const [outer, context] = [1, 2].map(() => new ivm.Isolate().createContextSync());
  outer.global.setSync('host', new ivm.Callback(() => {
    require('node:worker_threads').parentPort.postMessage('begins');
    context.evalSync(${JSON.stringify(ENDLESS[0])});
  }));
  outer.evalSync('host()', { timeout: 60_000 });`;

const STOPPED = "['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY']";

/** A worker in which time limits of `node:vm` expire. */
const TIME_LIMIT = `
  const { parentPort } = require('node:worker_threads');
  const { runInNewContext } = require('node:vm');
  const ivm = require(${JSON.stringify(entry)});
  const context = new ivm.Isolate().createContextSync();
  context.global.setSync('host', new ivm.Callback((value) => value));
  const results = [];
  for (const [code, options] of [['for (;;);', {}], ['for (;;) try { host(1) } catch {}', { timeout: 30_000 }]]) {
    for (const syncCalls of ['thread', 'caller']) {
      ivm.configureEngine({ syncCalls });
      let ended;
      try { runInNewContext('run()', { run: () => context.evalSync(code, options) }, { timeout: 200 }); } catch (error) { ended = error.code; }
      results.push([ended, context.evalSync('6 * host(7)'), new ivm.Isolate().createContextSync().evalSync('6 * 7')]);
    }
  }
  parentPort.postMessage(results);`;

/** The source of a function that returns a sync call, whose guest waits for one that is busy, while timers of its own wake it. */
const WOKEN = `(ivm, syncCalls) => {
  ivm.configureEngine({ syncCalls });
  const [busy, context] = [1, 2].map(() => new ivm.Isolate().createContextSync());
  context.global.setSync('late', busy.evalSync('() => 1', { reference: true }));
  busy.eval('for (;;);', { deadline: 30_000 }).catch(() => {});
  context.evalSync('const cell = new Int32Array(new SharedArrayBuffer(4));');
  return () => context.evalSync('for (let i = 0; i < 5_000; i += 1) Atomics.waitAsync(cell, 0, 0, i * 4); late.applySync(undefined, [])', { deadline: 20_000 });
}`;

describe("the end of sync calls on the caller's thread", { skip: SKIP }, () => {
  for (const [reason, options, act, outcome] of [
    ['a deadline', '{ deadline: 50 }', '', 'ERR_ISOLATE_DEADLINE'],
    ['disposal', '{}', 'isolate.dispose();', 'ERR_ISOLATE_DISPOSED'],
    ['the memory limit', '{}', 'syncError(() => context.evalSync("const all = []; for (;;) all.push(new Array(1000).fill(1.5))"));', 'ERR_ISOLATE_MEMORY'],
  ]) {
    test(`end by ${reason} while the host runs`, () => here(`
      ivm.configureEngine({ terminationGrace: 50 });
      for (let round = 0; round < 2; round += 1) {
        const isolate = new ivm.Isolate({ memoryLimit: 32 });
        const context = isolate.createContextSync();
        context.global.setSync('wait', () => { ${act} block(600); return 'value'; });
        assert.equal(syncError(() => context.evalSync('wait()', ${options})).code, '${outcome}');
        otherWorks();
        assert.equal(isolate.isDisposed, ${outcome !== 'ERR_ISOLATE_DEADLINE'});
        if (!isolate.isDisposed) assert.equal(context.evalSync('1 + 1'), 2);
      }
      assert.equal(ivm.engineStats().endings.abandoned, 0);`));
  }

  for (const syncCalls of ['thread', 'caller']) {
    test(`end when a guest on another thread disposes of their isolate, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}', terminationGrace: 50 });
      // None of them has a limit.
      for (const code of ['for (;;);', 'for (;;) host(1)', 'for (;;) try { peer.applySync(undefined, []) } catch {}', ${JSON.stringify(ENDLESS[0])}]) {
        const guest = new ivm.Isolate();
        const realm = guest.createContextSync();
        realm.global.setSync('host', new ivm.Callback((n) => n));
        realm.global.setSync('peer', context.evalSync('() => 1', { reference: true }));
        const other = new ivm.Isolate();
        const elsewhere = other.createContextSync();
        elsewhere.global.setSync('guest', guest);
        const disposes = elsewhere.eval('for (const end = Date.now() + 50; Date.now() < end; ); guest.dispose(); 7');
        const since = ms();
        assert.equal(syncError(() => realm.evalSync(code)).code, 'ERR_ISOLATE_DISPOSED', code);
        assert.ok(ms() - since < 10_000, code);
        assert.equal(guest.isDisposed, true);
        assert.equal(await disposes, 7);
        other.dispose();
        otherWorks();
      }
      assert.equal(context.evalSync('6 * 7'), 42);`));
  }

  test('end by their timeout, which stands still while the host runs', () => here(`
    for (let round = 0; round < 5; round += 1) {
      assert.throws(() => context.evalSync('for (;;);', { timeout: 20 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      assert.equal(context.evalSync('1'), 1);
    }
    context.global.setSync('wait', () => { block(30); });
    assert.equal(context.evalSync('for (let i = 0; i < 10; i += 1) wait(); 3', { timeout: 200 }), 3);`));

  test('return when they are stopped, and what they have left continues elsewhere', () => here(`
    // Longer than a guest runs without a pause.
    context.evalSync(\`
      const log = [];
      const busy = (time) => { for (const end = Date.now() + time; Date.now() < end; ); };\`);
    assert.throws(() => context.evalSync('Promise.resolve().then(() => { busy(700); log.push("left"); }); for (;;);', { timeout: 1_000 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    // Before anything that comes later.
    assert.equal(context.evalSync('log.push("next"); log.join()'), 'left,next');
    assert.equal(await context.eval('log.push("last"); log.join()'), 'left,next,last');
    assert.deepEqual([isolate.isDisposed, ivm.engineStats().endings.abandoned], [false, 0]);
    // V8 stops neither.
    ivm.configureEngine({ terminationGrace: 20 });
    const guest = new ivm.Isolate().createContextSync();
    guest.global.setSync('host', new ivm.Callback(() => {}));
    const begins = ms();
    assert.throws(() => guest.evalSync('Promise.resolve().then(() => { ' + ${JSON.stringify(ENDLESS[0])} + ' }); for (;;) host();', { deadline: 4_000 }), { code: 'ERR_ISOLATE_DEADLINE' });
    assert.ok(ms() - begins < 6_000, String(ms() - begins));
    otherWorks();`));

  test('limit what follows the end of a stopped call', () => here(`
    let module;
    const guest = new ivm.Isolate({ importModuleDynamically: () => module });
    const realm = guest.createContextSync();
    module = guest.compileModuleSync('await waiting; for (;;);');
    await module.instantiate(realm, () => {});
    realm.evalSync('const log = []; let go; const waiting = new Promise((resolve) => { go = resolve; }); globalThis.waiting = waiting;');
    await realm.eval('import("").catch((error) => { log.push(error.message); for (;;); }); 0', { timeout: 100 });
    // On this thread: others return the isolate when they have been without work for a moment.
    await sleep(100);
    // What is left loops. Then the import fails, and what handles that loops, too.
    assert.throws(() => realm.evalSync('go(); for (;;);', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    // If a call comes before that, it runs within that call.
    let log;
    for (let calls = 0; calls < 5 && log === undefined; calls += 1) log = await realm.eval('log.join()', { deadline: 2_000 }).catch(() => undefined);
    assert.equal(log, 'Module was stopped while it was evaluated');
    otherWorks();`));

  test('return without a guest that does not stop', () => here(`
    ivm.configureEngine({ terminationGrace: 20 });
    for (const code of ${JSON.stringify(ENDLESS)}) {
      for (let round = 0; round < 3; round += 1) {
        const guest = new ivm.Isolate();
        const error = syncError(() => guest.createContextSync().evalSync(code, { timeout: 20 }));
        assert.ok(${STOPPED}.includes(error.code), error.stack);
        otherWorks();
        assert.equal(context.evalSync('6 * 7'), 42);
      }
    }
    // Also below a function of the host, and below another guest.
    const nested = new ivm.Isolate().createContextSync();
    context.global.setSync('nested', new ivm.Callback(() => {
      assert.ok(${STOPPED}.includes(syncError(() => nested.evalSync(${JSON.stringify(ENDLESS[0])}, { timeout: 20 })).code));
      return 8;
    }));
    assert.equal(context.evalSync('nested() + 1'), 9);
    assert.ok(ivm.engineStats().endings.abandoned > 0);`));

  test('leave the arithmetic units of the processor as they were', () => here(`
    ivm.configureEngine({ terminationGrace: 10 });
    const [x, y] = [1e308, 3e-308];
    const expected = x % y;
    // V8 does not stop code without loops and calls. Most of the time is spent in the loop of instructions for one \`%\`.
    const code = '(' + String.raw\`(x, y) => { let sum = 0; \${'sum += x % y;'.repeat(100_000)} return sum; }\` + ')';
    for (let round = 0; round < 40 && ivm.engineStats().endings.abandoned < 10; round += 1) {
      const guest = new ivm.Isolate({ memoryLimit: 256 }).createContextSync();
      guest.evalSync('const remainders = ' + code + '; remainders(1, 1)');
      assert.ok(${STOPPED}.includes(syncError(() => guest.evalSync('remainders(1e308, 3e-308)', { timeout: 2 })).code));
    }
    assert.ok(ivm.engineStats().endings.abandoned >= 10);
    assert.deepEqual(Array.from({ length: 8 }, () => x % y), Array(8).fill(expected));
    assert.deepEqual(context.evalSync('Array.from({ length: 8 }, () => 1e308 % 3e-308)', { copy: true }), Array(8).fill(expected));`));

  const CAN_BLOCK = spawnSync('env', ['--block-signal', 'true']).status === 0;

  test('return although the process was created with blocked signals', { skip: !CAN_BLOCK && '`env` cannot block signals' }, () => {
    const code = `
      const ivm = require(${JSON.stringify(entry)});
      ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 20 });
      const context = new ivm.Isolate().createContextSync();
      context.evalSync('1');
      try { context.evalSync(${JSON.stringify(ENDLESS[0])}, { timeout: 20 }); } catch (error) { console.log(error.code); }
      process.exit(0);`;
    const { status, stdout, stderr } = spawnSync('env', ['--block-signal', process.execPath, '-e', code], { timeout: 20_000, killSignal: 'SIGKILL', encoding: 'utf8' });
    assert.deepEqual([status, stdout], [0, 'ERR_ISOLATE_UNRESPONSIVE\n'], stderr);
  });

  for (const [where, code] of [['', WORKER], [' in a function that a call with a limit waits for', NESTED_WORKER]]) {
    test(`without a limit, let their worker be terminated${where}`, () => here(`
      const { Worker } = await import('node:worker_threads');
      const worker = new Worker(${JSON.stringify(code)}, { eval: true });
      await new Promise((resolve) => { worker.once('message', resolve); });
      await sleep(300);
      const since = ms();
      await worker.terminate();
      assert.ok(ms() - since < 10_000);
      otherWorks();`));
  }

  for (const syncCalls of ['thread', 'caller']) {
    test(`end by the deadline of a call that waits for them, and not by its timeout, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const nested = new ivm.Isolate().createContextSync();
      const codes = [];
      const busy = '{ const end = Date.now() + 300; while (Date.now() < end); } 5';
      context.global.setSync('nest', new ivm.Callback((limits, code) => {
        try { return nested.evalSync(code, JSON.parse(limits)); } catch (error) { codes.push(error.code); return 0; }
      }));
      for (const limits of ['{}', '{ "timeout": 20000 }', '{ "deadline": 20000 }']) {
        const since = ms();
        assert.equal(syncError(() => context.evalSync('nest(' + JSON.stringify(limits) + ', "for (;;);")', { deadline: 100 })).code, 'ERR_ISOLATE_DEADLINE');
        assert.ok(ms() - since < 10_000, limits);
        assert.equal(context.evalSync('nest(' + JSON.stringify(limits) + ', ' + JSON.stringify(busy) + ')', { timeout: 100 }), 5);
      }
      assert.equal(context.evalSync('nest(' + JSON.stringify('{ "timeout": 50 }') + ', "for (;;);") + 1', { deadline: 20_000 }), 1);
      assert.deepEqual(codes, ['ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_TIMEOUT']);
      otherWorks();`));

    test(`stop at the next call of their host, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      let calls = 0;
      context.global.setSync('take', new ivm.Callback(() => { calls += 1; }));
      context.global.setSync('refer', new ivm.Reference(() => { calls += 1; }));
      const rounds = new Int32Array(new SharedArrayBuffer(4));
      context.global.setSync('shared', new ivm.ExternalCopy(rounds.buffer).copyInto());
      // Reading the text takes most of the guest's time. By itself, V8 would run such loops thousands of times more.
      context.evalSync('const rounds = new Int32Array(shared), text = "x".repeat(100_000); /y/.test(text)');
      for (const call of ['take(text)', 'take({ text })', 'refer.applySync(undefined, [text])'].flatMap((each) => Array(4).fill(each))) {
        const before = calls - rounds[0];
        assert.throws(() => context.evalSync('for (;;) { ' + call + '; rounds[0] += 1; }', { timeout: 20 }), { code: 'ERR_ISOLATE_TIMEOUT' });
        assert.ok(calls - rounds[0] - before >= 0, call + ' ' + [calls, rounds[0], before]);
      }`));

    test(`end by a time limit of \`node:vm\`, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const { runInNewContext } = await import('node:vm');
      const nested = new ivm.Isolate().createContextSync();
      context.global.setSync('host', new ivm.Callback((value) => value));
      context.global.setSync('nest', new ivm.Callback(() => nested.evalSync('for (;;) try { host(1) } catch {}', { timeout: 30_000 })));
      nested.global.setSync('host', new ivm.Callback((value) => value));
      context.global.setSync('endless', new ivm.Callback(() => { for (;;); }));
      context.global.setSync('refer', new ivm.Reference(() => { for (;;); }));
      // The time of a guest stands still while its host runs.
      const loops = ['for (;;);', 'for (;;) try { host(1) } catch {}', 'for (;;) try { host({}) } catch {}', 'for (;;) try { nest() } catch {}',
        'for (;;) try { endless() } catch {}', 'for (;;) try { refer.applySync(undefined, []) } catch {}'];
      for (const code of loops) {
        const since = ms();
        const run = () => context.evalSync(code, { timeout: 30_000 });
        assert.throws(() => runInNewContext('run()', { run }, { timeout: 200 }), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
        assert.ok(ms() - since < 15_000, code);
        otherWorks();
        assert.equal(context.evalSync('6 * host(7)'), 42);
      }`));

    test(`end by a time limit of \`node:vm\` also after one that the host has waited out, and the isolate's thread, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const { runInNewContext } = await import('node:vm');
      context.global.setSync('endless', new ivm.Callback(() => { for (;;); }));
      for (const [code, timeout] of [['endless()', 400], ['for (;;);', 200], ['endless()', 400], ['for (;;);', 200]]) {
        const run = () => context.evalSync(code, { timeout: 20_000 });
        const since = ms();
        assert.throws(() => runInNewContext('run()', { run }, { timeout }), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
        assert.ok(ms() - since < 10_000, code);
        // V8 forgets what it was requested to do when a thread leaves the isolate.
        assert.equal(await context.eval('6 * 7'), 42);
        await sleep(100);
      }`));

    test(`end by a time limit of \`node:vm\` although their guest is woken again and again while it waits, with '${syncCalls}'`, () => here(`
      const { runInNewContext } = await import('node:vm');
      const call = (${WOKEN})(ivm, '${syncCalls}');
      const since = ms();
      assert.throws(() => runInNewContext('call()', { call }, { timeout: 200 }), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
      assert.ok(ms() - since < 10_000, String(ms() - since));
      otherWorks();`));
  }

  test('end at their memory limit in built-in functions that do not stop, long before the memory for unwinding is used up', () => here(`
    const { readFileSync } = await import('node:fs');
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    ivm.configureEngine({ terminationGrace: 60_000 });
    const before = peak();
    for (const code of ['"x".repeat(1e7).replace(/x/g, "$&$&$&$&$&$&$&$&$&$&$&")', 'JSON.parse("[" + "[1],".repeat(2e7) + "1]")']) {
      assert.throws(() => new ivm.Isolate({ memoryLimit: 16 }).createContextSync().evalSync(code), { code: 'ERR_ISOLATE_MEMORY' });
      otherWorks();
    }
    assert.ok(peak() - before < 600, peak() - before + ' MB more');`));

  test('end by a time limit of `node:vm` in a worker, which continues', () => here(`
    const { Worker } = await import('node:worker_threads');
    const worker = new Worker(${JSON.stringify(TIME_LIMIT)}, { eval: true });
    const [results] = await (await import('node:events')).once(worker, 'message');
    assert.deepEqual(results, Array(4).fill(['ERR_SCRIPT_EXECUTION_TIMEOUT', 42, 42]));
    await worker.terminate();`));

  test('and the host exits in the middle of them', async () => {
    for (const [code, program] of [
      [7, "context.global.setSync('leave', () => { process.exit(7); }); context.evalSync('leave()');"],
      [8, "const inner = new ivm.Isolate().createContextSync(); inner.global.setSync('leave', () => { process.exit(8); }); context.global.setSync('call', () => inner.evalSync('leave()')); context.evalSync('call()');"],
    ]) {
      const prelude = "const isolate = new ivm.Isolate(); const context = isolate.createContextSync(); ivm.configureEngine({ syncCalls: 'caller' });";
      const result = await run(`${prelude}\n${program}`, { timeout: 30_000 });
      assert.deepEqual([result.code, result.signal], [code, null], result.stderr);
    }
  });
});
