'use strict';
// `URLSearchParams`: a list of names and values, which may be the query of a `URL`.

const {
  apply, arraySort, create, freeze, getOwnPropertyDescriptor, iterator, iterators, list, ownKeys, put, setPrototypeOf,
  stringIndexOf, stringSlice, TypeError,
} = require('./primordials.js');
const { checkCount, checkFunction, scalarText, shape } = require('./interfaces.js');

const KEYS = 0;
const VALUES = 1;
const ENTRIES = 2;

/** @typedef {{ name: string, value: string }} Pair */

/**
 * @param {string} name
 * @param {string} value
 * @returns {Pair}
 */
const pairOf = (name, value) => /** @type {any} */ ({ __proto__: null, name, value });

/**
 * Compares names by code units.
 * @param {Pair} one
 * @param {Pair} other
 */
const order = (one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0);

/** @param {any} native */
function createSearchParams(native) {
  const { decodeForm, encodeForm, mark } = native;

  /**
   * @param {string} query without its question mark
   * @returns {Pair[]}
   */
  function parse(query) {
    const pairs = list();
    for (let start = 0; start <= query.length;) {
      const found = stringIndexOf(query, '&', start);
      const end = found < 0 ? query.length : found;
      if (end > start) {
        const part = stringSlice(query, start, end);
        const middle = stringIndexOf(part, '=');
        const name = middle < 0 ? part : stringSlice(part, 0, middle);
        const value = middle < 0 ? '' : stringSlice(part, middle + 1);
        pairs[pairs.length] = pairOf(decodeForm(name), decodeForm(value));
      }
      start = end + 1;
    }
    return pairs;
  }

  /** @param {Pair[]} pairs */
  function serialize(pairs) {
    let query = '';
    for (let index = 0; index < pairs.length; index += 1) {
      const { name, value } = /** @type {Pair} */ (pairs[index]);
      query += `${index === 0 ? '' : '&'}${encodeForm(name)}=${encodeForm(value)}`;
    }
    return query;
  }

  /** @param {Iterable<any>} sequence */
  function ofSequence(sequence) {
    const pairs = list();
    for (const each of sequence) {
      if ((typeof each !== 'object' && typeof each !== 'function') || each === null || typeof each[iterator] !== 'function') {
        throw new TypeError('Each query pair must be an iterable [name, value] tuple');
      }
      const parts = list();
      for (const part of each) {
        parts[parts.length] = scalarText(part);
      }
      if (parts.length !== 2) {
        throw new TypeError('Each query pair must be an iterable [name, value] tuple');
      }
      pairs[pairs.length] = pairOf(parts[0], parts[1]);
    }
    return pairs;
  }

  /** @param {any} record */
  function ofRecord(record) {
    const pairs = list();
    const places = create(null);
    const keys = ownKeys(record);
    for (let index = 0; index < keys.length; index += 1) {
      const key = /** @type {string} */ (keys[index]);
      const found = getOwnPropertyDescriptor(record, key);
      if (found !== undefined && found.enumerable) {
        const name = scalarText(key);
        const value = scalarText(record[key]);
        const place = places[name] ?? (places[name] = pairs.length);
        pairs[place] = pairOf(name, value);
      }
    }
    return pairs;
  }

  class URLSearchParams {
    /** @type {Pair[]} */ #pairs;
    /** @type {((query: string) => void) | undefined} */ #changed;

    /** @param {any} [init] */
    constructor(init = '') {
      mark(this);
      if ((typeof init === 'object' && init !== null) || typeof init === 'function') {
        const method = init[iterator];
        if (method === undefined || method === null) {
          this.#pairs = ofRecord(init);
        } else if (typeof method === 'function') {
          this.#pairs = ofSequence(/** @type {any} */ ({ __proto__: null, [iterator]: () => apply(method, init, []) }));
        } else {
          throw new TypeError('Query pairs must be iterable');
        }
      } else {
        const query = scalarText(init);
        this.#pairs = parse(query[0] === '?' ? stringSlice(query, 1) : query);
      }
    }

    /**
     * Binds the parameters to the query of a URL; `changed` is called when they change.
     * @param {any} params
     * @param {string} query
     * @param {(query: string) => void} changed
     */
    static follow(params, query, changed) {
      /** @type {URLSearchParams} */ (params).#pairs = parse(query);
      /** @type {URLSearchParams} */ (params).#changed = changed;
    }

    /** @param {any} params */
    static pairsOf(params) {
      return /** @type {URLSearchParams} */ (params).#pairs;
    }

    #tell() {
      this.#changed?.(serialize(this.#pairs));
    }

    get size() {
      return this.#pairs.length;
    }

    /**
     * @param {unknown} name
     * @param {unknown} value
     */
    append(name, value) {
      const pairs = this.#pairs;
      checkCount(arguments.length, 2);
      const pair = pairOf(scalarText(name), scalarText(value));
      pairs[pairs.length] = pair;
      this.#tell();
    }

    /**
     * @param {unknown} name
     * @param {unknown} [value]
     */
    delete(name, value = undefined) {
      void this.#pairs;
      checkCount(arguments.length, 1);
      const wanted = scalarText(name);
      const only = value === undefined ? undefined : scalarText(value);
      const old = this.#pairs;
      const kept = list();
      for (let index = 0; index < old.length; index += 1) {
        const pair = /** @type {Pair} */ (old[index]);
        if (pair.name !== wanted || (only !== undefined && pair.value !== only)) {
          kept[kept.length] = pair;
        }
      }
      this.#pairs = kept;
      this.#tell();
    }

    /** @param {unknown} name */
    get(name) {
      void this.#pairs;
      checkCount(arguments.length, 1);
      const found = this.#find(scalarText(name), undefined);
      return found === undefined ? null : found.value;
    }

    /**
     * @param {string} name
     * @param {string | undefined} value
     * @returns {Pair | undefined}
     */
    #find(name, value) {
      const pairs = this.#pairs;
      for (let index = 0; index < pairs.length; index += 1) {
        const pair = /** @type {Pair} */ (pairs[index]);
        if (pair.name === name && (value === undefined || pair.value === value)) {
          return pair;
        }
      }
      return undefined;
    }

    /** @param {unknown} name */
    getAll(name) {
      void this.#pairs;
      checkCount(arguments.length, 1);
      const wanted = scalarText(name);
      const pairs = this.#pairs;
      /** @type {string[]} */
      const values = [];
      for (let index = 0; index < pairs.length; index += 1) {
        const pair = /** @type {Pair} */ (pairs[index]);
        if (pair.name === wanted) {
          put(values, values.length, pair.value, true);
        }
      }
      return values;
    }

    /**
     * @param {unknown} name
     * @param {unknown} [value]
     */
    has(name, value = undefined) {
      void this.#pairs;
      checkCount(arguments.length, 1);
      const wanted = scalarText(name);
      return this.#find(wanted, value === undefined ? undefined : scalarText(value)) !== undefined;
    }

    /**
     * @param {unknown} name
     * @param {unknown} value
     */
    set(name, value) {
      void this.#pairs;
      checkCount(arguments.length, 2);
      const wanted = scalarText(name);
      const next = pairOf(wanted, scalarText(value));
      const old = this.#pairs;
      const kept = list();
      let isDone = false;
      for (let index = 0; index < old.length; index += 1) {
        const pair = /** @type {Pair} */ (old[index]);
        if (pair.name !== wanted) {
          kept[kept.length] = pair;
        } else if (!isDone) {
          kept[kept.length] = next;
          isDone = true;
        }
      }
      if (!isDone) {
        kept[kept.length] = next;
      }
      this.#pairs = kept;
      this.#tell();
    }

    sort() {
      arraySort(this.#pairs, order);
      this.#tell();
    }

    toString() {
      return serialize(this.#pairs);
    }

    /**
     * @param {(value: string, name: string, params: URLSearchParams) => void} callback
     * @param {unknown} [self]
     */
    forEach(callback, self = undefined) {
      void this.#pairs;
      checkFunction(callback, 'callback');
      for (let index = 0; index < this.#pairs.length; index += 1) {
        const { name, value } = /** @type {Pair} */ (this.#pairs[index]);
        apply(callback, self, [value, name, this]);
      }
    }

    entries() {
      void this.#pairs;
      return new Iteration(this, ENTRIES);
    }

    keys() {
      void this.#pairs;
      return new Iteration(this, KEYS);
    }

    values() {
      void this.#pairs;
      return new Iteration(this, VALUES);
    }
  }

  const { follow, pairsOf } = URLSearchParams;
  // Only for this file and url.js.
  for (const name of /** @type {const} */ (['follow', 'pairsOf'])) {
    delete (/** @type {any} */ (URLSearchParams)[name]);
  }

  class Iteration {
    #params;
    #kind;
    #next = 0;

    /**
     * @param {URLSearchParams} params
     * @param {number} kind
     */
    constructor(params, kind) {
      this.#params = params;
      this.#kind = kind;
    }

    next() {
      const pairs = pairsOf(this.#params);
      if (this.#next >= pairs.length) {
        this.#next = Infinity;
        return { value: undefined, done: true };
      }
      const { name, value } = /** @type {Pair} */ (pairs[this.#next]);
      this.#next += 1;
      const kind = this.#kind;
      return { value: kind === KEYS ? name : kind === VALUES ? value : [name, value], done: false };
    }
  }

  // The class must not be reachable from its instances.
  delete (/** @type {any} */ (Iteration.prototype).constructor);
  setPrototypeOf(Iteration.prototype, iterators);
  shape(Iteration, 'URLSearchParams Iterator');

  shape(URLSearchParams, 'URLSearchParams');
  put(URLSearchParams.prototype, iterator, URLSearchParams.prototype.entries, false);
  return freeze({ follow, URLSearchParams });
}

module.exports = createSearchParams;
