'use strict';
// An `IsolateDriver` of `@tanstack/ai-code-mode`: code of a model runs in an isolate of its own, the tools it calls on the host.

const { AgentSandbox } = require('../index.js');
const { withNames } = require('./approval.js');
const { beginning } = require('./outcome.js');

/** How Code Mode recognizes levels. */
const PREFIX = { log: '', debug: '', info: 'INFO: ', warn: 'WARN: ', error: 'ERROR: ' };

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Words that cannot be declared: one such tool would make all code a syntax error. */
const RESERVED = new Set(`await break case catch class const continue debugger default delete do else enum export extends false finally for
  function if implements import in instanceof interface let new null package private protected public return static super switch this throw
  true try typeof var void while with yield`.split(/\s+/));
/** Names that the code around the user's own reads. */
const OWN_NAMES = Object.freeze(['$host', 'globalThis']);

/**
 * Names of bindings are those of tools, which are not trusted: a name that is no identifier is a property of the global object, and never code.
 * @param {string} name
 * @param {number} index
 */
function declaration(name, index) {
  const place = IDENTIFIER.test(name) && !RESERVED.has(name) ? `const ${name}` : `globalThis[${JSON.stringify(name)}]`;
  return `${place} = (args) => $host.f${index}(args);`;
}

/** @param {Partial<import('../index.js').AgentSandboxConfig>} [options] */
function createIsolateDriver(options) {
  // Reports wrong options.
  new AgentSandbox(options);
  /** @type {import('./tanstack-ai.js').IsolateDriver['createContext']} */
  async function createContext({ bindings, timeout = 30_000, memoryLimit = 128 }) {
    const names = Object.keys(bindings);
    const taken = names.find((name) => OWN_NAMES.includes(name));
    if (taken !== undefined) throw Object.assign(new TypeError(`The name of the binding "${taken}" is taken`), { code: 'ERR_INVALID_ARG' });
    const tools = names.map((_, index) => ({ name: `$host:f${index}`, description: '' }));
    const inside = names.map(declaration).join(' ');
    const nameOf = (/** @type {string} */ name) => names[Number(name.slice('$host:f'.length))];
    const disposed = new AbortController();
    return {
      async execute(code) {
        /** @type {string[]} */
        const logs = [];
        /** @type {import('../index.js').AgentSandboxConfig['onLog']} */
        const onLog = ({ level, message }) => logs.push(PREFIX[level] + message);
        const sandbox = new AgentSandbox({
          // By the names that the bindings have outside.
          ...withNames(options ?? {}, nameOf), timeout, memoryLimit, onLog,
        });
        const { result, error, failure } = await sandbox.execute(`${inside} return (async () => { ${code}\n})();`, tools, async (name, args) =>
          bindings[nameOf(name)].execute(args), { signal: disposed.signal });
        if (error === undefined) {
          return { success: true, value: /** @type {any} */ (result), logs };
        }
        const { name = 'Error', stack = '', code: reason } = failure ?? {};
        return { success: false, error: { name: beginning(name), message: beginning(error), stack: beginning(stack), code: reason }, logs };
      },
      async dispose() {
        disposed.abort();
      },
    };
  }
  return { createContext };
}

module.exports = { createIsolateDriver };
