// Caches of hosts whose methods take more than a key: what a plugin's calls reach of them.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, hostContext, manifest, plugin, until } from '../../sandbox/plugin-helper.mjs';

const PREFIX = 'org.example.plugin:';

/** A cache like ioredis: commands take any number of keys, lists of them, and options by name. Methods are its class's. */
class Variadic {
  map = new Map([['other:secret', 'theirs'], ['secret', 'the host\'s']]);
  calls = [];
  #see(name, args) {
    this.calls.push([name, ...args]);
    return args.flat();
  }
  get(...args) { return this.map.get(this.#see('get', args).at(-1)) ?? null; }
  set(...args) {
    const [key, value, ...options] = this.#see('set', args);
    this.map.set((options.find((each) => typeof each === 'object' && each !== null)?.prefix ?? '') + key, value);
    return 'OK';
  }
  del(...args) { return this.#see('del', args).filter((key) => this.map.delete(key)).length; }
  exists(...args) { return this.#see('exists', args).filter((key) => this.map.has(key)).length; }
  expire(...args) { return this.#see('expire', args).length; }
  ttl(...args) { return this.#see('ttl', args).length; }
  has(...args) { return this.#see('has', args).some((key) => this.map.has(key)); }
  delete(...args) { return this.del(...args); }
  keys() { return [...this.map.keys()]; }
  scan() { return ['0', [...this.map.keys()]]; }
  mget(...args) { return args.flat().map((key) => this.map.get(key)); }
}

async function withCache(cache = new Variadic()) {
  return { cache, ...await plugin({ context: hostContext({ cache }), manifest: manifest({ permissions: { storage: { maxSize: 500_000 } } }) }) };
}

describe('a plugin\'s cache', () => {
  test('further arguments are not keys', async () => {
    const { sandbox, execute, cache } = await withCache();
    assert.deepEqual(await execute(`
      context.cache.set('mine', 1);
      [context.cache.exists('x', 'other:secret'), context.cache.has('x', 'secret'), context.cache.get('x', 'other:secret'), context.cache.del('x', 'other:secret', ['secret']), context.cache.delete('y', 'secret'), context.cache.ttl('x', 'secret'),
       context.cache.get('mine', { raw: true }), context.cache.expire('mine', 5, 'NX')]`), [0, false, null, 0, 0, 1, 1, 2]);
    assert.deepEqual(cache.map.get('other:secret'), 'theirs');
    for (const [name, key, ...rest] of cache.calls) {
      assert.ok(key.startsWith(PREFIX), `${name} ${key}`);
      assert.equal(rest.length, { set: 1, expire: 1 }[name] ?? 0, `${name} ${rest}`);
    }
    sandbox.disposeAll();
  });

  test('a key is a string, and text', async () => {
    const { sandbox, execute, cache } = await withCache();
    for (const key of ['["other:secret"]', '["x", "other:secret"]', 'new String("x")', 'new Map()', '5', 'undefined', 'null', '{ toString: undefined, key: "x" }', '"a\\r\\nget other:secret"', '"a\\0b"', '"a\\u007f"', '"\\ud800"', '"x".repeat(70_000)']) {
      for (const method of ['get', 'del', 'exists', 'set']) {
        assert.match((await errorOf(execute(`context.cache.${method}(${key}, 1)`))).message, /The key must be/, `${method}(${key})`);
      }
    }
    assert.deepEqual(cache.calls, []);
    for (const key of ['', ' ', 'a:b', 'a b/ü 日本 🙂', '../x', '*', '__proto__', 'x'.repeat(65_000)]) {
      await execute(`context.cache.set(${JSON.stringify(key)}, 1)`);
      assert.deepEqual(cache.calls.pop(), ['set', PREFIX + key, 1]);
    }
    sandbox.disposeAll();
  });

  test('a time to live is a number, or an object with one', async () => {
    const { sandbox, execute, cache } = await withCache();
    for (const ttl of ['"EX"', '"KEEPTTL"', '"5"', '"EX", 10', '["EX", 10]', 'NaN', 'Infinity', 'true', '5n', '{}', '{ prefix: "other:" }', '{ keyPrefix: "" }', '{ EX: "5" }', '{ ttl: [5] }', 'new Number(5)', 'new Map([["ttl", 5]])']) {
      assert.match((await errorOf(execute(`context.cache.set('k', 1, ${ttl})`))).message, /must be a finite number/, ttl);
    }
    for (const seconds of ['', '"5"', 'undefined', 'NaN', '[5]', '{ seconds: 5 }']) {
      assert.match((await errorOf(execute(`context.cache.expire(${['"k"', ...(seconds === '' ? [] : [seconds])].join()})`))).message, /`seconds` must be a finite number/, seconds);
    }
    assert.deepEqual(cache.calls, []);
    for (const [ttl, expected] of [['60', [60]], ['0.5', [0.5]], ['undefined', []], ['null', []], ['{ EX: 10 }', [{ EX: 10 }]], ['{ ttl: 5, prefix: "other:", GET: true }', [{ ttl: 5 }]], ['{ PX: 5 }, "other"', [{ PX: 5 }]]]) {
      await execute(`context.cache.set('k', 1, ${ttl})`);
      assert.deepEqual(cache.calls.pop(), ['set', `${PREFIX}k`, 1, ...expected]);
    }
    assert.equal(cache.map.get('other:k'), undefined);
    sandbox.disposeAll();
  });

  const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
  /** Caches that perform, or answer, some commands later than others. */
  const LATE = {
    'deletions that end late': (map) => ({ async del(key) { map.delete(key); await pause(5); } }),
    'small values that are set late': (map) => ({ async set(key, value) { map.set(key, value); await pause(value.length < 5 ? 5 : 0); } }),
    'large values that are set late': (map) => ({ async set(key, value) { if (value.length > 5) await pause(5); map.set(key, value); } }),
    'answers in any order': (map) => ({ async set(key, value) { map.set(key, value); await pause(map.size % 3); }, async del(key) { await pause(map.size % 2); map.delete(key); } }),
  };
  for (const [name, late] of Object.entries(LATE)) {
    test(`writes of a key that overlap: ${name}`, async () => {
      const map = new Map();
      const cache = { get: async (key) => map.get(key), set: async (key, value) => { map.set(key, value); }, del: async (key) => map.delete(key), ...late(map) };
      const { sandbox, execute } = await plugin({ context: hostContext({ cache }) });
      await execute(`(async () => {
        const { cache } = context;
        const large = 'x'.repeat(400);
        for (let index = 0; index < 12; index += 1) {
          const key = 'k' + index;
          const writes = [[() => cache.del(key), () => cache.set(key, large)], [() => cache.set(key, large), () => cache.set(key, '')], [() => cache.set(key, ''), () => cache.set(key, large), () => cache.del(key)]][index % 3];
          await Promise.allSettled(writes.map(async (write) => write()));
        }
      })()`);
      const stored = [...map].reduce((bytes, [key, value]) => bytes + key.length + value.length, 0);
      assert.ok(stored <= 1_000, `${stored} bytes`);
      // Writes that do not overlap count as what they leave.
      await execute('(async () => { for (let index = 0; index < 12; index += 1) await context.cache.del(`k${index}`); await context.cache.set("k", "x".repeat(900)); })()');
      sandbox.disposeAll();
    });
  }

  test('a key that is written while the cache is asked about it still counts', async () => {
    const map = new Map();
    let answer;
    const cache = { get: async () => null, exists: () => new Promise((resolve) => { answer = () => resolve(false); }), set: async (key, value) => { map.set(key, value); } };
    const { sandbox, execute } = await plugin({ context: hostContext({ cache }) });
    await execute('context.cache.set("short", "x", 0.001)');
    await pause(10);
    const over = errorOf(execute('context.cache.set("other", "x".repeat(1_000))'));
    await until(() => answer !== undefined);
    await execute('context.cache.set("short", "x".repeat(900))');
    answer();
    assert.match((await over).message, /^Storage quota exceeded/);
    assert.match((await errorOf(execute('context.cache.set("third", "x".repeat(900))'))).message, /^Storage quota exceeded/);
    sandbox.disposeAll();
  });

  test('calls that need the same answer of the cache cause one request', async () => {
    const map = new Map();
    const asked = [];
    let answer;
    const answered = new Promise((resolve) => { answer = () => resolve(false); });
    const cache = {
      get: async () => null,
      exists: (key) => {
        asked.push(key);
        return answered;
      },
      set: async (key, value) => { map.set(key, value); },
    };
    const { sandbox, execute } = await plugin({ context: hostContext({ cache }) });
    await execute('(async () => { await context.cache.set("a", "x", 0.001); await context.cache.set("b", "x", 0.001); })()');
    await pause(10);
    const all = execute('Promise.allSettled(Array.from({ length: 50 }, () => context.cache.set("other", "x".repeat(960)))).then((each) => each.map(({ status }) => status))');
    // The calls have arrived before this result.
    await execute('0');
    assert.ok(asked.length > 0);
    answer();
    assert.deepEqual(await all, Array(50).fill('fulfilled'));
    assert.deepEqual(asked, [`${PREFIX}a`, `${PREFIX}b`]);
    sandbox.disposeAll();
  });

  test('methods that list or accept many keys are absent, own or inherited', async () => {
    const { sandbox, execute } = await withCache();
    assert.deepEqual(await execute('Object.keys(context.cache).sort()'), ['del', 'delete', 'exists', 'expire', 'get', 'has', 'set', 'ttl']);
    const inherited = await withCache(Object.create(Object.assign(new Variadic(), { get: (...args) => args.length, clear: () => {} })));
    assert.deepEqual(await inherited.execute('[typeof context.cache.clear, context.cache.get("a", "b")]'), ['undefined', 1]);
    const map = await withCache(new Map([['other:secret', 1]]));
    assert.deepEqual(await map.execute('[Object.keys(context.cache).sort().join(), context.cache.set("a", 2), context.cache.get("a"), context.cache.get("other:secret")]'), ['delete,get,has,set', undefined, 2, undefined]);
    assert.deepEqual([...map.cache.keys()], ['other:secret', `${PREFIX}a`]);
    for (const each of [sandbox, inherited.sandbox, map.sandbox]) each.disposeAll();
  });
});

describe('names that a manifest permits', () => {
  test('the event that is emitted is the one that was checked', async () => {
    const emitted = [];
    const bus = { on: (...args) => { emitted.push(args[0]); }, emit: (...args) => { emitted.push(args[0]); }, listenerCount: (...args) => args.length, eventNames: () => ['item.indexed', 'secret', Symbol('item.indexed'), new String('item.indexed')] };
    const { sandbox, execute } = await plugin({ context: hostContext({ eventBus: bus }) });
    for (const event of ['["item.indexed"]', '["item.indexed", "secret"]', 'new String("item.indexed")', '5', 'undefined', 'null', '{}']) {
      for (const call of [`emit(${event})`, `on(${event}, () => {})`, `listenerCount(${event})`]) {
        assert.match((await errorOf(execute(`context.eventBus.${call}`))).message, /The name of an event must be a string/, call);
      }
    }
    for (const event of ['"item.indexed "', '"ITEM.INDEXED"', '"item.*"', '"*"', '"item.indexed\\0"', '"__proto__"', '""']) {
      assert.equal((await errorOf(execute(`context.eventBus.emit(${event})`))).kind, 'HOOK', event);
    }
    await assert.rejects(execute('context.eventBus.emit(Symbol("item.indexed"))'));
    assert.deepEqual(await execute('[context.eventBus.listenerCount("item.indexed", "secret"), context.eventBus.eventNames()]'), [1, ['item.indexed']]);
    assert.deepEqual(emitted, []);
    sandbox.disposeAll();
  });

  test('a refused name cannot add lines to a log', async () => {
    const { sandbox, execute, logger } = await plugin({ context: hostContext({ fetch: () => {} }) });
    await errorOf(execute('context.eventBus.emit("x\\n[error] forged\\u001b[2J\\u2028")'));
    await errorOf(execute('context.fetch("http://evil.test\\n[error] forged")'));
    await errorOf(execute('context.fetch({ socketPath: "/x\\r\\n[error] forged" })'));
    const warnings = logger.of('warn', 'Permission denied').map(([, , fields]) => fields.permission + fields.reason);
    assert.equal(warnings.length, 3);
    assert.deepEqual(warnings.filter((text) => /[\p{C}\p{Zl}\p{Zp}]/u.test(text)), []);
    sandbox.disposeAll();
  });

  test('a list in a manifest is read once', async () => {
    const twice = (first, second) => {
      let reads = 0;
      return Object.defineProperty([first], 0, { get: () => (reads++ === 0 ? first : second), enumerable: true });
    };
    const made = manifest({ permissions: { network: { allowedDomains: twice('example.org', 'evil.test') }, hooks: twice('item.indexed', 'secret') } });
    const { sandbox, execute } = await plugin({ manifest: made, context: hostContext({ fetch: () => 1 }) });
    assert.deepEqual(await execute('[context.allowedDomains, context.fetch("https://example.org/"), context.eventBus.emit("item.indexed")]'), [['example.org'], 1, false]);
    assert.equal((await errorOf(execute('context.eventBus.emit("secret")'))).kind, 'HOOK');
    sandbox.disposeAll();
  });
});
