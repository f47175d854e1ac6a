// Synchronous calls of guests into other isolates.

import { describe, test } from 'node:test';
import { ENDLESS, here, ON_CALLER, SKIP } from '../../isolate/caller.mjs';
import { passes } from '../../isolate/helper.mjs';

describe("sync calls on the caller's thread", { skip: SKIP }, () => {
  test('run the calls of their guests into other isolates, without another thread', () => here(`
    const { readdirSync, readFileSync } = await import('node:fs');
    // How often the threads that run guests have slept.
    const sleeps = () => readdirSync('/proc/self/task')
      .map((task) => readFileSync('/proc/self/task/' + task + '/status', 'utf8'))
      .filter((status) => /^Name:\\tisolated-v8$/m.test(status))
      .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\\t(\\d+)$/m.exec(status)[1]), 0);
    const all = Array.from({ length: 4 }, () => new ivm.Isolate().createContextSync());
    all.forEach((each, index) => {
      each.global.setSync('host', new ivm.Callback((n) => n + 1));
      each.evalSync('var step = (n) => { if (n === 0) return 0; return host(next.applySync(undefined, [n - 1])); }');
      all[(index + 3) % 4].global.setSync('next', each.global.getSync('step', { reference: true }));
    });
    const call = (n) => all[0].evalSync('step(' + n + ')');
    for (let round = 0; round < 5; round += 1) assert.equal(call(3), 3);
    const before = sleeps();
    for (let round = 0; round < 500; round += 1) assert.equal(call(3), 3);
    assert.ok(sleeps() - before < 100, String(sleeps() - before));
    // In a circle, on the fibers of guests that wait.
    for (let n = 0; n < 100; n += 1) assert.equal(call(n), n);
    assert.throws(() => call(1e6), { name: 'RangeError' });
    assert.equal(call(9), 9);
    assert.equal(await all[1].eval('host(1)'), 2);
    // Asynchronous calls do wake such a thread.
    const idle = sleeps();
    for (let round = 0; round < 20; round += 1) await all[1].eval('1');
    assert.ok(sleeps() > idle);`));

  for (const syncCalls of ['thread', 'caller']) {
    test(`end with their calls into other isolates, with '${syncCalls}'`, () => here(`
      ivm.configureEngine({ syncCalls: '${syncCalls}', terminationGrace: 50 });
      const WAYS = {
        loop: 'for (;;);', callbacks: 'for (;;) try { host(1) } catch {}', further: 'for (;;) try { further.applySync() } catch {}',
        microtasks: 'Promise.resolve().then(function again() { return Promise.resolve().then(again); })', endless: ${JSON.stringify(ENDLESS[0])},
      };
      for (const [index, [name, code]] of Object.entries(WAYS).entries()) {
        for (const end of ['timeout', 'deadline', 'dispose'].filter((_, which) => ((index + which) % 3 === 0) === ('${syncCalls}' === 'thread'))) {
          const [outer, inner, further] = [1, 2, 3].map(() => new ivm.Isolate());
          const [one, two, three] = [outer, inner, further].map((each) => each.createContextSync());
          two.global.setSync('host', new ivm.Callback((n) => n));
          two.global.setSync('further', three.evalSync('() => { let n = 0; for (let i = 0; i < 1e4; i += 1) n += i; return n; }', { reference: true }));
          one.global.setSync('inner', two.evalSync('() => { ' + code + ' }', { reference: true }));
          let disposes;
          if (end === 'dispose') {
            const elsewhere = context;
            elsewhere.global.setSync('outer', outer);
            disposes = elsewhere.eval('for (const end = Date.now() + 50; Date.now() < end; ); outer.dispose();');
          }
          const since = ms();
          const error = syncError(() => one.evalSync('for (;;) inner.applySync()', end === 'dispose' ? {} : { [end]: 60 }));
          assert.equal(error.code, 'ERR_ISOLATE_' + { timeout: 'TIMEOUT', deadline: 'DEADLINE', dispose: 'DISPOSED' }[end], name);
          assert.ok(ms() - since < 10_000, name);
          await disposes;
          if (end !== 'dispose') assert.equal(one.evalSync('6 * 7'), 42);
          assert.equal(three.evalSync('6 * 7'), 42);
          if (name !== 'endless' && '${syncCalls}' === 'caller') assert.equal(two.evalSync('6 * 7', { deadline: 20_000 }), 42);
          otherWorks();
          for (const each of [outer, inner, further]) if (!each.isDisposed) each.dispose();
        }
      }
      // The limit of the other call ends that one only.
      const other = new ivm.Isolate().createContextSync();
      context.global.setSync('other', other.evalSync('() => { for (;;); }', { reference: true }));
      assert.equal(context.evalSync('try { other.applySync(undefined, [], { timeout: 30 }) } catch (error) { error.code }', { timeout: 30_000 }), 'ERR_ISOLATE_TIMEOUT');
      assert.equal(other.evalSync('1'), 1);
      // Its host ends the caller.
      const [ending, last] = [new ivm.Isolate(), new ivm.Isolate()];
      const [from, to] = [ending, last].map((each) => each.createContextSync());
      to.global.setSync('end', new ivm.Callback(() => ending.dispose()));
      from.global.setSync('to', to.evalSync('() => { end(); return 5; }', { reference: true }));
      assert.throws(() => from.evalSync('to.applySync()'), { code: 'ERR_ISOLATE_DISPOSED' });
      assert.equal(to.evalSync('6 * 7'), 42);
      assert.equal(await to.eval('6 * 7'), 42);`));
  }

  test('end with what their host runs nested in their calls', () => here(`
    const other = new ivm.Isolate().createContextSync();
    let nested;
    other.global.setSync('host', new ivm.Callback(() => { nested = syncError(() => other.evalSync('for (;;);')).code; }));
    context.global.setSync('call', other.evalSync('() => host()', { reference: true }));
    assert.throws(() => context.evalSync('call.applySync()', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.equal(nested, 'ERR_ISOLATE_ABORTED');
    assert.deepEqual([context.evalSync('6 * 7'), other.evalSync('6 * 7'), await other.eval('6 * 7')], [42, 42, 42]);`));

  test('end long chains of calls between guests on a small stack', () => passes(`${ON_CALLER}
    const all = Array.from({ length: 300 }, () => new ivm.Isolate({ memoryLimit: 8 }).createContextSync());
    let first = all[0].evalSync('() => { for (;;); }', { reference: true });
    for (const each of all.slice(1)) {
      each.global.setSync('next', first);
      first = each.evalSync('() => next.applySync()', { reference: true });
    }
    assert.throws(() => first.applySync(undefined, [], { timeout: 1_000 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.deepEqual([all.at(-1).evalSync('6 * 7'), all[0].evalSync('6 * 7')], [42, 42]);`, { timeout: 60_000, env: { RUST_MIN_STACK: '98304' } }));

  // Each of them is stopped once, however many wait for it.
  test('end chains of calls between guests whose innermost does not stop', () => passes(`${ON_CALLER}
    ivm.configureEngine({ terminationGrace: 50 });
    const all = Array.from({ length: 50 }, () => new ivm.Isolate({ memoryLimit: 8 }));
    const contexts = all.map((each) => each.createContextSync());
    let first = contexts[0].evalSync(${JSON.stringify(`() => { ${ENDLESS[0]} }`)}, { reference: true });
    for (const each of contexts.slice(1)) {
      each.global.setSync('next', first);
      first = each.evalSync('() => next.applySync()', { reference: true });
    }
    const start = Date.now();
    assert.throws(() => first.applySync(undefined, [], { timeout: 200 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.ok(Date.now() - start < 5_000);
    assert.equal(contexts.at(-1).evalSync('6 * 7'), 42);`, { timeout: 60_000 }));
});
