// Limits of a sync call apply to the calls that are made while it waits. The limits of such a call apply to no other.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const LENGTH = 20_000;
const LARGE = `Array.from({ length: ${LENGTH} }, (_, i) => ({ i, text: 'x' + i }))`;
const make = () => new ivm.Isolate({ memoryLimit: 64 }).createContextSync();

function spend(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** Makes a call with a deadline, and lets the deadline pass. */
function pass(context) {
  context.evalSync('1', { deadline: 1_000 });
  spend(1_100);
}

describe('the deadline of a call that has returned', () => {
  const [outer, inner] = [make(), make()];
  const within = (host) => outer.evalClosureSync('return $0()', [host]);

  test('does not stop the reading of a later result', () => {
    assert.equal(within(() => (pass(inner), inner.evalSync(LARGE, { copy: true }).length)), LENGTH);
  });

  test('does not stop the reading of arguments', () => {
    const host = (list) => list.length;
    assert.equal(within(() => (pass(inner), inner.evalClosureSync(`return $0(${LARGE})`, [host]))), LENGTH);
  });

  test('does not stop a call nested two levels deeper', () => {
    const read = () => inner.evalSync(LARGE, { copy: true }).length;
    assert.equal(within(() => (pass(inner), inner.evalClosureSync('return $0()', [read]))), LENGTH);
  });
});

test('the deadline of a waiting call stops the reading of results', () => {
  const [outer, inner] = [make(), make()];
  let caught;
  const host = () => {
    inner.evalSync('1', { deadline: 60_000 });
    spend(600);
    try {
      inner.evalSync(LARGE, { copy: true });
    } catch (error) {
      caught = error;
    }
  };
  assert.throws(() => outer.evalClosureSync('$0()', [host], { deadline: 500 }), { code: 'ERR_ISOLATE_DEADLINE' });
  assert.equal(caught?.code, 'ERR_ISOLATE_DEADLINE');
});
