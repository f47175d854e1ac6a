'use strict';
// ES modules that a host gives a sandbox: a map of names to sources, read once. The native side finds, links and evaluates them.

const { URL } = require('node:url');
const { leftOf, now } = require('../../clock.js');
const { MAIN_FILE: FILE, MODULE_ROOT } = require('../../protocol.js');
const { wrong } = require('./options.js');

/** The name of the code itself in stacks (a plugin's has a number), and names that look like one of its lines there. */
const OWN = new RegExp(`^${FILE.replace('.', '\\.')}(?:[#:]|$)`);
const OWN_PLACE = new URL(FILE, MODULE_ROOT).href;
/** Most characters of a name. */
const MAX_NAME = 1_000;
/** Names of modules without types. */
const PLAIN = /\.(?:m?js|json)$/;

/** @typedef {import('./execution.js').Outcome} Outcome */

/**
 * Modules in the form that the native side expects.
 * @typedef {object} Packed
 * @property {string} index name and length of each module, each followed by a NUL
 * @property {string} text all sources, one after the other
 */

/**
 * @param {ReadonlyMap<string, string>} texts
 * @returns {Packed}
 */
function packed(texts) {
  let index = '';
  for (const [name, text] of texts) {
    index += `${name}\0${text.length}\0`;
  }
  return Object.freeze({ index, text: [...texts.values()].join('') });
}

/** What the code of a sandbox can import. */
class Modules {
  /** sources by name, as their author wrote them @type {ReadonlyMap<string, string>} */ texts;
  /** those that may have types @type {[name: string, text: string][]} */ #typed;
  /** undefined until types are removed @type {Packed | undefined} */ packed;

  /**
   * @param {ReadonlyMap<string, string>} texts
   * @param {boolean} typescript
   */
  constructor(texts, typescript) {
    this.texts = texts;
    this.#typed = typescript ? [...texts].filter(([name]) => !PLAIN.test(name)) : [];
    this.packed = this.#typed.length === 0 ? packed(texts) : undefined;
  }

  /**
   * The modules without types, or why they are not available. Types are removed once in the life of a sandbox.
   * @param {import('./typescript.js').Strip} strip
   * @param {number} timeout milliseconds
   * @param {any} signal
   * @returns {Promise<{ packed: Packed | undefined, failure: Outcome | undefined, left: number }>}
   */
  async ready(strip, timeout, signal) {
    if (this.packed !== undefined) {
      return { packed: this.packed, failure: undefined, left: timeout };
    }
    const start = now();
    const stripped = await strip(this.#typed.map(([name, text]) => ({ text, line: 0, column: 0, name })), timeout, signal);
    const left = leftOf(timeout, start);
    const failure = stripped.find((each) => each.failure !== undefined)?.failure;
    if (failure !== undefined) {
      return { packed: undefined, failure, left };
    }
    const texts = new Map(this.texts);
    this.#typed.forEach(([name, text], index) => texts.set(name, stripped[index].body?.text ?? text));
    this.packed = packed(texts);
    return { packed: this.packed, failure: undefined, left };
  }
}

/** @typedef {Modules} ModuleMap */

/**
 * @param {any} map the option
 * @param {boolean} typescript whether the sources may have types
 * @returns {Modules}
 */
function modulesOf(map, typescript) {
  if (typeof map !== 'object' || Array.isArray(map) || map instanceof Map) {
    throw wrong('modules', 'an object of sources by name');
  }
  /** @type {Map<string, string>} */
  const texts = new Map();
  /** @type {Map<string, string>} */
  const places = new Map();
  for (const name of Object.keys(map)) {
    const text = map[name];
    if (typeof text !== 'string') {
      throw wrong(`modules[${JSON.stringify(name)}]`, 'a string');
    }
    const place = placeOf(name);
    if (place === undefined) {
      throw wrong(`modules[${JSON.stringify(name.slice(0, MAX_NAME))}]`, `the source of a module whose name is a URL or a path of 1 to ${MAX_NAME} characters`);
    }
    if (OWN.test(name) || place.replace(/#.*/s, '') === OWN_PLACE) {
      throw wrong('modules', `free of ${JSON.stringify(name)}, which is the code itself`);
    }
    const other = places.get(place);
    if (other !== undefined) {
      throw wrong('modules', `free of two names for one place: ${JSON.stringify(other)} and ${JSON.stringify(name)}`);
    }
    places.set(place, name);
    texts.set(name, text);
  }
  return new Modules(texts, typescript);
}

/**
 * The URL of a module, to which specifiers are resolved.
 * @param {string} name
 * @returns {string | undefined}
 */
function placeOf(name) {
  if (name === '' || name.length > MAX_NAME || name.includes('\0')) {
    return undefined;
  }
  try {
    return new URL(name, MODULE_ROOT).href;
  } catch {
    return undefined;
  }
}

/**
 * The code as a module.
 * @typedef {import('./normalize.js').Body} Main
 */

/** @typedef {{ packed: Packed, main: Main }} Importable what an execution can import, and its code as a module */

module.exports = { modulesOf };
