'use strict';
// What arrives at this host beyond primitives and handles: outcomes and requests of guests, and messages that are read in pieces. It is loaded when
// the first of these arrives.

const { createArrivals } = require('./requests/arrivals.js');
const { createUnpack } = require('./values/unpack.js');

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('./values/owned.js').Table} host.owned
 * @param {import('./calls/callers.js').CallContexts} host.callers
 * @param {() => ReturnType<typeof import('../index.js')>} host.surface
 * @param {(carrier: any, method?: Function) => any} host.unpack
 * @param {(request: number, carrier: any) => void} host.settle
 * @param {(code: string | undefined, message: unknown) => void} host.failed called with code and message of each fault that is thrown
 * @param {() => ReturnType<typeof import('./outgoing.js').createOutgoing>} host.outgoing
 */
function createIncoming({ native, owned, callers, surface, unpack, settle, failed, outgoing }) {
  const { hooks, release, skip, unpackObject } = createUnpack({ native, owned, surface, unpack, failed, outgoing });
  /** @param {number} caller @param {[number, number, number, ...any[]]} args */
  const serveFor = (caller, args) => callers.run(caller, outgoing().serve, args);
  return Object.freeze({
    arrivals: createArrivals({ native, hooks, settle, serveFor, outgoing, release }),
    release,
    skip,
    unpackObject,
  });
}

module.exports = { createIncoming };
