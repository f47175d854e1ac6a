// Isolates of this library that end by themselves while they are disposed of.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';

const require = createRequire(import.meta.url);
const { disposeOf } = require('../../../surface/host/sandbox/common/disposal.js');
const { createStripper } = require('../../../surface/host/sandbox/common/typescript.js');
const { Matcher } = require('../../../surface/host/sandbox/tools/patterns.js');

const failed = Object.assign(new Error('Isolate was disposed during execution due to memory limit'), { code: 'ERR_ISOLATE_MEMORY' });

/** An isolate that ends when `dispose` is called, before that call has an effect. Calls in it fail. */
function ending() {
  let isDisposed = false;
  const call = { apply: async () => { throw failed; } };
  return {
    get isDisposed() { return isDisposed; },
    dispose() {
      isDisposed = true;
      throw Object.assign(new Error('Isolate is already disposed'), { code: 'ERR_ISOLATE_DISPOSED' });
    },
    createContext: async () => ({ eval: async () => call }),
  };
}

test('one that ends in between is no error', () => {
  disposeOf(ending());
  let calls = 0;
  disposeOf({ isDisposed: true, dispose() { calls += 1; } });
  disposeOf({ isDisposed: false, dispose() { calls += 1; } });
  assert.equal(calls, 1);
  assert.throws(() => disposeOf({ isDisposed: false, dispose() { throw failed; } }), failed);
});

test('the failure of a match, and of the removal of types, is that of the call', async () => {
  const unhandled = [];
  const listen = (reason) => { unhandled.push(reason); };
  process.on('unhandledRejection', listen);
  const matcher = new Matcher(ending);
  await assert.rejects(matcher.match({ source: 'a', flags: '' }, 'a', Infinity), { code: 'ERR_ISOLATE_LIMIT' });
  const other = new Matcher(ending);
  const match = assert.rejects(other.match({ source: 'a', flags: '' }, 'a', Infinity), failed);
  other.end();
  await match;
  const [{ failure }] = await createStripper(ending)([{ text: '1', line: 0, column: 0 }], 1_000, undefined);
  assert.deepEqual([failure.code, failure.value], [failed.code, `TypeScript types cannot be removed: ${failed.message}`]);
  await setImmediate();
  await setImmediate();
  process.off('unhandledRejection', listen);
  assert.deepEqual(unhandled, []);
});
