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

  test('and handles are limited in number, however few of them there are outside of copies', () => passes(`${SEND}
    const tooMany = { name: 'RangeError', message: /^A value may have 8192 handles, functions, buffers and copies, with those inside the copies\\. All arguments of a call together have/ };
    context.global.setSync('host', new ivm.Reference({}));
    context.global.setSync('note', new ivm.Callback((...lists) => { noted = lists.map((list) => list.length); }));
    context.global.setSync('later', new ivm.Callback(() => {}, { async: true }));
    let noted;
    context.evalSync(\`
      // Each level has four of the one below.
      const levels = (count) => { let copy = new ivm.ExternalCopy({}); for (let level = 0; level < count; level += 1) copy = new ivm.ExternalCopy(listOf(copy, 4)); return copy; };
      const many = (count, make) => Array.from({ length: count }, make);
      const moved = (count) => { const buffers = many(count, () => new ArrayBuffer(1)); return new ivm.ExternalCopy(buffers, { transferList: buffers }); };
    \`);
    for (const code of ['levels(8)', '[1, listOf(levels(6), 4)]', 'listOf(copyOf(1), 8_193)', 'many(8_193, () => host.derefInto())', 'many(8_193, () => new ivm.Reference(1))', 'many(8_193, () => new SharedArrayBuffer(1))',
      'moved(8_193)', 'listOf(moved(4_096), 2)', 'note(listOf(levels(6), 2), listOf(levels(6), 2))', 'note(...many(3_000, () => many(6, () => host.derefInto())))', 'note(...many(3, () => levels(6).copyInto()), listOf(levels(6), 1))']) {
      assert.throws(() => context.evalSync(code, { copy: true }), tooMany, code);
      await assert.rejects(context.eval(code.replace('note', 'later'), { copy: true, promise: true }), tooMany, code);
    }
    assert.equal(context.evalSync('try { levels(8); } catch ({ code }) { code }'), 'ERR_ISOLATE_LIMIT');
    assert.throws(() => context.evalSync('[listOf(levels(6), 4)]', { copy: true }), { ...tooMany, code: 'ERR_ISOLATE_LIMIT' });
    const handles = context.evalSync('[...many(2_500, () => host.derefInto()), ...many(2_500, () => new ivm.Reference(1)), ...many(3_192, () => new SharedArrayBuffer(0))]', { copy: true });
    assert.equal(handles.length, 8_192);
    assert.equal(context.evalSync('listOf(levels(5), 2)', { copy: true }).flat(5).length, 2 * 4 ** 5);
    context.evalSync('note(listOf(levels(5), 1), listOf(levels(5), 1))');
    assert.deepEqual(noted, [1, 1]);
    assert.equal(context.evalSync('moved(8_000)', { copy: true }).copy().length, 8_000);`, { timeout: 60_000 }));

  test('have at most 64 MB together, unless there is only one', () => passes(`${SEND}
    const tooLarge = { name: 'RangeError', message: 'Several copies in a value, or in all arguments of a call, may have 64 MB', code: 'ERR_ISOLATE_LIMIT' };
    context.global.setSync('note', new ivm.Callback((...values) => values.length));
    context.evalSync('const text = new ivm.ExternalCopy(["x".repeat(10e6)]); const bytes = new ivm.ExternalCopy(new Uint8Array(70 << 20)); const nested = new ivm.ExternalCopy(listOf(text, 6));');
    for (const code of ['listOf(text, 7)', '[bytes.copyInto(), text.copyInto()]', 'listOf(nested, 2)']) assert.throws(() => context.evalSync(code, { copy: true }), tooLarge, code);
    assert.equal(context.evalSync('try { note(...listOf(text, 7)); } catch ({ message }) { message }'), tooLarge.message);
    assert.equal(context.evalSync('({ bytes: bytes.copyInto() })', { copy: true }).bytes.length, 70 << 20);
    assert.equal(context.evalSync('note(...listOf(text, 6))'), 6);
    assert.equal(context.evalSync('nested.copyInto()', { copy: true }).length, 6);`, { options: '{ memoryLimit: 256 }', timeout: 60_000 }));

  test('and promises of values are limited in bytes, and copies are counted in time that grows with their number', () => passes(`${SEND}
    context.global.setSync('host', new ivm.Reference((...values) => values.length));
    context.evalSync('const text = "x".repeat(10e6); const send = (count) => host.applySync(undefined, Array(count).fill(text), { arguments: { copy: true, promise: true } });');
    assert.throws(() => context.evalSync('send(60)'), { name: 'RangeError', message: /larger than/ });
    assert.equal(context.evalSync('send(3)'), 3);
    // The host gets no turn of its event loop meanwhile.
    const before = process.memoryUsage.rss();
    context.evalSync('for (let i = 0; i < 100; i += 1) send(1)');
    assert.ok(process.memoryUsage.rss() - before < 600e6, process.memoryUsage.rss() - before + ' bytes');
    context.evalSync('globalThis.wide = new ivm.ExternalCopy(Array.from({ length: 8_000 }, () => new ivm.Reference(1)))');
    assert.throws(() => context.evalSync('listOf(wide, 40_000)', { copy: true, timeout: 2_000 }), { name: 'RangeError' });
    assert.equal(context.evalSync('6 * 7'), 42);`, { timeout: 60_000 }));

  test('of primitive values are refused', () => passes(`${SEND}
    for (const value of ['null', 'undefined', '1', '"text"', 'true', '1n']) {
      const refused = { name: 'Error', code: 'ERR_ISOLATE_TRANSFER', message: /a copy of a primitive value inside another value$/ };
      assert.throws(() => context.evalSync('[new ivm.ExternalCopy(' + value + ').copyInto()]', { copy: true }), refused, value);
      await assert.rejects(context.eval('[new ivm.ExternalCopy(' + value + ').copyInto()]', { copy: true }), refused, value);
    }`));

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
