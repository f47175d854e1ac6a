// The counts of `engineStats()`, in processes of their own, where no other test has made isolates.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

/** What programs can use for the counts; `isolate` and `context` of the helper are one isolate. */
const PRELUDE = `
  const stats = () => ivm.engineStats();
  /** Waits until the counts are as expected. */
  const become = async (expected) => {
    const until = ms() + 10_000;
    const pick = ({ endings, ...stats }) => Object.fromEntries(Object.keys(expected).map((name) => [name, { ...endings, ...stats }[name]]));
    while (ms() < until && JSON.stringify(pick(stats())) !== JSON.stringify(expected)) await sleep(10);
    assert.deepEqual(pick(stats()), expected);
    const { made, alive, ended, endings } = stats();
    assert.deepEqual([alive + ended, Object.values(endings).reduce((sum, count) => sum + count)], [made, ended]);
  };
`.replaceAll('\n', ' ');

/** @param {string} code @param {Parameters<typeof passes>[1]} [settings] */
const counts = (code, settings) => passes(`${PRELUDE}${code}`, settings);

test('counters start at zero', async () => {
  const { stdout } = await run('console.log(JSON.stringify(ivm.engineStats()));');
  assert.deepEqual(JSON.parse(stdout), {
    made: 0,
    alive: 0,
    idle: 0,
    warm: 0,
    ended: 0,
    endings: { disposed: 0, collected: 0, outOfMemory: 0, environmentGone: 0, abandoned: 0 },
    threads: 0,
    lostThreads: 0,
    lostRunning: 0,
    lostBytes: 0,
    codeCacheBytes: 0,
    codeCacheHits: 0,
  });
});

test('isolates without work are idle', () => counts(`
  const others = [1, 2, 3].map(() => new ivm.Isolate());
  assert.equal(stats().made, 4);
  await become({ alive: 4, idle: 4 });
  let inside;
  context.evalClosureSync('$0()', [() => { inside = stats(); }]);
  assert.deepEqual([inside.alive, inside.idle, inside.threads > 0], [4, 3, true]);
  await become({ idle: 4 });
  assert.deepEqual([context.evalSync('1'), others.length], [1, 3]);`));

test('disposal', () => counts(`
  const others = [new ivm.Isolate(), new ivm.Isolate()];
  await become({ idle: 3 });
  isolate.dispose();
  others[0].dispose();
  await become({ made: 3, alive: 1, idle: 1, ended: 2, disposed: 2 });
  const running = others[1].createContextSync().eval('for (;;);');
  others[1].dispose();
  await errorOf(() => running);
  await become({ made: 3, alive: 0, idle: 0, ended: 3, disposed: 3, lostThreads: 0, lostBytes: 0 });`));

test('disposal of very many at once', () => counts(`
  const others = Array.from({ length: 300 }, () => new ivm.Isolate({ memoryLimit: 16 }));
  for (const other of others) other.createContextSync();
  await become({ alive: 301, idle: 301 });
  await become({ threads: 0 });
  for (const other of others) other.dispose();
  assert.ok(stats().threads < 10, stats().threads + ' threads');
  await become({ alive: 1, disposed: 300 });
  assert.equal(context.evalSync('1'), 1);`));

test('a sandbox is done with its isolate', () => counts(`
  const { result } = await ivm.createSandbox({}).execute('1 + 1');
  assert.equal(result, 2);
  await become({ made: 2, alive: 1, disposed: 1 });
  assert.equal(context.evalSync('1'), 1);`));

test('collection', () => counts(`
  const forget = () => { for (let i = 0; i < 20; i += 1) new ivm.Isolate().createContextSync(); };
  forget();
  assert.deepEqual([stats().made, stats().ended], [21, 0]);
  const until = ms() + 10_000;
  while (stats().endings.collected < 20 && ms() < until) {
    gc();
    await sleep(10);
  }
  // A conservative stack scan may keep one.
  const { collected } = stats().endings;
  assert.ok(collected === 20 || collected === 19, collected + ' collected');
  assert.equal(context.evalSync('1'), 1);`, { collects: true }));

test('memory limit', () => counts(`
  const error = syncError(() => context.evalSync('const kept = []; for (;;) kept.push({ a: Math.random() });'));
  assert.equal(error.code, 'ERR_ISOLATE_MEMORY');
  await become({ made: 1, alive: 0, ended: 1, outOfMemory: 1, lostThreads: 0, lostBytes: 0 });`, { options: '{ memoryLimit: 16 }' }));

test('memory exhaustion that V8 cannot recover from', () => counts(`
  const before = process.memoryUsage().rss;
  const error = syncError(() => context.evalSync('"a".repeat(2 ** 28).split("")'));
  assert.equal(error.code, 'ERR_ISOLATE_MEMORY');
  await become({ made: 1, alive: 0, ended: 1, outOfMemory: 1, lostThreads: 1 });
  const grown = process.memoryUsage().rss - before;
  assert.ok(Math.abs(stats().lostBytes - grown) < 64e6, stats().lostBytes + ' bytes of ' + grown);`));

/** Takes more and more while it cannot be stopped, some of it outside the heap: each name is also in a table of V8's. */
const GROWING = 'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })';

test('the memory of a lost thread, at any time', { skip: process.platform !== 'linux' && 'cannot be measured there' }, () => counts(`
  const { readFileSync } = await import('node:fs');
  const resident = () => Number(/^VmRSS:\\s+(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  const before = resident();
  ivm.configureEngine({ terminationGrace: 50 });
  const error = await errorOf(() => context.eval(${JSON.stringify(GROWING)}, { timeout: 10 }));
  assert.match(error.code, /^ERR_ISOLATE_(UNRESPONSIVE|MEMORY)$/);
  assert.equal(stats().lostThreads, 1);
  // It grows until it is suspended.
  const differences = [];
  for (const end = ms() + 6_000; stats().lostRunning > 0 && ms() < end; await sleep(10)) differences.push(resident() - before - stats().lostBytes);
  assert.ok(differences.length >= 5, String(differences));
  // What is free but not yet returned is not lost: for a moment that is a table of 64 MB that another has replaced.
  const worst = Math.max(...differences);
  assert.ok(worst < 96 * 2 ** 20, worst + ' bytes more');
  const usual = differences.toSorted((one, other) => one - other)[differences.length >> 1];
  assert.ok(Math.abs(usual) < 48 * 2 ** 20, usual + ' bytes more, most of the time');
  process.exit(console.log('the end of the program'));`, { options: '{ memoryLimit: 16 }', timeout: 60_000 }));

const STUCK = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';

test('a guest that does not stop', () => counts(`
  const error = syncError(() => context.evalSync(${JSON.stringify(STUCK)}, { timeout: 20 }));
  assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
  await become({ made: 1, alive: 0, ended: 1, abandoned: 1, lostThreads: 1 });
  assert.ok(stats().lostBytes >= 1_000_000, stats().lostBytes + ' bytes');
  otherWorks();
  await become({ made: 2, disposed: 1, abandoned: 1, lostThreads: 1 });
  process.exit(console.log('the end of the program'));`));

test('a disposed guest that does not stop', () => counts(`
  context.eval(${JSON.stringify(STUCK)}).catch(() => {});
  await runsOn();
  isolate.dispose();
  assert.equal(stats().alive, 1);
  await become({ made: 1, alive: 0, disposed: 1, abandoned: 0, lostThreads: 1 });
  process.exit(console.log('the end of the program'));`));

test('a thread that comes back is not lost', () => counts(`
  const search = (length, options) => context.evalSync('Array.prototype.lastIndexOf.call({ length: ' + length + ' }, 1)', options);
  // The shortest of several, because this machine may be busy.
  let shortest = Infinity;
  for (let i = 0; i < 6; i += 1) {
    const start = ms();
    search(1e6);
    shortest = Math.min(shortest, ms() - start);
  }
  // A caller's thread leaves a guest when it is abandoned.
  ivm.configureEngine({ syncCalls: 'thread' });
  // Twice as long as it takes to be abandoned. Two seconds after that it would be suspended.
  const length = Math.round(1e6 * 450 / shortest);
  ivm.configureEngine({ terminationGrace: 200 });
  const error = syncError(() => search(length, { timeout: 20 }));
  assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
  assert.equal(stats().lostThreads, 1);
  while (stats().lostThreads > 0) await sleep(50);
  await become({ made: 1, abandoned: 1, lostThreads: 0, lostBytes: 0 });`, { timeout: 60_000 }));

/** Each costs its thread while V8 has a string of hundreds of megabytes. */
const LARGE = {
  'a string that is parsed': "JSON.parse('['.repeat(2 ** 29 - 30))",
  'a string of wide characters that is parsed': String.raw`JSON.parse('["\u1234",'.repeat(2 ** 25))`,
  'a string that is split': "'a'.repeat(2 ** 28).split('')",
  'a string that is written': "JSON.stringify({ a: 'x'.repeat(2 ** 28) })",
};

for (const [name, code] of Object.entries(LARGE)) {
  test(`${name} is released by a lost thread`, { skip: process.platform !== 'linux' && 'stays there' }, () => counts(`
    const before = process.memoryUsage().rss;
    const error = syncError(() => context.evalSync(${JSON.stringify(code)}));
    assert.equal(error.code, 'ERR_ISOLATE_MEMORY');
    const until = ms() + 20_000;
    const figures = () => [stats().lostThreads, stats().lostRunning, stats().lostBytes < 220e6, process.memoryUsage().rss - before < 270e6];
    while (ms() < until && String(figures()) !== '1,0,true,true') await sleep(10);
    assert.deepEqual(figures(), [1, 0, true, true], stats().lostBytes + ' bytes');
    assert.equal(new ivm.Isolate().createContextSync().evalSync('JSON.parse("[1]")[0]'), 1);`, { options: '{ memoryLimit: 8 }', timeout: 60_000 }));
}
