// The parts of isolated-vm's "parallel sum" are in flight at the same time: none of them ends before all have begun. They wait for each other
// in shared memory, so that they would never end one after another.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const COUNT = 4;
const END = 2 ** 20;

/** How the old document writes the parts: the name of the global Reference differs. */
const WAYS = { 'with globalReference()': (context) => context.globalReference(), 'with global': (context) => context.global };

function sum(from, to) {
  let total = 0;
  for (let number = from; number < to; ++number) total += number;
  return total;
}

/** Runs in each isolate. */
function inFlight(from, to) {
  Atomics.add(begun, 0, 1);
  while (Atomics.load(begun, 0) < count);
  return sum(from, to);
}

for (const [what, globalOf] of Object.entries(WAYS)) {
  test(`a sum on four threads ${what}`, async () => {
    const memory = new ivm.ExternalCopy(new SharedArrayBuffer(4));
    const isolates = [];
    const spans = await Promise.all(Array.from({ length: COUNT }, async (_, index) => {
      const isolate = new ivm.Isolate();
      isolates.push(isolate);
      const context = await isolate.createContext();
      const jail = globalOf(context);
      await jail.set('memory', memory.copyInto());
      await jail.set('count', COUNT);
      const script = await isolate.compileScript(`const begun = new Int32Array(memory); ${sum} ${inFlight}`);
      await script.run(context);
      const reference = await jail.get('inFlight', { reference: true });
      const before = performance.now();
      const total = await reference.apply(undefined, [END / COUNT * index, END / COUNT * (index + 1)], { timeout: 0, deadline: 60_000 });
      return { total, before, after: performance.now() };
    }));
    assert.equal(spans.reduce((all, { total }) => all + total, 0), sum(0, END));
    assert.ok(Math.max(...spans.map(({ before }) => before)) < Math.min(...spans.map(({ after }) => after)));
    for (const isolate of isolates) isolate.dispose();
  });
}

test('a function that is not asked for as a Reference is one of JavaScript, whose `apply` waits', async () => {
  const isolate = new ivm.Isolate();
  const context = await isolate.createContext();
  await context.eval('function twice(n) { return 2 * n }');
  const twice = await context.global.get('twice');
  assert.equal(twice.apply, Function.prototype.apply);
  assert.equal(twice.apply(undefined, [4]), 8);
  isolate.dispose();
});
