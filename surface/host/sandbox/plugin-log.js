'use strict';
// What a plugin sandbox tells its host's logger. A logger that fails changes nothing; one plugin cannot fill it.

const { notify, ORIGIN } = require('../host-calls.js');
const { member } = require('./options.js');
const { sizeOf } = require('./size.js');

/** Entries that one execution of a plugin can bring about. */
const MOST_ENTRIES = 10_000;
/** What is passed on of one: values, characters of a text or bytes of an object. */
const MOST = Object.freeze({ values: 100, length: 10_000 });

/** @typedef {'debug' | 'info' | 'warn' | 'error'} Level */

class Log {
  #logger;
  #fields;
  #left = MOST_ENTRIES;
  #isFull = false;

  /**
   * @param {any} logger undefined for none
   * @param {Record<string, unknown>} [fields] said with every entry of a plugin
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

  /** A plugin begins: it may say something again. */
  refill() {
    this.#left = MOST_ENTRIES;
    this.#isFull = false;
  }

  /**
   * There was one entry too many.
   * @param {number} limit
   */
  full(limit) {
    if (!this.#isFull) {
      this.#isFull = true;
      this.say('warn', 'Plugin log limit reached', { ...this.#fields, limit });
    }
  }

  /** @returns {boolean} whether the plugin may have one more entry, which counts */
  admits() {
    if (this.#left <= 0) {
      return false;
    }
    this.#left -= 1;
    if (this.#left === 0) {
      this.full(MOST_ENTRIES);
    }
    return this.#left > 0;
  }

  /**
   * Something that a plugin has brought about.
   * @param {Level} level
   * @param {string} message
   * @param {Record<string, unknown>} fields
   * @param {unknown} [error] for `error` entries
   */
  ofPlugin(level, message, fields, error) {
    if (!this.admits()) {
      return;
    }
    const all = { ...this.#fields, ...fields };
    this.say(level, message, ...(level === 'error' ? [error, all] : [all]));
  }
}

/**
 * What a plugin says, as far as a logger can bear it.
 * @param {unknown[]} args clones
 * @param {number} [length] characters of a text, or bytes of anything else
 */
function bearable(args, length = MOST.length) {
  const shown = args.slice(0, MOST.values).map((each) => {
    if (typeof each === 'string') {
      return each.length > length ? `${each.slice(0, length)}...` : each;
    }
    const isLong = (typeof each === 'bigint' || (typeof each === 'object' && each !== null)) && sizeOf(each, length) > length;
    return isLong ? `[${typeof each} of more than ${length} bytes]` : each;
  });
  return args.length > MOST.values ? [...shown, `[${args.length - MOST.values} more]`] : shown;
}

/** @typedef {Log} PluginLog */

module.exports = { bearable, Log };
