// What a host keeps for a guest's References, functions and copies is released while the guest runs.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** The maximum resident memory while 0.7 GB come and go, in bytes. */
const PRELUDE = `
  const MAX = process.memoryUsage.rss() + 0.55e9;
  let made = 0;
  const fresh = () => {
    made += 1;
    if (made % 100 === 0 && process.memoryUsage.rss() > MAX) throw new Error('the host keeps too much after ' + made + ' calls');
    return { numbers: new Array(12_500).fill(made + 0.5) };
  };
  const box = Object.defineProperty({}, 'fresh', { get: fresh, enumerable: true });
  await context.global.set('load', new ivm.Reference(fresh));
  await context.global.set('box', new ivm.Reference(box, { accessors: true }));
  await context.global.set('listener', new ivm.Callback(() => { const value = fresh(); return () => value; }));
  await context.global.set('wrap', new ivm.Callback(() => [new ivm.Reference(fresh())]));
  await context.global.set('copy', new ivm.Callback(() => new ivm.ExternalCopy(fresh()).copyInto({ release: true })));
`;

describe('references that a guest has dropped are released while it runs', () => {
  const COUNT = 7_000;
  const ways = {
    'References that a host function returns': 'load.applySync()',
    'results of getters': "box.getSync('fresh', { accessors: true, reference: true })",
    'functions that a host function returns': 'listener()',
    'References inside a value': 'wrap()',
    'values of copies': 'copy()',
    'copies that the guest requests': 'load.applySync(undefined, [], { result: { externalCopy: true } })',
    'References that the guest releases': 'load.applySync().release()',
  };
  for (const [name, code] of Object.entries(ways)) {
    test(`${name}, in a synchronous call`, { timeout: 150_000 }, async () => {
      await passes(`${PRELUDE}
        assert.equal(context.evalSync(\`let count = 0; for (; count < ${COUNT}; count += 1) ${code}; count\`), ${COUNT});
        assert.equal(made, ${COUNT});`, { timeout: 120_000 });
    });
  }

  test('References that arrive asynchronously, and in an asynchronous call', { timeout: 150_000 }, async () => {
    await passes(`${PRELUDE}
      const code = '(async () => { let count = 0; for (; count < ${COUNT / 2}; count += 1) await load.apply(); return count; })()';
      assert.equal(await context.eval(code, { promise: true }), ${COUNT / 2});
      assert.equal(await context.eval('let count = 0; for (; count < ${COUNT / 2}; count += 1) load.applySync(); count'), ${COUNT / 2});`, { timeout: 120_000 });
  });
});
