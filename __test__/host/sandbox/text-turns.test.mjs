// How much code is freed of its types at a time: that takes memory beside the limits of sandboxes.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';

const require = createRequire(import.meta.url);
const { guard } = require('../../../surface/host/calls/signals.js');
const { now } = require('../../../surface/host/clock.js');
const { createNormalizeCode } = require('../../../surface/host/sandbox/code/parser.js');
const { TextTurns } = require('../../../surface/host/sandbox/common/text-turns.js');

const LARGE = 3_000_000;
/** Deno's `node:vm` has no time limits. */
const onlyNode = { skip: (process.versions.bun !== undefined || globalThis.Deno !== undefined) && 'node:vm of Node is needed' };

/** Turns, and the work that has begun, which `finish` ends. */
function observed() {
  const turns = new TextTurns();
  const begun = new Map();
  return {
    begun,
    run: (name, characters, until = Infinity, signal = undefined) => turns.run(characters, until, signal, () => new Promise((resolve, reject) => { begun.set(name, { resolve, reject }); })),
    async finish(name, how = 'resolve') {
      const { [how]: end } = begun.get(name);
      begun.delete(name);
      end(name);
      await new Promise((resolve) => { setTimeout(resolve, 5); });
    },
    async names() {
      await Promise.resolve();
      return [...begun.keys()];
    },
  };
}

describe('large texts', () => {
  test('wait for each other, in their order, and small ones do not', async () => {
    const { run, finish, names } = observed();
    const all = ['a', 'b', 'c', 'd'].map((name) => run(name, LARGE));
    all.push(run('small', 100_000));
    assert.deepEqual(await names(), ['small', 'a', 'b']);
    await finish('b');
    assert.deepEqual(await names(), ['small', 'a', 'c']);
    await finish('a');
    assert.deepEqual(await names(), ['small', 'c', 'd']);
    for (const name of await names()) await finish(name);
    assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd', 'small']);
  });

  test('one that is larger than all may be is alone', async () => {
    const { run, finish, names } = observed();
    const all = [run('a', LARGE), run('huge', 100_000_000), run('b', LARGE)];
    assert.deepEqual(await names(), ['a']);
    await finish('a');
    assert.deepEqual(await names(), ['huge']);
    await finish('huge');
    assert.deepEqual(await names(), ['b']);
    await finish('b');
    await Promise.all(all);
  });

  test('one that fails, is aborted or comes too late makes room', async () => {
    const { run, finish, names } = observed();
    const controller = new AbortController();
    const failed = assert.rejects(run('failed', 8_000_000), (error) => error === 'failed');
    const aborted = run('aborted', LARGE, Infinity, guard(controller.signal));
    const late = run('late', LARGE, 0);
    const last = run('last', LARGE);
    controller.abort(new Error('mine'));
    await assert.rejects(aborted, /mine/);
    await assert.rejects(late, { code: 'ERR_ISOLATE_DEADLINE' });
    assert.deepEqual(await names(), ['failed']);
    await finish('failed', 'reject');
    await failed;
    assert.deepEqual(await names(), ['last']);
    await finish('last');
    assert.equal(await last, 'last');
    // Nothing is counted any more.
    const all = [run('a', LARGE), run('b', LARGE)];
    assert.deepEqual(await names(), ['a', 'b']);
    for (const name of await names()) await finish(name);
    await Promise.all(all);
  });

  test('one whose caller a time limit of node:vm has ended does not count forever', onlyNode, async () => {
    const turns = new TextTurns();
    let begun = 0;
    const work = async () => {
      begun += 1;
      for (const end = Date.now() + 50; Date.now() < end;);
    };
    const call = () => {
      turns.run(8_000_000, Infinity, undefined, work);
      for (;;);
    };
    assert.throws(() => runInNewContext('call()', { call }, { timeout: 20 }), /timed out/);
    await turns.run(8_000_000, now() + 10_000, undefined, work);
    assert.equal(begun, 2);
  });
});

test('normalizeCode parses one large text at a time, and an abort ends the wait', async () => {
  let [parsing, most] = [0, 0];
  const normalizeCode = createNormalizeCode(() => {
    parsing += 1;
    most = Math.max(most, parsing);
    return {
      isDisposed: false,
      async compileScript() {
        await new Promise((resolve) => { setTimeout(resolve, 5); });
        return { release() {} };
      },
      dispose() { parsing -= 1; },
    };
  });
  const large = `${'0,'.repeat(2_500_000)}0`;
  const controller = new AbortController();
  const all = [normalizeCode(large, { async: true }), normalizeCode(large, { async: true })];
  const aborted = assert.rejects(normalizeCode(large, { async: true, signal: controller.signal }), /mine/);
  controller.abort(new Error('mine'));
  await aborted;
  for (const text of await Promise.all(all)) assert.match(text, /^async \(\) => /);
  assert.deepEqual([parsing, most], [0, 1]);
  await Promise.all(['1', '2'].map((text) => normalizeCode(text, { async: true })));
  assert.deepEqual([parsing, most], [0, 2]);
});
