// Escapes from vm2, one attempt for each idea of its advisories and tests (test/ghsa, test/vm.js, docs/ATTACKS.md).
//
// Advisories whose names are not below were reported before vm2 named its tests after advisories:
//
// | advisory | below |
// |---|---|
// | CVE-2019-10761 | the end of the stack inside the host |
// | CVE-2021-23555 | CVE-2022-36067, frames of stacks |
// | CVE-2022-25893 | built-ins replaced that a bridge may use |
// | CVE-2023-32313 | what `console` hands to formatters |
// | CVE-2023-32314 | GHSA-whpj-8f3w-67p5, which is the same |
// | CVE-2023-37903 | GHSA-47x8-96vw-5wg6: symbols that several realms share |
// | CVE-2026-22709 | what promises of the host resolve to; statics of Promise |
// | CVE-2026-47140 | GHSA-947f-4v7f-x2v8, with the names that its list forgot |
//
// The holes of three advisories were in options of NodeVM, which has no counterpart here: no code of a guest loads modules of
// the host, and none of its names becomes a path. The attempts below have what a guest would request instead:
//
// | advisory | the hole | here |
// |---|---|---|
// | GHSA-8hg8-63c5-gwmx | `nesting` gave the guest vm2 itself, despite `require: false` | the guest has the library only if the host passes it in; isolates within isolates reach no more (vm2.test.mjs) |
// | GHSA-947f-4v7f-x2v8 | allowed built-in modules gave access to all others | no built-in module is ever available |
// | GHSA-cp6g-6699-wx9c | a link below `require.root` led outside it | nothing is read from files |
//
// Not adapted, because they test features that only vm2 has: the names that its source transformer creates (except GHSA-wp5r-2gw5-m7q7),
// `freeze` and `protect`, and NodeVM's compilers, file systems and resolvers.

/**
 * Bodies of async functions, with `host` (a function that throws, returns, or calls back as requested), `given` (a copied value), `later`
 * (a promise or function of the host), `reach(value)`, which keeps values to be checked, and `leak(what)`.
 */
export const ATTEMPTS = {
  'GHSA-2cm2-m3w5-gp2f: names of the library\'s own state on the global object': `
    for (const key of Reflect.ownKeys(globalThis_)) reach(globalThis_[key]);
    for (const key of ['VM2_INTERNAL_STATE_DO_NOT_USE_OR_PROGRAM_WILL_FAIL', 'primordials', 'internalBinding', 'process', 'require', '__dirname']) reach(globalThis_[key]);`,
  'GHSA-wp5r-2gw5-m7q7: the same by `with`': `reach(new Function('o', 'with (o) { return typeof process + typeof require }')({}));`,
  'GHSA-47x8-96vw-5wg6: symbols that several realms share': `
    for (const name of ['nodejs.util.inspect.custom', 'nodejs.rejection', 'nodejs.util.promisify.custom']) {
      const trap = { [Symbol.for(name)](...all) { all.forEach(reach); return all.map((each) => reach(each?.constructor)); }, then: undefined };
      console.log(trap);
      try { host('return', trap); } catch (error) { reach(error); }
      try { host('throw', trap); } catch (error) { reach(error); }
    }`,
  'GHSA-47x8-96vw-5wg6: WebAssembly\'s streaming that formats its argument': `
    for (const key of ['compileStreaming', 'instantiateStreaming']) try { reach(await WebAssembly[key]?.({ [Symbol.for('nodejs.util.inspect.custom')]: reach })); } catch (error) { reach(error); }`,
  'GHSA-55hx-c926-fr95: errors within errors': `
    try { host('aggregate'); } catch (error) { reach(error); reach(error.errors); reach(error.cause); reach(error.error); reach(error.suppressed); }
    if (typeof SuppressedError === 'function') reach(new SuppressedError(1, 2));
    if (typeof DisposableStack === 'function') {
      const stack = new DisposableStack();
      stack.defer(() => host('throw'));
      stack.defer(() => { null.x; });
      try { stack.dispose(); } catch (error) { reach(error); }
    }`,
  'GHSA-55hx-c926-fr95: Array.fromAsync that rejects': `
    await Array.fromAsync?.([0], () => host('throw')).catch(reach);`,
  'GHSA-9qj6-qjgg-37qq: setters on Array.prototype': `
    for (let i = 0; i < 5; i += 1) Object.defineProperty(Array.prototype, i, { configurable: true, set(value) { reach(value); reach(this); } });
    try { reach(host('return', [1, 2, { f() {} }])); } catch (error) { reach(error); }
    try { reach(host(...Array(5).fill({}))); } catch (error) { reach(error); }
    for (let i = 0; i < 5; i += 1) delete Array.prototype[i];`,
  'GHSA-9vg3-4rfj-wgcm: objects without prototype that are thrown': `
    const thrown = { __proto__: null };
    try { throw thrown; } catch (error) { error.f = host; reach(error); }
    try { host('call', () => { throw thrown; }); } catch (error) { reach(error); }`,
  'GHSA-grj5-jjm8-h35p: species that give the array itself': `
    const array = host('return', [1, 2, 3]);
    array.constructor = { [Symbol.species]: function () { return array; } };
    for (const method of ['map', 'filter', 'slice', 'concat', 'splice', 'flat', 'flatMap']) try { reach(array[method]((value) => value)); } catch (error) { reach(error); }
    Object.defineProperty(Array, Symbol.species, { get() { return function (...all) { all.forEach(reach); return []; }; }, configurable: true });
    reach(host('return', [1]).map((value) => value));`,
  'GHSA-hw58-p9xv-2mjh: an error whose name is a symbol, in an executor': `
    new Promise(() => { const error = new Error(); error.name = Symbol(); error.stack; }).catch(reach);
    const error = new Error('m');
    error.name = Symbol();
    try { host('call', () => { throw error; }); } catch (other) { reach(other); }
    try { host('throw', error); } catch (other) { reach(other); }`,
  'GHSA-mpf8-4hx2-7cjg: what promises of the host resolve to': `
    await later('object').then(reach, reach);
    await later('reject').then(reach, reach);
    await Promise.prototype.then.call(later('object'), reach, reach);
    class Mine extends Promise { constructor(executor) { super((resolve, reject) => executor((value) => { reach(value); resolve(value); }, reject)); } }
    Promise.prototype.constructor = Mine;
    await later('object').then(reach, reach);`,
  'CVE-2023-29017 and -37466: promises whose species is changed': `
    const promise = later('reject');
    promise.constructor = { [Symbol.species]: class { constructor(executor) { executor(reach, reach); } } };
    try { reach(promise.then()); } catch (error) { reach(error); }
    await later('reject').catch(reach);`,
  'GHSA-qcp4-v2jj-fjx8 and GHSA-v37h-5mfm-c47c: what `console` hands to formatters': `
    const trap = new Proxy({}, { get(target, key, receiver) { reach(target); reach(receiver); return key === 'toJSON' ? (...all) => all.forEach(reach) : undefined; }, ownKeys(target) { reach(target); return []; } });
    console.log(trap, { toJSON: reach }, { stylize: reach, seen: [reach] });
    console.log?.call?.(trap, trap);`,
  'GHSA-v27g-jcqj-v8rw: frames of stacks': `
    Error.stackTraceLimit = 100;
    Error.prepareStackTrace = (error, frames) => {
      for (const frame of frames) for (const key of ['getThis', 'getFunction', 'getFileName', 'getTypeName', 'getFunctionName', 'getEvalOrigin', 'getScriptNameOrSourceURL', 'toString']) try { reach(frame[key]()); } catch (error) { reach(error); }
      return frames;
    };
    for (const use of [() => host('throw'), () => host('call', () => { throw new Error(); }), () => later('reject'), () => null.x]) try { await use(); } catch (error) { reach(error); reach(error.stack); }
    const target = {};
    Error.captureStackTrace(target, host);
    reach(target.stack);
    delete Error.prepareStackTrace;`,
  'CVE-2022-36067: Error replaced, with prepareStackTrace on it': `
    const before = Error;
    globalThis_.Error = { prepareStackTrace(error, frames) { frames.forEach((frame) => reach(frame.getThis())); return frames; } };
    try { host('throw'); } catch (error) { reach(error.stack); }
    try { null.x; } catch (error) { reach(error.stack); }
    globalThis_.Error = before;`,
  'CVE-2023-29199 and -30547: errors of the host in a catch, behind proxies': `
    const proxy = new Proxy(function () {}, { getPrototypeOf() { try { host('throw'); } catch (error) { reach(error); throw error; } }, apply() { (function deep() { deep(); })(); }, get(target, key) { throw target; } });
    for (const use of [() => proxy instanceof Object, () => proxy(), () => host('call', proxy), () => host('return', proxy), () => { throw proxy; }]) try { use(); } catch (error) { reach(error); }`,
  'CVE-2021-23449: import()': `
    for (const name of ['process', 'node:fs', 'fs', './index.js', 'data:text/javascript,export default 1', 'file:///etc/passwd']) await import(name).then(reach, reachWithout(name));
    await (0, eval)('import("fs")').then(reach, reachWithout('fs'));`,
  'GHSA-vwrp-x96c-mhwq: prototypes of the host': `
    const up = Object.prototype.__lookupGetter__('__proto__');
    for (let value of [host, given, later, host('return', {})]) {
      for (let i = 0; i < 6 && value !== null && value !== undefined; i += 1) {
        value = up.call(value);
        reach(value);
        if (value) try { value.polluted = 'polluted'; value.toString = () => 'polluted'; } catch (error) { reach(error); }
      }
    }
    delete Object.prototype.polluted;`,
  'GHSA-6785-pvv7-mvg7: large buffers': `
    for (const make of [() => new ArrayBuffer(2 ** 40), () => new Uint8Array(2 ** 33), () => new SharedArrayBuffer(2 ** 36), () => new ArrayBuffer(1, { maxByteLength: 2 ** 44 })]) try { make(); } catch (error) { reach(error); }`,
  'vm.js: the caller of a function': `
    function probe() { reach(probe.caller); reach(probe.arguments); try { reach(arguments.callee.caller.caller); } catch (error) { reach(error); } return 1; }
    for (const use of [() => host('call', probe), () => host('return', { get a() { return probe(); } }), () => host({ toString: probe, valueOf: probe }), () => later(probe)]) try { reach(await use()); } catch (error) { reach(error); }`,
  'vm.js: constructors of all that comes in': `
    for (const value of [host, given, later, host('return', {}), host('return', []), console, console.log, reach]) {
      for (const code of ['return this', 'return process', 'return globalThis', 'return require', 'return import("fs")']) {
        try { const got = value.constructor.constructor(code)(); reach(got); if (got?.catch) got.catch(reach); } catch (error) { reach(error); }
        try { reach(Reflect.construct(value.constructor.constructor, [code], host)()); } catch (error) { reach(error); }
      }
    }`,
  'vm.js: built-ins replaced that a bridge may use': `
    const real = { apply: Reflect.apply, get: WeakMap.prototype.get };
    Reflect.apply = function (...all) { all.forEach(reach); return real.apply(real.apply, Reflect, all); };
    for (const key of ['get', 'set', 'has']) { const method = WeakMap.prototype[key]; WeakMap.prototype[key] = function (...all) { reach(this); all.forEach(reach); return real.apply(method, this, all); }; }
    for (const key of ['call', 'apply', 'bind']) { const method = Function.prototype[key]; Function.prototype[key] = function (...all) { reach(this); return real.apply(method, this, all); }; }
    try { reach(host('return', { a: [() => {}] })); } catch (error) { reach(error); }
    try { reach(await later('object')); } catch (error) { reach(error); }`,
  'vm.js: accessors on Object.prototype that see what is made': `
    for (const key of ['value', 'get', 'set', 'then', 'constructor', 'host', 'target', 'writable', 'name', 'message', 'stack', 'cause', 'code']) {
      if (Object.prototype.hasOwnProperty(key) && key === 'constructor') continue;
      Object.defineProperty(Object.prototype, key, { configurable: true, get() { reach(this); }, set(value) { reach(this); reach(value); } });
    }
    try { host('return', { a: 1 }); } catch (error) { reach(error); }
    try { host('throw'); } catch (error) { reach(error); }
    for (const key of ['value', 'get', 'set', 'then', 'host', 'target', 'writable', 'name', 'message', 'stack', 'cause', 'code']) delete Object.prototype[key];`,
  'vm.js: the end of the stack inside the host': `
    const deep = (count) => { try { return deep(count + 1); } catch (error) { reach(error); return host('throw'); } };
    try { deep(0); } catch (error) { reach(error); }
    const recurse = () => host('call', recurse);
    try { recurse(); } catch (error) { reach(error); }`,
  'vm.js: exceptions that WebAssembly catches': `
    const { JSTag } = WebAssembly;
    reach(JSTag);
    // (module (import "h" "f" (func)) (func (export "go") call 0))
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 104, 1, 102, 0, 0, 3, 2, 1, 0, 7, 6, 1, 2, 103, 111, 0, 1, 10, 6, 1, 4, 0, 16, 0, 11]);
    try { reach(new WebAssembly.Instance(new WebAssembly.Module(bytes), { h: { f: () => host('throw') } }).exports.go()); } catch (error) { reach(error); }`,
  'vm.js: generators, async functions and their constructors': `
    for (const fn of [function* () {}, async () => {}, async function* () {}]) {
      for (const code of ['return process', 'return this', 'yield this']) {
        try { const made = fn.constructor(code)(); reach(made); reach(await (made.next?.() ?? made)); } catch (error) { reach(error); }
      }
    }
    const generator = (function* () { yield host; })();
    try { generator.throw(host('return', {})); } catch (error) { reach(error); }`,
  'GHSA-947f-4v7f-x2v8: modules of the host that lead out': `
    for (const name of ['module', 'worker_threads', 'cluster', 'vm', 'repl', 'inspector', 'trace_events', 'wasi', 'child_process', 'process', 'inspector/promises', 'bun', 'bun:ffi', 'ext:core/mod.js']) {
      for (const prefix of ['', 'node:']) await import(prefix + name).then(() => leak('a module: ' + name), reachWithout(prefix + name));
    }
    const given = ['process', 'require', 'module', 'exports', 'Buffer', 'Bun', 'Deno', 'global', 'internalBinding', '__filename'].filter((name) => name in globalThis_);
    if (given.length > 0) leak('of the host: ' + given);`,
  'GHSA-8hg8-63c5-gwmx: the library itself, to make a sandbox with other limits': `
    for (const name of ['isolated-v8', 'isolated-v8/inspector', 'isolated-vm', 'vm2', '../index.js', '../loader/native.js', './isolated-v8.linux-x64-gnu.node']) {
      await import(name).then(() => leak('a module: ' + name), reachWithout(name));
    }
    for (const name of ['ivm', 'isolate', 'Isolate', 'Context', 'createSandbox', 'NodeVM', 'VM', 'native']) if (name in globalThis_) leak('of the library: ' + name);`,
  'GHSA-cp6g-6699-wx9c: files behind paths and links': `
    for (const name of ['./link.js', '../../package.json', '/etc/passwd', '/proc/self/environ', '/proc/self/exe', 'file:///proc/self/root/etc/passwd', 'file:///dev/stdin', '#internal', 'C:\\\\\\\\x.js']) {
      await import(name).then(() => leak('a file: ' + name), reachWithout(name));
      await import(name, { with: { type: 'json' } }).then(() => leak('a file: ' + name), reachWithout(name));
    }`,
  'GHSA-55hx-c926-fr95 and -35vh-489p-v7cx: errors of the host within errors that promises and `using` make': `
    await Promise.allSettled([later('reject'), later('object')]).then(reach);
    await Promise.any([later('reject'), later('reject')]).catch((error) => { reach(error); reach(error.errors); });
    await later('object').finally(() => { host('throw'); }).catch(reach);
    for (const code of ['{ using a = { [Symbol.dispose]() { h("throw"); } }; throw null; }', '(async () => { await using a = { async [Symbol.asyncDispose]() { h("aggregate"); } }; throw null; })()']) {
      try { reach(await new Function('h', 'return eval(' + JSON.stringify(code) + ')')(host)); } catch (error) { reach(error); reach(error?.error); reach(error?.suppressed); }
    }
    const stack = new AsyncDisposableStack();
    for (let count = 0; count < 30; count += 1) stack.defer(async () => { throw null; });
    stack.defer(() => host('throw'));
    try { await stack.disposeAsync(); } catch (error) { for (let each = error; each !== null && each !== undefined; each = each.suppressed) reach(each); }`,
  'GHSA-47x8-96vw-5wg6 and -f539-x546-3726: what symbols, setters, keys and iterators lead to': `
    for (const value of [host, given, later, host('return', { a: 1 }), host('return', new Uint8Array(4)), Symbol]) {
      for (const method of ['__lookupSetter__', '__lookupGetter__']) reach({}[method].call(value, '__proto__'));
      const keys = Reflect.ownKeys(value);
      reach(keys);
      reach(keys[Symbol.iterator]().next());
      for (let holder = value; holder !== null; holder = Object.getPrototypeOf(holder)) {
        for (const symbol of Object.getOwnPropertySymbols({ ...holder }).concat(Object.getOwnPropertySymbols(holder))) { reach(symbol); if (/^(nodejs|Deno|bun)/.test(symbol.description)) leak('a symbol of the host'); }
        for (const { get, set } of Object.values(Object.getOwnPropertyDescriptors(holder))) { reach(get); reach(set); }
      }
    }`,
  'GHSA-whpj-8f3w-67p5 and the like: classes, proxies and functions for the host to construct and to call': `
    const traps = (result) => new Proxy(class {}, { construct: () => result, apply(target, self, args) { reach(target); reach(self); reach(args); return result; }, getPrototypeOf() { throw (f) => reach(f); } });
    for (const result of [() => (value) => reach(value), class { constructor() { reach(new.target); } }, { a() { return reach(this); } }]) {
      for (const how of ['construct', 'call', 'return', 'method']) {
        try { reach(host(how, traps(result))); } catch (error) { reach(error); }
        try { reach(host(how, result)); } catch (error) { reach(error); }
        try { reach(host(how, { a: traps(result) })); } catch (error) { reach(error); }
      }
    }
    try { reach(new host('return', {})); } catch (error) { reach(error); }
    try { reach(Reflect.construct(host, ['return'], traps({}))); } catch (error) { reach(error); }`,
  'vm.js: statics of Promise with another constructor, and getters that answer differently': `
    function Fake(executor) { executor(reach, reach); }
    Fake.resolve = (value) => ({ then: (good, bad) => { reach(good); reach(bad); reach(value); } });
    Fake[Symbol.species] = Fake;
    const iterables = [{ [Symbol.iterator]: () => host('throw') }, [later('reject'), later('object')]];
    for (const key of ['all', 'allSettled', 'any', 'race', 'reject', 'resolve', 'try', 'withResolvers']) {
      for (const each of iterables) try { Fake[key] = Promise[key]; reach(Fake[key](key === 'try' ? () => host('throw') : each)); } catch (error) { reach(error); }
    }
    const made = Reflect.construct(Promise, [() => host('throw')], Fake);
    made.then = Promise.prototype.then;
    reach(made.then());
    for (const configurable of [true, false]) {
      const promise = later('reject');
      let first = true;
      Object.defineProperty(promise, 'constructor', { configurable, get() { if (first) { first = false; return Promise; } return { get [Symbol.species]() { return Fake; } }; } });
      try { reach(promise.then()); } catch (error) { reach(error); }
      try { reach(await promise); } catch (error) { reach(error); }
    }
    const own = { defineProperty: Object.defineProperty, freeze: Object.freeze };
    Object.defineProperty = () => {};
    const frozen = later('reject');
    frozen.constructor = own.freeze({ [Symbol.species]: Fake });
    reach(frozen.then());
    Object.defineProperty = own.defineProperty;
    await frozen.catch(reach);`,
  'vm.js: descriptors that carry constructors': `
    for (const value of [host, later, given, console, reach, Object.getPrototypeOf(host), host('return', [])]) {
      const all = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(value) ?? value);
      const again = Object.getOwnPropertyDescriptors(Object.getOwnPropertyDescriptors(all));
      for (const [, descriptor] of [...Object.entries(all), ...Object.entries(again)]) {
        reach(descriptor);
        const maker = descriptor?.value?.value?.value ?? descriptor?.value;
        if (typeof maker === 'function') for (const code of ['return process', 'return this']) try { reach(maker.call(null, code)?.()); } catch (error) { reach(error); }
      }
      for (const make of [Object.getOwnPropertyDescriptor, Reflect.getOwnPropertyDescriptor]) reach(make(Object.getPrototypeOf(value) ?? {}, 'constructor'));
    }`,
  'vm.js: traps and attributes that Object.prototype gives to every object': `
    const { create } = Object;
    for (const key of ['has', 'get', 'set', 'apply', 'construct', 'getPrototypeOf', 'ownKeys', 'enumerable', 'writable', 'configurable', 'length', '0', '1']) {
      Object.defineProperty(Object.prototype, key, { configurable: true, writable: true, value(...all) { reach(this); all.forEach(reach); return undefined; } });
    }
    try { '' in host; reach(host('return', { a: [1] })); reach(host.anything); } catch (error) { reach(error); }
    for (const key of ['has', 'get', 'set', 'apply', 'construct', 'getPrototypeOf', 'ownKeys', 'enumerable', 'writable', 'configurable', 'length', '0', '1']) delete Object.prototype[key];
    Object.create = (...all) => { all.forEach(reach); return Object.defineProperty(create(...all), 'get', { set() {}, get: () => reach }); };
    try { reach(host('return', { a: 1 })); reach(await later('object')); } catch (error) { reach(error); }
    Object.create = create;
    Object.prototype.__defineGetter__('set', function () { delete Object.prototype.set; throw new Proxy(Object.create(null), { set(target, key, value) { return reach(value); } }); });
    try { reach(host('return', { b: 2 })); } catch (error) { try { error.x = host; } catch (other) { reach(other); } reach(error); }
    delete Object.prototype.set;`,
  'vm.js: Symbol.hasInstance that says yes': `
    for (const maker of [Object, Function, Promise, Error, Array, ArrayBuffer]) {
      Object.defineProperty(maker, Symbol.hasInstance, { configurable: true, value: () => true });
      try { reach(host('return', { a: 1 })); reach(host('call', {})); reach(await later('object')); host('throw'); } catch (error) { reach(error); }
      Object.defineProperty(maker, Symbol.hasInstance, { configurable: true, value(...all) { all.forEach(reach); return false; } });
      try { reach(host('return', [1])); reach(await later('object')); host('throw'); } catch (error) { reach(error); }
      delete maker[Symbol.hasInstance];
    }`,
  'vm.js: constructors replaced that make what crosses': `
    const kept = {};
    for (const key of ['Proxy', 'String', 'Array', 'Object', 'Uint8Array', 'ArrayBuffer', 'Map', 'Promise', 'TypeError', 'Error', 'Symbol', 'WeakMap', 'JSON']) {
      kept[key] = globalThis_[key];
      globalThis_[key] = function (...all) { reach(this); all.forEach(reach); throw (f) => reach(f); };
    }
    const { construct } = Reflect;
    const { assign } = kept.Object;
    const { map } = kept.Array.prototype;
    Reflect.construct = kept.Object.assign = kept.Array.prototype.map = function (...all) { reach(this); all.forEach(reach); throw all; };
    for (const use of [() => host('return', { a: [new Date(0)] }), () => host('return', 'text'), () => host('return', new DataView(new kept.ArrayBuffer(8))), () => host('throw'), () => later('object'), () => later('reject')]) {
      try { reach(await use()); } catch (error) { reach(error); }
    }
    Reflect.construct = construct;
    kept.Object.assign = assign;
    kept.Array.prototype.map = map;
    for (const key of Reflect.ownKeys(kept)) globalThis_[key] = kept[key];`,
  'vm.js: views of the host, its pool behind them, and species of theirs': `
    const view = host('buffer');
    if (view.buffer.byteLength > view.byteLength) leak('more than the view: ' + view.buffer.byteLength);
    for (const each of [view, view.buffer, view.parent, view.constructor, view.constructor.from, view.constructor.prototype.inspect]) reach(each);
    view.constructor = { [Symbol.species]: function () { return view; } };
    for (const method of ['map', 'slice', 'filter', 'subarray']) try { reach(view[method]((value) => value)); } catch (error) { reach(error); }
    try { reach(host('return', view)); } catch (error) { reach(error); }
    const duck = { subarray: reach, slice: view.slice, hexSlice: () => '', toJSON: reach };
    try { duck.slice(20, { showHidden: true, showProxy: true, stylize: reach }); } catch (error) { reach(error); }
    console.log(duck, { showProxy: true });`,
  'vm.js: exceptions of the host that WebAssembly catches, by the tag of JavaScript': `
    // (func (export "catch_error") (result externref) (block (result externref) (try_table (catch $js 0) call $trigger unreachable) unreachable))
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 12, 3, 96, 0, 0, 96, 0, 1, 111, 96, 1, 111, 0, 2, 25, 2, 3, 101, 110, 118, 7, 116, 114, 105, 103, 103, 101, 114, 0, 0,
      2, 106, 115, 3, 116, 97, 103, 4, 0, 2, 3, 2, 1, 1, 7, 15, 1, 11, 99, 97, 116, 99, 104, 95, 101, 114, 114, 111, 114, 0, 1, 10, 18, 1, 16, 0, 2, 111, 31, 64, 1, 0, 0, 0, 16, 0, 0, 11, 0, 11, 11]);
    let caught;
    try {
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { trigger() { host('throw'); } }, js: { tag: WebAssembly.JSTag } });
      caught = exports.catch_error();
    } catch (error) { reach(error); }
    reach(caught);`,
  'CVE-2026-45411: what an async generator catches for the one it delegates to': `
    for (const fails of [() => host('throw'), () => { const error = new Error(); error.name = Symbol(); return error.stack; }]) {
      for (const method of ['next', 'return', 'throw']) {
        const inner = { [Symbol.asyncIterator]: () => inner, next: () => ({ value: 1, done: false }), return: (value) => ({ value, done: true }), throw: (value) => ({ value, done: true }) };
        inner[method] = (value) => ({ get then() { return (good, bad) => { reach(good); reach(bad); fails(); good(); }; }, value, done: false });
        const outer = (async function* () { try { yield* inner; } catch (error) { reach(error); yield error; } finally { reach(host('return', {})); } })();
        try { reach(await outer.next()); reach(await outer[method]({ then(good, bad) { reach(bad); fails(); good(); } })); } catch (error) { reach(error); }
        try { reach(await outer.return({ then(good) { fails(); good(); } })); } catch (error) { reach(error); }
      }
    }`,
  'CVE-2026-47210: promises of WebAssembly that suspends': `
    const { Suspending, promising } = WebAssembly;
    reach(Suspending);
    reach(promising);
    // (module (import "h" "f" (func)) (func (export "go") call 0))
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 104, 1, 102, 0, 0, 3, 2, 1, 0, 7, 6, 1, 2, 103, 111, 0, 1, 10, 6, 1, 4, 0, 16, 0, 11]);
    class Fake { constructor(executor) { executor(reach, reach); } static get [Symbol.species]() { return Fake; } }
    for (const f of [() => host('throw'), () => later('reject'), () => later('object')]) {
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { h: { f: Suspending ? new Suspending(f) : f } });
      const go = promising ? promising(exports.go) : async () => exports.go();
      reach(go);
      await go().then(reach, reach);
      for (const method of ['finally', 'then', 'catch']) {
        const promise = go();
        promise.constructor = Fake;
        try { reach(promise[method](reach, reach)); } catch (error) { reach(error); }
        try { await promise; } catch (error) { reach(error); }
      }
    }`,
};

/** GHSA-hw58-p9xv-2mjh: unhandled rejections, which ended the host's process. */
const SYMBOLIC = 'const symbolic = () => { const error = new Error(); error.name = Symbol(); error.stack; throw error; };';
export const REJECTIONS = [
  `${SYMBOLIC} new Promise(symbolic)`,
  "new Promise(() => { throw 'plain'; })",
  `${SYMBOLIC} (async () => symbolic())()`,
  '(async function* () { throw new Error(); })().next()',
  '(async () => { await using x = { [Symbol.asyncDispose]() { throw Symbol(); } }; })()',
  'Promise.reject({ __proto__: null })',
  'Promise.reject(new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } }))',
];
