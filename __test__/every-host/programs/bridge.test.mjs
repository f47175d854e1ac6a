// The wrapper that makes host functions look synchronous to a guest: shared memory, a Callback that is not awaited, and one that fetches
// the result. Written directly on `ivm`, like programs of isolated-vm's users.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { host } from '../../harness.mjs';

const { default: ivm } = await import('../../../index.mjs');

const MAX_WAIT = 20_000;

/** Runs `code` in a new isolate with `globals`, whose functions may return promises. Returns everything in one object. */
async function execute(code, globals, { timeout = 30_000, memoryLimit = 32 } = {}) {
  const start = Date.now();
  const isolate = new ivm.Isolate({ memoryLimit });
  const logs = [];
  try {
    const context = await isolate.createContext();
    const jail = context.global;
    await jail.set('global', jail.derefInto());
    await jail.set('__log', new ivm.Callback((...args) => {
      logs.push(args.join(' '));
    }));
    const sab = new SharedArrayBuffer(4);
    const signal = new Int32Array(sab);
    let answer;
    await jail.set('__sab', new ivm.ExternalCopy(sab).copyInto({ release: true }));
    await jail.set('__start', new ivm.Callback((name, json) => {
      const settle = (value) => {
        answer = JSON.stringify(value);
        Atomics.store(signal, 0, 1);
        Atomics.notify(signal, 0);
      };
      Promise.resolve().then(() => globals[name](...JSON.parse(json))).then((value) => settle({ value }), (error) => settle({ error: error.message }));
    }, { ignored: true }));
    await jail.set('__take', new ivm.Callback(() => answer));
    await context.evalClosure(`
      const signal = new Int32Array(__sab);
      const [start, take, log] = [__start, __take, __log];
      for (const name of $0) {
        globalThis[name] = (...args) => {
          Atomics.store(signal, 0, 0);
          start(name, JSON.stringify(args));
          if (Atomics.wait(signal, 0, 0, ${MAX_WAIT}) === 'timed-out') throw new Error('the host never answered');
          const { value, error } = JSON.parse(take());
          if (error !== undefined) throw new Error(error);
          return value;
        };
      }
      globalThis.console = { log: (...args) => log(...args.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))) };
      for (const name of ['__sab', '__start', '__take', '__log']) delete globalThis[name];
    `, [Object.keys(globals)], { arguments: { copy: true } });
    const script = await isolate.compileScript(`(async () => { ${code} })()`);
    const result = await script.run(context, { timeout, promise: true, copy: true, release: true });
    return { result, logs, durationMs: Date.now() - start };
  } catch (error) {
    return { result: null, error: error.message, logs, durationMs: Date.now() - start };
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

const later = (value, ms = 5) => new Promise((resolve) => {
  setTimeout(resolve, ms, value);
});

describe('a host function bridged by shared memory', () => {
  test('returns its result to the guest at once', async () => {
    const { result, error, logs } = await execute(`
      const user = fetchUser(7);
      console.log('got', user);
      return { name: user.name, awaited: (await fetchUser(8)).id, typeof: typeof user.then };
    `, { fetchUser: (id) => later({ id, name: `user ${id}` }) });
    assert.equal(error, undefined);
    assert.deepEqual(result, { name: 'user 7', awaited: 8, typeof: 'undefined' });
    assert.deepEqual(logs, ['got {"id":7,"name":"user 7"}']);
  });

  test('wakes the guest soon, in repeated calls', async () => {
    const { result, error, durationMs } = await execute(`
      let sum = 0;
      for (let i = 0; i < 100; i += 1) sum += add(sum, i);
      return sum;
    `, { add: async (_a, b) => b });
    assert.deepEqual([error, result], [undefined, 4950]);
    // Each wait ends only when the guest is woken.
    assert.ok(durationMs < 10_000, `${durationMs} ms`);
  });

  test('throws the host function\'s errors', async () => {
    const { result } = await execute(`
      try { fail(); } catch (error) { return error.message; }
    `, { fail: async () => {
      await later();
      throw new RangeError('no such user');
    } });
    assert.equal(result, 'no such user');
  });

  test('does not block the host', async () => {
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 2);
    const { result } = await execute('return slow();', { slow: () => later('done', 100) });
    clearInterval(ticking);
    assert.equal(result, 'done');
    assert.ok(turns > 5, `${turns} turns on ${host}`);
  });

  test('does not keep a stopped guest running', async () => {
    const { error } = await execute('for (;;);', {}, { timeout: 50 });
    assert.equal(error, 'Script execution timed out.');
    assert.equal((await execute('return 5', {})).result, 5);
  });

  test('in twelve isolates at once', async () => {
    const all = Array.from({ length: 12 }, (_, n) => execute('let all = ""; for (let i = 0; i < 5; i += 1) all += echo(i); return all;', { echo: (i) => later(`${n}${i}`, 1) }));
    assert.deepEqual((await Promise.all(all)).map(({ result, error }) => error ?? result), Array.from({ length: 12 }, (_, n) => [0, 1, 2, 3, 4].map((i) => `${n}${i}`).join('')));
  });
});
