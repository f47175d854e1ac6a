'use strict';
// What comes from guests by way of the event loop: outcomes and requests, of each isolate in the order in which it has sent them.
// What is large is read bit by bit, and in between the event loop is others'; until it is read the native side keeps what comes
// after it from the same isolate. Several that are read share the time, and the memory that one may take.

const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');
const { CODE, coded } = require('../error.js');
const { alone } = require('../primordials.js');
const { TAG } = require('../protocol.js');
const { FIXED_TIME, MAX_WEIGHT, Reader } = require('./wire/index.js');
const { Work } = require('./work.js');

/** Bytes that are read at once, however long they may take. */
const SMALL = 4096;
/** What `native.wanted` returns for an outcome of an isolate that the host has disposed of. */
const DISPOSED = 2;
/** Milliseconds that reading takes at a time, */
const TURN = 16;
/** and those after which something turns out to be large. */
const GLANCE = 4;

/** Stands for a request that the native side has no number for yet. */
const DIRECTLY = 0;

/**
 * A request that is still being served, although the function that serves it has returned. What comes after it from the same isolate waits.
 * @typedef {object} Hold
 * @property {boolean} isWanted false once the call has been stopped, or its isolate: then nothing may be answered any more
 * @property {() => void} release
 */

/** @param {any} carrier */
const isList = (carrier) => typeof carrier === 'object' && carrier !== null && (carrier[0] === TAG.LIST || carrier[0] === TAG.THROWN);

/**
 * @param {any[]} carriers
 * @returns {number} bytes of the values in them that are to be read
 */
function weightOf(carriers) {
  let bytes = 0;
  for (const carrier of carriers) {
    if (typeof carrier !== 'object' || carrier === null) continue;
    if (carrier[0] === TAG.WIRE) bytes += carrier[1].length;
    else if (isList(carrier)) bytes += weightOf(carrier);
  }
  return bytes;
}

/**
 * @param {any[]} carriers
 * @returns {any[][]} those in them that hold a value to be read
 */
const wiresIn = (carriers) => carriers.flatMap((carrier) => {
  if (isList(carrier)) return wiresIn(carrier);
  return typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.WIRE ? [carrier] : [];
});

/** @param {unknown} error */
const thrown = (error) => [TAG.THROWN, [TAG.VALUE, error]];

/**
 * What ends the reading of an outcome.
 * @typedef {object} ReadLimits
 * @property {number} until the call's deadline, as a value of `performance.now()`
 * @property {() => Error | undefined} [stopped] returns an error when the call is over
 */

/** One that is being read. */
class Message {
  /** By which the native side knows it. */
  id = 0;
  /** Bytes that what was read of it takes. */
  weight = 0;
  /** It had to be begun again, and waits until it is the oldest. */
  waits = false;
  /** What the values that are read stand for. @type {any[][]} */
  #results = [];
  /** @type {any[][]} */
  #wires;
  deliver;
  drop;
  /** Why the values that are left are not read. @type {Error | undefined} */
  failure = undefined;
  #work;
  /** Of the next value. @type {InstanceType<typeof Reader> | undefined} */
  #reader = undefined;
  #hooks;

  /**
   * @param {any[]} carriers
   * @param {import('./wire/leaf-reader.js').ReadHooks} hooks
   * @param {() => void} deliver what to do when it is read
   * @param {() => void} drop and when nobody wants it any more
   * @param {ReadLimits} limits
   */
  constructor(carriers, hooks, deliver, drop, { until, stopped }) {
    this.#wires = wiresIn(carriers);
    this.#work = new Work({ time: FIXED_TIME, until, stopped: () => stopped?.() ?? this.failure });
    this.#hooks = hooks;
    this.deliver = deliver;
    this.drop = drop;
  }

  /**
   * Reads on.
   * @param {number} until some time
   * @param {number} allowance or until it takes so many bytes
   * @returns {boolean} whether all of it is read
   */
  read(until, allowance) {
    try {
      this.#work.resume();
      return this.#readOn(until, allowance);
    } catch (error) {
      // The call is over.
      while (this.#results.length < this.#wires.length) this.#results.push(thrown(error));
      return this.#finish();
    } finally {
      this.#work.pause();
    }
  }

  /**
   * @param {number} until
   * @param {number} allowance
   */
  #readOn(until, allowance) {
    while (this.#results.length < this.#wires.length) {
      const [, bytes, table] = this.#wires[this.#results.length];
      try {
        this.#reader ??= new Reader(/** @type {any} */ (bytes), table, this.#hooks, this.weight, this.#work);
        if (!this.#reader.readUntil(until, allowance)) {
          this.weight = this.#reader.weight;
          return false;
        }
        this.#results.push([TAG.VALUE, this.#reader.result]);
        this.weight = this.#reader.weight;
      } catch (error) {
        // What had been read of it is nobody's.
        this.#results.push(thrown(error));
      }
      this.#reader = undefined;
      if (performance.now() >= until && this.#results.length < this.#wires.length) return false;
    }
    return this.#finish();
  }

  #finish() {
    this.#wires.forEach((wire, index) => wire.splice(0, Infinity, ...this.#results[index]));
    return true;
  }

  /** Lets go of what was read. */
  restart() {
    this.#results = [];
    this.#reader = undefined;
    this.weight = 0;
    this.waits = true;
  }
}

/**
 * @param {object} host
 * @param {any} host.native `pause()`: nothing more comes from the isolate of what was just handed over until `resume()` is called with
 *   the number that this returns; `wanted(number)`: 0 when it is not to be read on, and is as if it were resumed, `DISPOSED` when it is to
 *   fail; `limits()`: milliseconds until the deadline of what was just handed over; `drain()`; `reply(request, carrier)`
 * @param {import('./wire/leaf-reader.js').ReadHooks} host.hooks
 * @param {(request: number, carrier: any) => void} host.settle
 * @param {(...args: any[]) => any} host.serveNow serves a request of a synchronous call, which waits
 * @param {(caller: number, args: [number, number, number, ...any[]]) => any} host.serveFor
 * @param {(thrown: unknown, bits: number) => any} host.packThrown
 * @param {number} [host.mostWeight] bytes that all of them may take
 */
function createArrivals({ native, hooks, settle, serveNow, serveFor, packThrown, mostWeight = MAX_WEIGHT }) {
  /** Those that are being read, the oldest first. @type {Message[]} */
  const messages = [];
  /** Whose turn it is. */
  let next = 0;
  let isScheduled = false;

  /** A value that is begun again finds what its table stands for as it was. */
  const keeping = alone({
    ...hooks,
    /** @param {any} carrier */
    resolve(carrier) {
      const value = hooks.resolve(carrier);
      carrier.splice(0, Infinity, TAG.VALUE, value);
      return value;
    },
  });

  /** What is being served: `DIRECTLY`, or by which the native side knows it. @type {number | undefined} */
  let served;
  /** Whether it goes on after it has been delivered. */
  let isHeld = false;

  /** Limits of executions in sandboxes. @type {Map<number, ReadLimits>} by request */
  const limited = new Map();

  /** Bytes that all of them take, but for one. @param {Message} [one] */
  const weightBeside = (one) => messages.reduce((bytes, message) => (message === one ? bytes : bytes + message.weight), 0);

  /** What one may take: the oldest more than others have left, for it must come to its end. @param {Message} message */
  const allowanceOf = (message) => mostWeight - weightBeside(message);

  /**
   * Whether all of a message is read already. If not, `deliver` is called when it is, or `drop` when nobody wants it any more.
   * @param {any[]} carriers
   * @param {() => void} deliver
   * @param {() => void} drop
   * @param {ReadLimits} [limits]
   */
  function isRead(carriers, deliver, drop, limits = { until: performance.now() + native.limits()[0] }) {
    const message = new Message(carriers, keeping, deliver, drop, limits);
    if (message.read(performance.now() + GLANCE, allowanceOf(message))) return true;
    message.id = native.pause();
    messages.push(message);
    later();
    return false;
  }

  /** On another turn of the event loop: what is left of messages, and what has come meanwhile. */
  function later() {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(goOn);
  }

  function goOn() {
    isScheduled = false;
    if (messages.length > 0) later();
    native.drain();
    const until = performance.now() + TURN;
    while (messages.length > 0) {
      readNext(until);
      if (performance.now() >= until) return;
    }
  }

  /** @param {number} until */
  function readNext(until) {
    const index = nextIndex();
    const message = messages[index];
    const wanted = native.wanted(message.id);
    if (wanted === DISPOSED) {
      message.failure = coded(Error, 'Isolate was disposed during execution', CODE.DISPOSED);
    }
    if (!wanted) {
      messages.splice(index, 1);
      message.drop();
    } else if (message.read(until, allowanceOf(message))) {
      messages.splice(index, 1);
      deliverMessage(message);
    } else if (index === 0 && allowanceOf(message) <= message.weight) {
      makeRoom();
    }
  }

  /** @param {Message} message */
  function deliverMessage(message) {
    served = message.id;
    isHeld = false;
    try {
      message.deliver();
    } finally {
      served = undefined;
      if (!isHeld) native.resume(message.id);
    }
  }

  /**
   * @param {number} caller
   * @param {[number, number, number, ...any[]]} args
   */
  function serveDirectly(caller, args) {
    const outer = served;
    served = DIRECTLY;
    try {
      return serveFor(caller, args);
    } finally {
      served = outer;
    }
  }

  /** Each in its turn; those that may take no more are passed over, but for the oldest. */
  function nextIndex() {
    for (let tries = messages.length; tries > 1; tries -= 1) {
      next = (next + 1) % messages.length;
      const message = messages[next];
      if (next === 0 || (!message.waits && allowanceOf(message) > message.weight)) return next;
    }
    return 0;
  }

  /** For the oldest: the largest of the others is begun again. */
  function makeRoom() {
    const largest = messages.slice(1).reduce((most, message) => (message.weight > most.weight ? message : most), messages[1]);
    largest?.restart();
  }

  return {
    later,
    /**
     * @param {number} request
     * @param {any} carrier
     */
    settle(request, carrier) {
      const carriers = [carrier];
      const deliver = () => settle(request, carrier);
      // Whoever drops it has been answered.
      const drop = () => settle(request, [TAG.FAULT, 'Error', undefined, 'The call was aborted', '', CODE.ABORTED]);
      if (weightOf(carriers) <= SMALL || isRead(carriers, deliver, drop, limited.get(request))) {
        deliver();
      }
    },
    /**
     * Bounds the reading of an outcome that will arrive.
     * @param {number} request
     * @param {ReadLimits} limits
     * @returns {() => void} to be called when it has been delivered
     */
    limit(request, limits) {
      limited.set(request, limits);
      return () => limited.delete(request);
    },
    /**
     * The request that is being served takes more time.
     * @returns {Hold | undefined} undefined where none is served by the event loop
     */
    hold() {
      if (served === undefined) return undefined;
      isHeld ||= served !== DIRECTLY;
      const id = served === DIRECTLY ? native.pause() : served;
      let isOver = false;
      return {
        get isWanted() {
          // The native side has ended it itself where it is not.
          isOver ||= !native.wanted(id);
          return !isOver;
        },
        release() {
          if (isOver) return;
          isOver = true;
          native.resume(id);
          later();
        },
      };
    },
    /**
     * @param {number} caller
     * @param {[number, number, number, ...any[]]} args
     * @returns {any} the answer's carrier; undefined when `reply` is called with it
     */
    serve(caller, ...args) {
      const answerLater = () => {
        let carrier;
        try {
          carrier = serveFor(caller, args);
        } catch (error) {
          // More arguments than the stack has room for.
          carrier = packThrown(error, 0);
        }
        if (carrier !== undefined) native.reply(args[0], carrier);
      };
      return weightOf(args) <= SMALL || isRead(args, answerLater, () => {}) ? serveDirectly(caller, args) : undefined;
    },
    /**
     * Serves a request of a synchronous call. The event loop cannot turn until it is answered, so `hold` returns undefined, also where a
     * function that the event loop serves makes the call.
     * @param {any[]} args
     */
    serveNow(...args) {
      const outer = served;
      served = undefined;
      try {
        return serveNow(...args);
      } finally {
        served = outer;
      }
    },
  };
}

module.exports = { createArrivals };
