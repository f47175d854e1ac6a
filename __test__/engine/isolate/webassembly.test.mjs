// WebAssembly modules that need more of V8's tables and compilers than a guest may have. Some tables belong to the process: if one is full,
// V8 ends the process, or keeps a lock that all isolates need.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Builds modules, on the host and in guests. */
const BUILD = `
  const leb = (n) => { const out = []; do { const low = n % 128; n = Math.floor(n / 128); out.push(n > 0 ? low | 128 : low); } while (n > 0); return out; };
  const join = (parts) => { const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0)); let at = 0; for (const part of parts) { out.set(part, at); at += part.length; } return out; };
  const section = (id, ...parts) => { const body = join(parts); return join([[id], leb(body.length), body]); };
  const wasm = (...sections) => join([[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], ...sections]);
  /** Function types that differ from each other and from those with another seed. */
  const types = (count, seed = 0, parameters = 20) => {
    const out = new Uint8Array(count * (parameters + 5));
    let at = 0;
    for (let i = 0; i < count; i += 1) {
      out[at++] = 0x60;
      const number = leb(parameters);
      for (const byte of number) out[at++] = byte;
      let rest = seed * 1e6 + i;
      for (let k = 0; k < parameters; k += 1) { out[at++] = 0x7f - rest % 4; rest = Math.floor(rest / 4); }
      out[at++] = 0;
    }
    return section(1, leb(count), out.subarray(0, at));
  };
  /** Types in one recursion group. */
  const group = (count, seed) => {
    const body = types(count, seed);
    let at = 1; while (body[at] & 128) at += 1; at += 1;
    return section(1, [1, 0x4e], body.subarray(at));
  };
  /** A module with functions of type () -> () with these bodies, including locals; the first one is exported as f. */
  const functions = (...bodies) => wasm(section(1, [1, 0x60, 0, 0]), section(3, leb(bodies.length), new Uint8Array(bodies.length)),
    section(7, [1, 1, 0x66, 0, 0]), section(10, leb(bodies.length), ...bodies.flatMap((body) => [leb(body.length), body])));
  const locals = (count) => [1, ...leb(count), 0x7f];
  const repeat = (bytes, count) => { const out = new Uint8Array(bytes.length * count); for (let i = 0; i < count; i += 1) out.set(bytes, i * bytes.length); return out; };
  /** V8's responses to a module, in all possible ways. */
  const outcomes = async (bytes) => {
    const all = {};
    const name = (error) => error.name + ': ' + error.message;
    try { new WebAssembly.Module(bytes); all.Module = 'fine'; } catch (error) { all.Module = name(error); }
    try { await WebAssembly.compile(bytes); all.compile = 'fine'; } catch (error) { all.compile = name(error); }
    try { await WebAssembly.instantiate(bytes); all.instantiate = 'fine'; } catch (error) { all.instantiate = name(error); }
    all.validate = WebAssembly.validate(bytes);
    return all;
  };
`.replaceAll(/\n\s*/g, '\n').replaceAll(/\/\*\*.*?\*\/\n/g, '');

/** A program of a host that has the same builders as its guests; `guest` runs code in a context that has them. */
const PROGRAM = `
  const BUILD = ${JSON.stringify(BUILD)};
  ${BUILD}
  const alive = setInterval(() => {}, 1_000);
  const { readFileSync } = await import('node:fs');
  const status = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const before = status('VmRSS');
  const grown = () => status('VmHWM') - before;
  const prepare = (isolate) => { const context = isolate.createContextSync(); context.evalSync(BUILD); return context; };
  /** The result of code in a new isolate, or the code of its error. */
  const guest = async (code, limit = 16) => {
    const isolate = new ivm.Isolate({ memoryLimit: limit });
    const context = prepare(isolate);
    try { return await context.eval(code, { promise: true, copy: true, timeout: 60_000 }); }
    catch (error) { return error.code ?? error.name + ': ' + error.message; }
    finally { if (!isolate.isDisposed) isolate.dispose(); }
  };
  /** All outcomes are refusals for this reason. */
  const refused = (all, reason) => {
    for (const way of ['Module', 'compile', 'instantiate']) {
      assert.ok(all[way].startsWith('CompileError: WebAssembly.' + way + '(): ') && all[way].includes(reason), way + ': ' + all[way]);
    }
    assert.equal(all.validate, false);
  };
  const TYPES = 'new WebAssembly types';
  const MEMORY = 'more memory than the isolate may have';
  /** Other isolates can still be created, and use WebAssembly with other types. */
  let others = 900;
  const othersWork = async () => {
    others += 1;
    otherWorks();
    assert.equal(await guest('(async () => { await WebAssembly.compile(wasm(types(20, ' + others + '))); new WebAssembly.Module(wasm(types(20, ' + others + '))); return 42; })()'), 42);
  };`.replaceAll(/\n\s*/g, '\n');

const wasmTest = (name, code, settings) => test(name, () => passes(`${PROGRAM}\n${code}\nawait othersWork();\nclearInterval(alive);`, { timeout: 90_000, ...settings }));

describe('wrappers for imported functions, which V8 keeps for each signature and number of parameters', () => {
  /** Instantiates a module with `count` imports of different signatures, with functions of all numbers of parameters from `first` on. */
  const IMPORT = `
    const fill = (count, first, rounds) => {
      const imports = join(Array.from({ length: count }, (_, index) => [1, 0x6d, 1, 0x66, 0, ...leb(index)]));
      const module = new WebAssembly.Module(wasm(types(count, 700), section(2, leb(count), imports)));
      for (let i = first; i < first + rounds; i += 1) new WebAssembly.Instance(module, { m: { f: new Function('a,'.repeat(i) + 'z', '') } });
      return 'filled';
    };
    /** What a function gets from a module that calls it with two numbers. */
    const callee = (f) => {
      const bytes = wasm(section(1, [2, 0x60, 2, 0x7f, 0x7c, 1, 0x6f, 0x60, 0, 1, 0x6f]), section(2, [1, 1, 0x6d, 1, 0x66, 0, 0]), section(3, [1, 1]),
        section(7, [1, 1, 0x67, 0, 1]), section(10, [1, 15, 0, 0x41, 7, 0x44, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0x10, 0, 0x0b]));
      return new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f } }).exports.g();
    };`.replaceAll(/\n\s*/g, '\n').replaceAll(/\/\*\*.*?\*\/\n/g, '');
  const CALLS = `[
    callee(function () { return [...arguments].join() }), callee((a) => a), callee((a, b) => a + b), callee((a, b, c) => [a, b, c].length + String(c)),
    callee(function (a, b, c, d) { 'use strict'; return String(this) + arguments.length; }), callee(function (a) { return this === globalThis; }),
    callee((...all) => all.length), callee(Math.max), callee(((a, b, c) => a + b + c).bind(null, 1)),
  ].join(' ')`;
  const RESULTS = '7,0.5 7 7.5 3undefined undefined2 true 2 7 8.5';

  wasmTest('many more than a program needs, by guests one after the other', `
    const IMPORT = ${JSON.stringify(IMPORT)};
    assert.equal(await guest(IMPORT + ${JSON.stringify(CALLS)}, 128), ${JSON.stringify(RESULTS)});
    assert.equal(await guest(IMPORT + 'fill(400, 7, 400)', 128), 'filled');
    const first = status('VmRSS');
    for (let i = 1; i < 3; i += 1) assert.equal(await guest(IMPORT + 'fill(400, ' + (7 + 400 * i) + ', 400)', 128), 'filled');
    assert.ok(status('VmRSS') - first < 34, (status('VmRSS') - first) + ' MB more');
    assert.equal(await guest(IMPORT + ${JSON.stringify(CALLS)}, 128), ${JSON.stringify(RESULTS)});`);
});

describe('types, which V8 keeps for the life of the process', () => {
  wasmTest('many modules with many types, by a guest that compiles them', `
    for (let i = 0; i < 21; i += 1) {
      const got = await guest('(async () => { try { await WebAssembly.compile(wasm(types(100_000, ' + i + '))); return 0; } catch (error) { return String(error); } })()', 128);
      assert.ok(got.includes(TYPES), got);
    }`);

  for (const way of ['new WebAssembly.Module(bytes)', 'await WebAssembly.compile(bytes)', 'await WebAssembly.instantiate(bytes)', 'WebAssembly.validate(bytes)']) {
    wasmTest(`many executions with some types, by ${way}`, `
      let refusals = 0;
      for (let i = 0; i < 12; i += 1) {
        const got = await guest('(async () => { let n = 0; for (let k = 0; k < 2; k += 1) { const bytes = wasm(types(18_000, ' + i + ' * 2 + k)); try { if ((${way}) === false) throw 0; n += 1; } catch {} } return n; })()', 128);
        assert.ok(got <= 1, String(got));
        if (got === 0) refusals += 1;
      }
      assert.ok(refusals > 3 && refusals < 10, String(refusals));`);
  }

  wasmTest('more than a guest may have, in each way', `
    refused(await guest('outcomes(wasm(types(30_000)))'), TYPES);
    refused(await guest('outcomes(wasm(group(30_000)))'), TYPES);
    refused(await guest('outcomes(wasm(types(1_000, 0, 1_000)))'), TYPES);
    refused(await guest('outcomes(new Uint8Array(wasm(types(30_000)).buffer.slice(0, 100_000)))'), TYPES);`);

  wasmTest('a large group of which the last type has a number in a long form', `
    // (rec (struct) ... (sub (struct (field ...)))), where the number of supertypes takes two bytes.
    for (const last of [[0x50, 0x80, 0, 0x5f, 1, 0x7f, 0], [0x50, 0x80, 0x80, 0x80, 0, 0x5f, 0], [0x4f, 0x81, 0, 0, 0x5f, 0], [0x5f, 0x80, 0]]) {
      refused(await guest('outcomes(wasm(section(1, [1, 0x4e], leb(60_001), repeat([0x5f, 0], 60_000), ' + JSON.stringify(last) + ')))', 128), TYPES);
    }`);

  wasmTest('many empty groups', `
    for (const count of [1_000_000, 8_000_000]) {
      const got = await guest('try { new WebAssembly.Module(wasm(section(1, leb(' + count + '), repeat([0x4e, 0], ' + count + ')))); "fine" } catch (error) { error.name }', 64);
      assert.match(String(got), /^(fine|CompileError)$/);
    }
    assert.ok(grown() < 300, grown() + ' MB more');`);

  wasmTest('types with many parameters, by executions that succeed', `
    let done = 0;
    for (let i = 0; i < 36; i += 1) {
      const got = await guest('(async () => { let n = 0; for (let k = 0; k < 2; k += 1) { try { new WebAssembly.Module(wasm(types(200, ' + i + ' * 2 + k, 1_000))); n += 1; } catch {} } return n; })()', 32);
      assert.ok(got <= 1, String(got));
      done += got;
    }
    assert.ok(done > 5, String(done));
    assert.ok(grown() < 300, grown() + ' MB more');`);

  wasmTest('of tags', `
    for (let i = 0; i < 3; i += 1) {
      const got = await guest('let n = 0; let problem; try { for (;; n += 1) { const parameters = []; let rest = n + ' + i + ' * 1e5; for (let k = 0; k < 12; k += 1) { parameters.push(["i32", "i64", "f32", "f64"][rest % 4]); rest = Math.floor(rest / 4); } new WebAssembly.Tag({ parameters }); } } catch (error) { problem = String(error); } [n, problem, new WebAssembly.Tag({ parameters: [] }) instanceof WebAssembly.Tag]');
      assert.ok(got[0] > 1_000 && got[0] < 5_000, String(got));
      assert.match(got[1], /^RangeError: .* new WebAssembly types/);
      assert.equal(got[2], true);
    }`);

  wasmTest('that V8 has already are not counted', `
    for (let i = 0; i < 90; i += 1) {
      assert.equal(await guest('(async () => { await WebAssembly.compile(wasm(types(2_000, 5))); new WebAssembly.Module(wasm(types(2_000, 5))); return 42; })()'), 42);
    }`);

  wasmTest('of isolates that guests make count together', `
    const maker = prepare(new ivm.Isolate({ memoryLimit: 16 }));
    maker.global.setSync('ivm', ivm);
    maker.global.setSync('text', BUILD);
    const got = maker.evalSync('let n = 0; for (let i = 0; i < 8; i += 1) { const made = new ivm.Isolate({ memoryLimit: 8 }); const context = made.createContextSync(); context.evalSync(text); try { context.evalSync("new WebAssembly.Module(wasm(types(1_000, " + i + "))); 1"); n += 1; } catch {} made.dispose(); } n');
    assert.ok(got >= 2 && got <= 4, String(got));`);
});

describe('functions that take much memory to optimize', () => {
  const heavy = {
    'many branches': "functions(join([locals(49_000), [0x02, 0x40], repeat([0x41, 1, 0x0d, 0], 7_500), [0x0b, 0x0b]]))",
    'a table of branches': "functions(join([locals(49_000), [0x02, 0x40, 0x41, 1, 0x0e], leb(7_500), new Uint8Array(7_501), [0x0b, 0x0b]]))",
    'deep blocks': "functions(join([locals(49_000), repeat([0x02, 0x40], 7_500), repeat([0x0b], 7_500), [0x0b]]))",
    'loops': "functions(join([locals(49_000), repeat([0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b], 7_500), [0x0b]]))",
    'calls in a try': "functions(join([locals(49_000), [0x02, 0x40, 0x1f, 0x40, 1, 2, 0], repeat([0x10, 1], 7_500), [0x0b, 0x0b, 0x0b]]), [0, 0x0b])",
    'many that are inlined': "functions(join([[0], repeat([0x10, 1], 5_000), [0x0b]]), join([locals(49_000), [0x02, 0x40], repeat([0x41, 1, 0x0d, 0], 100), [0x0b, 0x0b]]))",
  };
  for (const [name, code] of Object.entries(heavy)) {
    wasmTest(name, `
      refused(await guest('outcomes(${code})'), MEMORY);
      assert.ok(grown() < 250, grown() + ' MB more');`);
  }

  // V8's decoder, which checks functions on V8's own threads, notes for each table of branches which of the open blocks it leads to.
  const tables = (count) => `functions(join([[0], repeat([0x02, 0x40], ${count}), [0x00], repeat([0x0e, 0, 0], ${count}), repeat([0x0b], ${count} + 1)]))`;
  wasmTest('tables of branches in deep blocks', `
    for (const limit of [8, 128]) refused(await guest('outcomes(${tables('20_000')})', limit), MEMORY);
    assert.ok(grown() < 250, grown() + ' MB more');
    assert.deepEqual(await guest('outcomes(${tables('1_000')})', 8), { Module: 'fine', compile: 'fine', instantiate: 'fine', validate: true });`);

  // V8 stops the thread where more than 65,535 edges meet: one of its own threads, of which all isolates need at least one.
  const many = {
    'branches': "join([[1, 1, 0x7f, 0x02, 0x40], repeat([0x20, 0, 0x0d, 0, 0x41, 3, 0x21, 0], 66_000), [0x0b, 0x0b]])",
    'branches with a value': "join([[1, 1, 0x7f, 0x02, 0x7f, 0x41, 1], repeat([0x20, 0, 0x0d, 0, 0x1a, 0x41, 2], 66_000), [0x0b, 0x1a, 0x0b]])",
    'a table of branches and others': "join([[1, 1, 0x7f, 0x02, 0x40, 0x20, 0, 0x0d, 0, 0x41, 3, 0x21, 0, 0x20, 0, 0x0e], leb(65_500), new Uint8Array(65_501), [0x0b, 0x0b]])",
    'calls in a try': "join([[0, 0x02, 0x40, 0x1f, 0x40, 1, 2, 0], repeat([0x10, 0], 66_000), [0x0b, 0x0b, 0x0b]])",
    'calls in an old try': "join([[0, 0x06, 0x40], repeat([0x10, 0], 66_000), [0x19, 0x0b, 0x0b]])",
  };
  for (const [name, code] of Object.entries(many)) {
    wasmTest(`more edges than V8 can join: ${name}`, `
      refused(await guest('outcomes(functions(${code}))', 128), MEMORY);`);
  }

  wasmTest('a large table of branches', `
    const code = '(async () => { const bytes = functions(join([[1, 1, 0x7f, 0x02, 0x40, 0x20, 0, 0x0e], leb(50_000), new Uint8Array(50_001), [0x0b, 0x0b]])); const { instance } = await WebAssembly.instantiate(bytes); for (let i = 0; i < 2_000; i += 1) instance.exports.f(); return 42; })()';
    assert.equal(await guest(code, 128), 42);`);

  const expanded = {
    'casts': 'wasm(section(1, [2, 0x60, 0, 0, 0x50, 0, 0x5f, 0]), section(3, [1, 0]), section(6, [1, 0x6e, 1, 0xd0, 0x6e, 0x0b]), section(7, [1, 1, 0x66, 0, 0]), section(10, [1], leb(2 + COUNT * 7), [0], repeat([0x23, 0, 0xfb, 23, 1, 0x24, 0], COUNT), [0x0b]))',
    'indirect calls': 'wasm(section(1, [1, 0x60, 0, 0]), section(3, [1, 0]), section(4, [1, 0x70, 0, 1]), section(7, [1, 1, 0x66, 0, 0]), section(10, [1], leb(2 + COUNT * 5), [0], repeat([0x41, 0, 0x11, 0, 0], COUNT), [0x0b]))',
    'branches': 'functions(join([[0, 0x02, 0x40], repeat([0x41, 0, 0x0d, 0, 0x02, 0x40, 0x0b], COUNT), [0x0b, 0x0b]]))',
  };
  for (const [name, code] of Object.entries(expanded)) {
    wasmTest(`many instructions that V8 expands: ${name}`, `
      refused(await guest('outcomes(${code.replaceAll('COUNT', '58_000')})', 64), MEMORY);
      const fine = await guest('outcomes(${code.replaceAll('COUNT', '5_000')})', 64);
      assert.equal(fine.validate, true);`);
  }

  // V8 needs more for each local whose values meet at a loop, or at the end of a block, than for those that a branch only passes on.
  const sets = (count) => `join(Array.from({ length: ${count} }, (_, i) => [0x20, ...leb(i), 0x41, 1, 0x6a, 0x21, ...leb(i)]))`;
  const meeting = {
    'nested loops': `functions(join([locals(4_700), repeat([0x03, 0x40], 640), ${sets(4_700)}, repeat([0x20, 0, 0x0d, 0, 0x0b], 640), [0x0b]]))`,
    'nested blocks': `functions(join([locals(3_000), repeat([0x02, 0x40], 600), ${sets(3_000)}, ...Array.from({ length: 600 }, (_, i) => [0x20, 0, 0x0d, ...leb(i)]), ${sets(3_000)}, repeat([0x0b], 601)]))`,
    'nested loops with parameters': `wasm(section(1, [2, 0x60, 0, 0, 0x60], leb(1_000), repeat([0x7f], 1_000), leb(1_000), repeat([0x7f], 1_000)), section(3, [1, 0]), section(7, [1, 1, 0x66, 0, 0]),
      section(10, [1], leb(4_502), [0], repeat([0x41, 1], 1_000), repeat([0x03, 1], 500), repeat([0x0b], 500), repeat([0x1a], 1_000), [0x0b]))`,
  };
  for (const [name, code] of Object.entries(meeting)) {
    wasmTest(`many locals whose values meet: ${name}`, `
      refused(await guest(${JSON.stringify(`outcomes(${code})`)}), MEMORY);
      assert.ok(grown() < 250, grown() + ' MB more');`);
  }

  wasmTest('loops that set many locals, as compilers make them without optimizing', `
    const code = ${JSON.stringify(`outcomes(functions(join([locals(1_000), ...Array.from({ length: 20 }, () => join([repeat([0x03, 0x40], 5), ${sets(1_000)}, repeat([0x41, 0, 0x0d, 0, 0x0b], 5)])), [0x0b]])))`)};
    assert.deepEqual(await guest(code), { Module: 'fine', compile: 'fine', instantiate: 'fine', validate: true });`);

  // The first function does this for many values with instructions of a few bytes.
  const signature = (count) => `join([[0x60], leb(${count}), repeat([0x7f], ${count}), leb(${count}), repeat([0x7f], ${count})])`;
  const wide = {
    'structures with many fields': "wasm(section(1, [2, 0x60, 0, 0, 0x5f], leb(10_000), repeat([0x7f, 1], 10_000)), section(3, [1, 0]), section(6, [1, 0x63, 1, 1, 0xd0, 1, 0x0b]), section(7, [1, 1, 0x66, 0, 0]), section(10, [1], leb(5_002), [0], repeat([0xfb, 1, 1, 0x24, 0], 1_000), [0x0b]))",
    'calls with many parameters': `wasm(section(1, [2, 0x60, 0, 0], ${signature(1_000)}), section(2, [1, 1, 0x6d, 1, 0x66, 0, 1]), section(3, [1, 0]), section(10, [1], leb(6_002), [0], repeat([0x41, 0], 1_000), repeat([0x10, 0], 1_500), repeat([0x1a], 1_000), [0x0b]))`,
    'calls by a table with many parameters': `wasm(section(1, [2, 0x60, 0, 0], ${signature(1_000)}), section(3, [1, 0]), section(4, [1, 0x70, 0, 1]), section(10, [1], leb(10_502), [0], repeat([0x41, 0], 1_000), repeat([0x41, 0, 0x11, 1, 0], 1_500), repeat([0x1a], 1_000), [0x0b]))`,
  };
  for (const [name, code] of Object.entries(wide)) {
    wasmTest(name, `
      refused(await guest('outcomes(${code})', 64), MEMORY);
      assert.ok(grown() < 250, grown() + ' MB more');`);
  }

  wasmTest('a function with many locals and branches, as compilers make them without optimizing', `
    const code = '(async () => { const { instance } = await WebAssembly.instantiate(functions(join([locals(8_000), repeat([0x02, 0x40, 0x41, 0, 0x0d, 0, 0x0b], 750), [0x0b]]))); instance.exports.f(); return 42; })()';
    assert.equal(await guest(code, 128), 42);`);

  wasmTest('as much as the limit allows, while it runs and afterwards', `
    const code = "(async () => { const bytes = functions(join([locals(1_000), [0x02, 0x40], repeat([0x41, 0, 0x0d, 0], 4_000), [0x0b, 0x0b]])); const { instance } = await WebAssembly.instantiate(bytes); const until = Date.now() + 1_500; while (Date.now() < until) for (let i = 0; i < 100; i += 1) instance.exports.f(); return 42; })()";
    assert.equal(await guest(code), 42);
    // Compilers may still be at work.
    let used;
    do {
      const before = process.cpuUsage();
      await sleep(50);
      const { user, system } = process.cpuUsage(before);
      used = user + system;
    } while (used > 10_000);
    assert.ok(grown() < 300, grown() + ' MB more');`);
});

describe('functions that take long to optimize', () => {
  // Each of many values is computed before and after many blocks, so that V8 keeps them across all of these.
  const LONG = `
    const sleb = (n) => { const out = []; for (;;) { const low = n & 127; n >>= 7; if (n === 0 && low < 64) { out.push(low); return out; } out.push(low | 128); } };
    const values = join(Array.from({ length: 20_000 }, (_, i) => [0x20, 0, 0x41, ...sleb(i * 7 + 1), 0x73, 0x24, 0]));
    const body = join([[0], values, repeat([0x02, 0x40, 0x20, 0, 0x0d, 0, 0x20, 0, 0x24, 0, 0x0b], 10_000), values, [0x20, 0, 0x0b]]);
    const long = () => new WebAssembly.Instance(new WebAssembly.Module(wasm(section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), section(3, [1, 0]), section(6, [1, 0x7f, 1, 0x41, 0, 0x0b]),
      section(7, [1, 1, 0x66, 0, 0]), section(10, [1], leb(body.length), body)))).exports.f;`.replaceAll(/\n\s*/g, '\n');

  wasmTest('do not delay compilations of other guests', `
    const { availableParallelism } = await import('node:os');
    /** Whether other threads of the process work. */
    const works = async () => { const before = process.cpuUsage(); await sleep(300); const { user, system } = process.cpuUsage(before); return user + system > 30_000; };
    // As many as V8 has threads.
    const isolates = Array.from({ length: Math.min(availableParallelism() - 1, 16) || 1 }, () => new ivm.Isolate());
    const calls = isolates.map((isolate) => { const context = prepare(isolate); context.evalSync(${JSON.stringify(LONG)} + 'const f = long();'); return () => context.evalSync('for (let i = 0; i < 500; i += 1) f(i & 1); 0'); });
    while (!(await works())) for (const call of calls) call();
    assert.equal(await guest('(async () => { await WebAssembly.compile(wasm()); return 42; })()'), 42);
    assert.ok(await works());
    for (const isolate of isolates) isolate.dispose();`);
});

describe('names of functions, which V8 reads all at once and under a lock', () => {
  /** A module whose only function traps, with names in an order that makes the search tree slow. */
  const NAMED = `
    const named = (count, width, most) => {
      const names = new Uint8Array(count * (width + 1));
      for (let i = 0, at = 0; i < count; i += 1, at += 1) {
        let index = (Math.imul(i, 2_654_435_761) >>> 0) % most;
        for (let k = 0; k < width; k += 1) { names[at++] = index & 127 | (k < width - 1 ? 128 : 0); index >>>= 7; }
      }
      const entries = join([leb(count), names]);
      return join([functions([0, 0x00, 0x0b]), section(0, [4, 0x6e, 0x61, 0x6d, 0x65, 1], leb(entries.length), entries)]);
    };
    const stack = (bytes) => { const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports; try { f(); } catch (error) { return error.stack; } };
  `.replaceAll(/\n\s*/g, '\n').replaceAll(/\/\*\*.*?\*\/\n/g, '');

  wasmTest('more than a module may have functions', `
    const holder = new ivm.Isolate({ memoryLimit: 128 });
    const realm = prepare(holder);
    realm.evalSync(${JSON.stringify(NAMED)} + 'const bytes = named(5_000_000, 4, 10_000_000); 1');
    const begin = process.cpuUsage();
    const error = syncError(() => realm.evalSync('stack(bytes)', { timeout: 100 }));
    const { user, system } = process.cpuUsage(begin);
    assert.match(error.message, /^(WebAssembly\\.Module\\(\\): The module names more functions than it may have|Script execution timed out\\.)/);
    assert.ok(user + system < 2_000_000, (user + system) + ' us of processor time');
    refused(await realm.eval('outcomes(bytes)', { promise: true, copy: true }), 'more functions than it may have');
    holder.dispose();`);

  wasmTest('many in modules that are kept', `
    const got = await guest(${JSON.stringify(NAMED)} + 'const kept = []; for (let i = 0; i < 40; i += 1) { const bytes = named(200_000 + i, 4, 10_000_000); const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes)); try { exports.f(); } catch (error) { kept.push(exports, error.stack); } } kept.length');
    assert.equal(got, 'ERR_ISOLATE_MEMORY');
    assert.ok(grown() < 200, grown() + ' MB more');`);

  wasmTest('as many as functions', `
    const text = await guest(${JSON.stringify(NAMED)} + 'const one = section(0, [4, 0x6e, 0x61, 0x6d, 0x65, 1, 6, 1, 0, 3, 0x61, 0x62, 0x63]); stack(join([functions([0, 0x00, 0x0b]), one])) + stack(named(100_000, 3, 100_000))', 128);
    assert.match(text, /at abc /);`);
});

describe('hints for branches, which V8 keeps with a module', () => {
  wasmTest('for functions that a module does not have', `
    // Each hint is for another function, and has no branches.
    const build = '(count) => { const hints = new Uint8Array(count * 4); for (let i = 0; i < count; i += 1) hints.set([i & 127 | 128, i >> 7 & 127 | 128, i >> 14, 0], i * 4); return join([functions([0, 0x0b]), section(0, [25], new Uint8Array([..."metadata.code.branch_hint"].map((letter) => letter.charCodeAt(0))), leb(count), hints)]); }';
    const got = await guest('const build = ' + build + '; const kept = []; for (let i = 0; i < 40; i += 1) kept.push(new WebAssembly.Module(build(400_000 + i))); kept.length');
    assert.equal(got, 'ERR_ISOLATE_MEMORY');
    assert.ok(grown() < 160, grown() + ' MB more');
    assert.equal(await guest('const build = ' + build + '; new WebAssembly.Instance(new WebAssembly.Module(build(1_000))).exports.f(); 42'), 42);`);
});

describe('modules with many parts', () => {
  const large = {
    functions: 'wasm(section(1, [1, 0x60, 0, 0]), section(3, leb(900_000), new Uint8Array(900_000)), section(10, leb(900_000), repeat([2, 0, 0x0b], 900_000)))',
    exports: 'wasm(section(1, [1, 0x60, 0, 0]), section(3, [1, 0]), section(7, leb(900_000), ...Array.from({ length: 900_000 }, (_, i) => [4, 48 + i % 64, 48 + (i >> 6) % 64, 48 + (i >> 12) % 64, 48 + (i >> 18), 0, 0])), section(10, [1, 2, 0, 0x0b]))',
    globals: 'wasm(section(6, leb(900_000), repeat([0x7f, 0, 0x41, 0, 0x0b], 900_000)))',
    'data segments': 'wasm(section(5, [1, 0, 0]), section(11, leb(90_000), repeat([1, 0], 90_000)))',
    memories: 'wasm(section(5, leb(90_000), repeat([0, 0], 90_000)))',
    tables: 'wasm(section(4, leb(90_000), repeat([0x70, 0, 0], 90_000)))',
    'large tables': 'wasm(section(4, leb(100), repeat([0x70, 0, 0x80, 0xad, 0xe2, 4], 100)))',
    names: 'wasm(section(0, [4, 0x6e, 0x61, 0x6d, 0x65, 1], leb(4 + 2_000_000 * 2), leb(1_000_000), repeat([0, 0], 2_000_000)))',
  };
  for (const [name, code] of Object.entries(large)) {
    wasmTest(name, `
      for (const [limit, call] of [[8, 'await WebAssembly.instantiate(bytes)'], [64, 'new WebAssembly.Instance(new WebAssembly.Module(bytes))']]) {
        const got = await guest('(async () => { const bytes = ${code}; const kept = []; try { for (let i = 0; i < 20; i += 1) kept.push(' + call + '); return "fine"; } catch (error) { return error.name; } })()', limit);
        assert.match(String(got), /^(fine|CompileError|RangeError|LinkError|ERR_ISOLATE_(MEMORY|DISPOSED|TIMEOUT))/);
      }
      assert.ok(grown() < 1_000, grown() + ' MB more');`);
  }

  wasmTest('much code, of which little is alive at a time', `
    const code = '(async () => { for (let i = 0; i < 200; i += 1) { const { instance } = await WebAssembly.instantiate(functions(join([locals(1), [0x02, 0x40], repeat([0x41, 1, 0x1a], 5_000 + i), [0x0b, 0x0b]]))); instance.exports.f(); } return 42; })()';
    assert.equal(await guest(code, 64), 42);`);

  wasmTest('much code that is alive', `
    const code = '(async () => { const kept = []; for (let i = 0; i < 900; i += 1) { const { instance } = await WebAssembly.instantiate(functions(join([locals(1), [0x02, 0x40], repeat([0x20, 0, 0x41, 1, 0x6a, 0x21, 0], 100_000 + i), [0x0b, 0x0b]]))); instance.exports.f(); kept.push(instance); } return 42; })()';
    assert.match(await guest(code, 16), /^ERR_ISOLATE_(MEMORY|DISPOSED)$/);
    assert.ok(grown() < 400, grown() + ' MB more');`);

  wasmTest('modules that begin to compile without end leave other isolates room', `
    const bytes = 'new Uint8Array([' + functions([0, 0x0b]) + '])';
    for (let round = 0; round < 8; round += 1) {
      const flood = new ivm.Isolate({ memoryLimit: 16 });
      const error = syncError(() => flood.createContextSync().evalSync('const bytes = ' + bytes + '; for (;;) WebAssembly.compile(bytes)', { timeout: 20_000 }));
      assert.equal(error.code, 'ERR_ISOLATE_MEMORY');
      for (let i = 0; i < 4; i += 1) {
        const other = new ivm.Isolate();
        assert.equal(other.createContextSync().evalSync('new WebAssembly.Module(' + bytes + '); 42'), 42);
        other.dispose();
      }
    }`);
});

describe('unchanged behavior', () => {
  wasmTest('modules, and errors of V8', `
    // (func (export "f") (param i32) (result i32) ...): the sum of numbers up to one.
    const code = '(async () => { const body = [1, 1, 0x7f, 0x03, 0x40, 0x20, 1, 0x20, 0, 0x6a, 0x21, 1, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b]; const bytes = wasm(section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), section(3, [1, 0]), section(7, [1, 1, 0x66, 0, 0]), section(10, [1, body.length], body)); const { instance } = await WebAssembly.instantiate(bytes); let n = 0; for (let i = 0; i < 20_000; i += 1) n = instance.exports.f(1_000); return [n, await outcomes(bytes), await outcomes(new Uint8Array(8)), await outcomes(bytes.subarray(0, 30))]; })()';
    const [n, fine, ...wrong] = await guest(code);
    assert.equal(n, 500_500);
    assert.deepEqual(fine, { Module: 'fine', compile: 'fine', instantiate: 'fine', validate: true });
    assert.equal(wrong[0].compile, 'CompileError: WebAssembly.compile(): expected magic word 00 61 73 6d, found 00 00 00 00 @+0');
    assert.match(wrong[1].Module, /^CompileError: WebAssembly\\.Module\\(\\): /);`);

  wasmTest('names, lengths and texts of the functions', `
    const got = await guest("[WebAssembly.Module, WebAssembly.compile, WebAssembly.instantiate, WebAssembly.validate, WebAssembly.Tag].map((f) => [f.name, f.length, String(f)])");
    assert.deepEqual(got, [['Module', 1], ['compile', 1], ['instantiate', 1], ['validate', 1], ['Tag', 1]].map(([name, length]) => [name, length, 'function ' + name + '() { [native code] }']));`);

  wasmTest('a module that changes while it is looked at', `
    // V8 compiles the copy that was checked.
    const worker = new ivm.Isolate({ memoryLimit: 16 });
    const bytes = wasm(types(20, 3));
    const shared = new SharedArrayBuffer(bytes.length);
    new Uint8Array(shared).set(bytes);
    const contexts = [worker.createContextSync(), prepare(new ivm.Isolate({ memoryLimit: 16 }))];
    for (const context of contexts) context.global.setSync('bytes', new Uint8Array(shared), { copy: true });
    const change = contexts[0].eval('const until = Date.now() + 500; for (let i = 0; Date.now() < until; i += 1) bytes[9 + i % 30] ^= i;');
    const outcome = await contexts[1].eval('let n = 0; const until = Date.now() + 400; while (Date.now() < until) { try { new WebAssembly.Module(bytes); } catch (error) { if (!(error instanceof WebAssembly.CompileError)) throw error; } n += 1; } n');
    assert.ok(outcome > 0);
    await change;`);
});
