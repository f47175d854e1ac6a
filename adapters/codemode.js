'use strict';
// An `Executor` of `@cloudflare/codemode`: code of a model runs in an isolate of its own, the tools it calls on the host.

const { AgentSandbox, normalizeCode } = require('../index.js');
const { withNames } = require('./approval.js');
const { clashOf, RESERVED, identifier } = require('./identifiers.js');
const { beginning } = require('./outcome.js');

const TIMEOUT = 60_000;
const MAX_TIME = 0x7fff_ffff;
const ABORTED = 'ERR_ISOLATE_ABORTED';
/** Arguments of one call of a tool. */
const MAX_ARGUMENTS = 10_000;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Names that the code around the user's own has. */
const OWN_NAMES = Object.freeze(['$host', '$main']);

/**
 * The arguments of a call. Those that the prelude passes on are an array; the guest's code can also call what the prelude calls.
 * @param {unknown} args
 * @returns {unknown[]}
 */
function checkArguments(args) {
  if (!Array.isArray(args)) throw new TypeError('The arguments of a tool must be an array');
  if (args.length > MAX_ARGUMENTS) throw new RangeError(`A tool takes at most ${MAX_ARGUMENTS} arguments`);
  return args;
}

/** @param {string} name of a tool, as its sandbox knows it */
const indexOf = (name) => Number(name.slice('$host:f'.length));

/**
 * Why code cannot be run with these providers, if so.
 * @param {unknown} code
 * @param {any[]} providers
 * @param {unknown[]} connectors
 */
function problemOf(code, providers, connectors) {
  if (typeof code !== 'string') return '`code` must be a string';
  if (connectors.length > 0) return 'Connectors are bound to Workers: pass their tools as providers';
  const names = new Set(OWN_NAMES);
  for (const provider of providers) {
    const { name, fns } = provider ?? {};
    if (typeof name !== 'string' || !IDENTIFIER.test(name) || RESERVED.has(name)) return `Provider name "${name}" is not a valid JavaScript identifier`;
    if (names.has(name)) return `Provider name "${name}" is taken`;
    names.add(name);
    if (typeof fns !== 'object' || fns === null) return `The tools of provider "${name}" must be an object of functions`;
    const keys = Object.keys(fns);
    const clash = clashOf(keys.map((key) => `${name}.${key}`), keys.map(identifier));
    if (clash !== undefined) return clash;
  }
  return undefined;
}

/** @param {Partial<import('../index.js').AgentSandboxConfig>} [options] */
function createExecutor(options) {
  const timeout = options?.timeout ?? TIMEOUT;
  const settings = { ...options, timeout };
  const sandbox = new AgentSandbox(settings);

  // A debugger may pause the code, and its time.
  const debugging = (options?.inspector ?? false) !== false;
  const timedOut = `Execution timeout after ${timeout}ms`;

  /**
   * The code as the text of a function. To parse it may take as long as to run it.
   * @param {string} code
   * @param {AbortSignal} signal
   * @returns {Promise<string | undefined>} undefined if it takes too long
   */
  async function functionOf(code, signal) {
    try {
      return await normalizeCode(code, { async: true, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    }
  }

  /** @type {import('./codemode.js').Executor['execute']} */
  async function execute(code, providersOrFns, more) {
    const providers = Array.isArray(providersOrFns) ? providersOrFns : [{ name: 'codemode', fns: providersOrFns }];
    const unusable = problemOf(code, providers, more?.connectors ?? []);
    if (unusable !== undefined) return { result: undefined, error: unusable };
    const fns = providers.flatMap((provider) => Object.values(provider.fns));
    const names = providers.flatMap((provider) => Object.keys(provider.fns).map((key) => `${provider.name}.${key}`));
    const tools = fns.map((_, index) => ({ name: `$host:f${index}`, description: '' }));
    let count = 0;
    const inside = providers.map(({ name, fns: own, prelude = '' }) =>
      `const ${name} = { ${Object.keys(own).map((key) => `['${identifier(key)}']: (...args) => $host.f${count++}(args)`)} };\n${prelude};\n`);
    // For both, parsing and running.
    const signal = AbortSignal.timeout(Math.min(Math.ceil(timeout), MAX_TIME));
    // A function with types is called here: it is not parsed.
    const main = await functionOf(code, signal);
    if (main === undefined) return { result: undefined, error: timedOut };
    const body = `${inside.join('')}const $main = await (${main}\n)(); return typeof $main === 'function' ? $main() : $main;`;
    const approving = withNames(settings, (name) => names[indexOf(name)]);
    const { result, error, failure, logs } = await (approving === settings ? sandbox : new AgentSandbox(approving))
      .execute(body, tools, async (name, args) => fns[indexOf(name)](...checkArguments(args)), debugging ? {} : { signal });
    if (error === undefined) return { result, logs };
    return { result: undefined, error: failure?.code === ABORTED ? timedOut : beginning(error), logs };
  }
  return { execute };
}

module.exports = { createExecutor };
