// What hosts have answered and a busy guest has not read yet takes bounded memory: a guest can call a host thousands of times before it reads
// an answer.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const MADE = `
  const CALLS = 100;
  const text = 'x'.repeat(8_000_000);
  let calls = 0;
  const answer = () => { calls += 1; return text; };
  await context.global.set('answer', new ivm.Reference(answer));
  await context.global.set('promised', new ivm.Reference(async () => answer()));
  await context.global.set('thrown', new ivm.Reference(() => { calls += 1; throw new Error(text); }));
  await context.global.set('listed', new ivm.Reference(() => { calls += 1; return [text]; }));
  // One reply is sent on each turn at least, and a guest that waits for this reads none.
  await context.global.set('all', new ivm.Reference(async () => {
    await waitFor(() => calls === CALLS);
    for (let turns = 0; turns < 2 * CALLS; turns += 1) await new Promise((resolve) => { setImmediate(resolve); });
  }));
  const flood = (call) => \`(async () => {
    const outcomes = [];
    for (let index = 0; index < \${CALLS}; index += 1) {
      outcomes.push(\${call}.then((value) => String(value).length, (error) => error.code ?? error.message.length));
    }
    all.applySyncPromise();
    return Promise.all(outcomes);
  })()\`;
`;

describe('answers that a guest has not read', () => {
  for (const [what, call] of Object.entries({
    'results': 'answer.apply()',
    'results of promises': 'promised.apply(undefined, [], { result: { promise: true } })',
    'results of promises that have settled': 'promised.apply(undefined, [], { result: { promise: true, copy: true } })',
    'errors': 'thrown.apply()',
    'copies': 'listed.apply(undefined, [], { result: { copy: true } })',
  })) {
    test(`are bounded: ${what}`, { timeout: 90_000 }, () => passes(`${MADE}
      // 64 MB may wait: that is one value of a guest of 16 MB.
      const outcomes = await context.eval(flood(${JSON.stringify(call)}), { promise: true, copy: true });
      const read = outcomes.filter((outcome) => outcome === text.length).length;
      assert.deepEqual(outcomes, outcomes.map((outcome) => outcome === text.length ? text.length : 'ERR_ISOLATE_LIMIT'));
      assert.ok(read >= 1 && read <= 8, read + ' were read');
      assert.equal(await context.eval(${JSON.stringify(`${call}.then(() => 1, (error) => error.code ?? 1)`)}, { promise: true }), 1, 'the next one');
    `, { timeout: 60_000, options: '{ memoryLimit: 16 }' }));
  }

  test('do not count what a copy takes that the host keeps, and count one that it does not keep', { timeout: 90_000 }, () => passes(`${MADE}
    const kept = new ivm.ExternalCopy({ text });
    await context.global.set('shared', new ivm.Reference(() => { calls += 1; return kept; }));
    await context.global.set('own', new ivm.Reference(() => { calls += 1; return new ivm.ExternalCopy({ text }).copyInto({ release: true }); }));
    const codes = '.then(() => 1, (error) => error.code)';
    const outcomes = await context.eval(flood('shared.apply()' + codes), { promise: true, copy: true });
    // Each is the length of '1', or that of an error's code.
    assert.deepEqual(outcomes, Array(CALLS).fill(1));
    calls = 0;
    const own = await context.eval(flood('own.apply().then(() => 1)'), { promise: true, copy: true });
    assert.ok(own.filter((outcome) => outcome === 'ERR_ISOLATE_LIMIT').length > CALLS / 2, own.join());
  `, { timeout: 60_000, options: '{ memoryLimit: 16 }' }));
});
