'use strict';
// Tools of an agent: where code finds them, and what a call of one does here.

const { CallbackRecord } = require('../../callback.js');
const { stamp } = require('../../handle.js');
const { CALLBACK, KIND } = require('../../protocol.js');
const { adopt, isThenable, ORIGIN } = require('../host-calls.js');
const { member, wrong } = require('./options.js');
const { plain } = require('./plain.js');

/** @typedef {{ name: string, description: string, inputSchema?: Record<string, unknown> }} Tool */
/** @typedef {(toolName: string, params: any) => Promise<unknown>} ToolExecutor */

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^A-Za-z0-9_$]/g, '_');

/**
 * Where a tool is found inside: `a:b` (or `a.b`) is `a.b`, the rest of the name joined by `_`.
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
 * @param {() => void} count throws for a call too many
 * @param {(text: string) => Promise<any>} [read] what makes params of a text that comes in
 */
function toolCallback(toolExecutor, name, count, read) {
  /** @param {any} params */
  const target = async (params) => {
    count();
    /** @type {unknown} */
    const result = toolExecutor(name, read === undefined ? params : await read(params));
    return plain(isThenable(result) ? await adopt(result) : result, ORIGIN.TOOL);
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
