// Random operations over the whole API, the same for a host and for guests that have `ivm`: what one of them makes is passed to the others.

/**
 * Its source also runs in guests, so it uses nothing of this module.
 * @param {any} ivm
 * @param {() => number} random from 0 to 1
 * @param {boolean} isHost
 */
export function createRealm(ivm, random, isHost) {
  const MAX_OBJECTS = 24;
  const MAX_DEPTH = 3;
  const MAX_PROBLEMS = 20;
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const chance = (share) => random() < share;

  /** What the operations work on. */
  const objects = [];
  /** References and Callbacks of the other realms. */
  const peers = [];
  const pending = new Map();
  const problems = [];
  let [depth, steps, operation] = [0, 0, ''];

  function keep(value) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return;
    if (objects.length < MAX_OBJECTS) return void objects.push(value);
    const index = below(MAX_OBJECTS);
    const replaced = objects[index];
    objects[index] = value;
    if (chance(0.5)) try { replaced.release?.(); } catch { /* it is released or in use */ }
  }
  const some = (Class) => pick(objects.filter((object) => object instanceof Class));

  /** Any error may come of random calls, except those that report an internal error of the library. */
  function check(error, what) {
    const { message, stack } = Object(error);
    if (typeof message === 'string' && /internal error|panicked|unreachable/i.test(message) && problems.length < MAX_PROBLEMS) problems.push(`${what}: ${message} ${stack}`);
  }
  const later = () => new Promise((resolve) => { resolve(); });
  function settle(result) {
    if (typeof result?.then !== 'function') return keep(result);
    const [what, key] = [operation, {}];
    // Functions that are called directly may return promises that never settle.
    if (what !== 'call') pending.set(key, what);
    const end = () => pending.delete(key);
    void result.then(keep, (error) => check(error, what)).then(end);
  }
  function nested(work) {
    if (depth >= MAX_DEPTH) return;
    depth += 1;
    try { work(); } finally { depth -= 1; }
  }

  const functions = [
    (...values) => values[0],
    () => { throw new RangeError('thrown', { cause: { toString() { throw 1; } } }); },
    (...values) => values.map(keep).length,
    async (...values) => { await later(); return values[0]; },
    () => new Promise(() => {}),
    () => { nested(() => { step(); step(); }); return pick(objects); },
    async () => { nested(step); await later(); nested(step); return pick(objects); },
    () => 'x'.repeat(1 << below(20)),
  ];
  const values = [
    () => below(1000), () => `text ${below(9)}`, () => null, () => undefined, () => true, () => 10n ** BigInt(below(40)), () => Symbol('unclonable'),
    () => ({ a: 1, b: [1, 2, { c: below(9) }] }), () => [1, 2, 3], () => Array.from({ length: 3, 2: 'hole' }), () => new Map([[1, { x: 1 }]]),
    () => new Uint8Array(below(5_000)), () => new ArrayBuffer(below(100_000)), () => new SharedArrayBuffer(1 << below(16)),
    () => new ArrayBuffer(8, { maxByteLength: 1 << (3 + below(15)) }), () => new DataView(new ArrayBuffer(50), 5, 20),
    () => new Date(), () => /x+/g, () => new Error('e'), () => 'y'.repeat(1 << below(18)), () => { const circle = {}; circle.circle = circle; return circle; },
    // oxlint-disable-next-line unicorn/no-thenable -- a result that is not a promise
    () => ({ then(resolve) { resolve(1); } }),
    () => pick(functions), () => Promise.resolve(4), () => Promise.reject(new Error('rejected')),
    () => ({ get accessor() { nested(step); return 2; } }),
    () => new Proxy({}, { get() { nested(step); return 1; }, ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) }),
    () => pick(objects), () => pick(objects), () => pick(objects), () => ({ handle: pick(objects) }), () => ({ __proto__: null, [below(1e9)]: 1 }),
  ];
  const value = () => pick(values)();
  const args = () => Array.from({ length: below(4) }, value);

  const codes = [
    '1', 'throw new Error("thrown")', 'for (;;);', 'const all = []; for (;;) all.push(new Array(1000).fill({}))', 'new Promise(() => {})',
    'Promise.resolve().then(function again() { return Promise.resolve().then(again); })', '({ a: 1, f() { return 1; } })', '(...values) => values[0]', 'globalThis',
    '"z".repeat(1e6)', 'new ArrayBuffer(1e6)', 'new SharedArrayBuffer(1024)', 'import("x")', 'import("y" + Math.random())', 'syntax error(', 'debugger',
    'typeof held === "undefined" ? 0 : held', 'typeof held?.applySync === "function" ? held.applySync(undefined, [1]) : held?.(1)',
    'held?.apply?.(undefined, [1], { result: { promise: true } })', '(async () => { for (;;) await 0; })()', '(async () => { throw new Error("rejected"); })()',
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)', 'Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20).value',
    'new FinalizationRegistry(() => { for (let i = 0; i < 1e6; i++); }).register({}, 1)', 'function recurse() { recurse(); } recurse()',
    'setTimeout?.(function again() { setTimeout(again, 1); }, 1)', 'console?.log("x", { a: [1] })', 'new WebAssembly.Memory({ initial: 1, maximum: 10, shared: true })',
    'new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer)', 'Reflect.ownKeys(globalThis).length', '[].concat(new Array(1e6)).sort()',
  ];
  const closures = [
    'return $0', 'globalThis.held = $0', 'return $0?.applySync?.(undefined, [$1], { timeout: 20 }) ?? $0', 'return $0?.apply?.(undefined, [$1], { timeout: 20 }) ?? $0', 'return $0.copy()',
    'return $0.deref()', 'globalThis.held = $0; return typeof $0 === "function" ? $0($1, $2) : 1', '$0.release(); return $0', 'return new Promise(() => {})',
    'for (let i = 0; i < 20; i++) try { $0($1); } catch {}', '(async () => { for (let i = 0; i < 20; i++) try { await $0($1); } catch {} })()', 'return $0.applySyncPromise(undefined, [$1])',
  ];
  const modules = [
    'export default 1', 'import "a"; export let b = 2; for (let i = 0; i < 1e7; i++);', 'await 1; export const z = 1', 'await new Promise(() => {})',
    'import z from "b"; export { z }; throw 1',
  ];

  function syncLimits() {
    const share = random();
    if (share < 0.4) return { timeout: 1 + below(40), deadline: 200 };
    return share < 0.7 ? { deadline: 1 + below(60) } : { timeout: 1 + below(60), deadline: 1 + below(80) };
  }
  function limits() {
    if (typeof AbortController === 'undefined' || !chance(0.1)) return syncLimits();
    const controller = new AbortController();
    setTimeout(() => controller.abort(chance(0.5) ? new Error('aborted') : undefined), below(30));
    return { ...syncLimits(), signal: controller.signal };
  }
  const argumentTransfer = () => pick([{}, { copy: true }, { reference: true }]);
  const transfer = () => pick([{}, { copy: true }, { reference: true }, { externalCopy: true }, { promise: true }, { promise: true, copy: true }, { promise: true, reference: true }]);
  /** Calls a method in its asynchronous, sync or ignored form. `more` are the transfer options. */
  function call(target, method, parameters, more) {
    if (target === undefined) return;
    const form = pick(['', '', 'Sync', 'Ignored']);
    if (target[method + form] === undefined) return;
    settle(target[method + form](...parameters, { ...(form === 'Sync' ? syncLimits() : limits()), ...more }));
  }
  const released = () => (chance(0.1) ? { release: true } : {});
  const resolver = () => { if (chance(0.2)) step(); return some(ivm.Module); };

  const operations = {
    isolate() {
      if (chance(0.5)) return;
      keep(new ivm.Isolate({
        memoryLimit: 8 + below(8),
        inspector: chance(0.3),
        ...(chance(0.4) ? { importModuleDynamically: (specifier) => (specifier === 'x' ? some(ivm.Isolate).compileModule('export default 1') : pick(objects)) } : {}),
        ...(chance(0.2) ? { onCatastrophicError() {} } : {}),
      }));
    },
    context() { call(some(ivm.Isolate), 'createContext', [], { web: chance(0.3), timers: chance(0.4), ...(chance(0.2) ? { console: () => {} } : {}) }); },
    script() { call(some(ivm.Isolate), 'compileScript', [pick(codes)], { produceCachedData: chance(0.2) }); },
    run() { const [script, context] = [some(ivm.Script), some(ivm.Context)]; if (context) call(script, 'run', [context], { ...transfer(), ...released() }); },
    module() { call(some(ivm.Isolate), 'compileModule', [pick(modules)], chance(0.3) ? { meta: (meta) => { meta.x = 1; } } : {}); },
    instantiate() {
      const [module, context] = [some(ivm.Module), some(ivm.Context)];
      if (!module || !context) return;
      if (chance(0.5)) settle(module.instantiateSync(context, resolver));
      else settle(module.instantiate(context, chance(0.5) ? resolver : async () => { await later(); return resolver(); }));
    },
    evaluate() { call(some(ivm.Module), 'evaluate', [], transfer()); },
    namespace() { keep(some(ivm.Module)?.namespace); },
    eval() { call(some(ivm.Context), 'eval', [pick(codes)], { ...transfer(), ...released() }); },
    closure() { call(some(ivm.Context), 'evalClosure', [pick(closures), args()], { arguments: argumentTransfer(), result: transfer() }); },
    global() { keep(some(ivm.Context)?.global); },
    reference() { keep(new ivm.Reference(value(), chance(0.2) ? { unsafeInherit: true } : undefined)); },
    copy() {
      const buffer = new ArrayBuffer(1 << below(18));
      keep(new ivm.ExternalCopy(pick([buffer, { buffer, more: 1 }, value()]), chance(0.4) ? { transferOut: true, transferList: [buffer] } : undefined));
    },
    callback() { keep(new ivm.Callback(pick(functions), pick([{}, { async: true }, { ignored: true }, { sync: true }]))); },
    use() {
      const [reference, key] = [some(ivm.Reference), pick(['a', 'x', 0, 'f', 'length', '__proto__', 'handle'])];
      const uses = [
        () => call(reference, 'copy', []), () => call(reference, 'get', [key], { ...transfer(), accessors: chance(0.2) }), () => call(reference, 'delete', [key]),
        () => call(reference, 'set', [key, value()], argumentTransfer()), () => call(reference, 'apply', [value(), args()], { arguments: argumentTransfer(), result: transfer() }),
      ];
      pick(uses)();
    },
    applySyncPromise() { if (!isHost) settle(some(ivm.Reference)?.applySyncPromise(undefined, args(), { ...syncLimits(), arguments: argumentTransfer() })); },
    deref() { const reference = some(ivm.Reference); keep(reference?.[pick(['deref', 'derefInto'])]({ release: chance(0.3) })); },
    read() { const copy = some(ivm.ExternalCopy); keep(copy?.[pick(['copy', 'copyInto'])]({ transferIn: chance(0.4), release: chance(0.3) })); },
    release() { if (chance(0.7)) pick(objects)?.release?.(); },
    dispose() { if (chance(0.25)) some(ivm.Isolate)?.dispose(); },
    statistics() {
      const isolate = some(ivm.Isolate);
      call(isolate, 'getHeapStatistics', []);
      void [isolate?.cpuTime, isolate?.wallTime, isolate?.referenceCount, ivm.ExternalCopy.totalExternalSize];
    },
    profile() { const isolate = some(ivm.Isolate); if (chance(0.5)) isolate?.startCpuProfiler(`profile ${below(2)}`); else settle(isolate?.stopCpuProfiler(`profile ${below(2)}`)); },
    inspect() {
      const session = some(ivm.Isolate)?.createInspectorSession();
      if (session === undefined) return;
      session.onResponse = () => {};
      session.onNotification = () => { if (chance(0.05)) nested(step); };
      keep(session);
      const messages = [
        ['Runtime.enable'], ['Debugger.enable'], ['Debugger.pause'], ['Debugger.resume'], ['Debugger.stepInto'], ['Profiler.enable'], ['Profiler.start'], ['Profiler.stop'],
        ['HeapProfiler.collectGarbage'], ['HeapProfiler.takeHeapSnapshot'], ['HeapProfiler.startTrackingHeapObjects'], ['Runtime.terminateExecution'],
        ['Runtime.evaluate', { expression: '({ a: [1, 2] })', generatePreview: true }], ['Runtime.evaluate', { expression: 'for (;;);', timeout: 20 }],
        ['Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true }], ['Profiler.startPreciseCoverage', { callCount: true }], ['Profiler.takePreciseCoverage'],
      ];
      for (let id = 1; id <= 4; id += 1) {
        const [method, parameters] = pick(messages);
        session.dispatchProtocolMessage(JSON.stringify({ id, method, params: parameters }));
      }
      if (chance(0.5)) session.dispose();
    },
    call() { const callable = objects.filter((object) => typeof object === 'function'); if (callable.length > 0) settle(pick(callable)(...args())); },
    snapshot() { if (chance(0.03)) keep(ivm.Isolate.createSnapshot([{ code: pick(['globalThis.a = { f() { return 1; } }', 'throw 1', '"z".repeat(1e6)']) }])); },
    send() {
      const [peer, object] = [pick(peers), pick(objects)];
      if (peer instanceof ivm.Reference) call(peer, 'apply', [undefined, [object]]);
      else if (peer !== undefined) settle(peer(object));
    },
    forget() { if (objects.length > 4) objects.splice(below(objects.length), 1); },
  };
  const names = Object.keys(operations);

  function step() {
    operation = pick(names);
    steps += 1;
    try { operations[operation](); } catch (error) { check(error, operation); }
  }
  return {
    peers,
    pending,
    problems,
    get steps() { return steps; },
    burst(count) { for (let index = 0; index < count; index += 1) step(); },
    /** What other realms call with what they have made. */
    receive(...received) { for (const object of received) keep(object); if (chance(0.3)) nested(step); return pick(objects); },
  };
}
