// Unreachable isolates return their memory without being disposed. (isolated-vm's own test of that checks before the turn of the event loop
// ends; Node-API reports it only afterwards.)

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { collectorArguments, run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

test('unreachable isolates release their memory', async () => {
  const { stdout, stderr, code } = await run(`
    const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : () => globalThis.gc();
    let contexts = Array.from({ length: 300 }, () => new ivm.Isolate({ memoryLimit: 16 }).createContextSync());
    for (const context of contexts) context.evalSync('globalThis.kept = new Uint8Array(500_000).fill(1)');
    collect();
    const before = process.memoryUsage.rss();
    contexts = undefined;
    const until = Date.now() + 20_000;
    let back = 0;
    while (back < 40 * 2 ** 20 && Date.now() < until) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
      back = before - process.memoryUsage.rss();
    }
    console.log(back >= 40 * 2 ** 20 ? 'back' : back + ' bytes');`, { hostArgs: collectorArguments() });
  assert.deepEqual({ stdout, stderr, code }, { stdout: 'back\n', stderr: '', code: 0 });
});

for (const [how, call] of Object.entries({
  'a synchronous call': 'target.applySync(undefined, [value, Symbol("refused")])',
  'an asynchronous call': 'await target.apply(undefined, [value, Symbol("refused")])',
  'a closure': 'context.evalClosureSync("", [new ivm.Reference(value), () => {}, Symbol("refused")])',
  'an ignored call': 'target.applyIgnored(undefined, [new ivm.Callback(value), Symbol("refused")])',
})) {
  test(`values passed to ${how} are released if the call is refused`, () => passes(`
    const target = context.evalSync('() => {}', { reference: true });
    let collected = 0;
    const registry = new FinalizationRegistry(() => { collected += 1; });
    const refuse = async (index) => {
      const value = () => index;
      registry.register(value);
      try { ${call}; } catch { return; }
      assert.fail('it was not refused');
    };
    for (let index = 0; index < 50; index += 1) await refuse(index);
    for (const until = ms() + 20_000; collected < 40 && ms() < until;) {
      gc();
      await sleep(10);
    }
    // Some may still be on the stack, for collectors that scan it conservatively.
    assert.ok(collected >= 40, String(collected));`, { collects: true, timeout: 60_000 }));
}

test('shared memory that no isolate uses any more is released', () => passes(`
  let collected = 0;
  const registry = new FinalizationRegistry(() => { collected += 1; });
  const share = () => {
    const buffer = new SharedArrayBuffer(1_000);
    registry.register(buffer);
    const one = new ivm.Isolate({ memoryLimit: 8 });
    one.createContextSync().global.setSync('shared', new ivm.ExternalCopy(buffer).copyInto({ release: true }));
    one.dispose();
  };
  for (let index = 0; index < 20; index += 1) share();
  for (const until = ms() + 20_000; collected < 15 && ms() < until;) {
    gc();
    await sleep(10);
  }
  assert.ok(collected >= 15, String(collected));`, { collects: true, timeout: 60_000 }));
