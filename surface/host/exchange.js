'use strict';
// What crosses between this host and guests beyond primitives and handles: copies, functions, promises and faults, requests of guests, and
// messages that are read in pieces. It is loaded when the first of these is needed.

const { createArrivals } = require('./requests/arrivals.js');
const { adopt, discard, isThenable, ORIGIN } = require('./calls/host-calls.js');
const { createLocal } = require('./values/local.js');
const { createPack } = require('./values/pack.js');
const { createServe } = require('./requests/serve.js');
const { createServeDirectCalls } = require('./requests/serve-direct-calls.js');
const { createSignals } = require('./calls/signals.js');
const { createUnpack } = require('./values/unpack.js');
const { Work } = require('./work.js');

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('./values/owned.js').Table} host.owned
 * @param {import('./calls/callers.js').CallContexts} host.callers
 * @param {() => ReturnType<typeof import('../index.js')>} host.surface
 * @param {(carrier: any, method?: Function) => any} host.unpack
 * @param {(request: number, carrier: any) => void} host.settle
 * @param {(code: string | undefined, message: unknown) => void} host.failed called with code and message of each fault that is thrown
 */
function createExchange({ native, owned, callers, surface, unpack, settle, failed }) {
  /** @param {number} request @param {any} carrier */
  const reply = (request, carrier) => native.reply(request, carrier);
  const { answerWith, pack, packAnswer, packMoving, packResult, packThrown, small } = createPack(owned, {
    outcome: native.outcome,
    reply,
    recipient: (request) => native.recipient(request),
    isAwaited: (request) => native.isAwaited(request),
  });
  const { hooks, release, skip, together, unpackObject } = createUnpack({
    native,
    pack,
    owned,
    surface,
    unpack,
    failed,
    delegateTo: (target, name, length, mode) => delegateTo(target, name, length, mode),
  });
  const { delegateTo, local } = createLocal({ native, surface, unpack });
  const serve = createServe({ owned, reply, pack, packResult, packThrown, answerWith, together, unpack, release });
  const serveDirectCalls = createServeDirectCalls({ native, owned, packAnswer, small, packThrown, together, unpack, skip });
  /** @param {number} caller @param {[number, number, number, ...any[]]} args */
  const serveFor = (caller, args) => callers.run(caller, serve, args);
  return Object.freeze({
    arrivals: createArrivals({ native, hooks, settle, serveNow: serve, serveDirectCalls, serveFor, packThrown, release }),
    local: Object.freeze(local),
    pack,
    packMoving,
    unpackObject,
    signals: createSignals(native),
    /** @param {any} value */
    settled: (value) => (isThenable(value) ? adopt(value) : value),
    startWork: () => new Work(),
    /** @param {unknown} value */
    discarded: (value) => discard(ORIGIN.MODULE_RESOLVER, value),
  });
}

module.exports = { createExchange };
