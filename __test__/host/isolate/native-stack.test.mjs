// Some code makes V8 recurse deeply in native code, without stack checks. Such a guest loses its isolate; the host keeps working.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

const LINUX = process.platform === 'linux';
const DEEP = 100_000;

/** A lost thread is counted soon after its call has ended. */
const LOST = `const lost = async (count) => { while (ivm.engineStats().lostThreads < count) await sleep(10); };`;

/** Exports that re-export the module itself, the last one first: `count` of them. */
const reexports = (count) => `Array.from({ length: ${count} }, (_, i) => 'export { x' + (1e6 + i + 1) + ' as x' + (1e6 + i) + ' } from "self"').join('\\n') + '\\nexport let x' + (1e6 + ${count}) + ' = 1'`;

/** Scopes of `with` around a name that is in none of them. */
const WITHS = "let f = (s) => eval(s); for (let i = 0; i < 60; i += 1) f = f('with({})'.repeat(2_500) + '{ (function (s) { return eval(s) }) }'); f('unknown = 1')";

const LINK_CHAIN = `
  let last;
  for (let i = 0; i < COUNT; i += 1) {
    const module = isolate.compileModuleSync(i === 0 ? 'export let a = 1' : 'export * from "last"');
    const before = last;
    module.instantiateSync(context, () => before);
    last = module;
  }`;

describe('a guest that makes V8 recurse endlessly loses its isolate', { skip: !LINUX && 'elsewhere the process ends' }, () => {
  const loses = (name, code, options) => test(name, () => passes(`${LOST}
    const error = await errorOf(async () => { ${code} });
    assert.equal(error.code, 'ERR_ISOLATE_MEMORY', error.stack);
    await lost(1);
    otherWorks();`, { timeout: 60_000, ...options }));

  loses('by re-exports of a module, linked at once', `
    const module = isolate.compileModuleSync(${reexports(DEEP)});
    module.instantiateSync(context, () => module);`);
  loses('by re-exports of a module, linked asynchronously', `
    const module = await isolate.compileModule(${reexports(DEEP)});
    await module.instantiate(context, () => module);`);
  loses('by a name that a chain of modules does not have', `
    ${LINK_CHAIN.replace('COUNT', '45_000')}
    isolate.compileModuleSync('import { zz } from "last"').instantiateSync(context, () => last);`);
  loses('by names in scopes of `with`', `await context.eval(${JSON.stringify(WITHS)}, { timeout: 50_000 });`);
  // At each depth, a module that awaits something begins.
  const DEEP_AWAITS = `
    let last;
    for (let i = 0; i < 4_000; i += 1) {
      const found = { last, awaits: isolate.compileModuleSync('await 1') };
      const module = isolate.compileModuleSync('import "awaits"' + (i === 0 ? '' : '; import "last"'));
      module.instantiateSync(context, (specifier) => found[specifier]);
      last = module;
    }`;
  loses('by imports of modules that await, evaluated at once', `${DEEP_AWAITS}
    last.evaluateSync();`);
  loses('by imports of modules that await, evaluated asynchronously', `${DEEP_AWAITS}
    await last.evaluate();`);
  loses('by a function of the host that evaluates such modules, called at the end of the stack', `
    const modules = Array.from({ length: 500 }, () => {
      const module = isolate.compileModuleSync('await 1');
      module.instantiateSync(context, () => {});
      return module;
    });
    context.global.setSync('next', new ivm.Callback(() => { modules.pop().evaluateSync(); }));
    context.evalSync(${JSON.stringify(`const down = () => {
      let left = 0;
      try { left = down(); } catch {}
      if (left < 400) { try { next(); } catch {} }
      return left + 1;
    }; down(); 0`)}, { timeout: 50_000 });`);
  test('every time', () => passes(`${LOST}
    for (let i = 1; i <= 4; i += 1) {
      const other = new ivm.Isolate();
      const module = other.compileModuleSync(${reexports(DEEP)});
      assert.throws(() => module.instantiateSync(other.createContextSync(), () => module), { code: 'ERR_ISOLATE_MEMORY' });
      await lost(i);
    }
    otherWorks();`, { timeout: 60_000 }));

  test('in a sandbox', () => passes(`
    const sandbox = ivm.createSandbox({}, { timeout: 50_000 });
    const { failure } = await sandbox.execute('return new Function(' + JSON.stringify(${JSON.stringify(WITHS)}) + ')()');
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY');
    assert.equal((await sandbox.execute('return 6 * 7')).result, 42);
    otherWorks();`, { timeout: 60_000 }));
});

describe('code that recurses less deeply is unaffected', () => {
  test('re-exports, chains of modules and scopes', () => passes(`
    const module = isolate.compileModuleSync(${reexports(2_000)});
    module.instantiateSync(context, () => module);
    ${LINK_CHAIN.replace('COUNT', '2000')}
    assert.throws(() => isolate.compileModuleSync('import { zz } from "last"').instantiateSync(context, () => last), SyntaxError);
    assert.equal(context.evalSync(${JSON.stringify(WITHS.replace('2_500', '20'))}), 1);
    assert.equal(context.evalSync('let depth = 0; const down = () => { depth += 1; down(); }; try { down(); } catch (error) { error.name }'), 'RangeError');`));

  test("faults of the host's own WebAssembly are its errors", () => passes(`
    assert.equal(context.evalSync('1'), 1);
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 97, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11]);
    const { a } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    assert.equal(a(0), 0);
    for (let i = 0; i < 3; i += 1) assert.throws(() => a(0x7fff0000), WebAssembly.RuntimeError);`));

  // Deno's own handler takes the first one.
  test('a SIGSEGV with another cause ends the host', { skip: !LINUX && 'POSIX' }, async () => {
    const result = await run("new ivm.Isolate().createContextSync().evalSync('1'); const again = setInterval(() => process.kill(process.pid, 'SIGSEGV'), 100); setTimeout(() => { console.log('alive'); clearInterval(again); }, 2_000);");
    assert.ok(result.code !== 0 || result.signal !== null, JSON.stringify(result));
    assert.doesNotMatch(result.stdout, /alive/);
  });
});
