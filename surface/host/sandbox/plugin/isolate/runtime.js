'use strict';
// Creates isolates for plugins, with their globals (except `context` and `console`, see guest-context.js), and reads plugins' code.

const { CallbackRecord } = require('../../../../api/callback.js');
const { recordOf, stamp } = require('../../../../core/handle.js');
const { CALLBACK, KIND, MODE, OP, TRANSFER } = require('../../../../core/protocol.js');
const { CONTEXT_GLOBALS, METER, record } = require('../../../protocol.js');
const { readModules } = require('../../common/features.js');
const { checkOptions, COMMON, defaultOutput, own, readBoolean, readLogging, readPoolSize, readQuota, readWeb } = require('../../common/options.js');
const { namingOption } = require('../../common/syntax.js');
const { errorOf } = require('./failure.js');
const { readingOf } = require('../../common/bodies.js');

const MAX_MEMORY = 0x7fff_ffff;
const OPTIONS = Object.freeze(['timers', 'warm', ...COMMON]);
const CONSOLE = Object.freeze({ entries: 10_000, length: 10_000 });

/** Milliseconds for removing types from modules. */
const MODULES_DEADLINE = 30_000;

/**
 * @typedef {object} PluginRuntime
 * @property {boolean} timers
 * @property {(memoryLimit: number) => { output: number, calls: number }} quotaOf the quota of each execution of a plugin with this memory limit
 * @property {import('../../common/options.js').Logging} console
 * @property {ReadonlyMap<string, string> | undefined} texts of the modules, as their author wrote them
 * @property {(memoryLimit: number) => any} take returns an unused isolate with this memory limit
 * @property {(isolate: object, restart: boolean) => { cpu: number, heapPeak: number, memory: number }} meter returns nanoseconds of its CPU
 *   clock, the most bytes of heap that were in use since the last call with `restart`, and the bytes of memory that are in use
 * @property {(isolate: object, signal: any) => Promise<unknown>} collect collects the isolate's garbage
 * @property {(context: object, failed: (code: string | undefined, name: string, message: string) => void) => Promise<any>} install
 *   called before other code runs in the context, the only one of its isolate; resolves to a Reference to a list of functions for `BOOTSTRAP`
 * @property {(context: object, begin: object, args: unknown[], script: { text: string, file: string },
 *   ending: { timeout: number, deadline: number, signal: any }) => Promise<unknown>} runAsActor runs a script for the actor that `begin`, a
 *   Reference to a function, creates from the arguments; resolves to a clone of its last value, which is awaited if it is a promise
 * @property {(code: string, file: string, ending: { timeout: number, signal: any, readings: import('../../common/executions.js').SandboxExecutions<any> }) =>
 *   import('../../common/reading.js').Reading | Promise<import('../../common/reading.js').Reading>} read
 * @property {(context: object, reading: import('../../common/reading.js').Reading, file: string, ending: { timeout: number, deadline: number, signal: any }) =>
 *   Promise<string | undefined> | undefined} moduleOf the name by which to import code that is a module
 * @property {(thrown: unknown, message: string, code: string) => string} describe explains the message of what `code` failed with
 */

/**
 * @param {import('../../../../index.js').Core} core
 * @param {any} environment the native one
 * @param {import('../../common/typescript.js').Strip} strip
 * @param {import('../../common/snapshot.js').ReadSnapshot} readSnapshot
 */
function createReadRuntime(core, environment, strip, readSnapshot) {
  /**
   * @param {unknown} options
   * @returns {PluginRuntime}
   */
  return function readRuntime(options) {
    const settings = checkOptions(options, OPTIONS);
    const timers = readBoolean(settings, 'timers');
    const web = readWeb(settings);
    const typescript = readBoolean(settings, 'typescript');
    const modules = readModules(settings, typescript);
    const console = readLogging(settings, CONSOLE);
    const warm = readPoolSize(settings);
    // Each plugin has its own limit, which is checked when it gets its isolate.
    const snapshot = readSnapshot(settings, MAX_MEMORY);
    const limits = { maxOutputSize: own(settings, 'maxOutputSize'), maxApiCalls: own(settings, 'maxApiCalls') };
    // Wrong limits are refused at once.
    readQuota(limits, { output: 0 });
    return Object.freeze({
      timers,
      quotaOf: (memoryLimit) => readQuota(limits, { output: defaultOutput(memoryLimit) }),
      console,
      texts: modules?.texts,
      take(memoryLimit) {
        const isolate = core.binding.unpack(environment.takeIsolate(memoryLimit, warm, core.binding.pack(snapshot, TRANSFER.DEFAULT)), readRuntime);
        core.binding.lifecycle?.taken(isolate, memoryLimit);
        return isolate;
      },
      meter(isolate, restart) {
        const figures = environment.meter(recordOf(isolate, KIND.ISOLATE).entry.id, restart);
        return { cpu: figures[METER.CPU], heapPeak: figures[METER.HEAP_PEAK], memory: figures[METER.MEMORY] };
      },
      async collect(isolate, signal) {
        const call = /** @type {import('../../../../core/calls.js').Waiting} */ (core.begin(MODE.ASYNC, readRuntime, signal));
        const carrier = core.binding.invoke(OP.HEAP_STATISTICS, MODE.ASYNC, call.request, recordOf(isolate, KIND.ISOLATE).entry.id, true);
        return core.conclude(MODE.ASYNC, call, carrier, readRuntime);
      },
      async install(context, failed) {
        const ready = await modules?.ready(strip, MODULES_DEADLINE, undefined);
        if (ready?.failure !== undefined) {
          throw errorOf(ready.failure);
        }
        const listener = timers ? stamp({}, KIND.CALLBACK, new CallbackRecord(failed, CALLBACK.IGNORED)) : undefined;
        const call = core.calls.begin(readRuntime);
        environment.installGlobals(MODE.ASYNC, call.request, recordOf(context, KIND.CONTEXT).entry.id, record(CONTEXT_GLOBALS, {
          web,
          timers: core.binding.pack(listener, TRANSFER.DEFAULT),
          moduleIndex: ready?.packed?.index,
          moduleSources: ready?.packed?.text,
          maxLogLength: console.onLog === undefined ? undefined : console.length,
          isPlugin: 1,
        }));
        return call.promise;
      },
      async runAsActor(context, begin, args, { text, file }, { timeout, deadline, signal }) {
        if (signal?.aborted) {
          throw core.binding.signals?.reason(signal);
        }
        const packed = args.map((arg) => core.binding.pack(arg, TRANSFER.COPY));
        const call = /** @type {import('../../../../core/calls.js').Waiting} */ (core.begin(MODE.ASYNC, readRuntime, signal));
        const carrier = environment.runAsActor(call.request, recordOf(context, KIND.CONTEXT).entry.id, recordOf(begin, KIND.REFERENCE).entry.id,
          text, file, timeout, deadline, ...packed);
        return core.conclude(MODE.ASYNC, call, carrier, readRuntime);
      },
      read: (code, file, { timeout, signal, readings }) =>
        readingOf({ code, name: file, bodyOf: (text) => ({ text, line: 0, column: 0, script: file }), typescript, modules, timeout, signal }, readings.ending(strip)),
      describe: (thrown, message, code) => (thrown instanceof SyntaxError
        ? String(namingOption({ ok: false, name: 'SyntaxError', value: message, logs: [], lost: 0 }, code, typescript).value) : message),
      moduleOf(context, { body, isModule, modules: importable }, file, { timeout, deadline, signal }) {
        if (importable === undefined) {
          return undefined;
        }
        const call = /** @type {import('../../../../core/calls.js').Waiting} */ (core.begin(MODE.ASYNC, readRuntime, signal));
        const carrier = environment.adoptModule(call.request, recordOf(context, KIND.CONTEXT).entry.id, isModule ? importable.main.text : body.text, file,
          timeout, deadline);
        return core.conclude(MODE.ASYNC, call, carrier, readRuntime);
      },
    });
  };
}

module.exports = { createReadRuntime };
