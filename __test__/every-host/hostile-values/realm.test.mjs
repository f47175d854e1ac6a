// Whatever a host passes to a guest, the guest reaches nothing of the host's through it: no object, no function, no global, no location.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runInContext, createContext, runInThisContext } from 'node:vm';
import ivm from '../../../index.mjs';
import { WALKER } from '../../hostile-values/walker.mjs';

/** A context with `walk`, of an isolate of its own, because a guest that calls everything it finds may end its isolate. */
function makeContext() {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  context.evalSync(`globalThis.walk = ${WALKER}; 0`);
  return context;
}

/** Nothing was found, and more than the global alone was walked. */
function assertClean({ findings, count }) {
  assert.deepEqual(findings, []);
  assert.ok(count > 100, `looked at ${count} things only`);
}

class Animal {
  #secret = 'secret';
  name = 'cat';
  speak() {
    return this.#secret;
  }
}

const deepError = () => {
  // Primitive properties of errors cross on purpose.
  const cause = Object.assign(new RangeError('the cause'), { code: 'E_CAUSE', host: process });
  return Object.assign(new TypeError('with more', { cause }), { code: 'ENOENT', constructor: Animal, process, [Symbol('s')]: globalThis });
};

/** Values that are copied. */
const COPIES = {
  'an object': () => ({ a: { b: [1, { c: 2 }] } }),
  'an object without prototype': () => Object.assign(Object.create(null), { a: {} }),
  'an instance': () => new Animal(),
  'an array with holes and more': () => Object.assign([1, , { a: 1 }], { more: {} }), // oxlint-disable-line no-sparse-arrays
  'a Map': () => new Map([[{ key: 1 }, { value: new Map() }]]),
  'a Set': () => new Set([{ a: 1 }, new Set()]),
  'a Date': () => new Date(0),
  'a RegExp': () => /a(b)/dgi,
  'boxed primitives': () => [Object(1), Object('s'), Object(true), Object(1n)],
  'an error': () => new Error('copied'),
  'an error with a cause': () => new Error('copied', { cause: new TypeError('the cause') }),
  'an error of a class of its own': () => new (class Mine extends RangeError {})('copied'),
  'an AggregateError': () => new AggregateError([new Error('one')], 'all'),
  'a DOMException': () => new DOMException('failed', 'AbortError'),
  'a Buffer': () => Buffer.from('text'),
  'typed arrays': () => [new Uint8Array(4), new Float64Array(2), new BigInt64Array(1), new DataView(new ArrayBuffer(3))],
  'an ArrayBuffer': () => new ArrayBuffer(8),
  'a SharedArrayBuffer': () => new SharedArrayBuffer(8),
  'a cycle': () => { const a = {}; a.self = [a]; return a; },
};

/** Values that are passed as they are. */
const HANDLES = {
  'a function': () => (value) => ({ value }),
  'a class': () => Animal,
  'an async function': () => async () => ({ a: 1 }),
  'a bound function': () => Animal.bind(null),
  'a function that throws': () => () => { throw deepError(); },
  'a function that throws an object': () => () => { throw { process }; },
  'a function that throws a function': () => () => { throw () => process; },
  'a function that throws a proxy': () => () => { throw new Proxy(new Error('m'), { get(target, key) { return key === 'constructor' ? Animal : target[key]; } }); },
  'a function that overflows the stack': () => function f() { return 1 + f(); },
  'a function whose result cannot be copied': () => () => ({ process, f() {} }),
  'an async Callback': () => new ivm.Callback(() => { throw deepError(); }, { async: true }),
  'an async Callback to an async function': () => new ivm.Callback(async () => { throw deepError(); }, { async: true }),
  'a Callback that is ignored': () => new ivm.Callback(() => process, { ignored: true }),
  'a Reference': () => new ivm.Reference({ process, nested: { globalThis } }),
  'a Reference to a function': () => new ivm.Reference(() => { throw deepError(); }),
  'an unsafe Reference': () => new ivm.Reference(new Animal(), { unsafeInherit: true }),
  'an ExternalCopy': () => new ivm.ExternalCopy({ a: new Error('copied') }),
  'results of copyInto': () => new ivm.ExternalCopy({ a: new Error('copied') }).copyInto(),
  'the module': () => ivm,
  'an Isolate': () => new ivm.Isolate({ memoryLimit: 8 }),
  'a Context': () => new ivm.Isolate({ memoryLimit: 8 }).createContextSync(),
  'a Script': () => new ivm.Isolate({ memoryLimit: 8 }).compileScriptSync('1'),
  'a Module': () => new ivm.Isolate({ memoryLimit: 8 }).compileModuleSync('export const a = 1'),
  'a reference to a guest': () => new ivm.Isolate({ memoryLimit: 8 }).createContextSync().global,
};

test('the walk finds objects of another realm and information about the host', () => {
  const walk = runInThisContext(WALKER);
  const other = runInContext('({ object: {}, f() {}, error: new Error("m") })', createContext());
  assert.match(walk({ other }).findings.join(), /other is of another realm,.*other\.f is of another realm/);
  assert.match(walk({ inside: [new Map([[{ a: [other.f] }, 1]])] }, { tells: Infinity }).findings.join(), /inside\.0 key\.a\.0 is of another realm/);
  assert.match(walk({ hidden: { get a() { throw other; } } }).findings.join(), /hidden\.a thrown is of another realm/);
  assert.match(walk({ text: [{ [import.meta.url]: 1 }] }).findings.join(), /text\.0\.file:.* tells file:/);
});

describe('values copied into a guest belong to its realm', () => {
  for (const [what, make] of Object.entries(COPIES)) {
    test(what, async () => {
      const context = makeContext();
      assertClean(context.evalClosureSync('return walk({ global: globalThis, handed: $0 })', [make()], { arguments: { copy: true }, result: { copy: true } }));
      // The other ways in: a function's result, a Reference's `get`, a promise, an ExternalCopy.
      context.global.setSync('give', () => make());
      context.global.setSync('later', new ivm.Reference(async () => make()));
      context.global.setSync('reference', new ivm.Reference({ value: make() }));
      context.global.setSync('copy', new ivm.ExternalCopy(make()));
      assertClean(await context.eval(`(async () => {
        const handed = [reference.getSync('value', { copy: true }), copy.copy(), give()];
        handed.push(await later.apply(undefined, [], { result: { copy: true, promise: true } }));
        return walk({ global: globalThis, handed });
      })()`, { promise: true, copy: true }));
    });
  }
});

describe('a guest cannot reach the host through', () => {
  for (const [what, make] of Object.entries(HANDLES)) {
    test(what, async () => {
      const context = makeContext();
      context.global.setSync('handed', make());
      assertClean(await context.eval('walk({ global: globalThis }, { calls: false })', { copy: true }));
      assertClean(await context.eval(`(async () => {
        const all = { handed };
        const attempt = async (name, use) => { try { all[name] = use(); all[name + ' awaited'] = await all[name]; } catch (error) { all[name + ' thrown'] = error; } };
        await attempt('called', () => handed());
        await attempt('constructed', () => new handed());
        await attempt('called with this realm', () => handed.call(globalThis, globalThis, () => {}));
        for (const method of ['apply', 'applySync', 'applyIgnored', 'get', 'getSync', 'setSync', 'copySync', 'copy', 'derefInto', 'deref', 'evalSync', 'compileScriptSync',
          'runSync', 'createContextSync', 'getHeapStatisticsSync', 'copyInto', 'evaluateSync', 'dispose', 'release']) {
          for (const args of [[], [undefined], ['process'], ['constructor'], ['__proto__'], [() => {}, Symbol('s')], [{ get timeout() { throw all; } }]]) {
            await attempt(method + args.length, () => handed[method](...args));
          }
        }
        // These would hang, or fill the memory.
        return walk(all, { calls: true, spare: ['testHang', 'testOOM'] });
      })()`, { promise: true, copy: true }));
    });
  }

  test('a promise of the host, fulfilled or rejected', async () => {
    for (const make of [() => Promise.resolve({ a: 1 }), () => Promise.reject(deepError()), () => new Promise(() => {})]) {
      const promise = make();
      promise.catch(() => {});
      const context = makeContext();
      context.global.setSync('soon', new ivm.Reference(() => new Promise((resolve) => { setTimeout(resolve, 20); })));
      const found = await context.evalClosure(`return (async () => {
        const all = { promise: $0 };
        await Promise.race([$0.then((value) => { all.value = value; }, (error) => { all.error = error; }), soon.apply(undefined, [], { result: { promise: true } })]);
        return walk({ ...all, global: globalThis });
      })()`, [promise], { arguments: { copy: true, promise: true }, result: { copy: true, promise: true } });
      assertClean(found);
    }
  });

  test('errors of the host with all properties', async () => {
    const context = makeContext();
    context.global.setSync('fail', () => { throw deepError(); });
    context.global.setSync('reference', new ivm.Reference(() => { throw deepError(); }));
    context.global.setSync('rejects', new ivm.Reference(async () => { throw deepError(); }));
    context.global.setSync('getters', new ivm.Reference({ get a() { throw deepError(); } }));
    const { keys, ...result } = await context.eval(`(async () => {
      const all = [];
      for (const use of [() => fail(), () => reference.applySync(), () => reference.apply(), () => rejects.applySyncPromise(), () => rejects.apply(undefined, [], { result: { promise: true } }),
        () => getters.getSync('a', { accessors: true })]) {
        try { await use(); } catch (error) { all.push(error); }
      }
      return { ...walk({ all, global: globalThis }), keys: all.map((error) => Reflect.ownKeys(error).sort().join()), };
    })()`, { promise: true, copy: true });
    assertClean(result);
    assert.ok(keys.length >= 5);
    for (const list of keys) assert.match(list, /^(cause,)?(code,)?message,(name,)?stack$/);
  });

  test('stack frames that it formats itself', async () => {
    const context = makeContext();
    context.global.setSync('ivm', ivm);
    context.global.setSync('fail', () => { throw deepError(); });
    context.global.setSync('rejects', new ivm.Callback(async () => { throw deepError(); }, { async: true }));
    assertClean(await context.eval(`(async () => {
      const seen = [];
      const describe = (frame) => Reflect.ownKeys(Object.getPrototypeOf(frame)).map((key) => { try { return typeof frame[key] === 'function' ? [key, frame[key]()] : frame[key]; } catch (error) { return error; } });
      Error.stackTraceLimit = Infinity;
      Error.prepareStackTrace = (error, frames) => { seen.push(error, frames, ...frames.map(describe)); return { error, frames }; };
      const use = [() => fail(), () => new ivm.Isolate({ get memoryLimit() { seen.push(new Error('inside').stack); return 1; } }), () => new ivm.Reference(), () => ivm.Reference.prototype.apply(),
        () => new ivm.ExternalCopy(() => {}), () => new ivm.ExternalCopy({ get a() { seen.push(new Error('inside').stack); throw new Error('own'); } }), () => rejects(), () => null.x];
      for (const each of use) {
        try { await each(); } catch (error) { seen.push(error, error.stack); }
        const target = {};
        try { Error.captureStackTrace(target, each); } catch {}
        seen.push(target, target.stack);
      }
      delete Error.prepareStackTrace;
      return walk({ seen, global: globalThis });
    })()`, { promise: true, copy: true }));
  });

  test('callers of its functions', () => {
    const context = makeContext();
    context.global.setSync('ivm', ivm);
    context.global.setSync('call', new ivm.Reference((callback) => callback.applySync(undefined, [])));
    assertClean(context.evalSync(`
      const callers = [];
      function probe() {
        callers.push(probe.caller, probe.arguments, arguments.callee === probe, this);
        try { callers.push(arguments.callee.caller, probe.caller && probe.caller.caller, probe.caller && probe.caller.arguments); } catch (error) { callers.push(error); }
        return 8;
      }
      for (const use of [() => new ivm.Isolate({ get memoryLimit() { return probe(); } }), () => call.applySync(undefined, [new ivm.Reference(probe)]),
        () => new ivm.Reference(probe).applySync(), () => new ivm.ExternalCopy({ get a() { return probe(); } }),
        () => new ivm.Isolate(new Proxy({}, { get: probe, has: probe, getPrototypeOf: probe })), () => new ivm.Callback(probe, { get async() { probe(); } })]) {
        try { use(); } catch (error) { callers.push(error); }
      }
      walk({ callers, global: globalThis })`, { copy: true }));
  });
});
