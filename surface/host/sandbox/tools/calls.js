'use strict';
// Tools of an agent: their places in the sandbox, and what a call of a tool does on the host.

const { types } = require('node:util');
const { now } = require('../../clock.js');
const { CallbackRecord } = require('../../../api/callback.js');
const { CODE, coded, invalid } = require('../../../core/error.js');
const { stamp } = require('../../../core/handle.js');
const { CALLBACK, KIND } = require('../../../core/protocol.js');
const { adopt, discard, guard, isThenable, ORIGIN } = require('../../calls/host-calls.js');
const { isPrimitive } = require('../../values/primitive.js');
const { hasTime, inTurn } = require('../../calls/replies.js');
const { CallSignals } = require('./call-signals.js');
const { disposed } = require('../common/execution.js');
const { bare, member, own, readListed, wrong } = require('../common/options.js');
const { plain, plainJson } = require('../common/plain.js');
const { Matcher } = require('./patterns.js');
const { readSchema } = require('./schema.js');

/** @typedef {{ name: string, place: Place, check: import('./schema.js').Check | undefined }} Tool */
/** @typedef {(toolName: string, params: any, context: { signal: AbortSignal }) => unknown} ToolExecutor */
/** @typedef {(call: { name: string, params: any, signal: AbortSignal }) => unknown} Approve */

/** Options of a sandbox for the calls of its tools. */
const TOOL_OPTIONS = Object.freeze(['approve', 'results']);
const RESULTS = Object.freeze(['clone', 'json']);
/** Characters of a tool's name that an error shows. */
const MAX_SHOWN = 200;
const MEGABYTE = 2 ** 20;
/** Bytes that the results of an execution's tools may take in any case until they are copied. */
const MIN_WAITING = 512 * MEGABYTE;

/**
 * How calls of tools are made.
 * @typedef {object} Calling
 * @property {Approve | undefined} approve
 * @property {boolean} asJson whether the code gets what the JSON of a result represents
 */

/**
 * @param {Record<string, any>} options of a sandbox
 * @returns {Calling}
 */
function readCalling(options) {
  const approve = own(options, 'approve') ?? undefined;
  if (approve !== undefined && typeof approve !== 'function') {
    throw wrong('approve', 'a function');
  }
  return { approve, asJson: readListed(options, 'results', RESULTS) === 'json' };
}

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^A-Za-z0-9_$]/g, '_');

/** The method of a tool whose name has one part. The native side makes it callable by that part alone. */
const OWN = 'call';

/**
 * A tool's place in the sandbox: `a:b` (or `a.b`) is `a.b`, the rest of the name joined by `_`; `a` is `a` and `a.call`.
 * @param {string} name
 * @returns {Place} `isFunction`: whether the namespace itself is the function
 */
function placeOf(name) {
  const [namespace, ...rest] = name.split(name.includes(':') ? ':' : '.');
  const method = identifier(rest.join('_')) || OWN;
  return { namespace: identifier(namespace) || '_', method, isFunction: method === OWN };
}

/** @typedef {{ namespace: string, method: string, isFunction: boolean }} Place */

/** @param {Place} place */
const keyOf = ({ namespace, method }) => `${namespace}.${method}`;

/**
 * Checks that no two tools have one place: code could call only the last of them. Tools of one name are one tool for the executor.
 * @param {string[]} names of the tools
 * @param {(Place | undefined)[]} places of the same tools
 */
function checkPlaces(names, places) {
  /** @type {Map<string, string>} */
  const known = new Map();
  for (const [index, place] of places.entries()) {
    if (place !== undefined) {
      const [key, name] = [keyOf(place), names[index]];
      const other = known.get(key) ?? name;
      if (other !== name) {
        throw invalid(`The tools ${shown(other)} and ${shown(name)} have the same name in code: ${shortened(place.isFunction ? place.namespace : key)}`);
      }
      known.set(key, name);
    }
  }
}

/**
 * The places of tools, which all differ.
 * @param {string[]} names
 */
function placesOf(names) {
  const places = names.map(placeOf);
  checkPlaces(names, places);
  return places;
}

/** @param {string} text */
const shortened = (text) => text.slice(0, MAX_SHOWN);
/** @param {string} name */
const shown = (name) => JSON.stringify(shortened(name));

/**
 * @typedef {object} Run
 * @property {ToolExecutor} toolExecutor
 * @property {Calling} calling
 * @property {number} memoryLimit megabytes
 * @property {() => void} count throws if a call exceeds the limit
 * @property {number} until when the execution's time is over, as a value of `now()` in clock.js
 * @property {() => boolean} isStopped whether the host has ended the execution
 * @property {import('../../calls/signals.js').Signal | undefined} signal of the execution
 * @property {(memoryLimit: number) => any} make creates an isolate
 * @property {(text: string, ending: import('./validation.js').Ending) => any} [parse] for params that arrive as JSON; returns the value, or a promise
 *   for it if it is large
 */

/** The calls of one execution. */
class ToolCalls {
  #run;
  #signals = new CallSignals();
  /** @type {import('./validation.js').Ending} */ #ending;
  #matcher;
  #unfollow;

  /** @param {Run} run */
  constructor(run) {
    this.#run = run;
    // A guest may take until the end of its grace period to stop.
    this.#unfollow = run.signal?.follow(() => this.#abort(undefined));
    const isOver = () => this.#signals.hasEnded || run.isStopped() || now() >= run.until;
    const matcher = new Matcher(run.make);
    this.#matcher = matcher;
    this.#ending = {
      until: run.until,
      stopped: () => (isOver() ? disposed() : undefined),
      match: (pattern, text) => matcher.match(pattern, text, run.until),
    };
  }

  /**
   * The function that the guest calls.
   * @param {Tool} tool
   */
  callbackOf({ name, check }) {
    const { toolExecutor, calling: { approve, asJson }, count, memoryLimit, parse } = this.#run;
    /** @param {any} sent */
    const target = async (sent) => {
      count();
      const call = this.#signals.begin();
      let result;
      try {
        // Without anything to await, the tool is called at once. Otherwise, other calls and the end of the execution may come in between.
        let params = parse === undefined ? sent : parse(sent, this.#ending);
        if (parse !== undefined && types.isPromise(params)) {
          params = await params;
          if (this.#isOver()) await this.#refusal();
        }
        if (check !== undefined) {
          params = check(params, this.#ending);
          if (types.isPromise(params)) {
            params = await params;
            if (this.#isOver()) await this.#refusal();
          }
        }
        if (approve !== undefined) {
          await approval(approve, { name, params, get signal() { return call.signal; } });
        }
        // It may have waited for its turn on this thread.
        if (this.#isOver()) await this.#refusal();
        const returned = toolExecutor(name, params, { get signal() { return call.signal; } });
        result = isThenable(returned) ? await adopt(returned) : returned;
      } finally {
        call.settle();
      }
      if (isPrimitive(result) && !asJson) {
        return result;
      }
      if (!hasTime()) {
        guard(ORIGIN.TOOL, result);
      }
      return inTurn(this, result, Math.max(MIN_WAITING, memoryLimit * MEGABYTE), () => (asJson ? plainJson : plain)(result, ORIGIN.TOOL));
    };
    return stamp({}, KIND.CALLBACK, new CallbackRecord(target, CALLBACK.AWAITED));
  }

  #isOver() {
    return this.#ending.stopped() !== undefined;
  }

  /**
   * What a call that comes too late waits for. It rejects if the host has ended the execution, and never settles if the deadline has passed:
   * the guest ends by that, and not by an error of the call.
   * @returns {Promise<never>}
   */
  #refusal() {
    return new Promise((_, reject) => {
      if (this.#signals.hasEnded || this.#run.isStopped()) reject(disposed());
    });
  }

  /**
   * The execution has ended: calls that have not settled are aborted, and calls that have not reached their tool do not.
   * @param {import('../common/execution.js').Outcome | undefined} outcome undefined if the execution could not be requested
   */
  end(outcome) {
    this.#unfollow?.();
    this.#matcher.end();
    this.#abort(outcome);
  }

  /** @param {import('../common/execution.js').Outcome | undefined} outcome */
  #abort(outcome) {
    if (!this.#signals.hasEnded) {
      void this.#signals.end(() => reasonOf(outcome, this.#run.signal));
    }
  }
}

/**
 * @param {Approve} approve
 * @param {{ name: string, params: unknown, signal: AbortSignal }} call
 */
async function approval(approve, call) {
  /** @type {unknown} */
  const returned = approve(call);
  const verdict = isThenable(returned) ? await adopt(returned) : returned;
  if (verdict !== true) {
    discard(ORIGIN.TOOL, verdict);
    throw new Error(`The call of the tool ${JSON.stringify(call.name)} was not approved`);
  }
}

/**
 * Why the calls of an execution are aborted.
 * @param {import('../common/execution.js').Outcome | undefined} outcome
 * @param {import('../../calls/signals.js').Signal | undefined} signal
 * @returns {unknown}
 */
function reasonOf(outcome, signal) {
  const { ok, code, value } = /** @type {Partial<import('../common/execution.js').Outcome>} */ (bare({ ...outcome }));
  if ((code === CODE.ABORTED || outcome === undefined) && signal?.aborted === true) {
    return signal.reason;
  }
  const error = coded(Error, ok || code === undefined ? 'The execution has ended' : String(value), code ?? CODE.ABORTED);
  // As programs recognize aborts.
  Object.defineProperty(error, 'name', bare({ value: 'AbortError', writable: true, configurable: true }));
  return error;
}

/**
 * The tools of an execution, and the function that calls them. Without tools, both arguments may be missing.
 * @param {unknown} tools
 * @param {unknown} toolExecutor
 * @returns {{ tools: Tool[], toolExecutor: ToolExecutor }}
 */
function readTools(tools, toolExecutor) {
  const names = tools === undefined ? [] : namesOf(tools);
  const places = placesOf(names);
  if (typeof toolExecutor !== 'function' && !(toolExecutor === undefined && names.length === 0)) {
    throw wrong('toolExecutor', 'a function, the third argument of `execute`');
  }
  return {
    tools: names.map((name, index) => ({ name, place: places[index], check: readSchema(/** @type {any[]} */ (tools)[index], name) })),
    toolExecutor: /** @type {ToolExecutor} */ (toolExecutor),
  };
}

/**
 * @param {unknown} tools
 * @returns {string[]}
 */
function namesOf(tools) {
  const names = Array.isArray(tools) ? tools.map((tool) => member(tool, 'name')) : [''];
  if (!names.every((name) => typeof name === 'string' && name !== '')) {
    throw wrong('tools', 'an array of objects with a `name`');
  }
  return names;
}

module.exports = { identifier, keyOf, namesOf, placesOf, readCalling, readTools, TOOL_OPTIONS, ToolCalls };
