// What signals do that tools of agent frameworks get.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { gate } from './tool-helper.mjs';
import { until } from './plugin-helper.mjs';
import { host } from '../harness.mjs';

const forever = new Promise(() => {});

/**
 * @param {(spy: (signal: AbortSignal, id: string) => unknown, options: object) => (code: string, signal?: AbortSignal) => Promise<unknown>} create
 *   a tool that runs code, with a tool `spy`, which the function is; each call has the id `one`
 */
export function testSignals(create) {
  /** Runs code until it calls a tool whose call does not settle. */
  async function started(code, { options, signal } = {}) {
    const called = gate();
    const signals = [];
    const outcome = create((given, id) => {
      assert.equal(id, 'one');
      signals.push(given);
      called.open();
      return forever;
    }, options)(code, signal);
    outcome.catch(() => {});
    await called.promise;
    const [given] = signals;
    return { outcome, given };
  }

  test('a tool learns that its call is over: at the timeout, and at the end of the code', async () => {
    for (const [code, options, expected] of [['await tools.spy({})', { timeout: 1_000 }, 'ERR_ISOLATE_DEADLINE'], ['void tools.spy({}); return 1', {}, 'ERR_ISOLATE_ABORTED']]) {
      const { outcome, given } = await started(code, { options });
      await outcome;
      await until(() => given.aborted);
      assert.deepEqual([given.reason.name, given.reason.code], ['AbortError', expected]);
    }
  });

  test('an abort reaches a tool at once, also if the code does not stop', async () => {
    const controller = new AbortController();
    const { outcome, given } = await started('tools.spy({}); for (;;);', { signal: controller.signal });
    assert.equal(given.aborted, false);
    const reason = new Error('enough');
    controller.abort(reason);
    assert.equal(given.reason, reason);
    await Promise.allSettled([outcome]);
  });

  test('the signal of a call that has settled does not abort, and the signal of the caller has no listeners left', async () => {
    const controller = new AbortController();
    const signals = [];
    const run = create((given) => { signals.push(given); return 'done'; });
    for (let round = 0; round < 3; round += 1) await run('return [await tools.spy({}), await tools.spy({})]', controller.signal);
    if (host !== 'deno') assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
    controller.abort();
    assert.deepEqual(signals.map(({ aborted }) => aborted), Array(6).fill(false));
  });

  test('a listener that throws does not end the process', async () => {
    const { outcome, given } = await started('await tools.spy({})', { options: { timeout: 1_000 } });
    let heard = 0;
    given.addEventListener('abort', () => { throw new Error('thrown'); });
    given.addEventListener('abort', () => { heard += 1; });
    await outcome;
    await until(() => heard === 1);
  });
}
