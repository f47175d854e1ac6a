// Modules decide how many imports they have. An asynchronous instantiation resolves them with turns of the event loop in between.

import test from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.js';

const IMPORTS = 100_000;
const MANY = Array.from({ length: IMPORTS }, (_, index) => `import"${index.toString(36)}";`).join('');

/** Counts turns of the event loop until `stop`. */
function countTurns() {
  const turns = { count: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => { turns.count += 1; }, 1);
  return turns;
}

/** @param {(isolate: any, context: any, resolver: () => any, seen: { first: number, last: number, calls: number }) => Promise<void>} use */
async function withIsolate(use) {
  const isolate = new ivm.Isolate();
  const turns = countTurns();
  try {
    const context = await isolate.createContext();
    const leaf = await isolate.compileModule('export default 1');
    const seen = { first: 0, last: 0, calls: 0 };
    const resolver = () => {
      if (seen.calls === 0) seen.first = turns.count;
      seen.calls += 1;
      seen.last = turns.count;
      return leaf;
    };
    await use(isolate, context, resolver, seen);
  } finally {
    turns.stop();
    if (!isolate.isDisposed) isolate.dispose();
  }
}

test('while many imports are resolved, the event loop gets turns', async () => {
  await withIsolate(async (isolate, context, resolver, seen) => {
    const module = await isolate.compileModule(MANY);
    await module.instantiate(context, resolver);
    assert.equal(seen.calls, IMPORTS);
    assert.ok(seen.last - seen.first >= 1, `${seen.last - seen.first} turns`);
    await module.evaluate();
  });
});

test('the same with promises, and for a dynamic import', async () => {
  await withIsolate(async (isolate, context, resolver, seen) => {
    const many = await isolate.compileModule(MANY);
    const module = await isolate.compileModule('globalThis.load = () => import("many")');
    await module.instantiate(context, async (specifier) => (specifier === 'many' ? many : resolver()));
    await module.evaluate();
    await context.eval('load().then(() => 1)', { promise: true });
    assert.equal(seen.calls, IMPORTS);
    assert.ok(seen.last - seen.first >= 1, `${seen.last - seen.first} turns`);
  });
});

test('a signal ends an instantiation between two turns', async () => {
  await withIsolate(async (isolate, context, resolver, seen) => {
    const module = await isolate.compileModule(MANY);
    const controller = new AbortController();
    const resolve = () => {
      if (seen.calls === 0) setImmediate(() => controller.abort(new Error('enough')));
      return resolver();
    };
    await assert.rejects(module.instantiate(context, resolve, { signal: controller.signal }), /enough/);
    assert.ok(seen.calls < IMPORTS, `${seen.calls} calls`);
    // The modules are free again.
    await module.instantiate(context, resolver);
  });
});

test('disposal of the isolate and an error of the resolver also end it', async () => {
  await withIsolate(async (isolate, context, resolver, seen) => {
    const module = await isolate.compileModule(MANY);
    let calls = 0;
    await assert.rejects(module.instantiate(context, () => {
      calls += 1;
      if (calls === IMPORTS - 1) throw new Error('not this one');
      return resolver();
    }), /not this one/);
    const before = seen.calls;
    await assert.rejects(module.instantiate(context, () => {
      if (seen.calls === before) setImmediate(() => isolate.dispose());
      return resolver();
    }), { code: 'ERR_ISOLATE_DISPOSED' });
    assert.ok(seen.calls - before < IMPORTS, `${seen.calls} calls`);
  });
});
