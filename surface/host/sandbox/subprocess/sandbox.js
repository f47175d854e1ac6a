'use strict';
// `SubprocessSandbox`: runs an agent's code, each execution in a separate process.

const { MESSAGE } = require('../../../core/protocol.js');
const { now } = require('../../clock.js');
const { CODE, coded, invalid } = require('../../../core/error.js');
const { parseJson } = require('../../values/json.js');
const { createProcessCalls } = require('./execution.js');
const { DISPOSED, gone, reported } = require('../common/execution.js');
const { Executions } = require('../common/executions.js');
const { observed } = require('../../diagnostics.js');
const { failureOf } = require('../common/failure.js');
const { readModules } = require('../common/features.js');
const {
  bare, checkOptions, COMMON, defaultOutput, own, readBoolean, readConsole, readEnvironment, readMemory, readNumber, readPoolSize, readQuota, readSignal,
  readWeb, SIGNAL, wrong,
} = require('../common/options.js');
const { bounded, callCounter } = require('../common/quota.js');
const { bodyAfter, readingOf } = require('../common/bodies.js');
const { namingOption } = require('../common/syntax.js');
const { identifier, keyOf, readCalling, readTools, TOOL_OPTIONS, ToolCalls } = require('../tools/calls.js');

const DEFAULT = Object.freeze({ timeout: 30_000, memoryLimit: 128 });
const OPTIONS = Object.freeze(['timeout', 'memoryLimit', 'minimalEnv', 'confinement', ...TOOL_OPTIONS, ...COMMON]);
const CONSOLE = Object.freeze({ entries: 10_000, length: 10_000 });
const BYTES_PER_MB = 2 ** 20;
const bodyOf = bodyAfter('"use strict"; return (async () => { ');
const SYSTEMS = Object.freeze(['darwin', 'linux']);

/**
 * All places of tools in the sandbox. A tool without its own namespace is also in `default`, which no code can name, and in `tools`, unless these
 * would be the places of other tools as well.
 * @param {import('../tools/calls.js').Tool[]} tools
 * @returns {string[][]} namespaces and methods of each
 */
function allPlacesOf(tools) {
  const taken = new Set(tools.map(({ place }) => keyOf(place)));
  /** @type {Map<string, string>} by method, the only tool that may have it in these namespaces, or an empty text */
  const names = new Map();
  for (const { name } of tools.filter((tool) => !tool.name.includes(':'))) {
    const method = identifier(name) || '_';
    names.set(method, (names.get(method) ?? name) === name ? name : '');
  }
  return tools.map(({ name, place }) => {
    const method = identifier(name) || '_';
    const others = ['tools', 'default'].map((namespace) => ({ namespace, method, isFunction: false })).filter((other) => names.get(method) === name && !taken.has(keyOf(other)));
    return [place, ...others].flatMap((each) => [each.namespace, each.method]);
  });
}

/**
 * The environment variables of a process. The native side removes those for its loader.
 * @param {boolean} minimal
 * @returns {string[]}
 */
function environmentOf(minimal) {
  const path = readEnvironment('PATH');
  const zone = readEnvironment('TZ');
  // Dates are in the host's time zone, whatever part of the environment the process gets.
  const least = [...(path === undefined ? [] : [`PATH=${path}`]), 'NODE_ENV=sandbox', ...(zone === undefined ? [] : [`TZ=${zone}`])];
  if (minimal) {
    return least;
  }
  try {
    return Object.entries(process.env).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`);
  } catch {
    // The host does not allow reading it.
    return least;
  }
}

/** @param {number} number */
function signalName(number) {
  /** @type {{ constants?: typeof import('node:os').constants }} without it if a time limit of `node:vm` has ended the loading: Node never completes it */
  const { constants } = require('node:os');
  return Object.entries(constants?.signals ?? {}).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}

/** The layers that can confine a process; launcher/src/confine and src/child/confinement have the same names. */
const LAYERS = Object.freeze([
  'cgroup', 'oomScore', 'ownUser', 'userNamespace', 'networkNamespace', 'ipcNamespace', 'utsNamespace', 'mountNamespace', 'rlimits', 'pidNamespace', 'parentDeath',
  'capabilities', 'notDumpable', 'noNewPrivileges', 'landlock', 'descriptors', 'seccomp',
  'noTracing', 'seatbelt', 'footprint',
]);

/** Names by which a caller may require several layers together. */
const GROUPS = Object.freeze({
  namespaces: Object.freeze(['userNamespace', 'networkNamespace', 'ipcNamespace', 'utsNamespace', 'mountNamespace', 'pidNamespace']),
});

/**
 * Confinement layers to turn off, and layers without which nothing may run.
 * @param {Record<string, any>} options
 * @returns {{ off: string[], required: string[] }}
 */
function readConfinement(options) {
  const layers = checkOptions(own(options, 'confinement'));
  const off = Object.keys(layers).filter((name) => {
    if (name === 'require') {
      return false;
    }
    if (!LAYERS.includes(name)) {
      throw wrong('confinement', `an object with \`require\` and some of ${LAYERS.join(', ')}; there is no layer ${JSON.stringify(name)}`);
    }
    return !readBoolean(layers, name, true);
  });
  const required = readRequired(own(layers, 'require'));
  const both = required.find((name) => off.includes(name));
  if (both !== undefined) {
    throw invalid(`\`confinement\` requires \`${both}\` and turns it off: choose one`);
  }
  return { off, required };
}

/**
 * @param {unknown} names
 * @returns {string[]} layers
 */
function readRequired(names) {
  if (names === undefined || names === null) {
    return [];
  }
  if (!Array.isArray(names)) {
    throw wrong('confinement.require', 'an array of names of layers');
  }
  const layers = names.flatMap((name) => {
    const group = typeof name === 'string' && own(GROUPS, name);
    if (!group && !LAYERS.includes(name)) {
      throw wrong('confinement.require', `an array of ${Object.keys(GROUPS).join(', ')}, ${LAYERS.join(', ')}; there is no layer ${JSON.stringify(name)}`);
    }
    return group || [name];
  });
  return LAYERS.filter((name) => layers.includes(name));
}

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @param {{ strip: import('../common/typescript.js').Strip, make: (memoryLimit: number) => any }} helpers `make` creates an isolate
 * @param {import('../common/snapshot.js').ReadSnapshot} readSnapshot
 * @param {string | undefined} launcher
 */
function createSubprocessSandboxes(core, environment, { strip, make }, readSnapshot, launcher) {
  const { execute, checkConfinement } = createProcessCalls(core, environment, launcher);

  class SubprocessSandbox {
    #executions = new Executions();
    #strip = this.#executions.ending(strip);
    #minimal;
    #typescript;
    #modules;
    #quota;
    #calling;
    #console;
    #template;

    /** @param {any} [config] */
    constructor(config) {
      if (!SubprocessSandbox.isAvailable()) {
        throw coded(Error, MESSAGE.NO_PROCESSES, CODE.UNSUPPORTED);
      }
      if ((own(Object(config), 'inspector') ?? false) !== false) {
        throw coded(Error, '`inspector`: processes cannot be debugged. Run the code in an AgentSandbox for that', CODE.UNSUPPORTED);
      }
      const settings = checkOptions(config, OPTIONS);
      const timeout = readNumber(settings, 'timeout', DEFAULT.timeout, 1);
      const memoryLimit = readMemory(settings, DEFAULT.memoryLimit);
      const pool = readPoolSize(settings);
      this.#calling = readCalling(settings);
      this.#quota = readQuota(settings, { output: defaultOutput(memoryLimit) });
      this.#console = readConsole(settings, CONSOLE);
      this.#minimal = readBoolean(settings, 'minimalEnv', true);
      this.#typescript = readBoolean(settings, 'typescript');
      this.#modules = readModules(settings, this.#typescript);
      const web = readWeb(settings);
      this.#template = { timeout, memoryLimit, pool, web, ...readConfinement(settings), snapshot: readSnapshot(settings, memoryLimit) };
    }

    /** Whether this system can have such processes. */
    static isAvailable() {
      return SYSTEMS.includes(process.platform);
    }

    /** @returns {import('./execution.js').ProcessTemplate} */
    get #current() {
      return { ...this.#template, environment: environmentOf(this.#minimal) };
    }

    /**
     * @param {string} code
     * @param {unknown} [tools]
     * @param {unknown} [toolExecutor]
     * @param {any} [options]
     */
    execute(code, tools, toolExecutor, options) {
      return observed('SubprocessSandbox', this.#template, code, () => this.#execute(code, tools, toolExecutor, options));
    }

    /**
     * @param {string} code
     * @param {unknown} tools
     * @param {unknown} toolExecutor
     * @param {any} options
     */
    async #execute(code, tools, toolExecutor, options) {
      const start = now();
      if (typeof code !== 'string') {
        throw wrong('code', 'a string');
      }
      const read = readTools(tools, toolExecutor);
      const places = allPlacesOf(read.tools);
      const signalled = readSignal(checkOptions(options, SIGNAL));
      /** @type {import('./execution.js').Outcome} */
      const outcome = bare({
        ...this.#executions.isClosed ? gone() : await this.#executions.follow(this.#run(code, { ...read, places }, signalled)),
      });
      const { ok, value, logs, signal, layers } = outcome;
      const durationMs = Math.round(now() - start);
      const more = { durationMs, duration: durationMs, ...reported(outcome), ...(layers === undefined ? {} : { confinement: layers }) };
      if (ok) {
        return { result: value, logs, ...more };
      }
      const error = this.#executions.isClosed && outcome.code === CODE.DISPOSED ? DISPOSED : describe(outcome);
      const by = signal === undefined ? {} : { signal: signalName(signal) };
      return { result: null, logs, error, failure: { ...failureOf(outcome, code, error, this.#modules?.texts), ...by }, ...more };
    }

    /**
     * @param {string} code
     * @param {ReturnType<typeof readTools> & { places: string[][] }} called
     * @param {any} signal
     * @returns {Promise<import('./execution.js').Outcome>}
     */
    async #run(code, { tools, toolExecutor, places }, signal) {
      const start = now();
      const until = start + this.#template.timeout;
      const isGone = this.#executions.begin();
      const request = { code, bodyOf, typescript: this.#typescript, modules: this.#modules, timeout: this.#template.timeout, signal };
      const found = readingOf(request, this.#strip);
      // Without anything to await, execution begins at once.
      const reading = found instanceof Promise ? await found : found;
      if (isGone()) {
        return gone();
      }
      if (reading.failure !== undefined) {
        return reading.failure;
      }
      const calls = new ToolCalls({
        toolExecutor,
        calling: this.#calling,
        memoryLimit: this.#template.memoryLimit,
        count: callCounter(this.#quota.calls),
        until,
        isStopped: isGone,
        signal,
        make,
        parse: (text, ending) => parseJson(text, { ...ending, maxWeight: this.#template.memoryLimit * BYTES_PER_MB }),
      });
      /** @type {{ dispose(): void } | undefined} */
      let running;
      /** @type {import('./execution.js').Outcome | undefined} */
      let outcome;
      try {
        outcome = await execute({
          template: this.#current,
          spent: now() - start,
          code: reading.body,
          modules: reading.modules,
          maxOutputSize: this.#quota.output,
          console: this.#console,
          tools: tools.map((tool, index) => ({ places: places[index], callback: calls.callbackOf(tool) })),
          signal,
          onStart: (started) => {
            running = started;
            this.#executions.add(started);
          },
        });
      } finally {
        calls.end(outcome);
        this.#executions.remove(running);
      }
      return bounded(namingOption(outcome, code, this.#typescript), this.#quota.output, { signal, until, isGone });
    }

    /** Kills the processes of running executions, which resolve with an error. */
    dispose() {
      this.#executions.dispose();
    }

    /** Another name of `dispose`. */
    terminate() {
      this.dispose();
    }

    /** Kills the processes of running executions; later executions resolve with an error at once. */
    async close() {
      await this.#executions.close();
    }

    isRunning() {
      return this.#executions.areRunning;
    }

    /** The confinement of this sandbox's processes, layer by layer. */
    async confinement() {
      return checkConfinement(this.#current);
    }
  }

  return { SubprocessSandbox };
}

/** @param {import('./execution.js').Outcome} outcome */
function describe({ code, value }) {
  return code === CODE.DEADLINE || code === CODE.DISPOSED || code === CODE.MEMORY ? MESSAGE.TERMINATED : String(value);
}

module.exports = { createSubprocessSandboxes };
