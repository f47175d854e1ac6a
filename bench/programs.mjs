// Programs as guests run them: libraries from npm with some work each, bundled when the benchmark runs (bundles.mjs). The last expression of an
// entry's module assigns `main`, which returns a string, or a promise of one. It must be the same in every engine, so no result depends on
// the version of Unicode or of the locale data. `%NAME%` is the text of a file of a package.

/** The packages, with their versions. */
export const VERSIONS = {
  '@babel/generator': '7.28.3',
  '@babel/parser': '7.28.3',
  '@babel/traverse': '7.28.3',
  acorn: '8.15.0',
  ajv: '8.17.1',
  handlebars: '4.7.8',
  lodash: '4.17.21',
  marked: '16.2.0',
  mathjs: '14.6.0',
  pako: '2.1.0',
  prettier: '3.6.2',
  terser: '5.43.1',
  typescript: '5.9.2',
  zod: '4.1.5',
};

/** Numbers that look random and are the same in every engine, and a text of `count` words. */
const COMMON = `
  const random = (seed => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32)(7);
  const words = (count) => Array.from({ length: count }, () => ['lorem', 'ipsum', 'dolor', 'sit', 'amet', 'elit', 'sed', 'tempor'][random() * 8 | 0] + (random() * 100 | 0));
  const digest = (text) => { let hash = 0; for (let i = 0; i < text.length; i += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0; return text.length + ':' + hash; };
`;

const TYPESCRIPT = `
  import ts from 'typescript';
  const lib = 'interface Array<T> { length: number; [n: number]: T; map<U>(f: (value: T) => U): U[]; filter(f: (value: T) => boolean): T[]; push(...items: T[]): number }\\n'
    + ['Boolean', 'CallableFunction', 'Function', 'IArguments', 'NewableFunction', 'Number', 'Object', 'RegExp', 'String'].map(name => 'interface ' + name + ' {}').join('\\n')
    + '\\ninterface Promise<T> { then<U>(f: (value: T) => U): Promise<U> }';
  const part = (n) => \`
    export interface Shape\${n}<T extends { id: number }> { readonly kind: 'shape\${n}'; items: T[]; next?: Shape\${n}<T> }
    export type Keys\${n}<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T];
    export class Store\${n}<T extends { id: number; name: unknown }> {
      private all: T[] = [];
      constructor(private readonly shape: Shape\${n}<T>) {}
      add(item: T, ...more: T[]): this { this.all.push(item, ...more); return this; }
      get(key: Keys\${n}<T>): Shape\${n}<T> | undefined { return this.shape.items.length > \${n} ? this.shape : this.shape.next; }
      names() { return this.all.filter(({ id }) => id > \${n}).map(({ name }) => ({ name, at: { x: \${n}, y: [\${n}] } })); }
    }
    export const wrong\${n}: string = new Store\${n}({ kind: 'shape\${n}', items: [{ id: 1, name: 'a' }] }).add({ id: 2, name: 'b' }).names().length;
    enum Level\${n} { Low, High = \${n} + 2 }
    export function level\${n}(value: 'low' | 'high'): Level\${n} { return value === 'low' ? Level\${n}.Low : Level\${n}.High; }\`;
  const source = Array.from({ length: 20 }, (_, n) => part(n)).join('\\n');
  globalThis.main = () => {
    const files = { 'lib.d.ts': lib, 'main.ts': source };
    const written = [];
    const parsed = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true)]));
    const program = ts.createProgram(['lib.d.ts', 'main.ts'], { noLib: true, strict: true, target: ts.ScriptTarget.ES2015, module: ts.ModuleKind.CommonJS }, {
      getSourceFile: (name) => parsed[name], writeFile: (name, text) => written.push(name, text), getDefaultLibFileName: () => 'lib.d.ts',
      useCaseSensitiveFileNames: () => true, getCanonicalFileName: (name) => name, getCurrentDirectory: () => '', getNewLine: () => '\\n',
      fileExists: (name) => name in files, readFile: (name) => files[name], directoryExists: () => true, getDirectories: () => [],
    });
    const found = ts.getPreEmitDiagnostics(program).map(({ code, start }) => code + '@' + start);
    program.emit();
    return digest(found.join() + written.join());
  };`;

const BABEL = `
  import { parse } from '@babel/parser';
  import { default as generated } from '@babel/generator';
  import { default as traversed } from '@babel/traverse';
  const generate = generated.default ?? generated;
  const traverse = traversed.default ?? traversed;
  globalThis.main = () => {
    const ast = parse(%pako/dist/pako_inflate.js%);
    let names = 0;
    traverse(ast, { Identifier({ node }) { node.name += '_'; names += 1; }, ArrowFunctionExpression(path) { path.skip(); } });
    return names + digest(generate(ast, { compact: false }).code);
  };`;

const PRETTIER = `
  import { format } from 'prettier/standalone';
  import * as babel from 'prettier/plugins/babel';
  import * as estree from 'prettier/plugins/estree';
  import * as markdown from 'prettier/plugins/markdown';
  import * as postcss from 'prettier/plugins/postcss';
  const css = Array.from({ length: 150 }, (_, n) => '.a' + n + '>b{color:RED;margin:0 ' + n + 'px;&:hover{top:1px}}').join('');
  globalThis.main = async () => {
    const plugins = [babel, estree, markdown, postcss];
    const results = [
      await format(%lodash/debounce.js% + %lodash/_baseClone.js% + %lodash/_createWrap.js%, { parser: 'babel', plugins, semi: false }),
      await format(%acorn/README.md%, { parser: 'markdown', plugins, proseWrap: 'always' }),
      await format(css, { parser: 'css', plugins }),
    ];
    return digest(results.join());
  };`;

const TERSER = `
  import { minify_sync } from 'terser';
  globalThis.main = () => digest(minify_sync(%lodash/_baseClone.js% + %lodash/debounce.js% + %lodash/_createWrap.js% + %lodash/_equalArrays.js% + %lodash/template.js%, { compress: true, mangle: true }).code);`;

const LODASH = `
  import _ from 'lodash';
  globalThis.main = () => {
    const people = _.times(8_000, (id) => ({ id, name: words(2).join(' '), age: random() * 90 | 0, tags: words(3), at: { city: words(1)[0], zip: id % 997 } }));
    const groups = _(people).filter(({ age }) => age > 20).groupBy('at.city').mapValues((group) => ({ count: group.length, mean: _.meanBy(group, 'age') })).toPairs().sortBy(['1.count', '0']).value();
    const copy = _.cloneDeep(people);
    const tags = _(people).flatMap('tags').countBy().toPairs().orderBy([1, 0], ['desc', 'asc']).take(50).value();
    const cases = people.slice(0, 3_000).map(({ name }) => _.camelCase(name) + _.kebabCase(name) + _.padStart(name, 30, '-'));
    return digest(JSON.stringify([groups, tags, cases, _.isEqual(copy, people), _.uniqBy(people, 'at.zip').length, _.merge({}, ..._.chunk(people, 7_000).map((part) => _.keyBy(part, 'age')))]));
  };`;

const MATHJS = `
  import { create, all } from 'mathjs';
  const math = create(all);
  globalThis.main = () => {
    const at = (row, column) => ((row * 7 + column * 3) % 11) + (row === column ? 12 : 0);
    const matrix = math.matrix(Array.from({ length: 30 }, (_, row) => Array.from({ length: 30 }, (_, column) => at(row, column))));
    const results = [
      math.derivative('x^4 * (3 x + 2)^2 - x / (x + 1)', 'x').toString(),
      math.simplify('2 * 3 * x + 4 x - (y + y) * (x - x + 2)').toString(),
      math.round(math.det(math.multiply(matrix, 0.125)), 3),
      math.format(math.lusolve(matrix, Array.from({ length: 30 }, (_, row) => row)), 8),
      math.evaluate('3 inch + 4 cm to mm').toString(),
      math.format(math.evaluate('bignumber(2)^0.5 * bignumber(3)'), 40),
    ];
    const compiled = math.compile('a * 3 + b ^ 2 - abs(c) / max(a, b, 4)');
    let sum = 0;
    for (let i = 0; i < 5_000; i += 1) sum += compiled.evaluate({ a: i % 9, b: i % 5, c: -i });
    return digest(results.join() + sum.toFixed(4));
  };`;

const AJV = `
  import Ajv from 'ajv';
  const schema = (n) => ({
    $id: 'schema' + n, type: 'object', required: ['id', 'name', 'tags'], additionalProperties: false,
    properties: {
      id: { type: 'integer', minimum: n }, name: { type: 'string', pattern: '^[a-z]+[0-9]*$', maxLength: 12 + n },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, minItems: 1 },
      at: { oneOf: [{ type: 'null' }, { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number', multipleOf: 2 } }, required: ['x', 'y'] }] },
    },
  });
  globalThis.main = () => {
    const ajv = new Ajv({ allErrors: true });
    const validators = Array.from({ length: 40 }, (_, n) => ajv.compile(schema(n)));
    const found = [];
    for (let i = 0; i < 6_000; i += 1) {
      const validate = validators[i % validators.length];
      const isValid = validate({ id: i % 50, name: words(1)[0], tags: words(2), at: i % 3 === 0 ? null : { x: 1, y: i % 4 } });
      found.push(isValid ? 1 : validate.errors.map(({ keyword }) => keyword).join());
    }
    return digest(found.join());
  };`;

const HANDLEBARS = `
  import Handlebars from 'handlebars/dist/cjs/handlebars.js';
  Handlebars.registerHelper('upper', (text) => text.toUpperCase());
  Handlebars.registerPartial('item', '<li class="{{kind}}">{{upper name}}{{#if tags.length}}: {{#each tags}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}{{/if}}</li>');
  const source = (n) => '<h1>{{title}} ' + n + '</h1>{{#each sections}}<h2>{{@index}} {{title}}</h2><ul>{{#each items}}{{> item kind="k' + n + '"}}{{else}}none{{/each}}</ul>{{#with note}}<p>{{{text}}} {{../title}}</p>{{/with}}{{/each}}';
  globalThis.main = () => {
    const items = () => Array.from({ length: 20 }, () => ({ name: words(1)[0] + '<&>', tags: words(3) }));
    const data = { title: 'A "page"', sections: Array.from({ length: 10 }, () => ({ title: words(2).join(' '), items: items(), note: { text: '<b>' + words(4).join(' ') + '</b>' } })) };
    let results = '';
    for (let n = 0; n < 20; n += 1) results += digest(Handlebars.compile(source(n))(data));
    return digest(results);
  };`;

const PAKO = `
  import pako from 'pako';
  globalThis.main = () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i % 7 === 0 ? random() * 256 : (i * i) >> 9));
    const results = [1, 6, 9].map((level) => pako.deflate(bytes, { level }));
    const back = results.map((each) => pako.inflate(each)).every((each) => each.length === bytes.length && each.every((byte, i) => byte === bytes[i]));
    return digest(back + results.map((each) => each.join()).join());
  };`;

const MARKED = `
  import { marked } from 'marked';
  globalThis.main = () => {
    const text = (n) => '# Title ' + n + '\\n\\n' + words(60).join(' ') + ' **bold** _it_ [link](http://a.b/' + n + ') \`code\`\\n\\n- one\\n- two\\n  1. three\\n\\n| a | b |\\n|---|:-:|\\n| 1 | 2 |\\n\\n> quote\\n\\n\`\`\`js\\nlet a = 1 < 2;\\n\`\`\`\\n';
    return digest(marked.parse(%acorn/README.md% + Array.from({ length: 200 }, (_, n) => text(n)).join('\\n')));
  };`;

const ACORN = `
  import { parse, tokenizer } from 'acorn';
  globalThis.main = () => {
    const source = %handlebars/dist/handlebars.js%;
    let tokens = 0;
    for (const { start, end } of tokenizer(source, { ecmaVersion: 2022 })) tokens += end - start;
    return tokens + digest(JSON.stringify(parse(source, { ecmaVersion: 2022 })));
  };`;

const ZOD = `
  import { z } from 'zod';
  globalThis.main = () => {
    const part = z.object({ id: z.number().int().min(5), name: z.string().regex(/^[a-z]+[0-9]*$/), tags: z.array(z.string()).min(1), kind: z.enum(['a', 'b']).optional() });
    const whole = z.object({ parts: z.array(part), at: z.union([z.null(), z.object({ x: z.number(), y: z.number().multipleOf(2) })]), extra: z.record(z.string(), z.number()) });
    const found = [];
    for (let i = 0; i < 4_000; i += 1) {
      const value = { parts: Array.from({ length: 4 }, (_, n) => ({ id: i % 40 + n, name: words(1)[0], tags: words(2), kind: 'ab'[n % 2] })), at: i % 3 === 0 ? null : { x: 1, y: i % 4 }, extra: { a: 1, b: i } };
      const result = whole.safeParse(value);
      found.push(result.success ? result.data.parts.length : result.error.issues.map(({ path, code }) => path.join('.') + code).join());
    }
    return digest(found.join());
  };`;

/** Only what every version of the locale data has in common. */
const INTL = `
  globalThis.main = () => {
    const results = [];
    const collator = new Intl.Collator('de', { numeric: true });
    results.push(words(2_000).toSorted(collator.compare).join());
    for (const locale of ['en', 'de', 'ja', 'pt']) {
      const number = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
      const date = new Intl.DateTimeFormat(locale, { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: 'UTC' });
      const plural = new Intl.PluralRules(locale);
      for (let i = 0; i < 1_000; i += 1) results.push(number.format(i * 1234.567), date.format(i * 864e5 * 3), plural.select(i % 9));
    }
    const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
    let count = 0;
    for (const { isWordLike } of segmenter.segment(words(4_000).join(' '))) count += isWordLike ? 1 : 0;
    for (let i = 0; i < 50; i += 1) results.push((i * 1.5).toLocaleString('en'));
    return digest(results.join() + count + 'Straße İ'.repeat(1_000).normalize('NFD').toUpperCase());
  };`;

const REGEXPS = `
  globalThis.main = () => {
    const text = Array.from({ length: 8_000 }, (_, n) => words(3).join(' ') + ' user' + n + '@host' + n % 50 + '.example 2024-0' + (n % 9 + 1) + '-1' + n % 10 + ' "q' + n + '" 10.0.' + n % 256 + '.7').join('\\n');
    const patterns = [
      /[\\w.]+@[\\w.]+\\.\\w+/g, /(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})/g, /\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b/g, /"(?:[^"\\\\]|\\\\.)*"/g,
      /^(\\w+) (\\w+).*$/gm, /(?<=user)\\d+(?=@)/g, /[\\p{L}]+\\d/gu, /lorem\\d+|ipsum\\d+|dolor\\d+/gi, /(\\w)\\1/g,
    ];
    const results = patterns.map((pattern) => { let sum = 0; for (const match of text.matchAll(pattern)) sum += match.index % 1000 + match.length; return sum; });
    const replaced = text.replace(/(\\w+)@(\\w+)/g, '$2 at $1').replace(/\\d+/g, (digits) => digits.length).split(/[\\s,;]+/);
    return digest(results.join() + replaced.join());
  };`;

/** A function of 6,000 lines, called often enough to be optimized. */
const LONG = `
  const lines = Array.from({ length: 6_000 }, (_, n) => n % 3 === 0 ? 'a = (a * ' + (n % 13 + 2) + ' + b) | 0;' : n % 3 === 1 ? 'if ((a & ' + (n % 7 + 1) + ') === 0) b = (b + a) | 0; else c += ' + n + ';' : 'b ^= list[(a >>> 3) & 63] + ' + n + ';');
  const long = new Function('list', 'a', 'let b = 1; let c = 0;\\n' + lines.join('\\n') + '\\nreturn a + b + c;');
  globalThis.main = () => {
    const list = Array.from({ length: 64 }, (_, i) => i * 3);
    let sum = 0;
    for (let i = 0; i < 1_500; i += 1) sum = (sum + long(list, i)) | 0;
    return String(sum);
  };`;

const entries = {
  TypeScript: TYPESCRIPT, Babel: BABEL, Prettier: PRETTIER, Terser: TERSER, lodash: LODASH, mathjs: MATHJS, Ajv: AJV, Handlebars: HANDLEBARS,
  pako: PAKO, marked: MARKED, acorn: ACORN, zod: ZOD, Intl: INTL, 'regular expressions': REGEXPS, 'a function of 6,000 lines': LONG,
};

const idOf = (title) => title.toLowerCase().replaceAll(/\W+/g, '-');

export default Object.entries(entries).map(([title, entry]) => ({ id: idOf(title), title, entry: COMMON + entry }));
