'use strict';
// The option `approve` in adapters.

const { discardReturned } = require('./observers.js');

/**
 * A sandbox's options, with an `approve` that gets the names of tools outside of the sandbox.
 * @param {Partial<import('../index.js').AgentSandboxConfig>} options
 * @param {(name: string) => string} nameOf a tool, by its name in the sandbox
 * @param {(params: any) => unknown} [paramsOf] a call, by what the sandbox passes as its params
 * @returns {Partial<import('../index.js').AgentSandboxConfig>}
 */
function withNames(options, nameOf, paramsOf = (params) => params) {
  const { approve } = options;
  return typeof approve !== 'function' ? options : {
    ...options,
    async approve(call) {
      const name = nameOf(call.name);
      const verdict = await approve({ name, params: paramsOf(call.params), get signal() { return call.signal; } });
      if (verdict === true) return true;
      discardReturned(verdict);
      throw new Error(`The call of the tool "${name}" was not approved`);
    },
  };
}

module.exports = { withNames };
