'use strict';
// `URL`. The native side parses; this side keeps the text and the offsets of its parts.

const { put, stringSlice, TypeError } = require('./primordials.js');
const { checkCount, scalarText, shape } = require('./interfaces.js');
const { URL_PART: PART, URL_RECORD } = require('./protocol.js');

const {
  HREF, AFTER_SCHEME, BEFORE_USERNAME, AFTER_USERNAME, BEFORE_PASSWORD, AFTER_PASSWORD, BEFORE_HOST, AFTER_HOST, BEFORE_PORT, AFTER_PORT,
  BEFORE_PATH, AFTER_PATH, AFTER_QUERY,
} = URL_RECORD;

/** @typedef {[string, ...number[]]} UrlRecord */

/**
 * @param {UrlRecord} record
 * @param {number} from
 * @param {number} to
 * @returns {string}
 */
const between = (record, from, to) => stringSlice(record[HREF], record[from], record[to]);

/**
 * A query or a fragment with its leading `?` or `#`; empty if it has nothing else.
 * @param {string} part
 */
const marked = (part) => (part.length === 1 ? '' : part);

/**
 * @param {any} native
 * @param {any} searchParams
 */
function createUrl(native, { follow, URLSearchParams }) {
  const { mark, originOf, parseUrl, setUrl } = native;

  /**
   * @param {unknown} url
   * @param {unknown} base
   * @returns {UrlRecord | undefined} undefined if it is not a URL
   */
  function parse(url, base) {
    const text = scalarText(url);
    return parseUrl(text, base === undefined ? undefined : scalarText(base));
  }

  /** @param {string} input */
  function invalid(input) {
    const error = new TypeError('Invalid URL');
    put(error, 'code', 'ERR_INVALID_URL', true);
    put(error, 'input', input, true);
    return error;
  }

  class URL {
    /** @type {UrlRecord} */ #record;
    /** @type {any} */ #params;

    /**
     * @param {unknown} url
     * @param {unknown} [base]
     */
    constructor(url, base = undefined) {
      checkCount(arguments.length, 1);
      const text = scalarText(url);
      const record = parse(text, base);
      if (record === undefined) {
        throw invalid(text);
      }
      this.#record = record;
      mark(this);
    }

    /**
     * @param {unknown} url
     * @param {unknown} [base]
     */
    static canParse(url, base = undefined) {
      checkCount(arguments.length, 1);
      return parse(url, base) !== undefined;
    }

    /**
     * @param {unknown} url
     * @param {unknown} [base]
     */
    static parse(url, base = undefined) {
      checkCount(arguments.length, 1);
      const record = parse(url, base);
      if (record === undefined) {
        return null;
      }
      const made = new URL('about:blank');
      made.#record = record;
      return made;
    }

    /**
     * @param {number} part
     * @param {unknown} value
     */
    #set(part, value) {
      void this.#record;
      const text = scalarText(value);
      this.#record = setUrl(this.#record[HREF], part, text) ?? this.#record;
    }

    /** Updates `searchParams` to the new query. */
    #refill() {
      const params = this.#params;
      if (params !== undefined) {
        follow(params, stringSlice(this.search, 1), (/** @type {string} */ query) => this.#set(PART.SEARCH, query));
      }
    }

    get href() {
      return this.#record[HREF];
    }

    set href(value) {
      void this.#record;
      const text = scalarText(value);
      const record = parse(text, undefined);
      if (record === undefined) {
        throw invalid(text);
      }
      this.#record = record;
      this.#refill();
    }

    get origin() {
      return originOf(this.#record[HREF]);
    }

    get protocol() {
      return `${stringSlice(this.#record[HREF], 0, this.#record[AFTER_SCHEME])}:`;
    }

    set protocol(value) {
      this.#set(PART.PROTOCOL, value);
    }

    get username() {
      return between(this.#record, BEFORE_USERNAME, AFTER_USERNAME);
    }

    set username(value) {
      this.#set(PART.USERNAME, value);
    }

    get password() {
      return between(this.#record, BEFORE_PASSWORD, AFTER_PASSWORD);
    }

    set password(value) {
      this.#set(PART.PASSWORD, value);
    }

    get host() {
      return between(this.#record, BEFORE_HOST, AFTER_PORT);
    }

    set host(value) {
      this.#set(PART.HOST, value);
    }

    get hostname() {
      return between(this.#record, BEFORE_HOST, AFTER_HOST);
    }

    set hostname(value) {
      this.#set(PART.HOSTNAME, value);
    }

    get port() {
      return between(this.#record, BEFORE_PORT, AFTER_PORT);
    }

    set port(value) {
      this.#set(PART.PORT, value);
    }

    get pathname() {
      return between(this.#record, BEFORE_PATH, AFTER_PATH);
    }

    set pathname(value) {
      this.#set(PART.PATHNAME, value);
    }

    get search() {
      return marked(between(this.#record, AFTER_PATH, AFTER_QUERY));
    }

    set search(value) {
      this.#set(PART.SEARCH, value);
      this.#refill();
    }

    get searchParams() {
      void this.#record;
      if (this.#params === undefined) {
        this.#params = new URLSearchParams();
        this.#refill();
      }
      return this.#params;
    }

    get hash() {
      return marked(stringSlice(this.#record[HREF], this.#record[AFTER_QUERY]));
    }

    set hash(value) {
      this.#set(PART.HASH, value);
    }

    toString() {
      return this.#record[HREF];
    }

    toJSON() {
      return this.#record[HREF];
    }
  }

  shape(URL, 'URL');
  return URL;
}

module.exports = createUrl;
