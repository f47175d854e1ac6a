// The wrapper for an agent's tools: a Callback passed as a Reference, and applied with its promise awaited. Written directly on `ivm`, like
// programs of isolated-vm's users.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

class Sandbox {
  #config;
  #isolate = null;

  constructor(config = {}) {
    this.#config = { timeout: 30_000, memoryLimit: 128, ...config };
  }

  async execute(code, tools, toolExecutor) {
    const start = Date.now();
    const logs = [];
    this.#isolate = new ivm.Isolate({ memoryLimit: this.#config.memoryLimit, inspector: false });
    try {
      const context = await this.#isolate.createContext();
      const jail = context.global;
      await jail.set('global', jail.derefInto());
      const log = (prefix) => new ivm.Callback((...args) => {
        logs.push(prefix + args.join(' '));
      });
      await context.evalClosure('globalThis.console = { log: $0, info: $0, warn: $1, error: $2 };', [log(''), log('[WARN] '), log('[ERROR] ')]);
      const byNamespace = new Map();
      for (const tool of tools) {
        const [namespace, ...rest] = tool.name.split(tool.name.includes(':') ? ':' : '.');
        byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), [rest.join('_') || 'call', tool.name]]);
      }
      for (const [namespace, methods] of byNamespace) {
        await context.eval(`globalThis.${namespace} = {};`);
        for (const [method, name] of methods) {
          const call = new ivm.Callback(async (json) => {
            try {
              return { ok: true, value: await toolExecutor(name, JSON.parse(json)) };
            } catch (error) {
              return { ok: false, message: error.message };
            }
          });
          await context.evalClosure(`
            globalThis[${JSON.stringify(namespace)}][${JSON.stringify(method)}] = async (params) => {
              const answer = await $0.apply(undefined, [JSON.stringify(params ?? {})], { result: { promise: true, copy: true } });
              if (!answer.ok) throw new Error(answer.message);
              return answer.value;
            };`, [call], { arguments: { reference: true } });
        }
      }
      const script = await this.#isolate.compileScript(`(async () => {\n${code}\n})()`);
      const result = await script.run(context, { timeout: this.#config.timeout, promise: true, copy: true });
      return { result, logs, duration: Date.now() - start };
    } catch (error) {
      logs.push(`[ERROR] Execution error: ${error.message}`);
      return { result: null, logs, error: error.message, duration: Date.now() - start };
    } finally {
      this.dispose();
    }
  }

  getHeapStatistics() {
    return this.#isolate === null ? null : this.#isolate.getHeapStatisticsSync();
  }

  dispose() {
    if (this.#isolate !== null && !this.#isolate.isDisposed) this.#isolate.dispose();
    this.#isolate = null;
  }
}

const TOOLS = [{ name: 'math:add', description: '' }, { name: 'math:fail', description: '' }, { name: 'files.read.all', description: '' }, { name: 'ping', description: '' }];
const seen = [];
const executor = async (name, params) => {
  seen.push([name, params]);
  await new Promise((resolve) => {
    setTimeout(resolve, 2);
  });
  if (name === 'math:add') return params.a + params.b;
  if (name === 'math:fail') throw new RangeError('cannot');
  return { name, params };
};

test('tools are called and awaited', async () => {
  const sandbox = new Sandbox();
  const { result, error, logs } = await sandbox.execute(`
    console.log('adding');
    const sum = await math.add({ a: 1, b: 2 });
    const all = await Promise.all([math.add({ a: sum, b: 1 }), files.read_all({ path: '/x' }), ping.call()]);
    return { sum, all };
  `, TOOLS, executor);
  assert.equal(error, undefined);
  assert.deepEqual(result, { sum: 3, all: [4, { name: 'files.read.all', params: { path: '/x' } }, { name: 'ping', params: {} }] });
  assert.deepEqual(logs, ['adding']);
  assert.deepEqual(seen[0], ['math:add', { a: 1, b: 2 }]);
  assert.equal(sandbox.getHeapStatistics(), null);
});

test('errors of a tool are thrown in the guest', async () => {
  const caught = await new Sandbox().execute('try { await math.fail(); } catch (error) { return [error.constructor.name, error.message]; }', TOOLS, executor);
  assert.deepEqual(caught.result, ['Error', 'cannot']);
  const uncaught = await new Sandbox().execute('console.warn("w"); await math.fail();', TOOLS, executor);
  assert.deepEqual([uncaught.result, uncaught.error, uncaught.logs], [null, 'cannot', ['[WARN] w', '[ERROR] Execution error: cannot']]);
});

test('an endless guest ends at its timeout, one that allocates without bound at its memory limit', async () => {
  const endless = await new Sandbox({ timeout: 50 }).execute('for (;;);', [], executor);
  assert.deepEqual([endless.result, endless.error], [null, 'Script execution timed out.']);
  const hungry = await new Sandbox({ memoryLimit: 16 }).execute('const all = []; for (;;) all.push(new Array(1000).fill(1.5));', [], executor);
  assert.deepEqual([hungry.result, hungry.error], [null, 'Isolate was disposed during execution due to memory limit']);
});

test('the heap can be watched from a tool', async () => {
  const sandbox = new Sandbox();
  let used;
  await sandbox.execute('await ping.call();', TOOLS, async () => {
    ({ used_heap_size: used } = await new Promise((resolve) => {
      setTimeout(() => resolve(sandbox.getHeapStatistics()), 1);
    }));
  });
  assert.ok(used > 100_000);
});
