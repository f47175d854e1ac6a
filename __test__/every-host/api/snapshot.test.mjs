// `Isolate.createSnapshot` and `new Isolate({ snapshot })`.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import { failure, ivm, ours } from '../../api/ivm.mjs';

const { createSnapshot } = ivm.Isolate;

/** The value of `code` in a context made from scripts. */
function evaluate(scripts, code, warmup) {
  const isolate = new ivm.Isolate({ snapshot: createSnapshot(scripts.map((each) => ({ code: each })), warmup) });
  const result = isolate.createContextSync().evalSync(code, { copy: true });
  isolate.dispose();
  return result;
}

const unsupported = (message) => ({ name: 'Error', code: 'ERR_ISOLATE_UNSUPPORTED', message });

test('every context starts with the state that the scripts left', () => {
  const snapshot = createSnapshot([
    { code: 'globalThis.a = { list: [1, 2] }; let b = 5; const c = 6; class D {}; function f() { return a.list.length + b + c }' },
    { code: 'var sum = f()' },
  ]);
  assert.ok(snapshot instanceof ivm.ExternalCopy);
  const isolate = new ivm.Isolate({ snapshot });
  for (let count = 0; count < 3; count += 1) {
    const context = isolate.createContextSync();
    assert.equal(context.evalSync('[sum, f(), typeof D, a.list.push(3)].join()'), '13,13,function,3');
  }
  isolate.dispose();
});

test('the state of functions, promises and collections is kept', () => {
  assert.equal(evaluate(['const make = () => { let n = 0; return () => ++n }; var next = make(); next()'], 'next() + next()'), 5);
  assert.equal(evaluate(['function* g() { yield 1; yield 2 } var it = g(); it.next()'], 'it.next().value'), 2);
  assert.equal(evaluate(['var key = {}; var map = new Map([[key, 1]]); var weak = new WeakMap([[key, 2]])'], 'map.get(key) + weak.get(key)'), 3);
  assert.equal(evaluate(['var bytes = new Uint8Array(1000).fill(7)'], 'bytes[999]'), 7);
  assert.equal(evaluate(['class A { #x = 1; get x() { return this.#x } } var a = new A()'], 'a.x + new A().x'), 2);
  const resumed = 'var go; var got; const p = new Promise((r) => { go = r }); (async () => { got = await p })()';
  const isolate = new ivm.Isolate({ snapshot: createSnapshot([{ code: resumed }]) });
  const context = isolate.createContextSync();
  context.evalSync('go(9)');
  assert.equal(context.evalSync('got'), 9);
  isolate.dispose();
});

test('microtasks of a script run before the next script', () => {
  assert.equal(evaluate(['var a = 1; Promise.resolve().then(() => { a = 2 })', 'var b = a'], 'a + b'), 4);
});

test('warming up runs the scripts again in another context and leaves no state', () => {
  assert.equal(evaluate(['var a = 1; function f() { return a }'], 'a + typeof z', 'a = f() + 100; globalThis.z = 1'), '1undefined');
  const twice = 'globalThis.runs = (globalThis.runs ?? 0) + 1; if (runs > 1) throw new Error("twice")';
  assert.equal(evaluate([twice], 'runs', '1'), 1);
  assert.equal(evaluate(['1'], '1', ''), 1);
});

test('`eval` works in functions of a snapshot', ours, () => {
  assert.equal(evaluate(['function f(x) { return eval("x + 1") } f(1)'], 'f(1)', 'f(1)'), 2);
  assert.equal(evaluate(['function f(x) { return ev\\u0061l("x + 1") } f(1)'], 'f(1)', 'f(1)'), 2);
  assert.equal(evaluate(['var f = new Function("x", "return e" + "val(\'x + 1\')"); f(1)'], 'f(1) + new Function("return 1")()', 'f(1)'), 3);
});

test('arguments are checked', () => {
  const list = failure(TypeError, '`undefined` requires parameter 1 to be an array');
  assert.throws(() => createSnapshot(), failure(TypeError, '`undefined` requires at least 1 parameter'));
  for (const scripts of [undefined, null, 1, 'a', {}, { length: 1, 0: { code: '1' } }, new Set([{ code: '1' }])]) {
    assert.throws(() => createSnapshot(scripts), list);
  }
  for (const script of [undefined, null, 1, 'a']) {
    assert.throws(() => createSnapshot([script]), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
  }
  for (const script of [{}, { code: 1 }, { code: new String('1') }]) {
    assert.throws(() => createSnapshot([script]), failure(TypeError, '`code` property is required'));
  }
  assert.throws(() => createSnapshot([{ get code() { throw new RangeError('mine'); } }]), failure(RangeError, 'mine'));
  assert.throws(() => createSnapshot([{ code: '1', filename: 1 }]), failure(TypeError, '`filename` must be a string'));
  assert.throws(() => createSnapshot([{ code: '1', lineOffset: 'a' }]), failure(TypeError, '`lineOffset` must be a 32-bit number'));
  assert.throws(() => createSnapshot([{ code: '1', columnOffset: 1.5 }]), failure(TypeError, '`columnOffset` must be a 32-bit number'));
  for (const warmup of [1, {}, true]) {
    assert.throws(() => createSnapshot([1], warmup), failure(TypeError, '`undefined` requires parameter 2 to be a string'));
  }
  for (const warmup of [undefined, null]) createSnapshot([], warmup);
  createSnapshot([Object.assign(() => {}, { code: '1' })]);
  assert.equal(createSnapshot.length, 2);
  assert.equal(createSnapshot.name, 'createSnapshot');
  assert.deepEqual({ ...Object.getOwnPropertyDescriptor(ivm.Isolate, 'createSnapshot'), value: 0 },
    { value: 0, writable: true, enumerable: true, configurable: true });
});

test('errors of the scripts are thrown', () => {
  const syntax = (place) => failure(SyntaxError, `Unexpected token '**' [${place}]`);
  assert.throws(() => createSnapshot([{ code: '**', filename: 'a.js', lineOffset: 5, columnOffset: 7 }]), syntax('a.js:6:8'));
  assert.throws(() => createSnapshot([{ code: '\n **' }]), syntax('<isolated-vm>:2:2'));
  assert.throws(() => createSnapshot([{ code: '1' }], '**'), syntax('<isolated-vm>:1:1'));
  assert.throws(() => createSnapshot([{ code: '1' }, { code: 'throw new TypeError("x")' }]), failure(TypeError, 'x'));
  assert.throws(() => createSnapshot([{ code: '1' }], 'throw new Error("w")'), failure(Error, 'w [<isolated-vm>:1:1]'));
  assert.throws(() => createSnapshot([{ code: 'throw 1' }]), (error) => error === 1);
  assert.throws(() => createSnapshot([{ code: 'throw null' }]), (error) => error === null);
  const other = 'An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.';
  assert.throws(() => createSnapshot([{ code: 'throw {}' }]), failure(Error, other));
  createSnapshot([{ code: 'Promise.reject(new Error("unhandled"))' }]);
});

test('an isolate accepts an ExternalCopy of a snapshot', () => {
  const wrong = failure(TypeError, '`snapshot` must be an ExternalCopy to ArrayBuffer');
  const snapshot = createSnapshot([{ code: 'var a = 7' }]);
  const again = new ivm.ExternalCopy(snapshot.copy());
  for (const each of [snapshot, again]) {
    const isolate = new ivm.Isolate({ snapshot: each });
    each.release();
    assert.equal(isolate.createContextSync().evalSync('a'), 7);
    assert.throws(() => new ivm.Isolate({ snapshot: each }), wrong);
    isolate.dispose();
  }
  assert.throws(() => new ivm.Isolate({ snapshot: new ArrayBuffer(8) }), wrong);
  assert.throws(() => new ivm.Isolate({ snapshot: new ivm.ExternalCopy({}) }), wrong);
  new ivm.Isolate({ snapshot: null }).dispose();
});

test('other values are refused', ours, () => {
  const bytes = createSnapshot([{ code: 'var a = 7' }]).copy();
  const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`snapshot` was not made by this version of isolated-v8, or is damaged' };
  const offer = (buffer) => new ivm.Isolate({ snapshot: new ivm.ExternalCopy(buffer) });
  for (const length of [0, 1, 39, 40, 41, 1000, bytes.byteLength - 1]) {
    assert.throws(() => offer(bytes.slice(0, length)), refused, `${length} bytes`);
  }
  for (let index = 0; index < bytes.byteLength; index += 9973) {
    const changed = bytes.slice(0);
    new Uint8Array(changed)[index] ^= 1 << index % 8;
    assert.throws(() => offer(changed), refused, `byte ${index}`);
  }
  assert.throws(() => offer(new ArrayBuffer(100_000)), refused);
  const isolate = new ivm.Isolate();
  const { cachedData } = isolate.compileScriptSync('1', { produceCachedData: true });
  assert.throws(() => new ivm.Isolate({ snapshot: cachedData }), refused);
  const context = isolate.createContextSync();
  const wrong = failure(TypeError, '`snapshot` must be an ExternalCopy to ArrayBuffer');
  for (const code of ['"text"', '({})', '1']) {
    assert.throws(() => new ivm.Isolate({ snapshot: context.evalSync(code, { externalCopy: true }) }), wrong);
  }
  isolate.dispose();
});

test('handles and functions can be passed into contexts of a snapshot', () => {
  const isolate = new ivm.Isolate({ snapshot: createSnapshot([{ code: 'var boot = 1; function later() { log(boot) }' }]) });
  for (let count = 0; count < 3; count += 1) {
    const context = isolate.createContextSync();
    const logged = [];
    context.global.setSync('log', (value) => { logged.push(value); });
    context.global.setSync('double', new ivm.Callback((value) => value * 2));
    context.global.setSync('ref', new ivm.Reference((value) => value + 1));
    context.global.setSync('ivm', ivm);
    context.evalSync('later(); log(double(21)); log(ref.applySync(undefined, [1])); log(ref instanceof ivm.Reference)');
    assert.deepEqual(logged, [1, 42, 2, true]);
  }
  isolate.dispose();
});

test('a snapshot is valid in other processes', ours, async () => {
  const bytes = Buffer.from(createSnapshot([{ code: 'var saved = 42' }]).copy()).toString('base64');
  const result = await run(`
    let text = '';
    process.stdin.on('data', (chunk) => { text += chunk; });
    process.stdin.on('end', () => {
      const bytes = Buffer.from(text, 'base64');
      const snapshot = new ivm.ExternalCopy(new Uint8Array(bytes).buffer);
      console.log(new ivm.Isolate({ snapshot }).createContextSync().evalSync('saved'));
    });`, { input: bytes });
  assert.equal(result.stdout.trim(), '42', result.stderr);
});

test('scripts that use web APIs and fail, or that keep functions of them in any way, do not end the process', ours, async () => {
  const result = await run(`
    const outcome = (code, options) => {
      try {
        const isolate = new ivm.Isolate({ snapshot: ivm.Isolate.createSnapshot([{ code }], 'new URL("a:b")', { ...options, web: true }) });
        const made = isolate.createContextSync({ web: true }).evalSync('new URL("https://a/").href + structuredClone([1]).length');
        isolate.dispose();
        return made;
      } catch (error) {
        return error.code ?? error.name;
      }
    };
    console.log([
      outcome('for (;;) new URL("a:b")', { deadline: 100 }),
      outcome('(function recurse() { try { recurse() } finally { new URL("a:b") } })()'),
      outcome('throw structuredClone'),
      outcome('var bound = structuredClone.bind(null, { a: 1 }); var proxy = new Proxy(URL, {}); var weak = new WeakRef(new URL("a:b"));'),
      outcome('Promise.resolve().then(() => { new URL("a:b"); return new Promise(() => {}) }); function* g() { yield new URL("a:b"); yield 1 } var it = g(); it.next()'),
      outcome('for (let i = 0; i < 2e4; i += 1) new TextEncoder().encode(btoa("x" + i))', { deadline: 20_000 }),
    ].join());`);
  assert.equal(result.stdout.trim(), ['ERR_ISOLATE_DEADLINE', 'RangeError', 'Error', ...Array(3).fill('https://a/1')].join(), result.stderr);
});

test('built-ins that a snapshot cannot hold are absent during its creation, and present later', ours, () => {
  const names = ['FinalizationRegistry', 'SharedArrayBuffer', 'Temporal', 'WebAssembly', 'DisposableStack'];
  const types = `${JSON.stringify(names)}.map((name) => typeof globalThis[name]).join()`;
  const isolate = new ivm.Isolate({ snapshot: createSnapshot([{ code: `var before = ${types}` }]) });
  const plain = new ivm.Isolate();
  const context = isolate.createContextSync();
  assert.equal(context.evalSync('before'), 'undefined,undefined,undefined,undefined,undefined');
  assert.equal(context.evalSync(types), plain.createContextSync().evalSync(types));
  assert.equal(context.evalSync('Error.stackTraceLimit'), 10);
  isolate.dispose();
  plain.dispose();
});

test('scripts that would break V8 are refused', ours, () => {
  const refused = (code, message) => assert.throws(() => createSnapshot([{ code }]), unsupported(message), code);
  for (const name of ['Atomics', 'Math', 'Uint8Array']) {
    const message = `A snapshot cannot be made: \`${name}\` must not be replaced`;
    refused(`globalThis.${name} = 5`, message);
    refused(`delete globalThis.${name}`, message);
    refused(`Object.defineProperty(globalThis, '${name}', { get() { throw 1 } })`, message);
  }
  for (const name of ['globalThis', 'Error', 'Math', 'Promise']) {
    refused(`Object.freeze(${name})`, `A snapshot cannot be made: \`${name}\` must not be frozen`);
  }
  refused('var DisposableStack = 1', 'A snapshot cannot be made: `DisposableStack` of `globalThis` must be configurable');
  const left = 'The scripts leave something behind that V8 cannot put into a snapshot, such as an object of `Intl`';
  for (const code of ['new Intl.NumberFormat()', '[new Intl.Locale("de")]', 'new Intl.Collator().compare']) refused(`var a = ${code}`, left);
  assert.equal(evaluate(['new Intl.NumberFormat("de").format(1)'], 'new Intl.NumberFormat("de").format(1.5)'), '1,5');
});

test('built-ins that V8 adds later replace a script\'s values of the same name', ours, () => {
  const code = 'Promise.try = 1; Math.f16round = 1; Map.prototype.getOrInsert = 1; Error.stackTraceLimit = 50; globalThis.Temporal = 1';
  const types = '[typeof Promise.try, typeof Math.f16round, typeof new Map().getOrInsert, Error.stackTraceLimit, typeof Temporal].join()';
  assert.equal(evaluate([code], types), 'function,function,function,10,object');
});

test('options are checked', ours, () => {
  const make = (options) => createSnapshot([], undefined, options);
  assert.throws(() => make(1), failure(TypeError, '`undefined` requires parameter 3 to be an object'));
  assert.throws(() => make({ deadline: 'a' }), failure(TypeError, '`deadline` must be a 32-bit number'));
  assert.throws(() => make({ deadline: -1 }), failure(TypeError, '`deadline` must be at least 0'));
  assert.throws(() => make({ memoryLimit: 'a' }), failure(TypeError, '`memoryLimit` must be a number'));
  for (const memoryLimit of [4, 513, Number.NaN]) {
    assert.throws(() => make({ memoryLimit }), { code: 'ERR_INVALID_ARG', message: '`memoryLimit` must be at least 8 and at most 512' });
  }
  for (const options of [undefined, null, {}, { deadline: 0, memoryLimit: 8 }, { deadline: null, memoryLimit: undefined }]) make(options);
});

test('the address space of resizable buffers in a snapshot counts', ours, () => {
  const code = 'globalThis.buffers = Array.from({ length: 900 }, () => new ArrayBuffer(8, { maxByteLength: 1024 }))';
  const snapshot = createSnapshot([{ code }]);
  const refused = { code: 'ERR_ISOLATE_MEMORY', message: 'The buffers of another context of this snapshot take more address space than there is' };
  const isolate = new ivm.Isolate({ snapshot });
  const context = isolate.createContextSync();
  assert.equal(context.evalSync('buffers.length'), 900);
  assert.throws(() => isolate.createContextSync(), refused);
  assert.equal(context.evalSync('buffers[899].resize(1024); buffers[899].byteLength'), 1024);
  // All isolates together may have 12,288 such buffers.
  const others = Array.from({ length: 14 }, () => new ivm.Isolate({ snapshot }));
  const contexts = [];
  assert.throws(() => { for (const other of others) contexts.push(other.createContextSync()); }, refused);
  assert.ok(contexts.length > 3, contexts.length);
  assert.throws(() => others.at(-1).compileScriptSync('1'), refused);
  const plain = new ivm.Isolate();
  assert.equal(plain.createContextSync().evalSync('1 + 1'), 2);
  for (const each of [isolate, ...others, plain]) each.dispose();
});

test('contexts that are created at the same time share the address space for the buffers of their snapshot', ours, async () => {
  const code = 'globalThis.buffers = Array.from({ length: 900 }, () => new ArrayBuffer(8, { maxByteLength: 65536 }))';
  const snapshot = createSnapshot([{ code }]);
  const create = () => Array.from({ length: 100 }, () => new ivm.Isolate({ snapshot, memoryLimit: 32 }));
  // Isolates that were disposed of return theirs soon.
  for (const end = performance.now() + 20_000; ;) {
    const isolates = create();
    await Promise.all(isolates.map((isolate) => isolate.getHeapStatistics()));
    const outcomes = await Promise.allSettled(isolates.map((isolate) => isolate.createContext()));
    for (const isolate of isolates) isolate.dispose();
    const created = outcomes.filter(({ status }) => status === 'fulfilled').length;
    const messages = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
    assert.deepEqual([...new Set(messages)], ['The buffers of another context of this snapshot take more address space than there is']);
    assert.ok(created <= 13, created);
    if (created === 13) break;
    assert.ok(performance.now() < end, created);
  }
});

test('guests cannot create snapshots', ours, () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  const code = 'try { ivm.Isolate.createSnapshot([{ code: "1" }]) } catch (error) { error.code }';
  assert.equal(context.evalSync(code), 'ERR_ISOLATE_UNSUPPORTED');
  isolate.dispose();
});
