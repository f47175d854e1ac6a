// The life of one isolate of the stress test: made, used in random ways, and ended at a random moment or dropped.

import { strictEqual } from 'node:assert/strict';

/** The possible errors of an isolate that is disposed while it is in use, or that reaches a limit. */
const EXPECTED = new Set(['ERR_ISOLATE_DISPOSED', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_MEMORY']);
const ABANDONED = 'Promise was abandoned';
/** Errors of the guest itself, and the plain error that a guest gets if the isolate ends while it waits for the host. */
const THROWN = /^(guest's own|host's own|Isolated? (is|was) disposed)/;

export const isExpected = (error) =>
  EXPECTED.has(error?.code) || error?.message === ABANDONED || THROWN.test(String(error?.message));

/** Numbers from 0 to 1 that a seed determines. */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ENDLESS = 'for (;;) {}';
const GREEDY = 'const kept = []; for (;;) kept.push({ kept, text: [kept.length] })';
const COUNT = '{ let sum = 0; for (let i = 0; i <= 1000; i++) sum += i; sum }';
const COUNTED = 500_500;
const later = () => new Promise((resolve) => setImmediate(resolve));

/**
 * What guests call. Outside the functions below, so that they do not close over a context: a guest that keeps a function of the host that
 * keeps the guest is a cycle through two heaps, which no collector sees.
 */
const hostFunctions = {
  plusOne: (value) => value + 1,
  twice: (value) => value * 2,
  same: (value) => value,
  nothing: () => {},
  fails: () => {
    throw new Error("host's own");
  },
  plusOneLater: async (value) => {
    await later();
    return value + 1;
  },
};

/** Uses of a context; asynchronous ones return a promise. `n` is a random integer below 1000. */
const uses = {
  evalSync: ({ context }, n) => strictEqual(context.evalSync(`${n} + 1`), n + 1),
  eval: async ({ context }) => strictEqual(await context.eval(COUNT), COUNTED),
  evalIgnored: ({ context }, n) => context.evalIgnored(`globalThis.kept = ${n}`),
  closure: ({ context }, n) => strictEqual(context.evalClosureSync('return $0 + $1', [n, 1]), n + 1),
  script: async ({ isolate, context }, n) => {
    const script = await isolate.compileScript(`${n} * 2`);
    strictEqual(script.runSync(context), n * 2);
    strictEqual(await script.run(context, { release: n % 2 === 0 }), n * 2);
  },
  copies: ({ ivm, context }, n) => {
    const copy = new ivm.ExternalCopy({ n, list: [n, `${n}`], bytes: new Uint8Array(1 + n) });
    const result = context.evalClosureSync('return { n: $0.n, length: $0.bytes.length }', [copy.copyInto()], {
      result: { copy: true },
    });
    strictEqual(result.n + result.length, 2 * n + 1);
    if (n % 2 === 0) copy.release();
  },
  strings: async ({ ivm, context }, n) => {
    const copy = new ivm.ExternalCopy('x'.repeat(n * 100));
    strictEqual(await context.evalClosure('return $0.length', [copy.copyInto({ release: true })]), n * 100);
  },
  move: ({ ivm, context }, n) => {
    const { buffer } = new Uint8Array(n + 1);
    const copy = new ivm.ExternalCopy(buffer, { transferOut: true });
    const code = 'const view = new Uint8Array($0); view[0] = 7; return view';
    const view = context.evalClosureSync(code, [copy.copyInto({ transferIn: true, release: true })], { result: { copy: true } });
    strictEqual(view.length + view[0], n + 8);
  },
  callback: ({ context }, n) => {
    context.global.setSync('ask', hostFunctions.plusOne);
    strictEqual(context.evalSync(`ask(ask(${n}))`), n + 2);
  },
  callbackInAsync: async ({ context }, n) => {
    strictEqual(await context.evalClosure('return $0($1) + 1', [hostFunctions.twice, n]), 2 * n + 1);
  },
  callbackModes: ({ ivm, context }, n) => {
    const discarding = new ivm.Callback(hostFunctions.nothing, { ignored: true });
    const answer = new ivm.Callback(hostFunctions.same, { async: true });
    return context.evalClosure('$0($2); return $1($2)', [discarding, answer, n], { result: { promise: true } }).then((value) =>
      strictEqual(value, n),
    );
  },
  callbackThrows: ({ context }) => {
    context.evalClosureSync('$0()', [hostFunctions.fails]);
  },
  applySyncPromise: async ({ ivm, context }, n) => {
    const answer = new ivm.Reference(hostFunctions.plusOneLater);
    strictEqual(await context.evalClosure('return $0.applySyncPromise(undefined, [$1])', [answer, n]), n + 1);
  },
  references: async ({ context }, n) => {
    const made = context.evalSync('({ add: (a, b) => a + b, deep: { n: 1 } })', { reference: true });
    const add = made.getSync('add', { reference: true });
    strictEqual(add.applySync(undefined, [n, 1]), n + 1);
    const deep = await made.get('deep');
    await deep.set('n', n);
    strictEqual((await deep.copy()).n, n);
    if (n % 2 === 0) made.release();
    add.applyIgnored(undefined, [1, 2]);
  },
  hostReference: ({ ivm, context }, n) => {
    const answer = new ivm.Reference(hostFunctions.plusOne);
    strictEqual(context.evalClosureSync('return $0.applySync(undefined, [$1])', [answer, n]), n + 1);
  },
  guestPromise: async ({ context }, n) => {
    strictEqual(await context.eval(`Promise.resolve(${n}).then((n) => n + 1)`, { promise: true }), n + 1);
  },
  neverSettles: ({ context }) => context.eval('new Promise(() => {})', { promise: true, deadline: 50 }),
  throws: ({ context }) => context.eval('throw new TypeError("guest\'s own")'),
  throwsSync: ({ context }) => context.evalSync('throw new RangeError("guest\'s own")'),
  statistics: async ({ isolate }) => {
    strictEqual(isolate.getHeapStatisticsSync().used_heap_size > 0, true);
    strictEqual((await isolate.getHeapStatistics()).total_heap_size > 0, true);
  },
  clocks: ({ isolate }) => strictEqual(isolate.cpuTime >= 0n && isolate.wallTime > 0n, true),
  secondContext: async ({ isolate }, n) => {
    const other = await isolate.createContext();
    strictEqual(other.evalSync(`${n}`), n);
    if (n % 2 === 0) other.release();
  },
  guestToGuest: ({ context, other }, n) => {
    if (other === undefined || other.isolate.isDisposed) return;
    const add = other.context.evalSync('(n) => n + 1', { reference: true });
    strictEqual(context.evalClosureSync('return $0.applySync(undefined, [$1])', [add, n]), n + 1);
  },
  disposeInCallback: ({ isolate, context }) => context.evalClosureSync('$0(); for (;;) {}', [() => isolate.dispose()]),
};

/** Uses that take long, or end the isolate. They are rare. */
const rareUses = {
  timeoutSync: ({ context }, n) => context.evalSync(ENDLESS, { timeout: 1 + (n % 10) }),
  timeout: ({ context }, n) => context.eval(ENDLESS, { timeout: 1 + (n % 10) }),
  deadline: ({ context }, n) => context.eval(ENDLESS, { deadline: 1 + (n % 10) }),
  waits: ({ context }) => context.eval('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', { deadline: 20 }),
  memorySync: ({ context }) => context.evalSync(GREEDY, { timeout: 10_000 }),
  memory: ({ context }) => context.eval(GREEDY, { timeout: 10_000 }),
};

const RARE = 0.04;
const MAX_USES = 6;

/**
 * @param {any} ivm
 * @param {() => number} random
 * @param {{ tally: Map<string, number>, watch: (what: string, promise: Promise<unknown>) => Promise<unknown>, other?: any }} around
 * @returns what the next isolate may call, or undefined
 */
export async function live(ivm, random, { tally, watch, other }) {
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const isolate = new ivm.Isolate({ memoryLimit: pick([8, 16, 32]) });
  const count = (what) => tally.set(what, (tally.get(what) ?? 0) + 1);
  const pending = [];

  const use = async (subject, rare) => {
    const table = rare ? rareUses : uses;
    const what = pick(Object.keys(table));
    count(what);
    try {
      await table[what](subject, below(1000));
    } catch (error) {
      if (!isExpected(error)) throw new Error(`${what}: ${error?.stack ?? error}`, { cause: error });
      count(`(${error.code ?? error.message})`);
    }
  };

  const end = pick(['dispose', 'disposeEarly', 'disposeLater', 'drop', 'drop']);
  count(`end: ${end}`);
  try {
    const context = random() < 0.5 ? isolate.createContextSync() : await watch('createContext', isolate.createContext());
    const subject = { ivm, isolate, context, other };
    for (let left = below(MAX_USES + 1); left > 0; left -= 1) {
      const done = watch('use', use(subject, random() < RARE));
      pending.push(done);
      if (random() < 0.5) await done;
    }
    if (end === 'disposeEarly') isolate.dispose();
    if (end === 'disposeLater') setTimeout(() => isolate.isDisposed || isolate.dispose(), below(5));
    await Promise.all(pending);
    if (end === 'dispose' && !isolate.isDisposed) isolate.dispose();
    return end === 'drop' && random() < 0.5 ? { isolate, context } : undefined;
  } catch (error) {
    await Promise.allSettled(pending);
    if (!isExpected(error)) throw error;
    return undefined;
  }
}
