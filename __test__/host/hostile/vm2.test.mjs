// Escapes from vm2, from its published advisories and its own tests: the idea of each, adapted to what guests get here. None may reach an
// object of the host, reveal the location of the host, change the host's prototypes, or end the process.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { WALKER } from '../../hostile-values/walker.mjs';
import { ATTEMPTS, REJECTIONS } from '../../hostile/vm2-attempts.mjs';

/** What the host offers. It can be asked to throw, to return its argument, or to call it. */
function host(how, value) {
  if (how === 'throw') throw Object.assign(new TypeError('of the host'), { process, value });
  if (how === 'aggregate') throw new AggregateError([new Error('one'), { process }], 'all', { cause: process });
  if (how === 'call' && typeof value === 'function') return value(process);
  if (how === 'construct' && typeof value === 'function') return new value(process);
  if (how === 'method') return value?.a?.(process);
  if (how === 'buffer') return Buffer.from('a part of the pool');
  return value;
}
const later = async (how) => {
  if (how === 'reject') throw Object.assign(new RangeError('of the host'), { process });
  return Object.assign(Object.create(null), { text: 'text', nested: { list: [1] } });
};

const body = (code) => `
  const globalThis_ = (0, eval)('this');
  const walk = ${WALKER};
  const { defineProperty } = Object;
  const reached = { __proto__: null };
  let number = 0;
  const leaks = [];
  const { push } = leaks;
  const leak = (what) => { leaks.push = push; leaks.push(what); };
  const reach = (value) => { defineProperty(reached, number++, { __proto__: null, value, configurable: true }); return value; };
  // Messages name what the guest has imported.
  const reachWithout = (name) => (error) => {
    for (const key of ['message', 'stack']) defineProperty(error, key, { __proto__: null, value: error[key].split(name).join('') });
    return reach(error);
  };
  try { await (async () => { ${code} })(); } catch (error) { reach(error); }
  const { findings, count } = walk({ reached });
  return [[...leaks, ...findings].join('; '), count, typeof globalThis_.process, typeof globalThis_.require];`;

/** The host's own objects were not changed. */
function assertUntouched() {
  assert.equal({}.polluted, undefined);
  assert.equal(String({}), '[object Object]');
  assert.equal([].polluted ?? (() => {}).polluted ?? new Error('m').polluted, undefined);
}

function assertNothing([findings, count, ...types]) {
  assert.equal(findings, '');
  assert.ok(count > 0);
  assert.deepEqual(types, ['undefined', 'undefined']);
  assertUntouched();
}

for (const [what, code] of Object.entries(ATTEMPTS)) {
  describe(what, () => {
    test('in a context', async () => {
      const isolate = new ivm.Isolate({ memoryLimit: 64 });
      const context = isolate.createContextSync();
      context.global.setSync('host', host);
      context.global.setSync('laterReference', new ivm.Reference(later));
      context.global.setSync('log', (...all) => all.length);
      const result = await context.evalClosure(`
        const given = $0;
        const reference = laterReference;
        const later = (how) => reference.apply(undefined, [how], { arguments: { copy: true }, result: { promise: true, copy: true } });
        globalThis.console = { log };
        return (async () => { ${body(code)} })();`, [{ a: { b: [1] } }], { arguments: { copy: true }, result: { promise: true, copy: true }, deadline: 20_000 });
      assertNothing(result);
      isolate.dispose();
    });

    test('in a sandbox', async () => {
      const sandbox = ivm.createSandbox({ host, given: { a: { b: [1] } }, later }, { timeout: 20_000, memoryLimit: 64 });
      // There, a host function returns what its promise resolves to.
      const { result, error } = await sandbox.execute(`async () => { const inner = later; { const later = async (how) => inner(how); ${body(code)} } }`);
      assert.equal(error, undefined);
      assertNothing(result);
    });
  });
}

test('GHSA-hw58-p9xv-2mjh: unhandled rejections stay in the guest', async () => {
  let unhandled = 0;
  const count = () => (unhandled += 1);
  process.on('unhandledRejection', count);
  const sandbox = ivm.createSandbox({ host }, { timeout: 20_000 });
  for (const code of REJECTIONS) {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    // A call reports unhandled rejections, as in isolated-vm.
    await context.eval(`${code}; 0`, { deadline: 20_000 }).then(() => assert.fail(`no error was reported for ${code}`), () => {});
    assert.equal(await context.eval('1 + 1'), 2);
    isolate.dispose();
    await sandbox.execute(`async () => { ${code}; return 1; }`);
    assert.equal((await sandbox.execute('async () => 2')).result, 2);
  }
  // Hosts report a rejection when their own microtasks are done.
  await new Promise((resolve) => setTimeout(resolve));
  process.off('unhandledRejection', count);
  assert.equal(unhandled, 0);
});

// vm2's nesting: the host may pass the library in. What a guest makes with it belongs to the guest, and has from the host only what the
// guest was given.
test('isolates that a guest creates are as isolated as its own', async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  context.global.setSync('host', host);
  const result = await context.evalClosure(`return (async () => {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const context = await isolate.createContext();
    await context.global.set('host', host);
    await context.global.set('log', (...all) => all.length);
    return context.evalClosure(${JSON.stringify(`
      globalThis.console = { log };
      const given = { a: 1 };
      const later = async (how) => host(how === 'reject' ? 'throw' : 'return', {});
      return (async () => { ${body(`
        if ('ivm' in globalThis_) leak('the library');
        for (const how of ['throw', 'aggregate', 'buffer', 'return']) try { reach(host(how, { a: 1 })); } catch (error) { reach(error); }
        for (const name of ['fs', 'isolated-v8', './index.js']) await import(name).then(() => leak(name), reach);
      `)} })();`)}, [], { arguments: { copy: true }, result: { promise: true, copy: true } });
  })()`, [], { result: { promise: true, copy: true }, deadline: 20_000 });
  assertNothing(result);
  isolate.dispose();
});
