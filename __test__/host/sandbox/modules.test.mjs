// ES modules that a host gives its sandboxes: resolution, results, failures, and that they circumvent no limit.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;
const noTools = async (name) => { throw new Error(`unexpected tool ${name}`); };

const SANDBOXES = {
  createSandbox: (options) => createSandbox({}, options),
  IsolatedVMSandbox: (options) => { const sandbox = new IsolatedVMSandbox(options); return { execute: (code, more) => sandbox.execute(code, [], noTools, more) }; },
  ...(process.platform === 'linux'
    ? { SubprocessSandbox: (options) => { const sandbox = new SubprocessSandbox(options); return { execute: (code, more) => sandbox.execute(code, [], noTools, more) }; } }
    : {}),
};

const MODULES = {
  math: 'export const add = (a, b) => a + b; export default "math";',
  'lib/a.js': 'import { b } from "./b.js"; import root from "../root.js"; export const a = `a${b}${root}`; export const later = () => import("./deep/c.js");',
  './lib/b.js': 'export const b = "b";',
  'root.js': 'export default "/root";',
  'lib/deep/c.js': 'import { b } from "../b.js"; import absolute from "/root.js"; export default `c${b}${absolute}`;',
  'https://example.org/x/one.js': 'import two from "./two.js"; import math from "math"; export default [two, math].join();',
  'https://example.org/x/two.js': 'export default "two";',
  '@scope/pkg': 'export default "scoped";',
  'node:fs': 'export default "ours";',
  cycle1: 'import { two } from "cycle2"; export const one = () => "one" + two; export const both = () => one();',
  cycle2: 'import { one } from "cycle1"; export const two = "two"; export const check = () => typeof one;',
  slow: 'export const value = await new Promise((resolve) => Promise.resolve().then(() => resolve("waited")));',
  count: 'globalThis.loads = (globalThis.loads ?? 0) + 1; export default globalThis.loads;',
  'ünï 中': 'export default "ü中😀";',
  global: 'export default typeof globalThis;',
};

for (const [kind, make] of Object.entries(SANDBOXES)) {
  const run = (code, modules = MODULES, options = {}) => make({ timeout: 20_000, modules, ...options }).execute(code);
  const resultOf = async (...args) => {
    const { result, error } = await run(...args);
    assert.equal(error, undefined, `${args[0]}: ${error}`);
    return result;
  };

  describe(`${kind}: modules by import()`, () => {
    const pairs = [
      ['return (await import("math")).add(1, 2)', 3],
      ['return (await import("./math")).default', 'math'],
      ['return import("math").then((math) => math.default)', 'math'],
      ['const { a, later } = await import("lib/a.js"); return [a, (await later()).default]', ['ab/root', 'cb/root']],
      ['return (await import("https://example.org/x/one.js")).default', 'two,math'],
      ['return (await import("https://example.org/x/../x/./one.js")).default', 'two,math'],
      ['return (await import("@scope/pkg")).default + (await import("node:fs")).default', 'scopedours'],
      ['const [x, y] = await Promise.all([import("cycle1"), import("cycle2")]); return [x.both(), y.check()]', ['onetwo', 'function']],
      ['return (await import("slow")).value', 'waited'],
      ['const all = await Promise.all([import("count"), import("./count"), import("count")]); return all.map((each) => each.default)', [1, 1, 1]],
      ['return (await import("count")) === (await import("./count"))', true],
      ['return (await import("ünï 中")).default', 'ü中😀'],
      ['let order = ""; const loaded = import("math").then(() => { order += "b"; }); order += "a"; await loaded; return order', 'ab'],
      ['return (await import("lib/deep/../../math")).default', 'math'],
      ['const { default: kind } = await import("global"); return kind', 'object'],
    ];
    for (const [code, expected] of pairs) {
      test(code, async () => assert.deepEqual(await resultOf(code), expected));
    }
  });

  describe(`${kind}: code that is a module`, () => {
    const pairs = [
      ['import { add } from "math"; export default add(2, 3);', 5],
      ['// first\nimport math, { add } from "math";\nconst x = add(1, 1);\nexport default { math, x };', { math: 'math', x: 2 }],
      ['import { value } from "slow"; const more = await Promise.resolve("!"); export default value + more;', 'waited!'],
      ['import "math";', undefined],
      ['export const x = 1;', undefined],
      ['export default await import("math").then((math) => math.default)', 'math'],
      ['import { a } from "./lib/a.js"; export default async () => a;', 'ab/root'],
      ['export default function () { return 7; }', 7],
      ['export default Promise.resolve(() => 8)', 8],
      ['export default typeof import.meta', 'object'],
      ['export default [this === undefined, typeof arguments]', [true, 'undefined']],
    ];
    for (const [code, expected] of pairs) {
      test(code, async () => assert.deepEqual(await resultOf(code), expected));
    }

    test('only with the option `modules`', async () => {
      for (const code of ['import { add } from "math"; export default add(2, 3);', 'export default 1']) {
        const { error } = await make({}).execute(code);
        assert.match(error, /^(Cannot use import statement outside a module|Unexpected token 'export')/);
      }
      assert.equal(await resultOf('export default 1', {}), 1);
    });

    test('code that is neither fails with its own error', async () => {
      const { error, failure } = await run('import { add } from "math";\nlet x = 1;\nlet x = 2;');
      assert.match(error, /^Identifier 'x' has already been declared/);
      assert.deepEqual([failure.name, failure.line, failure.module], ['SyntaxError', 3, undefined]);
      assert.match((await run('const x = ;')).error, /^Unexpected token ';'/);
    });
  });

  describe(`${kind}: modules that fail`, () => {
    test('an unknown module is named, with its importer', async () => {
      assert.match((await run('return import("nothing")')).error, /^Cannot find module 'nothing' imported by sandbox\.js$/);
      assert.match((await run('export { x } from "../nothing"')).error, /^Cannot find module '\.\.\/nothing' imported by sandbox\.js/);
      const { error, failure } = await run('import "outer"', { outer: '\n\n  import y from "./inner";', inner: 'export default 1;\nexport * from "gone";' });
      assert.match(error, /^Cannot find module 'gone' imported by inner/);
      assert.deepEqual([failure.module, failure.line], ['inner', 2]);
      assert.match(failure.frame, /> 2 \| export \* from "gone";/);
    });

    test('own keys only', async () => {
      for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
        assert.equal((await run(`return import(${JSON.stringify(name)})`, { a: '' })).error, `Cannot find module '${name}' imported by sandbox.js`);
      }
      assert.equal(await resultOf('return (await import("__proto__")).default', JSON.parse('{"__proto__":"export default 3"}')), 3);
    });

    test('long specifiers are truncated, unusual ones are reported', async () => {
      const { error } = await run('return import("x".repeat(1e6))');
      assert.ok(error.length < 300 && error.includes('x...'), error);
      assert.match((await run('return import("")')).error, /^Cannot find module '' /);
      assert.match((await run('return import({ toString() { throw new TypeError("mine") } })')).error, /^mine$/);
    });

    test('the guest can continue', async () => {
      const codes = await resultOf(`
        const errors = [];
        for (const name of ['gone', 'broken', 'throws', 'importsGone', 'noExport']) {
          for (let i = 0; i < 2; i += 1) await import(name).catch((error) => errors.push(error.name + ': ' + error.message.split(' [')[0]));
        }
        return errors;
      `, { broken: 'const = 1;', throws: 'throw new RangeError("mine")', importsGone: 'import "gone2"', noExport: 'import { x } from "empty"', empty: '' });
      assert.deepEqual(codes, [
        "Error: Cannot find module 'gone' imported by sandbox.js", "SyntaxError: Unexpected token '='", 'RangeError: mine',
        "Error: Cannot find module 'gone2' imported by importsGone", "SyntaxError: The requested module 'empty' does not provide an export named 'x'",
      ].flatMap((each) => [each, each]));
    });

    describe('JSON', () => {
      const JSONS = {
        'data.json': ' { "a": [1, null, "ü中"], "__proto__": { "polluted": true }, "then": 1 }\n', 'lib/one.json': '1', 'https://example.org/x.json?y': '"x"',
        'lib/a.js': 'import one from "./one.json" with { type: "json" }; export { default as data } from "../data.json" with { type: "json" }; export default one;',
        'bad.json': '{\n  "a": 1,\n  b\n}', 'empty.json': '', 'code.json': 'export default 1', 'late.json': '{} []', math: 'export default 1',
      };
      test('is imported with the attribute', async () => {
        assert.deepEqual(await resultOf(`
          import data from "data.json" with { type: "json" };
          import * as all from "./data.json" with { type: "json" };
          import one, { data as again } from "lib/a.js";
          import x from "https://example.org/x.json?y" with { type: "json" };
          const later = await import("/data.json", { with: { type: "json" } });
          data.own = true;
          export default [data.a, Object.keys(data), {}.polluted, data === again, again === later.default && later === all, Object.keys(all), one, x];
        `, JSONS), [[1, null, 'ü中'], ['a', '__proto__', 'then', 'own'], undefined, true, true, ['default'], 1, 'x']);
        assert.equal(await resultOf('return (await import("lib/one.json", { with: { type: "json" } })).default', JSONS), 1);
        assert.equal(await resultOf('import one from "lib/one.json" with { type: "json" };\nexport default one as number;', JSONS, { typescript: true }), 1);
      });

      const wrong = [
        ['data.json', '', "Error: Module 'data.json' is JSON, which imports must say: with { type: 'json' }"],
        ['math', 'type: "json"', "Error: Module 'math' is not JSON: the names of such modules end in .json"],
        ['data.json', 'type: "css"', 'Import attribute "type" with value "css" is not supported'],
        ['math', 'type: "javascript"', 'Import attribute "type" with value "javascript" is not supported'],
        ['data.json', 'type: "json", lazy: "1"', 'Import attribute "lazy" is not supported'],
        ['none.json', 'type: "json"', "Error: Cannot find module 'none.json' imported by sandbox.js"],
        ['bad.json', 'type: "json"', /^SyntaxError: Expected .* in JSON at position 14.* \[bad\.json:3:3\]$/],
        ['empty.json', 'type: "json"', 'SyntaxError: Unexpected end of JSON input [empty.json:1:1]'],
        ['code.json', 'type: "json"', /^SyntaxError: Unexpected token 'e', "export default 1" is not valid JSON \[code\.json:1:1\]$/],
        ['late.json', 'type: "json"', /^SyntaxError: Unexpected non-whitespace character after JSON at position 3.* \[late\.json:1:4\]$/],
      ];
      for (const [name, attributes, expected] of wrong) {
        test(`what is refused: ${name} with { ${attributes} }`, async () => {
          for (const [code, isStatic] of [[`import a from "${name}" with { ${attributes} };`, true], [`return import("${name}", { with: { ${attributes} } })`, false]]) {
            const { failure } = await run(code, JSONS);
            const text = `${failure.name}: ${failure.message}`;
            if (typeof expected === 'string') assert.ok(text.endsWith(expected), text);
            else assert.match(text, expected);
            if (text.startsWith('SyntaxError') && name === 'bad.json') {
              assert.deepEqual([failure.module, failure.line, failure.column, failure.frame.split('\n')[3]], ['bad.json', 3, 3, '    |   ^']);
            }
            // The code that gets this error itself may rethrow it like any other error.
            if (isStatic) assert.equal(failure.code, /attribute/.test(text) ? 'ERR_ISOLATE_UNSUPPORTED' : undefined);
          }
        });
      }

      test('counts towards the limits, and uses no built-ins of the guest', async () => {
        const large = { 'large.json': `[${'{"a":1},'.repeat(400_000)}1]` };
        assert.equal((await run('await import("large.json", { with: { type: "json" } }); return 1', large, { memoryLimit: 8 })).failure.code, 'ERR_ISOLATE_MEMORY');
        const tampered = `
          if (1) JSON.parse = Reflect.apply = Array.from = globalThis.Promise = () => 'mine';
          const { default: data } = await import("lib/one.json", { with: { type: "json" } });
          return [data];`.replaceAll('globalThis', kind === 'createSandbox' ? '(0, eval)("this")' : 'globalThis');
        assert.deepEqual(await resultOf(tampered, { 'lib/one.json': '{"b":1}' }), [{ b: 1 }]);
      });
    });

    test('errors show the module, the line and a frame', async () => {
      const modules = { 'lib/thrower.js': 'export const a = 1;\nexport function fail(x) {\n  return x.y.z;\n}\n', 'bad.js': 'export const ok = 1;\nconst = 2;\n', 'my sandbox.js': '\n\nthrow new Error("here")' };
      for (const code of ['const { fail } = await import("./lib/thrower.js");\nreturn fail({});', 'import { fail } from "lib/thrower.js";\nfail({});']) {
        const { failure } = await run(code, modules);
        assert.deepEqual([failure.name, failure.module, failure.line, failure.column], ['TypeError', 'lib/thrower.js', 3, 14]);
        assert.match(failure.frame, /> 3 \| {3}return x\.y\.z;\n {4}\| {14}\^/);
        assert.match(failure.stack, /lib\/thrower\.js:3:14[\s\S]*sandbox\.js:2:/);
      }
      for (const code of ['return import("bad.js")', 'import "bad.js"']) {
        const { failure } = await run(code, modules);
        assert.deepEqual([failure.name, failure.module, failure.line], ['SyntaxError', 'bad.js', 2]);
        assert.match(failure.frame, /> 2 \| const = 2;/);
      }
      const { failure } = await run('return import("my sandbox.js")', modules);
      assert.deepEqual([failure.module, failure.line, failure.message], ['my sandbox.js', 3, 'here']);
      const own = await run('\n  throw new Error("own")', modules);
      assert.deepEqual([own.failure.module, own.failure.line], [undefined, 2]);
    });
  });

  describe(`${kind}: modules under limits`, () => {
    const ended = kind === 'SubprocessSandbox' ? /^Execution terminated/ : /^Execution time(d out|out) after|^Execution terminated \(memory|memory/;
    const cases = [
      ['that never ends', 'return import("x")', { x: 'for (;;);' }, 'ERR_ISOLATE_DEADLINE'],
      ['that never ends, static', 'import "x"', { x: 'for (;;);' }, 'ERR_ISOLATE_DEADLINE'],
      ['that waits forever', 'import "x"', { x: 'await new Promise(() => {})' }, 'ERR_ISOLATE_DEADLINE'],
      ['that imports endlessly', 'return import("x")', { x: 'for (;;) await import("y");', y: 'export default 1' }, 'ERR_ISOLATE_DEADLINE'],
      ['that exhausts its memory', 'import "x"', { x: 'const all = []; for (;;) all.push(new Array(1e4).fill(1.5));' }, 'ERR_ISOLATE_MEMORY'],
      ['that is larger than the heap', 'import "x"', { x: `export default "${'x'.repeat(40 << 20)}"` }, 'ERR_ISOLATE_MEMORY'],
    ];
    for (const [what, code, modules, expected] of cases) {
      test(what, async () => {
        const { error, failure } = await run(code, modules, { timeout: expected.endsWith('MEMORY') ? 20_000 : 500, memoryLimit: 16 });
        assert.equal(failure?.code, expected, error);
        assert.match(error, ended);
      });
    }

    test('10,000 modules: wide, and in a chain', async () => {
      const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, `export default ${i}`]));
      wide.all = Array.from({ length: 10_000 }, (_, i) => `import m${i} from "m${i}";`).join('') + 'export default m0 + m9999;';
      assert.equal(await resultOf('import all from "all"; export default all', wide, { memoryLimit: 128 }), 9999);
      const chain = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, i === 9_999 ? 'export default 1' : `export { default } from "./m${i + 1}"`]));
      const { result, error } = await run('import x from "m0"; export default x', chain, { memoryLimit: 128 });
      assert.ok(result === 1 || /call stack/.test(error), error);
      const waiting = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, i === 9_999 ? 'await 1; throw new Error("deep")' : `import "./m${i + 1}"`]));
      assert.match((await run('return import("m0")', waiting, { memoryLimit: 128 })).error, /^deep$|call stack/);
    });

    test('an aborted execution', async () => {
      const abort = new AbortController();
      const outcome = make({ modules: { x: 'for (;;);' } }).execute('import "x"', { signal: abort.signal });
      setTimeout(() => abort.abort(), 100);
      assert.equal((await outcome).failure.code, 'ERR_ISOLATE_ABORTED');
    });

    test('executions are separate', async () => {
      const sandbox = make({ modules: MODULES });
      for (let i = 0; i < 3; i += 1) {
        assert.equal((await sandbox.execute('import count from "count"; export default count')).result, 1);
      }
    });

    test('tampered built-ins change nothing', async () => {
      assert.equal(await resultOf(`
        for (const name of ['then', 'catch', 'finally']) try { Promise.prototype[name] = () => { throw new Error(name); }; } catch {}
        try { Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('constructor'); } }); } catch {}
        try { Object.defineProperty(Array.prototype, '0', { get() { throw new Error('0'); }, set() { throw new Error('0'); } }); } catch {}
        const x = import('math').catch;
        return 'continued';
      `), 'continued');
    });
  });

  describe(`${kind}: module maps`, () => {
    test('are read once, and only own properties', async () => {
      let reads = 0;
      const map = Object.create({ inherited: 'export default 1' }, {
        a: { enumerable: true, get() { reads += 1; return `export default ${reads}`; } },
        hidden: { enumerable: false, value: 'export default 1' },
      });
      map[Symbol('s')] = 1;
      const sandbox = make({ modules: map });
      map.b = 'export default 1';
      for (let i = 0; i < 2; i += 1) assert.equal((await sandbox.execute('return (await import("a")).default')).result, 1);
      assert.equal(reads, 1);
      for (const name of ['inherited', 'hidden', 'b']) {
        assert.match((await sandbox.execute(`return import("${name}")`)).error, new RegExp(`^Cannot find module '${name}'`));
      }
      Object.prototype.modules = { p: 'export default "polluted"' }; // oxlint-disable-line no-extend-native -- the case
      try {
        assert.doesNotMatch(String((await make({}).execute('return (await import("p")).default')).result), /polluted/);
      } finally {
        delete Object.prototype.modules;
      }
    });

    test('errors are reported', () => {
      const wrong = (modules, message) => assert.throws(() => make({ modules }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message });
      wrong('x', '`modules` must be an object of sources by name');
      wrong(new Map([['a', '']]), '`modules` must be an object of sources by name');
      wrong([], '`modules` must be an object of sources by name');
      wrong({ a: 1 }, '`modules["a"]` must be a string');
      wrong({ a: '', './a': '' }, '`modules` must be free of two names for one place: "a" and "./a"');
      for (const name of ['sandbox.js', './sandbox.js', 'x/../sandbox.js', 'sandbox.js#2', './sandbox.js#2', 'sandbox.js#x', 'sandbox.js:1', 'sandbox.js:1:1)']) {
        wrong({ [name]: '' }, `\`modules\` must be free of ${JSON.stringify(name)}, which is the code itself`);
      }
      for (const name of ['sandbox.json', 'my-sandbox.js', 'lib/sandbox.js', 'sandbox.jsx', 'sandbox.js?2']) assert.ok(make({ modules: { [name]: '' } }));
      for (const name of ['', 'a\0b', 'x'.repeat(1_001), 'https://[']) {
        assert.throws(() => make({ modules: { [name]: '' } }), { code: 'ERR_INVALID_ARG', message: /the source of a module whose name is a URL or a path/ });
      }
      assert.throws(() => make({ modules: { get a() { throw new Error('mine'); } } }), /^Error: mine$/);
    });

    test('not available without the option', async () => {
      const { error, failure } = await make({}).execute('return import("x")');
      assert.equal(error, "Cannot find module 'x': the sandbox has no `modules`");
      // V8 reports it at the beginning of the text that wraps the code.
      assert.deepEqual([failure.line, failure.column, failure.frame], [1, 1, '> 1 | return import("x")\n    | ^'], failure.stack);
      assert.match((await make({ modules: null }).execute('return import("x")')).error, /^Cannot find module 'x': the sandbox has no `modules`$/);
    });
  });

  describe(`${kind}: modules in TypeScript`, () => {
    const typed = { 'a.ts': 'import type { T } from "./types";\nexport const a: number = 1;\nexport type X = string;', 'b.js': 'export const less = (a, b, c) => a < b > (c);', bare: 'export default (x: string): string => x + "!";' };
    test('types are stripped from TypeScript only', async () => {
      assert.deepEqual(await resultOf('import { a } from "a.ts"; import { less } from "./b.js"; import f from "bare"; const s: string = f("x"); export default [a, less(1, 2, 3), s] as unknown[];', typed, { typescript: true }), [1, false, 'x!']);
      assert.deepEqual(await resultOf('const { a }: { a: number } = await import("a.ts"); return a;', typed, { typescript: true }), 1);
      const { failure } = await run('return import("a.ts")', typed);
      assert.deepEqual([failure.name, failure.module, failure.line], ['SyntaxError', 'a.ts', 1]);
    });

    test('positions are kept', async () => {
      const modules = { 'x.ts': 'const a: string = "";\nexport const f = (b: any) => b as any; (null as any).x;' };
      const { failure } = await run('import { f } from "x.ts";\nconst x: number = f(1);', modules, { typescript: true });
      assert.deepEqual([failure.module, failure.line, failure.column], ['x.ts', 2, 54]);
      const own = await run('import { f } from "x.ts";\nenum X { a }', { 'x.ts': 'export const f = 1;' }, { typescript: true });
      assert.deepEqual([own.failure.name, own.failure.line, own.failure.module], ['SyntaxError', 2, undefined]);
      const refused = await run('import { f } from "x.ts"; export default f', { 'x.ts': '\nenum X { a }' }, { typescript: true });
      assert.deepEqual([refused.failure.name, refused.failure.module, refused.failure.line], ['SyntaxError', 'x.ts', 2]);
    });
  });
}

describe('createSandbox: modules', () => {
  test('it can be fenced, and `globalThis` is shadowed in it', async () => {
    const sandbox = createSandbox({ host: (x) => x * 2 }, { modules: MODULES });
    assert.equal((await sandbox.execute('```js\nimport { add } from "math";\nexport default host(add(1, 2));\n```')).result, 6);
    assert.deepEqual((await sandbox.execute('import kind from "global"; export default [kind, typeof globalThis]')).result, ['object', 'undefined']);
    const { failure } = await sandbox.execute('\n```ts\nimport { add } from "math";\nconst a: number = 1; null.x;\n```');
    assert.deepEqual([failure.line, failure.column], [4, 27]);
    const first = await sandbox.execute('import { add } from "math"; null.x;');
    assert.deepEqual([first.failure.line, first.failure.column], [1, 34]);
  });

  test('modules call the host, and everything ends with the sandbox', async () => {
    const sandbox = createSandbox({ host: async (x) => x + 1 }, { modules: { m: 'export default host(41)' }, maxApiCalls: 1 });
    assert.equal((await sandbox.execute('import m from "m"; export default m')).result, 42);
  });
});
