// Sync calls that run on the caller's own thread, in processes in which an internal switch is on.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const LINUX = process.platform === 'linux' && process.arch === 'x64';
const here = (code) => passes(code, { env: { ISOLATED_V8_SYNC_CALLS: 'caller' }, timeout: 60_000 });

describe("sync calls on the caller's thread", { skip: !LINUX && 'elsewhere they run on threads of their own' }, () => {
  test('return values and errors, call the host, and nest', () => here(`
    context.global.setSync('increment', new ivm.Callback((n) => n + 1));
    assert.equal(context.evalSync('increment(41)'), 42);
    context.global.setSync('again', new ivm.Callback(() => context.evalSync('increment(5) * 2')));
    assert.equal(context.evalSync('again() + 1'), 13);
    assert.throws(() => context.evalSync('throw new RangeError("x")'), { name: 'RangeError', message: 'x' });
    context.global.setSync('fails', new ivm.Callback(() => { throw new TypeError('y'); }));
    assert.throws(() => context.evalSync('fails()'), { name: 'TypeError', message: 'y' });
    assert.equal(context.evalSync('let p = 1; Promise.resolve().then(() => { p = 2; }); p'), 1);
    assert.equal(context.evalSync('p'), 2);
    assert.equal(await context.eval('Promise.resolve(5)', { promise: true }), 5);
    assert.equal(context.evalSync('increment(1)'), 2);`));

  test('call other isolates, also through the host', () => here(`
    const other = new ivm.Isolate();
    const second = other.createContextSync();
    context.global.setSync('triple', second.evalSync('(x) => x * 3', { reference: true }));
    assert.equal(context.evalSync('triple.applySync(undefined, [5])'), 15);
    second.global.setSync('host', new ivm.Callback((n) => context.evalSync('triple.applySync(undefined, [' + n + '])')));
    assert.throws(() => second.evalSync('for (;;) host(1)', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    for (let n = 0; n < 200; n += 1) assert.equal(second.evalSync('host(' + n + ')'), 3 * n);
    assert.equal(context.evalSync('const all = []; for (let n = 0; n < 1e6; n += 1) all.push([n]); all.length'), 1e6);`));

  for (const [reason, options, act, outcome] of [
    ['a deadline', '{ deadline: 80 }', '', 'ERR_ISOLATE_DEADLINE'],
    ['disposal', '{}', 'isolate.dispose();', 'ERR_ISOLATE_DISPOSED'],
    ['the memory limit', '{}', 'syncError(() => context.evalSync("const all = []; for (;;) all.push(new Array(1000).fill(1.5))"));', 'ERR_ISOLATE_MEMORY'],
  ]) {
    test(`end by ${reason} while the host runs`, () => here(`
      for (let round = 0; round < 3; round += 1) {
        const isolate = new ivm.Isolate({ memoryLimit: 32 });
        const context = isolate.createContextSync();
        context.global.setSync('wait', () => { ${act} block(150); return 'value'; });
        assert.equal(syncError(() => context.evalSync('wait()', ${options})).code, '${outcome}');
        otherWorks();
        if (!isolate.isDisposed) assert.equal(context.evalSync('1 + 1'), 2);
      }`));
  }

  test('return without a guest that does not stop', () => here(`
    for (const code of [
      'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
      'const a = new Array(3e6).fill("x"); for (;;) JSON.stringify(a)',
      'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
    ]) {
      const guest = new ivm.Isolate();
      const error = syncError(() => guest.createContextSync().evalSync(code, { timeout: 50 }));
      assert.ok(['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT'].includes(error.code), error.stack);
      otherWorks();
      assert.equal(context.evalSync('6 * 7'), 42);
    }
    assert.ok(ivm.engineStats().endings.givenUp > 0);`));
});
