'use strict';
// Messages (outcomes and requests) that guests send through the event loop. Messages of one isolate are handled in the order in which it
// sent them. Large messages are read in pieces, with turns of the event loop in between. While one is read, the native side holds
// back later messages of the same isolate. All messages that are being read share a budget of time and one of memory.

const { now, setImmediate } = require('../clock.js');
const { codec } = require('../values/codec.js');
const { CODE, coded } = require('../../core/error.js');
const { MESSAGE, TAG } = require('../../core/protocol.js');
const { bind } = require('../calls/callers.js');
const { runMicrotasks } = require('../calls/microtasks.js');
const { LIMIT, WANTED } = require('../protocol.js');

/** Messages of up to this many bytes are read at once, since that takes negligible time, unless they have regular expressions or copies. */
const SMALL = 4096;
/** Milliseconds of reading in one turn of the event loop. */
const TURN = 16;
/** Milliseconds of reading after which a message counts as large. */
const FIRST_SLICE = 4;

/** Used instead of a request's number while the native side has not assigned one. */
const DIRECTLY = 0;

/**
 * A request that is still being served, although the function that serves it has returned. Later messages from the same isolate wait.
 * @typedef {object} Deferral
 * @property {boolean} isWanted false once the call or its isolate has been stopped: then the request must not be answered
 * @property {() => void} release
 */

/** @param {any} carrier */
const isList = (carrier) => typeof carrier === 'object' && carrier !== null && (carrier[0] === TAG.LIST || carrier[0] === TAG.THROWN);

/**
 * @param {any[]} carriers
 * @returns {number} bytes of the serialized values in them
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
 * @returns {any[][]} the carriers in them that hold a serialized value
 */
const wiresIn = (carriers) => carriers.flatMap((carrier) => {
  if (isList(carrier)) return wiresIn(carrier);
  return typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.WIRE ? [carrier] : [];
});

/**
 * Whether values have regular expressions, or copies with bytes of their own.
 * @param {any[]} carriers of up to SMALL bytes
 * @returns {boolean}
 */
const mayTakeLong = (carriers) => carriers.some((carrier) => {
  if (isList(carrier)) return mayTakeLong(carrier);
  return typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.WIRE && (codec().hasCopies(carrier[2]) || codec().mayHaveRegexps(carrier[1]));
});

/** @param {any[]} carriers */
const isSmall = (carriers) => {
  const bytes = weightOf(carriers);
  return bytes <= SMALL && (bytes === 0 || !mayTakeLong(carriers));
};

/** @typedef {import('./message.js').ReadLimits} ReadLimits */

/** @typedef {InstanceType<typeof import('./message.js').Message>} Message */

/**
 * What serves requests; it is loaded with the first of them.
 * @typedef {object} Serving
 * @property {(...args: any[]) => any} serve serves a request
 * @property {(head: number, first: unknown) => void} serveDirectCalls
 */

/**
 * @param {object} host
 * @param {any} host.native `pause()` holds back further messages from the isolate that sent the message just delivered, until `resume()` is
 *   called with the number that `pause()` returns; `wanted(number)` returns one of `WANTED`, and `WANTED.NO` also counts as
 *   `resume()`; `limits()` returns the milliseconds until the deadline of the message just delivered;
 *   `drain()`; `reply(request, carrier)`; `fail(request, error)` replies why the request could not be served
 * @param {import('../wire/leaf-reader.js').ReadHooks} host.hooks
 * @param {(request: number, carrier: any) => void} host.settle
 * @param {(caller: number, args: [number, number, number, ...any[]]) => any} host.serveFor
 * @param {() => Serving} host.outgoing
 * @param {(carriers: any[]) => void} host.release releases what is in carriers that are not read
 * @param {number} [host.maxWeight] bytes that all messages together may take
 */
function createArrivals({ native, hooks, settle, serveFor, outgoing, release, maxWeight }) {
  /** Messages that are being read, oldest first. @type {Message[]} */
  const messages = [];
  /** Index of the message whose turn it is. */
  let next = 0;
  let isScheduled = false;

  /** The request that is being served: `DIRECTLY`, or the native side's number for it. @type {number | undefined} */
  let served;
  /** Whether the request is still served after its delivery. */
  let isDeferred = false;

  /** Limits of executions in sandboxes. @type {Map<number, ReadLimits>} by request */
  const limited = new Map();

  /** Bytes that all messages except one take. @param {Message} [one] */
  const weightBeside = (one) => messages.reduce((bytes, message) => (message === one ? bytes : bytes + message.weight), 0);

  /** Bytes that one message may take: what the others leave. `makeRoom` restarts others for the oldest. @param {Message} message */
  const allowanceOf = (message) => (maxWeight ?? codec().MAX_WEIGHT) - weightBeside(message);

  /**
   * Whether all of a message is already read. If not, `deliver` is called when it is, or `drop` when it is abandoned.
   * @param {any[]} carriers
   * @param {() => void} deliver
   * @param {() => void} drop
   * @param {ReadLimits} [limits]
   */
  function isRead(carriers, deliver, drop, limits = { until: now() + native.limits()[LIMIT.LEFT] }) {
    const { Message } = require('./message.js');
    const message = new Message(carriers, wiresIn(carriers), { hooks, release }, deliver, drop, limits);
    if (message.read(now() + FIRST_SLICE, allowanceOf(message))) return true;
    message.id = native.pause();
    messages.push(message);
    later();
    return false;
  }

  /** Schedules another turn of the event loop for the unread rest of messages, and for those that arrived meanwhile. */
  function later() {
    if (isScheduled) return;
    setImmediate(goOn);
    isScheduled = true;
  }

  function goOn() {
    isScheduled = false;
    if (messages.length > 0) later();
    native.drain();
    const until = now() + TURN;
    while (messages.length > 0) {
      readNext(until);
      const uncaught = runMicrotasks();
      if (uncaught !== undefined) throw uncaught[0];
      if (now() >= until) return;
    }
  }

  /** @param {number} until */
  function readNext(until) {
    const index = nextIndex();
    const message = messages[index];
    const wanted = native.wanted(message.id);
    if (wanted === WANTED.DISPOSED) {
      message.failure = coded(Error, MESSAGE.DISPOSED, CODE.DISPOSED);
    }
    if (wanted === WANTED.NO) {
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
    isDeferred = false;
    try {
      message.deliver();
    } finally {
      served = undefined;
      if (!isDeferred) native.resume(message.id);
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

  /** Messages take turns. Those that may not take more memory are skipped, except the oldest. */
  function nextIndex() {
    for (let tries = messages.length; tries > 1; tries -= 1) {
      next = (next + 1) % messages.length;
      const message = messages[next];
      if (next === 0 || (!message.waits && allowanceOf(message) > message.weight)) return next;
    }
    return 0;
  }

  /** Makes room for the oldest message: restarts the largest of the others. */
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
      // When an outcome is dropped, its caller has already been answered.
      const drop = () => settle(request, [TAG.FAULT, 'Error', undefined, MESSAGE.ABORTED, '', CODE.ABORTED]);
      if (isSmall(carriers) || isRead(carriers, deliver, drop, limited.get(request))) {
        deliver();
      }
    },
    /**
     * Bounds the reading of an outcome that will arrive.
     * @param {number} request
     * @param {ReadLimits} limits
     * @returns {() => void} call it when the outcome has been delivered
     */
    limit(request, limits) {
      limited.set(request, limits);
      return () => limited.delete(request);
    },
    /**
     * Keeps the request that is being served open after its function has returned.
     * @returns {Deferral | undefined} undefined if the event loop serves none
     */
    defer() {
      if (served === undefined) return undefined;
      isDeferred ||= served !== DIRECTLY;
      const id = served === DIRECTLY ? native.pause() : served;
      let isOver = false;
      return {
        get isWanted() {
          // If it is not wanted, the native side itself has ended it.
          isOver ||= native.wanted(id) === WANTED.NO;
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
     * @returns {any} the answer's carrier; undefined if `reply` is called with it
     */
    serve(caller, ...args) {
      const answerLater = () => {
        let carrier;
        try {
          carrier = serveFor(caller, args);
        } catch (error) {
          // More arguments than fit on the stack, or a file of this package could not be loaded.
          release(args);
          native.fail(args[0], error);
          return;
        }
        try {
          if (carrier !== undefined) native.reply(args[0], carrier);
        } catch (error) {
          // Nothing else would answer the request.
          native.fail(args[0], error);
        }
      };
      let isComplete;
      try {
        isComplete = isSmall(args) || isRead(args, bind(answerLater), () => {});
      } catch (error) {
        // A file of this package could not be loaded. The native side answers.
        release(args);
        throw error;
      }
      return isComplete ? serveDirectly(caller, args) : undefined;
    },
    /**
     * Serves a request of a synchronous call. The event loop is blocked until the request is answered, so `hold` returns undefined, even if a
     * function that the event loop serves makes the call.
     * @param {number} caller
     * @param {[number, number, number, ...any[]]} args
     */
    serveNow(caller, ...args) {
      const outer = served;
      served = undefined;
      try {
        return serveFor(caller, args);
      } finally {
        served = outer;
      }
    },
    /**
     * The same for calls that are not requests.
     * @param {number} head
     * @param {unknown} first
     */
    serveDirectCalls(head, first) {
      const outer = served;
      served = undefined;
      try {
        outgoing().serveDirectCalls(head, first);
      } finally {
        served = outer;
      }
    },
  };
}

module.exports = { createArrivals };
