'use strict';
// Sends the arguments of events to plugins. They are packed once for all listeners of one `emit`, and delivered in slices, so that an
// event with many listeners neither multiplies memory nor blocks the event loop.

const { now, queueMicrotask, setImmediate } = require('../../../clock.js');
const { stamp } = require('../../../../core/handle.js');
const { KIND, MODE, OP, TAG, TRANSFER } = require('../../../../core/protocol.js');

/** Milliseconds of deliveries before the event loop gets a turn. */
const SLICE = 16;
/** Arguments of up to this many characters are packed for each listener, which costs less than a copy that listeners share. */
const MAX_SMALL = 1_024;

/**
 * The arguments of one event.
 * @typedef {object} Copy
 * @property {number} bytes that it takes outside the isolates
 * @property {() => unknown} take returns what to pass as one listener's arguments
 */

/**
 * @typedef {object} Emit
 * @property {unknown} bus
 * @property {string} event
 * @property {unknown[]} args
 * @property {Set<object>} listeners that it has reached: if one is reached again, that is another `emit`
 * @property {Copy | undefined} copy
 * @property {unknown} error why the arguments cannot be copied
 */

/**
 * @param {unknown[]} args
 * @returns {boolean} false if any is an object, a function, or a BigInt, which may be long
 */
function areSmall(args) {
  let size = args.length;
  for (let index = 0; index < args.length && size <= MAX_SMALL; index += 1) {
    const arg = args[index];
    if (typeof arg === 'string') {
      size += arg.length;
    } else if (typeof arg === 'bigint' || typeof arg === 'function' || (typeof arg === 'object' && arg !== null)) {
      return false;
    }
  }
  return size <= MAX_SMALL;
}

/**
 * @param {any} carrier
 * @returns {number} bytes
 */
function bytesOf(carrier) {
  if (!Array.isArray(carrier) || carrier[0] !== TAG.WIRE) {
    return 0;
  }
  const [, bytes, table] = carrier;
  return table.reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + (row[0] === TAG.BUFFER ? row[3] : 0), bytes.length);
}

/** The `emit` whose listeners are being called, as far as this file knows. @type {Emit | undefined} */
let last;

/** @param {import('../../../../index.js').Core} core */
function createEventCopies(core) {
  const { binding, entries } = core;

  /**
   * @param {unknown[]} args
   * @returns {Copy}
   */
  function copyOf(args) {
    const carrier = binding.pack(args, TRANSFER.COPY);
    const bytes = bytesOf(carrier);
    const entry = entries.enter(binding.idOf(binding.invoke(OP.COPY_NEW, MODE.SYNC, 0, 0, carrier), copyFor));
    // The listeners of this `emit` are called in this turn.
    queueMicrotask(() => entries.leave(entry));
    return { bytes, take: () => stamp({}, KIND.COPY_INTO, { entry: entries.share(entry), transferIn: false, checked: true }) };
  }

  /**
   * The copy of an event's arguments for a listener.
   * @param {unknown} bus
   * @param {string} event
   * @param {unknown[]} args
   * @param {object} listener
   * @returns {Copy | undefined} undefined for small arguments, which are packed for each listener
   * @throws what packing the arguments throws
   */
  function copyFor(bus, event, args, listener) {
    if (areSmall(args)) {
      return undefined;
    }
    const isSame = last !== undefined && last.bus === bus && last.event === event && !last.listeners.has(listener)
      && last.args.length === args.length && args.every((arg, index) => Object.is(arg, /** @type {Emit} */ (last).args[index]));
    if (!isSame) {
      begin(bus, event, args);
    }
    const { copy, error, listeners } = /** @type {Emit} */ (last);
    listeners.add(listener);
    if (copy === undefined) {
      throw error;
    }
    return copy;
  }

  /**
   * @param {unknown} bus
   * @param {string} event
   * @param {unknown[]} args
   */
  function begin(bus, event, args) {
    /** @type {Emit} */
    const emit = { bus, event, args, listeners: new Set(), copy: undefined, error: undefined };
    try {
      emit.copy = copyOf(args);
    } catch (error) {
      emit.error = error;
    }
    last = emit;
    queueMicrotask(() => {
      if (last === emit) {
        last = undefined;
      }
    });
  }

  return copyFor;
}

/** Deliveries that wait for another turn of the event loop. @type {(() => void)[]} */
let waiting = [];
let isScheduled = false;
/** When the current slice ends. */
let end = 0;

function schedule() {
  end = now() + SLICE;
  setImmediate(goOn);
  isScheduled = true;
}

function goOn() {
  isScheduled = false;
  if (waiting.length === 0) {
    return;
  }
  schedule();
  const tasks = waiting;
  waiting = [];
  let done = 0;
  while (done < tasks.length && now() < end) {
    tasks[done]();
    done += 1;
  }
  waiting = [...tasks.slice(done), ...waiting];
}

/**
 * Runs a delivery now, or in a later slice if this turn's slice is used up.
 * @param {import('../../../../index.js').Binding} binding
 * @param {() => void} deliver does not throw
 * @returns {Promise<void> | undefined} undefined if it has run; otherwise a promise that resolves when it has
 */
function inSlices(binding, deliver) {
  if (!isScheduled) {
    schedule();
  }
  if (waiting.length === 0 && now() < end) {
    deliver();
    return undefined;
  }
  return new Promise((resolve) => {
    waiting.push(binding.bind(() => {
      deliver();
      resolve();
    }));
  });
}

module.exports = { createEventCopies, inSlices };
