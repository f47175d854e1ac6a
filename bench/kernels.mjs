// Guest code that only computes: the cost of a V8 other than the host's, and of limits.

import { inContext } from './subjects.mjs';

const RANDOM = 'let seed = 42; const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;';

/** Bodies of functions. Each takes some milliseconds and returns a number or a string. */
const kernels = {
  'sort numbers': `${RANDOM} const list = Array.from({ length: 20_000 }, random); list.sort((a, b) => a - b); return list[10_000];`,
  'sort objects by name': `${RANDOM} const list = Array.from({ length: 5_000 }, (_, id) => ({ id, name: 'n' + Math.floor(random() * 1e6) }));
    list.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id)); return list[2_500].name;`,
  'JSON.stringify': `const list = Array.from({ length: 3_000 }, (_, id) => ({ id, name: 'record ' + id, at: { x: id, y: id / 2 }, tags: ['a', 'b'] }));
    let length = 0; for (let i = 0; i < 3; i += 1) length += JSON.stringify(list).length; return length;`,
  'JSON.parse': `const text = JSON.stringify(Array.from({ length: 3_000 }, (_, id) => ({ id, name: 'record ' + id, at: { x: id, y: id / 2 } })));
    let count = 0; for (let i = 0; i < 3; i += 1) count += JSON.parse(text).length; return count;`,
  'regular expressions': `let text = ''; for (let i = 0; i < 3_000; i += 1) text += 'user' + i + '@host' + (i % 17) + '.example, ';
    let sum = 0; for (const [, user, host] of text.matchAll(/([a-z]+\\d+)@([a-z]+\\d+)\\.example/g)) sum += user.length + host.length; return sum;`,
  'typed arrays': `const n = 120; const a = new Float64Array(n * n).fill(1.5); const b = new Float64Array(n * n).fill(0.5); const c = new Float64Array(n * n);
    for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) { let sum = 0; for (let k = 0; k < n; k += 1) sum += a[i * n + k] * b[k * n + j]; c[i * n + j] = sum; }
    return c[77];`,
  closures: `const list = Array.from({ length: 50_000 }, (_, i) => i);
    return list.map((x) => x * 2).filter((x) => x % 3 === 0).map((x) => x + 1).reduce((sum, x) => sum + x, 0);`,
  'Map and Set': `const map = new Map(); for (let i = 0; i < 30_000; i += 1) map.set('k' + (i % 5_000), i); const set = new Set(map.values());
    let sum = 0; for (const value of set) sum += value; return sum + map.size;`,
  strings: `const words = []; for (let i = 0; i < 10_000; i += 1) words.push('word' + i); const text = words.join(' ');
    return text.split(' ').map((word) => word.toUpperCase().slice(1)).join('').replaceAll('ORD', '-').length;`,
  classes: `class Shape { area() { return 0; } } class Square extends Shape { constructor(s) { super(); this.s = s; } area() { return this.s ** 2; } }
    class Circle extends Shape { constructor(r) { super(); this.r = r; } area() { return 3 * this.r ** 2; } }
    let sum = 0; for (let i = 0; i < 100_000; i += 1) sum += (i % 2 ? new Square(i) : new Circle(i)).area(); return sum;`,
  generators: `function* count(n) { for (let i = 0; i < n; i += 1) yield i; } let sum = 0; for (const [i, x] of Array.from(count(20_000)).entries()) sum += i * x; return sum;`,
  recursion: `const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(24);`,
};

export default Object.entries(kernels).map(([name, body]) => ({
  id: `kernel-${name.replaceAll(' ', '-')}`,
  title: `guest code: ${name}`,
  target: '1.0',
  // oxlint-disable-next-line no-new-func -- the code is above
  expected: new Function(body)(),
  prepare: inContext(({ isolate, context }) => {
    const script = isolate.compileScriptSync(`(() => { ${body} })()`);
    return () => script.runSync(context);
  }),
}));
