'use strict';
// Tools of an agent: their places in the sandbox, and what a call of a tool does on the host.

const { types } = require('node:util');
const { CallbackRecord } = require('../../callback.js');
const { stamp } = require('../../handle.js');
const { CALLBACK, KIND } = require('../../protocol.js');
const { adopt, guard, isThenable, ORIGIN } = require('../host-calls.js');
const { isPrimitive } = require('../pack.js');
const { hasTime, inTurn } = require('../replies.js');
const { member, wrong } = require('./options.js');
const { plain } = require('./plain.js');

/** @typedef {{ name: string, description: string, inputSchema?: Record<string, unknown> }} Tool */
/** @typedef {(toolName: string, params: any) => Promise<unknown>} ToolExecutor */

/**
 * @typedef {object} Parsing
 * @property {(text: string) => any} parse returns the value, or a promise for it if it is large
 * @property {() => Error | undefined} stopped returns an error when the execution is over
 */

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^A-Za-z0-9_$]/g, '_');

/**
 * A tool's place in the sandbox: `a:b` (or `a.b`) is `a.b`, the rest of the name joined by `_`.
 * @param {string} name
 * @returns {{ namespace: string, method: string }}
 */
function placeOf(name) {
  const [namespace, ...rest] = name.split(name.includes(':') ? ':' : '.');
  return { namespace: identifier(namespace) || '_', method: identifier(rest.join('_')) || 'call' };
}

/**
 * @param {ToolExecutor} toolExecutor
 * @param {string} name
 * @param {() => void} count throws if a call exceeds the limit
 * @param {Parsing} [parsing] for parameters that arrive as JSON
 */
function toolCallback(toolExecutor, name, count, parsing) {
  /** @param {any} params */
  const target = async (params) => {
    count();
    let parsed = parsing === undefined ? params : parsing.parse(params);
    // Without anything to await, the tool is called at once. Otherwise, other calls and the end of the execution may come in between.
    if (parsing !== undefined && types.isPromise(parsed)) {
      parsed = await parsed;
      const error = parsing.stopped();
      if (error !== undefined) {
        throw error;
      }
    }
    /** @type {unknown} */
    const returned = toolExecutor(name, parsed);
    const result = isThenable(returned) ? await adopt(returned) : returned;
    if (isPrimitive(result)) {
      return result;
    }
    if (!hasTime()) {
      guard(ORIGIN.TOOL, result);
    }
    return inTurn(target, () => plain(result, ORIGIN.TOOL));
  };
  return stamp({}, KIND.CALLBACK, new CallbackRecord(target, CALLBACK.AWAITED));
}

/**
 * @param {unknown} tools
 * @returns {string[]} their names
 */
function readTools(tools) {
  const names = Array.isArray(tools) ? tools.map((tool) => member(tool, 'name')) : [''];
  if (!names.every((name) => typeof name === 'string' && name !== '')) {
    throw wrong('tools', 'an array of objects with a `name`');
  }
  return names;
}

module.exports = { identifier, placeOf, readTools, toolCallback };
