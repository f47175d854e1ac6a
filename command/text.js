// @ts-check
'use strict';
// Output that comes from guests. A terminal obeys control characters (it can be made to retitle its window, to overwrite lines, to answer
// as if the user typed), and characters that change the direction of text can hide what it says. They are shown as escapes there.

const { inspect, types } = require('node:util');

/** All control characters, and those of format that change the direction of text. */
const HARMFUL = /\r\n|[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const KEPT = Object.freeze(['\r\n', '\n', '\t']);
/** The same, except for those that JSON escapes. */
const HARMFUL_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const MAX_CHARACTERS = 100_000;
/** Values beyond these are only counted. */
const SHOWN = Object.freeze({ depth: 10, maxArrayLength: 10_000, maxStringLength: MAX_CHARACTERS });

/**
 * @param {string} character
 * @param {number} digits
 */
const hex = (character, digits) => character.charCodeAt(0).toString(16).padStart(digits, '0');

/**
 * A text without characters that a terminal obeys, except line feeds and tabs.
 * @param {string} text
 */
const visible = (text) => text.replace(HARMFUL, (found) => (KEPT.includes(found) ? found : found <= '\xff' ? `\\x${hex(found, 2)}` : `\\u${hex(found, 4)}`));

/**
 * A function that writes a guest's text to a stream.
 * @param {{ isTTY?: boolean, write(text: string): unknown }} stream
 * @returns {(text: string) => void}
 */
const writerTo = (stream) => (text) => {
  stream.write(stream.isTTY ? visible(text) : text);
};

/** @param {string} text */
const cut = (text) => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}... ${text.length - MAX_CHARACTERS} more characters` : text);

/** Most lines of the stack of an error that is part of a value. */
const MAX_LINES = 50;

/** @param {string} text */
function firstLines(text) {
  let end = -1;
  for (let line = 0; line < MAX_LINES; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return cut(text);
  }
  return cut(`${text.slice(0, end)}\n    ...`);
}

/**
 * Makes `inspect` show a text that is an object like any other text: it would list an index for each character, which takes 250 bytes and half a
 * microsecond.
 * @param {object} text
 */
function showAsText(text) {
  /** @param {number} _ @param {import('node:util').InspectOptions} options */
  const value = (_, { maxStringLength }) => `[String: ${inspect(String.prototype.valueOf.call(text), { maxStringLength })}]`;
  Object.defineProperty(text, inspect.custom, { value, configurable: true });
}

/** Bits of the longest BigInt in one text: some 39,000 digits. */
const MAX_BITS = 131_072;
const BITS_PER_HEX_DIGIT = 4;

/**
 * Selects the BigInts that one text shows. The time to write one in decimal grows with almost the square of its length, so all of them together may
 * take as long as the longest one.
 * @returns {(part: bigint) => boolean}
 */
function bigintFilter() {
  let left = MAX_BITS ** 2;
  return (part) => {
    if (BigInt.asIntN(MAX_BITS, part) !== part) return false;
    left -= (part.toString(16).length * BITS_PER_HEX_DIGIT) ** 2;
    return left >= 0;
  };
}

/**
 * What `inspect` shows instead of a BigInt that is too long.
 * @param {bigint} part
 */
const inPlaceOf = (part) => ({ [inspect.custom]: () => `[BigInt of ${(part.toString(16).length * BITS_PER_HEX_DIGIT).toLocaleString('en')} bits]` });

/**
 * Prepares a copy for `inspect`. Shortens stacks: `inspect` compares each line of an error's stack with each line of its cause's. Replaces long
 * BigInts.
 * @param {unknown} value
 * @returns {unknown} the value, or what replaces it
 */
function prepare(value) {
  /** Objects only: numbers that a guest chose may all fall into one bucket of this table. @type {Set<object>} */
  const found = new Set();
  const isShown = bigintFilter();
  /** @param {unknown} part */
  const add = (part) => {
    if (typeof part === 'object' && part !== null && !ArrayBuffer.isView(part)) found.add(part);
  };
  /** @param {unknown} part @returns {unknown} the part, or what replaces it */
  const replaced = (part) => {
    add(part);
    return typeof part === 'bigint' && !isShown(part) ? inPlaceOf(part) : part;
  };
  const whole = replaced(value);
  for (const part of found) {
    if (types.isStringObject(part)) {
      showAsText(part);
      continue;
    }
    if (types.isNativeError(part)) {
      if (typeof part.stack === 'string') Object.defineProperty(part, 'stack', { value: firstLines(part.stack), enumerable: false, configurable: true, writable: true });
      if (Object.hasOwn(part, 'cause')) Object.defineProperty(part, 'cause', { value: replaced(part.cause), enumerable: false, configurable: true, writable: true });
    }
    if (types.isBigIntObject(part)) {
      const content = BigInt.prototype.valueOf.call(part);
      if (!isShown(content)) Object.assign(part, inPlaceOf(content));
    } else if (types.isMap(part)) {
      const before = [...part];
      const entries = before.map(([key, each]) => /** @type {const} */ ([replaced(key), replaced(each)]));
      if (entries.some(([key, each], index) => key !== before[index][0] || each !== before[index][1])) {
        part.clear();
        for (const [key, each] of entries) part.set(key, each);
      }
    } else if (types.isSet(part)) {
      const before = [...part];
      const entries = before.map(replaced);
      if (entries.some((each, index) => each !== before[index])) {
        part.clear();
        for (const each of entries) part.add(each);
      }
    }
    for (const [key, each] of Object.entries(part)) {
      const other = replaced(each);
      if (other !== each) Object.defineProperty(part, key, { value: other, enumerable: true, configurable: true, writable: true });
    }
  }
  return whole;
}

/**
 * What a guest returned, for people to read.
 * @param {unknown} value a copy
 * @param {import('node:util').InspectOptions} [options]
 */
function shown(value, options) {
  return inspect(prepare(value), { ...SHOWN, ...options });
}

/**
 * Why code failed, for people to read.
 * @param {{ stack: string, frame?: string }} failure
 */
const described = ({ stack, frame }) => `${cut(stack)}\n${frame === undefined ? '' : `\n${frame}\n`}`;

/** Most elements of typed arrays in one JSON text. */
const MAX_ELEMENTS = 100_000;
/**
 * A replacer for JSON of what a guest returned. BigInts become strings of digits. A new one for each text: limits of results count the bytes of
 * typed arrays, but JSON takes a dozen for each element, so many elements are refused.
 * @returns {(key: string, part: unknown) => unknown}
 */
function jsonReplacer() {
  let left = MAX_ELEMENTS;
  const isShown = bigintFilter();
  return (_, part) => {
    if (ArrayBuffer.isView(part)) {
      left -= /** @type {any} */ (part).length ?? 0;
      if (left < 0) throw new RangeError(`it has more than ${MAX_ELEMENTS} elements of typed arrays`);
    }
    if (typeof part !== 'bigint') return part;
    if (!isShown(part)) throw new RangeError('its BigInts have too many digits');
    return String(part);
  };
}

/**
 * A JSON document, which is safe to show on a terminal. BigInts become strings of digits.
 * @param {unknown} value
 * @param {number} [indent]
 * @returns {string}
 * @throws if JSON cannot represent the value
 */
const json = (value, indent) =>
  JSON.stringify(value, jsonReplacer(), indent)
    .replace(HARMFUL_IN_JSON, (found) => `\\u${hex(found, 4)}`);

module.exports = { cut, described, json, jsonReplacer, shown, visible, writerTo };
