'use strict';
// Converts carriers that arrive at this host to values. A fault is thrown as a new error whose stack joins both sides.

const { now } = require('../clock.js');
const { codec } = require('./codec.js');
const { CODE, callSite, coded, errorOf } = require('../../core/error.js');
const { alone } = require('../../core/primordials.js');
const { ARRIVED_SHARED, CALLBACK, FAULT, FUNCTION, HANDLE, MESSAGE, MODE, OP, TAG } = require('../../core/protocol.js');
const { isConverting } = require('../wire/conversion.js');
const { LIMIT, MAX_OUTCOME } = require('../protocol.js');
const { bufferOf } = require('./shared.js');

/** Electron forbids buffers over memory that it did not allocate. */
const lack = process.versions.electron === undefined ? 'which lacks `node_api_create_external_sharedarraybuffer`' : 'for Electron forbids external buffers';
const NO_GUEST_MEMORY = `A SharedArrayBuffer made inside an isolate cannot be shared with this host, ${lack}: `
  + 'make it in the host and pass it in, or copy what is in it';

/** Values of up to this many bytes are read without a budget, since that takes negligible time, unless they have regular expressions. */
const SMALL = 4096;

/** Reading a result stops after the call's `timeout`, but not before `FIXED_TIME`, in which honest data of some size can be read. */
const timedOut = () => coded(Error, MESSAGE.TIMED_OUT, CODE.TIMEOUT);
/** @type {unknown[]} */
const NO_TABLE = [];

/** Replaces a value of a list that this host cannot read. */
class Unreadable {
  error;

  /** @param {unknown} error */
  constructor(error) {
    this.error = error;
  }
}

/**
 * Makes a function with a given name and length that cannot be used as a constructor.
 * @param {string} name
 * @param {number} length
 * @param {(args: unknown[], self: Function) => unknown} run
 * @returns {(...args: any[]) => any}
 */
function delegate(name, length, run) {
  // A method has neither [[Construct]] nor a prototype.
  const { call } = {
    /** @param {unknown[]} args */
    call(...args) {
      return run(args, call);
    },
  };
  Object.defineProperty(call, 'name', /** @type {any} */ ({ __proto__: null, value: name, configurable: true }));
  Object.defineProperty(call, 'length', /** @type {any} */ ({ __proto__: null, value: length, configurable: true }));
  return call;
}

/**
 * The arguments of one call, which share a budget.
 * @typedef {{ work: import('../work.js').WorkBudget | undefined }} Together
 */

/**
 * What functions need, when they are called or come back.
 * @typedef {object} Outgoing
 * @property {(value: unknown) => any} packArgument packs an argument of a function of another realm
 * @property {(target: Function, name: string, length: number, mode: number) => Function} delegateTo
 */

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('./owned.js').Table} host.owned
 * @param {() => ReturnType<typeof import('../../index.js')>} host.surface
 * @param {(carrier: any, method?: Function) => any} host.unpack for any carrier
 * @param {(code: string | undefined, message: unknown) => void} host.failed called with code and message of each fault that is thrown
 * @param {() => Outgoing} host.outgoing
 */
function createUnpack({ native, owned, surface, unpack, failed, outgoing }) {
  /**
   * @param {any} carrier of anything but a primitive or a handle
   * @param {Function} [method] the public method that was called
   * @param {Together} [together] the other arguments of the call that it is an argument of
   * @returns {any}
   */
  function unpackObject(carrier, method, together) {
    switch (carrier[0]) {
      case TAG.WIRE:
        return wire(carrier[1], carrier[2], together);
      case TAG.OUTCOME:
        return outcome(together);
      case TAG.VALUE:
        return carrier[1];
      case TAG.FUNCTION:
        return carrier[FUNCTION.OWN] >= 0
          ? ownFunction(carrier[FUNCTION.TARGET], carrier[FUNCTION.NAME], carrier[FUNCTION.LENGTH], carrier[FUNCTION.OWN])
          : foreignFunction(carrier[FUNCTION.TARGET], carrier[FUNCTION.NAME], carrier[FUNCTION.LENGTH], carrier[FUNCTION.MODE]);
      case TAG.DEREF:
        return owned.value(carrier[1]);
      case TAG.PROMISE:
        // If a guest passes it, nothing needs to wait for it: an unhandled rejection would end a Node process.
        return surface().core.calls.expect(carrier[1], together !== undefined);
      case TAG.BUFFER:
        return carrier[1];
      case TAG.SHARED:
        return sharedBuffer(carrier[ARRIVED_SHARED.KEY], carrier[ARRIVED_SHARED.BUFFER], carrier[ARRIVED_SHARED.LENGTH]);
      case TAG.LIST:
        return carrier.slice(1).map(part);
      case TAG.FAULT:
        failed(carrier[FAULT.CODE], carrier[FAULT.MESSAGE]);
        throw errorOf(carrier, method === undefined ? undefined : callSite(method));
      case TAG.THROWN:
        throw unpack(carrier[1]);
      default:
        throw coded(Error, `A carrier of unknown kind ${carrier[0]} arrived`, CODE.UNSUPPORTED);
    }
  }

  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {Together} [together]
   */
  function wire(bytes, table, together) {
    const hasWork = bytes.length > SMALL || codec().hasCopies(table) || codec().mayHaveRegexps(bytes);
    let value;
    try {
      value = codec().deserialize(bytes, table, hooks, hasWork ? workOfCall(together) : undefined);
    } catch (error) {
      release(table);
      throw error;
    }
    codec().free(bytes, table);
    return value;
  }

  /**
   * Releases the handles and functions in carriers that are not read: nothing else would. A row of a table that was read has become a value.
   * @param {any[]} carriers
   */
  function release(carriers) {
    for (const carrier of carriers) {
      if (typeof carrier !== 'object' || carrier === null) continue;
      switch (carrier[0]) {
        case TAG.HANDLE:
          native.release(carrier[HANDLE.ID]);
          break;
        case TAG.FUNCTION:
          native.release(carrier[FUNCTION.TARGET]);
          break;
        case TAG.WIRE:
          release(carrier[2]);
          break;
        case TAG.LIST:
        case TAG.THROWN:
          release(carrier.slice(1));
          break;
        default:
          continue;
      }
      // No carrier is released twice.
      carrier.splice(0, Infinity, TAG.VALUE, undefined);
    }
  }

  /** The buffer for small outcomes. @type {Uint8Array | undefined} */
  let outcomes;

  /** @param {Together} [together] */
  function outcome(together) {
    outcomes ??= new Uint8Array(native.outcome);
    try {
      const length = outcomes[MAX_OUTCOME] | (outcomes[MAX_OUTCOME + 1] << 8);
      const list = codec().shortList(outcomes, length);
      if (list !== undefined) return list;
      // A view of its own: what is left of a longer value is not part of this one.
      return wire(new Uint8Array(native.outcome, 0, length), NO_TABLE, together);
    } finally {
      // Also after an error, so that the native side may use the buffer again.
      outcomes[0] = 0;
    }
  }

  /**
   * A carrier is not read, so that the native side may use its memory again.
   * @param {any} carrier
   */
  function skip(carrier) {
    if (typeof carrier !== 'object' || carrier === null || carrier[0] !== TAG.OUTCOME) return;
    outcomes ??= new Uint8Array(native.outcome);
    outcomes[0] = 0;
  }

  /**
   * The budget for a value that is read while its caller waits. The limits of the call apply.
   * @param {Together} [together]
   */
  const workOfCall = (together) => (together === undefined ? newWork() : (together.work ??= newWork()));

  function newWork() {
    const { [LIMIT.LEFT]: left, [LIMIT.TIMEOUT]: timeout } = native.limits();
    const start = now();
    const end = start + Math.max(timeout, codec().FIXED_TIME);
    const { Work } = require('../work.js');
    return new Work({ time: codec().FIXED_TIME, until: start + left, stopped: () => (now() >= end ? timedOut() : undefined) });
  }

  /**
   * Unpacks a value of a list.
   * @param {any} carrier
   */
  function part(carrier) {
    try {
      return unpack(carrier);
    } catch (error) {
      return new Unreadable(error);
    }
  }

  /**
   * A function of another realm. Arguments are copied, and functions among them are refused, as with all callbacks.
   * @param {number} id
   * @param {string} name
   * @param {number} length
   * @param {number} how one of CALLBACK
   */
  function foreignFunction(id, name, length, how) {
    const { core } = surface();
    const entry = core.entries.enter(id);
    const mode = how === CALLBACK.ASYNC ? MODE.ASYNC : how === CALLBACK.IGNORED ? MODE.IGNORED : MODE.SYNC;
    return delegate(name, length, (args, self) => {
      if (isConverting()) {
        throw coded(TypeError, 'A function of a guest cannot convert a value to text for this library', CODE.UNSUPPORTED);
      }
      const { packArgument } = outgoing();
      for (let index = 0; index < args.length; index += 1) {
        args[index] = packArgument(args[index]);
      }
      // The closure refers to the entry, so the entry lives as long as the function.
      const call = core.begin(mode, self);
      return core.conclude(mode, call, native.invoke(OP.CALL, mode, call === undefined ? 0 : call.request, entry.id, ...args), self);
    });
  }

  /**
   * A function of this realm that was sent to a guest and came back. The result is not the function itself, but calls it in this realm
   * as guests call it.
   * @param {number} id
   * @param {string} name
   * @param {number} length
   * @param {number} slot
   */
  function ownFunction(id, name, length, slot) {
    const target = /** @type {Function} */ (owned.value(slot));
    const mode = owned.note(slot);
    // The value is available, so the slot is not needed.
    native.release(id);
    return outgoing().delegateTo(target, name, length, mode);
  }

  /**
   * @param {number} key of a buffer that this host made, or 0
   * @param {SharedArrayBuffer | undefined} made a buffer over a guest's memory, if this host supports that
   * @param {number} byteLength
   * @returns {SharedArrayBuffer}
   */
  function sharedBuffer(key, made, byteLength) {
    const buffer = made ?? bufferOf(key);
    if (buffer !== undefined) {
      return buffer;
    }
    if (byteLength === 0) {
      return new SharedArrayBuffer(0);
    }
    throw coded(Error, NO_GUEST_MEMORY, CODE.UNSUPPORTED);
  }

  const hooks = alone({
    /**
     * Resolves each row of a table only once: when reading restarts, a row already holds its value.
     * @param {any} carrier
     */
    resolve(carrier) {
      const value = unpack(carrier);
      carrier.splice(0, Infinity, TAG.VALUE, value);
      return value;
    },
  });

  return { hooks, release, skip, unpackObject };
}

module.exports = { createUnpack, delegate, Unreadable };
