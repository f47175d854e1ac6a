'use strict';
// `Isolate`: a heap with its own limits. Only a handle for it is kept here; limits, clocks and threads are native.

const { define, Error, freeze, inner } = require('../core/primordials.js');
const { bare, kindOf, recordOf, stamp } = require('../core/handle.js');
const { KIND, MESSAGE, MODE, OP } = require('../core/protocol.js');
const { CODE, coded } = require('../core/error.js');
const { named } = require('./heap.js');
const { defineClass, needsNew } = require('../core/classes.js');
const {
  booleanOption, illegalInvocation, MIN_MEMORY, optionsArgument, Origin, readFunction, readNumber, readSignal, readSnapshot, tooFew,
  wrongParameter, wrongThis,
} = require('../core/options.js');

/** @param {Promise<ArrayLike<number>>} figures */
async function laterNamed(figures) {
  return named(await inner(figures));
}

/**
 * @param {Promise<ArrayLike<any>>} profiles
 * @param {import('../index.js').Binding} binding
 */
async function laterProfiles(profiles, binding) {
  return inner(require('./profile.js').profilesOf(await inner(profiles), binding));
}

const MAX_MEMORY = 0x7fff_ffff;

/** Default number of prepared isolates. */
const WARM = 1;

/** @param {unknown} option */
const isSet = (option) => option !== undefined && option !== null && option !== false;

/**
 * @param {import('../index.js').Core} core
 * @param {(isolate: number, method: Function) => object} openSession
 * @param {(handle: Function) => object} importerOf returns the callback that handles `import()` of scripts
 */
module.exports = function createIsolate(core, openSession, importerOf) {
  const { binding, entries } = core;
  const { idOf, invoke, lifecycle, pack, unpack } = binding;

  /**
   * @this {object}
   * @param {any} [options]
   */
  function Isolate(options) {
    if (new.target === undefined) {
      throw needsNew('Isolate');
    }
    options = optionsArgument(options, 1, 'Isolate');
    /** @type {number | undefined} */
    let memory;
    let snapshot;
    let inspector = false;
    let hostStacks = false;
    let warm = WARM;
    let onCatastrophicError;
    let importer;
    if (options !== undefined) {
      memory = readNumber(options, 'memoryLimit', undefined);
      if (memory !== undefined) {
        // Also false for NaN, and for infinity as in isolated-vm. Fractions are cut off: 7.9 fails, 8.9 becomes 8.
        if (!(memory >= MIN_MEMORY && memory < 1 / 0)) {
          throw coded(Error, `\`memoryLimit\` must be at least ${MIN_MEMORY}`, CODE.INVALID_ARG);
        }
        memory = memory > MAX_MEMORY ? MAX_MEMORY : memory | 0;
      }
      snapshot = readSnapshot(options);
      inspector = booleanOption(options.inspector, 'inspector');
      hostStacks = booleanOption(options.hostStacks, 'hostStacks');
      onCatastrophicError = readFunction(options, 'onCatastrophicError');
      importer = readFunction(options, 'importModuleDynamically');
      warm = readNumber(options, 'warm', WARM);
      // Also false for NaN.
      if (!(warm >= 0)) {
        throw coded(Error, '`warm` must be at least 0', CODE.INVALID_ARG);
      }
    }
    const creating = lifecycle === undefined ? undefined : lifecycle.creating(memory, onCatastrophicError);
    if (creating !== undefined) {
      onCatastrophicError = creating.onCatastrophicError;
    }
    const carrier = invoke(OP.CREATE_ISOLATE, MODE.SYNC, 0, 0, memory, snapshot === undefined ? undefined : pack(snapshot, 0), inspector,
      onCatastrophicError === undefined ? undefined : pack(binding.bind(onCatastrophicError), 0), hostStacks, warm,
      importer === undefined ? undefined : pack(importerOf(importer), 0));
    const handle = freeze(stamp(bare(new.target, this), KIND.ISOLATE, adopt(entries.enter(idOf(carrier, Isolate)))));
    if (creating !== undefined) {
      creating.created(handle);
    }
    return handle;
  }

  /**
   * @param {import('../core/handle.js').Row} entry
   * @returns {{ entry: import('../core/handle.js').Row }}
   */
  const adopt = (entry) => ({ entry });

  /**
   * The id of `this`.
   * @param {unknown} self
   * @returns {number}
   */
  function idOfThis(self) {
    const record = recordOf(self, KIND.ISOLATE);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record.entry.id;
  }

  /** @param {object} isolate */
  function noteDisposal(isolate) {
    if (lifecycle !== undefined) {
      lifecycle.disposed(isolate);
    }
  }

  /**
   * The value of a getter. Never waits.
   * @param {unknown} self
   * @param {number} op
   * @param {Function} Class
   */
  function ask(self, op, Class) {
    const record = recordOf(self, KIND.ISOLATE);
    if (record === undefined) {
      throw wrongThis();
    }
    return unpack(invoke(op, MODE.SYNC, 0, record.entry.id), Class);
  }

  /**
   * Sends a request that the isolate answers asynchronously.
   * @param {number} op
   * @param {number} id
   * @param {string | undefined} argument
   * @param {any} options undefined for none
   * @param {Function} method
   * @returns {Promise<any>}
   */
  function request(op, id, argument, options, method) {
    let signal;
    try {
      signal = options === undefined ? undefined : readSignal(options, MODE.ASYNC, binding.signals);
    } catch (error) {
      return core.refuse(MODE.ASYNC, error);
    }
    const call = /** @type {import('../core/calls.js').Waiting} */ (core.begin(MODE.ASYNC, method, signal));
    return core.conclude(MODE.ASYNC, call, invoke(op, MODE.ASYNC, call.request, id, argument), method);
  }

  /**
   * @param {number} id
   * @param {any} options undefined for none
   * @param {number} mode
   * @param {Function} method
   */
  function createContext(id, options, mode, method) {
    let inspector = false;
    let signal;
    /** @type {import('../index.js').InstallGlobals | undefined} */
    let install;
    try {
      if (options !== undefined) {
        inspector = booleanOption(options.inspector, 'inspector');
        install = readGlobals(options);
        signal = readSignal(options, mode, binding.signals);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal);
    const context = core.conclude(mode, call, invoke(OP.CREATE_CONTEXT, mode, call === undefined ? 0 : call.request, id, inspector), method);
    if (install === undefined) {
      return context;
    }
    return mode === MODE.SYNC ? install(context, mode, method, signal) : laterInstalled(context, install, method, signal);
  }

  /**
   * @param {Promise<object>} context
   * @param {import('../index.js').InstallGlobals} install
   * @param {Function} method
   * @param {any} signal
   */
  async function laterInstalled(context, install, method, signal) {
    return install(await inner(context), MODE.ASYNC, method, signal);
  }

  /**
   * What a context has in addition to ECMAScript's built-ins.
   * @param {any} options
   * @returns {import('../index.js').InstallGlobals | undefined} undefined for nothing
   */
  function readGlobals(options) {
    const { web, timers, console } = options;
    if (!(isSet(web) || isSet(timers) || isSet(console))) {
      return undefined;
    }
    if (binding.contextGlobals === undefined) {
      throw coded(Error, '`web`, `timers` and `console` are not available inside isolates', CODE.UNSUPPORTED);
    }
    return binding.contextGlobals(web, timers, console);
  }

  /**
   * Compiles a script or a module.
   * @param {number} op
   * @param {unknown} self
   * @param {unknown} code
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   * @param {number} count of arguments
   */
  function compile(op, self, code, options, mode, method, count) {
    const id = idOfThis(self);
    if (typeof code !== 'string') {
      throw count < 1 ? tooFew(1) : wrongParameter(1, 'a string');
    }
    options = optionsArgument(options, 2);
    let origin;
    let cached;
    let meta;
    let signal;
    try {
      if (options !== undefined) {
        origin = new Origin(options);
        cached = origin.cachedData === undefined ? undefined : pack(origin.cachedData, 0);
        if (op === OP.COMPILE_MODULE) {
          meta = readFunction(options, 'meta');
        }
        signal = readSignal(options, mode, binding.signals);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal);
    const number = call === undefined ? 0 : call.request;
    if (origin === undefined) {
      return core.conclude(mode, call, invoke(op, mode, number, id, code), method);
    }
    const compiled = core.conclude(mode, call, invoke(op, mode, number, id, code, origin.filename, origin.lineOffset,
      origin.columnOffset, cached, origin.produceCachedData, meta === undefined ? undefined : pack(meta, 0)), method);
    if (cached === undefined && !origin.produceCachedData) {
      return compiled;
    }
    return mode === MODE.SYNC ? withCache(compiled) : laterWithCache(compiled);
  }

  /**
   * @param {unknown} title
   * @param {number} count of arguments
   */
  function checkTitle(title, count) {
    if (binding.side === 'guest') {
      // Profiles are stored outside any heap.
      throw coded(Error, 'CPU profiles can be taken by hosts only', CODE.UNSUPPORTED);
    }
    if (typeof title !== 'string') {
      throw count < 1 ? tooFew(1) : wrongParameter(1, 'a string');
    }
  }

  /**
   * Writes the compilation cache onto a script or module, whose instances are not frozen.
   * @param {object} script
   */
  function withCache(script) {
    const { id } = recordOf(script, kindOf(script)).entry;
    const cache = unpack(invoke(OP.SCRIPT_CACHED_DATA, MODE.SYNC, 0, id), withCache);
    const rejected = cache[0];
    const data = cache[1];
    if (rejected !== undefined) {
      define(script, 'cachedDataRejected', rejected, true, true);
    }
    if (data !== undefined) {
      define(script, 'cachedData', core.externalCopyOf(data), true, true);
    }
    return script;
  }

  /** @param {Promise<object>} promise */
  async function laterWithCache(promise) {
    return withCache(await inner(promise));
  }

  const methods = {
    /**
     * @param {string} code
     * @param {any} [options]
     */
    compileScript(code, options) {
      return compile(OP.COMPILE_SCRIPT, this, code, options, MODE.ASYNC, methods.compileScript, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [options]
     */
    compileScriptSync(code, options) {
      return compile(OP.COMPILE_SCRIPT, this, code, options, MODE.SYNC, methods.compileScriptSync, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [options]
     */
    compileModule(code, options) {
      return compile(OP.COMPILE_MODULE, this, code, options, MODE.ASYNC, methods.compileModule, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [options]
     */
    compileModuleSync(code, options) {
      return compile(OP.COMPILE_MODULE, this, code, options, MODE.SYNC, methods.compileModuleSync, arguments.length);
    },
    get cpuTime() {
      return ask(this, OP.CPU_TIME, Isolate);
    },
    /** @param {any} options */
    createContext(options) {
      return createContext(idOfThis(this), optionsArgument(options, 1), MODE.ASYNC, methods.createContext);
    },
    /** @param {any} options */
    createContextSync(options) {
      return createContext(idOfThis(this), optionsArgument(options, 1), MODE.SYNC, methods.createContextSync);
    },
    createInspectorSession() {
      return openSession(idOfThis(this), methods.createInspectorSession);
    },
    dispose() {
      unpack(invoke(OP.DISPOSE, MODE.SYNC, 0, idOfThis(this)), methods.dispose);
      noteDisposal(this);
    },
    /** @param {any} [options] */
    getHeapStatistics(options = undefined) {
      const id = idOfThis(this);
      options = optionsArgument(options, 1);
      return laterNamed(request(OP.HEAP_STATISTICS, id, undefined, options, methods.getHeapStatistics));
    },
    getHeapStatisticsSync() {
      return named(unpack(invoke(OP.HEAP_STATISTICS, MODE.SYNC, 0, idOfThis(this)), methods.getHeapStatisticsSync));
    },
    get isDisposed() {
      return ask(this, OP.IS_DISPOSED, Isolate);
    },
    get referenceCount() {
      return ask(this, OP.REFERENCE_COUNT, Isolate);
    },
    get wallTime() {
      return ask(this, OP.WALL_TIME, Isolate);
    },
    /** @param {string} title */
    startCpuProfiler(title) {
      const id = idOfThis(this);
      checkTitle(title, arguments.length);
      return unpack(invoke(OP.START_PROFILER, MODE.SYNC, 0, id, title), methods.startCpuProfiler);
    },
    /**
     * @param {string} title
     * @param {any} [options]
     */
    stopCpuProfiler(title, options = undefined) {
      const id = idOfThis(this);
      checkTitle(title, arguments.length);
      if (ask(this, OP.IS_DISPOSED, Isolate)) {
        throw coded(Error, MESSAGE.IS_DISPOSED, CODE.DISPOSED);
      }
      options = optionsArgument(options, 2);
      return laterProfiles(request(OP.STOP_PROFILER, id, title, options, methods.stopCpuProfiler), binding);
    },
  };

  defineClass(Isolate, methods, undefined, function dispose() {
    const id = idOfThis(this);
    const carrier = invoke(OP.DISPOSE, MODE.SYNC, 0, id);
    // The isolate may have ended before, also without a call of `dispose()`.
    if (!unpack(invoke(OP.IS_DISPOSED, MODE.SYNC, 0, id))) {
      unpack(carrier);
    }
    noteDisposal(this);
  });
  const { createSnapshot } = {
    /**
     * @param {any} scripts
     * @param {any} warmup
     * @param {any} [options]
     */
    createSnapshot(scripts, warmup, options = undefined) {
      return require('./snapshot.js').createSnapshot(binding, scripts, warmup, options, createSnapshot, arguments.length);
    },
  };
  define(Isolate, 'createSnapshot', createSnapshot, true, true);
  return { Constructor: Isolate, adopt };
};
