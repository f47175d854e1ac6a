'use strict';
// A `fetch` for the contexts of plugins. It follows redirects to permitted hosts only, and connects to an address that is not public only if
// its name may have such an address. It limits what it reads. Arguments and results are data, since they cross the boundary of an isolate.

const { Buffer } = require('node:buffer');
const { URL } = require('node:url');
const { clearTimeout, setTimeout } = require('../../../clock.js');
const { CODE, coded, invalid } = require('../../../../core/error.js');
const { isPublic } = require('./addresses.js');
const { connect, SharedWork } = require('./connections.js');
const { Lookups } = require('./lookups.js');
const { readDomains } = require('../manifest.js');
const { checkOptions, own, readNumber, wrong } = require('../../common/options.js');
const { Body, Memory, tooMany } = require('./response-body.js');
const { isAllowed, readText } = require('../urls/urls.js');
const { BRAND, brandOf, isView } = require('../../../wire/brand.js');
const { noteOf } = require('../../../wire/notes.js');

const OPTIONS = Object.freeze(['allowedDomains', 'privateDomains', 'maxRedirects', 'maxBodySize', 'timeout', 'ca']);
const INIT = Object.freeze(['method', 'headers', 'body', 'redirect', 'responseType']);
const METHODS = Object.freeze(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const REDIRECTS = Object.freeze(['follow', 'manual', 'error']);
const RESPONSE_TYPES = Object.freeze(['text', 'bytes']);
/** Statuses that redirect to another URL. */
const MOVED = Object.freeze([301, 302, 303, 307, 308]);

const DEFAULT = Object.freeze({ redirects: 5, body: 10_485_760, timeout: 30_000 });
const MAX_TIME = 0x7fff_ffff;
const MAX_REDIRECTS = 20;
const MAX_HEADERS = 100;
/** Most characters of all headers of a request. */
const MAX_HEADER_LENGTH = 16_384;
/** Most interim responses before a response. */
const MAX_INTERIM = 100;
/** Most requests at a time, since each takes a descriptor; most requests that wait, and how many bodies of the largest size all of them may have. */
const MAX_CONCURRENT = 64;
const MAX_WAITING = 10_000;
const MAX_SENT_BODIES = 16;
/** Bytes that they may have in any case. */
const MIN_SENT = 64 * 2 ** 20;
/** Most bytes of URLs and headers of requests that wait. A URL has up to nine times the characters that the plugin sent. */
const MAX_WAITING_HEADS = 64 * 2 ** 20;
/** How many bodies of responses of the largest size a function may have in memory. */
const MAX_RECEIVED_BODIES = 8;

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const FIELD = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the connection itself sets, or that could name a server that was not checked. */
const RESERVED = /^(?:accept-encoding|connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/;
/** Headers that are meant for one origin. */
const CREDENTIALS = Object.freeze(['authorization', 'cookie']);
/** Headers that describe a body. */
const CONTENT = /^content-/;

/** The text of a URL is read without a work limit: its length is limited already. */
const UNLIMITED = Object.freeze({ spend() {} });
const MAX_URL = 65_536;

/**
 * @typedef {object} Limits
 * @property {readonly string[]} domains
 * @property {readonly string[]} privateDomains
 * @property {number} redirects
 * @property {number} body bytes
 * @property {number} timeout milliseconds
 * @property {any} ca
 */

/**
 * @typedef {object} Request
 * @property {URL} url
 * @property {string} method
 * @property {Record<string, string>} headers
 * @property {Uint8Array | undefined} body
 */

/** @typedef {{ url: string, status: number, statusText: string, ok: boolean, redirected: boolean, headers: Record<string, string>, body: string | Uint8Array }} PluginResponse */

/** @param {string} message */
const denied = (message) => coded(Error, message, CODE.PERMISSION);

/**
 * @param {any} options
 * @returns {Limits}
 */
function readLimits(options) {
  if (typeof options !== 'object' || options === null) {
    throw wrong('options', 'an object');
  }
  const given = checkOptions(options, OPTIONS);
  if (!Array.isArray(own(given, 'allowedDomains'))) {
    throw wrong('allowedDomains', 'an array of strings');
  }
  const domains = readDomains(own(given, 'allowedDomains'), 'allowedDomains');
  const limits = {
    domains,
    // This name can only mean a private address.
    privateDomains: [...readDomains(own(given, 'privateDomains'), 'privateDomains'), ...domains.filter((domain) => domain === 'localhost')],
    redirects: readNumber(given, 'maxRedirects', DEFAULT.redirects, 0),
    body: readNumber(given, 'maxBodySize', DEFAULT.body, 0),
    timeout: Math.ceil(readNumber(given, 'timeout', DEFAULT.timeout, 1)),
    ca: own(given, 'ca'),
  };
  if (limits.redirects > MAX_REDIRECTS) {
    throw wrong('maxRedirects', `at most ${MAX_REDIRECTS}`);
  }
  if (limits.timeout > MAX_TIME) {
    throw wrong('timeout', `at most ${MAX_TIME}`);
  }
  return Object.freeze(limits);
}

/**
 * @param {unknown} text
 * @param {Limits} limits
 * @param {string} what the name of the text in messages
 * @returns {URL}
 */
function readUrl(text, { domains, privateDomains }, what) {
  if (typeof text !== 'string' || text.length > MAX_URL) {
    throw invalid(`${what} must be a string of at most ${MAX_URL} characters`);
  }
  const found = readText(text, UNLIMITED);
  if (found === undefined) {
    throw invalid(`${what} must be an absolute URL`);
  }
  const { host, normal } = found;
  if (normal === undefined || !isAllowed(domains, host)) {
    throw denied(`${what} leads to ${host}, which is not permitted`);
  }
  const url = URL.canParse(normal) ? new URL(normal) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid(`${what} must be an absolute URL of \`http:\` or \`https:\``);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(`${what} must have no user name and no password`);
  }
  // A name below a permitted domain may look like an address, but an address is not below any domain: it must be permitted itself.
  const address = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isNumeric(address) && !isPublic(address) && !domains.includes(url.hostname) && !isAllowed(privateDomains, url.hostname)) {
    throw denied(`${what} leads to an address that is not public`);
  }
  return url;
}

/** @param {string} host */
const isNumeric = (host) => /^[\d.]+$/.test(host) || host.includes(':');

/**
 * @template {string} T
 * @param {any} init
 * @param {string} name
 * @param {readonly T[]} choices
 * @param {T} fallback
 * @returns {T}
 */
function choice(init, name, choices, fallback) {
  const value = own(init, name) ?? fallback;
  if (!choices.includes(value)) {
    throw wrong(name, `one of ${choices.map((each) => `'${each}'`).join(', ')}`);
  }
  return value;
}

/**
 * Whether a plugin's value is an object with few properties. To list those of a buffer's view, of a boxed text or of a large object takes long, and
 * many times their memory.
 * @param {unknown} value
 */
const isSmallRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isView(value)
  && brandOf(value) === BRAND.ORDINARY && noteOf(value) === undefined;

/**
 * @param {any} headers
 * @returns {Record<string, string>} by names in lower case
 */
function readHeaders(headers) {
  /** @type {Record<string, string>} */
  const read = Object.create(null);
  if (headers === undefined || headers === null) {
    return read;
  }
  if (!isSmallRecord(headers)) {
    throw wrong('headers', 'an object of strings');
  }
  let count = 0;
  let length = 0;
  for (const key in headers) {
    const value = own(headers, key);
    count += 1;
    length += key.length + (typeof value === 'string' ? value.length : 0);
    if (count > MAX_HEADERS || length > MAX_HEADER_LENGTH) {
      throw wrong('headers', `at most ${MAX_HEADERS} of ${MAX_HEADER_LENGTH} characters in all`);
    }
    const name = key.toLowerCase();
    if (!TOKEN.test(key) || typeof value !== 'string' || !FIELD.test(value)) {
      throw wrong('headers', 'an object of strings that headers can be');
    }
    if (RESERVED.test(name)) {
      throw wrong('headers', `without \`${name}\``);
    }
    read[name] = value;
  }
  return read;
}

/**
 * @param {any} body
 * @param {number} limit bytes
 * @returns {Uint8Array | undefined}
 */
function readBody(body, limit) {
  if (body === undefined || body === null) {
    return undefined;
  }
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw wrong('body', 'a string or a Uint8Array');
  }
  if ((typeof body === 'string' ? Buffer.byteLength(body) : body.length) > limit) {
    throw wrong('body', `of at most ${limit} bytes`);
  }
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/**
 * One exchange with one server.
 * @param {Request} request
 * @param {Limits} limits
 * @param {import('./lookups.js').NameLookups} lookups
 * @param {InstanceType<typeof SharedWork>} work
 * @param {InstanceType<typeof Body>} received
 * @param {(stop: (error: Error) => void) => void} begun
 * @returns {Promise<{ status: number, statusText: string, headers: Record<string, string>, body: Buffer }>}
 */
function exchange({ url, method, headers, body }, limits, lookups, work, received, begun) {
  return new Promise((resolve, reject) => {
    const isPrivate = isAllowed(limits.privateDomains, url.hostname);
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
    let isChecked = isNumeric(hostname);
    const names = lookups.checked(isPrivate, () => { isChecked = true; });
    // Loaded only here, since programs that fetch nothing do not need it.
    const { request } = url.protocol === 'https:' ? require('node:https') : require('node:http');
    /** @type {import('node:stream').Duplex | undefined} */
    let connection;
    const sent = request({
      protocol: url.protocol, hostname, port: url.port === '' ? undefined : Number(url.port), path: url.pathname + url.search, method,
      headers: { ...headers, 'accept-encoding': 'identity', ...(body === undefined ? {} : { 'content-length': String(body.length) }) },
      // No shared connection, and no proxy.
      createConnection: () => {
        connection = connect(url, names.lookup, limits.ca, work);
        return connection;
      },
    });
    const disconnect = () => {
      sent.destroy();
      // Node 26 leaves the connection of a request with a complete response alone.
      connection?.destroy();
    };
    /** @param {Error} error */
    const fail = (error) => {
      reject(error);
      names.stop();
      disconnect();
    };
    begun(fail);
    sent.on('error', reject);
    let interim = 0;
    const another = () => {
      interim += 1;
      if (interim > MAX_INTERIM) {
        fail(tooMany('interim responses'));
      }
    };
    sent.on('continue', another);
    sent.on('information', another);
    sent.on('upgrade', (_response, /** @type {import('node:net').Socket} */ socket) => {
      socket.destroy();
      fail(new Error('The server has switched to another protocol'));
    });
    sent.on('response', (/** @type {import('node:http').IncomingMessage} */ response) => {
      if (!isChecked) {
        fail(denied('This host does not resolve names as it is asked to'));
        return;
      }
      const status = response.statusCode ?? 0;
      const result = { status, statusText: response.statusMessage ?? '', headers: plainHeaders(response.headers) };
      if (MOVED.includes(status) && response.headers.location !== undefined) {
        resolve({ ...result, body: Buffer.alloc(0) });
        disconnect();
        return;
      }
      response.on('data', (/** @type {Buffer} */ piece) => {
        const add = () => {
          try {
            return received.add(piece, () => add() && response.resume());
          } catch (error) {
            fail(/** @type {Error} */ (error));
            return false;
          }
        };
        if (!add()) {
          response.pause();
        }
      });
      response.on('error', reject);
      response.on('aborted', () => reject(new Error('The connection was closed before the response ended')));
      response.on('end', () => {
        resolve({ ...result, body: received.bytes });
        // The server might keep the connection open.
        disconnect();
      });
    });
    sent.end(body);
  });
}

/**
 * @param {Record<string, string | string[] | undefined>} headers
 * @returns {Record<string, string>}
 */
function plainHeaders(headers) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]));
}

/**
 * The request to make after a redirect.
 * @param {Request} request
 * @param {number} status
 * @param {string} location
 * @param {Limits} limits
 * @returns {Request}
 */
function redirected({ url, method, headers, body }, status, location, limits) {
  if (location.length > MAX_URL || !URL.canParse(location, url.href)) {
    throw denied('The redirect has no valid URL');
  }
  const next = readUrl(new URL(location, url.href).href, limits, 'The redirect');
  if (url.protocol === 'https:' && next.protocol === 'http:') {
    throw denied('The redirect leads from `https:` to `http:`');
  }
  const isGet = (status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST');
  const kept = Object.entries(headers).filter(([name]) => !(isGet && CONTENT.test(name)) && (next.origin === url.origin || !CREDENTIALS.includes(name)));
  return { url: next, method: isGet ? 'GET' : method, headers: Object.fromEntries(kept), body: isGet ? undefined : body };
}

/**
 * Bytes that the URL and the headers of a request take.
 * @param {Request} request
 */
const headOf = ({ url, headers }) => Object.entries(headers).reduce((bytes, [name, value]) => bytes + name.length + value.length, url.href.length);

/** The requests of one function: up to `MAX_CONCURRENT` at a time, and the others in the order of their arrival. */
class Turns {
  #free = MAX_CONCURRENT;
  /** @type {Map<() => void, number>} each with the bytes of its URL and headers */ #waiting = new Map();
  #heads = 0;
  /** bytes of the bodies of all requests, whether they wait or not */ #bodies = 0;
  #maxBodies;

  /** @param {number} maxBodies bytes of the bodies of all requests */
  constructor(maxBodies) {
    this.#maxBodies = maxBodies;
  }

  /**
   * @param {Request} request
   * @param {(stop: (error: Error) => void) => void} begun
   * @returns {Promise<void> | undefined} resolves when its turn comes; undefined if that is now
   */
  take(request, begun) {
    const body = request.body?.length ?? 0;
    const head = headOf(request);
    const waits = this.#free === 0;
    if (this.#bodies + body > this.#maxBodies || (waits && (this.#waiting.size >= MAX_WAITING || this.#heads + head > MAX_WAITING_HEADS))) {
      throw coded(/** @type {ErrorConstructor} */ (RangeError), 'Too many requests are waiting', CODE.LIMIT);
    }
    this.#bodies += body;
    if (!waits) {
      this.#free -= 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#waiting.set(resolve, head);
      this.#heads += head;
      begun((error) => {
        this.#forget(resolve);
        this.#bodies -= body;
        reject(error);
      });
    });
  }

  /** @param {number} body bytes of the body of a request that had its turn */
  leave(body) {
    this.#bodies -= body;
    const [next] = this.#waiting.keys();
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#forget(next);
      next();
    }
  }

  /** @param {() => void} one */
  #forget(one) {
    this.#heads -= this.#waiting.get(one) ?? 0;
    this.#waiting.delete(one);
  }
}

/**
 * Creates a function with which plugins can fetch network resources.
 * @param {any} options
 */
function createPluginFetch(options) {
  const limits = readLimits(options);
  const turns = new Turns(Math.max(MAX_SENT_BODIES * limits.body, MIN_SENT));
  const lookups = new Lookups();
  const work = new SharedWork();
  const memory = new Memory(MAX_RECEIVED_BODIES * limits.body);
  /**
   * @param {unknown} url
   * @param {any} [init]
   * @returns {Promise<PluginResponse>}
   */
  return async function fetch(url, init) {
    if (init !== undefined && init !== null && !isSmallRecord(init)) {
      throw wrong('init', `an object with some of ${INIT.join(', ')}`);
    }
    const given = checkOptions(init, INIT);
    const method = choice(given, 'method', METHODS, 'GET');
    const redirect = choice(given, 'redirect', REDIRECTS, 'follow');
    const responseType = choice(given, 'responseType', RESPONSE_TYPES, 'text');
    const body = readBody(own(given, 'body'), limits.body);
    if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
      throw invalid(`A request with the method \`${method}\` has no \`body\``);
    }
    /** @type {Request} */
    let request = { url: readUrl(url, limits, 'The URL'), method, headers: readHeaders(own(given, 'headers')), body };
    /** @type {(error: Error) => void} */
    let stop = () => {};
    let isLate = false;
    const late = () => coded(Error, `The request took longer than ${limits.timeout} ms`, CODE.DEADLINE);
    const timer = setTimeout(() => {
      isLate = true;
      stop(late());
    }, limits.timeout);
    let hasTurn = false;
    const received = new Body(limits.body, memory);
    try {
      await turns.take(request, (each) => { stop = each; });
      hasTurn = true;
      for (let redirects = 0; ; redirects += 1) {
        if (isLate) {
          throw late();
        }
        const { headers, status, ...response } = await exchange(request, limits, lookups, work, received, (each) => { stop = each; });
        if (!MOVED.includes(status) || headers.location === undefined || redirect === 'manual') {
          return {
            url: request.url.href, status, statusText: response.statusText, ok: status >= 200 && status < 300, redirected: redirects > 0, headers,
            body: responseType === 'text' ? response.body.toString() : new Uint8Array(response.body),
          };
        }
        if (redirect === 'error' || redirects >= limits.redirects) {
          throw denied(redirect === 'error' ? 'The response is a redirect' : `There are more than ${limits.redirects} redirects`);
        }
        request = redirected(request, status, headers.location, limits);
      }
    } finally {
      clearTimeout(timer);
      received.release();
      if (hasTurn) {
        turns.leave(body?.length ?? 0);
      }
    }
  };
}

module.exports = { createPluginFetch };
