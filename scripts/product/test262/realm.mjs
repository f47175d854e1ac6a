// An isolate that executes tests one after another, with this package's public API.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ivm from '../../../index.mjs';
import { Agents } from './agents.mjs';
import { BRIDGE, HOST_OBJECT, PRINT, WATCH_ERRORS } from './guest.mjs';

const MEMORY_LIMIT_MB = 512;
const NOT_AN_ERROR = 'An object was thrown from supplied code within isolated-vm';
/** How long to wait beyond the time limit for code that should run but does not. */
const GRACE_MS = 5_000;

/** An error and its phase. */
class Failure {
  constructor(phase, error) {
    this.phase = phase;
    this.error = error;
  }
}

/** Runs `work`; its errors belong to `phase`. */
async function during(phase, work) {
  try {
    return await work();
  } catch (error) {
    throw new Failure(phase, error);
  }
}

/** The source of a module that may not be JavaScript. */
function sourceOf(type, bytes) {
  const text = new TextDecoder().decode(bytes);
  switch (type) {
    case undefined:
      return text;
    case 'json':
      JSON.parse(text);
      return `export default JSON.parse(${JSON.stringify(text)});`;
    case 'text':
      return `export default ${JSON.stringify(text)};`;
    default:
      throw new TypeError(`no such type of module: ${type}`);
  }
}

/** The modules of a realm. */
class Modules {
  #isolate;
  #byKey = new Map();
  #paths = new Map();

  constructor(isolate) {
    this.#isolate = isolate;
  }

  async compile(path, source) {
    const module = await this.#isolate.compileModule(source);
    this.#paths.set(module, path);
    return module;
  }

  /** The module of a test, which may import itself. */
  async compileTest(path, source) {
    const module = await this.compile(path, source);
    this.#byKey.set(`undefined ${path}`, module);
    return module;
  }

  resolve = (specifier, referrer, { type }) => {
    const path = join(dirname(this.#paths.get(referrer)), specifier);
    const key = `${type} ${path}`;
    if (!this.#byKey.has(key)) this.#byKey.set(key, readFile(path).then((bytes) => this.compile(path, sourceOf(type, bytes))));
    return this.#byKey.get(key);
  };
}

/** Runs a script inside another call, and notifies the host when it has finished. */
const RUN_INSIDE = '$0.runSync($1, { timeout: $2 }); $3();';

export class Worker {
  #isolate = new ivm.Isolate({ memoryLimit: MEMORY_LIMIT_MB });
  #harness = new Map();
  executed = 0;

  /** @returns {Promise<import('./verdict.mjs').Outcome>} */
  async execute(test) {
    const outcome = await this.#run(test, false);
    // A call also fails because of an unhandled rejection, as in isolated-vm. For test262 that is not a failure.
    const mayBeRejection = outcome.phase === 'runtime' && !test.module && !this.#isolate.isDisposed;
    return mayBeRejection ? this.#run(test, true) : outcome;
  }

  async #run(test, inside) {
    this.executed += 1;
    const run = new Run(this.#isolate, test, (name, source) => this.#harnessScript(name, source), inside);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, test.limit + GRACE_MS, { phase: 'timeout', message: 'no end' });
    });
    try {
      return await Promise.race([run.outcome(), late]);
    } finally {
      clearTimeout(timer);
      run.end();
    }
  }

  /** Compiled once, run in many contexts. */
  async #harnessScript(name, source) {
    if (!this.#harness.has(name)) this.#harness.set(name, await this.#isolate.compileScript(source));
    return this.#harness.get(name);
  }

  end() {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

/** One test. */
class Run {
  #isolate;
  #test;
  #source;
  #harnessScript;
  #contexts = [];
  #agents;
  #inside;
  #lastError;

  constructor(isolate, test, harnessScript, inside) {
    this.#isolate = isolate;
    this.#test = test;
    this.#source = `${test.strict ? '"use strict";\n' : ''}${test.source}`;
    this.#harnessScript = harnessScript;
    this.#inside = inside;
    this.#agents = new Agents(test.limit);
  }

  async outcome() {
    try {
      return { printed: await this.#run() };
    } catch (failure) {
      return failure instanceof Failure ? this.#describe(failure) : { phase: 'crash', message: `the runner: ${failure.stack}` };
    }
  }

  async #run() {
    const { module, path, source, harness, async } = this.#test;
    const modules = new Modules(this.#isolate);
    // First, because most tests that fail to compile need no context.
    const compile = () => (module ? modules.compileTest(path, source) : this.#isolate.compileScript(this.#source));
    const compiled = await during('parse', compile);

    const context = await this.#createContext();
    let print;
    const printed = new Promise((resolve) => (print = resolve));
    if (async) await context.evalClosure(PRINT, [print]);
    const sources = [source, ...harness.map(([, text]) => text)];
    if (sources.some((text) => text.includes('$262'))) await this.#addHostObject(context);
    await during('harness', () => this.#runHarness(context));
    if (harness.length > 0) this.#lastError = await context.evalClosure(WATCH_ERRORS);
    await (module ? this.#evaluate(context, compiled, modules) : this.#runScript(context, compiled, modules));
    return async ? printed : undefined;
  }

  async #createContext() {
    const context = await this.#isolate.createContext();
    this.#contexts.push(context);
    return context;
  }

  async #runHarness(context) {
    const { harness, limit } = this.#test;
    for (const [name, source] of harness) {
      const script = await this.#harnessScript(name, source);
      await script.run(context, { timeout: limit });
    }
  }

  async #evaluate(context, module, modules) {
    await during('resolution', () => module.instantiate(context, modules.resolve));
    await during('runtime', () => module.evaluate({ timeout: this.#test.limit, promise: true }));
  }

  async #runScript(context, script, modules) {
    const { source, path, limit } = this.#test;
    if (!/\bimport\b/.test(source)) {
      await during('runtime', () => (this.#inside ? this.#runInside(context, script) : script.run(context, { timeout: limit })));
      return;
    }
    const bridge = await modules.compile(path, BRIDGE);
    await bridge.instantiate(context, modules.resolve);
    await bridge.evaluate();
    const run = await bridge.namespace.get('default');
    await during('runtime', () => run.apply(undefined, [this.#source], { timeout: limit }));
  }

  /** Ignores what happens after the script has finished. */
  async #runInside(context, script) {
    let hasEnded = false;
    try {
      await context.evalClosure(RUN_INSIDE, [script, context, this.#test.limit, () => void (hasEnded = true)]);
    } catch (error) {
      if (!hasEnded) throw error;
    }
  }

  async #addHostObject(context) {
    await context.evalClosure(HOST_OBJECT, this.#hostArguments(context, true), { result: { reference: true } });
  }

  #hostArguments(context, isFirst) {
    const { start, broadcast, getReport } = this.#agents;
    const createRealm = () => {
      const other = this.#isolate.createContextSync();
      this.#contexts.push(other);
      const $262 = other.evalClosureSync(HOST_OBJECT, this.#hostArguments(other, false), { result: { reference: true } });
      return $262.derefInto({ release: true });
    };
    return [ivm, context, isFirst, createRealm, start, broadcast, getReport];
  }

  async #describe({ phase, error }) {
    const { message, code } = error ?? {};
    if (code === 'ERR_ISOLATE_TIMEOUT') return { phase: 'timeout', message };
    if (this.#isolate.isDisposed) return { phase: 'crash', message };
    const name = error instanceof Error ? error.constructor.name : typeof error;
    if (name === 'Error') {
      const last = await Promise.resolve(this.#lastError?.()).catch(() => undefined);
      const isLast = last !== undefined && (message === last || String(message).startsWith(NOT_AN_ERROR));
      if (isLast) return { phase, name: 'Test262Error', message: last };
    }
    return { phase, name, message: String(message ?? error) };
  }

  end() {
    this.#agents.end();
    if (this.#isolate.isDisposed) return;
    for (const context of this.#contexts) context.release();
  }
}
