'use strict';
// Reads the bodies of responses to plugins' requests. Each body has a maximum size, and all bodies of a function share a memory budget.

const { Buffer } = require('node:buffer');
const { CODE, coded } = require('../../../../core/error.js');

/** Most pieces of a response with fewer bytes than `SMALL_PIECE`. Each costs more than its bytes. */
const MAX_SMALL_PIECES = 100_000;
const SMALL_PIECE = 64;

/** @param {string} what */
const tooMany = (what) => coded(/** @type {ErrorConstructor} */ (RangeError), `Response has too many ${what}`, CODE.LIMIT);

/** The memory for the responses of one function. A response that finds none waits, unless it is the oldest. */
class Memory {
  #left;
  /** Bytes of each response, the oldest first. @type {Map<Body, number>} */ #taken = new Map();
  /** Responses that wait. The functions are called when there may be more memory. @type {Map<Body, () => void>} */ #waiting = new Map();

  /** @param {number} bytes */
  constructor(bytes) {
    this.#left = bytes;
  }

  /**
   * @param {Body} body
   * @param {number} bytes
   * @param {() => void} resume called later if there is no memory now
   * @returns {boolean} whether it may take them
   */
  take(body, bytes, resume) {
    const taken = this.#taken.get(body) ?? 0;
    this.#taken.set(body, taken);
    const [oldest] = this.#taken.keys();
    if (bytes > this.#left && body !== oldest) {
      this.#waiting.set(body, resume);
      return false;
    }
    this.#taken.set(body, taken + bytes);
    this.#left -= bytes;
    return true;
  }

  /** @param {Body} body */
  release(body) {
    this.#left += this.#taken.get(body) ?? 0;
    this.#taken.delete(body);
    this.#waiting.delete(body);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const resume of waiting) {
      resume();
    }
  }
}

/** The body of a response, in one buffer. In a list, pieces of one byte each would take a hundred times their size. */
class Body {
  #bytes = Buffer.alloc(0);
  #length = 0;
  #smallPieces = 0;
  #isOver = false;
  #limit;
  #memory;

  /**
   * @param {number} limit bytes
   * @param {Memory} memory
   */
  constructor(limit, memory) {
    this.#limit = limit;
    this.#memory = memory;
  }

  /**
   * @param {Buffer} piece
   * @param {() => void} retry called later if there is no memory for it now
   * @returns {boolean} whether it was added
   * @throws {RangeError} when there are too many bytes or pieces
   */
  add(piece, retry) {
    if (this.#isOver) {
      return false;
    }
    const length = this.#length + piece.length;
    if (length > this.#limit) {
      throw coded(/** @type {ErrorConstructor} */ (RangeError), `Response exceeds the maximum body size of ${this.#limit} bytes`, CODE.LIMIT);
    }
    if (length > this.#bytes.length) {
      const size = Math.min(Math.max(2 * this.#bytes.length, length), this.#limit);
      if (!this.#memory.take(this, size - this.#bytes.length, retry)) {
        return false;
      }
      const longer = Buffer.alloc(size);
      longer.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = longer;
    }
    if (piece.length < SMALL_PIECE && (this.#smallPieces += 1) > MAX_SMALL_PIECES) {
      throw tooMany('small chunks');
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
    return true;
  }

  get bytes() {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Call it when the request is over. */
  release() {
    this.#isOver = true;
    this.#memory.release(this);
  }
}

module.exports = { Body, Memory, tooMany };
