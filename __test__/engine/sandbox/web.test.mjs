// The web APIs: where they are available, their shape, URLs, and what hostile guests can do with them. `web-encodings` tests the others.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';
import { IsolatedVmSandbox, manifest } from '../../sandbox/plugin-helper.mjs';
import { errorsOf, resultOf, run } from '../../sandbox/web-helper.mjs';

const { createSandbox, IsolatedVMSandbox } = ivm;
const NAMES = ['TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'atob', 'btoa', 'structuredClone', 'crypto', 'performance'];
const MORE = ['DOMException', 'Crypto', 'Performance'];
const TYPES = `[${[...NAMES, ...MORE].map((name) => `typeof ${name} !== 'undefined' && '${name}'`)}].filter(Boolean)`;

describe('web basics: availability', () => {
  const cases = [
    [undefined, []], [false, []], [null, []], [[], []], [true, [...NAMES, ...MORE]],
    [['URL'], ['URL']], [['URLSearchParams', 'TextDecoder'], ['TextDecoder', 'URLSearchParams']],
    [['atob'], ['atob', 'DOMException']], [['crypto'], ['crypto', 'DOMException', 'Crypto']], [['performance'], ['performance', 'Performance']],
    [NAMES, [...NAMES, ...MORE]],
  ];
  for (const [web, names] of cases) {
    test(`${JSON.stringify(web)}`, async () => {
      assert.deepEqual((await createSandbox({}, { web }).execute(TYPES)).result, names);
      assert.deepEqual((await new IsolatedVMSandbox({ web }).execute(`return ${TYPES}`, [], async () => {})).result, names);
      const plugins = new IsolatedVmSandbox(undefined, { web });
      const isolate = await plugins.createIsolate(manifest());
      assert.deepEqual(await plugins.executeInSandbox(isolate, TYPES, {}), names);
      assert.deepEqual(await plugins.executeInSandbox(isolate, TYPES, {}, { fresh: true }), names);
      plugins.disposeAll();
    });
  }

  test('wrong names are refused', () => {
    const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /^`web` must be a boolean or an array of names: TextEncoder, / };
    for (const web of ['URL', 1, {}, ['url'], ['fetch'], ['URL', 1], [undefined], ['__proto__'], ['DOMException']]) {
      assert.throws(() => createSandbox({}, { web }), refused);
      assert.throws(() => new IsolatedVMSandbox({ web }), refused);
      assert.throws(() => new IsolatedVmSandbox(undefined, { web }), refused);
    }
  });

  test("a host's own globals take precedence, and no others are added", async () => {
    assert.equal(await resultOf('URL', {}, { URL: 'mine' }), 'mine');
    assert.deepEqual(await resultOf("['fetch', 'require', 'process', 'native', 'installWeb', 'setTimeout'].map((name) => typeof Function('return this')()[name])"), Array(6).fill('undefined'));
  });
});

describe('web basics: shape', () => {
  test('members follow Web IDL', async () => {
    assert.deepEqual(await resultOf(`
      const global = Function('return this')();
      const shape = (name) => {
        const { writable, enumerable, configurable, value } = Object.getOwnPropertyDescriptor(global, name);
        return [name, writable, enumerable, configurable, typeof value, Object.prototype.toString.call(value.prototype ?? value)];
      };
      return ['TextDecoder', 'URL', 'URLSearchParams', 'DOMException', 'atob', 'structuredClone', 'crypto', 'performance'].map(shape);
    `), [
      ['TextDecoder', true, false, true, 'function', '[object TextDecoder]'], ['URL', true, false, true, 'function', '[object URL]'],
      ['URLSearchParams', true, false, true, 'function', '[object URLSearchParams]'], ['DOMException', true, false, true, 'function', '[object DOMException]'],
      ['atob', true, true, true, 'function', '[object Function]'], ['structuredClone', true, true, true, 'function', '[object Function]'],
      ['crypto', true, true, true, 'object', '[object Crypto]'], ['performance', true, true, true, 'object', '[object Performance]'],
    ]);
    assert.deepEqual(await resultOf(`
      const keys = (prototype) => { const found = []; for (const key in prototype) found.push(key); return found; };
      return [keys(URL.prototype), keys(URL), keys(URLSearchParams.prototype), keys(TextDecoder.prototype), keys(TextEncoder.prototype), Object.keys(new URL('a:b')),
        Reflect.ownKeys(URLSearchParams).map(String), keys(DOMException.prototype).length, keys(DOMException).length];
    `), [
      ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash', 'toString', 'toJSON'],
      ['canParse', 'parse'],
      ['size', 'append', 'delete', 'get', 'getAll', 'has', 'set', 'sort', 'toString', 'forEach', 'entries', 'keys', 'values'],
      ['encoding', 'fatal', 'ignoreBOM', 'decode'], ['encoding', 'encode', 'encodeInto'], [], ['length', 'name', 'prototype'], 3 + 25, 25,
    ]);
    assert.deepEqual(await resultOf(`return [URL.length, URLSearchParams.length, TextDecoder.length, atob.length, structuredClone.length, URLSearchParams.prototype.append.length,
      URL.name, atob.name, URLSearchParams.prototype[Symbol.iterator] === URLSearchParams.prototype.entries,
      Object.prototype.toString.call(new URLSearchParams().keys()), JSON.stringify({ url: new URL('https://a/b') })]`),
    [1, 0, 0, 1, 1, 2, 'URL', 'atob', true, '[object URLSearchParams Iterator]', '{"url":"https://a/b"}']);
  });

  test('receivers that are not instances are refused', async () => {
    const errors = await errorsOf([
      'URL()', 'TextDecoder()', 'new atob("")', 'new Crypto()', 'new Performance()', 'URL.prototype.href', 'Object.create(URL.prototype).toString()',
      'URLSearchParams.prototype.append.call({}, 1, 2)', 'URLSearchParams.prototype.keys.call(new URL("a:b"))', 'TextDecoder.prototype.decode.call({})', 'TextEncoder.prototype.encode.call(null)',
      'crypto.getRandomValues.call({}, new Uint8Array(1))', 'crypto.randomUUID.call(undefined)', 'performance.now.call({})', 'DOMException.prototype.name',
      'new URLSearchParams().keys().next.call({})', 'DOMException()',
    ]);
    for (const [index, error] of errors.entries()) assert.match(error, /^TypeError: /, `${index}: ${error}`);
  });

  test('missing arguments are refused', async () => {
    for (const error of await errorsOf(['new URL()', 'URL.canParse()', 'atob()', 'btoa()', 'structuredClone()', 'new URLSearchParams().append("a")', 'new URLSearchParams().get()',
      'new URLSearchParams().forEach()', 'new TextEncoder().encodeInto("a")', 'crypto.getRandomValues()', 'new URL(Symbol())', 'atob(Symbol())', 'new TextDecoder("utf-8", 1)',
      'new TextDecoder().decode("text")', 'new TextDecoder().decode({})', 'new TextDecoder().decode(null)'])) {
      assert.match(error, /^TypeError: /);
    }
  });
});

describe('DOMException', () => {
  test('is an error with a name, a message and a code', async () => {
    assert.deepEqual(await resultOf(`
      const one = new DOMException('said', 'AbortError');
      const two = new DOMException();
      const three = new DOMException('x', { name: 'DataCloneError', cause: 7 });
      class Own extends DOMException {}
      return [one.name, one.message, one.code, String(one), one instanceof Error, one.stack.split('\\n')[0], two.name, two.message, two.code, three.code, three.cause,
        Object.hasOwn(two, 'cause'), DOMException.ABORT_ERR, one.ABORT_ERR, new Own('y').message, new Own() instanceof Own, Object.keys(one), Object.prototype.toString.call(one)];
    `), ['AbortError', 'said', 20, 'AbortError: said', true, 'AbortError: said', 'Error', '', 0, 25, 7, false, 20, 20, 'y', true, [], '[object DOMException]']);
  });

  test('an uncaught one is reported by its name', async () => {
    const { error, failure } = await run("atob('=')");
    assert.deepEqual([error, failure.name], ['The string to be decoded is not correctly encoded.', 'InvalidCharacterError']);
    assert.match(failure.stack, /^InvalidCharacterError: The string to be decoded is not correctly encoded\./);
  });
});

describe('URL and URLSearchParams', () => {
  test('origins of blob: URLs', async () => {
    const texts = ['blob:https://a:443/b', 'blob:http://a:81/b', 'blob:ftp://a/b', 'blob:file:///a', 'blob:blob:https://a/b', 'blob:null', 'blob:a'];
    assert.deepEqual(await resultOf(`${JSON.stringify(texts)}.map((text) => new URL(text).origin)`), texts.map((text) => new URL(text).origin));
  });

  test('parts, setters and parameters', async () => {
    assert.deepEqual(await resultOf(`
      const url = new URL('../c?d=1&d=2#e', 'https://user:pass@EXAMPLE.com:8443/a/b/');
      const seen = [url.href, url.origin, url.host, url.pathname, url.searchParams.getAll('d'), url.searchParams === url.searchParams];
      url.searchParams.append('f', 'g h&');
      seen.push(url.search);
      url.search = '?x=y';
      seen.push(url.searchParams.get('x'), url.searchParams.size, url.searchParams.has('d'));
      url.searchParams.delete('x');
      url.port = ''; url.hash = ''; url.username = ''; url.password = '';
      seen.push(url.href);
      url.href = 'data:text/plain,hello?z=1';
      seen.push(url.origin, url.searchParams.get('z'), String(url), url.toJSON(), URL.parse('nothing'), URL.parse('a', 'b:/c').href);
      return seen;
    `), ['https://user:pass@example.com:8443/a/c?d=1&d=2#e', 'https://example.com:8443', 'example.com:8443', '/a/c', ['1', '2'], true,
      '?d=1&d=2&f=g+h%26', 'y', 1, false, 'https://example.com/a/c', 'null', '1', 'data:text/plain,hello?z=1', 'data:text/plain,hello?z=1', null, 'b:/a']);
  });

  test('invalid URLs', async () => {
    assert.deepEqual(await errorsOf(['new URL("")', 'new URL("//a")', 'new URL("http://")', 'new URL("a", "b")', 'new URL("http://a b")', '{ new URL("a:b").href = "x" }']),
      ['TypeError: Invalid URL', 'TypeError: Invalid URL', 'TypeError: Invalid URL', 'TypeError: Invalid URL', 'TypeError: Invalid URL', 'TypeError: Invalid URL']);
    assert.deepEqual(await resultOf("try { new URL('\\ud800') } catch (error) { return [error.code, error.input, error.constructor === TypeError] }"),
      ['ERR_INVALID_URL', '\ufffd', true]);
  });

  test('inputs that have confused parsers', async () => {
    assert.deepEqual(await resultOf("['a://', 'a:', 'a:/', 'a:///', 'a://@', 'http://@h', 'file:', 'file://', 'blob:', 'a://b:', 'a:?', 'a:#', 'http://u@h', 'a://:1'].map((text) => { try { const url = new URL(text); return [url.href, url.username, url.password, url.host, url.pathname]; } catch (error) { return error.message; } })"), [
      ['a://', '', '', '', ''], ['a:', '', '', '', ''], ['a:/', '', '', '', '/'], ['a:///', '', '', '', '/'], 'Invalid URL', ['http://h/', '', '', 'h', '/'], ['file:///', '', '', '', '/'],
      ['file:///', '', '', '', '/'], ['blob:', '', '', '', ''], ['a://b', '', '', 'b', ''], ['a:?', '', '', '', ''], ['a:#', '', '', '', ''], ['http://u@h/', 'u', '', 'h', '/'], 'Invalid URL',
    ]);
    assert.equal(ivm.engineStats().lostThreads, 0);
  });

  test('parameters are read from any object, with getters', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      const text = (init) => String(new URLSearchParams(init));
      const pair = { *[Symbol.iterator]() { yield { toString: () => 'k' }; yield 1; } };
      return [
        text(undefined), text('?a=b'), text('??a'), text({ a: 1, b: null }), text([['a', 'b'], pair]), text(new Map([['m', 'n']])),
        text(new URLSearchParams('q=1')), text({ get late() { seen.push('got'); return 2; } }), text(new Proxy({ p: 1 }, {})), text(Object.assign(() => {}, { f: 1 })),
        text('\\ud800=\\udfff'), text('a=%FF%zz+%2B'), text('&&a&=b&'), seen,
      ];
    `), ['', 'a=b', '%3Fa=', 'a=1&b=null', 'a=b&k=1', 'm=n', 'q=1', 'late=2', 'p=1', 'f=1', '%EF%BF%BD=%EF%BF%BD', 'a=%EF%BF%BD%25zz+%2B', 'a=&=b', ['got']]);
    assert.deepEqual(await errorsOf([
      'new URLSearchParams([["a"]])', 'new URLSearchParams([["a", "b", "c"]])', 'new URLSearchParams(["ab"])', 'new URLSearchParams([null])', 'new URLSearchParams({ [Symbol.iterator]: 1 })',
      'new URLSearchParams({ get a() { throw new RangeError("mine"); } })', 'new URLSearchParams({ a: Symbol("s") })', 'new URLSearchParams({ [Symbol("s")]: 1 })',
    ]), [
      'TypeError: Each query pair must be an iterable [name, value] tuple', 'TypeError: Each query pair must be an iterable [name, value] tuple',
      'TypeError: Each query pair must be an iterable [name, value] tuple', 'TypeError: Each query pair must be an iterable [name, value] tuple', 'TypeError: Query pairs must be iterable',
      'RangeError: mine', 'TypeError: Cannot convert a Symbol value to a string', 'TypeError: Cannot convert a Symbol value to a string',
    ]);
  });

  test('iterators see changes during iteration', async () => {
    assert.deepEqual(await resultOf(`
      const params = new URLSearchParams('a=1&b=2&c=3');
      const seen = [];
      for (const [name] of params) { seen.push(name); if (name === 'a') { params.delete('b'); params.append('d', 4); } }
      params.forEach((value, name, self) => { seen.push([value, name, self === params]); if (value === '1') params.delete('c'); });
      const iterator = params.values();
      return [seen, [...iterator], iterator.next(), iterator[Symbol.iterator]() === iterator];
    `), [['a', 'c', 'd', ['1', 'a', true], ['4', 'd', true]], ['1', '4'], { value: undefined, done: true }, true]);
  });

  test('long URLs', async () => {
    assert.deepEqual(await resultOf(`
      const long = 'https://a/' + 'b'.repeat(2 ** 21 - 10);
      return [new URL(long).href.length, URL.canParse(long + 'c'), URL.canParse('https://' + 'a.'.repeat(1e6)), URL.canParse('http://' + 'ü'.repeat(5e5)),
        new URLSearchParams('a=1&'.repeat(1e5)).size, new URLSearchParams([['x', '\u00e9'.repeat(1e6)]]).toString().length];
    `, { memoryLimit: 128, maxOutputSize: 1e6 }), [2 ** 21, false, true, false, 1e5, 6e6 + 2]);
  });
});

describe('web basics: hostile guests', () => {
  // In a process of its own: it has ended the process by a stack overflow in native code.
  test('the origin of a URL with many schemes', () => passes(`
    const { result, error } = await ivm.createSandbox({}, { web: ['URL'] }).execute("return new URL('blob:'.repeat(100_000) + 'https://a').origin");
    assert.deepEqual([result, error], ['null', undefined]);
  `));

  test('long queries can be stopped while they are written and read', async () => {
    const isolate = new ivm.Isolate({ memoryLimit: 256 });
    const context = await isolate.createContext({ web: ['URLSearchParams'] });
    await context.eval("const text = '\\u3000'.repeat(2 ** 24); /^$/.test(text); const params = new URLSearchParams([[text, '']]);");
    const timeOf = async (work) => {
      const before = isolate.cpuTime;
      await work();
      return Number(isolate.cpuTime - before);
    };
    await context.eval("const query = 'a=' + '%E3%80%80'.repeat(2 ** 22); /^$/.test(query);");
    for (const code of ['params.toString().length', "new URLSearchParams(query).get('a').length"]) {
      const whole = await timeOf(() => context.eval(code));
      const stopped = await timeOf(() => assert.rejects(context.eval(code, { deadline: 1 }), { code: 'ERR_ISOLATE_DEADLINE' }));
      assert.ok(stopped < whole / 2, `${code}: ${stopped} ns of ${whole}`);
    }
    isolate.dispose();
  });

  test('tampering with built-ins before use changes nothing', async () => {
    const code = `
      const seen = [];
      const { defineProperty, getOwnPropertyDescriptor } = Object;
      const ignored = new Set(['constructor', 'prototype', 'length', 'name', 'arguments', 'caller', '__proto__']);
      const { push } = Array.prototype;
      const apply = Reflect.apply;
      const has = Set.prototype.has;
      const { ownKeys } = Reflect;
      const tamper = (object, label) => {
        const keys = ownKeys(object);
        for (let index = 0; index < keys.length; index += 1) {
          const key = keys[index];
          if (apply(has, ignored, [key])) continue;
          const found = getOwnPropertyDescriptor(object, key);
          if (!found.configurable || typeof found.value !== 'function') continue;
          defineProperty(object, key, { configurable: true, writable: true, value() { apply(push, seen, [label + '.' + String(key)]); throw 'tampered'; } });
        }
      };
      const kinds = [FinalizationRegistry.prototype, Object.getPrototypeOf(Uint8Array.prototype), ArrayBuffer.prototype, RegExp.prototype, Promise.prototype, Map.prototype, Set.prototype,
        String.prototype, Function.prototype, Error, Reflect, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())), Object.getPrototypeOf([][Symbol.iterator]()), Array.prototype, Object];
      for (let index = 0; index < kinds.length; index += 1) tamper(kinds[index], 'kind' + index);
    `;
    assert.deepEqual(await resultOf(`
      ${code}
      const url = new URL('https://a.b/c?d=e&f=g#h');
      url.searchParams.append('i', 'j');
      url.searchParams.sort();
      const decoder = new TextDecoder();
      decoder.decode(new Uint8Array(1), { stream: true });
      const results = [url.href, new URLSearchParams({ a: 'b' }).toString(), atob(btoa('x')), decoder.decode(), structuredClone({ a: 1 }).a, typeof crypto.randomUUID(), typeof performance.now(),
        new TextEncoder().encode('é').length, url.searchParams.getAll('i')[0]];
      let name;
      try { atob('='); } catch (error) { name = error.name; }
      results[results.length] = name;
      results[results.length] = seen.length;
      return results;
    `), ['https://a.b/c?d=e&f=g&i=j#h', 'a=b', 'x', '', 1, 'string', 'number', 2, 'j', 'InvalidCharacterError', 0]);
  });

  test('setters on Object.prototype and Array.prototype are not called', async () => {
    assert.deepEqual(await resultOf(`
      const seen = [];
      for (let index = 0; index < 20; index += 1) Object.defineProperty(Array.prototype, index, { configurable: true, set(value) { seen.push(String(value)); }, get() { return 'wrong'; } });
      for (const key of ['name', 'value', 'get', 'set', 'writable', 'code', 'input', 'a']) Object.defineProperty(Object.prototype, key, { __proto__: null, configurable: true, set() { seen.length += 1; }, get() { return undefined; } });
      const params = new URLSearchParams('a=1&b=2&a=3');
      params.append('c', 4); params.set('a', 5); params.delete('b'); params.sort();
      const all = params.getAll('a');
      const text = params.toString();
      let failed;
      try { new URL('nothing'); } catch (error) { failed = Object.hasOwn(error, 'code'); }
      const cloned = structuredClone([1, 2], { transfer: new Set() });
      for (let index = 0; index < 20; index += 1) delete Array.prototype[index];
      for (const key of ['name', 'value', 'get', 'set', 'writable', 'code', 'input', 'a']) delete Object.prototype[key];
      return { length: seen.length, text, all, failed, cloned };
    `), { length: 0, text: 'a=5&c=4', all: ['5'], failed: true, cloned: [1, 2] });
  });

  test('a stack overflow at any point leaves everything usable', async () => {
    assert.deepEqual(await resultOf(`
      const url = new URL('https://a/?b=c');
      const params = url.searchParams;
      const decoder = new TextDecoder();
      const deep = (use) => { const f = () => { try { f(); } catch (error) { try { use(); } catch {} throw error; } }; try { f(); } catch {} };
      deep(() => { params.append('x', 'y'); params.delete('x'); });
      deep(() => { url.hash = 'h'; url.search = 'b=c'; });
      deep(() => decoder.decode(new Uint8Array(2), { stream: true }));
      deep(() => structuredClone({ a: [1] }));
      deep(() => { try { atob('='); } catch (error) { String(error.stack); } });
      url.search = '?b=c'; url.hash = '#h';
      return [url.href, params.toString(), decoder.decode(new Uint8Array(0)).replaceAll('\\0', ''), structuredClone(1)];
    `, { timeout: 20_000 }), ['https://a/?b=c#h', 'b=c', '', 1]);
  });

  test('huge inputs cause an error in the guest, at its limit or at its deadline', async () => {
    const codes = [
      "const s = 'a'.repeat(2 ** 29 - 24); return atob(s).length", "const s = 'é'.repeat(2 ** 28); return btoa(s).length", "return new TextEncoder().encode('☃'.repeat(2 ** 28)).length",
      "return new URL('https://a/' + 'b'.repeat(2 ** 28)).href.length", "return String(new URLSearchParams([['☃'.repeat(2 ** 27), '']])).length", "return new URLSearchParams('a&'.repeat(2 ** 27)).size",
      "return new TextDecoder().decode(new Uint8Array(2 ** 30)).length", "const s = 'x'.repeat(2 ** 28); return structuredClone([s, s + 1, s + 2, s + 3]).length", "return new TextDecoder('x'.repeat(2 ** 28))",
      "const bytes = new Uint8Array(15e6).fill(0xe9); const kept = []; for (;;) kept.push(new TextDecoder('latin1').decode(bytes))",
      "const params = new URLSearchParams(); for (;;) params.append('a'.repeat(1000), 'b')", "const u = new URL('https://a/'); for (let s = 'a'; ; s += s) { u.pathname = s; u.hash = s; }",
      "const kept = []; for (;;) kept.push(structuredClone(new Uint8Array(1e6)))", "const deep = []; let at = deep; for (let i = 0; i < 1e6; i += 1) at = at[0] = []; return structuredClone(deep)",
      "const kept = []; for (;;) kept.push(btoa('x'.repeat(1e6)))", 'for (;;) crypto.getRandomValues(new Uint8Array(65_536))', 'for (;;) new URL("https://a/b?c#d")',
    ];
    const before = process.memoryUsage().rss;
    for (const code of codes) {
      const since = performance.now();
      const { error, failure } = await run(`if (1) { ${code} }`, { memoryLimit: 32, timeout: 2_000 });
      const took = performance.now() - since;
      assert.equal(typeof error, 'string', code);
      assert.match(`${failure.name} ${failure.code} ${error}`, /RangeError|TypeError|ERR_ISOLATE_MEMORY|ERR_ISOLATE_DEADLINE|ERR_ISOLATE_UNRESPONSIVE/, code);
      assert.ok(took < 12_000, `${code} took ${took} ms`);
    }
    const { lostThreads } = ivm.engineStats();
    assert.equal(lostThreads, 0);
    assert.ok(process.memoryUsage().rss - before < 1.5 * 2 ** 30, String(process.memoryUsage().rss - before));
    assert.equal((await run('1')).result, 1);
  });

  test('getters that never return end at the deadline', async () => {
    for (const code of ['structuredClone({ get a() { for (;;); } })', 'new URLSearchParams({ get a() { for (;;); } })', 'new URLSearchParams({ *[Symbol.iterator]() { for (;;) yield ["a", "b".repeat(9)]; } })',
      'new TextDecoder("utf-8", { get fatal() { for (;;); } })', 'structuredClone(1, { transfer: { *[Symbol.iterator]() { for (;;) yield {}; } } })', 'atob({ toString() { for (;;); } })']) {
      const { error, failure } = await run(code, { timeout: 300, memoryLimit: 64 });
      assert.ok(['ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_MEMORY'].includes(failure?.code), `${code}: ${error}`);
    }
  });
});
