'use strict';
// The API, once: everything that users of `ivm` see, over a small binding that a host or an isolate supplies. The files of
// this folder run on both sides. They use ECMAScript's own built-ins as they were at load and nothing else: no module of a
// host, no console, no timers. What only a host needs is in `host/`.

const { create, define, Error, freeze } = require('./primordials.js');
const { createEntries, kindOf, recordOf, stamp } = require('./handle.js');
const { KIND, MODE, TAG } = require('./protocol.js');
const { CODE, coded, errorOf } = require('./error.js');
const { createCalls } = require('./calls.js');
const { addMembers, defineClass, instance, privateConstructor } = require('./classes.js');
const { createCallback } = require('./callback.js');
const { createLib, createNativeModule } = require('./library.js');
const createContext = require('./context.js');
const createExternalCopy = require('./external-copy.js');
const createIsolate = require('./isolate.js');
const createModule = require('./module.js');
const createReference = require('./reference.js');
const createScript = require('./script.js');
const createSession = require('./session.js');

/**
 * A value on its way: a primitive is its own carrier, everything else is what the binding's `pack` made of it. Only the
 * binding looks inside.
 * @typedef {any} Carrier
 */

/**
 * What a side supplies. `method` is always the public method that was called: its callers' frames go into stacks.
 * @typedef {object} Binding
 * @property {'host' | 'guest'} side
 * @property {(op: number, mode: number, request: number, handle: number, ...args: Carrier[]) => Carrier} invoke runs an
 *   operation on the native side. MODE.SYNC returns the outcome's carrier; MODE.ASYNC settles `request` later
 * @property {(value: unknown, bits: number) => Carrier} pack throws for what is not transferable
 * @property {(value: unknown, transferOut: boolean, transferList: ArrayLike<unknown> | undefined) => Carrier} packMoving
 *   packs a copy whose buffers are moved
 * @property {(carrier: Carrier, method?: Function) => any} unpack throws when the carrier is a fault
 * @property {(carrier: Carrier, method?: Function) => number} idOf the id in a handle's carrier; throws when it is a fault
 * @property {(id: number) => void} release nobody in this realm names the handle any more
 * @property {(entry: object, id: number) => void} [track] has an id released when its entry is collected; ids are not used again then
 * @property {(slot: number) => unknown} owned the value of this realm that `adopt`'s slot stands for
 * @property {(request: number) => void} [begun] hears of every asynchronous call that begins
 * @property {(request: number, limits: { until: number, stopped: () => Error | undefined }) => () => void} [limitReading] bounds the reading of
 *   a call's outcome, until the returned function is called; only hosts have it
 * @property {() => { readonly isWanted: boolean, release(): void } | undefined} [hold] the request that is being served takes more time; only hosts
 *   have it
 * @property {Signals} [signals] where calls can be aborted
 * @property {(target: (...args: any[]) => any) => (...args: any[]) => any} bind the function in the async context of now
 * @property {(value: any) => any} settled what a function of this realm returned, to be awaited: odd thenables become promises
 * @property {(value: unknown) => void} discarded nobody receives what a resolver of modules returned
 * @property {(value: unknown) => boolean} isArrayBuffer
 * @property {() => bigint} now nanoseconds of a monotonic clock
 * @property {Local} local
 */

/**
 * `AbortSignal`s, which only hosts have.
 * @typedef {object} Signals
 * @property {(value: any) => boolean} isSignal
 * @property {(signal: any) => unknown} reason of a signal that has been aborted
 * @property {(signal: any, abort: () => void) => () => void} follow calls `abort` when that happens, until the returned function is called
 * @property {(request: number) => void} announce the call that begins next under this number may be aborted
 * @property {(request: number) => void} abort
 */

/**
 * Operations on values of this very realm, with the rules of the boundary. Values go in and come out as they are.
 * @typedef {object} Local
 * @property {(value: unknown, bits: number) => any} cross what `value` would be on the other side
 * @property {(target: any, key: string | number, bits: number) => any} get
 * @property {(target: any, key: string | number, value: unknown) => void} set
 * @property {(target: any, key: string | number) => void} delete
 * @property {(target: any, receiver: unknown, args: ArrayLike<any> | undefined, bits: number, discarded: boolean) => any} apply
 *   receiver and arguments have crossed already; the latter start at index 8. Nobody receives the result if it is `discarded`
 */

/**
 * What the classes share.
 * @typedef {object} Core
 * @property {Binding} binding
 * @property {ReturnType<typeof createCalls>} calls
 * @property {ReturnType<typeof createEntries>} entries
 * @property {(mode: number, method: Function, signal?: any, site?: { stack?: unknown }) => import('./calls.js').Waiting | undefined} begin
 * @property {(call: import('./calls.js').Waiting, signal: object, stop?: () => void) => void} follow
 * @property {(mode: number, call: import('./calls.js').Waiting | undefined, carrier: Carrier, method: Function) => any} conclude
 * @property {(mode: number, error: unknown) => any} refuse
 * @property {(value: unknown) => object} externalCopyOf
 * @property {(reference: unknown) => void} releaseReference
 */

/**
 * @param {Binding} binding
 * @param {(core: Core) => object} [more] members that this side's `ivm` has beside the classes
 */
function createSurface(binding, more) {
  const calls = createCalls(binding.begun);
  const entries = createEntries(binding.release, binding.track);

  /** @type {Core} */
  const core = freeze({
    binding,
    calls,
    entries,
    /** The call to wait for, where the mode is one to wait in. */
    begin(mode, method, signal, site) {
      if (mode !== MODE.ASYNC) {
        return undefined;
      }
      const call = calls.begin(method, signal, site);
      if (signal !== undefined && binding.signals !== undefined) {
        binding.signals.announce(call.request);
      }
      return call;
    },
    follow,
    /** What a method returns after `invoke`. */
    conclude(mode, call, carrier, method) {
      if (call !== undefined) {
        if (call.signal !== undefined) {
          follow(call, call.signal);
        }
        return call.promise;
      }
      if (mode === MODE.SYNC) {
        return binding.unpack(carrier, method);
      }
      if (carrier !== undefined) {
        // It could not begin.
        binding.unpack(carrier, method);
      }
      return undefined;
    },
    /** Bad options and the like: asynchronous methods reject, all others throw. */
    refuse(mode, error) {
      if (mode === MODE.ASYNC) {
        return calls.rejected(error);
      }
      throw error;
    },
    externalCopyOf: (value) => (kindOf(value) === KIND.EXTERNAL_COPY ? /** @type {object} */ (value) : externalCopy.make(value)),
    releaseReference: (reference) => classes.reference.release(reference),
  });

  /**
   * Aborts a call that was made when `signal` says so, and also where that cannot be followed.
   * @param {import('./calls.js').Waiting} call
   * @param {object} signal
   * @param {() => void} [stop] hears of it
   */
  function follow(call, signal, stop) {
    const signals = /** @type {Signals} */ (binding.signals);
    /** @param {unknown} reason */
    const abort = (reason) => {
      const { request } = call;
      if (calls.finish(request) === undefined) {
        return;
      }
      signals.abort(request);
      call.reject(reason);
      if (stop !== undefined) {
        stop();
      }
    };
    try {
      call.unfollow = signals.follow(signal, () => abort(signals.reason(signal)));
    } catch (error) {
      abort(error);
    }
  }

  const callback = createCallback();
  const context = createContext(core);
  const externalCopy = createExternalCopy(core);
  const session = createSession(core);
  const isolate = createIsolate(core, session.open);
  // No class of `ivm`'s: modules are only made by isolates.
  const module = createModule(core);
  const reference = createReference(core);
  const script = createScript(core);
  const classes = { reference };
  const lib = createLib(binding);

  function isolated_vm() {
    throw privateConstructor('isolated_vm');
  }
  // The order is that of the original's prototype.
  const members = {
    Callback: callback.Constructor,
    Context: context.Constructor,
    ExternalCopy: externalCopy.Constructor,
    Isolate: isolate.Constructor,
    NativeModule: createNativeModule().Constructor,
    Reference: reference.Constructor,
    Script: script.Constructor,
  };
  if (more !== undefined) {
    addMembers(members, more(core), true);
  }
  defineClass(isolated_vm, members);
  const ivm = instanceOfModule(isolated_vm);
  define(ivm, 'lib', lib, false, true);
  freeze(ivm);

  /**
   * The object for a handle that arrived.
   * @param {number} kind
   * @param {number} id
   * @param {number} slot of this realm's own value where the handle is a Reference to one, else negative
   * @param {string} typeOf of a Reference
   * @param {number} flags of a Reference
   * @returns {object}
   */
  function adopt(kind, id, slot, typeOf, flags) {
    switch (kind) {
      case KIND.IVM:
        return ivm;
      case KIND.LIB:
        return lib;
      case KIND.REFERENCE:
        return instance(reference.Constructor, kind, reference.adopt(entries.enter(id), slot, typeOf, flags));
      default:
        return wrap(kind, entries.enter(id));
    }
  }

  /**
   * @param {number} kind
   * @param {import('./handle.js').Row} entry
   * @returns {object}
   */
  function wrap(kind, entry) {
    switch (kind) {
      case KIND.ISOLATE:
        return instance(isolate.Constructor, kind, isolate.adopt(entry));
      case KIND.CONTEXT:
        return instance(context.Constructor, kind, context.adopt(entry));
      case KIND.EXTERNAL_COPY:
        return instance(externalCopy.Constructor, kind, externalCopy.adopt(entry));
      case KIND.SCRIPT:
        return open(script.Constructor, kind, script.adopt(entry));
      case KIND.MODULE:
        return open(module.Constructor, kind, module.adopt(entry));
      default:
        throw coded(Error, `A handle of unknown kind ${kind} arrived`, CODE.UNSUPPORTED);
    }
  }

  /**
   * Scripts and modules stay open for their compilation cache.
   * @param {Function} Constructor
   * @param {number} kind
   * @param {object} record
   */
  const open = (Constructor, kind, record) => stamp(bare(Constructor), kind, record);

  /**
   * A second object for what a handle names, as if it had been sent somewhere and had come back.
   * @param {object} handle of a kind that is an entry's wrapper
   * @returns {object}
   */
  function twin(handle) {
    const kind = kindOf(handle);
    const record = recordOf(handle, kind);
    return kind === KIND.REFERENCE ? reference.twin(record) : wrap(kind, entries.share(record.entry));
  }

  /**
   * The outcome of an asynchronous call, or of a promise made elsewhere, has arrived.
   * @param {number} request
   * @param {Carrier} carrier
   */
  function settle(request, carrier) {
    if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.PROMISE) {
      calls.proceed(request, carrier[1]);
      return;
    }
    const call = calls.finish(request);
    if (call === undefined) {
      return;
    }
    try {
      if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.FAULT) {
        call.reject(errorOf(carrier, call.site));
      } else {
        call.resolve(binding.unpack(carrier));
      }
    } catch (error) {
      call.reject(error);
    }
  }

  return freeze({ ivm, core, adopt, twin, settle, referenceTo: reference.make, copyOf: externalCopy.make });
}

/**
 * @param {Function} Constructor
 * @returns {object}
 */
const bare = (Constructor) => create(Constructor.prototype);

/** @param {Function} Constructor */
const instanceOfModule = (Constructor) => stamp(bare(Constructor), KIND.IVM, {});

module.exports = createSurface;
