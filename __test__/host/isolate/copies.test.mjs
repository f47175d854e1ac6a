// Copies (`ExternalCopy.copyInto()`) inside a value that a guest sends.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** A guest makes a copy of many objects, and a list with it in several places. */
const SEND = `
  context.global.setSync('ivm', ivm);
  context.evalSync(\`
    const copyOf = (objects) => new ivm.ExternalCopy(Array.from({ length: objects }, (_, index) => ({ index })));
    const listOf = (copy, count) => Array.from({ length: count }, () => copy.copyInto());
  \`);`;

describe('copies inside a value', () => {
  test('are read, and are objects of their own', () => passes(`${SEND}
    const list = context.evalSync('{ const copy = copyOf(2); [listOf(copy, 2), copy.copyInto()] }', { copy: true });
    assert.deepEqual(list, [[[{ index: 0 }, { index: 1 }], [{ index: 0 }, { index: 1 }]], [{ index: 0 }, { index: 1 }]]);
    assert.notEqual(list[0][0], list[0][1]);
    assert.deepEqual(await context.eval('({ here: copyOf(1).copyInto(), map: new Map([[1, copyOf(1).copyInto()]]) })', { copy: true }), { here: [{ index: 0 }], map: new Map([[1, [{ index: 0 }]]]) });`));

  test('take the memory that one value may take', () => passes(`${SEND}
    const taken = [];
    context.global.setSync('note', new ivm.Callback((list) => { taken.push(list.length); }));
    context.global.setSync('later', new ivm.Callback((list) => { taken.push(list.length); }, { async: true }));
    // Some 300 bytes for each map.
    context.evalSync('const maps = new ivm.ExternalCopy(Array.from({ length: 40_000 }, () => new Map()))');
    assert.throws(() => context.evalSync('listOf(maps, 50)', { copy: true }), { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: /too much memory/ });
    await assert.rejects(context.eval('later(listOf(maps, 50))', { promise: true }), { name: 'RangeError', message: /too much memory/ });
    context.evalSync('note(listOf(copyOf(1000), 3))');
    assert.deepEqual(taken, [3]);`, { timeout: 60_000 }));

  test('are read in slices', () => passes(`${SEND}
    let turns = 0;
    let isRead = false;
    context.global.setSync('later', new ivm.Callback((list) => { isRead = list.length === 2; }, { async: true }));
    const count = () => { turns += 1; if (!isRead) setImmediate(count); };
    context.global.setSync('begin', new ivm.Callback(count, { ignored: true }));
    await context.eval('{ const list = listOf(copyOf(300_000), 2); begin(); later(list) }', { promise: true });
    assert.ok(isRead && turns > 2, turns + ' turns');`));

  test('are no more than 64 in each other', () => passes(`
    context.global.setSync('ivm', ivm);
    assert.equal(context.evalSync(\`
      let copy = new ivm.ExternalCopy([]);
      let depth = 1;
      try {
        for (;; depth += 1) copy = new ivm.ExternalCopy([copy.copyInto()]);
      } catch (error) {
        globalThis.text = error.code + ' ' + error.message;
      }
      depth\`), 64);
    assert.equal(context.evalSync('text'), 'ERR_ISOLATE_LIMIT Copies are nested too deeply: the limit is 64 levels');
    const depthOf = (value) => (value.length === 0 ? 1 : 1 + depthOf(value[0]));
    assert.equal(depthOf(context.evalSync('copy', { copy: true }).copy()), 64);
    assert.equal(depthOf(context.evalSync('[copy.copyInto()]', { copy: true })), 65);
    assert.throws(() => new ivm.ExternalCopy([context.evalSync('copy', { copy: true }).copyInto()]), { code: 'ERR_ISOLATE_LIMIT' });`));
});
