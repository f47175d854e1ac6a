// `ivm.lib` inside isolates.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';

test('`lib` is available in the module, and by itself', () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.global.setSync('lib', ivm.lib);
  context.global.setSync('ivm', ivm);
  assert.deepEqual(context.evalSync(`(() => {
    const outcomeOf = (call) => { try { return call(); } catch (error) { return error.name + ' ' + error.code + ' ' + error.message; } };
    const room = new ivm.Isolate().createContextSync();
    const since = lib.hrtime();
    const [seconds, nanoseconds] = lib.hrtime(since);
    const symbol = lib.privateSymbol('name');
    return [
      lib === ivm.lib, room.evalClosureSync('return $0.hrtime().length', [lib]), room.evalClosureSync('return $0', [lib]) === lib, Object.keys(ivm).join(),
      seconds === 0 && nanoseconds > 0, since.every(Number.isInteger), typeof symbol, symbol === lib.privateSymbol('name'), ({ [symbol]: 1 })[symbol],
      outcomeOf(() => lib.hrtime(1)), outcomeOf(() => lib.hrtime([1])), outcomeOf(() => lib.privateSymbol(1)), outcomeOf(() => new lib.constructor()), Object.isFrozen(lib),
    ];
  })()`, { copy: true }), [
    true, 2, true, 'lib', true, true, 'symbol', false, 1, 'TypeError ERR_INVALID_ARG `undefined` requires parameter 1 to be an array',
    'TypeError ERR_INVALID_ARG hrtime diff must be 2-length array', 'TypeError ERR_INVALID_ARG `undefined` requires parameter 1 to be a string',
    'TypeError ERR_INVALID_ARG `Lib` constructor is private', true,
  ]);
  assert.equal(context.evalSync('lib'), ivm.lib);
  isolate.dispose();
});

test('`testHang` and `testOOM` end as guests do', () => passes(`
  context.global.setSync('lib', ivm.lib);
  assert.equal(syncError(() => context.evalSync('lib.testHang()', { timeout: 50 })).code, 'ERR_ISOLATE_TIMEOUT');
  assert.equal(context.evalSync('6 * 7'), 42);
  assert.equal(syncError(() => context.evalSync('lib.testOOM()', { timeout: 20_000 })).code, 'ERR_ISOLATE_MEMORY');
  assert.equal(isolate.isDisposed, true);
  otherWorks();
`, { options: '{ memoryLimit: 16 }' }));
