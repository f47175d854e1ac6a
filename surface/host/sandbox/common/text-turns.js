'use strict';
// Bounds how many characters are worked on at a time. Removing types takes some hundred bytes of memory for each character, and parsing takes
// half of that, in isolates that `memoryLimit` of a sandbox does not bound.

const { withinLimits } = require('./waiting.js');

/** Characters of all texts at a time. One text may have more, if it is alone. */
const MAX_CHARACTERS = 8_388_608;
/** Texts of up to this many characters do not count: they do not wait for large ones. */
const SMALL = 131_072;

/** The texts that are worked on, and those that wait for their turn, in the order of their arrival. */
class TextTurns {
  #taken = 0;
  /** @type {Map<() => void, number>} each with the characters of its texts */ #waiting = new Map();

  /**
   * @template T
   * @param {number} characters
   * @param {number} until when to stop waiting, as a value of `now()` in clock.js
   * @param {any} signal from `readSignal`
   * @param {() => Promise<T>} work
   * @returns {Promise<T>} what `work` returns; rejects as `withinLimits` does
   */
  async run(characters, until, signal, work) {
    if (characters <= SMALL) {
      return work();
    }
    // A time limit of `node:vm` around the caller could end JavaScript without `finally`: the characters would count forever. It does not cover
    // microtasks.
    await undefined;
    /** @type {() => void} */
    let begin = () => {};
    const turn = new Promise((resolve) => { begin = () => resolve(undefined); });
    this.#waiting.set(begin, characters);
    this.#admit();
    try {
      if (this.#waiting.has(begin)) {
        await withinLimits(turn, until, signal);
      }
      return await work();
    } finally {
      if (!this.#waiting.delete(begin)) {
        this.#taken -= characters;
      }
      this.#admit();
    }
  }

  #admit() {
    for (const [begin, characters] of this.#waiting) {
      if (this.#taken > 0 && this.#taken + characters > MAX_CHARACTERS) {
        return;
      }
      this.#taken += characters;
      this.#waiting.delete(begin);
      begin();
    }
  }
}

module.exports = { TextTurns };
