'use strict';
// Options of the sandboxes. An error names each wrong option, and missing options have defaults.

const { invalid } = require('../../../core/error.js');
const { CallbackRecord } = require('../../../api/callback.js');
const { stamp } = require('../../../core/handle.js');
const { CALLBACK, KIND, MIN_MEMORY } = require('../../../core/protocol.js');
const { NO_WASM, WEB } = require('../../../web/protocol.js');

const MAX_INTEGER = Number.MAX_SAFE_INTEGER;

/** Characters of an option's name that an error shows. */
const MAX_NAME = 100;

/** Options that all sandboxes have. */
const COMMON = Object.freeze(['maxOutputSize', 'maxApiCalls', 'maxLogEntries', 'maxLogLength', 'onLog', 'poolSize', 'web', 'wasm', 'typescript', 'modules', 'snapshot']);

/** Options of an execution that has no others. */
const SIGNAL = Object.freeze(['signal']);

/**
 * @param {string} name
 * @param {string} what
 */
const wrong = (name, what) => invalid(`\`${name}\` must be ${what}`);

/**
 * @param {unknown} options
 * @param {readonly string[]} [names] all valid names; others are refused
 * @returns {Record<string, any>}
 */
function checkOptions(options, names) {
  if (options === undefined || options === null) {
    return {};
  }
  if (typeof options !== 'object') {
    throw wrong('options', 'an object');
  }
  for (const name of names === undefined ? [] : Object.keys(options)) {
    if (names?.includes(name) === false && (own(options, name) ?? undefined) !== undefined) {
      throw invalid(`Unknown option \`${name.slice(0, MAX_NAME)}\`. The options are ${names.map((each) => `\`${each}\``).join(', ')}`);
    }
  }
  return /** @type {Record<string, any>} */ (options);
}

/**
 * An option that is the object's own property. Inherited ones were not set on purpose.
 * @param {any} options
 * @param {string} name
 * @returns {any} undefined if there is none
 */
const own = (options, name) => (Object.hasOwn(options, name) ? options[name] : undefined);

/**
 * A member of an object that the host provides, possibly inherited from its class. Members of `Object.prototype`, also of that of another
 * realm, were not set on purpose.
 * @param {any} object
 * @param {string} key
 * @returns {any}
 */
function member(object, key) {
  if (object === null || (typeof object !== 'object' && typeof object !== 'function')) {
    return undefined;
  }
  let root = object;
  for (let above = Object.getPrototypeOf(object); above !== null; above = Object.getPrototypeOf(above)) {
    root = above;
  }
  if (root === object || !Object.hasOwn(root, key)) {
    return object[key];
  }
  for (let level = object; level !== root; level = Object.getPrototypeOf(level)) {
    if (Object.hasOwn(level, key)) {
      return object[key];
    }
  }
  return undefined;
}

/**
 * Removes the prototype of this library's own options for the API, which also reads inherited options.
 * @template {object} O
 * @param {O} options
 * @returns {O}
 */
const bare = (options) => Object.setPrototypeOf(options, null);

/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {number} fallback
 * @param {number} least
 * @returns {number}
 */
function readNumber(options, name, fallback, least) {
  const value = own(options, name);
  if (value === undefined || value === null) {
    return fallback;
  }
  if (typeof value !== 'number' || !(value >= least && value <= MAX_INTEGER)) {
    throw wrong(name, `a finite number of at least ${least}`);
  }
  return value;
}

/**
 * How to handle console calls.
 * @param {Record<string, any>} options
 * @param {{ entries: number, length: number }} fallback
 * @returns {import('./execution.js').Console}
 */
function readConsole(options, fallback) {
  const { onLog, ...limits } = readLogging(options, fallback);
  /** @type {(level: string, message: string) => void} */
  const target = (level, message) => { onLog?.({ level, message }); };
  return { ...limits, listener: onLog && stamp({}, KIND.CALLBACK, new CallbackRecord(target, CALLBACK.IGNORED)) };
}

/**
 * @typedef {object} Logging
 * @property {number} entries that are kept
 * @property {number} length of each in characters
 * @property {((entry: { level: string, message: string, pluginId?: string, isolateId?: string }) => void) | undefined} onLog
 */

/**
 * @param {Record<string, any>} options
 * @param {{ entries: number, length: number }} fallback
 * @returns {Logging}
 */
function readLogging(options, fallback) {
  const entries = Math.trunc(readNumber(options, 'maxLogEntries', fallback.entries, 0));
  const length = Math.trunc(readNumber(options, 'maxLogLength', fallback.length, 1));
  return { entries, length, onLog: readListener(options, 'onLog', 'ON_LOG') };
}

/**
 * Wraps a host function that is called when something happens. The wrapper never throws; failures are reported.
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {keyof typeof import('../../calls/host-calls.js').ORIGIN} origin
 * @returns {((entry: any) => void) | undefined}
 */
function readListener(options, name, origin) {
  const listener = own(options, name);
  if (listener === undefined || listener === null) {
    return undefined;
  }
  if (typeof listener !== 'function') {
    throw wrong(name, 'a function');
  }
  const { notify, ORIGIN } = require('../../calls/host-calls.js');
  return (entry) => notify(ORIGIN[origin], listener, undefined, [entry]);
}

/**
 * The signal that may abort an execution.
 * @param {Record<string, any>} options of the execution
 * @returns {import('../../calls/signals.js').Signal | undefined} undefined if there is none
 */
function readSignal(options) {
  const signal = own(options, 'signal');
  if (signal === undefined || signal === null) {
    return undefined;
  }
  const { guard, isSignal } = require('../../calls/signals.js');
  if (!isSignal(signal)) {
    throw wrong('signal', 'an AbortSignal');
  }
  return guard(signal);
}

/** Bytes of JSON that a result may take by default: as much as the guest's memory, and at least 64 MB. */
const MIN_DEFAULT_OUTPUT = 64 * 2 ** 20;
/** @param {number} memoryLimit megabytes */
const defaultOutput = (memoryLimit) => Math.max(MIN_DEFAULT_OUTPUT, memoryLimit * 2 ** 20);

/**
 * The quota of an execution: the bytes of JSON that a result may take, and how often it may call its host.
 * @param {Record<string, any>} options
 * @param {{ output: number, calls?: number }} fallback
 * @returns {{ output: number, calls: number }}
 */
const readQuota = (options, { output, calls = MAX_INTEGER }) => ({
  output: own(options, 'maxOutputSize') === Infinity ? MAX_INTEGER : readNumber(options, 'maxOutputSize', output, 0),
  calls: readNumber(options, 'maxApiCalls', calls, 0),
});

/**
 * `memoryLimit` in whole megabytes.
 * @param {Record<string, any>} options
 * @param {number} fallback
 */
const readMemory = (options, fallback) => Math.trunc(readNumber(options, 'memoryLimit', fallback, MIN_MEMORY));

/**
 * An environment variable. It counts as unset if the host does not allow reading it.
 * @param {string} name
 */
function readEnvironment(name) {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {boolean} [fallback]
 * @returns {boolean}
 */
function readBoolean(options, name, fallback = false) {
  const value = own(options, name);
  if (value === undefined || value === null) {
    return fallback;
  }
  if (typeof value !== 'boolean') {
    throw wrong(name, 'a boolean');
  }
  return value;
}

/** Isolates or processes that are kept ready for executions: the default, and the maximum. */
const POOL_SIZE = 1;
const MAX_POOL_SIZE = 64;

/**
 * How many isolates or processes to keep ready for the next executions.
 * @param {Record<string, any>} options
 */
function readPoolSize(options) {
  const [current, former] = ['poolSize', 'warm'].map((name) => own(options, name) ?? undefined);
  if (current !== undefined && former !== undefined) {
    throw invalid('`warm` is another name of `poolSize`: set one of them');
  }
  return Math.min(Math.trunc(readNumber(options, former === undefined ? 'poolSize' : 'warm', POOL_SIZE, 0)), MAX_POOL_SIZE);
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {readonly string[]} values valid ones
 * @returns {string | undefined}
 */
function readListed(options, name, values) {
  const value = own(options, name) ?? undefined;
  if (value !== undefined && !values.includes(value)) {
    throw wrong(name, `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`);
  }
  return value;
}

const WEB_NAMES = Object.freeze(Object.keys(WEB));
/** What `true` means. */
const ALL_OF_WEB = Object.freeze(WEB_NAMES.filter((name) => name !== 'Buffer'));

/**
 * @param {Record<string, any>} options
 * @returns {number} 0 or NO_WASM
 */
function readWasm(options) {
  const wasm = own(options, 'wasm') ?? true;
  if (typeof wasm !== 'boolean') {
    throw wrong('wasm', 'a boolean');
  }
  return wasm ? 0 : NO_WASM;
}

/**
 * Which web APIs a guest has, and whether it has WebAssembly.
 * @param {Record<string, any>} options
 * @returns {number} bits of WEB, and NO_WASM
 */
function readWeb(options) {
  const web = own(options, 'web');
  const wasm = readWasm(options);
  if (web === undefined || web === null || web === false) {
    return wasm;
  }
  const names = web === true ? ALL_OF_WEB : web;
  if (!Array.isArray(names)) {
    throw wrong('web', `a boolean or an array of names: ${WEB_NAMES.join(', ')}`);
  }
  return names.reduce((bits, name) => {
    const bit = own(WEB, name);
    if (bit === undefined) {
      throw wrong('web', `a boolean or an array of names: ${WEB_NAMES.join(', ')}`);
    }
    return bits | bit;
  }, wasm);
}

module.exports = {
  bare, checkOptions, COMMON, defaultOutput, member, own, readBoolean, readConsole, readEnvironment, readListener, readListed, readLogging, readMemory, readNumber, readPoolSize, readQuota, readSignal, readWeb, SIGNAL, wrong,
};
