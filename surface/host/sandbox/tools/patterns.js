'use strict';
// Matches a guest's texts against the patterns of JSON Schemas. A match may take exponential time, and nothing can interrupt it on the host's
// thread. So a match that may take long is made in an isolate.

const { CODE, coded } = require('../../../core/error.js');
const { now } = require('../../clock.js');
const { disposeOf } = require('../common/disposal.js');
const { bare } = require('../common/options.js');

/** Most steps of a match on the host's thread. That many take less than a millisecond. */
const MAX_STEPS = 250_000;
/** Most tenths of a millisecond that it costs to create an expression that is matched on the host's thread: its first match compiles it, for longer. */
const MAX_COST = 50;
/** Megabytes of the isolate, and of the texts in it. */
const MEMORY_LIMIT = 256;
/** The longest deadline. */
const MAX_TIME = 0x7fff_ffff;
/** Milliseconds after the execution's deadline for which a match may last: the execution ends first, so the guest does not get an error of the match. */
const MARGIN = 1_000;

/**
 * A bound that depends on the length of a text: `factor * (length + 1) ** degree`.
 * @typedef {{ factor: number, degree: number }} Bound
 */

/** @type {Bound} */
const NONE = Object.freeze({ factor: 0, degree: 0 });
/** @type {Bound} */
const ONE = Object.freeze({ factor: 1, degree: 0 });
/** @type {Bound} */
const ENDLESS = Object.freeze({ factor: Infinity, degree: 0 });
/** @type {Bound} */
const LENGTH = Object.freeze({ factor: 1, degree: 1 });

/**
 * @param {Bound} one
 * @param {Bound} other
 * @returns {Bound}
 */
const plus = (one, other) => ({ factor: one.factor + other.factor, degree: Math.max(one.degree, other.degree) });

/**
 * @param {Bound} one
 * @param {Bound} other
 * @returns {Bound}
 */
const times = (one, other) => ({ factor: one.factor * other.factor, degree: one.degree + other.degree });

/**
 * A part of a pattern.
 * @typedef {object} Term
 * @property {Bound} ways in how many ways it can match at one position
 * @property {Bound} work steps to try all of them
 */

/** @type {Term} */
const CHARACTER = Object.freeze({ ways: ONE, work: ONE });
/** @type {Term} */
const BACKREFERENCE = Object.freeze({ ways: ONE, work: LENGTH });

/** The alternatives of a group. */
class Group {
  /** @type {Term} the alternatives so far */ #all = { ways: NONE, work: NONE };
  /** @type {Term} the current one */ #current = { ways: ONE, work: ONE };
  hasAlternatives = false;

  /** @param {Term} term that follows */
  add({ ways, work }) {
    // What follows is tried again for each way in which the terms before it match.
    this.#current = { ways: times(this.#current.ways, ways), work: plus(this.#current.work, times(this.#current.ways, work)) };
  }

  alternate() {
    this.#all = this.term;
    this.#current = { ways: ONE, work: ONE };
    this.hasAlternatives = true;
  }

  /** @returns {Term} */
  get term() {
    return { ways: plus(this.#all.ways, this.#current.ways), work: plus(this.#all.work, this.#current.work) };
  }
}

/**
 * @param {Term} term
 * @param {number} least how often it matches
 * @param {number} most
 * @returns {Term}
 */
function repeated({ ways, work }, least, most) {
  if (most < Infinity) {
    const all = { factor: ways.factor ** most, degree: ways.degree * most };
    return { ways: times({ factor: most - least + 1, degree: 0 }, all), work: times({ factor: most, degree: 0 }, times(all, work)) };
  }
  // Repetitions of something that matches in several ways multiply endlessly.
  return ways.factor === 1 && ways.degree === 0 ? { ways: LENGTH, work: times(LENGTH, work) } : { ways: ENDLESS, work: ENDLESS };
}

const HEADER = /\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:))?/y;
const CLASS = /\[(?:[^\\\]]|\\[^])*\]/y;
const ESCAPE = /\\(?:(k<[^>]{0,200}>|[1-9]\d*)|c[A-Za-z]|[^])/y;
/** With the flag `u`, these have braces that are no quantifiers. */
const UNICODE_ESCAPE = /\\[puP]\{[^}]*\}/y;
const QUANTIFIER = /([*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y;

/**
 * The steps of a backtracking search for a pattern.
 * @param {RegExp} pattern
 * @returns {Bound}
 */
function stepsOf({ source, unicode }) {
  const top = new Group();
  const groups = [top];
  let at = 0;
  /** @param {RegExp} token */
  const next = (token) => {
    token.lastIndex = at;
    const found = token.exec(source);
    at += found === null ? 0 : found[0].length;
    return found;
  };
  const quantified = (/** @type {Term} */ term) => {
    const found = next(QUANTIFIER);
    if (found === null) {
      return term;
    }
    const [, sign, least, comma, most] = found;
    const from = sign === '+' ? 1 : Number(least ?? 0);
    return repeated(term, from, sign === '?' ? 1 : least === undefined || most === '' ? Infinity : comma === undefined ? from : Number(most));
  };
  while (at < source.length) {
    const group = /** @type {Group} */ (groups.at(-1));
    if (next(HEADER) !== null) {
      groups.push(new Group());
    } else if (source[at] === ')') {
      at += 1;
      groups.pop();
      groups.at(-1)?.add(quantified(group.term));
    } else if (source[at] === '|') {
      at += 1;
      group.alternate();
    } else if (next(CLASS) !== null || (unicode && next(UNICODE_ESCAPE) !== null)) {
      group.add(quantified(CHARACTER));
    } else {
      const escape = next(ESCAPE);
      at += escape === null ? 1 : 0;
      group.add(quantified(escape?.[1] === undefined ? CHARACTER : BACKREFERENCE));
    }
  }
  const isAnchored = source.startsWith('^') && !top.hasAlternatives;
  return isAnchored ? top.term.work : times(top.term.work, LENGTH);
}

/** A pattern of a schema. */
class Pattern {
  #regexp;
  #steps;

  /**
   * @param {RegExp} regexp without the flags `g` and `y`
   * @param {number} [cost] of creating it, as `costOf` estimates it
   */
  constructor(regexp, cost = 0) {
    this.#regexp = regexp;
    this.#steps = cost > MAX_COST ? ENDLESS : stepsOf(regexp);
  }

  get source() {
    return this.#regexp.source;
  }

  get flags() {
    return this.#regexp.flags;
  }

  /**
   * The steps of a match on the host's thread.
   * @param {string} text
   * @returns {number | undefined} undefined if there may be too many
   */
  stepsFor(text) {
    const { factor, degree } = this.#steps;
    const steps = factor * (text.length + 1) ** degree;
    return steps <= MAX_STEPS ? steps : undefined;
  }

  /** @param {string} text */
  test(text) {
    return this.#regexp.test(text);
  }

  toString() {
    return String(this.#regexp);
  }
}

/** The isolate that matches for one execution. It is made for the first match that may take long. */
class Matcher {
  #make;
  /** @type {Promise<{ isolate: any, match: any }> | undefined} */ #ready;
  #isOver = false;

  /** @param {(memoryLimit: number) => any} make creates an isolate */
  constructor(make) {
    this.#make = make;
  }

  /**
   * @param {Pattern} pattern
   * @param {string} text
   * @param {number} until the deadline, as a value of `now()` in clock.js
   * @returns {Promise<boolean>}
   */
  async match(pattern, text, until) {
    const ready = this.#ready ??= this.#prepare();
    const { isolate, match } = await ready;
    try {
      const deadline = Math.min(Math.max(Math.ceil(until - now()), 1) + MARGIN, MAX_TIME);
      return await match.apply(undefined, [pattern.source, pattern.flags, text], bare({ timeout: 0, deadline }));
    } catch (error) {
      if (/** @type {any} */ (error).code === CODE.DEADLINE || this.#isOver) {
        throw error;
      }
      if (this.#ready === ready) {
        this.#ready = undefined;
        disposeOf(isolate);
      }
      throw coded(/** @type {ErrorConstructor} */ (RangeError), `The params are too large for the pattern ${pattern}`, CODE.LIMIT);
    }
  }

  async #prepare() {
    const isolate = this.#make(MEMORY_LIMIT);
    const context = await isolate.createContext();
    const match = await context.eval('(source, flags, text) => new RegExp(source, flags).test(text)', bare({ reference: true, timeout: 0 }));
    if (this.#isOver) {
      disposeOf(isolate);
    }
    return { isolate, match };
  }

  /** The execution is over: what is matched now fails. */
  end() {
    this.#isOver = true;
    this.#ready?.then(({ isolate }) => disposeOf(isolate), () => {});
  }
}

/** @typedef {Pattern} SchemaPattern */
/** @typedef {Matcher} PatternMatcher */

module.exports = { Matcher, Pattern };
