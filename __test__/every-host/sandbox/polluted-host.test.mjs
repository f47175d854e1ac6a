// Properties that other code of the host has put on `Object.prototype` or `Array.prototype` change nothing: no option, no permission, no
// limit, nothing that code finds, and no report. In processes of their own.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Names that options, manifests, contexts, descriptors, results and the library's own objects have, or could have. */
const NAMES = [
  'timeout', 'memoryLimit', 'maxOutputSize', 'maxApiCalls', 'maxLogEntries', 'maxLogLength', 'onLog', 'timers', 'web', 'wasm', 'typescript', 'modules', 'inspector',
  'minimalEnv', 'poolSize', 'confinement', 'seccomp', 'signal', 'fresh', 'deadline', 'warm', 'snapshot', 'onUsage', 'limits', 'memoryMB', 'cpuMs',
  'permissions', 'network', 'allowedDomains', 'storage', 'maxSize', 'hooks', 'id', 'name', 'version',
  'logger', 'cache', 'metrics', 'config', 'eventBus', 'http', 'child', 'debug', 'trace', 'fatal', 'has', 'exists', 'del', 'ttl', 'off', 'once', 'emitAsync', 'removeListener',
  'value', 'writable', 'enumerable', 'configurable', 'cause', 'code', 'message', 'stack', 'failure', 'result', 'error', 'logs', 'lost', 'usage', 'ok', 'text', 'line',
  'column', 'module', 'frame', 'body', 'left', 'packed', 'gate', 'number', 'pluginId', 'paths', 'path', 'run', 'check', 'receiver', 'description', 'namespace', 'method',
  'approve', 'results', 'inputSchema', 'outputSchema', '~standard', 'validate', 'issues', 'key', 'types', 'values', 'properties', 'required', 'type', 'isFalse', 'node', 'until', 'stopped',
  'copy', 'promise', 'reference', 'externalCopy', 'arguments', 'accessors', 'release', 'forms', 'isOnce', 'transferIn', 'filename', 'lineOffset', 'async', 'ignored', 'global', 'constructorName',
];

const SUITE = String.raw`
  const { createSandbox, describeTools, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;
  const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);
  /** Frames of the host depend on what has been compiled. */
  const framed = (failure) => failure && { ...failure, stack: failure.stack.replaceAll(/\n    at [^\n]*<host>[^\n]*/g, '') };
  const summary = (outcome) => [own(outcome, 'result'), own(outcome, 'error'), framed(own(outcome, 'failure')), outcome.logs, own(outcome, 'apiCallCount')];
  const tools = [{ name: 'a:b' }];
  const CODE = 'console.log("summary", { a: 1 }); console.error(new RangeError("logged").message); ';
  const SEEN = 'typeof URL, typeof setTimeout, typeof global, Object.keys(globalThis).join()';
  const manifest = { id: 'p', permissions: { hooks: ['allowed'] } };
  const sandboxes = {
    async createSandbox() {
      const sandbox = createSandbox({ api: { request: async (x) => x, list: [1, { f: () => 5 }] } }, {});
      return [
        summary(await sandbox.execute('async () => { ' + CODE + 'return [typeof globalThis, typeof URL, typeof setTimeout, api.list[1].f(), await api.request({ a: [1] })] }')),
        summary(await sandbox.execute('null.x')), summary(await createSandbox({}, { maxOutputSize: 5 }).execute('"123456"')),
        summary(await createSandbox({ api: { request: () => 1 } }, { maxApiCalls: 1 }).execute('api.request(); api.request()')),
        summary(await createSandbox({ f() { throw Object.assign(new TypeError('host'), { extra: 1 }) } }).execute('f()')),
        summary(await createSandbox({}, { modules: { 'm.js': 'export default 5' } }).execute('const { default: five } = await import("m.js"); return five')),
      ];
    },
    async IsolatedVMSandbox() {
      const sandbox = new IsolatedVMSandbox({});
      return [
        summary(await sandbox.execute(CODE + 'return [' + SEEN + ', await a.b({ x: 1 })]', tools, async (name, params) => ({ name, params }), {})),
        summary(await sandbox.execute('throw new TypeError("own")', tools, async () => 1)),
        summary(await sandbox.execute('return await a.b()', tools, async () => { throw new RangeError('host') })),
        await sandbox.execute('1', [{}], async () => 1).catch((error) => [error.message, error.code]),
        summary(await sandbox.execute('const all = []; for (const x of [1, "x"]) all.push(await a.b({ x }).catch(({ message }) => message)); return all',
          [{ name: 'a:b', inputSchema: { properties: { x: { type: 'number', minimum: 0 } }, anyOf: [{ not: {} }, {}] } }], async (name, params) => params)),
        summary(await sandbox.execute('return await a.b({ x: 1 })', [{ name: 'a:b', inputSchema: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } } }], async (name, params) => params)),
        describeTools([{ name: 'a:b', description: 'd', inputSchema: { type: 'object', properties: { x: {} } } }]),
      ];
    },
    async IsolatedVmSandbox() {
      const said = [];
      const logger = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, (message) => { said.push(level + ' ' + message) }]));
      const kept = new Map();
      class Cache { get(key) { return kept.get(key) } set(key, value) { kept.set(key, value) } }
      const sandbox = new IsolatedVmSandbox(logger, {});
      const isolate = await sandbox.createIsolate(manifest);
      const bare = await sandbox.createIsolate({ id: 'q' });
      const bus = { on() {}, emit: () => 'emitted' };
      const context = { cache: new Cache(), eventBus: bus, metrics: { count: () => 5 }, fetch: () => 'fetched' };
      const outcome = (promise) => promise.then((value) => ['gave', value], (error) => [error.name, error.message, error.code, own(error, 'kind'), framed(own(error, 'failure'))]);
      const run = (code, where = isolate, given = context, options = {}) => outcome(sandbox.executeInSandbox(where, code, given, options));
      const shape = '(function keys(object, depth) { return depth > 3 || typeof object !== "object" || object === null ? typeof object : Object.keys(object).map((key) => [key, keys(object[key], depth + 1)]) })(context, 0)';
      const outcomes = [
        isolate.memoryLimit, isolate.cpuLimit, await run('[' + SEEN + ', pluginId]'), await run(shape), await run(shape, isolate, {}), await run(shape, bare, { logger: {}, cache: {}, eventBus: {}, metrics: {} }),
        await run(CODE + 'context.metrics.count()'), await run('context.eventBus.emit("allowed")'), await run('context.eventBus.emit("secret")'), await run('context.eventBus.emit("allowed")', bare),
        await run('context.cache.set("k", 1)'), await run('context.fetch("https://example.org/")'), await run('context.fetch("/x")'), await run('null.x'),
        await run('throw new TypeError("m")'), await run('var left = 1; left'), await run('typeof left'), await run('1', { id: 'none' }),
      ];
      sandbox.disposeAll();
      return [outcomes, said.filter((each) => !each.includes('Code executed'))];
    },
    ...(process.platform !== 'linux' ? {} : { async SubprocessSandbox() {
      const sandbox = new SubprocessSandbox({ poolSize: 0 });
      return [
        summary(await sandbox.execute(CODE + 'return [' + SEEN + ', await a.b({ x: 1 })]', tools, async (name, params) => ({ name, params }), {})),
        summary(await sandbox.execute('throw new TypeError("own")', tools, async () => 1)),
      ];
    } }),
  };
  const outcomes = async (kinds) => {
    const all = {};
    for (const kind of kinds) all[kind] = await sandboxes[kind]().catch((error) => error.stack);
    return all;
  };
  const plain = (value) => JSON.stringify(value, (_, each) => (each === undefined ? 'undefined' : each), 1);
  /** How a property that every object inherits looks, and how it is removed. */
  const POLLUTIONS = {
    text: () => ({ value: 'polluted', writable: true }),
    object: () => ({ value: { hooks: ['secret', 'allowed'], network: { allowedDomains: ['example.org'] }, storage: { maxSize: 1_000 }, get: () => 1 }, writable: true }),
    accessor: () => ({ get: () => 'got', set() {} }),
  };
  /** The number of names at a time. */
  const TOGETHER = 8;
  const lost = [];
  async function pollute(target, names, kinds) {
    const expected = plain(await outcomes(kinds));
    for (const [how, descriptor] of Object.entries(POLLUTIONS)) {
      for (let at = 0; at < names.length; at += TOGETHER) {
        const group = names.slice(at, at + TOGETHER);
        for (const name of group) Object.defineProperty(target, name, { __proto__: null, configurable: true, ...descriptor() });
        const found = await outcomes(kinds).catch((error) => error.stack).finally(() => { for (const name of group) delete target[name] });
        const text = plain(found);
        if (text !== expected) {
          const lines = expected.split('\n');
          const first = text.split('\n').findIndex((line, index) => line !== lines[index]);
          lost.push([group.join(), how, first, ...text.split('\n').slice(first, first + 4)].join(' | '));
        }
      }
    }
    assert.deepEqual(lost, []);
  }
`;

const program = (target, names, kinds) => `${SUITE}\nawait pollute(${target}, ${JSON.stringify(names)}, ${kinds});`;

describe('a host with polluted prototypes', () => {
  for (const kind of ['createSandbox', 'IsolatedVMSandbox', 'IsolatedVmSandbox']) {
    test(`Object.prototype: ${kind}`, () => passes(program('Object.prototype', NAMES, `['${kind}']`), { timeout: 60_000 }));
  }
  test('Object.prototype: SubprocessSandbox', { skip: process.platform !== 'linux' }, () => passes(program('Object.prototype', NAMES, "['SubprocessSandbox']"), { timeout: 60_000 }));
  test('Array.prototype', () => passes(program('Array.prototype', ['name', 'value', 'code', 'message', 'run', 'path', 'text', 'signal', 'has', 'id'], 'Object.keys(sandboxes)'), { timeout: 60_000 }));
});
