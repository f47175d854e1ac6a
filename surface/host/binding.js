'use strict';
// The host's side of the binding, between the surface and the native environment. Each realm that loads the module has its own
// environment, so worker threads have their own.

const { types } = require('node:util');
const { CODE, coded } = require('../core/error.js');
const { FAULT, HANDLE, KIND, TAG } = require('../core/protocol.js');
const { queueMicrotask } = require('./clock.js');
const { createLifecycle } = require('./diagnostics.js');
const { Owned } = require('./values/owned.js');
const { bind, Callers } = require('./calls/callers.js');
const { runMicrotasks } = require('./calls/microtasks.js');
const { isCarrier } = require('./values/primitive.js');

const { bigint: now } = process.hrtime;
const isDeno = process.versions.deno !== undefined;

/**
 * @param {any} native the addon: `open` takes the functions that it calls, and what this host is like
 * @param {() => { contextGlobals: NonNullable<import('../index.js').Binding['contextGlobals']>, webBits: (web: unknown) => number }} sandboxes returns
 *   the functions that read options of contexts
 * @returns {{ binding: import('../index.js').Binding, environment: any, connect: (surface: any) => void }}
 */
function createHostBinding(native, sandboxes) {
  /** @type {any} */
  let surface;
  // Filled in once the environment exists. Nothing is called before that.
  /** @type {any} */
  const bound = {};
  const lifecycle = createLifecycle(bound);
  const owned = new Owned(() => bound.disowned());
  const callers = new Callers(owned, bound);

  /** @type {ReturnType<typeof import('./incoming.js').createIncoming> | undefined} */
  let received;
  /** @type {ReturnType<typeof import('./outgoing.js').createOutgoing> | undefined} */
  let sent;
  /** Most programs need it, but not to load the package and to start an isolate. */
  const incoming = () => (received ??= require('./incoming.js').createIncoming({
    native: bound, owned, callers, surface: () => surface, unpack, settle, failed: lifecycle.failed, outgoing,
  }));
  /** Needed for functions and objects of this host, and not for the first result of a guest. */
  const outgoing = () => (sent ??= require('./outgoing.js').createOutgoing({ native: bound, owned, surface: () => surface, unpack, incoming }));

  /** @param {any} value @param {number} bits */
  const pack = (value, bits) => (isCarrier(value, bits) ? value : outgoing().pack(value, bits));

  /**
   * @param {any} carrier
   * @param {Function} [method] the public method that was called
   * @param {import('./values/unpack.js').Together} [together] the other arguments of the call that it is an argument of
   */
  function unpack(carrier, method, together) {
    if (typeof carrier !== 'object' || carrier === null) {
      return carrier;
    }
    return carrier[0] === TAG.HANDLE
      ? surface.adopt(carrier[HANDLE.KIND], carrier[HANDLE.ID], carrier[HANDLE.OWN], carrier[HANDLE.TYPE_OF], carrier[HANDLE.FLAGS])
      : incoming().unpackObject(carrier, method, together);
  }

  /**
   * The id in a handle's carrier.
   * @param {any} carrier
   * @param {Function} [method]
   * @returns {number}
   */
  function idOf(carrier, method) {
    if (Array.isArray(carrier) && carrier[0] === TAG.HANDLE && carrier[HANDLE.KIND] !== KIND.IVM) {
      return carrier[HANDLE.ID];
    }
    unpack(carrier, method);
    throw coded(Error, 'The native side gave no handle', CODE.UNSUPPORTED);
  }

  /** @param {number} request @param {any} carrier */
  const settle = (request, carrier) => {
    callers.settled(request, carrier);
    surface.settle(request, carrier);
    if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.FAULT) {
      lifecycle.failed(carrier[FAULT.CODE], carrier[FAULT.MESSAGE]);
    }
  };

  const environment = native.open({
    /** @type {typeof settle} */
    settle: (request, carrier) => {
      if (typeof carrier !== 'object' || carrier === null || carrier[0] === TAG.HANDLE) {
        return settle(request, carrier);
      }
      try {
        return incoming().arrivals.settle(request, carrier);
      } catch (error) {
        // A file of this package could not be loaded. Without an outcome, the call would never settle.
        received?.release([carrier]);
        return settle(request, [TAG.THROWN, [TAG.VALUE, error]]);
      }
    },
    serve: (/** @type {[any, any, any, any]} */ ...args) => incoming().arrivals.serveNow(...args),
    serveLater: (/** @type {[any, any, any, any]} */ ...args) => incoming().arrivals.serve(...args),
    defer: () => incoming().arrivals.later(),
    runMicrotasks,
    flushLater: () => queueMicrotask(bound.flushWakeUps),
    own: (/** @type {number} */ ticket, /** @type {number} */ note) => owned.own(ticket, note),
    leave: (/** @type {import('../core/handle.js').Row} */ entry) => surface.core.entries.leave(entry),
    serveDirectCalls: (/** @type {number} */ head, /** @type {unknown} */ first) => incoming().arrivals.serveDirectCalls(head, first),
    // If the host was started with `--expose-gc`, guests have `gc` too, as in isolated-vm.
    exposesGc: typeof (/** @type {any} */ (globalThis).gc) === 'function',
    // Deno's Node-API handle scopes do nothing.
    hasScopes: !isDeno,
    // Its event loop can miss calls of thread-safe functions.
    missesSignals: isDeno,
  });
  Object.assign(bound, environment);

  /** @type {import('../index.js').Signals} */
  const signals = {
    isSignal: (value) => outgoing().signals.isSignal(value),
    reason: (signal) => outgoing().signals.reason(signal),
    follow: (signal, abort) => outgoing().signals.follow(signal, abort),
    abort: bound.abort,
  };
  /** @type {import('../index.js').Local} */
  const local = {
    cross: (value, bits) => outgoing().local.cross(value, bits),
    get: (target, key, bits) => outgoing().local.get(target, key, bits),
    set: (target, key, value) => outgoing().local.set(target, key, value),
    delete: (target, key) => outgoing().local.delete(target, key),
    apply: (target, receiver, args, bits, discarded, timeout, deadline) =>
      outgoing().local.apply(target, receiver, args, bits, discarded, timeout, deadline),
  };

  return {
    environment,
    binding: Object.freeze({
      side: 'host',
      invoke: bound.invoke,
      invokeSync: bound.invoke,
      pack,
      packMoving: (value, transferOut, transferList) => outgoing().packMoving(value, transferOut, transferList),
      unpack,
      idOf,
      release: bound.release,
      begun: (request) => callers.begun(request),
      limitReading: (request, limits) => incoming().arrivals.limit(request, limits),
      defer: () => incoming().arrivals.defer(),
      signals: Object.freeze(signals),
      lifecycle,
      contextGlobals: (web, timers, console) => sandboxes().contextGlobals(web, timers, console),
      webBits: (web) => sandboxes().webBits(web),
      bind,
      settled: (value) => outgoing().settled(value),
      startWork: () => outgoing().startWork(),
      discarded: (value) => outgoing().discarded(value),
      owned: (slot) => owned.value(slot),
      isArrayBuffer: types.isArrayBuffer,
      now,
      local: Object.freeze(local),
    }),
    connect(made) {
      surface = made;
    },
  };
}

module.exports = { createHostBinding };
