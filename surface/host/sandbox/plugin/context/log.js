'use strict';
// Writes a plugin sandbox's entries to its host's logger. Failures of the logger have no effect, and one plugin cannot flood it.

const { Buffer } = require('node:buffer');
const { CODE } = require('../../../../core/error.js');
const { MAX_CAUSES } = require('../../../../core/protocol.js');
const { thrownText } = require('../../../wire/faults.js');
const { notify, ORIGIN } = require('../../../calls/host-calls.js');
const { bare, member } = require('../../common/options.js');
const { measurementOf, OBJECT_BYTES } = require('../../common/size.js');

/** Most entries that one execution of a plugin can cause, and bytes of all of them. A logger may keep them until they are written. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 8 * 2 ** 20;
/** Limits on what is passed on of one entry: values, and characters of a text or bytes of an object. */
const MAX = Object.freeze({ values: 100, length: 10_000 });
/** Steps of work for measuring the values of one entry: at least this many, and this many per character or byte of a value that may be passed on. */
const MIN_STEPS = 50_000;
const STEPS_PER_BYTE = 4;

/** @typedef {'debug' | 'info' | 'warn' | 'error'} Level */

class Log {
  #logger;
  #fields;
  #left = MAX_ENTRIES;
  #bytesLeft = MAX_BYTES;
  #isFull = false;

  /**
   * @param {any} logger undefined for none
   * @param {Record<string, unknown>} [fields] added to every entry of a plugin
   */
  constructor(logger, fields = {}) {
    this.#logger = logger;
    this.#fields = fields;
  }

  /** @param {Record<string, unknown>} fields */
  with(fields) {
    return new Log(this.#logger, fields);
  }

  /**
   * @param {Level} level
   * @param {string} message
   * @param {unknown[]} rest
   */
  say(level, message, ...rest) {
    notify(ORIGIN.LOGGER, () => {
      if (typeof member(this.#logger, level) === 'function') {
        return this.#logger[level](message, ...rest);
      }
      return undefined;
    }, undefined, []);
  }

  /** Call it when an execution or event of a plugin begins: the plugin may then log again. */
  refill() {
    this.#left = MAX_ENTRIES;
    this.#bytesLeft = MAX_BYTES;
    this.#isFull = false;
  }

  /**
   * Call it when an entry exceeds the limit.
   * @param {number} limit
   * @param {Record<string, unknown>} [more] fields
   */
  full(limit, more = {}) {
    if (!this.#isFull) {
      this.#isFull = true;
      this.say('warn', 'Plugin log limit reached', { ...this.#fields, limit, ...more });
    }
  }

  /** @returns {boolean} whether the plugin may have one more entry, which is counted */
  admits() {
    if (this.#left <= 0) {
      return false;
    }
    this.#left -= 1;
    if (this.#left === 0) {
      this.full(MAX_ENTRIES);
    }
    return this.#left > 0;
  }

  /**
   * @param {number} bytes of an entry of the plugin
   * @returns {boolean} whether it may be passed on; the bytes are counted then
   */
  hasRoom(bytes) {
    if (bytes > this.#bytesLeft) {
      this.#bytesLeft = 0;
      this.full(MAX_BYTES, { unit: 'bytes' });
      return false;
    }
    this.#bytesLeft -= bytes;
    return true;
  }

  /**
   * Logs something that a plugin caused.
   * @param {Level} level
   * @param {string} message
   * @param {Record<string, unknown>} fields
   * @param {unknown} [error] for `error` entries
   */
  ofPlugin(level, message, fields, error) {
    if (!this.admits()) {
      return;
    }
    const own = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortened(value)]));
    const more = level === 'error' ? [shortenedError(error)] : [];
    if (this.hasRoom(charactersOf([...Object.values(own), ...more.flatMap((each) => textsOf(each))]))) {
      this.say(level, message, ...more, { ...this.#fields, ...own });
    }
  }
}

/**
 * The limits of the work for one entry.
 * @param {number} [length] as for `Shown`
 * @returns {import('../../../work.js').WorkLimits}
 */
const entryLimits = (length = MAX.length) => ({ steps: Math.max(MIN_STEPS, length * STEPS_PER_BYTE) });

/** Bytes of a value that is neither text nor an object. */
const VALUE_BYTES = 8;

/** What a plugin logs, shortened so that it does not overload a logger. */
class Shown {
  /** @type {unknown[]} */ values = [];
  /** of the values */ bytes = 0;
  /** @type {import('../../common/size.js').SizeMeasurement | undefined} of the next value */ #measurement;
  #args;
  #work;
  #length;

  /**
   * @param {unknown[]} args clones
   * @param {import('../../common/size.js').Budget} work
   * @param {number} [length] characters of a text, or bytes of anything else
   */
  constructor(args, work, length = MAX.length) {
    this.#args = args;
    this.#work = work;
    this.#length = length;
  }

  /**
   * @param {boolean} isPausing whether to stop when the slice of work is over
   * @returns {boolean} whether all `values` are complete
   */
  run(isPausing) {
    const { values } = this;
    const args = this.#args;
    while (values.length < Math.min(args.length, MAX.values)) {
      if (!this.#runNext(args[values.length], isPausing)) {
        return false;
      }
      this.bytes += VALUE_BYTES + charactersOf(values.slice(-1));
    }
    if (args.length > MAX.values) {
      values.push(`[${args.length - MAX.values} more]`);
    }
    return true;
  }

  /**
   * @param {unknown} value
   * @param {boolean} isPausing
   * @returns {boolean} false if it must continue in another slice
   */
  #runNext(value, isPausing) {
    const length = this.#length;
    const { values } = this;
    if (typeof value === 'string') {
      values.push(value.length > length ? `${beginning(value, length)}...` : value);
    } else if (typeof value !== 'bigint' && (typeof value !== 'object' || value === null)) {
      values.push(value);
    } else {
      try {
        this.#measurement ??= measurementOf(value, length, this.#work);
        if (!this.#measurement.run(isPausing)) {
          return false;
        }
        const { objects, size } = this.#measurement;
        if (size <= length) {
          this.bytes += Math.max(size, objects * OBJECT_BYTES);
        }
        values.push(size > length ? `[${typeof value} of more than ${length} bytes]` : value);
      } catch (error) {
        if (/** @type {{ code?: string }} */ (error).code !== CODE.LIMIT) {
          throw error;
        }
        values.push(`[${typeof value} of too many values]`);
      }
      this.#measurement = undefined;
    }
    return true;
  }
}

/**
 * Characters of the texts among some values.
 * @param {unknown[]} values
 */
const charactersOf = (values) => values.reduce((/** @type {number} */ sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);

/**
 * What may be text in an error, its properties and its causes.
 * @param {unknown} error
 * @param {number} [causes]
 * @returns {unknown[]}
 */
function textsOf(error, causes = MAX_CAUSES) {
  if (!(error instanceof Error)) {
    return [error];
  }
  const more = causes > 0 ? textsOf(member(error, 'cause'), causes - 1) : [];
  return [error.name, error.message, error.stack, ...Object.entries(error).flat(), ...more];
}

/**
 * A copy of the beginning of a text. A slice would keep the whole text in memory.
 * @param {string} text
 * @param {number} length
 */
const beginning = (text, length) => Buffer.from(text.slice(0, length), 'utf16le').toString('utf16le');

/**
 * A text, or the text of a BigInt, of which no more is passed on than of other values.
 * @param {unknown} value
 */
function shortened(value) {
  const text = typeof value === 'bigint' ? thrownText(value) : value;
  return typeof text === 'string' && text.length > MAX.length ? `${beginning(text, MAX.length)}...` : typeof value === 'bigint' && text === 'BigInt' ? text : value;
}

/**
 * The error of a plugin, with short texts. It was made for this entry.
 * @param {unknown} error
 */
function shortenedError(error) {
  if (!(error instanceof Error)) {
    return shortened(error);
  }
  for (const key of /** @type {const} */ (['name', 'message', 'stack'])) {
    const text = error[key];
    if (typeof text === 'string' && text.length > MAX.length) {
      Object.defineProperty(error, key, bare({ value: shortened(text), writable: true, configurable: true }));
    }
  }
  return error;
}

/** @typedef {Log} PluginLog */

module.exports = { entryLimits, Log, Shown };
