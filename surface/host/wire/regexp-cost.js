'use strict';
// How long a host takes to make a regular expression, which cannot be interrupted: a few characters may stand for sets of
// thousands, and some engines compare each named group with all others.

const { uncurryThis } = require('../../primordials.js');
const { REGEXP_FLAG } = require('./tags.js');

const exec = uncurryThis(RegExp.prototype.exec);
const codePointAt = uncurryThis(String.prototype.codePointAt);

/** Characters of an expression that is never refused by itself, and of one that may be made at all. */
const SHORT = 50;
const MAX_LENGTH = 2 ** 15;
/** With a class, `v` and `i`: some engines ask for each character of it which others are equal. */
const MAX_SET = 2 ** 12;
/** Tenths of a millisecond, on the slowest host: of one expression, and of all of a value together. */
const MAX_COST = 1_000;
const MAX_TOTAL_COST = 3_000;
/** Less is of no account, however many there are. */
const LITTLE = 4;
/**
 * A property of strings, of characters, a range, and a class in a class where one has nearly all characters: what each costs when an
 * expression is made, not when it is first used. With `i` that is more for those that have `v`: others ask then which letters are
 * equal.
 */
const COST = Object.freeze({ STRINGS: 15, PROPERTY: 2, RANGE: 0, NESTED: 60 });
const COST_IN_ANY_CASE = Object.freeze({ STRINGS: 160, PROPERTY: 3, RANGE: 0.5, NESTED: 60 });
/** With `i`: `\W` and the like, and one in a class, which is compared with what that has already. */
const LETTERS = 0.02;
const LETTERS_IN_CLASS = 1;
/** One host compares each named group with all before it: what that costs for each of those. */
const GROUP_PAIR = 0.002;
/** Some look through all named groups for each `\k`. */
const REFERENCE = 0.0016;
/** Engines keep the characters of a class in order: what each that comes too late costs for each of the others, where they are characters of Unicode. */
const DISORDER = 5e-6;
const DISORDER_IN_SET = 7.5e-6;
/** What has nearly all characters, or may have. */
const WIDE = /\[\^|\\[pPDSW]/;
/** With `v` there is a class within another for each of these, which may copy all characters of that one: as many in all. */
const MAX_COPIED = 2 ** 22;
/** Of so many ranges a property is made, about. */
const PROPERTY_RANGES = 700;

/** What may be costly, and any other escape, which hides what it escapes. `(?i` as well: it holds from there on. */
const TOKEN = /\\(?:([pP]\{)(RGI_|Basic_|Emoji_K)?|([dDsSwWq])|[^])|\(\?<(?![=!])|(\(\?[a-z]*i)|[[\]]|&&|-/g;

/**
 * What an expression costs; Infinity where it is too much.
 * @param {string} source
 * @param {number} flags bits of REGEXP_FLAG
 * @returns {number}
 */
function costOf(source, flags) {
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
  /** With these flags a backslash means what is costly. */
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
      // Two of them are an operator, where it has any.
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
 * Characters of each class, times those of them that come after a greater one.
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
      // Nobody knows which, without reading on.
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

module.exports = { costOf, MAX_TOTAL_COST };
