// Remaining work of a stopped or abandoned guest does not block others.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const HANG = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';

describe('after a guest was stopped', () => {
  test('capturing its stack can run out of memory, and other timeouts still apply', () => passes(`
    const code = \`
      let call = () => { for (;;); };
      for (let i = 0; i < 9; i++) {
        const inner = call;
        call = { ['f' + i]() { return inner(); } }['f' + i];
        Object.defineProperty(call, 'name', { value: 'abcdefgh'.repeat(2 ** 20) + i });
      }
      call();\`;
    const error = await errorOf(() => context.eval(code, { timeout: 300 }));
    assert.ok(['ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_UNRESPONSIVE'].includes(error.code), error.stack);
    const other = new ivm.Isolate().createContextSync();
    const start = ms();
    await assert.rejects(other.eval('for (;;);', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.ok(ms() - start < 5_000, String(ms() - start));`, { options: '{ memoryLimit: 32 }' }));
});

describe('a stopped run', () => {
  test('leaves no microtasks and no rejections', () => passes(`
    const code = \`
      Promise.reject({ get message() { for (;;); } });
      Promise.resolve().then(() => { globalThis.ran = true; for (;;); });
      for (;;);\`;
    for (const call of [() => context.eval(code, { timeout: 30 }), () => context.eval(code, { deadline: 30 })]) {
      const start = ms();
      const error = await errorOf(call);
      assert.match(error.code, /TIMEOUT|DEADLINE/);
      assert.ok(ms() - start < 5_000, String(ms() - start));
      // Remaining work has its own limit, and ends with it.
      assert.equal(context.evalSync('globalThis.ran'), true);
    }
    const error = syncError(() => context.evalSync('Promise.reject({ get message() { for (;;); } }); 0', { timeout: 30 }));
    assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT');
    assert.equal(context.evalSync('1 + 1'), 2);`));

  test('that was aborted and has no limits ends', () => passes(`
    const controller = new AbortController();
    context.global.setSync('started', new ivm.Callback(() => { controller.abort(); }, { ignored: true }));
    const call = context.eval('(async () => { for (;;) await 0 })(); started(); for (;;);', { signal: controller.signal });
    assert.equal((await errorOf(() => call)).name, 'AbortError');
    const start = ms();
    assert.equal(context.evalSync('1 + 1'), 2);
    assert.ok(ms() - start < 5_000, String(ms() - start));`));

  test('lets promises of other calls settle', () => passes(`
    let inner;
    // A promise without a deadline does not keep the process alive.
    const alive = setInterval(() => {}, 1000);
    context.global.setSync('nest', () => { inner = context.evalSync('(async () => { await 0; return 7 })()', { promise: true }); });
    assert.equal(syncError(() => context.evalSync('nest(); for (;;);', { timeout: 50 })).code, 'ERR_ISOLATE_TIMEOUT');
    assert.equal(await inner, 7);
    const earlier = context.evalSync('let go; const gate = new Promise((resolve) => { go = resolve; }); (async () => { await gate; return 8 })()', { promise: true });
    assert.equal(syncError(() => context.evalSync('go(); for (;;);', { timeout: 50 })).code, 'ERR_ISOLATE_TIMEOUT');
    assert.equal(await earlier, 8);
    clearInterval(alive);`));

  test('reading a rejection does not affect the next call', () => passes(`
    const error = syncError(() => context.evalSync(\`
      Promise.reject({ get message() { Promise.resolve().then(() => { for (;;); }); Promise.reject(1); return 'x'; } }); 0\`, { timeout: 100 }));
    assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT');
    const start = ms();
    assert.equal(context.evalSync('1 + 1'), 2);
    assert.ok(ms() - start < 1_000, String(ms() - start));`));

  test('a queued continuation gets its whole deadline', () => passes(`
    context.global.setSync('later', new ivm.Callback(() => 5, { async: true }));
    await context.eval('globalThis.got = 0; later().then((value) => { got = value; }); 0', { deadline: 100 });
    await Promise.allSettled([context.eval('for (;;);', { timeout: 300 }), sleep(10)]);
    assert.equal(await context.eval('got'), 5);`));

  test('a queued call has one deadline, not two', () => passes(`
    const busy = errorOf(() => context.eval('for (;;);', { timeout: 1_000 }));
    const start = ms();
    const error = await errorOf(() => context.eval('for (;;);', { deadline: 1_200 }));
    assert.equal(error.code, 'ERR_ISOLATE_DEADLINE');
    assert.ok(ms() - start < 2_000, String(ms() - start));
    await busy;`));
});

describe('after a guest was abandoned', () => {
  test('its promises fail with the reason', () => passes(`
    const promise = context.eval('new Promise(() => {})', { promise: true });
    const [error] = await Promise.all([errorOf(() => promise), errorOf(() => context.eval(${JSON.stringify(HANG)}, { timeout: 50 }))]);
    assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');`));
});

describe('a call fails with the reason why its isolate has ended', () => {
  const GROWING = 'const kept = []; for (;;) kept.push(new Array(1000).fill(1.5));';
  const ENDS = {
    memory: [GROWING, 20_000, 'ERR_ISOLATE_MEMORY', 'Isolate was disposed during execution due to memory limit'],
    'no return': [HANG, 200, 'ERR_ISOLATE_UNRESPONSIVE', 'Script failed to terminate; its isolate was abandoned'],
  };
  const PLACES = {
    'after an answer of the host': (code) => `(async () => { await later(); ${code} })()`,
    'in a reaction that nothing awaits': (code) => `later().then(() => { ${code} }); new Promise(() => {})`,
    'in another call': (code) => `globalThis.go = () => { ${code} }; new Promise(() => {})`,
  };
  for (const [end, [code, timeout, ...expected]] of Object.entries(ENDS)) {
    for (const [place, codeOf] of Object.entries(PLACES)) {
      test(`${end} ${place}`, () => passes(`
        const inside = new ivm.Isolate({ memoryLimit: 16 }).createContextSync();
        inside.global.setSync('later', new ivm.Callback(() => 5, { async: true }));
        const waiting = errorOf(() => inside.eval(${JSON.stringify(codeOf(code))}, { promise: true, timeout: ${timeout} }));
        const other = inside.eval('globalThis.go?.()', { timeout: ${timeout} }).catch(() => {});
        const { code, message } = await waiting;
        assert.deepEqual([code, message], ${JSON.stringify(expected)});
        await other;`));
    }
  }
});

test('a view on shared memory is not copied', () => passes(`
  const size = 20 * 2 ** 20;
  context.evalSync('globalThis.shared = new SharedArrayBuffer(' + size + ')');
  const small = new ivm.Isolate({ memoryLimit: 8 }).createContextSync();
  const length = small.evalClosureSync('return (view) => view.byteLength', [], { result: { reference: true } });
  context.global.setSync('length', length);
  assert.equal(context.evalSync('length.applySync(undefined, [new Uint8Array(shared)], { arguments: { copy: true } })'), size);`));
