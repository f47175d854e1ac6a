'use strict';
// The data that plugins keep in their host's cache: under their own keys, and no more bytes than their manifests allow.

const { Buffer } = require('node:buffer');
const { performance } = require('node:perf_hooks');
const { types } = require('node:util');
const { Expiries } = require('./expiries.js');
const { measurementOf, OBJECT_BYTES, TOLERANCE } = require('../../common/size.js');
const { invalid } = require('../../../../core/error.js');

/** Methods of a cache that a plugin may call, and how many arguments follow the key. Other methods and arguments do not reach the host's cache. */
const METHODS = Object.freeze({
  get: 0, has: 0, exists: 0, set: 2, delete: 0, del: 0, expire: 1, ttl: 0,
});

/** Most characters of a key. */
const MAX_KEY = 65_536;
/** Options by which a cache may accept a time to live. */
const TIMES = Object.freeze(['ttl', 'EX', 'PX', 'EXAT', 'PXAT', 'maxAge']);
// oxlint-disable-next-line no-control-regex -- control characters are intended
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Most keys that a cache is asked about at a time. */
const MAX_PROBES = 100;

/** For this many records of a plugin, only keys and values count. For each further record, the bytes of its accounting count, too. */
const MAX_FREE_RECORDS = 1_000;
const RECORD_BYTES = 256;

/** For this many objects of a value, only its JSON counts. Each further object counts at least `OBJECT_BYTES`. */
const MAX_FREE_OBJECTS = 16;

/**
 * @typedef {object} Cache the host's
 * @property {(args: unknown[]) => unknown} run calls the method
 * @property {(name: string) => unknown} isThere returns false, or a promise for false, if there is nothing
 */

/**
 * Checks a key that follows a plugin's prefix: in every cache, it must be distinct from all other keys.
 * @param {unknown} key
 * @returns {string}
 */
function readKey(key) {
  if (typeof key !== 'string') {
    throw invalid('The key must be a string');
  }
  if (key.length > MAX_KEY) {
    throw invalid(`The key must be of at most ${MAX_KEY} characters`);
  }
  if (CONTROL.test(key) || !key.isWellFormed()) {
    throw invalid('The key must be text without control characters and lone surrogates');
  }
  return key;
}

/**
 * The time to live of a value that is set: a number, or an object with one of `TIMES` that is a number.
 * @param {unknown} ttl
 */
function readTtl(ttl) {
  if (ttl === undefined || ttl === null) {
    return undefined;
  }
  if (typeof ttl === 'object' && !Array.isArray(ttl)) {
    const times = TIMES.filter((name) => Object.hasOwn(ttl, name)).map((name) => [name, readNumber(/** @type {any} */ (ttl)[name], name)]);
    if (times.length > 0) {
      return Object.fromEntries(times);
    }
  }
  return readNumber(ttl, 'ttl');
}

/**
 * @param {unknown} value
 * @param {string} name
 */
function readNumber(value, name) {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw invalid(`\`${name}\` must be a finite number`);
  }
  return value;
}

/**
 * The arguments of a cache's method, with their types checked. Others are left out, since a cache may accept further keys, and options that change
 * the meaning of a key.
 * @param {keyof typeof METHODS} method
 * @param {unknown[]} args
 * @returns {[string, ...unknown[]]} the key, and the other arguments that are present
 */
function readArguments(method, args) {
  const key = readKey(args[0]);
  const rest = args.slice(1, 1 + METHODS[method]);
  if (method === 'expire') {
    return [key, readNumber(rest[0], 'seconds')];
  }
  if (method !== 'set') {
    return [key];
  }
  const ttl = readTtl(rest[1]);
  return ttl === undefined ? [key, rest[0]] : [key, rest[0], ttl];
}

/** @param {unknown} seconds */
const expiry = (seconds) => (typeof seconds === 'number' && seconds > 0 ? performance.now() + seconds * 1_000 : Infinity);

/** Bytes that are, or may be, stored under one key. */
class Record {
  name;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /** bytes that count: while writes are in progress, the most that any of them may leave */
  bytes = 0;
  /** bytes that the writes so far may have left: the most of those that overlapped, since a cache may perform these in any order */
  kept = 0;
  underWay = 0;
  /** writes so far, including those in progress */
  writes = 0;
  /** whether one of the writes that overlap has succeeded */
  isWritten = false;
  expires = Infinity;
  /** The last question of whether it is there, if it has no answer yet. @type {{ writes: number, answer: Promise<unknown> } | undefined} */
  question = undefined;
  /** whether the value may be null, which some caches cannot distinguish from an absent one */
  isNothing = false;
}

/** The storage of one plugin, in all of its isolates. */
class Account {
  /** @type {Map<string, Record>} */ #records = new Map();
  /** @type {import('./expiries.js').ExpiryHeap<Record>} */ #expiries = new Expiries();
  #used = 0;
  #prefix;

  /** @param {string} pluginId */
  constructor(pluginId) {
    // The first colon ends the id, so that plugins do not share keys.
    this.#prefix = `${pluginId.replace(/[%:]/g, encodeURIComponent)}:`;
  }

  /**
   * @param {string} key
   * @returns {string} its name in the host's cache
   */
  name(key) {
    return this.#prefix + key;
  }

  get isEmpty() {
    return this.#records.size === 0;
  }

  /**
   * Calls a method of the cache and updates the account.
   * @param {string} method
   * @param {string} key
   * @param {unknown[]} rest of the arguments
   * @param {number} size bytes of a value that is set
   * @param {Cache} cache
   * @param {number} quota
   * @param {(message: string) => Error} exceeded
   * @returns {unknown}
   */
  perform(method, key, rest, size, cache, quota, exceeded) {
    const name = this.name(key);
    const call = () => cache.run([name, ...rest]);
    switch (method) {
      case 'set': {
        const [value, seconds] = rest;
        const bytes = Buffer.byteLength(name) + size;
        const write = () => {
          const total = this.#totalWith(name, Math.max(this.#bytes(name), bytes));
          if (total > quota) {
            throw exceeded(`Storage quota exceeded: ${total === Infinity ? `more than ${quota}` : total} bytes > ${quota} bytes`);
          }
          return this.#write(name, bytes, call, value, expiry(seconds));
        };
        return this.#totalWith(name, bytes) > quota ? this.#reclaim(cache, write) : write();
      }
      case 'delete':
      case 'del':
        return this.#write(name, 0, call);
      case 'expire':
        return after(call(), () => {
          const record = this.#records.get(name);
          if (record !== undefined && !record.isNothing) {
            this.#expire(record, expiry(rest[0]));
          }
        });
      default:
        return call();
    }
  }

  /**
   * Frees the bytes of expired records, if the cache confirms that they are gone: it has its own units and rounding.
   * @param {Cache} cache
   * @param {() => unknown} next
   * @returns {unknown} what `next` returns
   */
  #reclaim(cache, next) {
    const now = performance.now();
    /** @type {Record[]} */
    const expired = [];
    while (expired.length < MAX_PROBES) {
      const record = this.#expiries.take(now);
      if (record === undefined) {
        break;
      }
      if (this.#records.get(record.name) === record) {
        expired.push(record);
      }
    }
    const answers = expired.map((record) => {
      // Next time, the cache is asked about others first.
      this.#expire(record, now);
      return record.underWay > 0 ? undefined : this.#ask(record, cache);
    });
    return answers.some((answer) => types.isPromise(answer)) ? afterAll(answers, next) : next();
  }

  /**
   * Asks the cache whether a record is there, and forgets it if not. Calls that need the same answer wait for it together: each of thousands of
   * calls could otherwise cause a hundred requests.
   * @param {Record} record
   * @param {Cache} cache
   * @returns {unknown} a promise if the answer comes later
   */
  #ask(record, cache) {
    const { question, writes } = record;
    if (question?.writes === writes) {
      return question.answer;
    }
    const answer = after(cache.isThere(record.name), (isThere) => {
      record.question = undefined;
      if (isThere === false && record.writes === writes && this.#records.get(record.name) === record) {
        this.#forget(record);
      }
    });
    record.question = types.isPromise(answer) ? { writes, answer } : undefined;
    return answer;
  }

  /**
   * The bytes that count once a record takes this many bytes.
   * @param {string} name
   * @param {number} bytes
   */
  #totalWith(name, bytes) {
    const records = this.#records.size + (this.#records.has(name) ? 0 : 1);
    return this.#used - this.#bytes(name) + bytes + Math.max(0, records - MAX_FREE_RECORDS) * RECORD_BYTES;
  }

  /**
   * @param {Record} record
   * @param {number} expires
   */
  #expire(record, expires) {
    record.expires = expires;
    this.#expiries.add(record, this.#records.values(), this.#records.size);
  }

  /** @param {string} name */
  #bytes(name) {
    return this.#records.get(name)?.bytes ?? 0;
  }

  /**
   * @param {string} name
   * @param {number} bytes that it leaves
   * @param {() => unknown} call
   * @param {unknown} [value]
   * @param {number} [expires]
   */
  #write(name, bytes, call, value, expires = Infinity) {
    const record = this.#records.get(name) ?? new Record(name);
    this.#records.set(name, record);
    record.isWritten &&= record.underWay > 0;
    record.underWay += 1;
    record.writes += 1;
    this.#count(record, Math.max(record.bytes, bytes));
    /** @param {boolean} written */
    const ended = (written) => {
      record.underWay -= 1;
      if (written) {
        const overlaps = record.isWritten;
        const isNothing = bytes > 0 && (value === null || value === undefined);
        record.kept = overlaps ? Math.max(record.kept, bytes) : bytes;
        record.isNothing = isNothing || (overlaps && record.isNothing);
        record.isWritten = true;
        // After writes that overlap, the cache is asked whether anything is left.
        this.#expire(record, record.isNothing ? Infinity : overlaps ? 0 : expires);
      }
      if (record.underWay === 0) {
        this.#count(record, record.kept);
        if (record.kept === 0 && this.#records.get(name) === record) {
          this.#forget(record);
        }
      }
    };
    try {
      return after(call(), () => ended(true), () => ended(false));
    } catch (error) {
      ended(false);
      throw error;
    }
  }

  /**
   * @param {Record} record
   * @param {number} bytes
   */
  #count(record, bytes) {
    this.#used += bytes - record.bytes;
    record.bytes = bytes;
  }

  /** @param {Record} record */
  #forget(record) {
    this.#count(record, 0);
    this.#records.delete(record.name);
  }
}

/**
 * Calls `done` or `failed` for a result, now or later.
 * @param {unknown} result
 * @param {(value: unknown) => void} done
 * @param {() => void} [failed]
 */
function after(result, done, failed) {
  if (types.isPromise(result)) {
    return afterPromise(result, done, failed);
  }
  done(result);
  return result;
}

/**
 * @param {Promise<unknown>} promise
 * @param {(value: unknown) => void} done
 * @param {(() => void) | undefined} failed
 */
async function afterPromise(promise, done, failed) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    failed?.();
    throw error;
  }
  done(value);
  return value;
}

/**
 * @param {unknown[]} answers
 * @param {() => unknown} next
 */
async function afterAll(answers, next) {
  await Promise.all(answers);
  return next();
}

/**
 * Begins to measure a value before it is set.
 * @param {unknown} value
 * @param {number} quota
 * @param {import('../../common/size.js').Budget} work
 */
const valueSize = (value, quota, work) => measurementOf(value, quota + TOLERANCE, work);

/**
 * Bytes that a measured value counts. A cache may keep its objects, which take more memory than the JSON of small ones.
 * @param {{ size: number, objects: number }} measurement
 */
const storedBytes = ({ size, objects }) => Math.max(size, (objects - MAX_FREE_OBJECTS) * OBJECT_BYTES);

/** @typedef {Account} StorageAccount */

module.exports = { Account, METHODS, readArguments, storedBytes, valueSize };
