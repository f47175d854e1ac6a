// Guests that send more than their host reads. Messages of other isolates overtake theirs, and their own stay in order.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** The maximum milliseconds for work of other isolates, on a machine whose processors this process has to itself. */
const MAX_MS = 500;

const PRELUDE = `
  import { Gaps, watchDelays } from ${JSON.stringify(new URL('../../hostile/measure.mjs', import.meta.url).href)};
  /** Milliseconds that \`run\` takes, less what other processes cause. */
  const timeOf = async (run) => {
    const delays = watchDelays();
    const start = ms();
    await run();
    const time = ms() - start;
    const { host, others } = delays();
    return time - host - others;
  };
  const within = async (name, max, run) => {
    const time = await timeOf(run);
    assert.ok(time <= max, name + ' took ' + Math.round(time) + ' ms');
  };
  let other = new ivm.Isolate();
  const there = other.createContextSync();
  let got = [];
  const until = async (condition) => { while (!condition()) await sleep(2); };
  /** Code of a value that takes a host long to read, and a guest that has it as \`big\`. */
  const big = (count) => 'Array.from({ length: ' + count + ' }, (_, i) => ({ i, a: [i] }))';
  const prepare = async (context, name, count) => {
    await context.global.set('send', new ivm.Callback((value) => { got.push(name + (typeof value === 'object' ? '' : value)); }, { ignored: true }));
    await context.eval('globalThis.big = ' + big(count) + '; 0');
  };
  /** Starts a guest that sends endlessly. The host reads nothing until a dozen messages wait. The outcome is in a list, so that it is not awaited. */
  const flood = async (context, options) => {
    const counter = new Int32Array(new SharedArrayBuffer(4));
    await context.global.set('counter', new ivm.ExternalCopy(counter.buffer).copyInto());
    const outcome = errorOf(() => context.eval('const sent = new Int32Array(counter); for (;;) { send(big); Atomics.add(sent, 0, 1); }', options));
    while (Atomics.load(counter, 0) < 12) block(5);
    return [outcome];
  };
  const made = async (name, count) => {
    const isolate = new ivm.Isolate({ memoryLimit: 128 });
    const context = await isolate.createContext();
    await prepare(context, name, count);
    return { isolate, context };
  };
`;

const LARGE = 300_000;
const run = (code) => passes(`${PRELUDE}\n${code}\nprocess.exitCode = 0;`, { options: '{ memoryLimit: 128 }', timeout: 120_000 });

describe('other isolates are not delayed', () => {
  test('results, deadlines, sandboxes and the event loop', () => run(`
    await prepare(context, 'A', ${LARGE});
    const [ended] = await flood(context, { deadline: 60_000 });
    const gaps = new Gaps();
    for (let i = 0; i < 5; i += 1) await within('1 + 1', ${MAX_MS}, async () => assert.equal(await there.eval('1 + 1'), 2));
    await within('a deadline', ${MAX_MS} + 100, async () => {
      assert.equal((await errorOf(() => there.eval('for (;;);', { deadline: 100 }))).code, 'ERR_ISOLATE_DEADLINE');
    });
    await within('a timeout', ${MAX_MS} + 100, async () => {
      assert.equal((await errorOf(() => there.eval('for (;;);', { timeout: 100 }))).code, 'ERR_ISOLATE_TIMEOUT');
    });
    await there.global.set('call', (value) => value + 1);
    await within('a callback', ${MAX_MS}, async () => assert.equal(await there.eval('call(1) + call(2)'), 5));
    await within('a sandbox', ${MAX_MS} + 50, () => ivm.createSandbox({}, { timeout: 50 }).execute('1 + 1'));
    const { error } = await ivm.createSandbox({}, { timeout: 5_000 }).execute('1 + 1');
    assert.equal(error, undefined);
    const gap = gaps.take();
    gaps.stop();
    assert.ok(gap <= ${MAX_MS}, 'the event loop stood still for ' + gap + ' ms');
    isolate.dispose();
    assert.equal((await ended).code, 'ERR_ISOLATE_DISPOSED');`));

  test('many messages that are fast to read, but too many to read in time', () => run(`
    await prepare(context, 'A', 3_000);
    const [ended] = await flood(context, { deadline: 60_000 });
    for (let i = 0; i < 10; i += 1) await within('1 + 1', ${MAX_MS}, async () => assert.equal(await there.eval('1 + 1'), 2));
    isolate.dispose();
    await ended;`));

  test('small messages that the host handles slowly', () => run(`
    const sent = new Int32Array(new SharedArrayBuffer(8));
    const shared = new ivm.ExternalCopy(sent.buffer);
    const calls = [[context, () => { got.push('A'); block(2); }], [there, () => { got.push('B'); }]];
    for (const [each, call] of calls) {
      await each.global.set('sent', shared.copyInto());
      await each.global.set('send', new ivm.Callback(call, { ignored: true }));
    }
    // All of that is sent before the host takes any.
    const all = [context.eval('for (let i = 0; i < 300; i += 1) send(); Atomics.store(new Int32Array(sent), 0, 1)')];
    while (Atomics.load(sent, 0) === 0) block(5);
    all.push(there.eval('send(); Atomics.store(new Int32Array(sent), 1, 1)'));
    while (Atomics.load(sent, 1) === 0) block(5);
    await until(() => got.includes('B'));
    assert.ok(got.indexOf('B') < 30, String(got.indexOf('B')));
    await Promise.all(all);
    assert.equal(got.length, 301);`));

  test('isolates that send large values take turns', () => run(`
    const a = await made('A', ${LARGE});
    const b = await made('B', ${LARGE} / 10);
    const floods = [a, b].map(({ context }) => errorOf(() => context.eval('for (;;) send(big);', { deadline: 60_000 })));
    await until(() => got.filter((name) => name === 'A').length >= 2);
    const counts = ['A', 'B'].map((name) => got.filter((other) => other === name).length);
    assert.ok(counts[1] > counts[0], counts.join());
    for (const { isolate } of [a, b]) isolate.dispose();
    await Promise.all(floods);`));
});

describe('imports of a module that cannot be linked', () => {
  test('a call that makes many of them reaches its deadline', () => run(`
    let module;
    let asked = 0;
    const importing = new ivm.Isolate({ memoryLimit: 128, importModuleDynamically: (specifier) => {
      asked += 1;
      if (specifier !== 'large') throw new Error('there is no ' + specifier);
      return module;
    } });
    const inside = await importing.createContext();
    module = await importing.compileModule(Array.from({ length: 50_000 }, (_, index) => 'import"' + index + '";').join(''));
    await within('the deadline', ${MAX_MS} + 1_000, async () => {
      const code = 'for (let i = 0; i < 200; i += 1) import("large").catch(() => {}); new Promise(() => {})';
      assert.equal((await errorOf(() => inside.eval(code, { promise: true, deadline: 1_000 }))).code, 'ERR_ISOLATE_DEADLINE');
    });
    // Each that was imported has asked for its first import.
    assert.ok(asked > 0 && asked <= 400, String(asked));
    importing.dispose();`));
});

describe('the same isolate', () => {
  test('keeps its order, independent of others', () => run(`
    await prepare(context, 'A', ${LARGE});
    await there.global.set('send', new ivm.Callback((value) => { got.push('B' + value); }, { ignored: true }));
    const first = context.eval('send(1); send(big); send(2); send(big); send(3); big.length').then((length) => { got.push('A ' + length); });
    const second = context.eval('send(4); 5').then((value) => { got.push('A ' + value); });
    // All of that is sent before the host takes any.
    block(2_000);
    const third = there.eval('send(6); 7').then((value) => { got.push('B ' + value); });
    await Promise.all([first, second, third]);
    assert.deepEqual(got.filter((name) => /^A\\d?$/.test(name)), ['A1', 'A', 'A2', 'A', 'A3', 'A4']);
    assert.deepEqual(got.filter((name) => name.startsWith('A ')), ['A ${LARGE}', 'A 5']);
    assert.ok(got.indexOf('A ${LARGE}') > got.indexOf('A3') && got.indexOf('A 5') > got.indexOf('A4'), got.join());
    assert.deepEqual(got.filter((name) => name.startsWith('B')), ['B6', 'B 7']);
    assert.ok(got.indexOf('B 7') < got.indexOf('A3'), got.join());`));

  test('waits when a thousand messages are queued, of any size', () => run(`
    const sent = new Int32Array(new SharedArrayBuffer(4));
    await context.global.set('sent', new ivm.ExternalCopy(sent.buffer).copyInto());
    await context.global.set('send', new ivm.Callback(() => {}, { ignored: true }));
    const ended = errorOf(() => context.eval('const count = new Int32Array(sent); for (;;) { send(); Atomics.add(count, 0, 1); }'));
    while (Atomics.load(sent, 0) < 900) block(5);
    // Sending ten thousand messages takes less time.
    block(500);
    assert.ok(Atomics.load(sent, 0) <= 1_100, String(Atomics.load(sent, 0)));
    isolate.dispose();
    assert.equal((await ended).code, 'ERR_ISOLATE_DISPOSED');`));

  test('reaches its deadline before its messages are read, which are then dropped', () => run(`
    await prepare(context, 'A', ${LARGE});
    const ended = errorOf(() => context.eval('send(1); for (;;) send(big);', { deadline: 1_200 }));
    // Much is sent before the host takes any.
    block(1_600);
    await within('the deadline', ${MAX_MS}, async () => assert.equal((await ended).code, 'ERR_ISOLATE_DEADLINE'));
    assert.ok(got.length <= 2, got.join());
    const before = got.length;
    assert.equal(got[0], 'A1');
    await within('the next call', ${MAX_MS}, async () => assert.equal(await context.eval('send(2); 3'), 3));
    assert.deepEqual(got.slice(before), ['A2']);
    await context.eval('send(big)');
    assert.deepEqual(got.slice(before), ['A2', 'A']);`));

  test('pending calls settle at their deadline', () => run(`
    let called = 0;
    await context.global.set('take', new ivm.Callback(() => { called += 1; }));
    await context.global.set('later', new ivm.Callback(() => { called += 1; }, { async: true }));
    await context.eval('globalThis.big = ' + big(${LARGE}) + '; 0');
    for (const code of ['for (;;) take(big);', 'globalThis.waiting = []; for (;;) { waiting.push(later(big)); waiting.at(-1).catch(() => {}); }']) {
      await within(code, ${MAX_MS} + 1_500, async () => {
        assert.equal((await errorOf(() => context.eval(code, { deadline: 1_500 }))).code, 'ERR_ISOLATE_DEADLINE');
      });
      const before = called;
      assert.equal(await context.eval('1'), 1);
      assert.equal(called, before);
    }
    // The promise that another call may await does not stay pending.
    await context.eval('Promise.allSettled(waiting).then((all) => all.length)', { promise: true });`));

  test('is released when it is disposed', () => run(`
    await prepare(context, 'A', ${LARGE});
    const [ended] = await flood(context, { deadline: 60_000 });
    await sleep(20);
    isolate.dispose();
    const before = got.length;
    await within('the error', ${MAX_MS}, async () => assert.equal((await ended).code, 'ERR_ISOLATE_DISPOSED'));
    await within('another', ${MAX_MS}, async () => assert.equal(await there.eval('1'), 1));
    for (let i = 0; i < 20; i += 1) await there.eval('1');
    assert.equal(got.length, before);`));

  test('of a sandbox reaches its timeout', () => run(`
    let called = 0;
    const sandbox = ivm.createSandbox({ f: () => { called += 1; }, async later() { called += 1; } }, { timeout: 1_200, memoryLimit: 128 });
    for (const name of ['f', 'later']) {
      await within(name, ${MAX_MS} + 1_200, async () => {
        const { error } = await sandbox.execute('const big = ' + big(${LARGE}) + '; for (;;) ' + name + '(big)');
        assert.match(error, /timed out/);
      });
    }
    const before = called;
    assert.equal(await there.eval('1'), 1);
    assert.equal(called, before);`));

  test('delivers a few messages after its end', () => run(`
    await prepare(context, 'A', 10);
    context.evalSync('send(1); send(big.concat(big, big)); send("x".repeat(20_000)); send(2)');
    isolate.dispose();
    await until(() => got.length >= 4);
    assert.deepEqual(got.map((name) => name.slice(0, 2)), ['A1', 'A', 'Ax', 'A2']);
    // What a guest sends before it ends by itself is not lost, however much it is.
    got = [];
    const sandbox = ivm.createSandbox({}, { onLog: (entry) => { got.push(entry.message.length); }, maxLogLength: 100_000 });
    assert.equal((await sandbox.execute('for (let i = 0; i < 20; i += 1) console.log("x".repeat(50_000)); 1')).error, undefined);
    assert.deepEqual(got, Array(20).fill(50_000));`));
});

test('a result without a waiting caller is not read', () => run(`
  await context.eval('globalThis.big = ' + big(${LARGE}) + '; 0');
  const get = (options) => context.eval('big', { copy: true, ...options });
  const whole = await timeOf(get);
  const controller = new AbortController();
  await context.global.set('soon', new ivm.Callback(() => { setTimeout(() => controller.abort(), 1); }, { ignored: true }));
  const aborted = errorOf(() => context.eval('soon(); big', { copy: true, signal: controller.signal }));
  const rest = Array.from({ length: 5 }, () => errorOf(() => get({ signal: controller.signal })));
  await aborted;
  const after = await timeOf(async () => assert.equal(await context.eval('1'), 1));
  await Promise.all(rest);
  // Making the five takes time too, except for those that have not begun.
  assert.ok(after < whole + ${MAX_MS}, after + ' ms after one that takes ' + whole);`));
