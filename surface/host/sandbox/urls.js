'use strict';
// Where the URLs in a call's arguments lead. The arguments have been cloned: they are data, and no object among them has a
// method of its own. Whoever gets them may parse by other rules than ours, so what rules disagree about is refused.

const { types } = require('node:util');

/** Schemes that lead somewhere, but to no host that could be allowed. */
const HOSTLESS = new Set(['about:', 'blob:', 'data:', 'file:', 'filesystem:', 'javascript:', 'mailto:', 'vbscript:', 'view-source:']);
/** Properties whose value is a host by itself. */
const HOST_KEYS = new Set(['host', 'hostname']);
/** Properties whose value is a way around every host. */
const SOCKET_KEYS = new Set(['socketpath', 'unix']);
/** A property whose value may be a scheme alone. */
const SCHEME_KEY = 'protocol';

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const SCHEME_ALONE = /^[a-z][a-z0-9+.-]*:$/i;
/** What makes a text more than a relative URL, as far as parsers are concerned that take no characters out. */
const START = /^(?:([a-z][a-z0-9+.-]*:)|[/\\]{2})/i;
const ABSOLUTE = /^(?:https?|wss?):\/\//i;
/** The authority of a URL behind its scheme, and what ends it. */
const AUTHORITY = /^\/\/([^/?#\\]+)(.?)/s;
/** What some parsers drop, decode or take for an end, and others do not. */
// oxlint-disable-next-line no-control-regex -- those characters are what it is about
const AMBIGUOUS = /[\u0000-\u0020\u007f%]|@.*@/s;
// oxlint-disable-next-line no-control-regex -- as above
const LEADING = /^[\u0000-\u0020]+/;
/** What parsers leave out wherever it stands. */
const DROPPED = /[\t\n\r]/g;
/** What is no part of a host. */
const NOT_IN_HOST = /[/\\?#@]/;

/** Characters of a text that are looked at: the host of a URL which is longer than this is no name. */
const MOST_CHARACTERS = 8_192;
/** Schemes before a URL, as in `view:https://…`. */
const MOST_SCHEMES = 8;
/** Arrays inside arrays. */
const MOST_DEPTH = 100;
/** What is looked through for one call: values, and every 256 characters once more. */
const MOST_WORK = 50_000;

/** Nobody looks through that much. */
class TooMuch extends Error {}

/**
 * @param {string} text
 * @param {string} [base]
 * @returns {URL | undefined}
 */
function parse(text, base) {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** @param {string} hostname */
const withoutDot = (hostname) => (hostname.endsWith('.') ? hostname.slice(0, -1) : hostname);

/**
 * A domain as the manifest has it, in the form of parsed URLs.
 * @param {string} entry
 * @returns {string | undefined} undefined for what is none
 */
function readDomain(entry) {
  if (/[/\\?#@*%\s]/.test(entry) || entry.startsWith('.') || /:\d*$/.test(entry.replace(/^\[.*\]$/, ''))) {
    return undefined;
  }
  const domain = withoutDot(parse(`https://${entry}/`)?.hostname ?? '');
  return domain === '' || domain.endsWith('.') ? undefined : domain;
}

/**
 * @param {readonly string[]} domains from `readDomain`
 * @param {string} hostname of a parsed URL
 */
function isAllowed(domains, hostname) {
  const host = withoutDot(hostname);
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

/**
 * Whether all parsers find the same host.
 * @param {string} raw
 * @param {boolean} cut it goes on
 */
function isPlain(raw, cut) {
  const found = AUTHORITY.exec(raw.replace(SCHEME, ''));
  if (found === null) {
    return false;
  }
  const [, authority = '', end = ''] = found;
  return !AMBIGUOUS.test(authority) && end !== '\\' && !(cut && end === '');
}

/**
 * Where a text leads, if it is a URL.
 * @param {string} text
 * @returns {{ host: string, plain: boolean } | undefined} undefined for what names no host
 */
function destination(text) {
  const whole = text.replace(LEADING, '');
  let raw = whole.slice(0, MOST_CHARACTERS);
  for (let schemes = 0; schemes < MOST_SCHEMES; schemes += 1) {
    const start = START.exec(raw.replace(DROPPED, ''));
    if (start === null) {
      return undefined;
    }
    const url = start[1] === undefined ? parse(raw, 'https://relative.invalid/') : parse(raw);
    if (url === undefined) {
      break;
    }
    if (HOSTLESS.has(url.protocol)) {
      return { host: url.protocol, plain: false };
    }
    if (url.hostname !== '') {
      return { host: url.hostname, plain: isPlain(raw, whole.length > MOST_CHARACTERS) };
    }
    // Text with a colon in it, unless what follows is a URL again.
    raw = url.pathname;
  }
  return { host: raw.slice(0, 100), plain: false };
}

/** The search through one call's arguments. */
class Search {
  /** @type {unknown[]} */ #waiting = [];
  #seen = new Set();
  #work = 0;
  #domains;

  /** @param {readonly string[]} domains */
  constructor(domains) {
    this.#domains = domains;
  }

  /** @param {unknown} value */
  add(value) {
    this.#spend(1);
    this.#waiting.push(value);
  }

  /** @param {number} work */
  #spend(work) {
    this.#work += work;
    if (this.#work > MOST_WORK) {
      throw new TooMuch();
    }
  }

  /** @returns {string | undefined} the first host that is not allowed, or what stands in its place */
  run() {
    while (this.#waiting.length > 0) {
      const value = this.#waiting.pop();
      const found = typeof value === 'string' ? this.#check(value) : this.#open(value);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  /** @param {string} text */
  #check(text) {
    this.#spend(Math.min(text.length, MOST_CHARACTERS) >> 8);
    const found = destination(text);
    return found !== undefined && !(found.plain && isAllowed(this.#domains, found.host)) ? found.host : undefined;
  }

  /**
   * @param {any} value
   * @returns {string | undefined}
   */
  #open(value) {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || this.#seen.has(value)) {
      return undefined;
    }
    this.#seen.add(value);
    if (Array.isArray(value)) {
      this.#spend(value.length);
      value.forEach((each) => this.add(each));
      // What takes a text takes an array for its elements with commas between; a URL cannot go on by another one.
      return value.every((each) => typeof each === 'string' && ABSOLUTE.test(each)) ? undefined : this.#check(this.#joined(value, 0));
    }
    if (types.isBoxedPrimitive(value)) {
      this.add(value.valueOf());
    } else if (types.isRegExp(value)) {
      this.add(String(value));
    } else if (types.isSet(value)) {
      value.forEach((each) => this.add(each));
    } else if (types.isNativeError(value)) {
      [value.message, value.stack, value.cause].forEach((each) => this.add(each));
    }
    const entries = types.isMap(value) ? [...value] : Object.keys(value).map((key) => [key, value[key]]);
    for (const [key, each] of entries) {
      this.add(key);
      const found = this.#property(key, each);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  /**
   * @param {unknown} key
   * @param {unknown} value
   * @returns {string | undefined}
   */
  #property(key, value) {
    const name = typeof key === 'string' ? key.toLowerCase() : '';
    if (name === SCHEME_KEY && typeof value === 'string' && SCHEME_ALONE.test(value) && !HOSTLESS.has(value.toLowerCase())) {
      return undefined;
    }
    this.add(value);
    if (value === undefined || value === null || !(HOST_KEYS.has(name) || SOCKET_KEYS.has(name))) {
      return undefined;
    }
    const text = this.#joined([value], 0);
    return SOCKET_KEYS.has(name) || NOT_IN_HOST.test(text) ? text.slice(0, 100) : this.#check(`https://${text}/`);
  }

  /**
   * The beginning of an array's text. Arrays that stand in several places make texts without end of little.
   * @param {unknown[]} array
   * @param {number} depth
   * @returns {string}
   */
  #joined(array, depth) {
    let text = '';
    for (let index = 0; index < array.length && text.length <= MOST_CHARACTERS; index += 1) {
      const each = array[index];
      this.#spend(1);
      if (depth > MOST_DEPTH) {
        throw new TooMuch();
      }
      text += index === 0 ? '' : ',';
      if (Array.isArray(each)) {
        text += this.#joined(each, depth + 1);
      } else if (typeof each === 'string' || types.isStringObject(each)) {
        text += String(each).slice(0, MOST_CHARACTERS + 1);
      } else if (typeof each === 'bigint' && BigInt.asUintN(64, each) !== each) {
        // No host is that long, and writing it may take minutes.
        throw new TooMuch();
      } else if (each !== undefined && each !== null && typeof each !== 'object') {
        text += String(each);
      } else if (typeof each === 'object' && each !== null) {
        // The text of no other object is of the guest's making up to where a host would end.
        return `${text}/`;
      }
    }
    return text;
  }
}

/**
 * Finds a URL that leads to a host which is not allowed.
 * @param {readonly string[]} domains from `readDomain`
 * @param {readonly unknown[]} args
 * @returns {string | undefined} that host, or what stands in its place
 */
function findForbidden(domains, args) {
  const search = new Search(domains);
  try {
    args.forEach((each) => search.add(each));
    return search.run();
  } catch (error) {
    if (error instanceof TooMuch) {
      return '(too many values)';
    }
    throw error;
  }
}

module.exports = { findForbidden, readDomain };
