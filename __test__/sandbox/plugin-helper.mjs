// What the tests of plugins share: a manifest, a logger that stores its entries, and a context whose calls are recorded.

import { EventEmitter } from 'node:events';
import ivm from '../../index.mjs';

export const { IsolatedVmSandbox, NotFoundError, PluginError, SandboxViolationError } = ivm;

export const manifest = (more = {}) => ({
  id: 'org.example.plugin', name: 'Example', version: '1.0.0', description: '', author: 'A', license: 'ISC', entrypoint: 'index.js',
  permissions: { network: { allowedDomains: ['api.example.com', 'example.org'] }, storage: { maxSize: 1_000 }, hooks: ['item.indexed', 'item.removed'] },
  ...more,
});

/** A logger with its entries in `entries`. */
export function rememberingLogger() {
  const entries = [];
  const say = (level) => (...args) => { entries.push([level, ...args]); };
  const logger = { entries, debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  logger.of = (level, message) => entries.filter((entry) => entry[0] === level && (message === undefined || entry[1] === message));
  return logger;
}

/** A cache like those of hosts: asynchronous, with the keys of all users. */
export function memoryCache() {
  const map = new Map();
  return {
    map,
    get: async (key) => map.get(key) ?? null,
    set: async (key, value) => { map.set(key, value); },
    delete: async (key) => map.delete(key),
    exists: async (key) => map.has(key),
    expire: async () => undefined,
    clear: async () => { map.clear(); },
  };
}

export function hostContext(more = {}) {
  const calls = [];
  const see = (name, result) => (...args) => {
    calls.push([name, ...args]);
    return typeof result === 'function' ? result(...args) : result;
  };
  return {
    calls,
    logger: { debug: see('logger.debug'), info: see('logger.info'), warn: see('logger.warn'), error: see('logger.error') },
    cache: memoryCache(),
    metrics: {
      incrementCounter: see('metrics.incrementCounter'), setGauge: see('metrics.setGauge'),
      startTimer: see('metrics.startTimer', () => see('timer.end')),
    },
    config: { name: 'value', deep: { list: [1, 2] } },
    allowedDomains: ['api.example.com'],
    eventBus: Object.assign(new EventEmitter(), {
      async emitAsync(event, ...args) {
        await Promise.all(this.listeners(event).map((listener) => listener(...args)));
        return 'all have received';
      },
    }),
    ...more,
  };
}

/** A sandbox with one isolate, and `execute(code, options)` in it. */
export async function plugin({ manifest: made = manifest(), context = hostContext(), logger = rememberingLogger() } = {}) {
  const sandbox = new IsolatedVmSandbox(logger);
  const isolate = await sandbox.createIsolate(made);
  const execute = (code, options) => sandbox.executeInSandbox(isolate, code, context, options);
  return { sandbox, isolate, context, logger, execute };
}

/** The error that a promise rejects with. */
export const errorOf = (promise) => promise.then((value) => { throw new Error(`it gave ${JSON.stringify(value)}`); }, (error) => error);

export const gate = () => {
  let open;
  const promise = new Promise((resolve) => { open = resolve; });
  return { promise, open };
};

/** Waits until a condition holds. */
export async function until(isSo) {
  const end = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`it did not become so: ${isSo}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
}
