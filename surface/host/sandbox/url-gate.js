'use strict';
// Where the arguments of a call lead. They are clones: URLs and hosts in them are replaced by the normalized ones that were checked.

const { types } = require('node:util');
const { CODE } = require('../../error.js');
const { EVENT, ROLE, Visitor } = require('../visit.js');
const { Work } = require('../work.js');
const { isAllowed, LOCAL, readHost, readText, SOCKET } = require('./urls.js');

const { isArray } = Array;
const { hasOwn } = Object;

/** Members whose value is a host by itself. */
const HOSTS = new Set(['host', 'hostname', 'hostaddr', 'servername', ':authority']);
/** Members that name a way around every host. */
const SOCKETS = new Set(['socketpath', 'unix', 'unixsocket']);
/** Members that name a server by a URL, or by a name alone. */
const SERVER = /^(?:origin|baseur[il]|prefixurl)$|proxy$/;
/** Members whose value is a URL, as are those whose names end in `url` or `uri`. */
const PLACE = /(?:^href|^endpoint|ur[il])$/;
/** Members of an object by which it names its server, as programs spell them. */
const PLACES = Object.freeze(['host', 'hostname', 'origin', 'href', 'url', 'uri', 'baseURL', 'baseUrl', 'prefixUrl', 'socketPath']);
/** What a path is appended to. */
const AUTHORITIES = Object.freeze(['host', 'hostname', 'origin']);
/** Members beside a port by which an object is the options of a request. */
const REQUESTS = Object.freeze(['path', 'pathname', 'protocol', 'method', 'headers']);
const HEADERS = new Set(['headers', 'rawheaders']);
/** Characters of the longest name above, and some. */
const MAX_NAME = 40;
const SCHEME_ALONE = /^([a-z][a-z0-9+.-]*):(?:\/\/)?$/i;
const PORT = /^\d{1,5}$/;

/** Steps of work for one call's arguments: values, and characters of URLs. */
const MAX_STEPS = 100_000;
/** Characters of a text in a list, which may become part of a longer one, for each step. */
const LISTED_PER_STEP = 256;
const MAX_SHOWN = 100;
/** Bits of an integer in a list. */
const MAX_LISTED_BITS = 65_536;
const TOO_MUCH = '(too many values)';

const setInMap = Map.prototype.set;

/**
 * A member's name without regard to spelling.
 * @param {unknown} key
 */
const nameOf = (key) => (typeof key === 'string' && key.length <= MAX_NAME ? key.toLowerCase().replace(/[-_]/g, '') : '');

/** What stands in the place of a host that is not allowed. */
class Forbidden extends Error {
  /** @param {string} host */
  constructor(host) {
    super();
    this.host = host;
  }
}

/**
 * A container that the visitor is in.
 * @typedef {object} Outer
 * @property {boolean} isPlace its elements are URLs
 * @property {boolean} isEntry it is a key and its value
 * @property {boolean} isHeaders it is a list of names and values in turn
 * @property {boolean} isList
 */

/** @type {Outer} */
const ARGUMENTS = Object.freeze({ isPlace: true, isEntry: false, isHeaders: false, isList: false });

/**
 * What the position of a container makes of its parts, as bits.
 * @param {Outer} outer
 */
const bitsOf = ({ isPlace, isEntry, isHeaders }) => (isPlace ? 1 : 0) | (isEntry ? 2 : 0) | (isHeaders ? 4 : 0);

/** The check of one call's arguments. */
class Check {
  /** @type {Outer[]} */ #outer = [];
  /** A host that is allowed has been found. */
  #isPlaced = false;
  /** A list stands in several lists. */
  #isShared = false;
  /** For which positions the parts of each list have been checked. @type {Map<object, number>} */
  #checked = new Map();
  /** Lists that stand elsewhere, too, in a position where more is checked. @type {{ list: object, outer: Outer }[]} */
  #elsewhere = [];
  #work = new Work({ steps: MAX_STEPS });
  #visitor;
  #args;
  #domains;

  /**
   * @param {readonly string[]} domains from `readDomain`
   * @param {unknown[]} args
   */
  constructor(domains, args) {
    this.#domains = domains;
    this.#args = args;
    this.#visitor = new Visitor(args, this.#work, { isOnce: true });
  }

  run() {
    this.#visit(ARGUMENTS);
    for (let next = this.#elsewhere.pop(); next !== undefined; next = this.#elsewhere.pop()) {
      this.#visitor = new Visitor(next.list, this.#work, { isOnce: true });
      this.#visit(next.outer);
    }
    if (this.#isShared) {
      this.#unfold();
    }
  }

  /** @param {Outer} root what the visitor's root is */
  #visit(root) {
    for (let event = this.#visitor.next(); event !== EVENT.END; event = this.#visitor.next()) {
      if (event === EVENT.LEAVE) {
        this.#outer.pop();
        continue;
      }
      const { role, key, value } = this.#visitor;
      if (role === ROLE.PROPERTY) {
        this.#fixed(key, false);
      }
      const name = this.#nameHere();
      if (event === EVENT.LEAF) {
        this.#leaf(name, value);
      } else {
        this.#container(name, value, event === EVENT.ENTER, root);
      }
    }
  }

  /** The name that the present value has, as a member of an object or a map, or behind its name in a list. */
  #nameHere() {
    const { role, key, parent } = this.#visitor;
    if (role === ROLE.PROPERTY || role === ROLE.MAP_VALUE) {
      return nameOf(types.isStringObject(key) ? String(key) : key);
    }
    const outer = this.#outer.at(-1);
    const isNamed = role === ROLE.ELEMENT && outer !== undefined && ((outer.isEntry && key === 1) || (outer.isHeaders && key % 2 === 1));
    const before = isNamed ? parent[key - 1] : undefined;
    return nameOf(types.isStringObject(before) ? String(before) : before);
  }

  /**
   * An array's text is that of its elements, which may stand in several places: nobody could write it down.
   */
  #unfold() {
    const visitor = new Visitor(this.#args, this.#work);
    while (visitor.next() !== EVENT.END);
  }

  /**
   * @param {string} name
   * @param {any} value
   * @param {boolean} isNew
   * @param {Outer} root
   */
  #container(name, value, isNew, root) {
    if (HOSTS.has(name) || SOCKETS.has(name)) {
      throw new Forbidden(`(${name})`);
    }
    this.#member(name, value);
    const { role } = this.#visitor;
    const outer = this.#outer.at(-1);
    const isList = isArray(value);
    const here = role === ROLE.ROOT ? root : {
      isPlace: isList && (PLACE.test(name) || SERVER.test(name) || (role === ROLE.ELEMENT && outer?.isPlace === true)),
      isEntry: isList && ((role === ROLE.ELEMENT && outer?.isList === true) || role === ROLE.MEMBER),
      isHeaders: isList && HEADERS.has(name),
      isList,
    };
    const checked = this.#checked.get(value);
    const bits = bitsOf(here);
    const isChecked = checked !== undefined && (checked & bits) === bits;
    if (!isNew) {
      this.#isShared ||= isList && outer?.isList === true;
      if (!isChecked) {
        this.#elsewhere.push({ list: value, outer: here });
      }
      return;
    }
    if (isChecked && role !== ROLE.ROOT) {
      this.#visitor.skip();
      return;
    }
    this.#checked.set(value, bits | (checked ?? 0));
    // Its text has as many commas.
    this.#work.spend(isList ? value.length / LISTED_PER_STEP : 0);
    this.#outer.push(here);
  }

  /**
   * @param {string} name
   * @param {any} value
   */
  #leaf(name, value) {
    const outer = /** @type {Outer} */ (this.#outer.at(-1));
    if (outer.isList) {
      this.#listed(value);
    }
    const { role } = this.#visitor;
    if (HOSTS.has(name) && role !== ROLE.MAP_KEY) {
      this.#host(name, value);
      return;
    }
    if (SOCKETS.has(name) && value !== undefined && value !== null && value !== false) {
      throw new Forbidden(String(typeof value === 'string' ? value.slice(0, MAX_SHOWN) : `(${name})`));
    }
    this.#member(name, value);
    if (typeof value === 'string') {
      this.#text(name, value, outer);
    } else if (types.isRegExp(value)) {
      this.#fixed(String(value), true);
    }
  }

  /**
   * An element may become part of its list's text.
   * @param {unknown} value
   */
  #listed(value) {
    if (typeof value === 'string') {
      this.#work.spend(value.length / LISTED_PER_STEP);
    } else if (typeof value === 'bigint' && BigInt.asIntN(MAX_LISTED_BITS, value) !== value) {
      // Its digits may take minutes.
      throw new Forbidden(TOO_MUCH);
    }
  }

  /**
   * @param {string} name
   * @param {string} value
   * @param {Outer} outer
   */
  #text(name, value, outer) {
    const { role } = this.#visitor;
    if (role === ROLE.MAP_KEY || role === ROLE.MEMBER) {
      this.#fixed(value, false);
      return;
    }
    const scheme = name === 'protocol' ? SCHEME_ALONE.exec(value)?.[1].toLowerCase() : undefined;
    if (scheme !== undefined && !LOCAL.has(scheme) && !SOCKET.test(scheme)) {
      return;
    }
    const isPlace = PLACE.test(name) || (role === ROLE.ELEMENT && outer.isPlace);
    const found = readText(value, this.#work, { isPlace, isServer: SERVER.test(name) });
    if (found !== undefined) {
      this.#replace(value, this.#allowed(found));
    }
  }

  /**
   * A text that cannot be replaced must be normalized already.
   * @param {string} text
   * @param {boolean} isNever it is in no case passed on as a URL
   */
  #fixed(text, isNever) {
    const found = readText(text, this.#work);
    if (found !== undefined) {
      const normal = this.#allowed(found);
      if (isNever || (normal !== text && normal !== `${text}/`)) {
        throw new Forbidden(found.host);
      }
    }
  }

  /**
   * @param {string} name
   * @param {unknown} value
   */
  #host(name, value) {
    if (value === undefined || value === null || (value === '' && (name === 'servername' || !this.#has(REQUESTS)))) {
      return;
    }
    if (typeof value !== 'string' || value === '') {
      // Behind an empty one, a path becomes the host.
      throw new Forbidden(`(${name})`);
    }
    this.#replace(value, this.#allowed(readHost(value, this.#work)));
  }

  /**
   * @param {import('./urls.js').Destination} destination
   * @returns {string} the normalized text
   */
  #allowed({ host, normal }) {
    if (normal === undefined || !isAllowed(this.#domains, host)) {
      throw new Forbidden(host);
    }
    this.#isPlaced = true;
    return normal;
  }

  /**
   * Puts the text that was checked in the place of the one that came.
   * @param {string} value
   * @param {string} normal
   */
  #replace(value, normal) {
    const { role, key, parent } = this.#visitor;
    if (role === ROLE.MAP_VALUE) {
      Reflect.apply(setInMap, parent, [key, normal]);
    } else if (!hasOwn(parent, key) || !Reflect.defineProperty(parent, key, /** @type {any} */ ({ __proto__: null, value: normal }))) {
      throw new Forbidden(value.slice(0, MAX_SHOWN));
    }
  }

  /**
   * Members that together with others name a server: programs put them into one text.
   * @param {string} name
   * @param {unknown} value
   */
  #member(name, value) {
    if (value === undefined || value === null || value === '') {
      return;
    }
    if (name === 'port') {
      this.#port(value);
    } else if ((name === 'path' || name === 'pathname') && this.#has(AUTHORITIES) && !(typeof value === 'string' && /^[/?#]/.test(value))) {
      throw new Forbidden(`(${name} without a slash)`);
    } else if (name === 'protocol' && this.#has(AUTHORITIES) && !(typeof value === 'string' && (/^[a-z][a-z0-9+.-]*$/i.test(value) || SCHEME_ALONE.test(value)))) {
      throw new Forbidden('(protocol)');
    }
  }

  /** @param {unknown} value */
  #port(value) {
    const isNumber = typeof value === 'number' ? Number.isInteger(value) && value >= 0 && value <= 65_535 : typeof value === 'string' && PORT.test(value);
    if (!isNumber && (this.#has(PLACES) || this.#has(REQUESTS) || (typeof value === 'string' && !/^[\w./-]*$/.test(value)))) {
      throw new Forbidden('(port)');
    }
    // Where no host is named, programs take this machine.
    if (isNumber && !this.#isPlaced && this.#has(REQUESTS) && !this.#has(PLACES) && !isAllowed(this.#domains, 'localhost')) {
      throw new Forbidden('localhost');
    }
  }

  /**
   * Whether the present value has one of these beside it.
   * @param {readonly string[]} names
   */
  #has(names) {
    const { role, parent } = this.#visitor;
    return role === ROLE.MAP_VALUE
      ? names.some((name) => (parent.get(name) ?? '') !== '')
      : role === ROLE.PROPERTY && names.some((name) => hasOwn(parent, name) && (parent[name] ?? '') !== '');
  }
}

/**
 * Looks through a call's arguments, and replaces URLs and hosts in them by the normalized ones.
 * @param {readonly string[]} domains from `readDomain`
 * @param {unknown[]} args clones
 * @returns {string | undefined} the first host that is not allowed, or what stands in its place
 */
function normalizeUrls(domains, args) {
  try {
    new Check(domains, args).run();
    return undefined;
  } catch (error) {
    if (error instanceof Forbidden) {
      return error.host;
    }
    if (/** @type {any} */ (error).code === CODE.LIMIT) {
      return TOO_MUCH;
    }
    throw error;
  }
}

module.exports = { normalizeUrls };
