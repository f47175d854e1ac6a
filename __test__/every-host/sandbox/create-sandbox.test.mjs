// `createSandbox`: what the guest finds, what it may call, what it returns. Its limits are in create-sandbox-limits.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { createSandbox, normalizeCode } = ivm;

/** One execution that must succeed. */
async function resultOf(code, globals = {}, options = {}) {
  const outcome = await createSandbox(globals, options).execute(code);
  assert.equal(outcome.error, undefined, `${code}: ${outcome.error}`);
  return outcome.result;
}

/** The message of one execution that must fail. */
async function errorOf(code, globals = {}, options = {}) {
  const outcome = await createSandbox(globals, options).execute(code);
  assert.equal(typeof outcome.error, 'string', `${code} gave ${JSON.stringify(outcome)}`);
  assert.equal(outcome.result, null);
  return outcome.error;
}

describe('normalizeCode', () => {
  const pairs = [
    ['1 + 1', 'async () => { return 1 + 1 }'],
    ['  \n 1 + 1 \n ', 'async () => { return 1 + 1 }'],
    ['', 'async () => {  }'],
    ['async () => { return 1 }', 'async () => { return 1 }'],
    ['async (x) => x', 'async (x) => x'],
    ['async x => x', 'async x => x'],
    ['async(x) => x', 'async(x) => x'],
    ['// one\nasync () => 1; // two', 'async () => 1'],
    ['() => 1', 'async () => (() => 1)()'],
    ['() => "http://x"', 'async () => (() => "http://x"\n)()'],
    ['function f() { return 1 }', 'async () => (function f() { return 1 })()'],
    ['async function () { return 1 };', 'async () => (async function () { return 1 })()'],
    ['async()', 'async () => { return async() }'],
    ['(async () => 1)()', 'async () => { return (async () => 1)() }'],
    ['f();', 'async () => { return f() }'],
    ['f(); // one', 'async () => { return f(); // one\n }'],
    ['console.log("a"); throw new Error("b")', 'async () => { console.log("a"); throw new Error("b") }'],
    ['await f(); return 1', 'async () => { await f(); return 1 }'],
    ['f()\nreturn 1 // two', 'async () => { f()\nreturn 1 // two\n }'],
    ['{ a: 1 }', 'async () => { return { a: 1 } }'],
    ['{ const a = 1; return a }', 'async () => { { const a = 1; return a } }'],
    ['async (x: number) => x', 'async (x: number) => x'],
    ['async function f(x: number) { return x }', 'async () => (async function f(x: number) { return x })()'],
    ['f(); const a: number = 1; return a', 'async () => { f(); const a: number = 1; return a }'],
    ['(f as any).g', 'async () => { return (f as any).g }'],
    ['async () => { syntax error', 'async () => { syntax error'],
    ['f(', 'async () => { return f( }'],
    ['constant + 1', 'async () => { return constant + 1 }'],
    ['await api()', 'async () => { return await api() }'],
    ['```js\nreturn 1\n```', 'async () => { return 1 }'],
    ['```javascript\n1\n```', 'async () => { return 1 }'],
    ['```ts\n1\n```', 'async () => { return 1 }'],
    ['```typescript\n1\n```', 'async () => { return 1 }'],
    ['```JavaScript\n1\n```', 'async () => { return 1 }'],
    ['```TS\n1\n```', 'async () => { return 1 }'],
    ['```\n1\n```', 'async () => { return 1 }'],
    ['\n```js\n\n  const a = 1;\n\n```\n', 'async () => { const a = 1; }'],
    ['```js\nasync () => 1\n```', 'async () => 1'],
    ['```js\r\nreturn 1\r\n```', 'async () => { return 1 }'],
    ['```js\nreturn 1', 'async () => { return 1 }'],
    ['return 1\n```', 'async () => { return 1 }'],
    ['```js return 1```', 'async () => { return 1 }'],
    ['```return 1```', 'async () => { return 1 }'],
    ['~~~js\nreturn 1\n~~~', 'async () => { return 1 }'],
    ['Use this:\n\n```js\nreturn 1\n```\n\nIt returns 1.', 'async () => { return 1 }'],
    ['```json\n{}\n```\n```\nnothing\n```\n```mjs\nreturn 1\n```', 'async () => { return 1 }'],
    ['````js\n// ```\nreturn 1\n````', 'async () => { // ```\nreturn 1\n }'],
    ['/*\n```\nf()\n```\n*/ 1', 'async () => { return 1 }'],
    ['~~~5', 'async () => { return ~~~5 }'],
    ['~~~\n5', 'async () => { return 5 }'],
    ['return `\n```\n`', 'async () => { return `\n```\n` }'],
  ];
  const statements = ['const', 'let', 'var', 'for', 'while', 'if', 'try', 'switch', 'return', 'throw', 'class', 'function'];
  for (const [input, output] of pairs) {
    test(JSON.stringify(input), () => assert.equal(normalizeCode(input), output));
  }
  for (const keyword of statements) {
    test(`a statement: ${keyword}`, () => {
      assert.equal(normalizeCode(`${keyword} it`), `async () => { ${keyword} it }`);
      assert.equal(normalizeCode(`${keyword}$ + 1`), `async () => { return ${keyword}$ + 1 }`);
    });
  }
  test('the same without blocking the event loop', async () => {
    for (const [input, output] of pairs) assert.equal(await normalizeCode(input, { async: true }), output);
  });
  test('code that is slow to parse does not block the event loop, and a signal ends it', async () => {
    const code = `async () => [${Array.from({ length: 15_000 }, (_, index) => `/[\\p{RGI_Emoji}\\q{${index}}]/iv`).join()}]`;
    const controller = new AbortController();
    const promise = normalizeCode(code, { async: true, signal: controller.signal });
    // Parsing takes seconds.
    setTimeout(() => controller.abort(new Error('enough')), 1);
    await assert.rejects(promise, { message: 'enough' });
    await assert.rejects(normalizeCode('1', { async: true, signal: controller.signal }), { message: 'enough' });
  });
  test('wrong arguments are refused by name', () => {
    for (const wrong of [undefined, null, 1, {}]) assert.throws(() => normalizeCode(wrong), { name: 'TypeError', message: /code/, code: 'ERR_INVALID_ARG' });
    const { signal } = new AbortController();
    for (const [name, options] of [['async', { async: 1 }], ['signal', { async: true, signal: 1 }], ['signal', { signal }], ['other', { other: 1 }]]) {
      assert.throws(() => normalizeCode('1', options), { name: 'TypeError', message: new RegExp(`\`${name}\``), code: 'ERR_INVALID_ARG' });
    }
  });
});

describe('execute: the value of the code', () => {
  const pairs = [
    ['1 + 1', 2],
    ['', undefined],
    ['undefined', undefined],
    ['async () => { return 5 }', 5],
    ['async () => { const unused = 5 }', undefined],
    ['() => 7', 7],
    ['x => typeof x', 'undefined'],
    ['async x => [x]', [undefined]],
    ['async () => await Promise.resolve(6);', 6],
    ['function () { return 8 }', 8],
    ['function named() { return 9 }', 9],
    ['async function () { return 10 }', 10],
    ['async function named() { return 10 };', 10],
    ['// a comment\n() => 11', 11],
    ['// a comment\n11', 11],
    ['// a comment\nconst a = 11; return a', 11],
    ['/* a comment */ ({ a: 11 }); // another', { a: 11 }],
    ['11; // a comment', 11],
    ['11;;', 11],
    ['await 1; return 2', 2],
    ['await 1\nreturn 2', 2],
    ['globalThis; return typeof globalThis', 'undefined'],
    ['a = 1; return 2', 2],
    ['"use strict"; return 2', 2],
    ['[1, 2].forEach(() => {}); return 2', 2],
    ['`a`; return 2', 2],
    ['{ const a = 2; return a }', 2],
    ['label: for (;;) { break label }', undefined],
    ['async () => 1; return 2', 2],
    ['function one() { return 1 } return one() + 1', 2],
    ['import("nothing").catch(() => 2)', 2],
    ['await (async () => 1)(); 2', undefined],
    ['/* one */ /* two */ async () => 12;', 12],
    ['() => 13 // the end', 13],
    ['() => 13; // the end', 13],
    ['async () => 13; /* the */ // end\n// of it;\n', 13],
    ['function f() { return 13 } // the end', 13],
    ['function f() { return 13 }; /* the end */', 13],
    ['() => "http://x"', 'http://x'],
    ['() => { return `\n//${13}`; }', '\n//13'],
    ['const a = 1; a + 1', undefined],
    ['const a = 1; return a + 1', 2],
    ['const a = 1;\nif (a) return 3;\nreturn 4', 3],
    ['function one() { return 1 }\nreturn one() + 1', 2],
    ['function one() { return 1 }\none()', undefined],
    ['for (const i of [1, 2]) if (i === 2) return i', 2],
    ['try { throw new Error("x") } catch (error) { return error.message }', 'x'],
    ['class A {} return new A() instanceof A', true],
    ['let x = 5', undefined],
    ['return', undefined],
    ['return null', null],
    ['{ a: 1 }', { a: 1 }],
    ['({ a: 1 })', { a: 1 }],
    ['[1, 2].map(x => x * 2)', [2, 4]],
    ['(1, 2)', 2],
    ['(() => 14)()', 14],
    ['(async () => 15)()', 15],
    ['await Promise.all([1, Promise.resolve(2)])', [1, 2]],
    ['```js\nconst a = 2;\nreturn a * 8\n```', 16],
    ['```\n() => 17\n```', 17],
    ['`a\n${1}`', 'a\n1'],
    ['() => ({ then(resolve) { resolve(18) } })', 18],
  ];
  for (const [code, result] of pairs) {
    test(JSON.stringify(code), async () => assert.deepEqual(await resultOf(code), result));
  }

  test('normalizeCode agrees', async () => {
    for (const [code, result] of pairs) {
      if (code === 'globalThis; return typeof globalThis') continue;
      assert.deepEqual(await resultOf(`await (${normalizeCode(code)}\n)()`), result, code);
    }
  });

  test('statements after an expression are kept', async () => {
    for (const separator of ['; ', '\n', ';\n// a comment\n']) {
      const { error, logs, failure } = await createSandbox({}).execute(`console.log('a')${separator}throw new Error('b')`);
      assert.equal(error, 'b');
      assert.deepEqual(logs, ['a']);
      assert.deepEqual([failure.line, failure.column], separator === '; ' ? [1, 25] : [separator === '\n' ? 2 : 3, 7]);
    }
  });

  test('errors are at the positions of the text', async () => {
    for (const [code, line, column] of [
      ['nothing()', 1, 1], ['  nothing();', 1, 3], ['// a\n nothing()', 2, 2], ['1; nothing()', 1, 4], ['```js\nnothing()', 2, 1],
      ['Text\n```js\n\n  1; nothing()\n```', 4, 6],
    ]) {
      const { error, failure } = await createSandbox({}).execute(code);
      assert.match(error, /^nothing is not defined/);
      assert.deepEqual([failure.line, failure.column], [line, column], JSON.stringify(code));
    }
  });

  test('a comment ends at every line break that JavaScript has', async () => {
    for (const end of ['\n', '\r', '\r\n', '\u2028', '\u2029']) {
      const calls = [];
      const globals = { call: (name) => calls.push(name) };
      assert.equal(await resultOf(`// first${end}6 * 7`), 42, JSON.stringify(end));
      assert.equal(await resultOf(`/* a */ // first${end}// second${end}() => 6 * 7`), 42, JSON.stringify(end));
      await resultOf(`// first${end}call("a");\ncall("b")`, globals);
      await resultOf(`// first${end}call("c");${end}// second\ncall("d")`, globals);
      assert.deepEqual(calls, ['a', 'b', 'c', 'd'], JSON.stringify(end));
    }
  });

  test('patterns before a fence are not comments, and a fence in a template literal is not a fence', async () => {
    for (const text of ['Only files in src/*.js:', 'It accepts `*/*`, and the route is `/*`:', 'Accept: text/*, */*', '"/*" is not supported, see https://a.example/*.']) {
      assert.equal(await resultOf(`${text}\n\`\`\`js\n6 * 7\n\`\`\`\n`), 42, text);
    }
    const markdown = '\n~~~js\n6 * 7\n~~~\n';
    assert.equal(await resultOf(`const text = \`${markdown}\`;\nreturn text`), markdown);
    assert.equal(await resultOf('let a = 1; /* such as\n```js\na = 2\n```\n*/\nreturn a'), 1);
    assert.equal(await resultOf('let a = 1;/* such as\n```js\na = 2\n```\n*/\nreturn a'), 1);
  });

  test('a fence may begin within a line, and end on a line of code', async () => {
    for (const text of [
      '```js\n6 * 7```', '```js\nreturn 6 * 7```\nThis is the answer.', '~~~\n6 * 7~~~', "Here's the code: ```js\n6 * 7\n```", 'Code:\n1. ```\n6 * 7\n```\nBye.', 'Sure: ```ts\nreturn 6 * 7 as number',
      'Run ```js 6 * 7``` now.', '```js 6 * 7``` is it.', '**Code**: ```TS 6 * 7 as number```',
    ]) {
      assert.equal(await resultOf(text), 42, text);
    }
    for (const code of [
      'const help = "write ```js f()``` here"; return help', 'return 1 // such as ```js f()```', '/**\n * Use ```js f()``` there\n */\nreturn 1', '/*\n Use ```js\n f()\n ```\n*/\nreturn 1',
    ]) {
      assert.equal(await resultOf(code), code.includes('help') ? 'write ```js f()``` here' : 1, code);
    }
  });

  test('a fence of another language is named', async () => {
    const { error, failure } = await createSandbox({}).execute('```python\nprint(1)\n```');
    assert.equal(error, '"" is not a function: the code is in a Markdown fence that does not name JavaScript or TypeScript');
    assert.equal(failure.line, 1);
  });

  test('a text of many fences, backticks or line breaks is read in linear time', async () => {
    const timeOf = async (text) => {
      const start = performance.now();
      normalizeCode(text);
      return performance.now() - start;
    };
    for (const unit of ['```\n', '```js\n', '~~~\n', '````\n```\n', '`', '\n', '/*\n```\n', '/*/*\n', '`\n~~~\n', '```python\n', '```a`\n', '```py\na```\n', 'a ```js ', "it's ", '~~~js a~~~\n', '/* ```js\n']) {
      await timeOf(unit.repeat(1e5));
      const small = await timeOf(unit.repeat(1e5));
      const large = await timeOf(unit.repeat(8e5));
      assert.ok(large < 32 * small + 400, `${JSON.stringify(unit)}: ${small} and ${large} ms`);
    }
  });

  test('an error of code with types names the option', async () => {
    const typed = ['const x: number = 5; return x', 'let x: string', 'function f(a: number) { return a }', '(a: number) => a', 'interface A { a: number }', 'const f = (): void => {}', 'return 1 as number',
      'class A { private a = 1; }', 'class A {\n  a: string;\n}', 'class A implements B {}', 'function f<T>(a) {}', 'const map = new Map<string, number>();', 'const f = <T,>(a) => a', 'return a!.b', 'const f = (\n  a: number,\n) => a'];
    for (const code of typed) {
      const { error } = await createSandbox({}).execute(code);
      assert.match(error, / \(code with types needs the option `typescript: true`\)$/, code);
    }
    for (const code of ['const x', 'return }', 'f(', 'a ? b', 'throw new SyntaxError("const a: number")']) {
      const { error } = await createSandbox({}).execute(code);
      assert.doesNotMatch(error, /typescript/, code);
    }
  });

  test('code that is not a function expression but evaluates to a function is not called', async () => {
    const called = { count: 0 };
    const globals = { count: () => (called.count += 1) };
    assert.match(await errorOf('(() => () => count())()', globals), /could not be cloned/);
    assert.match(await errorOf('(0, count)', globals), /could not be cloned/);
    assert.equal(called.count, 0);
  });

  test('code runs once', async () => {
    let count = 0;
    const globals = { count: () => (count += 1) };
    assert.equal(await resultOf('count()', globals), 1);
    assert.equal(await resultOf('() => count()', globals), 2);
    assert.equal(await resultOf('(async () => count())()', globals), 3);
    assert.equal(await resultOf('const a = count(); return a', globals), 4);
    assert.equal(count, 4);
  });
});

describe('execute: the result', () => {
  test('has its fields and no other', async () => {
    const outcome = await createSandbox({}).execute('console.log("x"); return 1'.replace('console', 'if (1) console'));
    assert.deepEqual(Object.keys(outcome).toSorted(), ['durationMs', 'logs', 'result', 'usage']);
    assert.deepEqual(outcome.logs, ['x']);
    assert.equal(typeof outcome.durationMs, 'number');
    const failed = await createSandbox({}).execute('throw new Error("no")');
    assert.deepEqual(Object.keys(failed).toSorted(), ['durationMs', 'error', 'failure', 'logs', 'result', 'usage']);
  });

  test('durationMs covers the waits', async () => {
    const wait = () => new Promise((resolve) => { setTimeout(resolve, 80); });
    const outcome = await createSandbox({ wait }).execute('wait()');
    assert.ok(outcome.durationMs >= 75 && outcome.durationMs < 10_000, `${outcome.durationMs}`);
  });

  test('is awaited, at any depth of promises and thenables', async () => {
    assert.equal(await resultOf('Promise.resolve(Promise.resolve(3))'), 3);
    assert.equal(await resultOf('return { then(resolve) { resolve(Promise.resolve(4)) } }'), 4);
    assert.equal(await errorOf('Promise.reject(new Error("rejected"))'), 'rejected');
  });

  test('is structured-cloned', async () => {
    const result = await resultOf(`
      const shared = { s: 1 };
      const value = { date: new Date(5), map: new Map([[1, shared]]), set: new Set(['a']), big: 10n, shared, re: /x/g,
        bytes: new Uint8Array([1, 2]), error: new RangeError('r'), zero: -0, hole: [, 1] };
      value.self = value;
      return value`);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
    assert.equal(result.self, result);
    assert.ok(result.date instanceof Date && result.date.getTime() === 5);
    assert.ok(result.map instanceof Map && result.map.get(1) === result.shared);
    assert.ok(result.set instanceof Set && result.set.has('a'));
    assert.equal(result.big, 10n);
    assert.equal(String(result.re), '/x/g');
    assert.deepEqual([...result.bytes], [1, 2]);
    assert.ok(result.error instanceof RangeError && result.error.message === 'r');
    assert.ok(Object.is(result.zero, -0));
    assert.equal(0 in result.hole, false);
  });

  test('that cannot be cloned is an error', async () => {
    assert.match(await errorOf('return () => 1'), /could not be cloned/);
    assert.match(await errorOf('return { f() {} }'), /could not be cloned/);
    assert.match(await errorOf('return Symbol("s")'), /could not be cloned|Unsupported type/);
  });

  test('`__proto__` in a result touches no prototype', async () => {
    const result = await resultOf('return JSON.parse(\'{"__proto__":{"polluted":1},"a":[{"__proto__":{"polluted":1}}]}\')');
    assert.equal({}.polluted, undefined);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
    assert.deepEqual(Object.keys(result), ['__proto__', 'a']);
  });
});

describe('execute: errors', () => {
  test('resolves for any thrown value', async () => {
    assert.equal(await errorOf('throw new Error("boom")'), 'boom');
    assert.equal(await errorOf('throw new TypeError("wrong")'), 'wrong');
    assert.equal(await errorOf('await Promise.reject(new Error("later"))'), 'later');
    assert.equal(await errorOf('throw "text"'), 'text');
    assert.equal(await errorOf('throw 5'), '5');
    assert.equal(await errorOf('throw null'), 'null');
    assert.equal(await errorOf('throw undefined'), 'undefined');
    assert.equal(await errorOf('null.x'), "Cannot read properties of null (reading 'x')");
    assert.equal(await errorOf('missing'), 'missing is not defined');
    await errorOf('throw { no: "message" }');
    await errorOf('throw Object.create(null)');
    await errorOf('throw Symbol("s")');
    await errorOf('throw { get message() { throw 1 }, toString() { throw 2 } }');
  });

  test('a syntax error is V8\'s own', async () => {
    assert.match(await errorOf('return ('), /Unexpected|Invalid/);
    assert.match(await errorOf('const a: number = 1'), /Missing initializer|Unexpected/);
    assert.match(await errorOf('} catch {'), /Unexpected|Missing/);
  });

  test('code cannot close its wrapper', async () => {
    await errorOf('1 }; globalStolen = 1; async () => { 2');
  });

  test('code that is not a string is an error, not a rejection', async () => {
    for (const wrong of [undefined, null, 1, {}, Symbol('s')]) {
      const outcome = await createSandbox({}).execute(wrong);
      assert.equal(outcome.result, null);
      assert.match(outcome.error, /`code` must be a string/);
      assert.deepEqual(outcome.logs, []);
      assert.equal(typeof outcome.durationMs, 'number');
    }
  });

  test('globals that cannot be transferred are an error, not a rejection', async () => {
    assert.match(await errorOf('1', { bad: Symbol('s') }), /could not be cloned|Unsupported type/);
    assert.match(await errorOf('1', { deep: { bad: new WeakMap() } }), /could not be cloned/);
    assert.equal(await errorOf('1', { deep: { get bad() { throw new Error('getter'); } } }), 'getter');
  });

  test('logs of a failed run are kept', async () => {
    const outcome = await createSandbox({}).execute('const a = 1; console.log("before"); throw new Error("after")');
    assert.deepEqual([outcome.logs, outcome.error], [['before'], 'after']);
  });
});

describe('createSandbox: globals', () => {
  test('primitives, null and undefined are set unchanged', async () => {
    const globals = { text: 'ü☃', number: -0, yes: true, nothing: null, missing: undefined, big: 2n ** 70n };
    assert.deepEqual(await resultOf('[text, Object.is(number, -0), yes, nothing, missing, big, typeof missing]', globals), ['ü☃', true, true, null, undefined, 2n ** 70n, 'undefined']);
    assert.equal(await resultOf('"missing" in this', globals), true);
  });

  test('objects are copies', async () => {
    const config = { list: [1, { deep: new Map([['a', new Date(1)]]) }], bytes: new Uint8Array([7]) };
    const code = 'const seen = config.list[1].deep.get("a").getTime() + config.bytes[0]; config.list.push(2); config.bytes[0] = 9; return seen';
    assert.equal(await resultOf(code, { config }), 8);
    assert.deepEqual([config.list.length, config.bytes[0]], [2, 7]);
  });

  test('shared references and cycles are kept', async () => {
    const shared = {};
    const cycle = { a: shared, b: [shared] };
    cycle.self = cycle;
    assert.deepEqual(await resultOf('[cycle.self === cycle, cycle.a === cycle.b[0], other === cycle.a]', { cycle, other: shared }), [true, true, true]);
  });

  test('functions are functions at any depth, with their object as `this`', async () => {
    const globals = {
      double: (x) => x * 2,
      api: { base: 40, add(x) { return this.base + x; }, v1: { users: { get: async (id) => ({ id }) } } },
      list: [1, (x) => x + 1, { f: () => 'in a list' }],
    };
    assert.equal(await resultOf('double(21)', globals), 42);
    assert.equal(await resultOf('api.add(2)', globals), 42);
    assert.deepEqual(await resultOf('api.v1.users.get("u")', globals), { id: 'u' });
    assert.deepEqual(await resultOf('[list[0], list[1](1), list[2].f(), typeof api.v1.users.get]', globals), [1, 2, 'in a list', 'function']);
  });

  test('globals are read again for each run', async () => {
    const globals = { n: 1 };
    const sandbox = createSandbox(globals);
    assert.equal((await sandbox.execute('n')).result, 1);
    globals.n = 2;
    assert.equal((await sandbox.execute('n')).result, 2);
  });

  test('a global named `__proto__` changes no prototype', async () => {
    const globals = JSON.parse('{"__proto__":{"polluted":1},"o":{"__proto__":{"polluted":1}}}');
    assert.deepEqual(await resultOf('[({}).polluted, Object.getPrototypeOf(o) === Object.prototype]', globals), [undefined, true]);
    assert.equal({}.polluted, undefined);
  });

  test('each run has a new isolate', async () => {
    const sandbox = createSandbox({ o: { a: 1 } });
    const spoil = 'Array.prototype.spoiled = 1; leaked = 2; o.a = 3; Object.freeze(JSON); return [].spoiled + leaked';
    assert.equal((await sandbox.execute(`if (1) { ${spoil} }`)).result, 3);
    assert.deepEqual((await sandbox.execute('[[].spoiled, typeof leaked, o.a, Object.isFrozen(JSON)]')).result, [undefined, 'undefined', 1, false]);
  });

  test('globalThis is shadowed', async () => {
    assert.equal(await resultOf('typeof globalThis'), 'undefined');
    assert.equal(await resultOf('() => (() => globalThis)()'), undefined);
    assert.equal(await resultOf('globalThis === undefined'), true);
  });

  test('globals of the host are absent', async () => {
    const names = ['require', 'process', 'fetch', 'module', 'exports', 'Buffer', 'Deno', 'Bun', 'global', 'self', 'window', 'ivm',
      'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'queueMicrotask', '__dirname', 'XMLHttpRequest', 'WebSocket', 'navigator'];
    for (const name of names) assert.equal(await resultOf(`typeof ${name}`), 'undefined', name);
    assert.match(await errorOf('await import("node:fs")'), /./);
  });

  test('timers are present if requested', async () => {
    const names = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'];
    for (const name of names) assert.equal(await resultOf(`typeof ${name}`, {}, { timers: true }), 'function', name);
    assert.equal(await resultOf('new Promise((resolve) => setTimeout(resolve, 5, "late"))', {}, { timers: true }), 'late');
    const code = `
      const order = [];
      const cleared = setTimeout(() => order.push('cleared'), 1);
      clearTimeout(cleared);
      setTimeout(() => order.push('b'), 20);
      setTimeout(() => order.push('a'), 1);
      await new Promise((resolve) => { let n = 0; const id = setInterval(() => { if ((n += 1) === 3) { clearInterval(id); resolve(); } }, 15); });
      return order`;
    assert.deepEqual(await resultOf(code, {}, { timers: true }), ['a', 'b']);
    assert.equal(await errorOf('new Promise(() => setTimeout(() => { throw new Error("in a timer") }, 1))', {}, { timers: true }), 'in a timer');
  });
});

describe('createSandbox: host functions', () => {
  test('look synchronous, and can be awaited', async () => {
    const later = async (value) => { await new Promise((resolve) => { setTimeout(resolve, 5); }); return value; };
    assert.equal(await resultOf('const a = later(20); const b = later(22); return a + b', { later }), 42);
    assert.equal(await resultOf('await later(1) + await later(2)', { later }), 3);
    assert.deepEqual(await resultOf('[1, 2, 3].map((x) => later(x * 2))', { later }), [2, 4, 6]);
  });

  test('arguments and results are copies', async () => {
    const seen = [];
    const result = { list: [1] };
    const keep = (...args) => { seen.push(args); return result; };
    assert.deepEqual(await resultOf('const o = { a: new Map([[1, 2]]) }; const r = keep(o, 5n, undefined); r.list.push(2); o.a.clear(); return keep().list', { keep }), [1]);
    assert.deepEqual(seen, [[{ a: new Map([[1, 2]]) }, 5n, undefined], []]);
    assert.deepEqual(result, { list: [1] });
    assert.match(await resultOf('try { keep(() => 1) } catch (error) { return error.message }', { keep }), /could not be cloned/);
    assert.equal(seen.length, 2);
  });

  test('a result that cannot be cloned is an error in the guest', async () => {
    assert.match(await resultOf('try { make() } catch (error) { return error.message }', { make: () => Symbol('s') }), /could not be cloned|Unsupported type/);
    assert.match(await errorOf('make()', { make: async () => new WeakMap() }), /could not be cloned/);
  });

  test('errors arrive as the guest\'s Error with the message', async () => {
    const fail = () => { throw new Error('sync'); };
    const reject = async () => { throw new TypeError('async'); };
    const code = (name) => `try { ${name}() } catch (error) { return [error instanceof Error, error.message, error.constructor.constructor('return typeof process')()] }`;
    assert.deepEqual(await resultOf(code('fail'), { fail }), [true, 'sync', 'undefined']);
    assert.deepEqual(await resultOf(code('reject'), { reject }), [true, 'async', 'undefined']);
    assert.equal(await errorOf('fail()', { fail }), 'sync');
    assert.equal(await errorOf('reject()', { reject }), 'async');
    assert.match(await errorOf('fail()', { fail: () => { throw 'a string'; } }), /a string/);
  });

  test('nothing of the host is reachable through one', async () => {
    const code = 'f.constructor("return typeof process")() + f.__proto__.constructor("return typeof process")() + f().constructor.constructor("return typeof process")()';
    assert.equal(await resultOf(code, { f: async () => ({}) }), 'undefinedundefinedundefined');
  });

  test('the host\'s event loop runs while a guest loops', async () => {
    let ticks = 0;
    const interval = setInterval(() => { ticks += 1; }, 5);
    await resultOf('for (const end = Date.now() + 300; Date.now() < end;);');
    clearInterval(interval);
    assert.ok(ticks >= 10, `${ticks} ticks`);
  });

  test('the host\'s event loop runs while a guest waits', async () => {
    // The function settles after ten turns of the loop that it must not block.
    const wait = () => new Promise((resolve) => {
      let ticks = 0;
      const interval = setInterval(() => {
        if ((ticks += 1) === 10) { clearInterval(interval); resolve(ticks); }
      }, 2);
    });
    assert.equal(await resultOf('wait()', { wait }), 10);
  });

  test('two executions run at the same time', async () => {
    const waiting = [];
    // Neither continues before both have arrived.
    const meet = (name) => new Promise((resolve) => {
      waiting.push(() => resolve(name));
      if (waiting.length === 2) waiting.forEach((go) => go());
    });
    const sandbox = createSandbox({ meet });
    const outcomes = await Promise.all([sandbox.execute('meet("a")'), sandbox.execute('meet("b")')]);
    assert.deepEqual(outcomes.map(({ result }) => result), ['a', 'b']);
  });

  test('twenty executions are isolated from each other', async () => {
    const sandbox = createSandbox({ echo: async (x) => x });
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => sandbox.execute(`const x = ${i}; console.log(x); return echo(x) * 2`)));
    assert.deepEqual(outcomes.map(({ result, logs }) => [result, ...logs]), Array.from({ length: 20 }, (_, i) => [i * 2, `${i}`]));
  });
});
