'use strict';
// A binary heap of the records of a cache, by the time at which they expire. So the search for expired records does not visit the others.

/**
 * @typedef {object} Expiring
 * @property {string} name
 * @property {number} expires as a value of `now()` in clock.js; Infinity for never
 */

/** Entries beyond twice the number of records that are kept. A record whose expiry has changed has an old entry, too. */
const MAX_STALE = 64;

/** @template {Expiring} T */
class Expiries {
  /** @type {{ time: number, record: T }[]} by time: the entry at i is before those at 2i + 1 and 2i + 2 */ #heap = [];

  /**
   * Call it when a record has a new time, or is gone. Entries with the old time are skipped later.
   * @param {T} record
   * @param {Iterable<T>} all
   * @param {number} count of all
   */
  add(record, all, count) {
    if (this.#heap.length > 2 * count + MAX_STALE) {
      this.#heap = [];
      for (const each of all) {
        this.#push(each);
      }
    } else {
      this.#push(record);
    }
  }

  /**
   * Removes and returns the record that expired first.
   * @param {number} now
   * @returns {T | undefined}
   */
  take(now) {
    while (this.#heap.length > 0 && /** @type {{ time: number }} */ (this.#heap[0]).time <= now) {
      const { time, record } = this.#pop();
      if (record.expires === time) {
        return record;
      }
    }
    return undefined;
  }

  /** @param {T} record */
  #push(record) {
    if (record.expires === Infinity) {
      return;
    }
    const heap = this.#heap;
    const entry = { time: record.expires, record };
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (heap[above].time <= entry.time) {
        break;
      }
      heap[index] = heap[above];
      index = above;
    }
    heap[index] = entry;
  }

  /** @returns {{ time: number, record: T }} */
  #pop() {
    const heap = this.#heap;
    const first = heap[0];
    const last = /** @type {{ time: number, record: T }} */ (heap.pop());
    let index = 0;
    for (let below = 1; below < heap.length; below = 2 * index + 1) {
      if (below + 1 < heap.length && heap[below + 1].time < heap[below].time) {
        below += 1;
      }
      if (heap[below].time >= last.time) {
        break;
      }
      heap[index] = heap[below];
      index = below;
    }
    if (heap.length > 0) {
      heap[index] = last;
    }
    return first;
  }
}

/**
 * @template {Expiring} T
 * @typedef {Expiries<T>} ExpiryHeap
 */

module.exports = { Expiries };
