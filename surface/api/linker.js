'use strict';
// Finds all direct and indirect imports of a module with a resolver on this side. One call then instantiates the module on the other
// side, without further callbacks. The native linker records the modules found, and locks them against other linkers until it is done
// or dropped.
//
// Code may call `import()` much later. Modules whose code does so get a function of this side that resolves and instantiates in the same
// way. It must not keep the modules alive, so it refers to them weakly.

const {
  apply, create, cutOff, define, freeze, inner, Map, mapDelete, mapGet, mapSet, WeakMap, weakMapGet, weakMapSet, weakRefDeref, WeakRef,
} = require('../core/primordials.js');
const { kindOf, recordOf, stamp } = require('../core/handle.js');
const { CALLBACK, KIND, MODE, OP } = require('../core/protocol.js');
const { CallbackRecord } = require('./callback.js');
const { invalid, released } = require('../core/error.js');
const { readSignal } = require('../core/options.js');

/** An instantiation in progress. */
class Linking {
  /**
   * @param {import('../core/handle.js').Row} entry the native linker
   * @param {object} context
   * @param {Function} resolve
   */
  constructor(entry, context, resolve) {
    this.entry = entry;
    this.context = context;
    this.resolve = resolve;
    /** @type {WeakRef<object>[]} the modules, by index */
    this.modules = [];
    this.imports = false;
    /** the isolate's number */
    this.isolate = 0;
    /** number of awaited resolutions */
    this.pending = 0;
    /** @type {import('../core/calls.js').Waiting | undefined} of an asynchronous instantiation, while it resolves imports */
    this.call = undefined;
    /** @type {import('../index.js').Slices | undefined} of an asynchronous instantiation: modules decide how many imports there are */
    this.work = undefined;
  }
}
cutOff(Linking);

/** A module that is being linked: its requests, and how many of them have been started. */
class Step {
  /**
   * @param {object} module
   * @param {any} found index, whether the code calls `import()`, the isolate's number, the number of requests, the first requests
   */
  constructor(module, found) {
    this.module = module;
    this.index = found[0];
    this.size = found[3];
    this.next = 0;
    /** The requests that were read last, each at its number plus `shift`. */
    this.part = found;
    this.shift = REQUESTS;
  }
}
cutOff(Step);

/** Index of the first request in the result of `LINK`. */
const REQUESTS = 4;

/**
 * Import attributes as an object.
 * @param {ArrayLike<string>} list
 * @param {number} first index of the first key; keys and values alternate
 */
function attributesOf(list, first) {
  const attributes = create(null);
  for (let index = first; index + 1 < list.length; index += 2) {
    define(attributes, /** @type {string} */ (list[index]), list[index + 1], true, true);
  }
  return freeze(attributes);
}

/**
 * Returns a resolver's result if it is a module; otherwise throws.
 * @param {unknown} value
 * @returns {object}
 */
function checkModule(value) {
  if (kindOf(value) !== KIND.MODULE) {
    throw invalid('Resolved dependency was not `Module`');
  }
  idOfLive(/** @type {object} */ (value));
  return /** @type {object} */ (value);
}

/** @param {object} module */
function idOfLive(module) {
  const { entry } = recordOf(module, KIND.MODULE);
  if (entry === undefined) {
    throw released('Module has been released');
  }
  return entry.id;
}

/** @param {import('../index.js').Core} core */
module.exports = function createLinker(core) {
  const { binding, calls, entries } = core;
  const { idOf, invoke, pack, unpack } = binding;

  /**
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {boolean} sync
   * @param {Function} method
   */
  function begin(module, context, resolve, sync, method) {
    const carrier = invoke(OP.LINK_BEGIN, MODE.SYNC, 0, idOfLive(module), sync);
    return new Linking(entries.enter(idOf(carrier, method)), context, resolve);
  }

  /**
   * Records a resolution. Returns undefined for a module that needs no further work.
   * @param {Linking} linking
   * @param {Step | undefined} referrer undefined for the first module
   * @param {number} request
   * @param {object} module
   * @returns {Step | undefined}
   */
  function note(linking, referrer, request, module) {
    const index = referrer === undefined ? -1 : referrer.index;
    idOfLive(module);
    const found = unpack(invoke(OP.LINK, MODE.SYNC, 0, linking.entry.id, index, request, pack(module, 0)), note);
    if (found === undefined) {
      return undefined;
    }
    define(linking.modules, found[0], new WeakRef(module), true, true);
    linking.imports ||= found[1];
    linking.isolate = found[2];
    return new Step(module, found);
  }

  /**
   * @param {Linking} linking
   * @param {Step} step
   * @param {number} request
   */
  function ask(linking, step, request) {
    if (request + step.shift === step.part.length) {
      step.part = unpack(invoke(OP.LINK_REQUESTS, MODE.SYNC, 0, linking.entry.id, step.index, request), ask);
      step.shift = -request;
    }
    const texts = step.part[request + step.shift];
    return apply(linking.resolve, undefined, [texts[0], step.module, attributesOf(texts, 1)]);
  }

  /**
   * The final call, once all imports are found.
   * @param {Linking} linking
   * @param {number} mode
   * @param {number} request
   */
  function instantiate(linking, mode, request) {
    const { context, entry, imports } = linking;
    if (recordOf(context, KIND.CONTEXT).entry === undefined) {
      throw released('Context is released');
    }
    return imports
      ? invoke(OP.INSTANTIATE, mode, request, entry.id, pack(context, 0), pack(loaderOf(linking.modules, linking.resolve, linking.isolate), 0))
      : invoke(OP.INSTANTIATE, mode, request, entry.id, pack(context, 0));
  }

  /**
   * Creates the callback that handles `import()` of the modules.
   * @param {ArrayLike<WeakRef<object>>} modules
   * @param {Function} resolve
   * @param {number} isolate
   */
  const loaderOf = (modules, resolve, isolate) =>
    // If the object was collected, nothing else can refer to it: `undefined` takes its place.
    callbackOf((specifier, index, attributes) => apply(resolve, undefined, [specifier, weakRefDeref(modules[index]), attributes]), resolve, isolate);

  /**
   * Creates the callback that handles `import()` of scripts. Imports of a module that is not instantiated have no file.
   * @param {Function} handle
   */
  const importerOf = (handle) => callbackOf(
    (specifier, filename, attributes) => apply(handle, undefined, [specifier, filename, attributes]),
    (/** @type {string} */ specifier, /** @type {unknown} */ _, /** @type {object} */ attributes) => apply(handle, undefined, [specifier, undefined, attributes]),
    0,
  );

  /**
   * @param {(specifier: string, place: any, attributes: object) => unknown} find
   * @param {Function} resolve
   * @param {number} isolate
   */
  function callbackOf(find, resolve, isolate) {
    /**
     * @param {object} context
     * @param {any} place index of the module that imports, or name of the file
     * @param {string[]} texts specifier, keys and values of attributes
     */
    const load = async (context, place, ...texts) => {
      try {
        const module = moduleOf(await binding.settled(find(texts[0], place, attributesOf(texts, 1))));
        if (!isLinked(module, context, resolve, load)) {
          await inner(instantiateInTurn(module, context, resolve, isolate, load));
        }
        return module;
      } finally {
        // The context object was created for this call.
        const record = recordOf(context, KIND.CONTEXT);
        entries.leave(record.entry);
        record.entry = undefined;
      }
    };
    return stamp(create(null), KIND.CALLBACK, new CallbackRecord(load, CALLBACK.AWAITED));
  }

  /**
   * Whether nothing is left to resolve.
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {Function} method
   */
  function isLinked(module, context, resolve, method) {
    const linking = begin(module, context, resolve, false, method);
    try {
      return note(linking, undefined, 0, module) === undefined;
    } catch {
      // Another linker holds the modules, or an import attribute is unsupported.
      return false;
    } finally {
      entries.leave(linking.entry);
    }
  }

  /**
   * The last instantiation of each resolver and isolate.
   * @type {WeakMap<Function, Map<number, Promise<any>>>}
   */
  const turns = new WeakMap();

  /**
   * Instantiates one after another. Code may import several modules with common imports at once, and only one linker at a time can hold
   * these.
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {number} isolate
   * @param {Function} method
   */
  async function instantiateInTurn(module, context, resolve, isolate, method) {
    let last = weakMapGet(turns, resolve);
    if (last === undefined) {
      last = new Map();
      weakMapSet(turns, resolve, last);
    }
    const own = inner(instantiateAfter(mapGet(last, isolate), module, context, resolve, method));
    mapSet(last, isolate, own);
    try {
      await own;
    } finally {
      if (mapGet(last, isolate) === own) {
        mapDelete(last, isolate);
      }
    }
  }

  /**
   * @param {Promise<any> | undefined} before
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {Function} method
   */
  async function instantiateAfter(before, module, context, resolve, method) {
    try {
      await before;
    } catch {
      // The earlier import reports its own error.
    }
    await inner(instantiateLater(module, context, resolve, method));
  }

  /**
   * Resolves imports depth-first, in the order of the requests.
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {Function} method
   */
  function instantiateNow(module, context, resolve, method) {
    const linking = begin(module, context, resolve, true, method);
    try {
      /** @type {{ step: Step, below: any } | undefined} */
      let top;
      const first = note(linking, undefined, 0, module);
      top = first === undefined ? undefined : { step: first, below: undefined };
      while (top !== undefined) {
        const { step } = top;
        if (step.next === step.size) {
          top = top.below;
          continue;
        }
        const request = step.next;
        step.next += 1;
        const found = note(linking, step, request, moduleOf(ask(linking, step, request)));
        if (found !== undefined) {
          top = { step: found, below: top };
        }
      }
      return unpack(instantiate(linking, MODE.SYNC, 0), method);
    } finally {
      entries.leave(linking.entry);
    }
  }

  /**
   * @param {unknown} value that a resolver returned, or that its promise resolved to
   * @returns {object}
   */
  function moduleOf(value) {
    try {
      return checkModule(value);
    } catch (error) {
      binding.discarded(value);
      throw error;
    }
  }

  /**
   * Resolves all requests of a module at once, and those of its imports as they become known.
   * @param {object} module
   * @param {object} context
   * @param {Function} resolve
   * @param {Function} method
   * @param {any} [options]
   */
  function instantiateLater(module, context, resolve, method, options) {
    let linking;
    let signal;
    try {
      signal = options === undefined ? undefined : readSignal(options, MODE.ASYNC, binding.signals);
      linking = begin(module, context, resolve, false, method);
    } catch (error) {
      return calls.rejected(error);
    }
    const call = calls.begin(method);
    linking.call = call;
    linking.work = binding.startWork();
    if (signal !== undefined) {
      core.follow(call, signal, () => {
        linking.call = undefined;
      });
    }
    const done = leaveAfter(linking.entry, call.promise);
    try {
      follow(linking, note(linking, undefined, 0, module));
      if (linking.call !== undefined && linking.pending > 0) {
        giveUpWithIsolate(linking, unpack(invoke(OP.LINK_WATCH, MODE.SYNC, 0, linking.entry.id)));
      } else {
        finish(linking);
      }
    } catch (error) {
      fail(linking, error);
    }
    return done;
  }

  /** @param {import('../core/handle.js').Row} entry @param {Promise<any>} promise */
  async function leaveAfter(entry, promise) {
    try {
      return await inner(promise);
    } finally {
      entries.leave(entry);
    }
  }

  /**
   * @param {Linking} linking
   * @param {Step | undefined} step
   */
  function follow(linking, step) {
    if (step === undefined) {
      return;
    }
    // A resolver may end the instantiation.
    while (step.next < step.size && linking.call !== undefined) {
      if (isSliceOver(linking)) {
        linking.pending += 1;
        followLater(linking, step);
        return;
      }
      const request = step.next;
      step.next += 1;
      linking.pending += 1;
      proceed(linking, step, request, ask(linking, step, request));
    }
  }

  /**
   * Counts a resolution. True if the event loop should have a turn before the next one.
   * @param {Linking} linking
   */
  function isSliceOver({ work }) {
    if (work === undefined) {
      return false;
    }
    work.spend();
    return work.isSliceOver;
  }

  /**
   * Continues after a turn of the event loop. The caller has counted it as pending.
   * @param {Linking} linking
   * @param {Step} step
   */
  async function followLater(linking, step) {
    try {
      await inner(/** @type {import('../index.js').Slices} */ (linking.work).turn());
      follow(linking, step);
      linking.pending -= 1;
      finish(linking);
    } catch (error) {
      fail(linking, error);
    }
  }

  /**
   * @param {Linking} linking
   * @param {Step} step
   * @param {number} request
   * @param {unknown} value perhaps a promise
   */
  async function proceed(linking, step, request, value) {
    try {
      const module = moduleOf(await binding.settled(value));
      if (linking.call === undefined) {
        return;
      }
      follow(linking, note(linking, step, request, module));
      linking.pending -= 1;
      finish(linking);
    } catch (error) {
      fail(linking, error);
    }
  }

  /**
   * Instantiates once no resolution is pending.
   * @param {Linking} linking
   */
  function finish(linking) {
    const { call } = linking;
    if (call !== undefined && linking.pending === 0) {
      // Before anything can fail: from here on, the request settles the call.
      linking.call = undefined;
      try {
        instantiate(linking, MODE.ASYNC, call.request);
      } catch (error) {
        reject(call, error);
      }
    }
  }

  /**
   * @param {Linking} linking
   * @param {unknown} error
   */
  function fail(linking, error) {
    const { call } = linking;
    if (call !== undefined) {
      linking.call = undefined;
      reject(call, error);
    }
  }

  /**
   * @param {import('../core/calls.js').Waiting} call
   * @param {unknown} error
   */
  function reject(call, error) {
    calls.finish(call.request);
    call.reject(error);
  }

  /**
   * Fails the instantiation when the isolate ends, as a resolver may never answer.
   * @param {Linking} linking
   * @param {Promise<unknown>} end rejected when the isolate ends, fulfilled when the linker does
   */
  async function giveUpWithIsolate(linking, end) {
    try {
      await inner(end);
    } catch (error) {
      fail(linking, error);
    }
  }

  return freeze({ importerOf, instantiateLater, instantiateNow });
};
