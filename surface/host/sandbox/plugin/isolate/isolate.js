'use strict';
// One isolate of a plugin, with the realm that its executions share.

const { CALLBACK, KIND } = require('../../../../core/protocol.js');
const { LEVELS } = require('../../../protocol.js');
const { CallbackRecord } = require('../../../../api/callback.js');
const { stamp } = require('../../../../core/handle.js');
const { ORIGIN } = require('../../../calls/host-calls.js');
const { answerLater } = require('../../../requests/serve.js');
const { Actors } = require('./actors.js');
const { Budget } = require('./budget.js');
const { BOOTSTRAP, ENTER } = require('../context/guest-context.js');
const { createEventCopies, inSlices } = require('../context/event-copies.js');
const { Gate } = require('../context/gate.js');
const { Listeners } = require('../context/listeners.js');
const { disposeOf } = require('../../common/disposal.js');
const { Executions } = require('../../common/executions.js');
const { plain } = require('../../common/plain.js');
const { ArgumentBudget, refusalOf } = require('../../common/quota.js');
const { RecentlyUsed } = require('./recently-used.js');
const { clearTimeout, setTimeout } = require('../../../clock.js');
const { types } = require('node:util');
const { CODE, coded, released } = require('../../../../core/error.js');
const { bare, member } = require('../../common/options.js');
const { Execution } = require('./execution.js');
const { errorOf } = require('./failure.js');
const { entryLimits, Shown } = require('../context/log.js');
const { createInTurns } = require('./turns.js');
const { leftUntil, withinLimits } = require('../../common/waiting.js');

/** Milliseconds that an execution may take by default, including everything that it waits for. */
const DEADLINE = 30_000;
/** Milliseconds that a measurement and a collection of garbage may take; the plugin may still be busy. */
const MEASURE_TIMEOUT = 50;
const COLLECT_TIMEOUT = 1_000;
/** Most contexts that are kept although they may not be needed. */
const MAX_IDLE = 256;
/** Most events that wait for a plugin. */
const MAX_EVENTS = 1_000;
/** Most bytes of their arguments. One event may take more. */
const MAX_EVENT_BYTES = 64 * 2 ** 20;

/** @typedef {import('../context/log.js').Level} Level */

/**
 * @typedef {object} Ending how an execution may end, and the listener for its usage
 * @property {any} signal from `readSignal`
 * @property {number} deadline milliseconds
 * @property {number} until when the deadline is over, as a value of `now()` in clock.js
 * @property {((usage: import('../../common/execution.js').Usage) => void) | undefined} onUsage
 */

/** @typedef {{ ExternalCopy: any }} Classes */

/** @typedef {import('./runtime.js').PluginRuntime} PluginRuntime */

class PluginIsolate {
  #core;
  #ivm;
  #plugin;
  #permissions;
  #storage;
  #log;
  #isolate;
  /** @type {any} */ #context;
  /** @type {any} */ #enter;
  #listeners;
  #budget;
  #runtime;
  #quota;
  /** The contexts that the plugin may still use: each execution has one. @type {import('./recently-used.js').RecentlyUsedTable<import('../context/gate.js').PluginGate>} */
  #gates = new RecentlyUsed(MAX_IDLE);
  #actors;
  #events = 0;
  /** the arguments of events that wait, with the number of deliveries of each @type {Map<import('../context/event-copies.js').Copy, number>} */
  #copies = new Map();
  #eventBytes = 0;
  /** settles when the events so far have been sent, if some wait for a slice @type {Promise<void> | undefined} */
  #sending = undefined;
  #copyFor;
  #argumentBudget;
  #inTurns;
  #executions = 0;
  #readings = new Executions();
  #underWay = 0;
  /** how many more entries of the plugin's console may be passed on */ #entries = 0;
  #isolateId;
  #failed;
  /** Whether it was ended because it used more CPU time than it may. */
  isExhausted = false;

  /**
   * @param {import('../../../../index.js').Core} core
   * @param {Classes} ivm
   * @param {import('../permissions.js').PluginPermissions} permissions
   * @param {import('../context/storage.js').StorageAccount} storage
   * @param {import('../context/log.js').PluginLog} log
   * @param {PluginRuntime} runtime
   * @param {string} isolateId the host's id for it
   * @param {(error: unknown) => Error} failed called with every failure; returns the error for the host
   */
  constructor(core, ivm, permissions, storage, log, runtime, isolateId, failed) {
    this.#core = core;
    this.#ivm = ivm;
    this.#plugin = permissions.plugin;
    this.#permissions = permissions;
    this.#storage = storage;
    this.#log = log;
    this.#runtime = runtime;
    this.#quota = runtime.quotaOf(this.#plugin.memoryLimit);
    this.#actors = new Actors(this.#quota.calls);
    this.#isolateId = isolateId;
    this.#failed = failed;
    this.#isolate = runtime.take(this.#plugin.memoryLimit);
    this.#budget = new Budget(this.#isolate, this.#plugin.cpuLimit, () => this.#exhausted());
    this.#copyFor = createEventCopies(core);
    this.#argumentBudget = new ArgumentBudget(this.#plugin.memoryLimit);
    this.#inTurns = createInTurns(core.binding);
    this.#listeners = new Listeners((id, event, args, bus, listener) => this.#deliver(id, event, args, bus, listener));
  }

  get isDisposed() {
    return this.#isolate.isDisposed;
  }

  /**
   * Creates the realm. Nothing else works before.
   * @param {number} [until] when to stop waiting for it, as a value of `now()` in clock.js
   * @param {any} [signal] from `readSignal`
   */
  async start(until = Infinity, signal = undefined) {
    await withinLimits(this.#start(), until, signal);
  }

  async #start() {
    this.#context = await this.#isolate.createContext();
    const { ExternalCopy } = this.#ivm;
    const report = answeredLater((/** @type {string} */ level, /** @type {unknown[]} */ args, /** @type {string | undefined} */ message) =>
      this.#report(level, args, message), CALLBACK.IGNORED);
    const levels = new ExternalCopy(LEVELS).copyInto(bare({ release: true }));
    const invoke = answeredLater((/** @type {unknown} */ actor, /** @type {unknown} */ gate, /** @type {unknown} */ method, /** @type {unknown} */ args) =>
      this.#actors.calls(actor, (caller) => this.#gate(gate).call(method, args, caller)), CALLBACK.SYNC);
    const wait = answeredLater(async (gate, promise) => this.#gate(gate).promised(promise), CALLBACK.ASYNC);
    const functions = await this.#runtime.install(this.#context, (code, name, message) => this.#timerFailed(code, name, message));
    this.#enter = await this.#context.evalClosure(BOOTSTRAP, [report, levels, invoke, wait, functions.derefInto(bare({ release: true }))],
      bare({ result: bare({ reference: true }), filename: '<plugin>' }));
    await this.measure();
  }

  /**
   * @param {unknown} number
   * @returns {import('../context/gate.js').PluginGate}
   */
  #gate(number) {
    const gate = this.#gates.use(number);
    if (gate === undefined) {
      throw released('This context belongs to an execution that has ended long ago');
    }
    return gate;
  }

  /**
   * Logs that a callback of a timer failed.
   * @param {string | undefined} code
   * @param {string} name
   * @param {string} message
   */
  #timerFailed(code, name, message) {
    if (this.#listeners.isClosed) {
      return;
    }
    const error = code === undefined ? new Error(message) : coded(Error, message, code);
    Object.defineProperty(error, 'name', bare({ value: name, writable: true, configurable: true }));
    this.#log.ofPlugin('error', 'Plugin timer failed', { reason: this.#failed(error).message }, error);
  }

  /** @returns {number} milliseconds that an execution may take in all by default */
  get deadline() {
    return Math.max(DEADLINE, this.#plugin.cpuLimit);
  }

  /**
   * Begins an execution, which `execute` then runs.
   * @param {string} code
   */
  begin(code) {
    this.#executions += 1;
    return new Execution(code, this.#executions, this.#runtime, (restart) => this.#runtime.meter(this.#isolate, restart), this.#underWay === 0,
      this.#actors.add());
  }

  /**
   * Runs a script. Resolves to a clone of its last value, which is awaited if it is a promise.
   * @param {import('./execution.js').PluginExecution} execution
   * @param {string} code
   * @param {any} context
   * @param {Ending} ending
   */
  async execute(execution, code, context, ending) {
    this.#underWay += 1;
    execution.actor.underWay += 1;
    try {
      const { signal, until } = ending;
      const found = this.#runtime.read(code, execution.file, { timeout: leftUntil(until), signal, readings: this.#readings });
      // Without anything to await, execution begins at once.
      const reading = found instanceof Promise ? await found : found;
      // In an isolate that has ended, running it says so.
      if (reading.failure !== undefined && !this.isDisposed) {
        throw errorOf(reading.failure);
      }
      return await this.#run(execution, reading, context, ending);
    } finally {
      execution.actor.underWay -= 1;
      this.#underWay -= 1;
    }
  }

  /**
   * @param {import('./execution.js').PluginExecution} execution
   * @param {import('../../common/reading.js').Reading} reading
   * @param {any} context
   * @param {Ending} ending
   */
  async #run(execution, reading, context, { signal, until }) {
    const gate = new Gate(context, this.#permissions, this.#storage, this.#listeners, this.#budget, this.#argumentBudget, this.#inTurns);
    const data = {
      number: execution.actor.number,
      gate: this.#gates.add(gate),
      pluginId: this.#plugin.id,
      paths: gate.paths,
      config: plain(member(context, 'config') ?? {}, ORIGIN.CONTEXT),
      allowedDomains: [...this.#plugin.domains],
    };
    const timeout = this.#plugin.cpuLimit;
    const limits = () => ({ timeout, deadline: leftUntil(until), signal });
    this.#begin(leftUntil(until));
    try {
      if (this.#sending !== undefined) {
        // Events that were emitted earlier come first.
        await withinLimits(this.#sending, until, signal);
      }
      const name = reading.modules && await this.#runtime.moduleOf(this.#context, reading, execution.file, limits());
      const [text, file] = name === undefined ? [reading.body.text, execution.file] : [runnerOf(name), '<plugin>'];
      const value = await this.#runtime.runAsActor(this.#context, this.#enter, [ENTER.BEGIN, data], { text, file }, limits());
      const refusal = await refusalOf(value, this.#quota.output, { signal, until, isGone: () => this.#isolate.isDisposed });
      if (refusal !== undefined) {
        throw coded(refusal.code === CODE.LIMIT ? /** @type {ErrorConstructor} */ (RangeError) : Error, refusal.value, refusal.code);
      }
      return value;
    } finally {
      gate.isRunning = false;
      this.#budget.finish();
    }
  }

  /**
   * Renews the plugin's CPU time and log entries, unless the plugin itself caused what begins.
   * @param {number} deadline milliseconds
   */
  #begin(deadline) {
    if (this.#budget.begin(this.#runtime.timers ? deadline : 0)) {
      this.#log.refill();
      this.#entries = this.#runtime.console.entries;
    }
  }

  /**
   * Calls a listener of the plugin.
   * @param {number} id
   * @param {string} event
   * @param {unknown[]} args
   * @param {unknown} bus
   * @param {object} listener
   */
  async #deliver(id, event, args, bus, listener) {
    if (this.#events >= MAX_EVENTS || this.#eventBytes >= MAX_EVENT_BYTES) {
      this.#log.ofPlugin('warn', 'Plugin event dropped', { event });
      return;
    }
    let copy;
    try {
      copy = this.#copyFor(bus, event, args, listener);
    } catch (error) {
      this.#handlerFailed(event, error);
      return;
    }
    if (copy !== undefined && !this.#hold(copy)) {
      this.#log.ofPlugin('warn', 'Plugin event dropped', { event });
      return;
    }
    const actor = this.#actors.forEvent();
    actor.underWay += 1;
    this.#events += 1;
    this.#begin(this.deadline);
    try {
      await this.#fire(id, copy === undefined ? args : copy.take(), actor.number);
    } catch (error) {
      this.#handlerFailed(event, error);
    } finally {
      this.#budget.finish();
      actor.underWay -= 1;
      this.#events -= 1;
      if (copy !== undefined) {
        this.#letGo(copy);
      }
    }
  }

  /**
   * @param {number} id
   * @param {unknown} args
   * @param {number} actor
   * @returns {Promise<unknown>}
   */
  #fire(id, args, actor) {
    const fire = async () => this.#enter.apply(undefined, [ENTER.FIRE, id, args, actor],
      bare({ arguments: bare({ copy: true }), result: bare({ copy: true, promise: true }), timeout: this.#plugin.cpuLimit, deadline: this.deadline }));
    return new Promise((resolve) => {
      this.#sending = inSlices(this.#core.binding, () => resolve(fire())) ?? this.#sending;
    });
  }

  /**
   * Counts a delivery of an event's arguments. Deliveries of the same arguments share their bytes.
   * @param {import('../context/event-copies.js').Copy} copy
   * @returns {boolean} false if too many bytes already wait
   */
  #hold(copy) {
    const deliveries = this.#copies.get(copy) ?? 0;
    if (deliveries === 0) {
      if (this.#eventBytes > 0 && this.#eventBytes + copy.bytes > MAX_EVENT_BYTES) {
        return false;
      }
      this.#eventBytes += copy.bytes;
    }
    this.#copies.set(copy, deliveries + 1);
    return true;
  }

  /** @param {import('../context/event-copies.js').Copy} copy */
  #letGo(copy) {
    const deliveries = /** @type {number} */ (this.#copies.get(copy)) - 1;
    if (deliveries > 0) {
      this.#copies.set(copy, deliveries);
    } else {
      this.#copies.delete(copy);
      this.#eventBytes -= copy.bytes;
    }
  }

  /**
   * @param {string} event
   * @param {unknown} error
   */
  #handlerFailed(event, error) {
    if (!this.#listeners.isClosed) {
      this.#log.ofPlugin('error', 'Plugin event handler failed', { event, reason: this.#failed(error).message }, error);
    }
  }

  /** Ends the plugin, because it continues endlessly. */
  #exhausted() {
    this.isExhausted = true;
    this.dispose();
    const error = this.#failed(undefined);
    this.#log.ofPlugin('error', 'Plugin ended', { reason: error.message }, error);
  }

  /**
   * @param {string} level
   * @param {unknown[]} args
   * @param {string | undefined} message the arguments as text
   */
  #report(level, args, message) {
    const { entries, length } = this.#runtime.console;
    if (this.#entries <= 0) {
      this.#log.full(entries);
      return undefined;
    }
    this.#entries -= 1;
    const shown = this.#inTurns(entryLimits(length), (work) => new Shown(args, work, length));
    return types.isPromise(shown) ? shown.then((each) => this.#say(level, each, message)) : this.#say(level, shown, message);
  }

  /**
   * @param {string} level
   * @param {InstanceType<typeof Shown>} shown
   * @param {string | undefined} message
   */
  #say(level, { values: args, bytes }, message) {
    if (!this.#log.hasRoom(bytes + (message?.length ?? 0))) {
      return;
    }
    const said = level === 'warn' || level === 'error' ? level : 'debug';
    this.#log.ofPlugin(said, `Plugin console.${level}`, { args });
    // A plugin that is being stopped sends no text.
    if (message !== undefined) {
      this.#runtime.console.onLog?.({ level, message, pluginId: this.#plugin.id, isolateId: this.#isolateId });
    }
  }

  /** Bytes of memory in use: of the heap, of buffers, and of V8's other memory. */
  get used() {
    return this.isDisposed ? 0 : this.#runtime.meter(this.#isolate, false).memory;
  }

  /** Updates `used`, if the plugin is not busy for too long. */
  async measure() {
    await this.#within(MEASURE_TIMEOUT, (signal) => this.#isolate.getHeapStatistics(bare({ signal })));
  }

  /**
   * Collects garbage and updates `used`, if the plugin is not busy for too long.
   * @param {number} until when to stop waiting for it, as a value of `now()` in clock.js
   * @param {any} signal from `readSignal`
   */
  async collect(until, signal) {
    await this.#within(Math.min(COLLECT_TIMEOUT, leftUntil(until)), (own) => this.#runtime.collect(this.#isolate, own), signal);
  }

  /**
   * @param {number} timeout milliseconds
   * @param {(signal: AbortSignal) => Promise<unknown>} ask
   * @param {any} [outer] a signal from `readSignal`
   */
  async #within(timeout, ask, outer) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeout);
    const unfollow = outer?.follow(() => controller.abort());
    try {
      await ask(controller.signal);
    } catch {
      // The plugin is busy, or has ended. The last figures remain.
    } finally {
      clearTimeout(timer);
      unfollow?.();
    }
  }

  dispose() {
    this.#listeners.close();
    disposeOf(this.#isolate);
    this.#readings.dispose();
  }
}

/**
 * A script whose value is a module's default export, or the result of the default export if that is a function.
 * @param {string} name
 */
const runnerOf = (name) => `(async () => {
  const value = await (await import(${JSON.stringify(name)})).default;
  return typeof value === 'function' ? value() : value;
})()`;

/**
 * A function for the guest that calls `target`. If that returns a promise, the guest gets what the promise settles to.
 * @param {(...args: any[]) => unknown} target
 * @param {number} mode one of CALLBACK
 */
function answeredLater(target, mode) {
  answerLater(target);
  return stamp({}, KIND.CALLBACK, new CallbackRecord(target, mode));
}

/** @typedef {PluginIsolate} Running */

module.exports = { PluginIsolate };
