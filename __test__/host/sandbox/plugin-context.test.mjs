// The context of a plugin: what it reaches of its host, and what its manifest must permit for that.

import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, gate, hostContext, IsolatedVmSandbox, manifest, memoryCache, plugin, SandboxViolationError, until } from '../../sandbox/plugin-helper.mjs';

const ID = 'org.example.plugin';
const without = (...permissions) => {
  const made = manifest();
  for (const permission of permissions) delete made.permissions[permission];
  return made;
};
const lacks = (permission) => `Plugin '${ID}' lacks required permission: ${permission}`;
/** What the plugin sees of a refused call. */
const caught = (call) => `(() => { try { return [${call}, 'it went through'] } catch (error) { return [error instanceof Error, error.name, error.message] } })()`;

describe('context: members without permissions', () => {
  test('logger, config, metrics and allowedDomains without any permission', async () => {
    const { sandbox, execute, context } = await plugin({ manifest: without('network', 'storage', 'hooks') });
    const result = await execute(`
      context.logger.info('said', { n: 1 });
      context.logger.error('failed', new Error('inner'), { n: 2 });
      context.metrics.incrementCounter('requests', { status: '200' }, 2);
      [context.config, context.allowedDomains, context.logger.debug('d'), typeof context.metrics.setGauge]`);
    assert.deepEqual(result, [{ name: 'value', deep: { list: [1, 2] } }, [], undefined, 'function']);
    const [[, , error]] = context.calls.splice(1, 1).map(([name, , ...rest]) => [name, rest.length, rest[0]]);
    assert.ok(error instanceof Error && error.message === 'inner');
    assert.deepEqual(context.calls, [['logger.info', 'said', { n: 1 }], ['metrics.incrementCounter', 'requests', { status: '200' }, 2], ['logger.debug', 'd']]);
    sandbox.disposeAll();
  });

  test('a function that a method returns can be called', async () => {
    const { sandbox, execute, context } = await plugin();
    assert.deepEqual(await execute('const end = context.metrics.startTimer("t", { url: "https://evil.test/" }); [end.constructor === Function, end("done")]'), [true, undefined]);
    assert.deepEqual(context.calls, [['metrics.startTimer', 't', { url: 'https://evil.test/' }], ['timer.end', 'done']]);
    sandbox.disposeAll();
  });

  test('a plugin keeps the last 1,000 of such functions', async () => {
    const { sandbox, execute } = await plugin({ context: hostContext({ make: (n) => () => n }) });
    const result = await execute(`
      const all = Array.from({ length: 1_200 }, (_, n) => context.make(n));
      all.map((each, n) => { try { return each() === n } catch { return 'gone' } }).join()`);
    assert.equal(result, [...Array(200).fill('gone'), ...Array(1_000).fill('true')].join());
    sandbox.disposeAll();
  });

  test('methods of classes, fluent ones, asynchronous ones and ones that throw', async () => {
    class Metrics {
      seen = 0;
      count(n) { this.seen += n; return this; }
      async later() { return { seen: this.seen }; }
      // oxlint-disable-next-line unicorn/no-thenable -- what this is about
      thenable() { return { then: (resolve) => resolve('came') }; }
      fail() { throw new TypeError('not now'); }
      async reject() { throw new RangeError('not at all'); }
      _hidden() { return 'hidden'; }
      get accessor() { throw new Error('an accessor was read'); }
    }
    const { sandbox, execute } = await plugin({ context: hostContext({ metrics: new Metrics() }) });
    assert.deepEqual(await execute('Object.keys(context.metrics)'), ['seen', 'count', 'later', 'thenable', 'fail', 'reject'].slice(1));
    assert.deepEqual(await execute('[context.metrics.count(1), context.metrics.count(2)]'), [undefined, undefined]);
    assert.deepEqual(await execute('var p = context.metrics.later(); [p instanceof Promise, p.constructor === Promise]'), [true, true]);
    assert.deepEqual(await execute('p'), { seen: 3 });
    assert.equal(await execute('context.metrics.thenable()'), 'came');
    assert.deepEqual(await execute('try { context.metrics.fail() } catch (error) { [error instanceof TypeError, error.message] }'), [true, 'not now']);
    assert.deepEqual(await execute('context.metrics.reject().catch((error) => [error instanceof RangeError, error.message])'), [true, 'not at all']);
    sandbox.disposeAll();
  });

  test('config is a copy; functions in it are left out', async () => {
    const config = { n: 1, deep: { f() {}, m: 2 } };
    const { sandbox, execute } = await plugin({ context: hostContext({ config }) });
    assert.deepEqual(await execute('context.config.deep.m = 5; context.config'), { n: 1, deep: { m: 5 } });
    assert.equal(config.deep.m, 2);
    assert.deepEqual(await execute('context.config'), { n: 1, deep: { m: 2 } });
    sandbox.disposeAll();
  });

  test('members that the context lacks are absent', async () => {
    const { sandbox, execute } = await plugin({ context: {} });
    assert.deepEqual(await execute('[Object.keys(context), context.config]'), [['config', 'allowedDomains'], {}]);
    sandbox.disposeAll();
  });

  test('each execution has its own context, which stays its own when stored', async () => {
    const { sandbox, isolate } = await plugin();
    const named = (name) => hostContext({ whoAmI: () => name });
    assert.equal(await sandbox.executeInSandbox(isolate, 'var kept = context; kept.whoAmI()', named('first')), 'first');
    assert.deepEqual(await sandbox.executeInSandbox(isolate, '[context.whoAmI(), kept.whoAmI()]', named('second')), ['second', 'first']);
    sandbox.disposeAll();
  });
});

test('a stored context works as long as it is used or has listeners, and for 256 further executions', async () => {
  const { sandbox, isolate } = await plugin();
  const seen = [];
  const bus = new EventEmitter();
  const numbered = (n) => hostContext({ eventBus: bus, call: () => n, sleep: () => gateOfFirst.promise });
  const gateOfFirst = gate();
  const run = (code, n) => sandbox.executeInSandbox(isolate, code, numbered(n));
  const waiting = run('var kept = {}; const { call, sleep } = context; (async () => { await sleep(); return call() })()', 'waiting');
  await run('kept.used = context; 0', 'used');
  await run('kept.idle = context; 0', 'idle');
  await run('kept.listening = context; kept.received = []; context.eventBus.on("item.indexed", () => { kept.received.push(kept.listening.call()) }); 0', 'listening');
  for (let n = 0; n < 300; n += 1) await run('kept.used.call()', n);
  bus.emit('item.indexed');
  seen.push(await run('kept.used.call()'), await run('kept.received'), await run('kept.listening.call()'));
  assert.deepEqual(seen, ['used', ['listening'], 'listening']);
  assert.equal((await errorOf(run('kept.idle.call()'))).message, 'Plugin execution failed: This context belongs to an execution that has ended long ago');
  gateOfFirst.open();
  assert.equal(await waiting, 'waiting');
  sandbox.disposeAll();
});

describe('context: cache', () => {
  test('promises, own keys, values and further arguments', async () => {
    const seen = [];
    const cache = { ...memoryCache(), set: async (...args) => { seen.push(args); } };
    const { sandbox, execute } = await plugin({ context: hostContext({ cache }) });
    assert.deepEqual(await execute(`(async () => {
      const set = context.cache.set('key', { a: 1 }, 3600);
      return [set instanceof Promise, await set, await context.cache.get('key')];
    })()`), [true, undefined, null]);
    assert.deepEqual(seen, [[`${ID}:key`, { a: 1 }, 3600]]);
    sandbox.disposeAll();
  });

  test('every method with a key, and no other', async () => {
    const { sandbox, execute, context } = await plugin();
    assert.deepEqual(await execute('Object.keys(context.cache)'), ['get', 'exists', 'set', 'delete', 'expire']);
    const result = await execute(`(async () => {
      const { cache } = context;
      await cache.set('a', 1);
      const there = await cache.exists('a');
      await cache.expire('a', 60);
      return [there, await cache.get('a'), await cache.delete('a'), await cache.exists('a')];
    })()`);
    assert.deepEqual(result, [true, 1, true, false]);
    assert.equal(context.cache.map.size, 0);
    sandbox.disposeAll();
  });

  test('a synchronous cache looks synchronous', async () => {
    const map = new Map();
    const cache = { get: (key) => map.get(key), set: (key, value) => void map.set(key, value), has: (key) => map.has(key), del: (key) => map.delete(key) };
    const { sandbox, execute } = await plugin({ context: hostContext({ cache }) });
    assert.deepEqual(await execute('const { cache } = context; cache.set("a", [1]); [cache.has("a"), cache.get("a"), cache.del("a"), cache.has("a"), cache.get("b")]'),
      [true, [1], true, false, undefined]);
    sandbox.disposeAll();
  });

  test('needs the permission', async () => {
    const { sandbox, execute, context, logger } = await plugin({ manifest: without('storage') });
    for (const call of ['get("k")', 'set("k", 1)', 'delete("k")', 'exists("k")']) {
      assert.deepEqual(await execute(caught(`context.cache.${call}`)), [true, 'SandboxViolationError', lacks('storage')]);
    }
    const error = await errorOf(execute('context.cache.get("k")'));
    assert.ok(error instanceof SandboxViolationError);
    assert.deepEqual([error.kind, error.message], ['STORAGE', lacks('storage')]);
    assert.equal(context.cache.map.size, 0);
    assert.deepEqual(logger.of('warn', 'Permission denied')[1][2],
      { pluginId: ID, method: 'cache.set', violationType: 'STORAGE', permission: 'storage', reason: lacks('storage') });
    sandbox.disposeAll();
  });

  /** A plugin that may store `room` bytes beside the prefix of one key. */
  const withRoom = (room, context, prefixes = 1) => plugin({
    manifest: manifest({ permissions: { storage: { maxSize: room + prefixes * (ID.length + 1) } } }), ...(context === undefined ? {} : { context }),
  });

  test('the quota counts keys and values, to the byte', async () => {
    const { sandbox, execute, context } = await withRoom(10);
    await execute('context.cache.set("abcde", "12345")');
    const error = await errorOf(execute('context.cache.set("abcde", "123456")'));
    assert.ok(error instanceof SandboxViolationError);
    const total = 11 + ID.length + 1;
    assert.deepEqual([error.kind, error.code, error.message], ['STORAGE', 'ERR_ISOLATE_LIMIT', `Storage quota exceeded: ${total} bytes > ${total - 1} bytes`]);
    assert.equal(context.cache.map.get(`${ID}:abcde`), '12345');
    assert.equal((await errorOf(execute('context.cache.set("abcdef", "12345")'))).kind, 'STORAGE');
    assert.equal((await errorOf(execute('context.cache.set("b", "")'))).kind, 'STORAGE');
    sandbox.disposeAll();
  });

  for (const [value, bytes] of [
    ['"é€😀"', 9], ['12345', 5], ['null', 4], ['({ a: "é" })', 10], ['new Uint8Array(7)', 11], ['new Uint8Array(50).subarray(0, 1)', 54], ['new ArrayBuffer(9)', 13],
    ['new Map([["a", 1]])', 9], ['new String("abc")', 5], ['123456789012345678901234567890n', 32], ['/abcdefghij/', 23], ['[new Uint8Array(3), 1]', 11],
  ]) {
    test(`${value} takes ${bytes} bytes`, async () => {
      const enough = await withRoom(bytes + 1);
      await enough.execute(`context.cache.set('k', ${value})`);
      enough.sandbox.disposeAll();
      const less = await withRoom(bytes);
      assert.equal((await errorOf(less.execute(`context.cache.set('k', ${value})`))).kind, 'STORAGE');
      assert.equal(less.context.cache.map.size, 0);
      less.sandbox.disposeAll();
    });
  }

  test('overwriting and deleting free quota; failed writes use none', async () => {
    const { sandbox, execute, context } = await withRoom(12);
    const { cache } = context;
    const set = (value) => execute(`context.cache.set("k", ${value})`);
    await set('"x".repeat(11)');
    await set('"y".repeat(11)');
    await set('""');
    assert.equal((await errorOf(execute('context.cache.set("l", "")'))).kind, 'STORAGE', 'a second key has a prefix, too');
    await execute('context.cache.delete("k")');
    await execute('context.cache.set("l", "z".repeat(11))');
    await execute('context.cache.delete("l")');
    const { set: original } = cache;
    cache.set = async () => { throw new Error('down'); };
    assert.equal((await errorOf(set('"x".repeat(11)'))).cause.message, 'down');
    cache.set = () => { throw new Error('down at once'); };
    assert.equal((await errorOf(set('"x".repeat(11)'))).cause.message, 'down at once');
    cache.set = original;
    await execute('context.cache.set("m", "x".repeat(11))');
    sandbox.disposeAll();
  });

  test('pending writes count', async () => {
    const { promise, open } = gate();
    const map = new Map();
    const cache = { ...memoryCache(), set: async (key, value) => { await promise; map.set(key, value); }, delete: async (key) => { await promise; return map.delete(key); } };
    const { sandbox, execute } = await withRoom(12, hostContext({ cache }));
    await execute('var writing = context.cache.set("k", "x".repeat(11)); 0');
    await execute('var deleting = context.cache.delete("k"); 0');
    assert.equal((await errorOf(execute('context.cache.set("l", "x")'))).kind, 'STORAGE', 'not given back before it is gone');
    open();
    await execute('Promise.all([writing, deleting])');
    await execute('context.cache.set("l", "x".repeat(11))');
    sandbox.disposeAll();
  });

  const passes = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
  const kinds = {
    'asynchronous, with exists': (map) => ({ get: async (key) => map.get(key) ?? null, set: async (key, value) => { map.set(key, value); }, exists: async (key) => (map.has(key) ? 1 : 0), expire: async () => 1 }),
    'synchronous, with has': (map) => ({ get: (key) => map.get(key), set: (key, value) => { map.set(key, value); }, has: (key) => map.has(key), expire: () => true }),
    'with neither': (map) => ({ get: async (key) => map.get(key), set: async (key, value) => { map.set(key, value); }, expire: async () => true }),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    test(`expired entries free quota if the cache reports them: ${kind}`, async () => {
      const map = new Map();
      const { sandbox, execute } = await withRoom(12, hostContext({ cache: make(map) }));
      const set = (args) => execute(`context.cache.set(${args})`);
      await set('"k", "x".repeat(11), 0.03');
      await passes(50);
      assert.equal((await errorOf(set('"l", "x"'))).kind, 'STORAGE', 'it is still there');
      map.clear();
      await set('"l", "x".repeat(11), 3600');
      map.clear();
      assert.equal((await errorOf(set('"m", "x"'))).kind, 'STORAGE', 'it has time');
      await execute('context.cache.expire("l", 0.03)');
      await passes(50);
      await set('"m", "x".repeat(11)');
      sandbox.disposeAll();
    });
  }

  test('null, which a cache can return for missing entries, frees no quota', async () => {
    const { sandbox, execute } = await withRoom(12, hostContext({ cache: kinds['with neither'](new Map()) }));
    await execute('context.cache.set("1234567", null, 0.01)');
    await execute('context.cache.expire("1234567", 0.01)');
    await passes(30);
    assert.equal((await errorOf(execute('context.cache.set("l", "x")'))).kind, 'STORAGE');
    sandbox.disposeAll();
  });

  test('all isolates of a plugin share its quota, also later ones', async () => {
    const { sandbox, isolate, execute, context } = await withRoom(12);
    await execute('context.cache.set("k", "x".repeat(11))', { fresh: true });
    const made = manifest({ permissions: { storage: { maxSize: 12 + ID.length + 1 } } });
    const second = await sandbox.createIsolate(made);
    assert.equal((await errorOf(sandbox.executeInSandbox(second, 'context.cache.set("l", "x")', context))).kind, 'STORAGE');
    sandbox.dispose(isolate);
    sandbox.dispose(second);
    const third = await sandbox.createIsolate(made);
    assert.equal((await errorOf(sandbox.executeInSandbox(third, 'context.cache.set("l", "x")', context))).kind, 'STORAGE');
    sandbox.disposeAll();
  });

  test('keys of plugins are separate', async () => {
    const sandbox = new IsolatedVmSandbox();
    const context = hostContext();
    const ids = ['a', 'a:b', 'a%3Ab', 'a%', 'b'];
    for (const id of ids) {
      const isolate = await sandbox.createIsolate(manifest({ id }));
      for (const key of ['k', 'b:k', 'a:k', ':k', '../b:k', '%3Ak', '']) {
        await sandbox.executeInSandbox(isolate, `context.cache.set(${JSON.stringify(key)}, pluginId)`, context);
      }
    }
    assert.equal(context.cache.map.size, ids.length * 7);
    for (const id of ids) assert.equal([...context.cache.map.values()].filter((value) => value === id).length, 7);
    sandbox.disposeAll();
  });

  test('keys are strings', async () => {
    const { sandbox, execute, context } = await plugin();
    for (const key of ['undefined', 'null', '5', '["a"]', '{ toString: undefined }', 'new String("k")', 'Object("k")']) {
      assert.deepEqual(await execute(caught(`context.cache.set(${key}, 1)`)), [true, 'TypeError', 'The key must be a string']);
    }
    assert.equal(context.cache.map.size, 0);
    sandbox.disposeAll();
  });
});

describe('context: eventBus', () => {
  test('the plugin receives the events that its manifest lists', async () => {
    const { sandbox, execute, context } = await plugin();
    assert.equal(await execute('var received = []; context.eventBus.on("item.indexed", (...args) => { received.push(args) })'), undefined);
    assert.equal(context.eventBus.emit('item.indexed', 1, { deep: [new Date(5)] }), true);
    context.eventBus.emit('item.removed', 2);
    context.eventBus.emit('item.indexed', 3);
    assert.deepEqual(await execute('received'), [[1, { deep: [new Date(5)] }], [3]]);
    assert.equal(await execute('context.eventBus.listenerCount("item.indexed")'), 1);
    sandbox.disposeAll();
  });

  test('once, off and removeAllListeners', async () => {
    const { sandbox, execute, context } = await plugin();
    const { eventBus } = context;
    const count = () => [eventBus.listenerCount('item.indexed'), eventBus.listenerCount('item.removed')];
    const own = () => {};
    eventBus.on('item.indexed', own);
    await execute(`
      var received = []; var first = () => { received.push('first') }; var second = () => { received.push('second') };
      const { eventBus } = context;
      eventBus.once('item.indexed', () => { received.push('once') });
      eventBus.on('item.indexed', first); eventBus.on('item.indexed', second); eventBus.on('item.removed', first);
      eventBus.off('item.indexed', second); eventBus.off('item.indexed', () => {});`);
    assert.deepEqual(count(), [3, 1]);
    eventBus.emit('item.indexed');
    eventBus.emit('item.indexed');
    assert.deepEqual(await execute('received'), ['once', 'first', 'first']);
    assert.deepEqual(count(), [2, 1]);
    await execute('context.eventBus.removeAllListeners("item.removed")');
    assert.deepEqual(count(), [2, 0]);
    await execute('context.eventBus.on("item.removed", first); context.eventBus.removeAllListeners()');
    assert.deepEqual(count(), [1, 0], 'those of others stay');
    assert.deepEqual(eventBus.listeners('item.indexed'), [own]);
    sandbox.disposeAll();
  });

  test('a bus that has no `once`', async () => {
    const { on, off, emit } = EventEmitter.prototype;
    const eventBus = Object.assign(Object.create(null), { on, off, emit, _events: undefined, _eventsCount: 0 });
    EventEmitter.call(eventBus);
    const { sandbox, execute, context } = await plugin({ context: hostContext({ eventBus }) });
    await execute('var received = 0; context.eventBus.once("item.indexed", () => { received += 1 })');
    for (let i = 0; i < 3; i += 1) context.eventBus.emit('item.indexed');
    assert.equal(await execute('received'), 1);
    sandbox.disposeAll();
  });

  test('emit, emitAsync and eventNames', async () => {
    const { sandbox, execute, context } = await plugin();
    const received = [];
    context.eventBus.on('item.indexed', (...args) => { received.push(args); });
    context.eventBus.on('secret', () => {});
    assert.equal(await execute('context.eventBus.emit("item.indexed", { n: 1 }, 2)'), true);
    assert.deepEqual(received, [[{ n: 1 }, 2]]);
    assert.deepEqual(await execute('const p = context.eventBus.emitAsync("item.indexed", 3); [p instanceof Promise]'), [true]);
    assert.equal(await execute('context.eventBus.emitAsync("item.indexed", 4)'), 'all have received');
    assert.deepEqual(await execute('context.eventBus.eventNames()'), ['item.indexed']);
    sandbox.disposeAll();
  });

  test('emitAsync of the host waits for the plugin\'s handlers', async () => {
    const { sandbox, execute, context } = await plugin({ context: hostContext({ nap: () => new Promise((resolve) => { setTimeout(resolve, 30); }) }) });
    await execute('var done = 0; context.eventBus.on("item.indexed", async () => { await context.nap(); done += 1 })');
    await context.eventBus.emitAsync('item.indexed');
    assert.equal(await execute('done'), 1);
    sandbox.disposeAll();
  });

  for (const call of ['on("secret", () => {})', 'once("secret", () => {})', 'off("secret", () => {})', 'emit("secret")', 'emitAsync("secret")', 'listenerCount("secret")', 'removeAllListeners("secret")']) {
    test(`an event that is not listed: ${call}`, async () => {
      const { sandbox, execute, context, logger } = await plugin();
      const { eventBus } = context;
      let received = 0;
      eventBus.on('secret', () => { received += 1; });
      assert.deepEqual(await execute(caught(`context.eventBus.${call}`)), [true, 'SandboxViolationError', lacks('hook:secret')]);
      const error = await errorOf(execute(`context.eventBus.${call}`));
      assert.deepEqual([error instanceof SandboxViolationError, error.kind, error.code], [true, 'HOOK', 'ERR_ISOLATE_PERMISSION']);
      assert.deepEqual([received, eventBus.listenerCount('secret')], [0, 1]);
      assert.equal(logger.of('warn', 'Permission denied')[0][2].permission, 'hook:secret');
      sandbox.disposeAll();
    });
  }

  test('without the permission there are no events', async () => {
    const { sandbox, execute } = await plugin({ manifest: without('hooks') });
    assert.deepEqual(await execute(caught('context.eventBus.on("item.indexed", () => {})')), [true, 'SandboxViolationError', lacks('hook:item.indexed')]);
    sandbox.disposeAll();
  });

  test('names of events are strings, handlers functions', async () => {
    const { sandbox, execute, context } = await plugin();
    for (const event of ['5', 'null', '["item.indexed"]', 'new String("item.indexed")', '{ toString: undefined }']) {
      assert.deepEqual(await execute(caught(`context.eventBus.emit(${event})`)), [true, 'TypeError', 'The name of an event must be a string']);
    }
    for (const handler of ['undefined', '{ handleEvent: 1 }', '"text"']) {
      assert.deepEqual(await execute(caught(`context.eventBus.on("item.indexed", ${handler})`)), [true, 'TypeError', 'The handler must be a function']);
    }
    assert.equal(context.eventBus.listenerCount('item.indexed'), 0);
    sandbox.disposeAll();
  });

  test('a failing handler is logged, and not reported to the host\'s bus', async () => {
    const { sandbox, execute, context, logger } = await plugin({ manifest: { ...manifest(), limits: { cpuMs: 300 } } });
    await execute(`
      context.eventBus.on('item.indexed', () => { throw new Error('mine') });
      context.eventBus.on('item.removed', () => { for (;;); });`);
    assert.equal(context.eventBus.emit('item.indexed'), true);
    assert.equal(await context.eventBus.emitAsync('item.removed'), 'all have received');
    const failures = logger.of('error', 'Plugin event handler failed').map(([, , error, fields]) => [error instanceof Error, fields]);
    assert.deepEqual(failures, [
      [true, { pluginId: ID, event: 'item.indexed', reason: 'Plugin execution failed: mine' }],
      [true, { pluginId: ID, event: 'item.removed', reason: 'Plugin execution exceeded 300ms timeout' }],
    ]);
    assert.equal(await execute('1'), 1);
    sandbox.disposeAll();
  });

  test('values that cannot be transferred do not arrive', async () => {
    const { sandbox, execute, context, logger } = await plugin();
    await execute('var received = 0; context.eventBus.on("item.indexed", () => { received += 1 })');
    await context.eventBus.emitAsync('item.indexed', { method() {} });
    assert.match(logger.of('error', 'Plugin event handler failed')[0][3].reason, /could not be cloned/);
    assert.equal(await execute('received'), 0);
    sandbox.disposeAll();
  });

  test('handlers are removed with their isolate', async () => {
    const { sandbox, isolate, execute, context } = await plugin();
    await execute('context.eventBus.on("item.indexed", () => {}); context.eventBus.once("item.removed", () => {})');
    assert.equal(context.eventBus.listenerCount('item.indexed') + context.eventBus.listenerCount('item.removed'), 2);
    sandbox.dispose(isolate);
    assert.equal(context.eventBus.listenerCount('item.indexed') + context.eventBus.listenerCount('item.removed'), 0);
  });

  test('handlers of a fresh execution are removed with it', async () => {
    const { sandbox, execute, context } = await plugin();
    await execute('context.eventBus.on("item.indexed", () => {})', { fresh: true });
    assert.equal(context.eventBus.listenerCount('item.indexed'), 0);
    sandbox.disposeAll();
  });

  test('a plugin has at most 1,000 listeners', async () => {
    const { sandbox, execute, context } = await plugin();
    context.eventBus.setMaxListeners(0);
    const error = await errorOf(execute('for (let i = 0; i < 2_000; i += 1) context.eventBus.on("item.indexed", () => {})'));
    assert.match(error.message, /Too many listeners/);
    assert.equal(context.eventBus.listenerCount('item.indexed'), 1_000);
    sandbox.disposeAll();
  });

  test('events beyond 1,000 queued ones are dropped', async () => {
    const { promise: begun, open } = gate();
    const { promise: hold, open: release } = gate();
    const { sandbox, execute, context, logger } = await plugin({ context: hostContext({ begin: open, hold: () => hold }) });
    await execute('var received = 0; context.eventBus.on("item.indexed", async () => { received += 1; if (received === 1) context.begin(); await context.hold() })');
    for (let i = 0; i < 1_500; i += 1) context.eventBus.emit('item.indexed', i);
    await begun;
    assert.equal(logger.of('warn', 'Plugin event dropped').length, 500);
    release();
    await until(() => logger.entries.length > 0);
    assert.equal(await execute('received'), 1_000);
    sandbox.disposeAll();
  });

  test('a plugin that handles its own events has one budget for all of them', async () => {
    const { sandbox, execute, context, logger } = await plugin({ manifest: { ...manifest(), limits: { cpuMs: 500 } } });
    await execute(`var rounds = 0; context.eventBus.on('item.indexed', () => {
      rounds += 1;
      for (const end = Date.now() + 10; Date.now() < end;);
      context.eventBus.emit('item.indexed');
    })`);
    context.eventBus.emit('item.indexed');
    await until(() => logger.of('error', 'Plugin event handler failed').length > 0);
    assert.match(logger.of('error', 'Plugin event handler failed')[0][3].reason, /(has used up its|exceeded) 500ms/);
    sandbox.disposeAll();
  });
});
