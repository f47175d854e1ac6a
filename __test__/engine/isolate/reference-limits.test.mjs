// The limits of what hosts keep for a guest's References, functions and copies. The native side enforces them.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

describe('references that a guest holds are bounded', () => {
  const SMALL = `
    await context.global.set('load', new ivm.Reference(() => ({})));
    await context.global.set('promised', new ivm.Reference(async () => ({})));
    await context.global.set('own', new ivm.Reference({ object: {} }));
    await context.global.set('listener', new ivm.Callback(() => () => {}));
    await context.global.set('many', new ivm.Callback(() => Array.from({ length: 50 }, () => new ivm.Reference({}))));
    await context.global.set('ivm', ivm);
  `;
  const ways = {
    'References that a host function returns': ['load.applySync()', 10_000],
    'References to properties': ["own.getSync('object', { reference: true })", 10_000],
    'functions that a host function returns': ['listener()', 10_000],
    'References inside values': ['many()', 200],
    'References inside copies': ['new ivm.ExternalCopy(many())', 200],
    'References that come with promises': ['await load.apply()', 10_000],
    'References that promises resolve to': ['await promised.apply(undefined, [], { result: { promise: true, reference: true } })', 10_000],
  };
  for (const [name, [code, max]] of Object.entries(ways)) {
    test(name, { timeout: 60_000 }, async () => {
      await passes(`${SMALL}
        const [kept, error, after] = await context.eval(\`(async () => {
          const kept = [];
          try {
            while (kept.length <= 12_000) kept.push(${code});
          } catch (error) {
            const { length } = kept;
            kept.length = 0;
            await undefined;
            const again = typeof load.applySync();
            return [length, error.code + ' ' + error.message, again];
          }
        })()\`, { promise: true, copy: true });
        assert.equal(error, 'ERR_ISOLATE_LIMIT The guest holds 10000 references to values and functions of hosts, which is the limit');
        assert.equal(kept, ${max});
        assert.equal(after, 'object');`, { timeout: 50_000 });
    });
  }

  test('by its memory limit if that is large', { timeout: 60_000 }, async () => {
    await passes(`
      context.global.setSync('load', new ivm.Reference(() => ({})));
      assert.equal(context.evalSync('const kept = []; try { for (;;) kept.push(load.applySync()); } catch (error) { kept.length + error.code }'), '16384ERR_ISOLATE_LIMIT');`, { options: '{ memoryLimit: 256 }', timeout: 50_000 });
  });

  test('for a guest and the isolates that it creates together', { timeout: 60_000 }, async () => {
    await passes(`
      context.global.setSync('load', new ivm.Reference(() => ({})));
      context.global.setSync('ivm', ivm);
      const max = context.evalSync(\`
        const kept = [];
        const inner = new ivm.Isolate({ memoryLimit: 16 }).createContextSync();
        inner.global.setSync('load', load);
        inner.evalSync('const kept = []; for (let count = 0; count < 6000; count += 1) kept.push(load.applySync());');
        try { for (;;) kept.push(load.applySync()); } catch (error) { kept.length + error.code }\`);
      assert.equal(max, '4000ERR_ISOLATE_LIMIT');`, { options: '{ memoryLimit: 64 }', timeout: 50_000 });
  });

  test('references that the host sends unrequested are not counted', { timeout: 60_000 }, async () => {
    await passes(`
      const keep = context.evalSync('const kept = []; (value) => kept.push(value)', { reference: true });
      let count = 0;
      while (count < 12_000) count = keep.applySync(undefined, [new ivm.Reference({})]);
      assert.equal(count, 12_000);
      context.global.setSync('load', new ivm.Reference(() => ({})));
      assert.equal(context.evalSync('typeof load.applySync()'), 'object');`, { timeout: 50_000 });
  });

  test('copies that it requests, by its memory limit', { timeout: 60_000 }, async () => {
    await passes(`
      context.global.setSync('load', new ivm.Reference(() => 'x'.repeat(1_000_000)));
      const [kept, code] = context.evalSync(\`
        const kept = [];
        try { for (;;) kept.push(load.applySync(undefined, [], { result: { externalCopy: true } })); } catch (error) { [kept.length, error.code] }\`, { copy: true });
      assert.equal(code, 'ERR_ISOLATE_LIMIT');
      assert.ok(kept > 20 && kept < 70, String(kept));`, { options: '{ memoryLimit: 64 }', timeout: 50_000 });
  });

  const handed = {
    References: ['new ivm.Reference(1)', 'Others hold 100000 references to values of the guest, which is the limit'],
    functions: ['new ivm.Callback(() => {})', 'Others hold 100000 references to values of the guest, which is the limit'],
    copies: ['new ivm.ExternalCopy(1)', 'The copies that are held here take more than the memory limit; release some'],
  };
  for (const [name, [code, message]] of Object.entries(handed)) {
    test(`${name} of its own that it passes out in a synchronous call`, { timeout: 90_000 }, async () => {
      await passes(`
        let calls = 0;
        context.global.setSync('take', new ivm.Callback(() => { calls += 1; }));
        context.global.setSync('ivm', ivm);
        const text = context.evalSync('try { for (let count = 0; count < 250_000; count += 1) take(${code}); "all" } catch (error) { error.code + " " + error.message }');
        assert.equal(text, 'ERR_ISOLATE_LIMIT ${message}');
        assert.ok(calls > 90_000 && calls < 150_000, String(calls));
        assert.equal(context.evalSync('take(1); 5'), 5);
        // Released on a turn of the event loop, once the host has collected them.
        let works = false;
        for (let rounds = 0; rounds < 500 && !works; rounds += 1) {
          gc();
          await sleep(10);
          works = context.evalSync('try { take(${code}); true } catch { false }');
        }
        assert.ok(works);`, { options: '{ memoryLimit: 64 }', collects: true, timeout: 80_000 });
    });
  }
});
