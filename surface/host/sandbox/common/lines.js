'use strict';
// The lines of a text, as V8 counts them. The text is untrusted and may have millions of lines, so there is no list of them.

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const LINE_SEPARATOR = 0x2028;
const PARAGRAPH_SEPARATOR = 0x2029;

/**
 * The position after the next line break.
 * @param {string} text
 * @param {number} from
 * @returns {number} 0 if there is none
 */
function nextLine(text, from) {
  const { length } = text;
  for (let index = from; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === NEWLINE || code === LINE_SEPARATOR || code === PARAGRAPH_SEPARATOR) {
      return index + 1;
    }
    if (code === RETURN) {
      return text.charCodeAt(index + 1) === NEWLINE ? index + 2 : index + 1;
    }
  }
  return 0;
}

/**
 * Where a text ends.
 * @param {string} text
 * @returns {{ line: number, column: number }} from 0
 */
function endPosition(text) {
  let line = 0;
  let start = 0;
  for (let next = nextLine(text, 0); next > 0; next = nextLine(text, next)) {
    line += 1;
    start = next;
  }
  return { line, column: text.length - start };
}

class Lines {
  #text;
  /** @type {Uint32Array | undefined} */ #known = undefined;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  /** Where each line starts. */
  get #starts() {
    if (this.#known === undefined) {
      const text = this.#text;
      const starts = new Uint32Array(endPosition(text).line + 1);
      for (let line = 1; line < starts.length; line += 1) {
        starts[line] = nextLine(text, starts[line - 1]);
      }
      this.#known = starts;
    }
    return this.#known;
  }

  get count() {
    return this.#starts.length;
  }

  /**
   * @param {number} number from 1
   * @returns {string | undefined} undefined if there is no such line
   */
  line(number) {
    const starts = this.#starts;
    if (!(number >= 1 && number <= starts.length)) {
      return undefined;
    }
    const text = this.#text.slice(starts[number - 1], number < starts.length ? starts[number] : undefined);
    return number < starts.length ? text.slice(0, text.endsWith('\r\n') ? -2 : -1) : text;
  }
}

/** @typedef {Lines} TextLines */

module.exports = { endPosition, Lines, nextLine };
