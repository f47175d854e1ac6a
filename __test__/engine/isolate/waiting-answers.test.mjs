// Promises of many calls may settle at once. Their values wait on this side until they are sent, and take bounded memory.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const CALLS = 100;

/** Functions that all return at once what waits: the first answer takes all time of the turn. */
const ANSWERS = `
  const CALLS = ${CALLS};
  const text = 'x'.repeat(8_000_000);
  let calls = 0;
  let begin;
  const all = new Promise((resolve) => { begin = resolve; });
  const slow = { get slow() { const end = performance.now() + 50; while (performance.now() < end); return 1; } };
  const answering = (make) => async () => {
    const index = calls++;
    if (calls === CALLS) begin();
    await all;
    return index === 0 ? slow : make();
  };
  const isRefused = ({ code, message }) => code === 'ERR_ISOLATE_LIMIT' || message === 'Too many calls are waiting for an answer';
`;

describe('answers that wait to be sent', () => {
  for (const [what, make] of Object.entries({
    'texts': '() => text',
    'lists': '() => [[text]]',
    'objects': '() => ({ meta: 1, data: { text } })',
    'maps': '() => new Map([[1, text]])',
    'many small parts': 'Array.prototype.slice.bind(Array.from({ length: 60_000 }, (_, id) => ({ id, name: "a name" })))',
    'errors': '() => { throw new Error(text); }',
  })) {
    test(`are bounded: ${what}`, { timeout: 90_000 }, () => passes(`${ANSWERS}
      // 64 MB may wait: that is one value of a guest of 16 MB.
      await context.global.set('answer', new ivm.Reference(answering(${make})));
      const outcomes = await context.eval(\`Promise.all(Array.from({ length: ${CALLS} }, () =>
        answer.apply(undefined, [], { result: { promise: true, copy: true } }).then(() => 'read', ({ code, message }) => code ?? message.slice(0, 1))))\`,
        { promise: true, copy: true });
      const refused = outcomes.filter((outcome) => outcome === 'ERR_ISOLATE_LIMIT').length;
      const received = outcomes.filter((outcome) => outcome === ${what === 'errors' ? "'x'" : "'read'"}).length;
      assert.ok(refused >= 80, outcomes.join());
      assert.ok(received >= 4, outcomes.join());
      assert.equal(await context.eval("answer.apply(undefined, [], { result: { promise: true, copy: true } }).then(() => 'read', ({ code }) => code ?? 'read')", { promise: true }), 'read', 'the next one');
    `, { timeout: 60_000, options: '{ memoryLimit: 16 }' }));
  }

  test('do not count an object again that waits in them', { timeout: 90_000 }, () => passes(`${ANSWERS}
    const cyclic = { text };
    cyclic.same = Array(1_000).fill(cyclic);
    await context.global.set('answer', new ivm.Reference(answering(() => cyclic)));
    const read = await context.eval(\`Promise.all(Array.from({ length: ${CALLS} }, () =>
      answer.apply(undefined, [], { result: { promise: true, copy: true } }).then(() => 1, () => 0))).then((all) => all.filter(Boolean).length)\`, { promise: true });
    assert.ok(read >= 6, read + ' were read');
  `, { timeout: 60_000, options: '{ memoryLimit: 16 }' }));

  test('are bounded in AgentSandbox', { timeout: 90_000 }, () => passes(`${ANSWERS}
    // 512 MB may wait.
    const sandbox = new ivm.AgentSandbox();
    const { result } = await sandbox.execute(\`const outcomes = await Promise.all(Array.from({ length: ${CALLS} }, () => tools.answer({}).then(() => 'read', (error) => error.message)));
      return outcomes\`, [{ name: 'tools:answer' }], answering(() => [text]));
    const refused = result.filter((outcome) => outcome === 'Too many calls are waiting for an answer').length;
    const read = result.filter((outcome) => outcome === 'read').length;
    assert.equal(refused + read, CALLS, result.join());
    assert.ok(refused >= 25 && read >= 50, refused + ' were refused');
  `, { timeout: 60_000 }));
});
