'use strict';
// A budget for the replies of host functions that are asynchronous. Any number of their promises can settle in one turn of the event loop:
// guests decide how many calls they make, and how large the replies are. Converting the results blocks this thread, so each turn converts
// for a limited time. The others wait for the next turns. Those of one recipient keep their order, and recipients take turns.

const { now, setImmediate } = require('../clock.js');
const { CODE, coded } = require('../../core/error.js');
const { inner } = require('../../core/primordials.js');
const { MESSAGE } = require('../../core/protocol.js');
const { bind } = require('./callers.js');
const { replyBytes } = require('./reply-bytes.js');

/** Milliseconds of work in one turn of the event loop. */
const SLICE = 8;
/** Milliseconds of work that need no new turn. Most turns do less, and cost no `setImmediate`. */
const UNNOTICED = 1;

/** Milliseconds of work in this turn, or in this turn and short earlier ones. */
let spent = 0;
let isScheduled = false;

/**
 * @typedef {object} Task
 * @property {() => void} run does not throw
 * @property {number} bytes of the reply
 * @property {Task | undefined} next the next task of the same recipient
 */

/** The first and the last task of each recipient, and bytes of all. Recipients are in the order of their turns. @type {Map<unknown, { first: Task, last: Task, bytes: number }>} */
const waiting = new Map();

/** Whether work may begin now. If not, it has to wait. */
const hasTime = () => spent < SLICE && waiting.size === 0;

/**
 * Does work, and counts its time.
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function timed(work) {
  const start = now();
  try {
    return work();
  } finally {
    spent += now() - start;
    if (spent >= UNNOTICED) {
      schedule();
    }
  }
}

function schedule() {
  if (!isScheduled) {
    setImmediate(goOn);
    isScheduled = true;
  }
}

/** A new turn. */
function goOn() {
  isScheduled = false;
  spent = 0;
  if (waiting.size > 0) {
    schedule();
  }
  for (let time = 0; waiting.size > 0 && time < SLICE; time = spent) {
    runNext();
  }
}

/** Runs the first task of the recipient whose turn it is. */
function runNext() {
  for (const [recipient, tasks] of waiting) {
    const { first } = tasks;
    waiting.delete(recipient);
    if (first.next !== undefined) {
      tasks.first = first.next;
      tasks.bytes -= first.bytes;
      waiting.set(recipient, tasks);
    }
    timed(first.run);
    return;
  }
}

/** Errors in place of replies that may not wait. @type {WeakSet<object>} */
const refusals = new WeakSet();

/** @param {unknown} error */
const isRefusal = (error) => typeof error === 'object' && error !== null && refusals.has(error);

/**
 * Checks whether a reply may wait for its turn. Guests decide how many do, and nothing else bounds what those take that are not sent.
 * @param {unknown} recipient
 * @param {unknown} reply
 * @param {number} max bytes of those that wait; one reply may take more
 * @returns {number} bytes that it takes
 * @throws {RangeError} `ERR_ISOLATE_LIMIT` if those that wait take too many
 */
function bytesOfWaiting(recipient, reply, max) {
  const bytes = replyBytes(reply);
  const before = waiting.get(recipient)?.bytes ?? 0;
  if (before > 0 && before + bytes > max) {
    const refusal = coded(/** @type {ErrorConstructor} */ (RangeError), MESSAGE.TOO_MANY_CALLS, CODE.LIMIT);
    refusals.add(refusal);
    throw refusal;
  }
  return bytes;
}

/**
 * Makes work wait for its turn. It keeps its async context.
 * @param {unknown} recipient
 * @param {number} bytes of the reply, from `bytesOfWaiting`
 * @param {() => void} work does not throw
 */
function postpone(recipient, bytes, work) {
  /** @type {Task} */
  const task = { run: bind(work), bytes, next: undefined };
  const tasks = waiting.get(recipient);
  if (tasks === undefined) {
    waiting.set(recipient, { first: task, last: task, bytes });
  } else {
    tasks.last.next = task;
    tasks.last = task;
    tasks.bytes += bytes;
  }
  schedule();
}

/**
 * Converts a reply now if there is time, or else when there is.
 * @template T
 * @param {unknown} recipient
 * @param {unknown} reply
 * @param {number} max as for `bytesOfWaiting`
 * @param {() => T} work
 * @returns {T | Promise<T>}
 * @throws {RangeError} see `bytesOfWaiting`
 */
function inTurn(recipient, reply, max, work) {
  if (hasTime()) {
    return timed(work);
  }
  const bytes = bytesOfWaiting(recipient, reply, max);
  return inner(new Promise((resolve, reject) => {
    postpone(recipient, bytes, () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  }));
}

module.exports = { bytesOfWaiting, hasTime, inTurn, isRefusal, postpone, timed };
