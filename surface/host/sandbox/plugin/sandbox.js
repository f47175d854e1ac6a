'use strict';
// `PluginSandbox`: runs plugins, each in an isolate that keeps its state from one execution to the next. `gate.js` determines what
// a plugin can access of its host.

const { now } = require('../../clock.js');
const { defineDisposal } = require('../../../core/classes.js');
const { CODE } = require('../../../core/error.js');
const { thrownText } = require('../../wire/faults.js');
const { failureOf, startExecution } = require('../../diagnostics.js');
const { discard, ORIGIN } = require('../../calls/host-calls.js');
const { disposed } = require('../common/execution.js');
const { Permissions } = require('./permissions.js');
const { MAX_TIME, readManifest } = require('./manifest.js');
const { checkOptions, member, own, readBoolean, readListener, readNumber, readSignal, SIGNAL, wrong } = require('../common/options.js');
const { NotFoundError, PluginError, SandboxViolationError } = require('./errors.js');
const { PluginIsolate } = require('./isolate/isolate.js');
const { Log } = require('./context/log.js');
const { Account } = require('./context/storage.js');

/** Options of an execution. */
const OPTIONS = Object.freeze(['fresh', 'deadline', 'onUsage', ...SIGNAL]);

const MEGABYTE = 2 ** 20;
/** Fraction of the memory limit above which a warning is logged. */
const HIGH = 0.9;

/** Isolates that the process has created. Handles are found by their ids, so an id must not occur in two sandboxes. */
let created = 0;

/**
 * @typedef {object} SandboxIsolate
 * @property {string} id
 * @property {string} pluginId
 * @property {number} memoryLimit megabytes
 * @property {number} cpuLimit milliseconds
 */

/**
 * The internal state of a `SandboxIsolate`.
 * @typedef {object} Entry
 * @property {SandboxIsolate} handle
 * @property {number} made when it was created
 * @property {import('./permissions.js').PluginPermissions} permissions
 * @property {import('./context/storage.js').StorageAccount} storage
 * @property {import('./context/log.js').PluginLog} log
 * @property {import('./isolate/isolate.js').Running} own the isolate that keeps state
 * @property {Set<import('./isolate/isolate.js').Running>} fresh isolates for one execution each
 * @property {number | undefined} reported megabytes, from `updateMemoryUsage`
 */

/**
 * @param {unknown} error
 * @returns {string | undefined}
 */
const codeOf = (error) => (error instanceof Error ? own(error, 'code') : undefined);

/** @param {unknown} thrown */
const messageOf = (thrown) => (thrown instanceof Error ? thrown.message : thrownText(thrown));

/**
 * Whether an error is the reason for which an execution was aborted.
 * @param {unknown} error
 * @param {any} signal from `readSignal`
 */
const isReason = (error, signal) => signal?.aborted === true && Object.is(error, signal.reason);

/**
 * What a program can write to its log together with the error: a long BigInt would take minutes.
 * @param {unknown} thrown
 */
const causeOf = (thrown) => (typeof thrown === 'bigint' && thrownText(thrown) === 'BigInt' ? 'BigInt' : thrown);

/**
 * @param {import('../../../index.js').Core} core
 * @param {() => import('./isolate/isolate.js').Classes} classes
 * @param {(options: unknown) => import('./isolate/runtime.js').PluginRuntime} readRuntime
 */
function createPluginSandbox(core, classes, readRuntime) {
  class PluginSandbox {
    /** @type {Map<string, Entry>} */ #entries = new Map();
    /** @type {Map<string, import('./context/storage.js').StorageAccount>} */ #storages = new Map();
    #log;
    #runtime;
    /** Executions that have not ended. @type {Set<Promise<unknown>>} */ #running = new Set();
    #isClosed = false;

    /**
     * The parameters have defaults, so that `length` is 0: containers such as tsyringe then construct the class without further information.
     * @param {any} [logger]
     * @param {any} [options]
     */
    constructor(logger = undefined, options = undefined) {
      if (logger !== undefined && logger !== null && typeof logger !== 'object' && typeof logger !== 'function') {
        throw wrong('logger', 'an object');
      }
      const child = typeof member(logger, 'child') === 'function' ? logger.child({ component: 'IsolatedVmSandbox' }) : logger;
      discard(ORIGIN.LOGGER, child);
      this.#log = new Log(child);
      this.#runtime = readRuntime(options);
    }

    /**
     * @param {any} manifest
     * @returns {Promise<SandboxIsolate>}
     */
    async createIsolate(manifest) {
      const plugin = readManifest(manifest);
      if (this.#isClosed) {
        throw disposed();
      }
      const { id: pluginId, memoryLimit, cpuLimit } = plugin;
      created += 1;
      const id = `isolate_${pluginId}_${created}_${Date.now()}`;
      this.#log.say('info', 'Creating isolate', { isolateId: id, pluginId, memoryLimit, cpuLimit });
      const log = this.#log.with({ pluginId });
      const permissions = new Permissions(plugin, log);
      const storage = this.#storages.get(pluginId) ?? new Account(pluginId);
      this.#storages.set(pluginId, storage);
      /** @type {Entry} */
      const entry = {
        handle: this.#handle({ id, pluginId, memoryLimit, cpuLimit }),
        made: Date.now(),
        permissions,
        storage,
        log,
        own: new PluginIsolate(core, classes(), permissions, storage, log, this.#runtime, id, (error) => this.#failed(entry, entry.own, error)),
        fresh: new Set(),
        reported: undefined,
      };
      this.#entries.set(id, entry);
      await this.#start(entry, entry.own);
      return entry.handle;
    }

    /**
     * @param {Entry} entry
     * @param {import('./isolate/isolate.js').Running} running
     * @param {import('./isolate/isolate.js').Ending} [ending] of the execution for which it is
     */
    async #start(entry, running, ending) {
      try {
        await running.start(ending?.until, ending?.signal);
      } catch (error) {
        running.dispose();
        throw isReason(error, ending?.signal) ? error : this.#located(running.begin(''), this.#failed(entry, running, error, ending), error);
      }
    }

    /**
     * @param {SandboxIsolate} handle
     * @returns {SandboxIsolate} the handle, which can be declared with `using`
     */
    #handle(handle) {
      defineDisposal(handle, () => this.dispose(handle));
      return Object.freeze(handle);
    }

    /**
     * @param {SandboxIsolate} isolate
     * @param {string} code
     * @param {any} context
     * @param {any} [options]
     * @returns {Promise<any>}
     */
    async executeInSandbox(isolate, code, context, options) {
      if (typeof isolate?.id !== 'string') {
        throw wrong('isolate', 'what `createIsolate` has resolved with');
      }
      const entry = this.#find(isolate);
      if (entry === undefined) {
        throw new NotFoundError('Isolate', isolate.id);
      }
      if (typeof code !== 'string') {
        throw wrong('code', 'a string');
      }
      if (typeof context !== 'object' || context === null) {
        throw wrong('context', 'an object');
      }
      const settings = checkOptions(options, OPTIONS);
      const deadline = readNumber(settings, 'deadline', entry.own.deadline, 1);
      if (deadline > MAX_TIME) {
        throw wrong('deadline', `at most ${MAX_TIME}`);
      }
      const called = now();
      const ending = {
        deadline: Math.ceil(deadline), until: called + Math.ceil(deadline), signal: readSignal(settings), onUsage: readListener(settings, 'onUsage', 'ON_USAGE'),
      };
      const check = this.#checkMemory(entry, ending);
      if (check !== undefined) {
        await check;
        if (this.#find(isolate) !== entry) {
          throw new NotFoundError('Isolate', isolate.id);
        }
      }
      const start = now();
      let value;
      const running = readBoolean(settings, 'fresh')
        ? this.#executeFresh(entry, code, context, ending)
        : this.#execute(entry, entry.own, code, context, ending);
      this.#running.add(running);
      try {
        value = await running;
      } finally {
        this.#running.delete(running);
      }
      this.#log.say('debug', 'Code executed', { isolateId: entry.handle.id, executionTime: Math.round(now() - start) });
      return value;
    }

    /**
     * @param {Entry} entry
     * @param {string} code
     * @param {any} context
     * @param {import('./isolate/isolate.js').Ending} ending
     */
    async #executeFresh(entry, code, context, ending) {
      /** @type {import('./isolate/isolate.js').Running} */
      const fresh = new PluginIsolate(core, classes(), entry.permissions, entry.storage, entry.log, this.#runtime, entry.handle.id,
        (error) => this.#failed(entry, fresh, error));
      entry.fresh.add(fresh);
      try {
        await this.#start(entry, fresh, ending);
        return await this.#execute(entry, fresh, code, context, ending);
      } finally {
        entry.fresh.delete(fresh);
        fresh.dispose();
      }
    }

    /**
     * @param {Entry} entry
     * @param {import('./isolate/isolate.js').Running} running
     * @param {string} code
     * @param {any} context
     * @param {import('./isolate/isolate.js').Ending} ending
     */
    async #execute(entry, running, code, context, ending) {
      const { pluginId, memoryLimit } = entry.handle;
      const ended = startExecution('PluginSandbox', { timeout: ending.deadline, memoryLimit, pluginId }, code);
      /** @type {import('../../diagnostics.js').Result['failure']} */
      let failure;
      const execution = running.begin(code);
      try {
        return await running.execute(execution, code, context, ending);
      } catch (error) {
        failure = ended && failureOf(error);
        if (isReason(error, ending.signal)) {
          throw error;
        }
        const message = this.#runtime.describe(error, messageOf(error), code);
        throw this.#located(execution, this.#failed(entry, running, error, ending, message), error, message);
      } finally {
        await running.measure();
        ended?.({ failure, usage: execution.usage });
        ending.onUsage?.(execution.usage);
        if (running === entry.own) {
          entry.reported = undefined;
          this.#warnOfMemory(entry);
        }
      }
    }

    /**
     * The error that the host gets for a failure.
     * @param {Entry} entry
     * @param {import('./isolate/isolate.js').Running} running
     * @param {unknown} error
     * @param {import('./isolate/isolate.js').Ending} [ending] of the execution
     * @param {string} [message]
     * @returns {Error}
     */
    #failed(entry, running, error, ending = undefined, message = messageOf(error)) {
      if (error instanceof PluginError || error instanceof SandboxViolationError) {
        return error;
      }
      const { pluginId, memoryLimit, cpuLimit } = entry.handle;
      const code = codeOf(error);
      if (running === entry.own && running.isDisposed && this.#entries.has(entry.handle.id)) {
        this.#end(entry, running.isExhausted ? 'cpu' : code === CODE.MEMORY ? 'memory' : 'failure');
      }
      if (running.isExhausted) {
        return new SandboxViolationError(pluginId, 'CPU', `Plugin execution exceeded ${cpuLimit}ms timeout`, error);
      }
      // A plugin that does not stop has passed one of its limits before its grace period.
      const isLate = code === CODE.DEADLINE || (ending !== undefined && now() >= ending.until);
      switch (code) {
        case CODE.UNRESPONSIVE:
        case CODE.DEADLINE:
          return new SandboxViolationError(pluginId, 'CPU', `Plugin execution exceeded ${isLate ? ending?.deadline ?? running.deadline : cpuLimit}ms timeout`, error);
        case CODE.TIMEOUT:
          return new SandboxViolationError(pluginId, 'CPU', `Plugin execution exceeded ${cpuLimit}ms timeout`, error);
        case CODE.MEMORY:
          return new SandboxViolationError(pluginId, 'MEMORY', `Plugin exceeded ${memoryLimit}MB memory limit`, error);
        case CODE.DISPOSED:
          return new PluginError(pluginId, 'EXECUTE', 'Plugin execution failed: Isolate was disposed during execution', error);
        default:
          return entry.permissions.violationOf(error)
            ?? new PluginError(pluginId, 'EXECUTE', `Plugin execution failed: ${message}`, causeOf(error));
      }
    }

    /**
     * @param {import('./isolate/execution.js').PluginExecution} execution
     * @param {Error} error what the host gets
     * @param {unknown} thrown what the plugin failed with
     * @param {string} [message] its message
     */
    #located(execution, error, thrown, message = messageOf(thrown)) {
      return execution.locate(error, thrown, error instanceof SandboxViolationError ? error.message : message);
    }

    /**
     * @param {any} isolate
     * @returns {Entry | undefined} also undefined if it has ended by itself
     */
    #find(isolate) {
      const entry = this.#entries.get(isolate?.id);
      if (entry !== undefined && entry.own.isDisposed) {
        this.#end(entry, 'failure');
        return undefined;
      }
      return entry;
    }

    /** @returns {Entry[]} */
    #active() {
      return [...this.#entries.values()].filter(({ handle }) => this.#find(handle) !== undefined);
    }

    /**
     * @param {Entry} entry
     * @returns {number} megabytes
     */
    #usage(entry) {
      return entry.reported ?? entry.own.used / MEGABYTE;
    }

    /**
     * @param {Entry} entry
     * @param {import('./isolate/isolate.js').Ending} ending of the execution that is about to begin
     * @returns {Promise<void> | undefined} undefined if there is memory left
     */
    #checkMemory(entry, ending) {
      if (entry.reported !== undefined) {
        this.#warnOfMemory(entry);
      }
      return this.#usage(entry) < entry.handle.memoryLimit ? undefined : this.#refuseUnlessGarbage(entry, ending);
    }

    /**
     * @param {Entry} entry
     * @param {import('./isolate/isolate.js').Ending} ending
     */
    async #refuseUnlessGarbage(entry, { until, signal }) {
      const { pluginId, memoryLimit } = entry.handle;
      if (entry.reported === undefined) {
        await entry.own.collect(until, signal);
      }
      if (signal?.aborted === true) {
        throw signal.reason;
      }
      const usage = this.#usage(entry);
      if (usage >= memoryLimit) {
        throw new SandboxViolationError(pluginId, 'MEMORY', `Memory limit exceeded: ${usage}MB >= ${memoryLimit}MB`);
      }
    }

    /** @param {Entry} entry */
    #warnOfMemory(entry) {
      const { id, pluginId, memoryLimit } = entry.handle;
      const usage = this.#usage(entry);
      if (usage > memoryLimit * HIGH) {
        this.#log.say('warn', 'Memory usage high', { isolateId: id, pluginId, usage, limit: memoryLimit });
      }
    }

    /**
     * @param {Entry} entry
     * @param {string} [reason] if the host did not request it
     */
    #end(entry, reason) {
      const { id, pluginId } = entry.handle;
      this.#entries.delete(id);
      if (entry.storage.isEmpty && ![...this.#entries.values()].some(({ storage }) => storage === entry.storage)) {
        this.#storages.delete(pluginId);
      }
      entry.own.dispose();
      for (const fresh of entry.fresh) {
        fresh.dispose();
      }
      this.#log.say('info', 'Isolate disposed', {
        isolateId: id, pluginId, lifetime: Date.now() - entry.made, ...(reason === undefined ? {} : { reason }),
      });
    }

    /** @param {SandboxIsolate} isolate */
    dispose(isolate) {
      const entry = this.#find(isolate);
      if (entry !== undefined) {
        this.#end(entry);
      }
    }

    disposeAll() {
      const active = this.#active();
      for (const entry of active) {
        this.#end(entry);
      }
      this.#log.say('info', 'All isolates disposed', { count: active.length });
    }

    /** Ends all isolates; later ones are refused. Resolves when their executions have settled. */
    async close() {
      if (!this.#isClosed || this.#entries.size > 0) {
        this.#isClosed = true;
        this.disposeAll();
      }
      await Promise.allSettled(this.#running);
    }

    /**
     * @param {SandboxIsolate} isolate
     * @returns {number} bytes
     */
    getMemoryUsage(isolate) {
      const entry = this.#find(isolate);
      return entry === undefined ? 0 : Math.round(this.#usage(entry) * MEGABYTE);
    }

    /**
     * @param {string} isolateId
     * @param {number} memoryMB
     */
    updateMemoryUsage(isolateId, memoryMB) {
      if (typeof memoryMB !== 'number' || !(memoryMB >= 0)) {
        throw wrong('memoryMB', 'a number of at least 0');
      }
      const entry = this.#entries.get(isolateId);
      if (entry !== undefined) {
        entry.reported = memoryMB;
      }
    }

    getActiveIsolateCount() {
      return this.#active().length;
    }

    /** @returns {readonly SandboxIsolate[]} */
    getActiveIsolates() {
      return this.#active().map(({ handle }) => handle);
    }
  }

  return { PluginSandbox };
}

module.exports = { createPluginSandbox };
