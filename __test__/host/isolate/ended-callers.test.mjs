// A guest whose caller has ended continues to run. It may call an isolate that its host waits for. The host waits for that call as well.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const PRELUDE = `
  // One that can be inspected has a thread of its own, so its guest outlives the call that waits for it.
  const [ending, lasting, target] = [false, true, false].map((inspector) => new ivm.Isolate({ memoryLimit: 32, inspector }));
  const [caller, callee, awaited] = [ending, lasting, target].map((isolate) => isolate.createContextSync());
  let calls = 0;
  awaited.global.setSync('work', new ivm.Callback(() => { calls += 1; return 2; }));
  // Returns when \`second\` runs, nested in \`first\`.
  awaited.global.setSync('hold', new ivm.Callback(() => { while (!awaited.global.getSync('began')); return 1; }));
  callee.global.setSync('end', new ivm.Callback(() => ending.dispose()));
  /** A guest of \`lasting\` calls \`second\` while the host waits for \`first\`. The one that has called it has ended by then. */
  const prepare = (second) => {
    awaited.evalSync(\`
      var waits = false, began = false;
      var isWaiting = () => waits;
      var first = () => { waits = true; return hold(); };
      var second = () => { began = true; \${second} };\`);
    for (const name of ['isWaiting', 'second']) callee.global.setSync(name, awaited.global.getSync(name, { reference: true }));
    callee.evalSync('var result; var run = () => { end(); while (!isWaiting.applySync()); try { result = second.applySync(); } catch (error) { result = error.message; } };');
    caller.global.setSync('run', callee.global.getSync('run', { reference: true }));
    assert.throws(() => caller.evalSync('run.applySync()'), { code: 'ERR_ISOLATE_DISPOSED' });
  };
`;

for (const way of ['caller', 'thread']) {
  describe(`a guest whose caller has ended calls an isolate that the host waits for, with \`syncCalls: '${way}'\``, () => {
    const run = (code) => passes(`ivm.configureEngine({ syncCalls: '${way}' });\n${PRELUDE}\n${code}`);

    test('and that calls the host', () => run(`
      prepare('return work();');
      assert.equal(awaited.evalSync('first()'), 1);
      assert.equal(calls, 1);
      assert.equal(await callee.eval('result'), 2);`));

    test('and that does not end before the timeout of the call below it', () => run(`
      prepare('for (;;);');
      assert.throws(() => awaited.evalSync('first()', { timeout: 1_000 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      assert.match(await callee.eval('result'), /time/);
      assert.equal(awaited.evalSync('6 * 7'), 42);`));

    test('in the middle of another call, and that does not end before the timeout of the call below it', () => run(`
      context.evalClosureSync('$0()', [() => {
        prepare('for (;;);');
        while (ivm.engineStats().endings.disposed === 0);
        assert.throws(() => awaited.evalSync('first()', { timeout: 1_000 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      }]);
      assert.match(await callee.eval('result'), /time/);`));
  });
}
