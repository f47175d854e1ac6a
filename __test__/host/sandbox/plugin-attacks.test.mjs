// Plugins that try to exceed the permissions of their manifest.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import { errorOf, hostContext, manifest, plugin, PluginError, SandboxViolationError } from '../../sandbox/plugin-helper.mjs';

const domains = (...allowedDomains) => manifest({ permissions: { network: { allowedDomains } } });

/** A plugin whose host has methods that take URLs; `fetched` has the ones that got through. */
async function browser(made) {
  const fetched = [];
  const take = async (...args) => { fetched.push(args); return fetched.length; };
  const context = hostContext({ fetch: take, http: { get: take, client: { request: take } } });
  return { ...await plugin({ context, ...(made === undefined ? {} : { manifest: made }) }), fetched };
}

describe('URLs', () => {
  // Passed on, unchanged or as the normalized URL.
  const allowed = [
    'https://api.example.com', 'https://api.example.com/path?x=1#y', 'http://api.example.com', 'https://API.Example.COM/', 'https://api.example.com:8443/',
    'https://v2.api.example.com/', 'https://a.b.c.example.org/', 'https://example.org./', 'wss://example.org/socket', '//api.example.com/x',
    'https://user:secret@api.example.com/', '  https://api.example.com/', 'redis://api.example.com:6379', 'https://api.example.com/?next=https://evil.test/',
    // Not URLs, or URLs without a host.
    'plain text', '', '/path', 'path/to', '?q=1', '#top', './/evil.test', 'note: nothing', 'urn:isbn:5', 'key:5', 'evil.test', '5:30', 'mail@evil.test',
  ];
  const normalized = {
    'https://api.example.com': 'https://api.example.com/', 'http://api.example.com': 'http://api.example.com/', 'https://API.Example.COM/': 'https://api.example.com/',
    '  https://api.example.com/': 'https://api.example.com/', 'redis://api.example.com:6379': 'redis://api.example.com:6379/',
  };
  test('permitted URLs', async () => {
    const { sandbox, execute, fetched } = await browser();
    for (const url of allowed) {
      await execute(`context.http.get(${JSON.stringify(url)})`).catch((error) => { assert.fail(`${url}: ${error.message}`); });
      assert.deepEqual(fetched.pop(), [normalized[url] ?? url]);
    }
    sandbox.disposeAll();
  });

  const forbidden = [
    'https://evil.test', 'https://example.com', 'https://notexample.org', 'https://example.org.evil.test', 'https://api.example.com.evil.test/',
    'https://xapi.example.com/', 'https://com/', 'https://org', 'http://localhost', 'http://127.0.0.1', 'http://2130706433', 'http://[::1]/', 'http://0x7f.1/',
    // User information.
    'https://api.example.com@evil.test', 'https://api.example.com:x@evil.test/', 'https://api.example.com%40evil.test', 'https://a@b@api.example.com/',
    'https://evil.test@evil.test@api.example.com/', 'https://api.example.com%00@evil.test/',
    // Slashes and backslashes.
    'https:evil.test', 'https:/evil.test', 'https:///evil.test', 'https:\\\\evil.test', 'https:/\\evil.test', '//evil.test', '///evil.test', '\\\\evil.test', '/\\evil.test', '\\/evil.test',
    'https://api.example.com\\@evil.test', 'https://evil.test\\@api.example.com', 'https://evil.test\\.api.example.com', 'https:api.example.com', 'https:///api.example.com', '///api.example.com',
    'https:\\\\api.example.com', '\\\\api.example.com', 'https://api.example.com\\.evil.test',
    // Blanks and control characters, which parsers drop.
    ' https://evil.test', '\u0000https://evil.test', '\thttps://evil.test', 'ht\ntps://evil.test', 'https\t://evil.test', 'h\r\nttps:\n//\tevil.test', '/\t/evil.test', '\n//evil.test',
    'https://api.example.com\t.evil.test', 'https://api.exam\nple.com/', 'https://api.example.com\n@evil.test', '\u001f//evil.test', 'https://api.example.com .evil.test',
    // Dots, case, scripts and escapes.
    'https://EVIL.test', 'HTTPS://evil.test', 'https://evil.test.', 'https://api.example.com..', 'https://api。example。com。evil.test', 'https://ｅvil.test', 'https://аpi.example.com',
    'https://xn--pi-6kc.example.com.evil.test', 'https://%65vil.test', 'https://api.example.com%2eevil.test', 'https://api%2eexample%2ecom/', 'https://api.example.com%2f.evil.test', 'https://api.example.com%23.evil.test',
    // Ends of the authority.
    'https://evil.test?api.example.com', 'https://evil.test#api.example.com', 'https://evil.test/api.example.com', 'https://evil.test?@api.example.com', 'https://evil.test#@api.example.com/', 'https://evil.test/@api.example.com',
    'https://evil.test:443@api.example.com:443@evil.test', 'https://[api.example.com]', 'https://api.example.com:99999', 'https://', 'https:', 'http:', '//', '//@', 'https://@', 'https://api.example.com:x',
    // Other schemes.
    'ftp://evil.test', 'ws://evil.test', 'wss://evil.test/', 'gopher://evil.test', 'redis://evil.test:6379', 'redis://API.EVIL.test', 'file:///etc/passwd', 'file://evil.test/share', 'data:text/html,x', 'blob:https://api.example.com/1',
    'javascript:alert(1)', 'view-source:https://evil.test', 'feed:https://evil.test', 'jar:http://evil.test!/x', 'a:b:c://evil.test', 'a:b:https://evil.test', 'x:////evil.test', 'mailto:x@evil.test', `${'a:'.repeat(20)}//evil.test`,
    // Long ones, whose end a limited check would miss.
    `https://${'a'.repeat(9_000)}@evil.test/`, `https://${'a.'.repeat(4_080)}api.example.com.evil.test`, `https://${'a.'.repeat(4_084)}example.org.evil.test/`, `${' '.repeat(9_000)}https://evil.test`,
    `https:${'/'.repeat(9_000)}evil.test`, `https://${'a'.repeat(8_170)}.example.org.evil.test`,
  ];
  test('forbidden URLs', async () => {
    const { sandbox, execute, fetched } = await browser();
    // All in one execution: a plugin continues after a refusal.
    const seen = await execute(`
      ${JSON.stringify(forbidden)}.map((url) => { try { context.http.get(url); return url } catch (error) { return error.name + ' ' + error.message.slice(0, 75) } })`);
    const wrong = seen.filter((text) => !text.startsWith('SandboxViolationError Plugin \'org.example.plugin\' lacks required permission: network:'));
    assert.deepEqual([wrong, fetched], [[], []]);
    sandbox.disposeAll();
  });

  test('every prefix of a long host is treated as a part only', async () => {
    const { sandbox, execute, fetched } = await browser();
    await execute(`
      for (let length = 8_140; length < 8_200; length += 1) {
        const start = 'https://' + 'a'.repeat(length - 8 - 12) + '.example.org';
        for (const rest of ['.evil.test', '@evil.test', '.evil.test/', '%2eevil.test']) { try { context.fetch(start + rest) } catch {} }
      }`);
    assert.deepEqual(fetched, []);
    sandbox.disposeAll();
  });

  const evil = '"https://evil.test/"';
  const placed = [
    `{ url: ${evil} }`, `{ href: ${evil} }`, `{ toString: undefined, url: ${evil} }`, `[${evil}]`, `[[[${evil}]]]`, `{ a: { b: [{ c: ${evil} }] } }`, `new String(${evil})`, `Object(${evil})`, `[Object(${evil})]`,
    `new Map([["url", ${evil}]])`, `new Map([[${evil}, 1]])`, `new Set([${evil}])`, `{ [${evil}]: 1 }`, `new Error(${evil})`, `Object.assign(new Error("x"), { stack: ${evil} })`, `new Error("x", { cause: ${evil} })`,
    `Object.assign([], { url: ${evil} })`.replace('Object.assign([], { url: ', '[').replace(' })', ']'), `{ ["__proto__"]: { url: ${evil} } }`, `JSON.parse('{"__proto__": {"url": "https://evil.test"}}')`,
    `{ get url() { return ${evil} } }`, `1, ${evil}`, `"https://api.example.com/", { proxy: ${evil} }`, 'new RegExp("/evil.test")',
    // Texts that arise when an array is converted to a string.
    '["http:", ".evil.test"]', '["http://", ".evil.test/"]',
    // Hosts without a URL.
    '{ host: "evil.test" }', '{ hostname: "evil.test" }', '{ protocol: "https:", hostname: "evil.test", path: "/" }', '{ options: { Host: "evil.test:80" } }', '{ hostname: Object("evil.test") }', '{ host: "api.example.com@evil.test" }',
    '{ hostname: "127.0.0.1" }', '{ host: "::1" }', 'new Map([["hostname", "evil.test"]])', '{ host: "api.example.com#.evil.test" }', '{ headers: { host: "evil.test" } }', '{ protocol: "file:" }', '{ host: 2130706433 }', '{ host: ["evil.test"] }', '{ hostname: [["evil.test"]] }', '{ hostname: { 0: "evil.test" } }',
    '{ socketPath: "/var/run/docker.sock", path: "/" }', '"https://api.example.com/", { unix: "/var/run/docker.sock" }', '{ protocol: "https://evil.test" }',
  ];
  for (const args of placed) {
    test(`in ${args}`, async () => {
      const { sandbox, execute, fetched } = await browser();
      for (const method of ['fetch', 'http.get', 'http.client.request']) {
        const error = await errorOf(execute(`context.${method}(${args})`));
        assert.ok(error instanceof SandboxViolationError, `${method}: ${error.message}`);
        assert.equal(error.kind, 'NETWORK');
      }
      assert.deepEqual(fetched, []);
      sandbox.disposeAll();
    });
  }

  test('an array\'s string has the host of its first element', async () => {
    const { sandbox, execute, fetched } = await browser();
    for (const args of [
      '["https://api.example.com", ".evil.test"]', '["https://api.example.com", "@evil.test"]', '["https://api.example.com", ["@evil.test"]]', '[["https://api.example.com"], ".evil.test"]',
      '["https://api.example.com", Object("@evil.test")]', '["https://api.example.com", 5, ".evil.test"]', '["//api.example.com", "@evil.test"]',
    ]) {
      await execute(`context.fetch(${args})`);
      assert.equal(new URL(String(fetched.at(-1)[0]), 'https://base.invalid').hostname, 'api.example.com', args);
    }
    sandbox.disposeAll();
  });

  test('in permitted arguments', async () => {
    const { sandbox, execute, fetched } = await browser();
    for (const args of [
      '{ url: "https://api.example.com/", headers: { accept: "text/html" } }', '{ protocol: "https:", hostname: "api.example.com", port: 443, path: "/x" }', '["https://api.example.com", "https://v.example.org"]',
      '"https://api.example.com/", { method: "POST", body: "a: b, c: d" }', 'new Map([["host", "api.example.com:8443"]])', 'new Uint8Array(3)', '{ when: new Date(5), nothing: null, n: 5n }', '["plain", "texts", 5]',
    ]) await execute(`context.fetch(${args})`);
    assert.equal(fetched.length, 8);
    sandbox.disposeAll();
  });

  test('the arguments of a call are searched in little time, or refused', async () => {
    const { sandbox, execute, fetched } = await browser();
    for (const args of [
      '[2n ** (2n ** 20n)]', '{ host: 2n ** (2n ** 24n) }', 'Array.from({ length: 200_000 }, (_, i) => "a:" + i)', 'Array.from({ length: 5_000 }, () => "a:".repeat(4_000))', 'new Array(2 ** 31)', '(() => { let a = ["x"]; for (let i = 0; i < 60; i += 1) a = [a, a]; return a })()',
      '(() => { let a = []; for (let i = 0; i < 60; i += 1) a = [a, a]; return a })()',
    ]) {
      const start = performance.now();
      const error = await errorOf(execute(`context.fetch(${args})`));
      assert.ok(error instanceof SandboxViolationError || /could not be cloned|too large/i.test(error.message), `${args}: ${error.message}`);
      assert.ok(performance.now() - start < 15_000, `${args}: ${performance.now() - start} ms`);
    }
    assert.deepEqual(fetched, []);
    await execute('context.fetch((() => { let a = ["x"]; for (let i = 0; i < 2_000; i += 1) a = [a]; return a })())');
    assert.equal(fetched.length, 1);
    await execute('const cycle = { list: [] }; cycle.list.push(cycle); context.fetch(cycle)');
    assert.equal(fetched.length, 2);
    sandbox.disposeAll();
  });

  test('without the permission no URL is allowed', async () => {
    const { sandbox, execute, fetched } = await browser(manifest({ permissions: {} }));
    assert.equal((await errorOf(execute('context.fetch("https://api.example.com/")'))).message, 'Plugin \'org.example.plugin\' lacks required permission: network:api.example.com');
    assert.equal(await execute('context.fetch("/relative")'), 1);
    assert.equal(fetched.length, 1);
    sandbox.disposeAll();
  });

  test('the context\'s own list of domains permits nothing; the plugin sees the manifest\'s list', async () => {
    const context = hostContext({ allowedDomains: ['evil.test'], fetch: () => 'fetched' });
    const { sandbox, execute } = await plugin({ context });
    assert.equal((await errorOf(execute('context.fetch("https://evil.test/")'))).kind, 'NETWORK');
    assert.deepEqual(await execute('context.allowedDomains'), ['api.example.com', 'example.org']);
    sandbox.disposeAll();
  });

  test('domains in other notations', async () => {
    const { sandbox, execute } = await browser(domains('EXAMPLE.net.', 'bücher.example', '127.0.0.1', '[::1]', 'localhost'));
    for (const url of ['https://example.net/', 'https://x.example.net./', 'https://bücher.example/', 'https://xn--bcher-kva.example/', 'http://127.0.0.1:80/', 'http://127.1/', 'http://[::1]:8080/', 'http://[0:0::1]/', 'http://localhost:3000/']) {
      await execute(`context.fetch(${JSON.stringify(url)})`);
    }
    for (const url of ['https://bucher.example/', 'http://127.0.0.2/', 'http://[::2]/', 'http://1.127.0.0.1/', 'https://notlocalhost/']) {
      assert.equal((await errorOf(execute(`context.fetch(${JSON.stringify(url)})`))).kind, 'NETWORK', url);
    }
    sandbox.disposeAll();
  });

  test('text that is logged, counted, cached or emitted is not a request', async () => {
    const { sandbox, execute } = await plugin();
    await execute(`
      const url = 'https://evil.test/';
      context.logger.info(url); context.metrics.incrementCounter('visits', { url }); context.eventBus.emit('item.indexed', { url });
      context.cache.set('page', url)`);
    sandbox.disposeAll();
  });

  test('later changes of a manifest have no effect', async () => {
    const made = manifest();
    const { sandbox, execute } = await browser(made);
    made.permissions.network.allowedDomains.push('evil.test');
    made.permissions.hooks.push('secret');
    made.permissions.storage.maxSize = 1e9;
    assert.equal((await errorOf(execute('context.fetch("https://evil.test/")'))).kind, 'NETWORK');
    assert.equal((await errorOf(execute('context.eventBus.emit("secret")'))).kind, 'HOOK');
    assert.equal((await errorOf(execute('context.cache.set("k", "x".repeat(2_000))'))).kind, 'STORAGE');
    sandbox.disposeAll();
  });
});

describe('the host is out of reach', () => {
  test('through every object of a plugin', async () => {
    const { sandbox, execute } = await plugin();
    const found = await execute(`
      const seen = new Set();
      const escaped = [];
      const visit = (value, path) => {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || path.length > 400) return;
        seen.add(value);
        if (typeof value === 'function') {
          try { if (value.constructor('return typeof process + typeof require + typeof Bun + typeof Deno')() !== 'undefined'.repeat(4)) escaped.push(path) } catch {}
        }
        for (const key of Reflect.ownKeys(value)) {
          let each;
          try { each = value[key] } catch { continue }
          visit(each, path + '.' + String(key));
        }
        visit(Object.getPrototypeOf(value), path + '.[[Prototype]]');
      };
      visit(context, 'context'); visit(console, 'console'); visit(context.metrics.startTimer(), 'timer'); visit(context.cache.get('k'), 'promise');
      try { context.eventBus.emit('secret') } catch (error) { visit(error, 'error') }
      visit(globalThis, 'global');
      [escaped, seen.size > 100]`);
    assert.deepEqual(found, [[], true]);
    sandbox.disposeAll();
  });

  test('names of prototype properties are not passed on', async () => {
    class Service {
      static reached = [];
      constructor() { this.own = () => 'own'; }
      // oxlint-disable-next-line unicorn/no-thenable -- what this is about
      then(resolve) { Service.reached.push('then'); resolve('thenable'); }
      prototype() { Service.reached.push('prototype'); }
      __proto__() { Service.reached.push('__proto__'); }
      fine() { return 'fine'; }
    }
    const service = new Service();
    const hidden = Object.assign(Object.create(null), { fine: () => 'fine', constructor: () => Service.reached.push('constructor'), __secret: () => 'secret', [Symbol.iterator]: () => 'symbol' });
    Object.defineProperty(hidden, '__proto__', { value: () => Service.reached.push('own __proto__'), enumerable: true });
    // oxlint-disable-next-line unicorn/no-thenable -- as above
    const { sandbox, execute } = await plugin({ context: hostContext({ service, hidden, constructor: () => 'c', then: () => 't', array: [() => 'element'], map: new Map(), promise: Promise.resolve(1), buffer: Buffer.from('x') }) });
    assert.deepEqual(await execute(`
      [Object.keys(context).sort().join(), Reflect.ownKeys(context.service).sort().join(), Reflect.ownKeys(context.hidden).join(), context.service.own(), context.hidden.fine(),
       typeof context.then, context.constructor === Object, context.service.constructor === Object, context.service.toString === Object.prototype.toString, context.service.__proto__ === Object.prototype]`),
    ['allowedDomains,cache,config,eventBus,hidden,logger,metrics,service', 'fine,own', 'fine', 'own', 'fine', 'undefined', true, true, true, true]);
    assert.equal(await execute('(async () => { await context.service; return "not adopted" })()'), 'not adopted');
    assert.deepEqual(Service.reached, []);
    sandbox.disposeAll();
  });

  test('properties that the context does not list are not reachable', async () => {
    const { sandbox, execute } = await plugin({ context: hostContext({ secret: 'a text', number: 5, object: { text: 'inner', f: () => 1 }, loop: undefined }) });
    assert.deepEqual(await execute('[context.secret, context.number, context.object.text, context.object.f(), context.eventBus._events, context.eventBus.setMaxListeners, context.cache.map, context.cache.clear, context.calls, context.logger.child]'),
      [undefined, undefined, undefined, 1, undefined, undefined, undefined, undefined, undefined, undefined]);
    sandbox.disposeAll();
  });

  test('the context is deeply frozen', async () => {
    const { sandbox, execute } = await plugin({ context: hostContext({ http: { get() {} } }) });
    assert.deepEqual(await execute(`
      'use strict';
      [context, context.cache, context.cache.get, context.http, context.eventBus, context.eventBus.on, console, console.log, context.allowedDomains].map((value) => Object.isFrozen(value)).join()`), Array(9).fill('true').join());
    sandbox.disposeAll();
  });

  test('built-ins that the plugin has replaced are not used', async () => {
    const { sandbox, execute, context } = await plugin();
    context.fetch = () => 'fetched';
    await execute(`
      var stolen = '';
      const steal = (name) => () => { stolen += name + ' ' };
      const properties = ['value', 'get', 'set', 'timeout', 'promise', 'reference', 'copy', 'event', 'handler', 'once', 'then', 'eventBus', 'cache', 'invoke'];
      const { defineProperty } = Object;
      for (const key of properties) defineProperty(Object.prototype, key, { __proto__: null, set: steal('setter ' + key), get: steal('getter ' + key), configurable: true });
      for (const key of [0, 1, 2]) defineProperty(Array.prototype, key, { __proto__: null, set: steal('index setter'), get: steal('index getter'), configurable: true });
      Array.prototype[Symbol.iterator] = steal('iterator');
      Promise.prototype.then = steal('then');
      Map.prototype.get = Map.prototype.set = Map.prototype.delete = Map.prototype.forEach = steal('map');
      Function.prototype.call = Function.prototype.apply = Function.prototype.bind = steal('function');
      Reflect.apply = Reflect.defineProperty = Object.defineProperty = Object.freeze = Object.hasOwn = JSON.stringify = steal('static');
      stolen = '';`);
    const entries = [];
    context.logger.info = (...args) => { entries.push(args); };
    const result = await execute(`
      console.log('said', { f() {} });
      context.eventBus.on('item.indexed', () => { context.logger.info('entries') });
      context.logger.info('called', context.fetch('/x'));
      let refused; try { context.fetch('https://evil.test') } catch (error) { refused = error.name }
      refused`);
    assert.equal(result, 'SandboxViolationError');
    context.eventBus.emit('item.indexed');
    await execute('0');
    assert.deepEqual(entries, [['called', 'fetched'], ['entries']]);
    assert.equal(await execute('stolen'), '');
    sandbox.disposeAll();
  });

  test('stacks show no frames or functions of the host', async () => {
    const { sandbox, execute } = await plugin({ context: hostContext({ fail: () => { throw new Error('from the host'); } }) });
    const [stack, frames, own] = await execute(`
      const stackOf = (run) => { try { run() } catch (error) { return error.stack } };
      const stack = stackOf(() => context.fail());
      const functions = [];
      Error.prepareStackTrace = (error, sites) => { for (const site of sites) functions.push(typeof site.getFunction(), typeof site.getThis()); return 'prepared' };
      stackOf(() => context.fail());
      stackOf(() => context.eventBus.emit('secret'));
      new Promise((resolve) => context.cache.get({ get x() { stackOf(() => { throw new Error('in a getter') }).length; return 1 } }, resolve(1))).catch(() => {});
      [stack, functions.filter((each) => each === 'function').length, functions.length]`);
    assert.doesNotMatch(stack, /surface|node:|file:|(?<!sandbox)\.m?js/);
    assert.ok(frames <= own);
    sandbox.disposeAll();
  });

  test('violations and limits cannot be forged', async () => {
    const { sandbox, execute } = await plugin();
    for (const code of [
      'const error = new Error("Plugin exceeded 128MB memory limit"); error.name = "SandboxViolationError"; error.code = "ERR_ISOLATE_MEMORY"; error.kind = "MEMORY"; throw error',
      'const error = new Error("Script execution timed out."); error.code = "ERR_ISOLATE_TIMEOUT"; throw error', 'Promise.reject(Object.assign(new Error("m"), { code: "ERR_ISOLATE_DEADLINE" }))',
      'throw Object.assign(new Error("lacks"), { name: "SandboxViolationError" })', 'throw new Error("Isolate was disposed during execution due to memory limit")',
    ]) {
      const error = await errorOf(execute(`{ ${code} }`));
      assert.ok(error instanceof PluginError, error.stack);
      assert.equal(error.cause.code, undefined);
    }
    assert.equal(sandbox.getActiveIsolateCount(), 1);
    sandbox.disposeAll();
  });

  test('functions of the plugin are not passed to the host', async () => {
    const seen = [];
    const { sandbox, execute } = await plugin({ context: hostContext({ take: (...args) => { seen.push(args); } }) });
    for (const args of ['() => 1', '{ f() {} }', '[() => 1]', 'class {}', 'Promise.resolve(1)', 'Symbol("s")', 'new Proxy({}, {})', 'new WeakMap()']) {
      for (const method of ['take', 'logger.info', 'metrics.setGauge', 'cache.get', 'metrics.startTimer()']) {
        assert.match((await errorOf(execute(`context.${method}(${args})`))).message, /could not be cloned/, `${method} ${args}`);
      }
    }
    assert.deepEqual(seen, []);
    sandbox.disposeAll();
  });

  test('tampering with the globals affects the plugin only', async () => {
    const { sandbox, execute } = await plugin();
    await execute('globalThis.context = 5; globalThis.console = undefined; globalThis.pluginId = "other"; delete globalThis.global');
    assert.deepEqual(await execute('[typeof context, pluginId, typeof console]'), ['object', 'org.example.plugin', 'undefined']);
    await execute('Object.defineProperty(globalThis, "context", { value: "mine", configurable: false, writable: false }); 0');
    assert.equal((await errorOf(execute('1'))).message, 'Plugin execution failed: Cannot redefine property: context');
    assert.equal(await execute('context.config.name', { fresh: true }), 'value');
    sandbox.disposeAll();
  });

  test('data cannot tamper with the host', async () => {
    const { sandbox, execute, context } = await plugin();
    await execute('context.cache.set("k", JSON.parse(\'{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}\'))');
    assert.equal({}.polluted, undefined);
    assert.ok(Object.hasOwn(context.cache.map.get('org.example.plugin:k'), '__proto__'));
    sandbox.disposeAll();
  });
});

test('the host\'s event loop runs while plugins loop, and the process can end', async () => {
  const result = await run(`
    const sandbox = new ivm.IsolatedVmSandbox();
    const spinning = await sandbox.createIsolate({ id: 'p', permissions: { hooks: ['x'] }, limits: { cpuMs: 300 } });
    let ticks = 0;
    const interval = setInterval(() => { ticks += 1; }, 5);
    const error = await sandbox.executeInSandbox(spinning, 'for (;;);', {}).catch((error) => error);
    clearInterval(interval);
    console.log(error.kind, ticks >= 5);
    await sandbox.executeInSandbox(spinning, 'Promise.reject(new Error("unhandled")); new Promise(() => {}).then(() => {}); 0', {}).catch(() => {});
    sandbox.executeInSandbox(spinning, 'context.http.get()', { http: { get: () => Promise.reject(new Error('late')) } }).catch((error) => console.log(error.message));
    await sandbox.executeInSandbox(spinning, 'context.http.get(); 0', { http: { get: () => Promise.reject(new Error('ignored')) } }).catch(() => {});
    // Never disposed.`, { timeout: 20_000 });
  assert.deepEqual([result.stdout.trimEnd().split('\n'), result.stderr, result.code, result.signal], [['CPU true', 'Plugin execution failed: late'], '', 0, null]);
});
