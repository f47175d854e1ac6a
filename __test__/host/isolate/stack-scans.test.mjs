// Collections look up each frame of compiled code in a table of its function, from the table's start. A guest determines how long that takes.

import { availableParallelism } from 'node:os';
import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';

/** A function of WebAssembly that calls itself from `depth` places, which lie behind `before` pairs of other calls in its code, and then one that collects. */
const DEEP = `
  const leb = (n) => { const out = []; do { const low = n % 128; n = Math.floor(n / 128); out.push(n > 0 ? low | 128 : low); } while (n > 0); return out; };
  const signed = (n) => { const out = []; for (;;) { const low = n & 127; n >>= 7; if (n === 0 && !(low & 64)) return [...out, low]; out.push(low | 128); } };
  const section = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
  const deep = (depth, before) => {
    const body = [0, 0x20, 0, 0x45, 0x04, 0x40, 0x10, 0, 0x0f, 0x0b, 0x20, 0, 0x41, 0x7f, 0x46, 0x04, 0x40];
    for (let i = 0; i < before; i += 1) body.push(0x10, 0, 0x20, 1, 0x10, 0, 0x1a);
    body.push(0x0b);
    for (let i = 1; i <= depth; i += 1) body.push(0x20, 0, 0x41, ...signed(i), 0x46, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x20, 1, 0x10, 1, 0x0f, 0x0b);
    body.push(0x0b);
    const parts = [section(1, [2, 0x60, 0, 0, 0x60, 2, 0x7f, 0x6f, 0]), section(2, [1, 1, 0x6d, 1, 0x66, 0, 0]), section(3, [1, 1]), section(7, [1, 1, 0x66, 0, 1])];
    const head = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...parts.flat(), 10, ...leb(1 + leb(body.length).length + body.length), 1, ...leb(body.length)];
    const bytes = new Uint8Array(head.length + body.length);
    bytes.set(head);
    bytes.set(body, head.length);
    return new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f: collect } }).exports.f;
  };
  let kept;
  const collect = () => { for (let i = 0; i < 3_000_000; i += 1) kept = { i, of: [i] }; };
  const f = deep(4_000, 160_000);
  f(0, {});
`.replaceAll(/\n\s*/g, '\n');

/** The same, with functions that V8 compiles on its own threads soon after their ninth call. */
const COMPILED = `${DEEP.replace('3_000_000; i += 1) kept = { i, of: [i] }', '10_000; i += 1) kept = new Array(1_000).fill(i)')}
  const branches = Array.from({ length: 1_500 }, (_, i) => 'if (a & ' + (1 << (i % 20)) + ') { a = (a * ' + (i + 3) + ' + o.a) | 0; o = { a: a ^ ' + i + ', b: o.b + a }; } else a = (a + o.b) | 0;').join('');
  const functions = Array.from({ length: 60 }, (_, k) => new Function('x', 'let a = x | 0, o = { a, b: ' + k + ' };' + branches + 'return a + o.b;'));
  const warm = (times) => { for (let i = 0; i < times; i += 1) for (const each of functions) each(i * 77); };
`.replaceAll(/\n\s*/g, '\n');

/** V8's own threads, as the library starts them, and the most helpers. */
const THREADS = Math.min(Math.max(availableParallelism() - 1, 1), 16) + 8;

describe('collections below many frames of a large function', { skip: !AVAILABLE && 'elsewhere guests run on threads of their own' }, () => {
  for (const syncCalls of ['caller', 'thread']) {
    test(`do not hold a sync call beyond its limit, syncCalls: '${syncCalls}'`, () => passes(`
      assert.equal(ivm.configureEngine({ syncCalls: '${syncCalls}' }).syncCalls, '${syncCalls}');
      const other = new ivm.Isolate().createContextSync();
      for (let round = 0; round < 2; round += 1) {
        const context = new ivm.Isolate({ memoryLimit: 1024 }).createContextSync();
        await new Promise((resolve) => setTimeout(resolve, 50));
        context.evalSync(${JSON.stringify(DEEP)});
        const began = process.cpuUsage();
        const error = syncError(() => context.evalSync('f(4_000, {})', { timeout: 500 }));
        const { user, system } = process.cpuUsage(began);
        assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE', error.stack);
        assert.ok(user + system < 2_000_000, (user + system) + ' us of processor time');
        assert.equal(other.evalSync('(() => { const all = []; for (let i = 0; i < 100_000; i += 1) all[i] = { i }; return all.length; })()'), 100_000);
      }`, { timeout: 90_000 }));
  }

  test("return V8's own threads, which wait for them, to other isolates", () => passes(`
    const other = new ivm.Isolate().createContextSync();
    ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 100 });
    for (let round = 0; round < ${THREADS}; round += 1) {
      const context = new ivm.Isolate({ memoryLimit: 1024 }).createContextSync();
      context.evalSync(${JSON.stringify(COMPILED)});
      context.evalSync('warm(' + (9 + round % 4) + ')');
      const error = syncError(() => context.evalSync('f(4_000, {})', { timeout: 200 }));
      assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE', error.stack);
    }
    const code = "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then((module) => module instanceof WebAssembly.Module)";
    assert.equal(await other.eval(code, { promise: true, deadline: 10_000 }), true);`, { timeout: 120_000 }));
});
