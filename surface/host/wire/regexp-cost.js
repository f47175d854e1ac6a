'use strict';
// Estimates how long a host takes to create a regular expression, which cannot be interrupted. A few characters may denote sets of
// thousands, and some engines compare each named group with all others.

const { uncurryThis } = require('../../core/primordials.js');
const { REGEXP_FLAG, TAG } = require('./tags.js');

const exec = uncurryThis(RegExp.prototype.exec);
const codePointAt = uncurryThis(String.prototype.codePointAt);
const indexOf = uncurryThis(Uint8Array.prototype.indexOf);

/** Greatest length of an expression that is never refused on its own, and of any expression that is accepted. */
const SHORT = 50;
const MAX_LENGTH = 2 ** 15;
/** Greatest length with a class, `v` and `i`: for each character of the class, some engines look up which others are equal. */
const MAX_SET = 2 ** 12;
/** Tenths of a millisecond on the slowest host: for one expression, and for all expressions of a value together. */
const MAX_COST = 1_000;
const MAX_TOTAL_COST = 3_000;
/** Costs up to this one do not count, however many expressions there are. */
const LITTLE = 4;
/**
 * The cost of a property of strings, a property of characters, a range, and a class in a class if any class has nearly all characters. The
 * cost is that of creating an expression, not of its first use. With `i`, it is higher for expressions with `v`; the others look up equal
 * letters on first use.
 */
const COST = Object.freeze({ STRINGS: 15, PROPERTY: 2, RANGE: 0, NESTED: 60 });
const COST_IN_ANY_CASE = Object.freeze({ STRINGS: 160, PROPERTY: 3, RANGE: 0.5, NESTED: 60 });
/** With `i`: `\W` and the like, outside a class and inside one, where it is compared with what the class already has. */
const LETTERS = 0.02;
const LETTERS_IN_CLASS = 1;
/** One host compares each named group with all previous ones: the cost per comparison. */
const GROUP_PAIR = 0.002;
/** Some hosts search all named groups for each `\k`. */
const REFERENCE = 0.0016;
/** Engines sort the characters of a class: with Unicode, the cost of each character that is out of order, per character of the class. */
const DISORDER = 5e-6;
const DISORDER_IN_SET = 7.5e-6;
/** Classes that have, or may have, nearly all characters. */
const WIDE = /\[\^|\\[pPDSW]/;
/** With `v`, each nested class or operator may copy all characters of the class around it. Most characters that are copied in all. */
const MAX_COPIED = 2 ** 22;
/** Approximate number of ranges in a property. */
const PROPERTY_RANGES = 700;

/** Constructs that may be costly, and any other escape, since it hides the escaped character. Also `(?i`, which applies from there on. */
const TOKEN = /\\(?:([pP]\{)(RGI_|Basic_|Emoji_K)?|([dDsSwWq])|[^])|\(\?<(?![=!])|(\(\?[a-z]*i)|[[\]]|&&|-/g;

/** The costs of short expressions that came before, by source: values often have the same ones. @type {Map<string, { flags: number, cost: number }>} */
const known = new Map();
const MAX_KNOWN = 64;

/**
 * The cost of an expression; Infinity if it is too high.
 * @param {string} source
 * @param {number} flags bits of REGEXP_FLAG
 * @returns {number}
 */
function costOf(source, flags) {
  if (source.length > SHORT) return newCost(source, flags);
  const before = known.get(source);
  if (before !== undefined && before.flags === flags) return before.cost;
  const cost = newCost(source, flags);
  if (known.size === MAX_KNOWN) known.clear();
  known.set(source, { flags, cost });
  return cost;
}

/**
 * @param {string} source
 * @param {number} flags
 */
function newCost(source, flags) {
  if (source.length > MAX_LENGTH) return Infinity;
  const cost = parts(source, flags);
  if (cost <= LITTLE) return 0;
  return cost <= MAX_COST ? cost : source.length <= SHORT ? MAX_COST : Infinity;
}

/**
 * @param {string} source
 * @param {number} flags
 */
function parts(source, flags) {
  const hasSets = (flags & REGEXP_FLAG.v) !== 0;
  /** Escapes are costly only with these flags. */
  const isUnicode = (flags & (REGEXP_FLAG.u | REGEXP_FLAG.v)) !== 0;
  let ignoresCase = (flags & REGEXP_FLAG.i) !== 0;
  const isWide = hasSets && exec(WIDE, source) !== null;
  let cost = 0;
  let groups = 0;
  let references = 0;
  let depth = 0;
  let copies = 0;
  let characters = source.length;
  TOKEN.lastIndex = 0;
  for (let found = exec(TOKEN, source); found !== null; found = exec(TOKEN, source)) {
    const [text, property, strings, letter, modifier] = found;
    const costs = hasSets && ignoresCase ? COST_IN_ANY_CASE : COST;
    if (text === '[') {
      if (depth > 0 && isWide) cost += costs.NESTED;
      depth = hasSets ? depth + 1 : 1;
      copies += 1;
    } else if (text === ']') depth = depth > 0 ? depth - 1 : 0;
    else if (text === '&&' || letter === 'q') copies += 1;
    else if (text === '-') {
      // With `v`, two of them are an operator.
      if (depth > 0) {
        copies += 1;
        cost += costs.RANGE;
      }
    } else if (modifier !== undefined) ignoresCase = true;
    else if (text[0] === '(') {
      cost += groups * GROUP_PAIR;
      groups += 1;
    } else if (isUnicode && property !== undefined) {
      cost += strings === undefined ? costs.PROPERTY : costs.STRINGS;
      characters += PROPERTY_RANGES;
    } else if (isUnicode && ignoresCase && letter !== undefined) cost += depth > 0 ? LETTERS_IN_CLASS : LETTERS;
    if (text === '\\k') references += 1;
    if (cost > MAX_COST) return Infinity;
    if (hasSets && (copies * characters > MAX_COPIED || (ignoresCase && copies > 0 && source.length > MAX_SET))) return Infinity;
  }
  cost += groups * references * REFERENCE;
  return isUnicode ? cost + disorder(source, hasSets) * (hasSets ? DISORDER_IN_SET : DISORDER) : cost;
}

const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const ASTRAL = 0x10000;

/**
 * The sum over all classes: the number of characters, times the number of characters that follow a greater one.
 * @param {string} source
 * @param {boolean} hasSets
 */
function disorder(source, hasSets) {
  let sum = 0;
  let depth = 0;
  let greatest = -1;
  let members = 0;
  let late = 0;
  for (let i = 0; i < source.length; i += 1) {
    const character = codePointAt(source, i) ?? 0;
    if (character >= ASTRAL) i += 1;
    if (character === OPEN && (hasSets || depth === 0)) {
      if (depth === 0) {
        greatest = -1;
        members = 0;
        late = 0;
      }
      depth += 1;
    } else if (character === CLOSE && depth > 0) {
      depth -= 1;
      if (depth === 0) sum += members * late;
    } else if (character === BACKSLASH) {
      // Which character it denotes is not known without parsing the escape.
      i += 1;
      members += 1;
      late += 1;
    } else if (depth > 0) {
      members += 1;
      if (character < greatest) late += 1;
      else greatest = character;
    }
  }
  return sum;
}

/**
 * Whether a value may have regular expressions: then reading it may take long, although it is small.
 * @param {Uint8Array} bytes
 */
function mayHaveRegexps(bytes) {
  for (let at = indexOf(bytes, TAG.REGEXP); at >= 0; at = indexOf(bytes, TAG.REGEXP, at + 1)) {
    // The source follows. These are rare after that letter in a text.
    switch (bytes[at + 1]) {
      case TAG.ONE_BYTE_STRING:
      case TAG.TWO_BYTE_STRING:
      case TAG.UTF8_STRING:
      case TAG.PADDING:
        return true;
      default:
    }
  }
  return false;
}

module.exports = { costOf, MAX_TOTAL_COST, mayHaveRegexps };
