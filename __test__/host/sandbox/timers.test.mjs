// `setTimeout` and the other timer functions in all sandboxes: where they are available, how they match hosts, and the result of floods of
// them.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { IsolatedVmSandbox, manifest, rememberingLogger } from '../../sandbox/plugin-helper.mjs';

const { createSandbox, IsolatedVMSandbox } = ivm;
const NAMES = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask'];
const TYPES = `return [${NAMES.map((name) => `typeof ${name}`)}]`;
const ALL = NAMES.map(() => 'function');
const NONE = NAMES.map(() => 'undefined');
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

const run = (code, options = {}, globals = {}) => createSandbox(globals, { timers: true, ...options }).execute(code);
async function resultOf(code, options, globals) {
  const outcome = await run(code, options, globals);
  assert.equal(outcome.error, undefined);
  return outcome.result;
}
async function errorOf(code, options, globals) {
  const outcome = await run(code, options, globals);
  assert.equal(typeof outcome.error, 'string', JSON.stringify(outcome));
  return outcome;
}

describe('timers: availability', () => {
  test('createSandbox: only with `timers`', async () => {
    assert.deepEqual((await createSandbox({}).execute(TYPES)).result, NONE);
    assert.deepEqual((await createSandbox({}, { timers: false }).execute(TYPES)).result, NONE);
    assert.deepEqual((await createSandbox({}, { timers: true }).execute(TYPES)).result, ALL);
    assert.throws(() => createSandbox({}, { timers: 1 }), { code: 'ERR_INVALID_ARG', message: '`timers` must be a boolean' });
  });

  test('IsolatedVMSandbox: always', async () => {
    assert.deepEqual((await new IsolatedVMSandbox().execute(TYPES, [], async () => {})).result, ALL);
  });

  test('IsolatedVmSandbox: only with `timers`', async () => {
    for (const [options, types] of [[undefined, NONE], [{}, NONE], [{ timers: true }, ALL]]) {
      const sandbox = new IsolatedVmSandbox(undefined, options);
      const isolate = await sandbox.createIsolate(manifest());
      const code = `(() => { ${TYPES} })()`;
      assert.deepEqual(await sandbox.executeInSandbox(isolate, code, {}), types);
      assert.deepEqual(await sandbox.executeInSandbox(isolate, code, {}, { fresh: true }), types);
      sandbox.disposeAll();
    }
    assert.throws(() => new IsolatedVmSandbox(undefined, { timers: 'yes' }), { code: 'ERR_INVALID_ARG', message: '`timers` must be a boolean' });
  });
});

describe('timers: behavior', () => {
  test('in order of their times, with their arguments', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      setTimeout((...args) => seen.push(args), 300, 'last', { a: 1 });
      setTimeout((...args) => seen.push(args), 100, 'second');
      setImmediate((...args) => seen.push(args), 'first', 1, 2);
      queueMicrotask((...args) => seen.push(['microtask', ...args]));
      seen.push('sync');
      await new Promise((done) => setTimeout(done, 600));
      return seen;
    `), ['sync', ['microtask'], ['first', 1, 2], ['second'], ['last', { a: 1 }]]);
  });

  test('ids clear, also as strings; other values do nothing', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      const timeout = setTimeout(() => seen.push('timeout'), 1);
      const interval = setInterval(() => seen.push('interval'), 1);
      const immediate = setImmediate(() => seen.push('immediate'));
      clearTimeout(timeout); clearInterval(String(interval)); clearImmediate(immediate);
      for (const wrong of [undefined, null, -1, 1e9, NaN, 'x', {}, [], () => {}, Symbol(), 1n, { valueOf() { throw 1; } }]) clearTimeout(wrong);
      await new Promise((done) => setTimeout(done, 20));
      return [seen, typeof timeout, timeout > 0 && interval > timeout && immediate > interval];
    `), [[], 'number', true]);
  });

  test('an interval repeats until it is cleared, also from inside', async () => {
    assert.deepEqual(await resultOf(`
      let ticks = 0;
      await new Promise((done) => { const id = setInterval((step) => { ticks += step; if (ticks === 6) { clearInterval(id); done(); } }, 1, 2); });
      await new Promise((done) => setTimeout(done, 10));
      return ticks;
    `), 6);
  });

  test('a timer that is cleared when it is due does not run', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      const first = setTimeout(() => { seen.push('first'); clearTimeout(second); }, 1);
      const second = setTimeout(() => seen.push('second'), 1);
      const until = Date.now() + 30; while (Date.now() < until);
      await new Promise((done) => setTimeout(done, 10));
      return seen;
    `), ['first']);
  });

  test('delays are those of hosts', async () => {
    const times = await resultOf(`
      const elapsed = (delay) => new Promise((done) => { const since = Date.now(); setTimeout(() => done(Date.now() - since), delay); });
      return Promise.all([undefined, 0, -5, NaN, 'x', Infinity, 2 ** 31, '30', { valueOf: () => 30 }].map(elapsed));
    `);
    assert.deepEqual(times.map((time, index) => (index < 7 ? time < 1_000 : time >= 29)), times.map(() => true), String(times));
  });

  test('wrong callbacks and delays', async () => {
    assert.deepEqual(await resultOf(`
      const errors = [];
      for (const call of [() => setTimeout(), () => setInterval('1'), () => setImmediate(null), () => queueMicrotask({}),
        () => setTimeout(() => {}, Symbol()), () => setTimeout(() => {}, { valueOf() { throw new RangeError('mine'); } }), () => new setTimeout(() => {})]) {
        try { call(); errors.push('none'); } catch (error) { errors.push(error.name); }
      }
      return errors;
    `), ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError', 'RangeError', 'TypeError']);
  });

  test('an error of a callback ends the execution', async () => {
    for (const set of ['setTimeout(f)', 'setInterval(f, 1)', 'setImmediate(f)', 'queueMicrotask(f)', 'setTimeout(async () => f())']) {
      const { error, failure } = await errorOf(`const f = () => { throw new RangeError('inside'); }; ${set}; await new Promise(() => {})`);
      assert.deepEqual([set, error, failure.name], [set, 'inside', 'RangeError']);
    }
  });
});

describe('timers: under limits', () => {
  test('the timeout covers waiting for them, and their callbacks', async () => {
    for (const code of ['await new Promise((done) => setTimeout(done, 1e6))', 'setTimeout(() => { for (;;); }); await new Promise(() => {})',
      'setInterval(() => {}, 1); await new Promise(() => {})', '(function f() { setImmediate(f); })(); await new Promise(() => {})',
      '(function f() { queueMicrotask(f); })(); await new Promise(() => {})']) {
      const { error } = await errorOf(`if (1) { ${code} }`, { timeout: 150 });
      assert.equal(error, 'Execution timed out after 150ms', code);
    }
  });

  test('at most 1,000 are pending', async () => {
    assert.deepEqual(await resultOf(`
      const ids = [];
      let error;
      try { for (;;) ids.push(setTimeout(() => {}, 1e6)); } catch (thrown) { error = thrown; }
      const full = [error.name, error.message, ids.length];
      clearTimeout(ids.pop());
      ids.push(setImmediate(() => {}));
      return full;
    `), ['RangeError', 'Too many timers are pending', 1_000]);
  });

  test('timers that are cleared when they are due are pending until then', async () => {
    assert.deepEqual(await resultOf(`
      const fill = () => {
        for (let made = 0; made < 3_000; made += 1) {
          try { clearImmediate(setImmediate(() => { throw new Error('it was cleared'); })); } catch (error) { return [error.name, error.message, made]; }
        }
        return 'any number';
      };
      const later = new Promise((done) => { setTimeout(done, 1); });
      const first = fill();
      // It may be due while \`fill\` runs, before what that has set. A timer that is set now is after all of it.
      await later;
      await new Promise((done) => { setTimeout(done, 1); });
      return [first, fill()];
    `), [999, 1_000].map((count) => ['RangeError', 'Too many timers are pending', count]));
  });

  test('arguments count against the memory limit', async () => {
    const { error } = await errorOf(`
      const many = new Array(60_000).fill(0);
      for (let index = 0; index < 900; index += 1) setTimeout(() => {}, 1e6, ...many, index);
      await new Promise(() => {});
    `, { memoryLimit: 32, timeout: 20_000 });
    assert.equal(error, 'Isolate was disposed during execution due to memory limit');
  });

  test('floods neither delay the host nor use its memory', async () => {
    const flood = `
      for (let index = 0; index < 990; index += 1) setInterval(() => {}, 0);
      (function f() { setImmediate(f); })();
      await new Promise(() => {});
    `;
    const before = process.memoryUsage().rss;
    const executions = Array.from({ length: 4 }, () => run(`if (1) { ${flood} }`, { timeout: 1_000 }));
    let turns = 0;
    const ticking = setInterval(() => { turns += 1; }, 1);
    const outcomes = await Promise.all(executions);
    clearInterval(ticking);
    for (const { error } of outcomes) assert.equal(error, 'Execution timed out after 1000ms');
    assert.ok(turns > 10, `${turns} turns`);
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 150 * 2 ** 20, `${grown} bytes`);
  });

  test('no timer fires after the end', async () => {
    let calls = 0;
    await resultOf('setInterval(tick, 1); tick(); return 1', {}, { tick: () => { calls += 1; } });
    const seen = calls;
    await sleep(30);
    assert.equal(calls, seen);
  });

  test('a guest that replaces built-ins has no effect', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      for (const name of ['next', 'return']) Object.defineProperty(Object.prototype, name, { get() { seen.push(name); }, configurable: true });
      Object.defineProperty(Array.prototype, 0, { get() { seen.push('get'); }, set() { seen.push('set'); }, configurable: true });
      Function.prototype.call = Function.prototype.apply = () => seen.push('call');
      const value = await new Promise((done) => { setTimeout(done, 1, 'argument'); });
      delete Array.prototype[0];
      return [value, seen.length];
    `), ['argument', 0]);
  });
});

describe('timers of plugins', () => {
  async function plugin(logger, more) {
    const sandbox = new IsolatedVmSandbox(logger, { timers: true });
    const isolate = await sandbox.createIsolate(manifest(more));
    return { sandbox, isolate, execute: (code, options, context = {}) => sandbox.executeInSandbox(isolate, code, context, options) };
  }

  test('an execution waits for its timers; remaining ones run until its deadline', async () => {
    const { sandbox, execute } = await plugin();
    assert.equal(await execute("new Promise((done) => setTimeout(done, 5, 'waited'))"), 'waited');
    const start = performance.now();
    await execute('var ticks = 0; setInterval(() => { ticks += 1; }, 1); 0', { deadline: 400 });
    while (await execute('ticks') === 0) assert.ok(performance.now() - start < 10_000, 'no tick');
    let [ticks, last, changed] = [0, performance.now(), performance.now()];
    while (last - changed < 100) {
      await sleep(20);
      const now = await execute('ticks');
      last = performance.now();
      if (now !== ticks) changed = last;
      ticks = now;
      assert.ok(last - start < 10_000, 'the ticks do not end');
    }
    // At most the last tick is late.
    assert.ok(changed - start > 300, `the ticks end after ${changed - start} ms`);
    sandbox.disposeAll();
  });

  test('a callback can use the processor time of an execution; more ends it or the plugin', async () => {
    const logger = rememberingLogger();
    const { sandbox, isolate, execute } = await plugin(logger, { limits: { cpuMs: 100 } });
    await execute('setTimeout(() => { for (;;); }, 1); 0');
    for (let turn = 0; turn < 200 && logger.of('error').length === 0; turn += 1) await sleep(20);
    const [[, message, error, fields]] = logger.of('error');
    assert.deepEqual([message, error.code, fields.reason], ['Plugin timer failed', 'ERR_ISOLATE_TIMEOUT', 'Plugin execution exceeded 100ms timeout']);
    assert.equal(await execute('1'), 1);
    await execute('setInterval(() => { const until = Date.now() + 40; while (Date.now() < until); }, 60); 0');
    for (let turn = 0; turn < 500 && sandbox.getActiveIsolateCount() > 0; turn += 1) await sleep(20);
    assert.equal(sandbox.getActiveIsolateCount(), 0);
    await assert.rejects(sandbox.executeInSandbox(isolate, '1', {}), { name: 'NotFoundError' });
  });

  test('errors of callbacks are logged', async () => {
    const logger = rememberingLogger();
    const { sandbox, execute } = await plugin(logger);
    await execute("setTimeout(() => { throw new TypeError('thrown'); }); queueMicrotask(() => { throw 'text'; }); setImmediate(async () => { throw new Error('rejected'); }); 0");
    for (let turn = 0; turn < 200 && logger.of('error').length < 3; turn += 1) await sleep(20);
    const errors = logger.of('error').map(([, message, error]) => [message, error.name, error.message]);
    assert.deepEqual(errors.toSorted(), [
      ['Plugin timer failed', 'Error', 'rejected'], ['Plugin timer failed', 'Error', 'text'], ['Plugin timer failed', 'TypeError', 'thrown'],
    ]);
    assert.equal(await execute('1'), 1);
    sandbox.disposeAll();
  });

  test('a flood of failures does not delay the host', async () => {
    const logger = rememberingLogger();
    const { sandbox, execute } = await plugin(logger);
    await execute("for (let index = 0; index < 1_000; index += 1) setInterval(() => { throw new Error('x'.repeat(1e6)); }, 1); 0", { deadline: 700 });
    const since = performance.now();
    await sleep(50);
    assert.ok(performance.now() - since < 5_000);
    // Until the deadline has passed and nothing more comes.
    let [count, changed] = [0, since];
    for (let now = since; now - changed < 200 || now - since < 700 || count === 0; now = performance.now()) {
      assert.ok(now - since < 10_000, `${count} failures`);
      await sleep(20);
      const { length } = logger.of('error');
      if (length !== count) changed = performance.now();
      count = length;
    }
    assert.ok(count <= 10_000, `${count} failures`);
    assert.ok(logger.of('error').every(([, , error]) => error.message.length <= 1_000));
    sandbox.disposeAll();
  });

  test('no timer fires in a disposed plugin', async () => {
    const logger = rememberingLogger();
    const { sandbox, isolate, execute } = await plugin(logger);
    await execute("setInterval(() => { console.log('tick'); }, 1); 0");
    sandbox.dispose(isolate);
    await sleep(20);
    const said = logger.entries.length;
    await sleep(50);
    assert.equal(logger.entries.length, said);
    assert.equal(logger.of('error').length, 0);
  });
});
