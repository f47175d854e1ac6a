// Hostile scripts in snapshots: whatever they create, the host keeps working.

import { describe, test } from 'node:test';
import { entry, host } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

const PRELUDE = `
  const create = (code, warmup, options) => ivm.Isolate.createSnapshot([{ code }], warmup, options);
  const refused = (code, expected, warmup, options) => {
    assert.equal(syncError(() => create(code, warmup, options)).code, expected, code);
    otherWorks();
  };
`;

describe('an endless script', () => {
  test('is stopped at the deadline', () => passes(`${PRELUDE}
    const start = ms();
    for (const code of ['for (;;);', '(function f() { Promise.resolve().then(f) })()', '/(a+)+$/.test("a".repeat(40) + "b")']) {
      refused(code, 'ERR_ISOLATE_DEADLINE', undefined, { deadline: 200 });
    }
    // A built-in that does not check for termination.
    refused('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', 'ERR_ISOLATE_UNRESPONSIVE', undefined, { deadline: 200 });
    refused('1', 'ERR_ISOLATE_DEADLINE', 'for (;;);', { deadline: 200 });
    assert.ok(ms() - start < 10_000, String(ms() - start));`));

  test('ends with the call that waits for it', { skip: !host.startsWith('node') && 'only Node has such limits' }, () => passes(`${PRELUDE}
    const { runInNewContext } = await import('node:vm');
    const { Worker } = await import('node:worker_threads');
    const { alive } = ivm.engineStats();
    const isOver = () => ivm.engineStats().alive === alive;
    const codes = [['for (;;);'], ['(function f() { Promise.resolve().then(f) })()'], ['1', 'for (;;);']];
    for (const [code, warmup] of codes) {
      assert.equal(syncError(() => runInNewContext('first()', { first: () => create(code, warmup) }, { timeout: 50 })).code, 'ERR_SCRIPT_EXECUTION_TIMEOUT');
      await waitFor(isOver);
      const worker = new Worker('require(' + ${JSON.stringify(JSON.stringify(entry))} + ').Isolate.createSnapshot([{ code: ' + JSON.stringify(code) + ' }], ' + JSON.stringify(warmup) + ')', { eval: true });
      await waitFor(() => !isOver());
      await worker.terminate();
      await waitFor(isOver);
    }
    otherWorks();`));

  test('a snapshot that takes long to write does not block its caller beyond the grace period', () => passes(`${PRELUDE}
    ivm.configureEngine({ terminationGrace: 10 });
    const fill = (code) => () => create('var a = ' + code, undefined, { deadline: 300, memoryLimit: 256 });
    const codes = [
      'new Uint8Array(200 * 2 ** 20)',
      'Array.from({ length: 200 }, () => new Float64Array(2 ** 17))',
      '[new ArrayBuffer(2 ** 27), new ArrayBuffer(2 ** 26)]',
      'new Map(Array.from({ length: 190 }, (_, index) => [index, new DataView(new ArrayBuffer(2 ** 20))]))',
    ];
    for (const code of codes) {
      const start = ms();
      assert.equal(syncError(fill(code)).code, 'ERR_ISOLATE_DEADLINE', code);
      assert.ok(ms() - start < 1_500, code + ': ' + (ms() - start));
    }
    otherWorks();
    // Threads that still write do not disturb other snapshots.
    const isolate2 = new ivm.Isolate({ snapshot: create('var a = 7') });
    assert.equal(isolate2.createContextSync().evalSync('a'), 7);`));
});

describe('the stacks of errors in a snapshot', () => {
  test('can be read, however often their functions have run', () => passes(`
    const recursive = 'Error.stackTraceLimit = 50; const at = (depth) => (depth > 0 ? at(depth - 1) : new Error("kept")); ';
    for (const times of [1, 100, 100_000]) {
      const code = recursive + 'for (let i = 0; i < ' + times + '; i += 1) globalThis.kept = at(20); globalThis.object = {}; Error.captureStackTrace(object);';
      for (const warmup of [undefined, 'at(20).stack']) {
        const isolate = new ivm.Isolate({ snapshot: ivm.Isolate.createSnapshot([{ code, filename: 'kept.js' }], warmup) });
        for (const context of [isolate.createContextSync(), await isolate.createContext()]) {
          const lines = (await context.eval('kept.stack')).split('\\n');
          assert.equal(lines[0], 'Error: kept');
          assert.deepEqual(lines.slice(1, -1).filter((line) => line.startsWith('    at at (kept.js:1:')).length, 21);
          assert.match(context.evalSync('object.stack'), /at kept\\.js:1:/);
        }
        isolate.dispose();
      }
    }`, { timeout: 60_000 }));
});

describe('a script that V8 cannot run or write there', () => {
  test('because of `using`', () => passes(`${PRELUDE}
    const dispose = '{ [Symbol.dispose]() { done += 1; } }';
    for (const code of [
      '{ using a = null; }', 'var done = 0; (() => { using a = ' + dispose + '; })()', 'function* f() { using a = null; yield 1; } var g = f(); g.next()',
      'var p = (async () => { await using a = null; })()', 'for (using a of [null]);', 'new Function("{ using a = null; }")()',
    ]) refused(code, 'ERR_ISOLATE_UNSUPPORTED');
    refused('1', 'ERR_ISOLATE_UNSUPPORTED', '{ using a = null; }');
    assert.match(syncError(() => create('{ using a = null; }')).message, /must not use .using./);
    // Isolates made from the snapshot can.
    const made = new ivm.Isolate({ snapshot: create('var done = 0; var f = () => { using a = ' + dispose + '; }') });
    assert.equal(made.createContextSync().evalSync('f(); { using a = ' + dispose + '; } done'), 2);
    assert.equal(context.evalSync('var done = 0; { using a = ' + dispose + '; } done'), 1);`));

  test('because of a resizable buffer that has become smaller', () => passes(`${PRELUDE}
    const buffer = 'var b = new ArrayBuffer(8, { maxByteLength: 64 });';
    for (const code of [
      'var c = new Uint8Array(b, 4, 4); b.resize(2)', 'var c = new Float64Array(b, 0, 1); b.resize(1)', 'var all = [new Uint8Array(b, 4, 4), b]; b.resize(2)',
      'var c = new Uint8Array(b, 4); b.resize(2)', 'var v = new DataView(b, 4), c = new Uint8Array(b, 4); b.resize(2)',
      'var v = new DataView(b, 4), c = new Uint8Array(b, 4, 4); b.resize(0)', 'b.resize(16); new Uint8Array(b); b.resize(15)',
    ]) {
      refused(buffer + code, 'ERR_ISOLATE_UNSUPPORTED');
      assert.match(syncError(() => create(buffer + code)).message, /must not make a resizable buffer smaller/);
    }
    refused(buffer, 'ERR_ISOLATE_UNSUPPORTED', 'b.resize(2)');
    // Later ones are not affected, nor are isolates made from them.
    const snapshot = create(buffer + 'var v = new DataView(b, 4), c = new Uint8Array(b, 4), d = new Uint8Array(b, 4, 4); b.resize(16); d[0] = 7');
    const context_ = new ivm.Isolate({ snapshot }).createContextSync();
    assert.equal(context_.evalSync('[c[0], d[0], v.getUint8(0), c.length].join()'), '7,7,7,12');
    assert.equal(context_.evalSync('b.resize(2); b.resize(64); c[1] = 5; [c.length, c[0], c[1], d.length, d[1], v.getUint8(1)].join()'), '60,0,5,4,5,5');`));
});

describe('views of buffers in a snapshot', () => {
  test('keep their memory, wherever V8 finds them first', () => passes(`${PRELUDE}
    const begin = 'var all = []; for (const options of [undefined, { maxByteLength: 64 }]) { const b = new ArrayBuffer(16, options); ';
    const cases = [
      'all.push(b, new DataView(b, 4))', 'all.push(new DataView(b, 4), b)', 'b.view = new DataView(b, 4); all.push(b, b.view)',
      'b.inner = [{ view: new DataView(b, 4, 8) }]; all.push(b, b.inner[0].view)', 'b[0] = new DataView(b, 4); all.push(b, b[0])',
      'const views = [4, 4].map((at) => new DataView(b, at)); all.push(b, views[0])',
      'class Buffer extends ArrayBuffer {} const c = new Buffer(16); all.push(c, new DataView(c, 4))',
      'let deep = { view: new DataView(b, 4) }; all.push(b, deep.view); for (let i = 0; i < 500; i += 1) deep = { deep }; b.deep = deep',
    ];
    // V8's optimized code takes the address from the view, other code from the buffer. A function of its own for each view, so that it is optimized.
    const use = \`all.filter((it) => ArrayBuffer.isView(it)).map((it) => {
      const bytes = new Uint8Array(it.buffer);
      bytes[4] = 7;
      const [get, set] = it instanceof DataView ? ['it.getUint8(0)', 'it.setUint8(0, value)'] : ['it[0]', 'it[0] = value'];
      const use = new Function('it', 'value', 'const before = ' + get + '; ' + set + '; return before');
      const seen = new Set();
      for (let i = 0; i < 300_000; i += 1) seen.add(use(it, 7));
      use(it, 8);
      return [...seen, bytes[4], it.byteOffset].join();
    }).join(' ')\`;
    for (const code of cases) {
      const made = new ivm.Isolate({ snapshot: create(begin + code + '; }') });
      for (const context_ of [made.createContextSync(), await made.createContext()]) {
        assert.equal(context_.evalSync(use), '7,8,4 7,8,4', code);
      }
      made.dispose();
    }`, { timeout: 60_000 }));

  test('are refused if their buffer has several, and properties that may lead to them', () => passes(`${PRELUDE}
    const begin = 'var b = new ArrayBuffer(16); const v = new DataView(b), w = new DataView(b);';
    for (const code of [
      'b.v = v', 'b[0] = v', 'Object.defineProperty(b, Symbol(), { value: { v } })', 'for (let i = 0; i < 2000; i += 1) b["k" + i] = v',
      'class Stamp { constructor() { return b } } new (class extends Stamp { #v = v })()',
      'b = new (class extends ArrayBuffer { v = new DataView(this); w = new DataView(this) })(16)',
    ]) {
      refused(begin + code, 'ERR_ISOLATE_UNSUPPORTED');
      assert.match(syncError(() => create(begin + code)).message, /several views and properties/);
    }
    create(begin);`));

  test('are not refused for properties that do not lead to them', () => passes(`${PRELUDE}
    const code = 'var b = new ArrayBuffer(16), v = new DataView(b, 4), w = new DataView(b, 8); b.name = "a buffer"; v.setUint8(0, 7); w.setUint8(0, 8)';
    const context_ = new ivm.Isolate({ snapshot: create(code) }).createContextSync();
    const use = 'const read = new Function("it", "return it.getUint8(0)"); const sums = [v, w].map((it) => { let sum = 0; for (let i = 0; i < 1e5; i += 1) sum += read(it); return sum });';
    assert.equal(context_.evalSync(use + 'sums.join() + b.name'), '700000,800000a buffer');`));

  test('keep their memory if a resizable buffer has them, wherever V8 finds them first', () => passes(`${PRELUDE}
    for (const args of ['b', 'b, 4', 'b, 4, 8']) {
      for (const globals of ['globalThis.b = b; globalThis.c = c', 'globalThis.c = c; globalThis.b = b', 'globalThis.b = b', 'globalThis.b = b; b.name = "a buffer"; globalThis.c = c']) {
        const code = '{ const b = new ArrayBuffer(16, { maxByteLength: 64 }); const c = new Uint8Array(' + args + '); c[0] = 7; ' + globals + ' }';
        const context_ = new ivm.Isolate({ snapshot: create(code) }).createContextSync();
        assert.equal(context_.evalSync('globalThis.c ??= new Uint8Array(' + args + '); const read = () => c[0]; let sum = 0; for (let i = 0; i < 1e5; i += 1) sum += read(); sum'), 700_000, code);
        assert.equal(context_.evalSync('b.resize(64); c[7] = 5; b.resize(8); b.resize(20); [c[7], c.buffer === b].join()'), (args === 'b' ? '5' : '0') + ',true', code);
      }
    }
    otherWorks();`));

  test('are refused, without the loss of a thread, if they are properties of their resizable buffer', () => passes(`${PRELUDE}
    const lost = () => ivm.engineStats().lostThreads;
    const before = lost();
    const accessor = 'Object.defineProperty(b, "c", { get() { return c } })';
    const of = (options, view) => '{ const b = new ArrayBuffer(16, ' + options + '), c = new ' + view + '(b, 4); globalThis.b = b; ';
    for (const [code, message] of [
      ...['b.c = c', 'b[0] = c', 'b.deep = { list: [c] }'].map((each) => [
        of('{ maxByteLength: 64 }', 'Uint8Array') + each, /resizable buffer in a snapshot must not have typed arrays and properties/,
      ]),
      [of('{ maxByteLength: 64 }', 'Uint8Array') + accessor, /must not have both views and accessors/],
      [of('{ maxByteLength: 64 }', 'DataView') + accessor, /must not have both views and accessors/],
      [of('undefined', 'DataView') + accessor, /must not have both views and accessors/],
    ]) {
      const error = syncError(() => create(code + ' }'));
      assert.match(error.message, message, code);
      assert.equal(error.code, 'ERR_ISOLATE_UNSUPPORTED');
    }
    assert.equal(lost(), before);
    otherWorks();`));

  test('of detached buffers stay detached', () => passes(`${PRELUDE}
    const code = 'var all = []; for (const options of [undefined, { maxByteLength: 64 }]) for (const count of [1, 2]) {'
      + 'const b = new ArrayBuffer(16, options); all.push(b, new Uint8Array(b, 4), new DataView(b, 4)); if (count === 2) all.push(new Float64Array(b)); b.transfer(); }';
    const context_ = new ivm.Isolate({ snapshot: create(code) }).createContextSync();
    assert.equal(context_.evalSync('all.map((it) => { try { return it.byteLength } catch (error) { return error.name } }).join()'), "0,0,TypeError,0,0,TypeError,0,0,0,TypeError,0,0,TypeError,0");
    assert.equal(context_.evalSync('const read = (it) => it[0]; let found = 0; for (const it of all) for (let i = 0; i < 1e5; i += 1) { it[0] = 5; if (it[0] !== undefined && ArrayBuffer.isView(it) && !(it instanceof DataView)) found += 1 } found'), 0);`));
});

describe('a script that exceeds its memory limit', () => {
  test('is stopped at the memory limit', () => passes(`${PRELUDE}
    refused('var a = []; for (;;) a.push(new Array(1000).fill({}))', 'ERR_ISOLATE_MEMORY', undefined, { memoryLimit: 32 });
    refused('1', 'ERR_ISOLATE_MEMORY', 'var a = []; for (;;) a.push(new Array(1000).fill({}))', { memoryLimit: 32 });
    refused('"a".repeat(2 ** 28).split("")', 'ERR_ISOLATE_MEMORY');
    const error = syncError(() => create('var a = []; for (;;) a.push(new Uint8Array(1e6))'));
    assert.equal(error.message, 'Array buffer allocation failed');
    otherWorks();`));

  test('makes a snapshot for larger isolates only', () => passes(`${PRELUDE}
    for (const code of ['var a = []; for (let i = 0; i < 50; i++) a.push(new Array(4e4).fill(0))', 'var a = new Uint8Array(20e6)']) {
      const snapshot = create(code);
      assert.equal(syncError(() => new ivm.Isolate({ memoryLimit: 8, snapshot })).code, 'ERR_ISOLATE_MEMORY');
      const isolate = new ivm.Isolate({ memoryLimit: 64, snapshot });
      let contexts = 0;
      const error = await errorOf(async () => { for (;; contexts += 1) await isolate.createContext(); });
      assert.equal(error.code, 'ERR_ISOLATE_MEMORY');
      assert.ok(contexts > 0 && contexts < 64, String(contexts));
    }
    otherWorks();`));

  test('a guest that allocates all buffers does not affect the next context', () => passes(`${PRELUDE}
    const isolate_ = new ivm.Isolate({ memoryLimit: 16, snapshot: create('var a = new Uint8Array(1e5).fill(5)') });
    const fill = 'var k = []; for (let n = 2 ** 23; n > 0; n >>= 1) for (;;) try { k.push(new ArrayBuffer(n)) } catch { break }';
    isolate_.createContextSync().evalSync(fill);
    assert.equal(syncError(() => isolate_.createContextSync()).code, 'ERR_ISOLATE_MEMORY');
    otherWorks();`));
});

describe('snapshots that V8 cannot write or read', () => {
  test('are refused without harm to the host', () => passes(`${PRELUDE}
    refused('var a = new ArrayBuffer(0, { maxByteLength: 2 ** 33 })', 'ERR_ISOLATE_UNSUPPORTED');
    refused('var a = new Intl.DateTimeFormat()', 'ERR_ISOLATE_UNSUPPORTED');
    for (const code of [
      'globalThis.Math = 5', 'delete globalThis.Atomics', 'globalThis.Uint8Array = class {}',
      'Object.defineProperty(globalThis, "Math", { get() { throw 1 } })', 'Object.freeze(globalThis)', 'Object.preventExtensions(Error)',
      'for (const key of Reflect.ownKeys(globalThis)) { const value = globalThis[key]; if (typeof value === "function") Object.freeze(value.prototype) }',
      'var Temporal', 'function SharedArrayBuffer() {}',
      'Object.defineProperty(Error, "stackTraceLimit", { value: 1, configurable: false })',
    ]) refused(code, 'ERR_ISOLATE_UNSUPPORTED');`));

  test('cannot be hidden from the checks', () => passes(`${PRELUDE}
    const tamper = 'Reflect.isExtensible = () => true; Reflect.deleteProperty = () => true; Object.hasOwn = () => true;'
      + 'Object.defineProperty(Object.prototype, "value", { get() { return Math_ } }); Array.prototype[Symbol.iterator] = null;';
    refused('var Math_ = Math; Object.defineProperty(globalThis, "Math", { get: () => Math_ });' + tamper, 'ERR_ISOLATE_UNSUPPORTED');
    refused('var Math_ = Math; Object.freeze(Error);' + tamper, 'ERR_ISOLATE_UNSUPPORTED');
    const set = 'Object.defineProperty(Object.prototype, "value", { get() { return 5 } }); Object.prototype.get = 1; Object.prototype.set = 1';
    const context_ = new ivm.Isolate({ snapshot: create(set) }).createContextSync();
    assert.equal(context_.evalSync('typeof FinalizationRegistry'), 'function');`));

  test('are rejected, or harmless', () => passes(`${PRELUDE}
    for (const code of [
      'if (typeof FinalizationRegistry === "function") { var r = new FinalizationRegistry(() => {}); r.register({}) }',
      'var w = []; for (let i = 0; i < 1e4; i++) w.push(new WeakRef({}))',
      'var p = new Proxy({}, {}); var revoked = Proxy.revocable({}, {}); revoked.revoke()',
      'import("x").catch(() => {}); import("y")', 'var t = console.context("a"); console.log(t)',
      'async function* g() { await new Promise(() => {}) } var it = g(); it.next(); it.next()',
      'var l = null; for (let i = 0; i < 1e5; i++) l = { l }', 'var f = () => 0; for (let i = 0; i < 1e4; i++) f = f.bind()',
      'for (const key of Reflect.ownKeys(globalThis)) if (!["Math", "Atomics", "Uint8Array", "globalThis"].includes(key)) delete globalThis[key]',
      'function f() { f() } try { f() } catch {}', 'var r = /(?<a>x)+/dgv; r.test("xx")',
      'var b = new ArrayBuffer(8, { maxByteLength: 64 }); var d = new ArrayBuffer(8); d.transfer()',
      'for (let i = 0; i < 2000; i++) { Error["k" + i] = i; Math["k" + i] = i; globalThis["k" + i] = i }',
      'Object.setPrototypeOf(globalThis, new Proxy({}, {})); Object.setPrototypeOf(Error, null)',
      'class A { static x = eval("1"); y = eval("this"); m() { return eval("super.m") } } new A().m()',
    ]) {
      for (const warmup of [undefined, '1']) {
        const isolate_ = new ivm.Isolate({ snapshot: create(code, warmup) });
        for (let count = 0; count < 2; count++) {
          assert.equal(isolate_.createContextSync().evalSync('{ let a = []; for (let i = 0; i < 1e5; i++) a.push({ i }) } 1 + 1'), 2, code);
        }
        isolate_.dispose();
      }
    }`, { timeout: 40_000 }));
});

test('isolates outlive all other references to their snapshot', () => passes(`${PRELUDE}
  const isolates = Array.from({ length: 10 }, () => new ivm.Isolate({ snapshot: create('var a = new Array(1000).fill(3)') }));
  for (let count = 0; count < 50; count++) create('1');
  for (const each of isolates) {
    for (let count = 0; count < 3; count++) assert.equal(each.createContextSync().evalSync('a[999]'), 3);
    each.dispose();
  }`));

test('isolates of several snapshots coexist', () => passes(`${PRELUDE}
  isolate.dispose();
  // The first snapshot is made while there is no other isolate.
  await waitFor(() => ivm.engineStats().alive === 0);
  const snapshots = [undefined, create('var a = 1'), create('var a = 2')];
  for (let round = 0; round < 20; round++) {
    const isolates = Array.from({ length: 6 }, (_, index) => new ivm.Isolate({ snapshot: snapshots[index % 3] }));
    for (let count = 0; count < 2; count++) {
      isolates.forEach((each, index) => {
        assert.equal(each.createContextSync().evalSync('typeof a === "number" ? a : 0'), index % 3);
      });
    }
    for (const each of isolates) each.dispose();
  }`));
