'use strict';
// A `CodeModeTransport` of `@mastra/core`: code of a model runs in an isolate of its own, the tools it calls on the host.

const { AgentSandbox } = require('../index.js');
const { withNames } = require('./approval.js');
const { clashOf } = require('./identifiers.js');
const { beginning, MAX_OUTPUT, plainOf } = require('./outcome.js');
const { notifyHook } = require('./observers.js');

const TIMED_OUT = 'ERR_ISOLATE_DEADLINE';

/**
 * A tool's name in the types that Mastra shows to the model.
 * @param {string} id
 */
const identifier = (id) => `external_${id.replaceAll(/[^\w$]/g, '_').replace(/^(?![A-Za-z_$])/, '_')}`;

/** @param {Partial<import('../index.js').AgentSandboxConfig>} [options] */
function createCodeModeTransport(options) {
  // Reports wrong options.
  new AgentSandbox(options);
  /** @type {import('./mastra.js').CodeModeTransport['run']} */
  async function run({ program, toolIds, dispatch, timeout, abortSignal, onExternalCall, onExternalResult }) {
    /** @type {string[]} */
    const logs = [];
    const names = toolIds.map(identifier);
    const clash = clashOf(toolIds, names);
    if (clash !== undefined) return { success: false, logs, error: { name: 'TypeError', message: clash } };
    const idOf = (/** @type {string} */ name) => toolIds[Number(name.slice('$host:f'.length))];
    const sandbox = new AgentSandbox({ typescript: true, maxOutputSize: MAX_OUTPUT, ...withNames(options ?? {}, idOf), timeout, onLog: ({ message }) => { logs.push(message); } });
    const tools = toolIds.map((_, index) => ({ name: `$host:f${index}`, description: '' }));
    const inside = names.map((name, index) => `const ${name} = (input) => $host.f${index}(input);`).join(' ');
    /** @param {string} name @param {unknown} args */
    const call = async (name, args) => {
      const id = idOf(name);
      const start = performance.now();
      notifyHook(onExternalCall, [id, args]);
      let result;
      try {
        result = await dispatch(id, args);
      } catch (error) {
        notifyHook(onExternalResult, [id, performance.now() - start, error]);
        throw error;
      }
      notifyHook(onExternalResult, [id, performance.now() - start]);
      return result;
    };
    const { result, failure } = await sandbox.execute(`${inside} return (async () => { ${program}\n})();`, tools, call, { signal: abortSignal });
    if (failure !== undefined) {
      const { name, message, code, line } = failure;
      return { success: false, logs, error: { name: code === TIMED_OUT ? 'TimeoutError' : beginning(name), message: beginning(message), ...(line === undefined ? {} : { line }) } };
    }
    try {
      return { success: true, result: plainOf(result), logs };
    } catch (/** @type {any} */ error) {
      return { success: false, logs, error: { name: 'TypeError', message: beginning(`The result cannot be written as JSON: ${error.message.split('\n')[0]}`) } };
    }
  }
  return { requiresSandbox: /** @type {const} */ (false), run };
}

module.exports = { createCodeModeTransport };
