// Sources that are hard for the parser and the compilers. They run as they are.

export const group = 'sources';
const OVERFLOW = 'RangeError: Maximum call stack size exceeded';
export const defaults = { script: true, timeout: 10_000 };

const many = (text, count) => text.repeat(count);

export const programs = [
  { name: 'an error', code: 'let let = 1', ends: 'SyntaxError: let is disallowed as a lexically bound name…' },
  { name: 'deep parentheses', code: `return_ = ${many('(', 1e5)}1${many(')', 1e5)}`, ends: OVERFLOW },
  { name: 'deep arrays', code: `a = ${many('[', 1e5)}${many(']', 1e5)}`, ends: OVERFLOW },
  { name: 'deep objects', code: `a = ${many('{a:', 1e5)}1${many('}', 1e5)}`, ends: OVERFLOW },
  { name: 'deep blocks', code: `${many('{', 1e5)}${many('}', 1e5)}`, ends: OVERFLOW },
  { name: 'deep functions', code: `a = ${many('()=>', 5e4)}1`, ends: OVERFLOW },
  { name: 'deep calls', code: `a = ${many('f(', 1e5)}1${many(')', 1e5)}`, ends: OVERFLOW },
  { name: 'deep templates', code: `a = ${many('`${', 5e4)}1${many('}`', 5e4)}`, ends: OVERFLOW },
  { name: 'deep unary operators', code: `a = ${many('!', 2e5)}1`, ends: OVERFLOW },
  { name: 'deep conditionals', code: `a = ${many('1?1:', 1e5)}1`, ends: ['RangeError: Maximum call stack size exceeded', 'value 1'] },
  { name: 'deep powers', code: `a = ${many('2**', 1e5)}1`, ends: OVERFLOW },
  { name: 'deep classes', code: `a = ${many('class { static a = ', 2e4)}1${many('}', 2e4)}`, ends: OVERFLOW },
  { name: 'deep patterns', code: `var ${many('[', 5e4)}a${many(']', 5e4)} = 1`, ends: OVERFLOW },
  { name: 'deep statements', code: `${many('if(1)', 1e5)};`, ends: OVERFLOW },
  { name: 'deep labels', code: `${Array.from({ length: 3e4 }, (_, i) => `l${i}:`).join('')};`, ends: [OVERFLOW, 'value undefined', 'timeout'] },
  { name: 'a chain of members', code: `a = {}${many('?.a', 2e5)}`, ends: [OVERFLOW, 'value undefined'] },
  { name: 'a chain of operators', code: `a = 1${many('+a', 2e5)}; 1`, ends: ['RangeError: Maximum call stack size exceeded', 'ReferenceError: a is not defined', 'value 1'] },
  { name: 'a chain of commas', code: `a = (1${many(',1', 1e5)})`, ends: ['value 1', OVERFLOW] },
  { name: 'many statements', code: many('a=1;', 2e5), ends: ['value 1', 'memory', 'timeout'] },
  { name: 'many functions', code: `${many('function f(){}', 5e4)}1`, ends: 'value 1' },
  { name: 'many variables', code: `(() => { ${Array.from({ length: 1e5 }, (_, i) => `let v${i}=${i}`).join(';')} })()`, ends: ['value undefined', OVERFLOW, 'memory', 'timeout'] },
  { name: 'many parameters', code: `(function (${Array.from({ length: 7e4 }, (_, i) => `a${i}`)}) {})`, ends: 'SyntaxError: Too many parameters in function definition (only 65534 allowed)…' },
  { name: 'many arguments', code: `Math.max(${many('1,', 1e5)}1)`, ends: ['SyntaxError: Too many arguments in function call (only …)…'] },
  { name: 'many cases', code: `switch (-1) { ${Array.from({ length: 5e4 }, (_, i) => `case ${i}:`).join('')} }`, ends: ['value undefined', OVERFLOW, 'memory'] },
  { name: 'an array of many', code: `[${many('1.5,', 1e5)}].length`, ends: 'value 100000' },
  { name: 'an object of many names', code: `Object.keys({${Array.from({ length: 2e4 }, (_, i) => `k${i}:${i}`)}}).length`, ends: 'value 20000' },
  { name: 'a huge string', code: `"${many('x', 2e6)}".length`, ends: ['value 2000000'] },
  { name: 'a huge template', code: `\`${many('x${1}', 1e5)}\`.length`, ends: ['value 200000', OVERFLOW] },
  { name: 'a huge comment', code: `/*${many('x', 2e6)}*/ 1`, ends: ['value 1', 'memory'] },
  { name: 'a huge name', code: `var ${many('x', 1e6)} = 1; 1`, ends: ['value 1', 'memory'] },
  { name: 'a huge BigInt', code: `a = ${many('9', 3e6)}n; 1`, ends: ['timeout', 'unresponsive'], timeout: 50 },
  { name: 'a huge number', code: `a = ${many('9', 1e6)}; 1`, ends: 'value 1' },
  { name: 'a huge regular expression', code: `a = /${many('(a|b)*', 1e5)}/; 1`, ends: 'SyntaxError: …' },
  { name: 'a regular expression of deep groups', code: `/${many('(?:', 1e5)}${many(')', 1e5)}/; 1`, ends: ['SyntaxError: …', 'value 1'] },
  { name: 'escapes', code: `"${many('\\u{10ffff}', 1e5)}".length`, ends: 'value 200000' },
  { name: 'HTML comments and a hashbang', code: `#!x\n<!-- y\n--> z\n1`, ends: 'value 1', sandbox: 'SyntaxError: …' },
  { name: 'import of anything', script: false, code: 'return import("fs").then(() => 1, (error) => /^(Not supported|Cannot find module .*)$/.test(error.message))', promised: true, ends: 'value true' },
  { name: 'endless import', script: false, code: 'for (;;) await import("x").catch(() => {});', async: true, ends: 'timeout', timeout: 100 },
  { name: 'import of what loops', script: false, code: 'await import({ toString() { for (;;); } })', async: true, ends: 'timeout', timeout: 100 },
  { name: 'a function from a huge source', code: 'new Function("a=1;".repeat(2e6))', ends: ['EvalError: …', 'memory'] },
  { name: 'a function of deep brackets', code: 'new Function("(".repeat(1e5))', ends: [OVERFLOW, 'SyntaxError: …'] },
  { name: 'a function whose body closes itself', code: 'new Function("}, function () {")', ends: 'SyntaxError: …' },
  { name: 'eval in eval in eval', code: 'let s = "1"; for (let i = 0; i < 10; i++) s = `eval(${JSON.stringify(s)})`; eval(s)', ends: 'value 1' },
];
