'use strict';
// What `createContext` adds to a context on request: web APIs, timers and a console, as in the sandboxes.

const { CallbackRecord } = require('../../../api/callback.js');
const { coded } = require('../../../core/error.js');
const { recordOf, stamp } = require('../../../core/handle.js');
const { CALLBACK, KIND, MODE, TRANSFER } = require('../../../core/protocol.js');
const { notify, ORIGIN, report } = require('../../calls/host-calls.js');
const { CONSOLE_METHOD, CONTEXT_GLOBALS, record } = require('../../protocol.js');
const { bare, member, readWeb, wrong } = require('../common/options.js');

/** Characters of a console entry. */
const MAX_LENGTH = 10_000;

/**
 * Creates the console: the body of a function, which runs before other code of the context. Its arguments are a list with the function that
 * formats a call's arguments, the function of the host, the names of the methods, and their levels.
 */
const CONSOLE = `'use strict';
const format = $0[0];
const send = $1;
const methods = $2;
const levels = $3;
const { defineProperty } = Object;
const data = (value, enumerable) => ({ __proto__: null, value, writable: true, enumerable, configurable: true });
const console = {};
for (let index = 0; index < methods.length; index += 1) {
  const method = methods[index];
  const level = levels[index];
  const log = { [method](...args) { const text = format(args, index); if (text !== undefined) send(level, text); } }[method];
  defineProperty(console, method, data(log, true));
}
defineProperty(globalThis, 'console', data(console, false));`;

/** @typedef {(level: string, message: string) => void} Sink */

/**
 * @param {unknown} option
 * @returns {Sink | undefined}
 */
function readSink(option) {
  if (option === undefined || option === null || option === false) {
    return undefined;
  }
  const target = option === true ? console : option;
  if (typeof target === 'function') {
    return (level, message) => { notify(ORIGIN.CONSOLE, target, undefined, [{ level, message }]); };
  }
  if (typeof target !== 'object') {
    throw wrong('console', 'a boolean, a function, or an object with methods such as `log`');
  }
  return (level, message) => {
    const method = member(target, level);
    if (typeof method === 'function') {
      notify(ORIGIN.CONSOLE, method, target, [message]);
    }
  };
}

/**
 * The function that gets what timers have thrown: code, name and message.
 * @param {unknown} option
 * @returns {((code: string | undefined, name: string, message: string) => void) | undefined}
 */
function readTimers(option) {
  const isFunction = typeof option === 'function';
  if (option === undefined || option === null || option === false) {
    return undefined;
  }
  if (!isFunction && option !== true) {
    throw wrong('timers', 'a boolean or a function');
  }
  return (code, name, message) => {
    const error = code === undefined ? new Error(message) : coded(Error, message, code);
    if (name !== 'Error') {
      Object.defineProperty(error, 'name', bare({ value: name, writable: true, enumerable: false, configurable: true }));
    }
    if (isFunction) {
      notify(ORIGIN.TIMER, /** @type {Function} */ (option), undefined, [error]);
    } else {
      report(ORIGIN.TIMER, error);
    }
  };
}

/**
 * @param {(...args: any[]) => void} target
 */
const ignored = (target) => stamp({}, KIND.CALLBACK, new CallbackRecord(target, CALLBACK.IGNORED));

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 * @returns {NonNullable<import('../../../index.js').Binding['contextGlobals']>}
 */
function createContextGlobals(core, environment, ivm) {
  return function contextGlobals(webOption, timersOption, consoleOption) {
    const web = readWeb(bare({ web: webOption }));
    const failed = readTimers(timersOption);
    const sink = readSink(consoleOption);

    /** @param {string[]} list */
    const copied = (list) => new (ivm().ExternalCopy)(list).copyInto(bare({ release: true }));

    /** @param {any} functions a Reference to a list */
    const closure = (functions) => [
      CONSOLE,
      [functions.derefInto(bare({ release: true })), ignored(/** @type {Sink} */ (sink)), copied(Object.keys(CONSOLE_METHOD)), copied(Object.values(CONSOLE_METHOD))],
      bare({ filename: '<console>' }),
    ];

    /**
     * @param {any} context
     * @param {number} mode
     * @param {Function} method
     * @param {any} signal
     */
    function install(context, mode, method, signal) {
      const call = core.begin(mode, method, signal);
      const listener = failed && core.binding.pack(ignored(failed), TRANSFER.DEFAULT);
      const carrier = environment.installGlobals(mode, call === undefined ? 0 : call.request, recordOf(context, KIND.CONTEXT).entry.id, record(CONTEXT_GLOBALS, {
        web,
        timers: listener,
        moduleIndex: undefined,
        moduleSources: undefined,
        maxLogLength: sink && MAX_LENGTH,
        isPlugin: 0,
      }));
      return core.conclude(mode, call, carrier, method);
    }

    /**
     * @param {any} context
     * @param {Function} method
     * @param {any} signal
     */
    async function later(context, method, signal) {
      try {
        const functions = await install(context, MODE.ASYNC, method, signal);
        if (sink === undefined) functions.release();
        else await context.evalClosure(...closure(functions));
        return context;
      } catch (error) {
        context.release();
        throw error;
      }
    }

    return function installGlobals(context, mode, method, signal) {
      if (mode === MODE.ASYNC) {
        return later(context, method, signal);
      }
      try {
        const functions = install(context, mode, method, signal);
        if (sink === undefined) functions.release();
        else context.evalClosureSync(...closure(functions));
        return context;
      } catch (error) {
        context.release();
        throw error;
      }
    };
  };
}

/** @param {unknown} web the option of this name */
const webBits = (web) => readWeb(bare({ web }));

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 */
const createContextMembers = (core, environment, ivm) => ({ contextGlobals: createContextGlobals(core, environment, ivm), webBits });

module.exports = { createContextMembers };
