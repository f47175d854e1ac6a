// Collections look up each frame of compiled code in a table of its function, from the table's start. A guest determines how long that takes.

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
});
