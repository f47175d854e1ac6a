// Endless programs generated from a seed: nested loops around code that V8 inlines, peels, unrolls and specializes.
// Each has a hot part that ends, so that the endless part is optimized code.

import { Random } from '../../__test__/random/numbers.mjs';
import { BODIES, PRELUDE } from './bodies.mjs';

const DEEPEST = 3;
/** Counts that optimizers treat differently: none, few enough to unroll, few enough to omit checks, too many. */
const COUNTS = [0, 1, 2, 3, 4, 5, 8, 10, 16, 33, 64, 100, 1000];
const STEPS = ['++', ' += 1', ' += 2', ' += 3', ' += 7'];

class Writer extends Random {
  #names = 0;

  name(letter) {
    return `${letter}${(this.#names += 1)}`;
  }

  /** A statement of the list, with its names replaced. */
  plain() {
    const fresh = this.name('v');
    return this.pick(BODIES)
      .replaceAll('COUNT', () => String(this.pick(COUNTS)))
      .replaceAll('ARRAY', () => this.pick(['smis', 'doubles', 'holes', 'objects', 'texts', 'holeyDoubles', 'dictionary', 'frozen']))
      .replaceAll('TYPED', () => this.pick(['bytes', 'clamped', 'words', 'floats', 'doublesTyped', 'longs', 'shared', 'tracking']))
      .replaceAll('TEXT', () => this.pick(['text', 'rope', 'wide', '`${text}${n & 7}`', 'text.slice(3)']))
      .replaceAll('VALUE', () => this.pick(['1', '1.5', 'n', '-0', 'null', 'text', 'pair', '{}', '[]', 'NaN', '2 ** 31', 'n / 3']))
      .replaceAll('FRESH', fresh);
  }

  block(depth) {
    const count = 1 + this.below(depth === 0 ? 4 : 2);
    return Array.from({ length: count }, () => (depth < DEEPEST && this.chance(0.4) ? this.nested(depth + 1) : this.plain())).join('\n');
  }

  /** A loop that ends, or another construct with a body. */
  nested(depth) {
    const i = this.name('i');
    const count = this.pick(COUNTS);
    const step = this.pick(STEPS);
    const body = () => this.block(depth);
    const label = this.name('l');
    const shapes = [
      () => `for (let ${i} = 0; ${i} < ${count}; ${i}${step}) {\n${body()}\n}`,
      () => `for (var ${i} = ${count}; ${i} > 0; ${i}--) {\n${body()}\n}`,
      () => `for (let ${i} = 0; ${i} !== ${count}; ${i}++) {\n${body()}\n}`,
      () => `for (let ${i} = 0, c${i} = smis.length & ${count}; ${i} < c${i}; ${i}${step}) {\n${body()}\n}`,
      () => `let ${i} = ${count}; while (${i}-- > 0) {\n${body()}\n}`,
      () => `let ${i} = 0; do {\n${body()}\n} while (++${i} < ${count});`,
      () => `for (const ${i} of ${this.pick(['smis', 'doubles', 'holes', 'texts', 'bytes', 'text', 'map', 'set', 'few()', 'few().take(2)', 'map.values()', 'smis.entries()', 'own'])}) {\n${body()}\n}`,
      () => `for (const ${i} in ${this.pick(['pair', 'smis', 'dictionary', 'instance', 'inherits'])}) {\n${body()}\n}`,
      () => `${label}: for (let ${i} = 0; ${i} < ${count}; ${i}++) {\n${body()}\nif ((n & ${this.pick([1, 3, 7])}) === 0) ${this.pick(['continue', 'break'])} ${label};\n}`,
      () => `try {\n${body()}\n} ${this.pick(['finally { n += 1; }', 'catch { n += 2; }', 'catch (error) { sink = error; } finally { n ^= 1; }'])}`,
      () => `try { if ((n & ${this.pick([1, 3, 15])}) === 0) throw n;\n${body()}\n} catch { n += 1; }`,
      () => `switch (n & 3) { case 0: {\n${body()}\n} case 1: n += 1; break; default: {\n${body()}\n} }`,
      () => `if ((n & ${this.pick([1, 3, 255])}) === 0) {\n${body()}\n} else {\n${body()}\n}`,
      () => `sink = ((a) => {\n${body()}\nreturn a; })(n);`,
      () => `{ const ${i} = function* () {\n${body()}\nyield n;\n}; for (const y of ${i}()) sink = y; }`,
      () => `${this.pick(['smis', 'doubles', 'holes', 'bytes'])}.${this.pick(['forEach', 'some', 'map', 'filter', 'findLast'])}((each, ${i}) => {\n${body()}\nreturn false; });`,
    ];
    return this.pick(shapes)();
  }

  /** A loop that runs until `n === end`, endlessly for a negative `end`. */
  endless(body) {
    const i = this.name('i');
    return this.pick([
      `for (;;) { if (step(end)) return;\n${body}\n}`,
      `while (true) {\n${body}\nif (n++ === end) return;\n}`,
      `do {\n${body}\n} while (n++ !== end);`,
      `while (n++ !== end) {\n${body}\n}`,
      `for (let ${i} = 0; ${i} !== end; ${i}++) {\n${body}\n}`,
      `for (let ${i} = 0; ; ${i}++) {\n${body}\nif (${i} === end) return;\n}`,
      `for (let ${i} = 0; ${i} < (end < 0 ? Infinity : end); ${i}++) {\n${body}\n}`,
      `for (const ${i} of many(end)) {\n${body}\n}`,
      `outer: for (;;) { for (;;) { if (n++ === end) return;\n${body}\ncontinue outer; } }`,
      `outer: while (true) { do {\n${body}\nif (n++ === end) break outer; } while (n & 7); }`,
      `for (;;) { try {\n${body}\n} finally { if (n++ === end) return; else continue; } }`,
      `for (;;) { try { if (n++ === end) return; throw 1; } catch {\n${body}\n} }`,
      `for (;;) { switch (n++ === end) { case true: return; default: {\n${body}\n} } }`,
      `const work = () => {\n${body}\nreturn n++ !== end; }; while (work());`,
      `(function* () { for (;;) {\n${body}\nif (n++ === end) return; yield n; } })().forEach((each) => { sink = each; });`,
    ]);
  }
}

/**
 * The program of a seed: code that defines `hot` and calls it until it is optimized, and the endless call.
 * @param {number} seed
 */
export function programOf(seed) {
  const writer = new Writer(seed);
  const body = writer.block(0);
  const loop = writer.endless(body);
  const [prepare, call] = writer.pick([
    // V8 optimizes a function that is called often, ...
    [`function hot(end) { let n = 0; const step = (end) => n++ === end;\n${loop}\n}\nwarm(() => hot(12));`, 'hot(-1)'],
    // ... and one that runs for long, while it runs.
    [`function hot(end) { let n = 0; const step = (end) => n++ === end;\n${loop}\n}`, 'hot(-1)'],
    [`let n = 0; const step = (end) => n++ === end; function hot(end) {\n${loop}\n}\nwarm(() => { n = 0; hot(12); });`, 'n = 0; hot(-1)'],
    [`async function hot(end) { let n = 0; const step = (end) => n++ === end;\n${loop}\n}\nwarm(() => hot(12));`, 'hot(-1); 0'],
    [`class Hot { n = 0; go(end) { let n = this.n; const step = (end) => n++ === end;\n${loop}\n} }\nwarm(() => new Hot().go(12));`, 'new Hot().go(-1)'],
    [`function hot(end) { let n = 0; const step = (end) => n++ === end;\n${loop}\n}\nwarm(() => hot(12));`, 'for (;;) hot(12)'],
    [`function hot(end) { let n = 0; const step = (end) => n++ === end;\n${loop}\n}\nwarm(() => hot(12));`, '(function again() { hot(12); Promise.resolve().then(again); })(); 0'],
  ]);
  return { prepare: `${PRELUDE}\n${prepare}`, call };
}
