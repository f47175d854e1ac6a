'use strict';
// What this host sends beyond primitives: copies, functions, promises and references. It is loaded when the first of these is sent, or when a
// guest first calls a function of this host.

const { adopt, discard, isThenable, ORIGIN } = require('./calls/host-calls.js');
const { createLocal } = require('./values/local.js');
const { createPack } = require('./values/pack.js');
const { createServe } = require('./requests/serve.js');
const { createServeDirectCalls } = require('./requests/serve-direct-calls.js');
const { createSignals } = require('./calls/signals.js');
const { Work } = require('./work.js');

/**
 * What reads the arguments of requests.
 * @typedef {object} Reading
 * @property {(carriers: any[]) => void} release
 * @property {(carrier: any) => void} skip
 */

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('./values/owned.js').Table} host.owned
 * @param {() => ReturnType<typeof import('../index.js')>} host.surface
 * @param {(carrier: any, method?: Function, together?: import('./values/unpack.js').Together) => any} host.unpack
 * @param {() => Reading} host.incoming
 */
function createOutgoing({ native, owned, surface, unpack, incoming }) {
  /** @param {number} request @param {any} carrier */
  const reply = (request, carrier) => native.reply(request, carrier);
  const { answerWith, pack, packAnswer, packArgument, packMoving, packResult, packThrown, small } = createPack(owned, {
    outcome: native.outcome,
    reply,
    refuse: (request) => native.refuse(request),
    recipient: (request) => native.recipient(request),
    maxAnswers: (request) => native.maxAnswers(request),
    isAwaited: (request) => native.isAwaited(request),
  });
  const { delegateTo, local } = createLocal({ native, surface, unpack });
  const { release, skip } = incoming();
  return Object.freeze({
    delegateTo,
    local: Object.freeze(local),
    pack,
    packArgument,
    packMoving,
    serve: createServe({ owned, reply, pack, packResult, packThrown, answerWith, unpack, release }),
    serveDirectCalls: createServeDirectCalls({ native, owned, packAnswer, small, packThrown, unpack, skip }),
    signals: createSignals(native),
    startWork: () => new Work(),
    /** @param {any} value */
    settled: (value) => (isThenable(value) ? adopt(value) : value),
    /** @param {unknown} value */
    discarded: (value) => discard(ORIGIN.MODULE_RESOLVER, value),
  });
}

module.exports = { createOutgoing };
