// Handles in messages that a host does not read are released at once. A guest may hand out 131,072, so that it would be refused more.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm, withContext } from '../../api/ivm.mjs';

const CALLS = 70;
const HANDLES = 2_000;

/** In the guest: new handles, and a value with such handles behind a part that hosts refuse. */
const PRELUDE = `
  const handles = () => Array.from({ length: ${HANDLES} }, () => new ivm.Reference({}));
  const refused = () => [new RegExp('a'.repeat(40_000)), ...handles()];
  const messageOf = (call) => { try { call(); return 'none'; } catch ({ message }) { return message; } };`;
const REFUSED = /^Unable to deserialize cloned data: a regular expression that takes too long to make/;

/** @param {(context: any) => Promise<void>} body */
const withHandles = (body) => withContext(async ({ context }) => {
  context.global.setSync('ivm', ivm);
  context.evalSync(PRELUDE);
  await body(context);
});

test('in arguments that are refused', () => withHandles(async (context) => {
  context.global.setSync('target', new ivm.Reference(() => assert.fail('it was called')));
  for (let call = 0; call < CALLS; call += 1) {
    assert.match(context.evalSync('messageOf(() => target.applySync(undefined, [refused()], { arguments: { copy: true } }))'), REFUSED);
  }
}));

test('in arguments behind one that is refused', () => withHandles(async (context) => {
  context.global.setSync('target', new ivm.Reference(() => assert.fail('it was called')));
  for (let call = 0; call < CALLS; call += 1) {
    assert.match(context.evalSync(`messageOf(() => {
      const [expression, ...rest] = refused();
      target.applySync(undefined, [new ivm.ExternalCopy(expression).copyInto(), ...rest]);
    })`), REFUSED);
  }
}));

test('in arguments of what is no function', () => withHandles(async (context) => {
  context.global.setSync('target', new ivm.Reference({}));
  for (let call = 0; call < CALLS; call += 1) {
    assert.equal(context.evalSync('messageOf(() => target.applySync(undefined, handles()))'), 'Reference is not a function');
  }
}));

test('in arguments behind one that some hosts cannot make', () => withHandles(async (context) => {
  const received = [];
  context.global.setSync('target', new ivm.Reference((...values) => { received.push(typeof values.at(-1)); }));
  const message = context.evalSync('messageOf(() => target.applySync(undefined, [1n << 1_100_000n]))');
  if (message === 'none') return assert.deepEqual(received, ['bigint']);
  assert.equal(message, 'The value could not be brought into the host');
  for (let call = 0; call < CALLS; call += 1) {
    assert.equal(context.evalSync('messageOf(() => target.applySync(undefined, [1n << 1_100_000n, ...handles()]))'), message);
  }
  return assert.deepEqual(received, []);
}));

/** @param {any} context */
function checkRoom(context) {
  context.global.setSync('taker', new ivm.Reference(() => {}));
  assert.equal(context.evalSync('messageOf(() => taker.applySync(undefined, [new ivm.Reference({})]))'), 'none');
}

test('in results that are refused', () => withHandles(async (context) => {
  for (let call = 0; call < CALLS; call += 1) {
    assert.throws(() => context.evalSync('refused()', { copy: true }), { message: REFUSED });
  }
  checkRoom(context);
}));

test('in results of asynchronous calls that are refused', () => withHandles(async (context) => {
  for (let call = 0; call < CALLS; call += 1) {
    await assert.rejects(context.eval('refused()', { copy: true }), { message: REFUSED });
  }
  checkRoom(context);
}));
