'use strict';
// The API of `ivm`, shared by hosts and isolates, which each supply a small binding. The files of this folder run on both sides. They use
// only ECMAScript's built-ins as they were at load: no modules of a host, no console, no timers. Code for hosts only is in `host/`.

const { define, Error, freeze } = require('./core/primordials.js');
const { bare, createEntries, kindOf, recordOf, stamp } = require('./core/handle.js');
const { KIND, MODE, TAG } = require('./core/protocol.js');
const { CODE, coded, errorOf } = require('./core/error.js');
const { createCalls } = require('./core/calls.js');
const { addMembers, defineClass, instance, privateConstructor } = require('./core/classes.js');
const createReference = require('./api/reference.js');

/**
 * A value in transfer. A primitive is its own carrier; any other value has the carrier that the binding's `pack` made. Only the binding
 * looks inside.
 * @typedef {any} Carrier
 */

/**
 * What each side supplies. `method` is always the public method that was called; its callers' frames appear in stacks.
 * @typedef {object} Binding
 * @property {'host' | 'guest'} side
 * @property {(op: number, mode: number, request: number, handle: number, ...args: Carrier[]) => Carrier} invoke runs an
 *   operation on the native side. MODE.SYNC returns the outcome's carrier; MODE.ASYNC settles `request` later
 * @property {(op: number, mode: number, request: number, handle: number, ...args: Carrier[]) => Carrier} invokeSync the same with MODE.SYNC only
 * @property {(value: unknown, bits: number) => Carrier} pack throws for a value that is not transferable
 * @property {(value: unknown, transferOut: boolean, transferList: ArrayLike<unknown> | undefined) => Carrier} packMoving
 *   packs a copy whose buffers are moved
 * @property {(carrier: Carrier, method?: Function) => any} unpack throws when the carrier is a fault
 * @property {(carrier: Carrier, method?: Function) => number} idOf the id in a handle's carrier; throws when it is a fault
 * @property {(id: number) => void} release this realm no longer refers to the handle
 * @property {(entry: object, id: number) => void} [track] makes the native side release an id when its entry is collected; the id is
 *   never used again
 * @property {(slot: number) => unknown} owned the value of this isolate for `adopt`'s slot, or the id of its handle
 * @property {(request: number) => void} [begun] called when an asynchronous call starts
 * @property {(request: number, limits: { until: number, stopped: () => Error | undefined }) => () => void} [limitReading] limits the
 *   reading of a call's outcome until the returned function is called; hosts only
 * @property {() => { readonly isWanted: boolean, release(): void } | undefined} [defer] keeps the request that is being
 *   served open after its function has returned; hosts only
 * @property {Signals} [signals] present if calls can be aborted
 * @property {Lifecycle} [lifecycle] hosts only
 * @property {(web: unknown, timers: unknown, console: unknown) => InstallGlobals} [contextGlobals] reads options of `createContext`; hosts only
 * @property {(web: unknown) => number} [webBits] the bits of an option that names web APIs; hosts only
 * @property {(target: (...args: any[]) => any) => (...args: any[]) => any} bind binds the function to the current async context
 * @property {(value: any) => any} settled prepares a function's return value for `await`: unusual thenables become promises
 * @property {() => Slices | undefined} startWork counts work that a guest causes; undefined on a side without an event loop
 * @property {(value: unknown) => void} discarded the return value of a module resolver is discarded
 * @property {(value: unknown) => boolean} isArrayBuffer
 * @property {() => bigint} now nanoseconds of a monotonic clock
 * @property {Local} local
 */

/**
 * Adds to a context what its options ask for, and returns it, or a promise for it.
 * @typedef {(context: any, mode: number, method: Function, signal: any) => any} InstallGlobals
 */

/**
 * What is called when isolates are created and disposed.
 * @typedef {object} Lifecycle
 * @property {(memoryLimit: number | undefined, onCatastrophicError: any) =>
 *   { onCatastrophicError: (message: string) => void, created: (isolate: object) => void } | undefined} creating
 * @property {(isolate: object, memoryLimit: number) => void} taken
 * @property {(isolate: object) => void} disposed
 */

/**
 * Work that is done in slices, with turns of the event loop between them.
 * @typedef {object} Slices
 * @property {() => void} spend counts a step
 * @property {() => unknown} check looks at the clock, for steps that take long
 * @property {boolean} isSliceOver
 * @property {() => Promise<void>} turn
 */

/**
 * `AbortSignal`s, which only hosts have.
 * @typedef {object} Signals
 * @property {(value: any) => boolean} isSignal
 * @property {(signal: any) => unknown} reason of a signal that has been aborted
 * @property {(signal: any, abort: () => void) => () => void} follow calls `abort` on abort, until the returned function is called
 * @property {(request: number) => void} abort
 */

/**
 * Operations on values of this realm, with the rules of the boundary. Values are passed and returned unencoded.
 * @typedef {object} Local
 * @property {(value: unknown, bits: number) => any} cross returns what `value` becomes on the other side
 * @property {(target: any, key: string | number, bits: number) => any} get
 * @property {(target: any, key: string | number, value: unknown) => void} set
 * @property {(target: any, key: string | number) => void} delete
 * @property {(target: any, receiver: unknown, args: ArrayLike<any> | undefined, bits: number, discarded: boolean,
 *   timeout: number, deadline: number) => any} apply receiver and arguments have crossed already; arguments start at index 8. With
 *   `discarded`, the result is not received. The limits are in milliseconds, 0 for none; those of a host's own function have no effect
 */

/**
 * Shared by the classes.
 * @typedef {object} Core
 * @property {Binding} binding
 * @property {ReturnType<typeof createCalls>} calls
 * @property {ReturnType<typeof createEntries>} entries
 * @property {(mode: number, method: Function, signal?: any, site?: { stack?: unknown }) => import('./core/calls.js').Waiting | undefined} begin
 * @property {(call: import('./core/calls.js').Waiting, signal: object, stop?: () => void) => void} follow
 * @property {(mode: number, call: import('./core/calls.js').Waiting | undefined, carrier: Carrier, method: Function) => any} conclude
 * @property {(mode: number, error: unknown) => any} refuse
 * @property {(value: unknown) => object} externalCopyOf
 * @property {(reference: unknown) => void} releaseReference
 */

/**
 * @param {Binding} binding
 * @param {(core: Core) => object} [more] members that this side's `ivm` has in addition to the classes
 */
function createSurface(binding, more) {
  const calls = createCalls(binding.begun);
  const entries = createEntries(binding.release, binding.track);

  /** @type {Core} */
  const core = freeze({
    binding,
    calls,
    entries,
    /** Starts a call in asynchronous mode; undefined in other modes. */
    begin(mode, method, signal, site) {
      return mode === MODE.ASYNC ? calls.begin(method, signal, site) : undefined;
    },
    follow,
    /** Returns a method's result after `invoke`. */
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
        // The call could not start.
        binding.unpack(carrier, method);
      }
      return undefined;
    },
    /** Reports wrong options and similar errors: asynchronous methods reject, all others throw. */
    refuse(mode, error) {
      if (mode === MODE.ASYNC) {
        return calls.rejected(error);
      }
      throw error;
    },
    externalCopyOf: (value) => (kindOf(value) === KIND.EXTERNAL_COPY ? /** @type {object} */ (value) : externalCopy().make(value)),
    releaseReference: (handle) => reference.release(handle),
  });

  /**
   * Aborts a call when `signal` is aborted, or at once if `signal` cannot be observed.
   * @param {import('./core/calls.js').Waiting} call
   * @param {object} signal
   * @param {() => void} [stop] called on abort
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

  // The first handle in most realms of guests is a Reference. Everything else is made when this realm needs it, as most never do.
  const reference = createReference(core);
  const context = onDemand(() => require('./api/context.js')(core));
  const externalCopy = onDemand(() => require('./api/external-copy.js')(core));
  const script = onDemand(() => require('./api/script.js')(core));
  const session = onDemand(() => require('./api/session.js')(core));
  // Not a member of `ivm`: only isolates create modules.
  const module = onDemand(() => require('./api/module.js')(core));
  const isolate = onDemand(() => require('./api/isolate.js')(
    core,
    (id, method) => session().open(id, method),
    (handle) => module().importerOf(handle),
  ));
  const lib = onDemand(() => require('./api/library.js').createLib(binding));
  // Complete from the beginning, so that its prototype has no getters for classes.
  const ivm = onDemand(() => {
    function isolated_vm() {
      throw privateConstructor('isolated_vm');
    }
    // In the order of isolated-vm's prototype.
    const members = {
      Callback: require('./api/callback.js').createCallback().Constructor,
      Context: context().Constructor,
      ExternalCopy: externalCopy().Constructor,
      Isolate: isolate().Constructor,
      NativeModule: require('./api/library.js').createNativeModule().Constructor,
      Reference: reference.Constructor,
      Script: script().Constructor,
    };
    if (more !== undefined) {
      addMembers(members, more(core), true);
    }
    defineClass(isolated_vm, members);
    const made = instanceOfModule(isolated_vm);
    define(made, 'lib', lib(), false, true);
    return freeze(made);
  });

  /**
   * Creates the object for a handle that arrived.
   * @param {number} kind
   * @param {number} id
   * @param {number} slot for a Reference to a value of this realm, OTHER_REALM, or negative
   * @param {string} typeOf for a Reference
   * @param {number} flags for a Reference
   * @returns {object}
   */
  function adopt(kind, id, slot, typeOf, flags) {
    switch (kind) {
      case KIND.IVM:
        return ivm();
      case KIND.LIB:
        return lib();
      case KIND.REFERENCE:
        return instance(reference.Constructor, kind, reference.adopt(entries.enter(id), slot, typeOf, flags));
      default:
        return wrap(kind, entries.enter(id));
    }
  }

  /**
   * @param {number} kind
   * @param {import('./core/handle.js').Row} entry
   * @returns {object}
   */
  function wrap(kind, entry) {
    switch (kind) {
      case KIND.ISOLATE:
        return instance(isolate().Constructor, kind, isolate().adopt(entry));
      case KIND.CONTEXT:
        return instance(context().Constructor, kind, context().adopt(entry));
      case KIND.EXTERNAL_COPY:
        return instance(externalCopy().Constructor, kind, externalCopy().adopt(entry));
      case KIND.SCRIPT:
        return open(script().Constructor, kind, script().adopt(entry));
      case KIND.MODULE:
        return open(module().Constructor, kind, module().adopt(entry));
      default:
        throw coded(Error, `A handle of unknown kind ${kind} arrived`, CODE.UNSUPPORTED);
    }
  }

  /**
   * Creates a script or module, which is not frozen, so that its compilation cache can be added.
   * @param {Function} Constructor
   * @param {number} kind
   * @param {object} record
   */
  const open = (Constructor, kind, record) => stamp(bare(Constructor), kind, record);

  /**
   * Creates a second object for the same handle, as if it had been sent elsewhere and had returned.
   * @param {object} handle of a kind that wraps an entry
   * @returns {object}
   */
  function twin(handle) {
    const kind = kindOf(handle);
    const record = recordOf(handle, kind);
    return kind === KIND.REFERENCE ? reference.twin(record) : wrap(kind, entries.share(record.entry));
  }

  /**
   * Settles an asynchronous call, or a promise created elsewhere, with the outcome that arrived.
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

  return freeze({
    get ivm() {
      return ivm();
    },
    core,
    adopt,
    twin,
    settle,
    referenceTo: reference.make,
    /** @param {unknown} value */
    copyOf: (value) => externalCopy().make(value),
  });
}

/**
 * What `make` returns, made when it is first needed. If that fails, because guest code has used up the stack for example, it is tried again.
 * @template {object} T
 * @param {() => T} make
 * @returns {() => T}
 */
function onDemand(make) {
  /** @type {T | undefined} */
  let made;
  return () => (made ??= make());
}

/** @param {Function} Constructor */
const instanceOfModule = (Constructor) => stamp(bare(Constructor), KIND.IVM, {});

module.exports = createSurface;
