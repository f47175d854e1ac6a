// A guest that replaces every built-in that it can find, and keeps everything that its replacements see.

/** Evaluated in the guest, returns functions that do not depend on anything that they tamper with. */
export const TAMPERING = `(() => {
  'use strict';
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const [setHas, setAdd, mapGet, mapSet, then, slice] = [
    Set.prototype.has, Set.prototype.add, Map.prototype.get, Map.prototype.set, Promise.prototype.then, String.prototype.slice,
  ].map((method) => uncurry(method));
  const [SetClass, MapClass, PromiseClass, text] = [Set, Map, Promise, String];
  const isPromise = (value) => value instanceof PromiseClass;
  const data = (value) => ({ __proto__: null, value, writable: true, configurable: true, enumerable: true });
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const list = () => ({ __proto__: null, size: 0 });
  const push = (to, value) => { defineProperty(to, to.size, data(value)); to.size += 1; };
  const describe = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found === undefined ? undefined : setPrototypeOf(found, null) && found;
  };

  /** Everything that is reachable from the roots, except what is in \`known\`. */
  const walk = (roots, into, known) => {
    const found = list();
    const add = (value) => {
      if (isObject(value) && !setHas(into, value) && !(known !== undefined && setHas(known, value))) { setAdd(into, value); push(found, value); }
    };
    for (let i = 0; i < roots.size; i += 1) add(roots[i]);
    for (let i = 0; i < found.size; i += 1) {
      add(getPrototypeOf(found[i]));
      const keys = ownKeys(found[i]);
      for (let k = 0; k < keys.length; k += 1) {
        const { value, get, set } = describe(found[i], keys[k]);
        add(value); add(get); add(set);
      }
    }
    return found;
  };

  const roots = list();
  for (const root of [
    globalThis, function* () {}, async () => {}, async function* () {}, [].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](),
    'a'.matchAll(/a/g), (function* () {})(), (async function* () {})(), Iterator.from({ next() {} }), [].values().map((x) => x),
    getPrototypeOf(new Intl.Segmenter().segment('a')[Symbol.iterator]()),
  ]) push(roots, root);
  const known = new SetClass();
  const intrinsics = walk(roots, known);

  let armed = false;
  const shown = list();
  const see = (value) => { if (armed && isObject(value) && !setHas(known, value)) push(shown, value); };
  const seeCall = (self, args, target) => {
    see(self); see(target);
    for (let i = 0; i < args.length; i += 1) see(args[i]);
  };
  const replacement = (original, mode) => {
    const react = (self, args, target) => {
      seeCall(self, args, target);
      if (armed && mode === 'throws') throw 'tampered';
    };
    let isConstructor = true;
    try { construct(Object, [], original); } catch { isConstructor = false; }
    if (!isConstructor) return { method() { react(this, arguments); return apply(original, this, arguments); } }.method;
    const made = function () {
      react(this, arguments, new.target);
      return new.target === undefined ? apply(original, this, arguments) : construct(original, arguments, new.target === made ? original : new.target);
    };
    setAdd(known, made.prototype);
    made.prototype = original.prototype;
    setPrototypeOf(made, original);
    return made;
  };

  /** Replaces everything except \`kept\`. \`names\` become accessors of all objects, which return a function if the mode asks for one. */
  const tamper = (mode, names, kept) => {
    const replaced = new MapClass();
    const replace = (original) => {
      if (typeof original !== 'function' || !setHas(known, original)) return original;
      if (mapGet(replaced, original) === undefined) {
        const made = replacement(original, mode);
        setAdd(known, made);
        mapSet(replaced, original, made);
        mapSet(replaced, made, made);
      }
      return mapGet(replaced, original);
    };
    let count = 0;
    for (let i = 0; i < intrinsics.size; i += 1) {
      const keys = ownKeys(intrinsics[i]);
      for (let k = 0; k < keys.length; k += 1) {
        const found = describe(intrinsics[i], keys[k]);
        if ('value' in found ? !found.writable && !found.configurable : !found.configurable) continue;
        const { value, get, set } = found;
        if (value !== undefined && value === kept) continue;
        if ('value' in found) found.value = replace(value);
        else { found.get = replace(get); found.set = replace(set); }
        if ((found.value !== value || found.get !== get) && defineProperty(intrinsics[i], keys[k], found)) count += 1;
      }
    }
    defineProperty(Error, 'prepareStackTrace', data((error, frames) => {
      for (let i = 0; i < frames.length; i += 1) { see(frames[i].getThis()); see(frames[i].getFunction()); }
      return 'Error: rewritten';
    }));
    const given = mode === 'gives functions' ? function () { seeCall(this, arguments, new.target); } : undefined;
    if (given !== undefined) { setAdd(known, given); setAdd(known, given.prototype); }
    const intrude = (holder, key) => {
      if (getOwnPropertyDescriptor(holder, key) !== undefined) return;
      const accessor = {
        __proto__: null, configurable: true,
        // A \`then\` would be called with the functions that resolve the guest's own promises.
        get() { see(this); return armed && key !== 'then' ? given : undefined; },
        set(value) { see(this); see(value); defineProperty(this, key, data(value)); },
      };
      setAdd(known, accessor.get); setAdd(known, accessor.set);
      if (defineProperty(holder, key, accessor)) count += 1;
    };
    for (let i = 0; i < names.length; i += 1) intrude(Object.prototype, names[i]);
    for (let key = 0; key < 16; key += 1) { intrude(Array.prototype, key); intrude(Object.prototype, key); }
    return count;
  };

  const given = list();
  /** Records what the guest may legitimately have. */
  const give = (value) => {
    if (isObject(value)) push(given, value);
    if (isPromise(value)) {
      const before = armed;
      armed = false;
      then(value, give, give);
      armed = before;
    }
    return value;
  };
  /** The result of each use, as text. */
  const exercise = (uses) => {
    let report = '';
    const keys = ownKeys(uses);
    for (let i = 0; i < keys.length; i += 1) {
      const use = describe(uses, keys[i]).value;
      armed = true;
      let outcome;
      try { outcome = use(give); } catch (error) { outcome = error; }
      armed = false;
      give(outcome);
      const message = isObject(outcome) ? describe(outcome, 'message') : undefined;
      report += keys[i] + ': ' + (message !== undefined ? 'threw ' + message.value : isObject(outcome) ? 'object' : text(outcome)) + '\\n';
    }
    return report;
  };
  /** What was seen but not given: functions, and objects that lead to more than numbers and texts. */
  const leaks = () => {
    armed = false;
    const fine = new SetClass();
    walk(given, fine, known);
    const found = walk(shown, new SetClass(), known);
    let report = '';
    for (let i = 0; i < found.size; i += 1) {
      if (setHas(fine, found[i])) continue;
      const keys = ownKeys(found[i]);
      let holds = '';
      for (let k = 0; k < keys.length; k += 1) {
        const { value, get } = describe(found[i], keys[k]);
        if (isObject(value) && !setHas(known, value) && !setHas(fine, value)) holds += text(keys[k]) + ' ';
        // Even without tampering, V8 implements \`stack\` with such a function.
        if (get !== undefined && keys[k] !== 'stack') holds += text(keys[k]) + ' ';
      }
      const prototype = getPrototypeOf(found[i]);
      const isPlain = typeof found[i] === 'object' && holds === '' && (prototype === Object.prototype || prototype === Array.prototype);
      if (!isPlain) report += typeof found[i] + ' ' + slice(text(typeof found[i] === 'function' ? describe(found[i], 'name')?.value : holds), 0, 200) + '\\n';
    }
    return report;
  };
  return { arm(on) { armed = on; }, count: () => shown.size, exercise, give, leaks, tamper };
})()`;

/** Uses of every member of `ivm`, as an object's source. None calls a built-in itself. */
export const USES = `({
  __proto__: null,
  isolate: (give) => { give(globalThis.made = new ivm.Isolate()); return made.isDisposed; },
  context: (give) => { give(globalThis.room = made.createContextSync()); },
  eval: () => room.evalSync('6 * 7'),
  evalWithOptions: (give) => give(room.evalSync('({ a: 1 })', give({ __proto__: null, copy: true, timeout: 5000 }))).a,
  evalThrows: () => room.evalSync('throw new RangeError("x")'),
  evalThrowsObject: () => room.evalSync('throw { a: 1 }'),
  wrongOption: (give) => room.evalSync('1', give({ __proto__: null, timeout: 'x' })),
  wrongArgument: () => room.evalSync(1),
  closure: (give) => room.evalClosureSync('return [$0, $1, $2, $3, $4].join()', give([1, 2, 3, 4, 5])),
  closureOfFew: (give) => room.evalClosureSync('return $0 + $1', give([1, 2])),
  closureWithFunction: (give) => room.evalClosureSync('return $0(21)', give([give((n) => n * 2)])),
  closureWithCopies: (give) => room.evalClosureSync('return JSON.stringify($0)', give([give({ a: give([1, give({ b: 2 })]) })]),
    give({ __proto__: null, arguments: give({ __proto__: null, copy: true }) })),
  global: (give) => { give(globalThis.outer = room.global); return room.global === outer; },
  set: () => outer.setSync('n', 5),
  get: () => outer.getSync('n'),
  delete: () => outer.deleteSync('n'),
  reference: (give) => { give(globalThis.own = new ivm.Reference(give({ n: 1, f: give(() => 7) }))); return own.typeof; },
  referenceGet: () => own.getSync('n'),
  referenceGetFunction: (give) => give(own.getSync('f', give({ __proto__: null, reference: true }))).applySync(),
  referenceSet: () => own.setSync('m', 2),
  referenceCopy: (give) => give(new ivm.Reference(give({ n: 3 })).copySync()).n,
  referenceDeref: (give) => give(own.deref()).m,
  referenceApply: (give) => new ivm.Reference(give((a, b, c, d) => a + b + c + d)).applySync(undefined, give([1, 2, 3, 4])),
  referenceSend: () => outer.setSync('own', own),
  referenceBack: (give) => give(outer.getSync('own')).deref() === own.deref(),
  referenceInto: (give) => outer.setSync('x', give(own.derefInto())),
  referenceThere: (give) => give(room.evalSync('(a) => a + 1', give({ __proto__: null, reference: true }))).applySync(undefined, give([1])),
  delegate: (give) => give(room.evalSync('(a) => a + 1'))(1),
  delegateThrows: (give) => give(room.evalSync('() => { throw new TypeError("there") }'))(),
  copy: (give) => { give(globalThis.copied = new ivm.ExternalCopy(give({ a: give([1]) }))); return give(give(copied.copy()).a)[0]; },
  copyInto: (give) => room.evalClosureSync('return $0.a[0]', give([give(copied.copyInto())])),
  copyRelease: () => copied.release(),
  copyReleased: () => copied.copy(),
  copyTotal: () => typeof ivm.ExternalCopy.totalExternalSize,
  copyMoved: (give) => { give(new ivm.ExternalCopy(buffer, give({ __proto__: null, transferOut: true }))).release(); },
  copyMovedByList: (give) => { give(new ivm.ExternalCopy(give({ other }), give({ __proto__: null, transferList: give([other]) }))).release(); },
  callback: (give) => room.evalClosureSync('return $0()', give([give(new ivm.Callback(give(() => 5)))])),
  script: (give) => { give(globalThis.script = made.compileScriptSync('6 * 7', give({ __proto__: null, produceCachedData: true }))); return script.runSync(room); },
  scriptRelease: () => script.release(),
  syntax: () => made.compileScriptSync('!'),
  module: (give) => {
    const module = give(made.compileModuleSync('import { a } from "a"; export default a'));
    const found = give(made.compileModuleSync('export const a = 3'));
    module.instantiateSync(room, give((name, from, attributes) => { give(attributes); return found; }));
    module.evaluateSync();
    return give(module.namespace).getSync('default');
  },
  moduleSpecifiers: (give) => give(give(made.compileModuleSync('import "x"')).dependencySpecifiers)[0],
  statistics: (give) => typeof give(made.getHeapStatisticsSync()).total_heap_size,
  clocks: () => typeof made.cpuTime + typeof made.wallTime + typeof made.referenceCount,
  lib: (give) => typeof give(ivm.lib.hrtime())[0] + typeof ivm.lib.privateSymbol('x'),
  host: () => hostFunction(1),
  hostThrows: () => hostThrows(),
  hostReference: (give) => hostReference.applySync(undefined, give([2])),
  hostObject: (give) => hostObject.getSync('n') + give(hostObject.copySync()).n,
  native: () => new ivm.NativeModule('x'),
  withoutNew: () => ivm.Isolate(),
  private: () => new ivm.Context(),
  evalLater: (give) => { give(room.eval('1')); give(room.eval('throw new Error("later")')); },
  statisticsLater: (give) => { give(made.getHeapStatistics()); },
  scriptLater: (give) => { give(made.compileScript('1', give({ __proto__: null, produceCachedData: true }))); },
  referenceLater: (give) => { give(outer.get('x')); give(own.get('n')); own.setIgnored('k', 1); },
  hostLater: (give) => { give(hostAsync(3)); },
  moduleLater: (give) => {
    const found = give(made.compileModuleSync('1'));
    give(give(made.compileModuleSync('import "a"')).instantiate(room, give((name, from, attributes) => { give(attributes); return found; })));
  },
  import: (give) => {
    const module = give(made.compileModuleSync('import("a").then(() => { globalThis.imported = true })'));
    const found = give(made.compileModuleSync('1'));
    module.instantiateSync(room, give((name, from, attributes) => { give(attributes); return found; }));
    return module.evaluateSync();
  },
})`;
