// Modules that guest code compiles, in an isolate that it has a handle on: the same surface, on the other side.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

/** Runs the body of an async function in a guest that has `isolate` and `context`, handles on its own isolate. */
async function inGuest(code) {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.evalClosureSync('globalThis.isolate = $0; globalThis.context = $1', [isolate, context]);
  try {
    // With a deadline, the promise keeps the event loop alive while only the guest works.
    return await context.evalClosure(`return (async () => { ${code} })()`, [], { deadline: 20_000, result: { promise: true, copy: true } });
  } finally {
    isolate.dispose();
  }
}

test('`meta` fills import.meta, once', async () => {
  assert.deepEqual(await inGuest(`
    let calls = 0;
    const module = isolate.compileModuleSync('export default import.meta.url; export const same = import.meta', {
      meta: (meta, ...rest) => { calls += 1; meta.url = 'pass' + rest.length; },
    });
    module.instantiateSync(context, () => {});
    module.evaluateSync();
    const namespace = module.namespace.deref();
    return [namespace.default, namespace.same.url, calls];
  `), ['pass0', 'pass0', 1]);
});

test('errors of `meta` are thrown at import.meta', async () => {
  assert.equal(await inGuest(`
    const module = isolate.compileModuleSync('export let message; try { import.meta } catch (error) { message = error.message }', {
      meta() { throw new RangeError('no meta'); },
    });
    module.instantiateSync(context, () => {});
    module.evaluateSync();
    return module.namespace.deref().message;
  `), 'no meta');
});

test('modules link, evaluate and import', async () => {
  assert.deepEqual(await inGuest(`
    const sources = {
      a: 'import { b } from "b"; import { c } from "c"; export const sum = b + c; export const later = import("d", { with: { type: "x" } })',
      b: 'import "a"; export const b = 1',
      c: 'await 0; export const c = 2',
      d: 'import { c } from "c"; export const d = c * 10',
    };
    const modules = {};
    const asked = [];
    for (const name of Object.keys(sources)) modules[name] = await isolate.compileModule(sources[name]);
    const resolve = (specifier, referrer, attributes) => {
      asked.push(specifier + (referrer === modules.a) + JSON.stringify(attributes));
      return modules[specifier];
    };
    await modules.a.instantiate(context, async (...args) => resolve(...args));
    await modules.a.evaluate({ promise: true });
    const namespace = modules.a.namespace.deref();
    const { d } = await namespace.later;
    return [namespace.sum, d, modules.a.dependencySpecifiers, asked];
  `), [3, 20, ['b', 'c'], ['btrue{}', 'ctrue{}', 'afalse{}', 'dtrue{"type":"x"}', 'cfalse{}']]);
});

test('host and guest do not link the same module at once', () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const module = isolate.compileModuleSync('import "x"');
  const dependency = isolate.compileModuleSync('export const a = 1');
  const taken = context.evalClosureSync(`
    globalThis.module = $0;
    globalThis.tell = $2;
    return () => { try { module.instantiateSync($1, () => {}); } catch (error) { return error.message; } };
  `, [module, context, () => {}]);
  let message;
  module.instantiateSync(context, () => {
    message = taken();
    return dependency;
  });
  assert.equal(message, 'Module is currently being linked by another linker');
  module.evaluateSync();
  isolate.dispose();
});
