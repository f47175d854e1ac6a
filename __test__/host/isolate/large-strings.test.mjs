// Large strings that hosts get without a copy.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';
import { workers } from '../../workers/helper.mjs';

describe('large strings', () => {
  test('are what the guest has, of every kind and size', () => passes(`
    const kinds = { ascii: 'x', latin1: 'é', wide: 'ж', surrogates: '\\\\ud83d' };
    for (const [kind, unit] of Object.entries(kinds)) {
      for (const size of [0, 1, 32_767, 32_768, 65_535, 65_536, 65_537, 1_000_000]) {
        const text = context.evalSync(\`'\${unit}'.repeat(\${size}) + 'end'\`);
        assert.equal(text.length, size + 3, kind);
        assert.equal(text, JSON.parse(\`"\${unit}"\`).repeat(size) + 'end');
        assert.equal(JSON.parse(JSON.stringify(text)), text);
        assert.equal(new Map([[text, kind]]).get(text.slice(0, 10) + text.slice(10)), kind);
      }
    }`));

  test('stay valid after their isolate is disposed of, and go back into isolates', () => passes(`
    const texts = await Promise.all([1, 2, 3].map((number) => context.eval(\`'\${number}'.repeat(200_000)\`)));
    context.global.setSync('text', texts[1]);
    assert.equal(context.evalSync('text.length + text[199999]'), '2000002');
    isolate.dispose();
    otherWorks();
    assert.deepEqual(texts, ['1', '2', '3'].map((digit) => digit.repeat(200_000)));`));

  test('are freed when the host does not use them any more', () => passes(`
    context.evalSync("var narrow = 'x'.repeat(1_000_000), wide = 'ж'.repeat(500_000)");
    context.evalSync('narrow'), context.evalSync('wide');
    const before = process.memoryUsage().rss;
    let most = 0;
    for (let round = 0; round < 1_500; round += 1) {
      context.evalSync(round % 2 ? 'narrow' : 'wide');
      if (round % 50 === 0) {
        most = Math.max(most, process.memoryUsage().rss - before);
        await sleep(0);
      }
    }
    assert.ok(most < 600e6, most / 1e6 + ' MB');`, { timeout: 60_000, options: '{ memoryLimit: 64 }' }));

  test('are freed during a synchronous call, too', () => passes(`
    context.evalSync("var text = 'x'.repeat(1_000_000); /y/.test(text)");
    const before = process.memoryUsage().rss;
    let [count, most] = [0, 0];
    const look = () => { most = Math.max(most, process.memoryUsage().rss - before); };
    context.global.setSync('take', new ivm.Callback(() => { if ((count += 1) % 50 === 0) look(); }));
    context.evalSync('for (let i = 0; i < 1_000; i += 1) take(text)');
    for (let round = 0; round < 1_000; round += 1) {
      assert.equal(context.evalSync('text').length, 1_000_000);
      if (round % 50 === 0) look();
    }
    assert.equal(count, 1_000);
    assert.ok(most < 500e6, most / 1e6 + ' MB');`, { timeout: 60_000, options: '{ memoryLimit: 64 }' }));

  test('outlive their worker as messages', () => workers(
    `const text = await new Promise((resolve, reject) => {
      const worker = work();
      worker.once('error', reject);
      worker.once('message', (text) => worker.terminate().then(() => resolve(text)));
    });
    same(text, 'w'.repeat(300_000));`,
    `const { context } = make();
    globalThis.kept = [1, 2, 3].map(() => context.evalSync("'k'.repeat(300_000)"));
    parentPort.postMessage(context.evalSync("'w'.repeat(300_000)"));`,
  ));
});
