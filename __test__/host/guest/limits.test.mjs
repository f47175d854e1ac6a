// How a call's limits apply to everything that its guest causes: later in its own isolate, and in isolates that it has made.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const SETUP = `
  for (const [name, value] of Object.entries({ ivm, isolate, context })) context.global.setSync(name, value);
  const LIMITS = { timeout: 50 };
  const outcomeOf = (call) => { try { return call(); } catch (error) { return error.code + ' ' + error.message; } };
  /** The guest, and the isolate that it keeps as \\\`room\\\`, are free again before long. */
  const isFree = async () => {
    assert.equal(await context.eval('6 * 7', { deadline: 5_000 }), 42);
    if (context.evalSync('typeof room') === 'object') {
      assert.equal(await context.eval('room.eval("6 * 7")', { promise: true, deadline: 5_000 }), 42);
    }
  };
  context.evalSync('globalThis.makeRoom = () => { globalThis.room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync(); }; 1');
  /** The share of a processor that is used. */
  const busy = async (time) => {
    const before = process.cpuUsage();
    await sleep(time);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / time;
  };
  const becomesIdle = async () => {
    for (let turn = 0; turn < 50; turn += 1) if (await busy(200) < 0.5) return;
    assert.fail('work continues');
  };
`.replaceAll(/\n\s*/g, '\n').replaceAll('\\`', '`');

const check = (code, settings) => passes(SETUP + code, { timeout: 60_000, ...settings });

describe('the limits of a call hold for', () => {
  const BEGUN = {
    'a sync call': 'makeRoom(); room.evalSync("for (;;);")',
    'an asynchronous call': 'makeRoom(); room.eval("for (;;);"); 1',
    'an ignored call': 'makeRoom(); room.evalIgnored("for (;;);"); 1',
    'a continuation of an asynchronous call': 'makeRoom(); room.eval("1").then(() => { for (;;); }); 1',
    'reactions to a promise there': 'makeRoom(); room.eval("Promise.resolve().then(() => { for (;;); })", { promise: true }); 1',
    'a wait for memory there': 'makeRoom(); room.eval("Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5).value.then(() => { for (;;); })"); 1',
    'an own Reference': 'new ivm.Reference(() => { for (;;); }).applyIgnored(); 1',
    'its own context': 'context.evalIgnored("for (;;);"); 1',
    'a Script': 'makeRoom(); isolate.compileScriptSync("for (;;);").runIgnored(context); 1',
    'a function of another guest': 'makeRoom(); room.evalSync("() => { for (;;); }")()',
    'a Reference of another guest': 'makeRoom(); room.evalSync("() => { for (;;); }", { reference: true }).applyIgnored(); 1',
    'a module there': 'makeRoom(); const m = isolate.compileModuleSync("for (;;);"); m.instantiateSync(context, () => {}); m.evaluateSync()',
    'a resolver of imports': 'const m = isolate.compileModuleSync("import(\'x\').catch(() => {})"); m.instantiateSync(context, () => { for (;;); }); m.evaluateSync(); 1',
    'a resolver of imports, later': 'const m = isolate.compileModuleSync("import(\'x\').catch(() => {})"); m.instantiateSync(context, async () => { await 0; for (;;); }); m.evaluateSync(); 1',
    'what follows on a host\'s answer': 'answer().then(() => { for (;;); }); 1',
    'thenables': 'makeRoom(); Object.defineProperty(Object.prototype, "then", { configurable: true, get() { delete Object.prototype.then; for (;;); } }); room.eval("({})", { copy: true }); 1',
  };
  for (const [what, code] of Object.entries(BEGUN)) {
    test(what, () => check(`
      context.global.setSync('answer', new ivm.Callback(() => 1, { async: true }));
      assert.match(String(outcomeOf(() => context.evalSync(${JSON.stringify(code)}, LIMITS))), /^(1|undefined|ERR_ISOLATE_TIMEOUT Script execution timed out\\.)$/);
      await isFree();
      await becomesIdle();
    `));
  }

  test('the callback of an isolate that is lost', () => check(`
    assert.equal(outcomeOf(() => context.evalSync(\`
      const lost = new ivm.Isolate({ memoryLimit: 8, onCatastrophicError() { globalThis.notified = true; for (;;); } });
      lost.createContextSync().evalIgnored('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 20 });
      1;
    \`, { timeout: 1_000 })), 1);
    while (!(await context.eval('globalThis.notified === true', { deadline: 10_000 }))) await sleep(20);
    await isFree();
  `));

  test('each of many abandoned calls', () => check(`
    assert.equal(outcomeOf(() => context.evalSync('makeRoom(); for (let n = 0; n < 4; n += 1) room.evalIgnored("for (;;);"); 1', { timeout: 300 })), 1);
    const free = context.eval('room.eval("6 * 7")', { promise: true, deadline: 30_000 });
    assert.equal(await free, 42);
  `));
});

describe('work that continues without a call ends with the isolate', () => {
  const PERPETUAL = {
    'in the guest': 'globalThis.again = "for (let n = 0; n < 1e6; n += 1); context.evalIgnored(again)"; context.evalIgnored(again); 1',
    'in isolates it has created': 'for (let n = 0; n < 3; n += 1) { makeRoom(); room.global.setSync("room", room); room.evalSync("globalThis.again = \'for (let n = 0; n < 1e6; n += 1); room.evalIgnored(again)\'; room.evalIgnored(again)"); } 1',
    'in isolates that these have created': 'makeRoom(); room.global.setSync("ivm", ivm); room.evalSync("const room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync(); room.global.setSync(\'room\', room); room.evalSync(\'globalThis.again = `for (let n = 0; n < 1e6; n += 1); room.evalIgnored(again)`; room.evalIgnored(again)\')"); 1',
  };
  for (const [where, code] of Object.entries(PERPETUAL)) {
    test(where, () => check(`
      assert.equal(outcomeOf(() => context.evalSync(${JSON.stringify(code)}, { timeout: 20_000 })), 1);
      const { user } = process.cpuUsage();
      await waitFor(() => process.cpuUsage().user - user > 100_000);
      isolate.dispose();
      await becomesIdle();
    `));
  }
});

describe('a guest cannot exceed its limits by', () => {
  test('nested isolates', () => check(`
    const count = context.evalClosureSync(\`
      let count = 0;
      const code = 'let count = 0; try { for (;; count += 1) kept.push(new ivm.Isolate({ memoryLimit: 8 })); } catch {} count';
      for (let n = 0; n < 3; n += 1) {
        makeRoom();
        room.global.setSync('ivm', ivm);
        count += 1 + room.evalSync('globalThis.kept = []; ' + code);
        if (count >= 16) break;
      }
      return count;
    \`);
    assert.equal(count, 16);
  `));

  test('isolates that the host uses', () => check(`
    for (let round = 0; round < 30; round += 1) {
      const made = context.evalSync('made = new ivm.Isolate({ memoryLimit: 8 })');
      const inner = made.createContextSync();
      inner.global.setSync('ivm', ivm);
      // It is the host's call, but the guest's isolates.
      assert.equal(inner.evalSync('globalThis.kept = []; let outcome; try { for (;;) kept.push(new ivm.Isolate({ memoryLimit: 8 })); } catch (error) { outcome = error.code + kept.length; } outcome'), 'ERR_ISOLATE_LIMIT15');
      assert.equal(context.evalSync('try { new ivm.Isolate({ memoryLimit: 8 }); } catch (error) { error.code }'), 'ERR_ISOLATE_LIMIT');
      // The isolate's thread, still warm from the last call, is often faster than this one.
      made.dispose();
      // They ended with their creator.
      assert.equal(context.evalSync('list = []; for (let n = 0; n < 16; n += 1) list.push(new ivm.Isolate({ memoryLimit: 8 })); list.length'), 16);
      context.evalSync('for (const each of list) each.dispose()');
    }
    assert.equal(ivm.engineStats().endings.collected, 0);
  `));

  test('passing isolates to others', () => check(`
    const other = new ivm.Isolate();
    const elsewhere = other.createContextSync();
    const made = context.evalSync('globalThis.kept = []; for (let n = 0; n < 16; n += 1) kept.push(new ivm.Isolate({ memoryLimit: 8 })); kept[0]');
    elsewhere.global.setSync('made', made);
    elsewhere.evalSync('globalThis.room = made.createContextSync(); 1');
    assert.equal(context.evalSync('kept = []; let outcome; try { for (let n = 0; n < 16; n += 1) kept.push(new ivm.Isolate({ memoryLimit: 8 })); } catch (error) { outcome = error.code; } outcome'), 'ERR_ISOLATE_LIMIT');
    // They end with their creator, regardless of which guest holds them.
    isolate.dispose();
    assert.equal(elsewhere.evalSync('made.isDisposed'), true);
    assert.equal(elsewhere.evalSync('let seen; try { room.evalSync("1"); } catch (error) { seen = error.code; } seen'), 'ERR_ISOLATE_DISPOSED');
    other.dispose();
  `));

  test('dropping isolates', () => check(`
    context.evalSync(\`
      globalThis.kept = [];
      for (let n = 0; n < 2; n += 1) {
        kept.push(new ivm.Isolate({ memoryLimit: 8 }));
        kept[n].createContextSync().evalIgnored('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 20 });
      }
      1;
    \`);
    while (!context.evalSync('kept.every(({ isDisposed }) => isDisposed)')) await sleep(50);
    // Their threads are still there.
    assert.equal(context.evalSync('kept = []; let outcome; try { for (let n = 0; n < 16; n += 1) kept.push(new ivm.Isolate({ memoryLimit: 8 })); } catch (error) { outcome = error.code + kept.length; } outcome'), 'ERR_ISOLATE_LIMIT14');
  `));

  test('concurrent disposal and creation', () => check(`
    const made = [0, 1, 2].map(() => context.evalSync('new ivm.Isolate({ memoryLimit: 8 })'));
    const code = 'let max = 0; for (let n = 0; n < 60; n += 1) { const list = []; try { for (;;) list.push(new ivm.Isolate({ memoryLimit: 8 })); } catch {} max = Math.max(max, list.length); for (const each of list) each.dispose(); } max';
    const all = await Promise.all(made.map(async (each) => {
      const room = await each.createContext();
      await room.global.set('ivm', ivm);
      return room.eval(code, { deadline: 40_000 });
    }));
    for (const max of all) assert.ok(max <= 13, all.join());
    // No place is lost.
    for (const each of made) each.dispose();
    assert.equal(context.evalSync('const list = []; for (let n = 0; n < 16; n += 1) list.push(new ivm.Isolate({ memoryLimit: 8 })); list.length'), 16);
  `));

  test('creating contexts', () => check(`
    assert.match(context.evalSync('const made = new ivm.Isolate({ memoryLimit: 8 }); let outcome; try { for (let n = 0; n < 10000; n += 1) made.createContextSync(); } catch (error) { outcome = error.message; } String(outcome)'), /memory limit/);
    otherWorks();
  `));
});
