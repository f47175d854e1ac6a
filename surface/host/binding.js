'use strict';
// The host's side of the binding, between the surface and the native environment. Each realm that loads the module has its own
// environment, so worker threads have their own.

const { types } = require('node:util');
const { TAG } = require('../core/protocol.js');
const { createArrivals } = require('./arrivals.js');
const { createLifecycle } = require('./diagnostics.js');
const { Owned } = require('./owned.js');
const { bind, Callers } = require('./callers.js');
const { adopt, discard, isThenable, ORIGIN } = require('./host-calls.js');
const { createLocal } = require('./local.js');
const { runMicrotasks } = require('./microtasks.js');
const { createPack } = require('./pack.js');
const { createServe } = require('./serve.js');
const { createServeHere } = require('./serve-here.js');
const { createSignals } = require('./signals.js');
const { createUnpack } = require('./unpack.js');
const { Work } = require('./work.js');

const { bigint: now } = process.hrtime;
const isDeno = process.versions.deno !== undefined;

/**
 * @param {any} native the addon: `open(settle, serve, serveLater, defer, runMicrotasks, flushLater, own, leave, serveHere, exposesGc, hasScopes, missesSignals)`
 * @param {() => { contextEquipment: NonNullable<import('../index.js').Binding['equipment']>, webBits: (web: unknown) => number }} equipment returns
 *   the functions that read options of contexts
 * @returns {{ binding: import('../index.js').Binding, environment: any, connect: (surface: any) => void }}
 */
function createHostBinding(native, equipment) {
  /** @type {any} */
  let surface;
  // Filled in once the environment exists. Nothing is called before that.
  /** @type {any} */
  const bound = {};
  const theSurface = () => surface;
  const lifecycle = createLifecycle(bound);

  const owned = new Owned(() => bound.disowned());
  /** @param {number} request @param {any} carrier */
  const reply = (request, carrier) => bound.reply(request, carrier);
  const { answerWith, pack, packMoving, packResult, packThrown } = createPack(owned, {
    reply,
    recipient: (request) => bound.recipient(request),
    isAwaited: (request) => bound.isAwaited(request),
  });
  const { hooks, idOf, together, unpack } = createUnpack({
    native: bound,
    pack,
    owned,
    surface: theSurface,
    failed: lifecycle.failed,
    delegateTo: (target, name, length, mode) => delegateTo(target, name, length, mode),
  });
  const { delegateTo, local } = createLocal({ native: bound, surface: theSurface, unpack });

  const callers = new Callers(owned);
  const serve = createServe({ owned, reply, pack, packResult, packThrown, answerWith, together, unpack });
  const serveHere = createServeHere({ owned, packResult, packThrown });
  /** @param {number} request @param {any} carrier */
  const settle = (request, carrier) => {
    callers.settled(request, carrier);
    surface.settle(request, carrier);
    if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.FAULT) {
      lifecycle.failed(carrier[5], carrier[3]);
    }
  };
  /** @param {number} caller @param {[number, number, number, ...any[]]} args */
  const serveFor = (caller, args) => callers.run(caller, serve, args);
  const arrivals = createArrivals({ native: bound, hooks, settle, serveNow: serve, serveHere, serveFor, packThrown });
  const environment = native.open(
    arrivals.settle,
    arrivals.serveNow,
    arrivals.serve,
    arrivals.later,
    runMicrotasks,
    () => queueMicrotask(bound.flushWakeUps),
    (/** @type {number} */ ticket, /** @type {number} */ note) => owned.own(ticket, note),
    (/** @type {import('../core/handle.js').Row} */ entry) => surface.core.entries.leave(entry),
    arrivals.serveHere,
    // If the host was started with `--expose-gc`, guests have `gc` too, as in isolated-vm.
    typeof (/** @type {any} */ (globalThis).gc) === 'function',
    // Deno's Node-API handle scopes do nothing.
    !isDeno,
    // Its event loop can miss calls of thread-safe functions.
    isDeno,
  );
  Object.assign(bound, environment);

  return {
    environment,
    binding: Object.freeze({
      side: 'host',
      invoke: bound.invoke,
      invokeSync: bound.invoke,
      pack,
      packMoving,
      unpack,
      idOf,
      release: bound.release,
      begun: (request) => callers.begun(request),
      limitReading: arrivals.limit,
      hold: arrivals.hold,
      signals: createSignals(bound),
      lifecycle,
      equipment: (web, timers, console) => equipment().contextEquipment(web, timers, console),
      webBits: (web) => equipment().webBits(web),
      bind,
      settled: (value) => (isThenable(value) ? adopt(value) : value),
      startWork: () => new Work(),
      discarded: (value) => discard(ORIGIN.MODULE_RESOLVER, value),
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
