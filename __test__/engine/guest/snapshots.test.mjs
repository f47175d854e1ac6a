// Users' snapshots together with the library's: isolates that start from them have the same API inside, whatever the scripts have done.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';
import { TAMPERING, USES } from '../../guest/tampering.mjs';

/** Makes a snapshot of scripts and runs code in a context of it that has `ivm`. */
function start(scripts, warmup, code) {
  const snapshot = ivm.Isolate.createSnapshot(scripts.map((script) => ({ code: script })), warmup);
  const isolate = new ivm.Isolate({ snapshot });
  try {
    const contexts = [isolate.createContextSync(), isolate.createContextSync()];
    return contexts.map((context) => {
      for (const [name, value] of Object.entries({ ivm, isolate, context })) context.global.setSync(name, value);
      return context.evalSync(code, { copy: true });
    });
  } finally {
    isolate.dispose();
  }
}

const WARMUPS = [undefined, 'globalThis.warm = 1; typeof f === "function" && f()'];

describe('in a context of a snapshot', () => {
  for (const warmup of WARMUPS) {
    const how = warmup === undefined ? 'without warm-up' : 'with warm-up';

    test(`guests create isolates, ${how}`, () => {
      const code = `(() => {
        const room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync();
        const reference = new ivm.Reference({ n: f() });
        return [room.evalSync('6 * 7'), reference.getSync('n'), room.evalClosureSync('return $0() + 1', [f]), typeof warm, context instanceof ivm.Context];
      })()`;
      const expected = [42, 5, 6, 'undefined', true];
      assert.deepEqual(start(['globalThis.f = () => 5'], warmup, code), [expected, expected]);
    });

    test(`FinalizationRegistry is available again, ${how}`, () => passes(`
      const snapshot = ivm.Isolate.createSnapshot([{ code: \`
        globalThis.live = {};
        globalThis.weak = [new WeakRef(live), new WeakRef({})];
        globalThis.tries = [
          () => FinalizationRegistry, () => globalThis.FinalizationRegistry.prototype, () => (0, eval)('FinalizationRegistry'), () => Function('return FinalizationRegistry')(),
          () => new (class extends FinalizationRegistry {})(() => {}), () => Reflect.construct(Object, [], FinalizationRegistry),
        ].map((call) => { try { return typeof call(); } catch (error) { return error.name; } });
        globalThis.make = (collected) => new FinalizationRegistry(collected);
      \` }], ${JSON.stringify(warmup)});
      for (let n = 0; n < 3; n += 1) {
        const isolate = new ivm.Isolate({ snapshot, memoryLimit: 64 });
        const context = isolate.createContextSync();
        context.global.setSync('ivm', ivm);
        assert.deepEqual(context.evalSync('tries', { copy: true }), ['ReferenceError', 'undefined', 'ReferenceError', 'ReferenceError', 'ReferenceError', 'ReferenceError'].map((name, index) => index === 1 ? 'TypeError' : name));
        assert.equal(context.evalSync('weak.map((each) => typeof each.deref()).join()'), 'object,undefined');
        // Live and dead targets.
        context.evalSync('globalThis.collected = 0; globalThis.registry = make(() => { collected += 1; }); registry.register(live); (() => { for (let n = 0; n < 50; n += 1) registry.register({}); })(); 1');
        for (let turn = 0; turn < 200 && context.evalSync('collected') < 50; turn += 1) await context.eval('for (let i = 0; i < 40; i += 1) new Array(1e5).fill(i); 1');
        assert.equal(context.evalSync('collected'), 50);
        if (n === 1) isolate.dispose();
      }
    `, { timeout: 60_000, collects: true }));

    test(`a walk through all that the scripts can reach finds none, ${how}`, () => {
      const walk = `
        globalThis.found = [];
        const seen = new Set();
        const queue = [globalThis, function* () {}, async () => {}, async function* () {}, [].values(), new Map().values(), Iterator.from({ next() {} })];
        while (queue.length > 0) {
          const each = queue.pop();
          if ((typeof each !== 'object' && typeof each !== 'function') || each === null || seen.has(each)) continue;
          seen.add(each);
          if (typeof each === 'function' && each.name === 'FinalizationRegistry') found.push(each.name);
          queue.push(Reflect.getPrototypeOf(each));
          for (const key of Reflect.ownKeys(each)) {
            const { value, get, set } = Reflect.getOwnPropertyDescriptor(each, key);
            queue.push(value, get, set);
          }
        }
        globalThis.size = seen.size;
      `;
      for (const [found, size, has] of start([walk], warmup, '[found, size, typeof FinalizationRegistry]')) {
        assert.deepEqual([found, has], [[], 'function']);
        assert.ok(size > 600, String(size));
      }
    });
  }

  test('tampering in the scripts has no effect', async () => {
    const run = async (tampers) => {
      const names = ['begun', 'track', 'invoke', 'release', 'entry', 'id', 'native', 'createGuest', 'createTracker', 'then', 'stack', 'target', 'record', 'local'];
      const snapshot = ivm.Isolate.createSnapshot([{ code: `globalThis.kit = ${TAMPERING}; globalThis.buffer = new ArrayBuffer(8); globalThis.other = new ArrayBuffer(8);
        ${tampers ? `kit.tamper('watches', ${JSON.stringify(names)}, Uint8Array);` : ''}` }]);
      const isolate = new ivm.Isolate({ snapshot });
      const context = isolate.createContextSync();
      context.evalSync('kit.arm(true)');
      const host = { hostFunction: (n) => n + 1, hostThrows: () => { throw new RangeError('host'); }, hostReference: new ivm.Reference((n) => n * 2), hostObject: new ivm.Reference({ n: 4 }), hostAsync: new ivm.Callback((n) => n, { async: true }) };
      for (const [name, value] of Object.entries({ ivm, ...host })) context.global.setSync(name, value);
      const report = context.evalSync(`kit.arm(false); kit.exercise(${USES})`);
      context.evalSync('kit.arm(true)');
      for (let turn = 0; turn < 20; turn += 1) await context.eval('1');
      const result = { report, leaks: context.evalSync('kit.leaks()') };
      isolate.dispose();
      return result;
    };
    const [plain, tampered] = [await run(false), await run(true)];
    assert.match(plain.report, /\neval: 42\n[^]*\nmodule: 3\n/);
    assert.equal(tampered.leaks, '');
    assert.equal(tampered.report, plain.report);
  });
});
