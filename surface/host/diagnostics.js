'use strict';
// Events of isolates and executions, on channels of `diagnostics_channel`. Without subscribers, nothing is created or counted. Messages
// are frozen and hold primitives only: nothing of a guest that a subscriber could touch.

const { channel } = require('node:diagnostics_channel');
const { now, setTimeout } = require('./clock.js');
const { recordOf } = require('../core/handle.js');
const { CODE } = require('../core/error.js');
const { KIND, MODE, OP } = require('../core/protocol.js');

/** All of them are documented. */
const CHANNEL = Object.freeze({
  ISOLATE_CREATE: channel('isolated-v8:isolate:create'),
  ISOLATE_END: channel('isolated-v8:isolate:end'),
  ISOLATE_ABANDON: channel('isolated-v8:isolate:abandon'),
  EXECUTION_START: channel('isolated-v8:execution:start'),
  EXECUTION_END: channel('isolated-v8:execution:end'),
});

/** Who keeps an isolate. */
const OWNER = Object.freeze({ PROGRAM: 'program', EXECUTION: 'execution', PLUGIN: 'plugin' });
/** Default of `memoryLimit` in megabytes. */
const MEMORY = 128;
/** Codes of calls that say why their isolate has ended. @type {readonly string[]} */
const DECISIVE = Object.freeze([CODE.MEMORY, CODE.UNRESPONSIVE]);
/** Milliseconds in which such a call may follow another one that only says that the isolate has ended. */
const REASON_TIMEOUT = 1_000;
/** Characters of a guest's error that a message has. */
const MAX_TEXT = 1_000;

/**
 * @param {import('node:diagnostics_channel').Channel} target
 * @param {Record<string, string | number | boolean | undefined>} message members that are undefined are left out
 */
function publish(target, message) {
  if (!target.hasSubscribers) {
    return;
  }
  try {
    target.publish(Object.freeze(Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined))));
  } catch {
    // Errors of the host's subscribers are the host's: Node reports them as uncaught exceptions.
  }
}

/** @param {unknown} text */
const cut = (text) => (typeof text === 'string' ? text.slice(0, MAX_TEXT) : undefined);

const isWatched = () => CHANNEL.ISOLATE_CREATE.hasSubscribers || CHANNEL.ISOLATE_END.hasSubscribers || CHANNEL.ISOLATE_ABANDON.hasSubscribers;

/** Loaded only for subscribers: `worker_threads` takes two milliseconds to load. */
const threadId = () => require('node:worker_threads').threadId;

let isolates = 0;
let executions = 0;

/** An isolate whose end will be published, once. */
class Life {
  #facts;
  #start = now();
  #isOver = false;

  /**
   * @param {string} owner one of OWNER
   * @param {number} memoryLimit megabytes
   */
  constructor(owner, memoryLimit) {
    this.#facts = { isolate: (isolates += 1), threadId: threadId(), owner, memoryLimit };
    publish(CHANNEL.ISOLATE_CREATE, this.#facts);
  }

  /** @param {string} message */
  abandon(message) {
    if (!this.#isOver) {
      publish(CHANNEL.ISOLATE_ABANDON, { ...this.#facts, message: cut(message) });
      this.end('abandoned');
    }
  }

  /**
   * It has ended, as a call reports that failed because of it.
   * @param {string | undefined} code of the failure; undefined if there is none
   * @param {unknown} message
   */
  endWith(code, message) {
    if (code === CODE.UNRESPONSIVE) {
      this.abandon(String(message));
    } else {
      this.end(code === CODE.MEMORY ? 'memory' : 'disposed');
    }
  }

  /** @param {string} reason */
  end(reason) {
    if (!this.#isOver) {
      this.#isOver = true;
      publish(CHANNEL.ISOLATE_END, { ...this.#facts, reason, lifetimeMs: now() - this.#start });
    }
  }
}

/**
 * The isolate of one execution.
 * @param {number} memoryLimit megabytes
 * @returns {Life | undefined} undefined without subscribers
 */
const ownIsolate = (memoryLimit) => (isWatched() ? new Life(OWNER.EXECUTION, memoryLimit) : undefined);

/**
 * Follows isolates that programs and plugins keep.
 * @param {any} bound the native environment
 */
function createLifecycle(bound) {
  /** Those that have not ended. @type {Map<Life, WeakRef<object>>} */
  const alive = new Map();
  /** Those that have ended, and it is not known why. @type {Set<Life>} */
  const doubtful = new Set();
  /** @type {WeakMap<object, Life>} */
  const lives = new WeakMap();
  /** The isolates of those that are collected end silently. @type {FinalizationRegistry<Life>} */
  const collected = new FinalizationRegistry((life) => alive.delete(life));

  /**
   * @param {Life} life
   * @param {object} isolate
   */
  function follow(life, isolate) {
    alive.set(life, new WeakRef(isolate));
    lives.set(isolate, life);
    collected.register(isolate, life);
  }

  /**
   * @param {string | undefined} code
   * @param {unknown} message
   * @param {Life} life
   */
  function conclude(code, message, life) {
    if (doubtful.delete(life)) {
      life.endWith(code, message);
    }
  }

  /** @param {object} isolate */
  const isDisposed = (isolate) => bound.invoke(OP.IS_DISPOSED, MODE.SYNC, 0, recordOf(isolate, KIND.ISOLATE).entry.id) === true;

  return Object.freeze({
    /**
     * An isolate is about to be created.
     * @param {number} [memoryLimit] megabytes
     * @param {(message: string) => void} [onCatastrophicError] of the program
     * @returns {{ onCatastrophicError: (message: string) => void, created: (isolate: object) => void } | undefined} undefined without subscribers
     */
    creating(memoryLimit = MEMORY, onCatastrophicError = undefined) {
      if (!isWatched()) {
        return undefined;
      }
      /** @type {Life | undefined} */
      let life;
      return {
        onCatastrophicError(message) {
          life?.abandon(message);
          return onCatastrophicError?.(message);
        },
        created(isolate) {
          life = new Life(OWNER.PROGRAM, memoryLimit);
          follow(life, isolate);
        },
      };
    },
    /**
     * A plugin has an isolate.
     * @param {object} isolate
     * @param {number} memoryLimit megabytes
     */
    taken(isolate, memoryLimit) {
      if (isWatched()) {
        follow(new Life(OWNER.PLUGIN, memoryLimit), isolate);
      }
    },
    /** @param {object} isolate */
    disposed(isolate) {
      const life = lives.get(isolate);
      if (life !== undefined) {
        alive.delete(life);
        doubtful.delete(life);
        life.end('disposed');
      }
    },
    /**
     * A call has failed. The isolate may have ended.
     * @param {string | undefined} code
     * @param {unknown} message
     */
    failed(code, message) {
      if (code === undefined) {
        return;
      }
      if (DECISIVE.includes(code)) {
        doubtful.forEach((life) => conclude(code, message, life));
      }
      for (const [life, reference] of alive) {
        const isolate = reference.deref();
        if (isolate === undefined || !isDisposed(isolate)) {
          continue;
        }
        alive.delete(life);
        if (DECISIVE.includes(code)) {
          life.endWith(code, message);
        } else {
          doubtful.add(life);
          setTimeout(() => conclude(undefined, undefined, life), REASON_TIMEOUT).unref();
        }
      }
    },
  });
}

/**
 * What a sandbox's `execute` resolves with, as far as it is published.
 * @typedef {object} Result
 * @property {{ name: string, message: string, code?: string }} [failure]
 * @property {import('./sandbox/common/execution.js').Usage} [usage]
 * @property {unknown[]} [logs]
 * @property {number} [lostLogs]
 */

/**
 * Publishes the start of an execution.
 * @param {string} sandbox the name of its class or function
 * @param {{ timeout: number, memoryLimit: number, pluginId?: string }} settings milliseconds and megabytes
 * @param {unknown} code
 * @returns {((result: Result) => void) | undefined} called with its outcome; undefined without subscribers
 */
function startExecution(sandbox, { timeout, memoryLimit, pluginId }, code) {
  if (!CHANNEL.EXECUTION_START.hasSubscribers && !CHANNEL.EXECUTION_END.hasSubscribers) {
    return undefined;
  }
  const facts = { execution: (executions += 1), threadId: threadId(), sandbox, pluginId, timeout, memoryLimit, codeLength: typeof code === 'string' ? code.length : 0 };
  publish(CHANNEL.EXECUTION_START, facts);
  const start = now();
  return ({ failure, usage, logs, lostLogs }) => publish(CHANNEL.EXECUTION_END, {
    ...facts,
    ok: failure === undefined,
    errorName: cut(failure?.name),
    errorMessage: cut(failure?.message),
    errorCode: cut(failure?.code),
    durationMs: now() - start,
    ...usage,
    logs: logs && logs.length + (lostLogs ?? 0),
  });
}

/**
 * Runs an execution, and publishes its start and its end.
 * @template {Result} R
 * @param {string} sandbox
 * @param {{ timeout: number, memoryLimit: number }} settings
 * @param {unknown} code
 * @param {() => Promise<R>} run
 * @returns {Promise<R>}
 */
function observed(sandbox, settings, code, run) {
  const end = startExecution(sandbox, settings, code);
  return end === undefined ? run() : ended(run(), end);
}

/**
 * @template {Result} R
 * @param {Promise<R>} outcome
 * @param {(result: Result) => void} end
 */
async function ended(outcome, end) {
  try {
    const result = await outcome;
    end(result);
    return result;
  } catch (error) {
    end({ failure: failureOf(error) });
    throw error;
  }
}

/**
 * @param {unknown} value
 * @param {string} fallback
 */
const textOr = (value, fallback) => (typeof value === 'string' ? value : fallback);

/**
 * @param {any} error that an execution rejects with
 * @returns {NonNullable<Result['failure']>}
 */
function failureOf(error) {
  try {
    const { name, message, code } = error;
    return { name: textOr(name, 'Error'), message: textOr(message, textOr(error, '')), ...(typeof code === 'string' ? { code } : {}) };
  } catch {
    return { name: 'Error', message: '' };
  }
}

module.exports = { createLifecycle, failureOf, observed, ownIsolate, startExecution };
