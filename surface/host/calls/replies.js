'use strict';
// A budget for the replies of host functions that are asynchronous. Any number of their promises can settle in one turn of the event loop:
// guests decide how many calls they make, and how large the replies are. Converting the results blocks this thread, so each turn converts
// for a limited time. The others wait for the next turns. Those of one recipient keep their order, and recipients take turns.

const { now, setImmediate } = require('../clock.js');
const { inner } = require('../../core/primordials.js');
const { bind } = require('./callers.js');

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
 * @property {Task | undefined} next the next task of the same recipient
 */

/** The first and the last task of each recipient. Recipients are in the order of their turns. @type {Map<unknown, { first: Task, last: Task }>} */
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
      waiting.set(recipient, tasks);
    }
    timed(first.run);
    return;
  }
}

/**
 * Makes work wait for its turn. It keeps its async context.
 * @param {unknown} recipient
 * @param {() => void} work does not throw
 */
function postpone(recipient, work) {
  /** @type {Task} */
  const task = { run: bind(work), next: undefined };
  const tasks = waiting.get(recipient);
  if (tasks === undefined) {
    waiting.set(recipient, { first: task, last: task });
  } else {
    tasks.last.next = task;
    tasks.last = task;
  }
  schedule();
}

/**
 * Does work now if there is time, or else when there is.
 * @template T
 * @param {unknown} recipient
 * @param {() => T} work
 * @returns {T | Promise<T>}
 */
function inTurn(recipient, work) {
  if (hasTime()) {
    return timed(work);
  }
  return inner(new Promise((resolve, reject) => {
    postpone(recipient, () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  }));
}

module.exports = { hasTime, inTurn, postpone, timed };
