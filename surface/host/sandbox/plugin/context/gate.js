'use strict';
// Connects a plugin to the context that its host gave it. The plugin calls methods by number. This file maps each number to a method of the
// host, and checks that the manifest permits the call first. Arguments arrive as clones: data without functions.

const { types } = require('node:util');
const { URL_LIMITS, UrlCheck } = require('../urls/check.js');
const { METHODS: CACHE_METHODS, readArguments, storedBytes, valueSize } = require('./storage.js');
const { invalid } = require('../../../../core/error.js');
const { adopt, discard, discardThrown, guard, isThenable, ORIGIN } = require('../../../calls/host-calls.js');
const { member } = require('../../common/options.js');
const { ANSWER } = require('./guest-context.js');
const { entryLimits, Shown } = require('./log.js');
const { weightOf } = require('../../../wire/notes.js');
const { Count } = require('./count.js');

const LOGGER_METHODS = Object.freeze(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
const BUS_METHODS = Object.freeze(['on', 'once', 'off', 'emit', 'emitAsync', 'listenerCount', 'eventNames', 'removeAllListeners']);
/** Members of a context that are data, or that are handled by name. */
const KNOWN = new Set(['logger', 'cache', 'metrics', 'config', 'allowedDomains', 'eventBus']);
/** Members that have a meaning in the language. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype', 'then']);
/** How deeply nested objects are searched for methods. */
const MAX_DEPTH = 4;
/** Most functions, returned by methods, that a plugin can call. The oldest ones are dropped. */
const MAX_FUNCTIONS = 1_000;
/** Most methods of one context. */
const MAX_METHODS = 1_000_000;
/** Most arguments of a call of the event bus: each listener gets all of them, one by one. */
const MAX_BUS_ARGUMENTS = 1_000;

/** @typedef {(args: any) => unknown} Run */
/** @typedef {(args: unknown[], path: string[]) => unknown[] | Promise<unknown[]>} Check returns what is permitted of the arguments, or throws */
/**
 * @typedef {object} Method
 * @property {string[]} path
 * @property {(args: any[]) => any} [prepare] examines the arguments: returns what `run` gets instead, or a promise for it if that takes long
 * @property {Run} run
 * @property {unknown} receiver
 * @property {Check} [check]
 */

/** One context, as the plugin may use it. */
class Gate {
  /** @type {Method[]} */ #methods = [];
  /** @type {Map<number, Method & { kept: import('../../common/quota.js').KeptFunction }>} */ #functions = new Map();
  /** above the numbers of all methods */
  #lastFunction = MAX_METHODS;
  /** The promise that was announced last, until the plugin requests it. @type {Promise<unknown> | undefined} */ #promise = undefined;
  #lastPromise = 0;
  /** whether its execution is in progress */
  isRunning = true;
  #listening = new Set();
  #permissions;
  #budget;
  #listeners;
  #argumentBudget;
  #inTurns;

  /**
   * @param {any} context the host's
   * @param {import('../permissions.js').PluginPermissions} permissions
   * @param {import('./storage.js').StorageAccount} storage
   * @param {import('./listeners.js').PluginListeners} listeners
   * @param {import('../isolate/budget.js').PluginBudget} budget
   * @param {import('../../common/quota.js').PluginArguments} argumentBudget
   * @param {import('../isolate/turns.js').InTurns} inTurns
   */
  constructor(context, permissions, storage, listeners, budget, argumentBudget, inTurns) {
    this.#permissions = permissions;
    this.#inTurns = inTurns;
    this.#budget = budget;
    this.#argumentBudget = argumentBudget;
    this.#listeners = listeners;
    this.#addLogger(member(context, 'logger'));
    this.#addCache(member(context, 'cache'), storage);
    this.#addOpen(member(context, 'metrics'), ['metrics'], (args) => args);
    this.#addBus(member(context, 'eventBus'));
    this.#addOthers(context);
  }

  /** Whether the plugin is certain to use this context again. Promises are requested at once or never. */
  get isInUse() {
    for (const id of this.#listening) {
      if (!this.#listeners.has(id)) {
        this.#listening.delete(id);
      }
    }
    return this.isRunning || this.#listening.size > 0;
  }

  /** The methods' paths in the plugin's context, in the order of their numbers. */
  get paths() {
    return this.#methods.map(({ path }) => path);
  }

  /**
   * Calls a method for the plugin.
   * @param {unknown} number
   * @param {unknown} args
   * @param {import('../isolate/actors.js').Caller} caller
   * @returns {unknown[] | Promise<unknown[]>} an answer: one of ANSWER, and the value
   */
  call(number, args, caller) {
    const method = typeof number === 'number' ? this.#methods[number] ?? this.#functions.get(number) : undefined;
    if (method === undefined || !Array.isArray(args)) {
      throw invalid('There is no such method');
    }
    if (this.#budget.isSpent) {
      const { id, cpuLimit } = this.#permissions.plugin;
      throw this.#permissions.refuse('CPU', method.path.join('.'), `Plugin '${id}' has used up its ${cpuLimit}ms`);
    }
    caller.count();
    // The plugin requests a promise before it calls again, or never: it may have no stack left.
    this.#promise = undefined;
    const bytes = weightOf(args);
    this.#argumentBudget.check(bytes);
    return this.#budget.during(() => {
      const prepared = method.prepare === undefined ? args : method.prepare(args);
      return types.isPromise(prepared) ? this.#callLater(method, prepared, bytes, caller) : this.#answer(method.run(prepared), method, bytes);
    });
  }

  /**
   * @param {Method} method
   * @param {Promise<any>} prepared
   * @param {number} bytes of the arguments
   * @param {import('../isolate/actors.js').Caller} caller
   */
  async #callLater(method, prepared, bytes, caller) {
    const args = await prepared;
    return caller.during(() => this.#budget.during(() => this.#answer(method.run(args), method, bytes)));
  }

  /**
   * A promise that an answer announced.
   * @param {unknown} id
   */
  promised(id) {
    const promise = id === this.#lastPromise ? this.#promise : undefined;
    this.#promise = undefined;
    return promise ?? Promise.reject(invalid('There is no such promise'));
  }

  /**
   * @param {any} result
   * @param {Method} method that returned it
   * @param {number} bytes of the arguments
   */
  #answer(result, method, bytes) {
    const { check, path, receiver } = method;
    if (typeof result === 'function') {
      return [ANSWER.FUNCTION, this.#addFunction(result, path, bytes, check)];
    }
    if (!isThenable(result)) {
      return [ANSWER.VALUE, result === receiver ? undefined : result];
    }
    const promise = adopt(result).then((value) => {
      if (value === receiver || typeof value === 'function') {
        return undefined;
      }
      // The plugin requests it later, or never.
      guard(ORIGIN.CONTEXT, value);
      return value;
    });
    // The plugin may be stopped before it requests the promise.
    promise.catch((error) => discardThrown(ORIGIN.CONTEXT, error));
    this.#argumentBudget.take(bytes, promise);
    this.#lastPromise += 1;
    this.#promise = promise;
    return [ANSWER.PROMISE, this.#lastPromise];
  }

  /**
   * @param {string[]} path
   * @param {unknown} receiver
   * @param {Run} run
   * @param {Method['prepare']} [prepare]
   */
  #add(path, receiver, run, prepare) {
    this.#methods.push({ path, run, receiver, ...(prepare === undefined ? {} : { prepare }) });
  }

  /**
   * Adds a function that a method returned, such as one that ends a timer or undoes something. Its arguments are checked as for the method.
   * @param {Function} target
   * @param {string[]} path
   * @param {number} bytes of the arguments of the call that returned it
   * @param {Check} [check]
   * @returns {number}
   */
  #addFunction(target, path, bytes, check) {
    const number = this.#lastFunction += 1;
    const functions = this.#functions;
    const kept = this.#argumentBudget.keep(bytes, () => functions.delete(number));
    functions.set(number, {
      kept,
      path,
      receiver: undefined,
      ...(check === undefined ? {} : { check, prepare: (args) => check(args, path) }),
      run: (args) => Reflect.apply(target, undefined, args),
    });
    if (functions.size > MAX_FUNCTIONS) {
      const [[oldest, method]] = functions;
      functions.delete(oldest);
      this.#argumentBudget.drop(method.kept);
    }
    return number;
  }

  /** @param {any} logger */
  #addLogger(logger) {
    for (const level of LOGGER_METHODS) {
      const target = member(logger, level);
      if (typeof target === 'function') {
        this.#add(['logger', level], logger, (/** @type {unknown[] | undefined} */ values) => {
          if (values !== undefined) {
            discard(ORIGIN.LOGGER, Reflect.apply(target, logger, values));
          }
        }, (args) => (this.#permissions.log.admits() ? this.#shown(args) : undefined));
      }
    }
  }

  /** @param {unknown[]} args */
  #shown(args) {
    return whenDone(this.#inTurns(entryLimits(), (work) => new Shown(args, work)), ({ values, bytes }) => (this.#permissions.log.hasRoom(bytes) ? values : undefined));
  }

  /**
   * @param {any} cache
   * @param {import('./storage.js').StorageAccount} storage
   */
  #addCache(cache, storage) {
    const permissions = this.#permissions;
    const { quota, cpuLimit } = permissions.plugin;
    for (const name of /** @type {(keyof typeof CACHE_METHODS)[]} */ (Object.keys(CACHE_METHODS))) {
      const target = member(cache, name);
      if (typeof target === 'function') {
        const method = `cache.${name}`;
        this.#add(['cache', name], cache, ({ key, rest, size }) => {
          const access = { run: (/** @type {any[]} */ own) => settled(Reflect.apply(target, cache, own)), isThere: prober(cache) };
          return storage.perform(name, key, rest, size, access, quota ?? 0, (message) => permissions.refuse('STORAGE', method, message));
        }, (args) => {
          if (quota === undefined) {
            throw permissions.lacks('STORAGE', method, 'storage');
          }
          const [key, ...rest] = readArguments(name, args);
          if (name !== 'set') {
            return { key, rest, size: 0 };
          }
          const measured = this.#inTurns({ time: cpuLimit }, (work) => valueSize(rest[0], quota, work));
          return whenDone(measured, (measurement) => ({ key, rest, size: storedBytes(measurement) }));
        });
      }
    }
  }

  /** @param {any} bus */
  #addBus(bus) {
    if (bus === undefined || bus === null) {
      return;
    }
    const permissions = this.#permissions;
    const listeners = this.#listeners;
    /** @type {Record<string, (event: unknown, rest: any[], method: string) => unknown>} */
    const meanings = {
      on: (event, [id], method) => listen(event, id, false, method),
      once: (event, [id], method) => listen(event, id, true, method),
      off: (event, [id], method) => listeners.remove(id, permissions.checkEvent(event, method)),
      emit: (event, rest, method) => bus.emit(emitted(event, method), ...rest),
      emitAsync: (event, rest, method) => bus.emitAsync(emitted(event, method), ...rest),
      listenerCount: (event, _rest, method) => bus.listenerCount(permissions.checkEvent(event, method)),
      eventNames() {
        const names = bus.eventNames();
        discard(ORIGIN.EVENT_BUS, names);
        return [...names].filter((name) => permissions.plugin.hooks.has(name));
      },
      // It removes the plugin's own listeners; those of the host and of other plugins stay.
      removeAllListeners: (event, _rest, method) =>
        listeners.removeAll(event === undefined ? undefined : permissions.checkEvent(event, method)),
    };
    /**
     * @param {unknown} event
     * @param {string} method
     */
    const emitted = (event, method) => {
      const name = permissions.checkEvent(event, method);
      // Without a listener, an `EventEmitter` throws an error with a description of the argument, which may take any time and memory.
      if (name === 'error' && typeof member(bus, 'listenerCount') === 'function') {
        const listenerCount = bus.listenerCount(name);
        discard(ORIGIN.EVENT_BUS, listenerCount);
        if (listenerCount === 0) {
          throw new Error("The event 'error' has no listeners");
        }
      }
      return name;
    };
    /**
     * @param {unknown} event
     * @param {unknown} id
     * @param {boolean} once
     * @param {string} method
     */
    const listen = (event, id, once, method) => {
      const name = permissions.checkEvent(event, method);
      if (listeners.isFull) {
        throw new RangeError('Too many listeners');
      }
      listeners.add(bus, name, /** @type {number} */ (id), once);
      this.#listening.add(id);
    };
    for (const name of BUS_METHODS) {
      const meaning = /** @type {(typeof meanings)[string]} */ (meanings[name]);
      if (typeof member(bus, name) === 'function' || (name === 'once' && typeof member(bus, 'on') === 'function')) {
        const method = `eventBus.${name}`;
        const count = (/** @type {unknown[]} */ args) => {
          permissions.checkEvent(args[0], method);
          return whenDone(this.#inTurns({}, (work) => new Count(args, method, work)), () => args);
        };
        this.#add(['eventBus', name], bus, ([event, ...rest]) => meaning(event, rest, method), (args) => {
          if (args.length > MAX_BUS_ARGUMENTS) {
            throw new RangeError(`The event bus takes at most ${MAX_BUS_ARGUMENTS} arguments`);
          }
          return name.startsWith('emit') ? count(args) : args;
        });
      }
    }
  }

  /**
   * Adds the other members of a context: functions, and objects of functions. They may take URLs.
   * @param {any} context
   */
  #addOthers(context) {
    for (const key of Object.keys(context)) {
      if (KNOWN.has(key) || isHidden(key)) {
        continue;
      }
      /** @type {Check} */
      const check = (args, path) => this.#withUrls(args, path);
      const value = context[key];
      if (typeof value === 'function') {
        this.#addMethod(value, context, [key], check);
      } else {
        this.#addOpen(value, [key], check);
      }
    }
  }

  /**
   * Checks URLs and hosts in the arguments of a call, which are clones, and replaces them with the normalized ones.
   * @param {unknown[]} args
   * @param {string[]} path of the method
   */
  #withUrls(args, path) {
    const permissions = this.#permissions;
    return whenDone(this.#inTurns(URL_LIMITS, (work) => new UrlCheck(permissions.plugin.domains, args, work)), ({ refused }) => {
      if (refused !== undefined) {
        throw permissions.lacks('NETWORK', path.join('.'), `network:${refused}`);
      }
      return args;
    });
  }

  /**
   * Adds all methods of an object, including those of its class and of objects in it.
   * @param {any} holder
   * @param {string[]} path
   * @param {Check} check
   */
  #addOpen(holder, path, check) {
    if (typeof holder !== 'object' || holder === null || isData(holder) || path.length > MAX_DEPTH) {
      return;
    }
    const names = methodNames(holder);
    for (const name of names) {
      const value = holder[name];
      if (typeof value === 'function') {
        this.#addMethod(value, holder, [...path, name], check);
      } else if (Object.hasOwn(holder, name)) {
        this.#addOpen(value, [...path, name], check);
      }
    }
  }

  /**
   * @param {Function} target
   * @param {unknown} receiver
   * @param {string[]} path
   * @param {Check} check
   */
  #addMethod(target, receiver, path, check) {
    this.#methods.push({
      path,
      receiver,
      check,
      prepare: (args) => check(args, path),
      run: (args) => Reflect.apply(target, receiver, args),
    });
  }
}

/**
 * Converts any kind of promise to a plain `Promise`.
 * @param {any} result
 */
const settled = (result) => (isThenable(result) ? adopt(result) : result);

/**
 * A function that asks a cache whether it has something. It returns false, or a promise for false, if the cache says no in any way.
 * @param {any} cache
 * @returns {(name: string) => unknown}
 */
function prober(cache) {
  const method = ['exists', 'has', 'get'].find((name) => typeof member(cache, name) === 'function');
  if (method === undefined) {
    return () => true;
  }
  /** @param {unknown} found */
  const isThere = (found) => {
    discard(ORIGIN.CACHE, found);
    return found !== undefined && found !== null && (method === 'get' || (found !== false && found !== 0));
  };
  return (name) => {
    const found = settled(cache[method](name));
    return types.isPromise(found) ? found.then(isThere, () => true) : isThere(found);
  };
}

/**
 * Continues after a task, now or when it is done.
 * @template T, R
 * @param {T | Promise<T>} task
 * @param {(task: T) => R} next
 * @returns {R | Promise<R>}
 */
const whenDone = (task, next) => (types.isPromise(task) ? afterTask(task, next) : next(task));

/**
 * @template T, R
 * @param {Promise<T>} task
 * @param {(task: T) => R} next
 */
const afterTask = async (task, next) => next(await task);

/** @param {string} name */
const isHidden = (name) => RESERVED.has(name) || name.startsWith('_');

/** @param {object} value */
const isData = (value) => Array.isArray(value) || ArrayBuffer.isView(value) || types.isPromise(value) || types.isMap(value)
  || types.isSet(value) || types.isDate(value) || types.isRegExp(value) || types.isNativeError(value) || types.isAnyArrayBuffer(value);

/**
 * Names of the members of an object and its classes, except `Object`. Accessors of classes are ignored.
 * @param {object} holder
 * @returns {Set<string>}
 */
function methodNames(holder) {
  const names = new Set(Object.keys(holder));
  /** @param {object | null} object */
  const above = (object) => (object === null ? null : Object.getPrototypeOf(object));
  // The last one is `Object.prototype`, perhaps of another realm.
  for (let level = above(holder); above(level) !== null; level = above(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof value === 'function') {
        names.add(name);
      }
    }
  }
  for (const name of names) {
    if (isHidden(name)) {
      names.delete(name);
    }
  }
  return names;
}

/** @typedef {Gate} PluginGate */

module.exports = { Gate };
