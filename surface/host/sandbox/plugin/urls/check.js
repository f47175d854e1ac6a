'use strict';
// Checks where the arguments of a call lead. They are clones: URLs and hosts in them are replaced with the normalized ones that were
// checked.

const { types } = require('node:util');
const { CODE } = require('../../../../core/error.js');
const { EVENT, ROLE, Visitor } = require('../../../values/visit.js');
const { Forbidden } = require('./forbidden.js');
const { ARGUMENTS, bitsOf } = require('./outer.js');
const {
  AUTHORITIES, HEADERS, HOSTS, isPort, isProtocol, isWord, nameOf, PATHS, PLACE, PLACES, PROTOCOLS, PROXY, RELATED, REQUESTS, schemeAlone, SERVER,
  SOCKETS, TARGETS,
} = require('./members.js');
const { isAllowed, LOCAL, readHost, readText, SOCKET } = require('./urls.js');

const { isArray } = Array;
const { hasOwn } = Object;

/** Steps of work for each name of a container whose names are compared. */
const STEPS_PER_NAME = 1 / 8;

/** The limits of the work for one call's arguments. Steps are values, and characters of URLs. */
const URL_LIMITS = Object.freeze({ steps: 100_000 });
/** Characters per step for a text in a list, which may become part of a longer text. */
const LISTED_PER_STEP = 256;
const MAX_SHOWN = 100;
/** Most bits of an integer in a list. */
const MAX_LISTED_BITS = 65_536;
const TOO_MUCH = '(too many values)';

const setInMap = Map.prototype.set;

/**
 * Whether a member's value has a meaning.
 * @param {unknown} value
 */
const isSet = (value) => value !== undefined && value !== null && value !== '';

/** @typedef {import('./outer.js').Outer} Outer */

/**
 * A list that is checked again.
 * @typedef {{ list: object, outer: Outer, next: Elsewhere | undefined }} Elsewhere
 */

/** The check of one call's arguments, which replaces URLs and hosts in them with the normalized ones. */
class UrlCheck {
  /** the first host that is not allowed, or a text in its place @type {string | undefined} */ refused = undefined;
  /** The innermost container that the visitor is in. @type {Outer | undefined} */ #outer = undefined;
  /** Whether a host that is allowed has been found. */
  #isPlaced = false;
  /** Whether a list occurs in several lists. */
  #isShared = false;
  /** The positions for which the parts of each list have been checked, and regular expressions that have been. @type {Map<object, number>} */
  #checked = new Map();
  /** Lists that also occur elsewhere, in a position where more is checked. @type {Elsewhere | undefined} */
  #elsewhere = undefined;
  /** The names that lists with one element become as keys. @type {Map<object, string>} */
  #listNames = new Map();
  /** The names of `RELATED` that have a value in each container: others could collide in a table. @type {Map<object, Set<string>>} */
  #names = new Map();
  /** the properties of the visitor's root */ #root = ARGUMENTS;
  /** Whether a host without a value was left. */
  #isUnset = false;
  /** Visits all parts as often as they occur. @type {InstanceType<typeof Visitor> | undefined} */ #unfolding = undefined;
  #work;
  #visitor;
  #args;
  #domains;

  /**
   * @param {readonly string[]} domains from `readDomain`
   * @param {unknown[]} args clones
   * @param {import('../../../work.js').WorkBudget} work with `URL_LIMITS`
   */
  constructor(domains, args, work) {
    this.#domains = domains;
    this.#args = args;
    this.#work = work;
    this.#visitor = new Visitor(args, work, true);
  }

  /**
   * Continues the check.
   * @param {boolean} isPausing whether to stop when the slice of work is over
   * @returns {boolean} whether it is done
   */
  run(isPausing) {
    try {
      const isDone = this.#visit(isPausing) && (!this.#isShared || this.#unfold(isPausing));
      if (isDone && this.#isUnset && this.#isPlaced) {
        throw new Forbidden('(host)');
      }
      return isDone;
    } catch (error) {
      if (error instanceof Forbidden) {
        this.refused = error.host;
      } else if (/** @type {any} */ (error).code === CODE.LIMIT) {
        this.refused = TOO_MUCH;
      } else {
        throw error;
      }
      return true;
    }
  }

  /** @param {boolean} isPausing */
  #visit(isPausing) {
    for (;;) {
      if (isPausing && this.#work.isSliceOver) {
        return false;
      }
      const event = this.#visitor.next();
      if (event !== EVENT.END) {
        this.#part(event);
        continue;
      }
      const next = this.#elsewhere;
      if (next === undefined) {
        return true;
      }
      this.#elsewhere = next.next;
      this.#outer = undefined;
      this.#visitor = new Visitor(next.list, this.#work, true);
      this.#root = next.outer;
    }
  }

  /** @param {number} event */
  #part(event) {
    if (event === EVENT.LEAVE) {
      this.#outer = this.#outer?.outer;
      return;
    }
    const { role, key, value } = this.#visitor;
    if (role === ROLE.PROPERTY) {
      this.#fixed(key, false);
    }
    const name = this.#nameHere();
    if (event === EVENT.LEAF) {
      this.#leaf(name, value);
    } else {
      this.#container(name, value, event === EVENT.ENTER);
    }
  }

  /**
   * The name that a key becomes if a program converts a map or entries to an object. The text of a list with one element is the element's.
   * @param {any} key
   */
  #nameOfKey(key) {
    if (!isArray(key)) {
      return nameOf(key);
    }
    const lists = [];
    let part = key;
    while (isArray(part) && part.length === 1 && !this.#listNames.has(part)) {
      this.#work.spend(STEPS_PER_NAME);
      lists.push(part);
      // A list that contains itself has no text.
      this.#listNames.set(part, '');
      [part] = part;
    }
    const name = isArray(part) ? this.#listNames.get(part) ?? '' : nameOf(part);
    for (const list of lists) {
      this.#listNames.set(list, name);
    }
    return name;
  }

  /** The name of the current value, as a member of an object or a map, or after its name in a list. */
  #nameHere() {
    const { role, key, parent } = this.#visitor;
    if (role === ROLE.PROPERTY || role === ROLE.MAP_VALUE) {
      return this.#nameOfKey(key);
    }
    const outer = this.#outer;
    const isNamed = role === ROLE.ELEMENT && outer !== undefined && ((outer.isEntry && key === 1) || (outer.isHeaders && key % 2 === 1));
    return isNamed ? this.#nameOfKey(parent[key - 1]) : '';
  }

  /**
   * The container in which the current value has its name. Entries are checked as a whole.
   * @returns {any}
   */
  #holder() {
    const { role, parent } = this.#visitor;
    const isNamed = role === ROLE.PROPERTY || role === ROLE.MAP_VALUE || (role === ROLE.ELEMENT && this.#outer?.isHeaders === true);
    return isNamed ? parent : undefined;
  }

  /**
   * An array's text is that of its elements. If these occur several times, the text may be too long to write, and visiting all of them exceeds
   * the limit of steps.
   * @param {boolean} isPausing
   */
  #unfold(isPausing) {
    this.#unfolding ??= new Visitor(this.#args, this.#work);
    while (this.#unfolding.next() !== EVENT.END) {
      if (isPausing && this.#work.isSliceOver) {
        return false;
      }
    }
    return true;
  }

  /**
   * @param {string} name
   * @param {any} value
   * @param {boolean} isNew
   */
  #container(name, value, isNew) {
    if (HOSTS.has(name) || SOCKETS.has(name)) {
      throw new Forbidden(`(${name})`);
    }
    this.#member(name, value, this.#holder());
    const { parent, role } = this.#visitor;
    const outer = this.#outer;
    const isList = isArray(value);
    /** @type {Outer} */
    const here = role === ROLE.ROOT ? this.#root : {
      isPlace: isList && (PLACE.test(name) || SERVER.test(name) || (role === ROLE.ELEMENT && outer?.isPlace === true)),
      isEntry: isList && ((role === ROLE.ELEMENT && outer?.isList === true) || role === ROLE.MEMBER),
      isHeaders: isList && HEADERS.has(name),
      isProxy: PROXY.test(name),
      isList,
      isInHeaders: HEADERS.has(name) || outer?.isInHeaders === true,
      within: parent,
      outer,
    };
    if (here.isEntry) {
      // In each place, since the entries beside it differ.
      this.#member(this.#nameOfKey(value[0]), value[1], here.within);
    }
    const checked = this.#checked.get(value);
    const bits = bitsOf(here);
    const isChecked = checked !== undefined && (checked & bits) === bits;
    if (!isNew) {
      this.#isShared ||= isList && outer?.isList === true;
      if (!isChecked) {
        this.#elsewhere = { list: value, outer: here, next: this.#elsewhere };
      }
      return;
    }
    if (isChecked && role !== ROLE.ROOT) {
      this.#visitor.skip();
      return;
    }
    this.#checked.set(value, bits | (checked ?? 0));
    // Its text has that many commas.
    this.#work.spend(isList ? value.length / LISTED_PER_STEP : 0);
    this.#outer = here;
  }

  /**
   * @param {string} name
   * @param {any} value
   */
  #leaf(name, value) {
    const outer = /** @type {Outer} */ (this.#outer);
    if (outer.isList) {
      this.#listed(value);
    }
    const { role } = this.#visitor;
    this.#member(name, value, this.#holder());
    if (HOSTS.has(name) && role !== ROLE.MAP_KEY) {
      this.#host(name, value);
      return;
    }
    if (SOCKETS.has(name) && value !== undefined && value !== null && value !== false) {
      throw new Forbidden(String(typeof value === 'string' ? value.slice(0, MAX_SHOWN) : `(${name})`));
    }
    if (typeof value === 'string') {
      this.#text(name, value, outer);
    } else if (types.isRegExp(value) && !this.#checked.has(value)) {
      this.#checked.set(value, 0);
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
      // Computing its digits may take minutes.
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
    const scheme = name === 'protocol' ? schemeAlone(value) : undefined;
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
   * Checks a text that cannot be replaced: it must already be normalized.
   * @param {string} text
   * @param {boolean} isNever whether it is never passed on as a URL
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
    if (!isSet(value)) {
      if (TARGETS.includes(name) && this.#outer?.isInHeaders !== true) this.#omit();
      return;
    }
    if (typeof value !== 'string') {
      throw new Forbidden(`(${name})`);
    }
    this.#replace(value, this.#allowed(readHost(value, this.#work)));
  }

  /**
   * Clients that merge options with a URL connect to this machine if the options have a host without a value: `http.request` for `hostname`, and
   * `http2.connect` for `host`.
   */
  #omit() {
    const { role, key, parent } = this.#visitor;
    this.#isUnset ||= role !== ROLE.PROPERTY || !Reflect.deleteProperty(parent, key);
  }

  /**
   * @param {import('./urls.js').Destination} destination
   * @returns {string} the normalized text
   */
  #allowed({ host, normal }) {
    if (normal === undefined || !isAllowed(this.#domains, host)) {
      throw new Forbidden(host);
    }
    this.#isPlaced ||= this.#outer?.isInHeaders !== true;
    return normal;
  }

  /**
   * Replaces the text that arrived with the one that was checked.
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
   * Checks members that name a server together with others: programs join them into one text.
   * @param {string} name
   * @param {unknown} value
   * @param {any} holder the container of the others
   */
  #member(name, value, holder) {
    if (value === '' && HOSTS.has(name) && name !== 'servername' && this.#has(REQUESTS, holder)) {
      // After an empty host, a path becomes the host.
      throw new Forbidden(`(${name})`);
    }
    if (!isSet(value)) {
      return;
    }
    if (name === 'port') {
      this.#port(value, holder);
    } else if (PATHS.has(name) && !(typeof value === 'string' && /^[/?#]/.test(value)) && this.#has(AUTHORITIES, holder)) {
      throw new Forbidden(`(${name} without a slash)`);
    } else if (PROTOCOLS.has(name) && !(typeof value === 'string' && isProtocol(value)) && this.#has(AUTHORITIES, holder)) {
      throw new Forbidden('(protocol)');
    }
  }

  /**
   * @param {unknown} value
   * @param {any} holder
   */
  #port(value, holder) {
    const isNumber = typeof value === 'number' ? Number.isInteger(value) && value >= 0 && value <= 65_535 : typeof value === 'string' && isPort(value);
    if (!isNumber && (this.#has(PLACES, holder) || this.#has(REQUESTS, holder) || (typeof value === 'string' && !isWord(value)))) {
      throw new Forbidden('(port)');
    }
    // If no host is named, programs connect to this machine.
    const isLocal = this.#outer?.isProxy === true ? !this.#has(TARGETS, holder) : !this.#isPlaced && this.#has(REQUESTS, holder) && !this.#has(PLACES, holder);
    if (isNumber && isLocal && !isAllowed(this.#domains, 'localhost')) {
      throw new Forbidden('localhost');
    }
  }

  /**
   * Whether a container has a value under one of these names, or a host in its headers.
   * @param {readonly string[]} names
   * @param {any} holder
   */
  #has(names, holder) {
    if (holder === undefined) {
      return false;
    }
    let found = this.#names.get(holder);
    if (found === undefined) {
      found = new Set();
      this.#names.set(holder, found);
      let left = URL_LIMITS.steps;
      this.#addNames(found, holder, false, (steps = 1) => {
        // It is one piece of work. With more parts, the whole check would take too many steps.
        left -= steps;
        if (left < 0) {
          throw new Forbidden(TOO_MUCH);
        }
        this.#work.spend(steps * STEPS_PER_NAME);
      });
    }
    return names.some((name) => /** @type {Set<string>} */ (found).has(name));
  }

  /**
   * @param {Set<string>} names
   * @param {any} holder an object, a map, a list or set of entries, or a list of names and values in turn
   * @param {boolean} isHeaders whether it is the headers of another container: only the host in it counts
   * @param {(steps?: number) => void} spend called for each part
   */
  #addNames(names, holder, isHeaders, spend) {
    /**
     * @param {unknown} key
     * @param {unknown} value
     */
    const add = (key, value) => {
      const name = isSet(value) ? this.#nameOfKey(key) : '';
      if (isHeaders) {
        names.add(name === 'host' ? ':authority' : '');
        return;
      }
      if (RELATED.has(name)) {
        names.add(name);
      }
      if (HEADERS.has(name) && typeof value === 'object') {
        this.#addNames(names, value, true, spend);
      }
    };
    const visitor = new Visitor(holder, { spend });
    visitor.next();
    for (let event = visitor.next(); event !== EVENT.LEAVE && event !== EVENT.END; event = visitor.next()) {
      const { role, key, value } = visitor;
      if (event === EVENT.ENTER) {
        visitor.skip();
      }
      if (role === ROLE.PROPERTY || role === ROLE.MAP_VALUE) {
        add(key, value);
      } else if (role !== ROLE.MAP_KEY && isArray(value)) {
        add(value[0], value[1]);
      } else if (role === ROLE.ELEMENT && key % 2 === 1) {
        add(holder[key - 1], value);
      }
    }
  }
}

/** @typedef {UrlCheck} ArgumentsCheck */

module.exports = { URL_LIMITS, UrlCheck };
