// Calls that lead from isolate to isolate and through the host, to any depth. The expectations of the first part were compared with
// isolated-vm 7.0.1.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';

const REFUSED = 'Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.';

/** Two guests that have each other's context and their own, and `step(n)`, which calls the other's until `n` is 0. */
function pair() {
  const guests = [0, 1].map(() => {
    const isolate = new ivm.Isolate();
    return { isolate, context: isolate.createContextSync() };
  });
  for (const [here, there] of [guests, guests.toReversed()]) {
    here.context.global.setSync('ivm', ivm);
    here.context.global.setSync('own', here.context);
    here.context.global.setSync('other', there.context);
    here.context.evalSync('globalThis.step = (n) => n === 0 ? "end" : other.evalClosureSync("return step($0)", [n - 1]); 1');
  }
  return guests;
}

async function withPair(body) {
  const guests = pair();
  try {
    return await body(...guests.map(({ context }) => context));
  } finally {
    for (const { isolate } of guests) isolate.dispose();
  }
}

const messageOf = async (call) => {
  try {
    return await call();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

describe('sync calls', () => {
  test('pass through both guests and the host', () => withPair((one, two) => {
    const hop = (n) => (n === 0 ? 'end' : (n % 2 === 0 ? one : two).evalClosureSync('return hop($0)', [n - 1]));
    one.global.setSync('hop', hop);
    two.global.setSync('hop', hop);
    assert.equal(hop(50), 'end');
    assert.equal(one.evalSync('step(100)'), 'end');
    // Host, one, host, one, two, one.
    assert.equal(one.evalClosureSync('return $0()', [() => one.evalSync('step(2)')]), 'end');
  }));

  test('are refused to other isolates inside asynchronous calls, not to the own isolate', () => withPair(async (one) => {
    const asks = {
      'other.evalSync("1")': `Error: ${REFUSED}`,
      'own.evalSync("6 * 7")': 42,
      'own.evalSync("other.evalSync(1 + \'\')")': `Error: ${REFUSED}`,
      'other.global.getSync("x")': `Error: ${REFUSED}`,
      'other.global.setSync("x", 1)': `Error: ${REFUSED}`,
      'new ivm.Isolate().createContextSync()': `Error: ${REFUSED}`,
      'new ivm.Isolate().getHeapStatisticsSync()': `Error: ${REFUSED}`,
    };
    for (const [code, expected] of Object.entries(asks)) {
      assert.equal(await messageOf(() => one.eval(code)), expected, code);
      // Asynchronous work stays asynchronous, in whatever way it has begun.
      assert.equal(await messageOf(() => one.evalClosureSync(`return (async () => { await 0; await own.eval('1'); return ${code}; })()`, [], { result: { promise: true } })), expected, code);
    }
    assert.equal(await messageOf(() => one.evalSync('own.eval("step(2)")', { promise: true })), `Error: ${REFUSED}`);
  }));

  test('are allowed if the host makes them in a callback', () => withPair(async (one, two) => {
    assert.equal(await one.evalClosure('return $0()', [() => two.evalClosureSync('return $0()', [() => one.evalSync('"inside"')])]), 'inside');
    assert.equal(await one.evalClosure('return $0()', [() => one.evalSync('step(3)')]), 'end');
  }));

  test('of two guests to each other end at once', () => withPair(async (one, two) => {
    const code = '(() => { const seen = {}; for (let n = 0; n < 200; n += 1) try { other.evalSync("1"); seen.none = 1; } catch (error) { seen[error.message] = 1; } return Object.keys(seen).join(); })()';
    assert.deepEqual(await Promise.all([one.eval(code, { deadline: 20_000 }), two.eval(code, { deadline: 20_000 })]), [REFUSED, REFUSED]);
    assert.equal(one.evalSync('step(4)'), 'end');
  }));
});

test('a sync call is served by a guest that waits for a sync call of another', () => withPair((one) => {
  // One waits for two, two for one, one for two: each serves its callers while it waits.
  one.evalSync('globalThis.value = 1; 1');
  assert.equal(one.evalSync('other.evalSync("other.evalSync(\'value += 1; other.evalSync(\\"other.evalSync(String(40)) + 1\\") + value\')")'), 43);
}));

describe('asynchronous calls', () => {
  test('go back and forth', () => withPair(async (one, two) => {
    for (const context of [one, two]) {
      context.evalSync('globalThis.walk = async (n) => n === 0 ? "end" : other.evalClosure("return walk($0)", [n - 1], { result: { promise: true } }); 1');
    }
    assert.equal(await one.eval('walk(200)', { promise: true, deadline: 20_000 }), 'end');
  }));

  test('mix with sync calls of the host', () => withPair(async (one, two) => {
    one.global.setSync('ask', new ivm.Callback((n) => two.evalClosureSync('return $0 + 1', [n]), { async: true }));
    two.global.setSync('ask', (n) => one.evalClosureSync('return $0 + 1', [n]));
    assert.equal(await one.eval('(async () => { let n = 0; while (n < 20) n = await ask(n); return n; })()', { promise: true, deadline: 20_000 }), 20);
    assert.equal(await two.eval('(() => { let n = 0; while (n < 20) n = ask(n); return n; })()'), 20);
  }));
});

describe('the event loop stays alive', () => {
  const SETUP = `
    const other = new ivm.Isolate();
    context.global.setSync('other', other.createContextSync());
    context.global.setSync('othersIsolate', other);`;

  test('while another isolate works for the awaited guest', () => passes(`${SETUP}
    assert.equal(await context.eval('other.eval("let n = 0; for (; n < 1e8; n += 1); n")', { promise: true }), 1e8);
    assert.equal(await context.eval('(async () => { let n = 0; while (n < 50) n = await other.eval(String(n + 1)); return n; })()', { promise: true }), 50);
    assert.equal(context.evalSync('othersIsolate.createContext().then((made) => made.eval("6 * 7"))', { promise: true }) instanceof Promise, true);
  `));

  test('until one of them is disposed', () => passes(`${SETUP}
    for (const endsOther of [true, false]) {
      const [caller, called] = [new ivm.Isolate(), new ivm.Isolate()];
      const guest = caller.createContextSync();
      const there = called.createContextSync();
      guest.global.setSync('other', there);
      const begun = new Promise((resolve) => { there.global.setSync('begun', new ivm.Callback(resolve, { ignored: true })); });
      const waiting = errorOf(() => guest.eval('other.eval("begun(); for (;;);")', { promise: true }));
      await begun;
      (endsOther ? called : caller).dispose();
      assert.match((await waiting).message, /^Isolate was disposed during execution$|^Promise was abandoned$/);
    }
  `));

  test('not for ignored calls', () => passes(`${SETUP}
    context.evalSync('other.evalIgnored("for (;;);"); 1');
    await context.eval('other.evalIgnored("for (;;);"); 1');
  `));
});

describe('`applySyncPromise` of a guest', () => {
  test('waits for promises of the host, which can call the guest', () => withPair(async (one, two) => {
    assert.equal(await one.evalClosure('return $0.applySyncPromise(undefined, [20])', [new ivm.Reference(async (n) => n + 1)]), 21);
    assert.equal(await one.evalClosure('return $0.applySyncPromise()', [new ivm.Reference(async () => one.evalSync('6 * 7'))]), 42);
    assert.equal(await one.evalClosure('return $0.applySyncPromise()', [new ivm.Reference(async () => two.eval('6 * 7'))]), 42);
    assert.equal(await messageOf(() => one.evalClosure('return $0.applySyncPromise()', [new ivm.Reference(async () => { throw new RangeError('no'); })])), 'RangeError: no');
  }));

  test('is refused on a waiting host thread, and for other isolates', () => withPair(async (one, two) => {
    const host = new ivm.Reference(async () => 1);
    const there = two.evalSync('(async () => 5)', { reference: true });
    const refused = 'Error: This function may not be called from the default thread';
    assert.equal(await messageOf(() => one.evalClosureSync('return $0.applySyncPromise()', [host])), refused);
    assert.equal(await messageOf(() => one.evalClosureSync('return $0.applySyncPromise()', [there])), refused);
    assert.equal(await messageOf(() => one.evalClosure('return $0.applySyncPromise()', [there])), `Error: ${REFUSED}`);
    assert.equal(await messageOf(() => one.evalClosure('return new ivm.Reference(async () => 1).applySyncPromise()', [])), refused);
  }));
});

describe('endless calls', () => {
  const DEEP = `
    const make = () => { const isolate = new ivm.Isolate(); const context = isolate.createContextSync(); context.global.setSync('ivm', ivm); return { isolate, context }; };
    const [one, two] = [make(), make()];
    for (const [here, there] of [[one, two], [two, one]]) {
      here.context.global.setSync('other', there.context);
      here.context.evalSync('globalThis.step = (n) => other.evalClosureSync("return step($0)", [n + 1]); 1');
    }
    const works = () => { assert.deepEqual([one, two].map(({ context }) => context.evalSync('6 * 7')), [42, 42]); otherWorks(); };`.replaceAll(/\n\s*/g, ' ');

  test('of two guests overflow a stack', () => passes(`${DEEP}
    assert.equal(syncError(() => one.context.evalSync('step(0)')).name, 'RangeError');
    works();
  `, { timeout: 60_000 }));

  test('of two guests end at the limit of the first', () => passes(`${DEEP}
    one.context.evalSync('globalThis.step = (n) => { try { return other.evalClosureSync("return step($0)", [n + 1]); } catch { return step(n); } }; 1');
    const start = ms();
    assert.equal(syncError(() => one.context.evalSync('for (;;) step(0)', { timeout: 100 })).code, 'ERR_ISOLATE_TIMEOUT');
    assert.ok(ms() - start < 5_000);
    // The other guest may still be on its way back from the end of its stack: a call that finds it waiting there overflows the stack.
    for (const until = ms() + 5_000; ;) {
      try {
        works();
        break;
      } catch (error) {
        if (error.name !== 'RangeError' || ms() > until) throw error;
      }
      await sleep(10);
    }
  `, { timeout: 60_000 }));

  test('through the host overflow a stack', () => passes(`${DEEP}
    const hop = (n) => (n % 2 === 0 ? one : two).context.evalClosureSync('return hop($0)', [n + 1]);
    one.context.global.setSync('hop', hop);
    two.context.global.setSync('hop', hop);
    assert.equal(syncError(() => hop(0)).name, 'RangeError');
    works();
  `, { timeout: 60_000 }));
});
