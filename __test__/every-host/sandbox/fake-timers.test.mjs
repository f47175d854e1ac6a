// A program may replace clocks and timers, as fake timers of tests do, before it uses a sandbox for the first time. Limits still
// count real time. Each test runs in a separate process.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const FAKE = String.raw`
  import timers from 'node:timers';
  const fake = (time) => {
    for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'queueMicrotask']) {
      globalThis[name] = timers[name] = () => ({ ref() {}, unref() {} });
    }
    performance.now = () => time;
    Date.now = () => time;
  };
  // Nothing may call it, whether it does something later or not.
  const fakeMicrotasks = () => { globalThis.queueMicrotask = () => { throw new Error('faked'); }; };
  const large = '"x".repeat(500_000)';
  const lengthOf = async () => {
    const { result, error } = await ivm.createSandbox({}, { timeout: 5_000 }).execute(large);
    assert.equal(error, undefined);
    return result.length;
  };
  const endless = async () => (await ivm.createSandbox({}, { timeout: 50 }).execute('for (;;);')).failure.code;
`;

describe('fake timers', () => {
  test('and fake microtasks, after the package was loaded', () => passes(`${FAKE}
    fakeMicrotasks();
    let calls = 0;
    context.global.setSync('count', new ivm.Callback(() => { calls += 1; return { calls }; }));
    context.global.setSync('ignored', new ivm.Callback(() => { calls += 1; }, { ignored: true }));
    assert.equal(context.evalSync('count().calls'), 1);
    context.evalIgnored('ignored()');
    await waitFor(() => calls === 2);
    const { result, error } = await ivm.createSandbox({ f: { double: async (n) => 2 * n } }, { timeout: 5_000 }).execute('return f.double(21)');
    assert.deepEqual([result, error], [42, undefined]);
    isolate.dispose();`));

  for (const [name, time] of [['in the past', -1e6], ['in the future', 1e9]]) {
    test(`${name}, before the first use`, () => passes(`${FAKE} fake(${time}); assert.equal(await lengthOf(), 500_000); assert.equal(await endless(), 'ERR_ISOLATE_DEADLINE'); isolate.dispose();`));

    test(`${name}, after the first use`, () => passes(`${FAKE} await lengthOf(); fake(${time}); assert.equal(await lengthOf(), 500_000); assert.equal(await endless(), 'ERR_ISOLATE_DEADLINE'); isolate.dispose();`));
  }
});
