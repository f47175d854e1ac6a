// Asynchronous compilation of WebAssembly keeps the host alive: otherwise the process would end with a pending promise.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';

/** No call awaits the compilation. The guest calls the host when it has ended. */
const called = (callback, call) => `new Promise((resolve) => {
  context.global.setSync('done', ${callback});
  ${call};
})`;

describe('the event loop stays alive while V8 compiles', () => {
  const ways = {
    'a callback': called('new ivm.Callback(resolve, { ignored: true })', `context.eval('WebAssembly.compile(bytes).then(() => done("compiled")); 1')`),
    'a callback, after a synchronous call': called('new ivm.Callback(resolve, { async: true })', `context.evalSync('WebAssembly.compile(bytes).then(() => done("compiled")); 1')`),
    'a Reference, after an ignored call': called('new ivm.Reference(resolve)', `context.evalIgnored('WebAssembly.instantiate(bytes).then(() => done.applyIgnored(undefined, ["compiled"]))')`),
    'a callback, after several modules': called('resolve', `context.eval('let left = 3; (function next() { left -= 1; WebAssembly.compile(bytes).then(left > 0 ? next : () => done("compiled")); })(); 1')`),
    eval: `context.eval('WebAssembly.compile(bytes).then(() => "compiled")', { promise: true })`,
    evalSync: `context.evalSync('WebAssembly.compile(bytes).then(() => "compiled")', { promise: true })`,
    'one after the other': `context.eval('WebAssembly.instantiate(bytes).then(() => WebAssembly.compile(bytes)).then(() => "compiled")', { promise: true })`,
    apply: `context.eval('() => WebAssembly.compile(bytes).then(() => "compiled")', { reference: true }).then((it) => it.apply(undefined, [], { result: { promise: true } }))`,
    'begun before': `(context.evalSync('globalThis.compiling = WebAssembly.compile(bytes).then(() => "compiled"); 1'), context.eval('compiling', { promise: true }))`,
  };
  for (const [name, way] of Object.entries(ways)) {
    test(name, async () => {
      const { code, stdout, stderr } = await run(`
        const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);
        const section = (id, content) => [id, ...leb(content.length), ...content];
        const COUNT = 1_000;
        const body = [0, ...Array.from({ length: 300 }, () => [0x20, 0, 0x20, 0, 0x6a, 0x21, 0]).flat(), 0x20, 0, 0x0b];
        const functions = Array.from({ length: COUNT }, () => [...leb(body.length), ...body]).flat();
        const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
          ...section(3, [...leb(COUNT), ...Array.from({ length: COUNT }, () => 0)])].concat(section(10, [...leb(COUNT), ...functions])));
        const isolate = new ivm.Isolate({ memoryLimit: 256 });
        const context = isolate.createContextSync();
        context.global.setSync('bytes', new ivm.ExternalCopy(bytes).copyInto());
        console.log(await ${way});`);
      assert.deepEqual([code, stdout.trim()], [0, 'compiled'], stderr);
    });
  }
});

test('a guest that compiles endlessly does not keep a process alive', async () => {
  const { code, timedOut, stderr } = await run(`
    const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
    await context.eval('const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]); (function again() { WebAssembly.compile(bytes).then(again); })(); 1');`);
  assert.deepEqual([code, timedOut], [0, false], stderr);
});
