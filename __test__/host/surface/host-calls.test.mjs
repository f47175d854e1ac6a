// The one place where functions of the host program are called: odd promises, thenables and values.

import { createRequire } from 'node:module';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';

const { adopt, discard, discardThrown, discardWithin, guard, isThenable, notify, ORIGIN, report } = createRequire(import.meta.url)('../../../surface/host/calls/host-calls.js');

const turn = () => new Promise((resolve) => { setImmediate(resolve); });
const thenable = (then) => Object.defineProperty({}, `th${'en'}`, { value: then });

/** The reports while something runs, and in the two turns afterwards. */
async function reported(run) {
  const messages = [];
  const listen = ({ error, origin }) => { messages.push([origin, error?.message ?? error]); };
  subscribe('isolated-v8:unhandled-host-error', listen);
  try {
    await run();
    await turn();
    await turn();
  } finally {
    unsubscribe('isolated-v8:unhandled-host-error', listen);
  }
  return messages;
}

/** Subclasses that interfere with handlers. */
const ODD = {
  'that has no species': () => {
    class Odd extends Promise {
      static get [Symbol.species]() { throw new Error('species'); }
    }
    return Odd.reject(new Error('no'));
  },
  'whose constructor needs more': () => {
    class Odd extends Promise {
      constructor(run, more) { super(run); if (more === undefined) throw new TypeError('more'); }
    }
    return new Odd((_, reject) => { reject(new Error('no')); }, 1);
  },
  'whose methods throw': () => {
    const odd = Promise.reject(new Error('no'));
    for (const name of ['then', 'catch', 'finally']) Object.defineProperty(odd, name, { value() { throw new Error(name); } });
    return odd;
  },
  'whose `constructor` throws': () => Object.defineProperty(Promise.reject(new Error('no')), 'constructor', { get() { throw new Error('constructor'); }, configurable: true }),
  'that is frozen': () => Object.freeze(Promise.reject(new Error('no'))),
};

/** Milliseconds of CPU time that this process has used since. */
function cpuTime(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

describe('discardThrown', () => {
  const fail = (message) => Promise.reject(new Error(message));

  test('promises in an error, in the errors that it refers to, and in arrays of these', async () => {
    const error = new AggregateError([fail('element'), new RangeError('inner', { cause: fail('cause of an element') })], 'outer', { cause: new TypeError('cause') });
    Object.assign(error, { own: fail('own'), [Symbol('key')]: fail('symbol'), list: [fail('list')] });
    Object.defineProperty(error.cause, 'hidden', { value: fail('hidden') });
    error.cause.cause = error;
    error.list.push(error, error.list);
    const messages = (await reported(() => discardThrown('x', error))).map(([, text]) => text);
    assert.deepEqual(messages.toSorted(), ['cause of an element', 'element', 'hidden', 'list', 'own', 'symbol']);
  });

  test('no getter runs, no stack is rendered, and objects of the host are not changed', async () => {
    const error = new Error('outer');
    const fails = { get() { throw new Error('a getter'); } };
    let isRendered = false;
    Object.defineProperty(error, 'stack', { get() { isRendered = true; return ''; } });
    Object.defineProperty(error, 'value', fails);
    const inner = fail('of the host');
    Object.assign(error, { request: { inner }, proxy: new Proxy([], { get: fails.get, getOwnPropertyDescriptor: fails.get, ownKeys: fails.get }) });
    assert.deepEqual(await reported(async () => {
      discardThrown('x', error);
      await inner.catch(() => {});
    }), []);
    assert.equal(isRendered, false);
  });

  test('reported errors with promises', async () => {
    const messages = await reported(() => discard('x', Promise.reject(Object.assign(new Error('outer'), { cause: fail('inner') }))));
    assert.deepEqual(messages.toSorted(), [['x', 'inner'], ['x', 'outer']]);
  });

  test('a large list takes bounded time', async () => {
    const error = new AggregateError(Array.from({ length: 500_000 }, () => 1));
    const start = process.cpuUsage();
    for (let count = 0; count < 20; count += 1) discardThrown('x', error);
    assert.ok(cpuTime(start) < 2_000);
  });
});

describe('discard', () => {
  // First, because a few searches at a time are in progress, including those of other tests.
  test('the rest of a large value is searched later, in separate turns', async () => {
    const rejects = [];
    const pending = () => ({ promise: new Promise((_, reject) => { rejects.push(reject); }) });
    const values = Array.from({ length: 3 }, () => [...Array.from({ length: 150_000 }, () => ({})), pending()]);
    const messages = await reported(async () => {
      for (const value of values) discard('x', value);
      for (let turns = 0; turns < 2_000; turns += 1) await turn();
      for (const reject of rejects) reject(new Error('late'));
    });
    assert.deepEqual(messages, values.map(() => ['x', 'late']));
  });

  for (const [name, make] of Object.entries(ODD)) {
    test(`a promise ${name}`, async () => {
      assert.deepEqual(await reported(() => discard(ORIGIN.CALLBACK, make())), [['callback', 'no']]);
    });
  }

  test('promises in arrays and plain objects, in what they resolve to, and each once', async () => {
    const fail = (message) => Promise.reject(new Error(message));
    const shared = fail('shared');
    const value = [fail('a'), { b: fail('b'), c: [shared, { shared }] }, Promise.resolve({ d: fail('d') })];
    value.push(value);
    assert.deepEqual((await reported(() => discard('x', value))).toSorted(), ['a', 'b', 'd', 'shared'].map((text) => ['x', text]));
  });

  test('values that cannot be inspected, and large ones', async () => {
    const proxy = new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; }, ownKeys() { throw 3; }, getOwnPropertyDescriptor() { throw 4; } });
    let reads = 0;
    const large = Array.from({ length: 2e5 }, () => ({}));
    const values = [proxy, Object.create(proxy), [proxy], { get x() { reads += 1; return 1; } }, large, { large }, new Map([[proxy, large]]), null, undefined, 1n, Symbol('s'), () => {}];
    const start = process.cpuUsage();
    assert.deepEqual(await reported(() => {
      for (const value of values) {
        discard('x', value);
        discardWithin('x', value);
      }
    }), []);
    assert.equal(reads, 0);
    assert.ok(cpuTime(start) < 5_000);
  });

  test('promises in properties of instances, and nothing else of those', async () => {
    const fail = (message) => Promise.reject(new Error(message));
    class Job { done = fail('job'); }
    class Named extends Job { [Symbol('s')] = fail('symbol'); }
    const error = Object.assign(new TypeError('e'), { reason: fail('error') });
    const frozen = Object.freeze(Object.assign(new Date(), { later: fail('date') }));
    let looks = 0;
    class Service { rows = new Proxy([], { ownKeys() { looks += 1; return []; } }); get ready() { looks += 1; return 1; } table = { get row() { looks += 1; return 1; } }; }
    const values = [new Job(), new Named(), error, frozen, new Service(), Object.create(new Proxy({}, {}))];
    assert.deepEqual((await reported(() => { for (const value of values) discard('x', value); })).map(([, message]) => message).toSorted(), ['date', 'error', 'job', 'job', 'symbol']);
    assert.equal(looks, 0);
  });

  test('the first slice of a large value takes no longer than a smaller value', () => {
    const fastest = (count) => {
      const value = Array.from({ length: count }, (_, id) => ({ id }));
      const times = Array.from({ length: 4 }, () => {
        const start = performance.now();
        discard('x', value);
        return performance.now() - start;
      });
      return Math.min(...times);
    };
    fastest(25_000);
    const [small, large] = [fastest(25_000), fastest(1_000_000)];
    assert.ok(large < small * 10, `${large} ms, and ${small} ms for a fortieth`);
  });

  test('a thenable that is not a promise is not called', async () => {
    let begun = 0;
    await reported(() => discard('x', thenable(() => { begun += 1; })));
    assert.equal(begun, 0);
  });
});

describe('guard', () => {
  const VALUES = {
    'a list of objects': Array.from({ length: 1_000 }, () => ({})),
    'an object with many keys': Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index])),
    'a map': new Map(Array.from({ length: 1_000 }, (_, index) => [index, {}])),
  };
  for (const [name, value] of Object.entries(VALUES)) {
    test(`takes little time in a turn, however often it is called: ${name}`, async () => {
      await turn();
      const start = process.cpuUsage();
      for (let call = 0; call < 10_000; call += 1) guard('x', value);
      const time = cpuTime(start);
      assert.ok(time < 1_500, `${time} ms`);
      assert.deepEqual(await reported(async () => {
        await turn();
        guard('x', { a: [Promise.reject(new Error('no'))] });
      }), [['x', 'no']]);
    });

    test(`so does what many promises resolve to: ${name}`, async () => {
      await turn();
      const start = process.cpuUsage();
      for (let call = 0; call < 10_000; call += 1) discard('x', Promise.resolve(value));
      await turn();
      const time = cpuTime(start);
      assert.ok(time < 1_500, `${time} ms`);
    });
  }
});

describe('adopt', () => {
  const settled = async (value) => (await Promise.allSettled([adopt(value)]))[0];

  test('a plain promise is returned unchanged', () => {
    const promise = Promise.resolve(1);
    assert.equal(adopt(promise), promise);
  });

  for (const [name, make] of Object.entries(ODD).filter(([key]) => key !== 'whose methods throw')) {
    test(`a promise ${name}`, async () => {
      assert.equal((await settled(make())).reason.message, 'no');
    });
  }

  const cases = {
    'that throws': [() => { throw new Error('thrown'); }, 'thrown'],
    'that is async and throws': [async () => { throw new Error('thrown later'); }, 'thrown later'],
    'that calls both': [(resolve, reject) => { reject(new Error('first')); resolve(1); }, 'first'],
    'that resolves to a thenable that rejects': [(resolve) => { resolve(thenable((_, reject) => { reject(new Error('inner')); })); }, 'inner'],
    'that resolves to a thenable that is async and throws': [(resolve) => { resolve(thenable(async () => { throw new Error('deep'); })); }, 'deep'],
  };
  for (const [name, [then, message]] of Object.entries(cases)) {
    test(`a thenable ${name}`, async () => {
      assert.equal((await settled(thenable(then))).reason.message, message);
    });
  }

  test('a thenable that resolves to itself', async () => {
    const own = thenable((resolve) => { resolve(own); });
    assert.equal((await settled(own)).reason.name, 'RangeError');
  });

  test('values', async () => {
    assert.equal(await adopt(thenable((resolve) => { resolve(7); })), 7);
    assert.deepEqual([isThenable(null), isThenable('x'), isThenable({}), isThenable(Promise.resolve()), isThenable(thenable(() => {}))], [false, false, false, true, true]);
  });
});

describe('notify', () => {
  test('reports errors and rejections of a function', async () => {
    const receiver = {};
    const calls = [];
    assert.deepEqual(await reported(() => {
      notify('x', function call(...args) { calls.push([this, ...args]); }, receiver, [1, 2]);
      notify('x', () => { throw new Error('thrown'); }, undefined, []);
      notify('y', async () => { throw new Error('rejected'); }, undefined, []);
      notify('z', () => { throw null; }, undefined, []);
    }), [['x', 'thrown'], ['z', null], ['y', 'rejected']]);
    assert.equal(calls[0][0], receiver);
    assert.deepEqual(calls[0].slice(1), [1, 2]);
  });

  test('errors of any kind can be reported', async () => {
    const odd = [Object.create(null), Object.assign(() => {}, { toString() { throw 1; } }), Symbol('s'), new Proxy({}, { get() { throw 1; } })];
    for (const error of odd) assert.doesNotThrow(() => report('x', error));
    let seen = 0;
    const listen = () => { seen += 1; };
    subscribe('isolated-v8:unhandled-host-error', listen);
    for (const error of odd) report('x', error);
    unsubscribe('isolated-v8:unhandled-host-error', listen);
    assert.equal(seen, odd.length);
  });
});
