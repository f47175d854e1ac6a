// `normalizeCode`, and the value of the code that `createSandbox` executes.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { errorOf, resultOf } from '../../sandbox/execution-helper.mjs';

const { createSandbox, normalizeCode } = ivm;

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
