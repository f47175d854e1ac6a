// The host's memory for a guest's unanswered calls. The guest is charged for the size in the host, not for the size of the message.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** A list of very many empty objects: three bytes each in the message, dozens in the host. */
const SEND = `
  const list = Array.from({ length: 30_000 }, () => ({}));
  globalThis.results = { refused: undefined };
  globalThis.flood = (send) => {
    for (let index = 0; index < 400; index += 1) {
      send(list).then(() => {}, (error) => { results.refused ??= error.message; });
    }
  };
`;

const MESSAGE = 'Too many calls are waiting for an answer';
const MEGABYTE = 2 ** 20;

const PRELUDE = `
  globalThis.gc ??= () => Bun.gc(true);
  const held = [];
  let answer;
  const answered = new Promise((resolve) => { answer = resolve; });
  const keep = (value) => { held.push(value); return answered; };
  const resident = () => { gc(); return process.memoryUsage().rss; };
  const SEND = ${JSON.stringify(SEND)};
  const before = resident();
  /** The host has received everything that it will receive. */
  const settled = async () => {
    for (let last = -1, since = ms(); last !== held.length || held.length === 0 || ms() - since < 500;) {
      if (last !== held.length) since = ms();
      last = held.length;
      await sleep(50);
    }
  };
  const check = () => {
    const kept = Math.round((resident() - before) / ${MEGABYTE});
    assert.ok(held.length > 5 && held.length < 60, held.length + ' lists');
    assert.ok(kept < 220, kept + ' MB for ' + held.length);
  };
`;

/** @param {string} code */
const bounded = (code) => passes(`${PRELUDE}${code}`, { options: '{ memoryLimit: 8 }', collects: true, timeout: 60_000 });

describe('are bounded', () => {
  test('calls by References applied for a promise, until it has settled', () => bounded(`
    await context.eval(SEND);
    await context.global.set('reference', new ivm.Reference(keep));
    await context.global.set('ivm', ivm);
    await context.eval('flood((list) => reference.apply(undefined, [list], { arguments: { copy: true }, result: { promise: true } }))');
    await settled();
    check();
    assert.equal(await context.eval('results.refused'), ${JSON.stringify(MESSAGE)});
    held.length = 0;
    answer(1);
    // Answered calls are free.
    const again = 'flood((list) => reference.apply(undefined, [list.slice(0, 20_000)], { arguments: { copy: true }, result: { promise: true } }))';
    for (const until = ms() + 10_000; held.length === 0 && ms() < until;) {
      await sleep(100);
      await context.eval(again);
    }
    await settled();
    assert.ok(held.length > 0);`));

  test('calls of tools of IsolatedVMSandbox', () => bounded(`
    const sandbox = new ivm.IsolatedVMSandbox({ timeout: 3_000, memoryLimit: 8 });
    const running = sandbox.execute(SEND + 'flood((list) => a.b({ list })); await new Promise(() => {});',
      [{ name: 'a:b', description: '' }], (name, params) => keep(params)).catch((error) => error);
    await settled();
    check();
    answer(1);
    await running;`));
});

describe('is accepted', () => {
  test('one large value at a time, many times', () => passes(`
    let bytes = 0;
    const take = new ivm.Callback((value) => { bytes += value.length; }, { async: true });
    const code = 'const text = "a".repeat(2 ** 21); for (let index = 0; index < 60; index += 1) await $0(text);'
      + 'for (let index = 0; index < 60; index += 1) await $0(new Uint8Array(2 ** 21));'
      + 'for (let index = 0; index < 60; index += 1) await $0(Array.from({ length: 20_000 }, () => ({ index })));';
    await context.evalClosure('return (async () => {' + code + '})()', [take], { result: { promise: true } });
    assert.equal(bytes, 60 * (2 ** 22 + 20_000));`, { options: '{ memoryLimit: 8 }', timeout: 60_000 }));
});

for (const [what, end] of Object.entries({
  // Longer than the deadline plus the time that the guest needs to stop.
  'has passed its deadline': 'block(700);',
  'was aborted': 'block(50); controller.abort(); block(500);',
  'was ended with its isolate': 'block(50); isolate.dispose(); block(500);',
})) {
  test(`a function of the host is not called for a call that ${what} before the host has time`, () => passes(`
    const sent = new Int32Array(new SharedArrayBuffer(4));
    let calls = 0;
    for (const ask of ['ask.applySync()', 'ask.applySyncPromise()', 'call()']) {
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      const controller = new AbortController();
      const call = () => { calls += 1; };
      context.global.setSync('sent', new ivm.ExternalCopy(sent.buffer).copyInto());
      context.global.setSync('ask', new ivm.Reference(call));
      context.global.setSync('call', call);
      Atomics.store(sent, 0, 0);
      const ended = errorOf(() => context.eval('Atomics.store(new Int32Array(sent), 0, 1); ' + ask, { deadline: 200, signal: controller.signal }));
      while (Atomics.load(sent, 0) === 0) block(1);
      ${end}
      const error = await ended;
      assert.ok(error.name === 'AbortError' || /DEADLINE|DISPOSED/.test(error.code), error.stack);
      await sleep(20);
      assert.equal(calls, 0, ask);
      if (!isolate.isDisposed) assert.equal(await context.eval('1 + 1'), 2);
    }`));
}
