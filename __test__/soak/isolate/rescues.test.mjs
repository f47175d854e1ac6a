// Many guests that do not stop, on the thread of their caller: the host continues after each.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';

test('200 guests that do not stop, one after the other', { skip: !AVAILABLE && 'elsewhere they run on threads of their own' }, () => passes(`
  ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 10 });
  const codes = [
    'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
    'const a = new Array(3e6).fill("x"); for (;;) JSON.stringify(a)',
    'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
    '"ab".repeat(2 ** 24).replaceAll("a", "xyz").replaceAll("b", "xyz").length',
    '"\\u00e9".repeat(2 ** 22).normalize("NFD").normalize("NFKC").length',
    'const b = 3n ** 200000n; for (;;) b * b % (2n ** 300000n - 1n)',
    'const all = []; for (;;) all.push(new Array(1000).fill(1.5))',
    '/(a*)*$/.test("a".repeat(40) + "b")',
    'for (;;) new Intl.Collator("de").compare("a".repeat(1e6), "b".repeat(1e6))',
    'const m = new Map(); for (let i = 0; i < 5e5; i += 1) m.set({}, i); for (;;) new Map(m)',
  ];
  let left = 0;
  const outcomes = new Set();
  for (let round = 0; round < 200; round += 1) {
    const guest = new ivm.Isolate({ memoryLimit: 64 });
    const guestContext = guest.createContextSync();
    try {
      guestContext.evalSync(codes[round % codes.length], { timeout: 5 });
    } catch (error) {
      outcomes.add(error.code);
    }
    left = ivm.engineStats().endings.abandoned;
    if (!guest.isDisposed) guest.dispose();
    assert.equal(context.evalSync('6 * 7'), 42);
    const other = new ivm.Isolate();
    assert.equal(other.createContextSync().evalSync('[1, 2, 3].map((n) => n * 2).join()'), '2,4,6');
    other.dispose();
    if (round % 20 === 0) await sleep(1);
  }
  assert.ok(left >= 20, left + ' of 200 were left: ' + [...outcomes]);
  // The first calls of an isolate may run on the thread that has made it.
  const { lostRunning } = ivm.engineStats();
  assert.ok(lostRunning <= left / 4, lostRunning + ' of ' + left + ' still run');
  process.exit(console.log('the end of the program'));`, { timeout: 240_000 }));
