// `createContext({ web, timers, console })`: what contexts of one's own isolates have beside ECMAScript's built-ins.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import ivm from '../../../index.mjs';

const WEB = ['TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'atob', 'btoa', 'structuredClone', 'crypto', 'performance'];
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask'];
const PRESENT = `${JSON.stringify([...WEB, ...TIMERS])}.filter((name) => typeof globalThis[name] !== 'undefined').join()`;

async function withIsolate(run, options = {}) {
  const isolate = new ivm.Isolate({ memoryLimit: 32, ...options });
  try {
    return await run(isolate);
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

/** Both ways to create a context. */
const WAYS = {
  createContext: (isolate, options) => isolate.createContext(options),
  createContextSync: async (isolate, options) => isolate.createContextSync(options),
};

/** A list of entries, and a promise for it when it is so long. Only the promise keeps the event loop alive. */
function entries() {
  const list = [];
  let check = () => {};
  const add = (entry) => {
    list.push(entry);
    check();
  };
  const until = (count) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`only ${list.length} entries`)), 20_000);
    check = () => {
      if (list.length < count) return;
      clearTimeout(timer);
      resolve(list);
    };
    check();
  });
  return { list, add, until };
}

for (const [way, create] of Object.entries(WAYS)) {
  describe(way, () => {
    test('has what is asked for, and nothing else', () => withIsolate(async (isolate) => {
      assert.equal((await create(isolate, {})).evalSync(PRESENT), '');
      assert.equal((await create(isolate, { web: false, timers: null, console: undefined })).evalSync(PRESENT), '');
      assert.equal((await create(isolate, { web: true })).evalSync(PRESENT), WEB.join());
      assert.equal((await create(isolate, { web: ['URL', 'atob'] })).evalSync(PRESENT), 'URL,atob');
      assert.equal((await create(isolate, { timers: true })).evalSync(PRESENT), TIMERS.join());
      assert.equal((await create(isolate, { web: [], timers: false })).evalSync(PRESENT), '');
      const context = await create(isolate, { web: true });
      assert.equal(context.evalSync('new URL("../b", "https://a.example/c/d").href + new TextDecoder().decode(new TextEncoder().encode("ü")) + crypto.randomUUID().length + atob(btoa("x"))'),
        'https://a.example/bü36x');
      assert.ok(context.evalSync('performance.now()') >= 0);
      assert.equal(context.evalSync('structuredClone({ a: [new Date(5)] }).a[0].getTime()'), 5);
    }));

    test('timers fire, in each context of an isolate', () => withIsolate(async (isolate) => {
      const [one, other] = [await create(isolate, { timers: true }), await create(isolate, { timers: true })];
      const code = 'new Promise((resolve) => { const all = []; const id = setInterval(() => { if (all.push(1) === 3) { clearInterval(id); resolve(all.length); } }, 1); clearTimeout(setTimeout(() => all.push(1), 0)); })';
      assert.deepEqual(await Promise.all([one, other].map((context) => context.eval(code, { promise: true, deadline: 20_000 }))), [3, 3]);
      assert.equal(await one.eval('new Promise((resolve) => setTimeout(resolve, 5, "argument"))', { promise: true, deadline: 20_000 }), 'argument');
      assert.equal(other.evalSync('let order = []; queueMicrotask(() => order.push(2)); order.push(1); order.join()'), '1');
      assert.equal(other.evalSync('order.join()'), '1,2');
    }));

    test('what a callback of a timer throws is reported', () => withIsolate(async (isolate) => {
      const { add, until } = entries();
      const context = await create(isolate, { timers: add });
      context.evalSync('setTimeout(() => { throw new RangeError("late") }, 0); queueMicrotask(() => { throw 5 })');
      const errors = (await until(2)).toSorted((a, b) => a.message.length - b.message.length);
      assert.deepEqual(errors.map((error) => [error instanceof Error, error.name, error.message]), [[true, 'Error', '5'], [true, 'RangeError', 'late']]);
    }));

    test('the console writes to a function', () => withIsolate(async (isolate) => {
      const { add, until } = entries();
      const context = await create(isolate, { console: add });
      context.evalSync('console.log("a", 1, { b: [2] }, undefined, 5n); console.warn("x".repeat(20000)); console.error(new TypeError("no"))');
      await context.eval('console.info(1); console.debug(); ');
      const list = await until(5);
      assert.deepEqual(list.map(({ level }) => level), ['log', 'warn', 'error', 'info', 'debug']);
      assert.equal(list[0].message, 'a 1 {"b":[2]} undefined 5');
      assert.ok(list[1].message.length >= 10_000 && list[1].message.length < 10_010);
      assert.match(list[2].message, /^TypeError: no\n {4}at /);
      assert.equal(list[4].message, '');
      assert.deepEqual(context.evalSync('Object.keys(console).join() + console.log.name + Object.keys(globalThis).includes("console")'), 'log,info,warn,error,debug,dir,dirxml,table,trace,assert,count,countReset,time,timeLog,timeEnd,group,groupCollapsed,groupEndlogfalse');
    }));

    test('the console writes to an object, and to that of the host', () => withIsolate(async (isolate) => {
      const { add, until } = entries();
      class Target { name = 'target'; log(message) { add([this.name, message]); } get warn() { return undefined; } }
      const context = await create(isolate, { console: new Target() });
      context.evalSync('console.error("dropped"); console.warn("dropped"); console.log("kept")');
      assert.deepEqual(await until(1), [['target', 'kept']]);
      const { log } = console;
      const written = entries();
      console.log = written.add;
      try {
        (await create(isolate, { console: true })).evalSync('console.log("to the host")');
        assert.deepEqual(await written.until(1), ['to the host']);
      } finally {
        console.log = log;
      }
    }));

    test('wrong options are refused by name', () => withIsolate(async (isolate) => {
      const invalid = (message) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG', message });
      for (const web of ['URL', ['fetch'], [1], 5, {}, ['__proto__']]) await assert.rejects(async () => create(isolate, { web }), invalid(/^`web` must be a boolean or an array of names: TextEncoder, /));
      for (const timers of [1, 'yes', {}]) await assert.rejects(async () => create(isolate, { timers }), invalid('`timers` must be a boolean or a function'));
      for (const wrong of [1, 'log', 5n]) await assert.rejects(async () => create(isolate, { console: wrong }), invalid('`console` must be a boolean, a function, or an object with methods such as `log`'));
    }));

    test('scripts of snapshots have no timers and no console', () => {
      for (const option of ['timers', 'console']) {
        assert.throws(() => ivm.Isolate.createSnapshot([], null, { [option]: true }), { code: 'ERR_ISOLATE_UNSUPPORTED', message: new RegExp(`^\`${option}\`.*createContext`) });
        assert.ok(ivm.Isolate.createSnapshot([], null, { [option]: false }));
      }
    });

    test('together with a snapshot', async () => {
      const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.later = () => new Promise((resolve) => setTimeout(resolve, 1, new URL("https://a.example").host)); var atob = 5; globalThis.say = (text) => console.log(text);' }]);
      await withIsolate(async (isolate) => {
        const { add, until } = entries();
        const context = await create(isolate, { web: ['URL', 'atob'], timers: true, console: add });
        assert.equal(await context.eval('later()', { promise: true, deadline: 20_000 }), 'a.example');
        assert.equal(context.evalSync('say("hello"); typeof atob'), 'function');
        assert.deepEqual(await until(1), [{ level: 'log', message: 'hello' }]);
        assert.equal((await create(isolate, { web: ['URL'] })).evalSync('atob'), 5);
      }, { snapshot });
      for (const name of ['URL', 'setTimeout', 'console']) {
        await withIsolate(async (isolate) => {
          await assert.rejects(async () => create(isolate, { web: true, timers: true, console: true }), { code: 'ERR_INVALID_ARG', message: new RegExp(`\`${name}\``) });
          assert.equal((await create(isolate, {})).evalSync(`${name} === 1`), true);
        }, { snapshot: ivm.Isolate.createSnapshot([{ code: `const ${name} = 1;` }]) });
      }
    });

    test('code of the context cannot change how it works', () => withIsolate(async (isolate) => {
      const { add, until } = entries();
      const context = await create(isolate, { console: add });
      context.evalSync(`
        Array.prototype[Symbol.iterator] = Object.defineProperty = Function.prototype.apply = Function.prototype.call = () => { throw 1 };
        Object.prototype.level = 5; Array.prototype.push = 1; String.prototype.slice = 1;
        console.log('still'); console.log({ toJSON() { console.log('inner'); return 1 } });
      `);
      assert.deepEqual((await until(3)).map(({ message }) => message), ['still', 'inner', '1']);
    }));
  });
}

describe('scripts of a snapshot with web APIs', () => {
  const snapshotOf = (code, web = true, warmup = null) => ivm.Isolate.createSnapshot([{ code }], warmup, { web });
  /** What code gives in contexts of an isolate with the snapshot: with web APIs, and without. */
  const inContexts = (snapshot, code, web = true) => withIsolate(async (isolate) => [
    isolate.createContextSync({ web }).evalSync(code),
    await isolate.createContext().then((context) => context.eval(`try { ${code} } catch (error) { error.name + ': ' + error.message }`)),
  ], { snapshot });
  const LIBRARY = `
    const encoder = new TextEncoder();
    var base = new URL('https://example.org/a?b=c');
    var params = base.searchParams;
    var text = atob(btoa('text')) + new TextDecoder().decode(encoder.encode('ü'));
    var copy = structuredClone({ list: [1] });
    function resolve(path) { return new URL(path, base).href + encoder.encode(path).length; }`;

  test('use them, and what they make works in contexts that have them', async () => {
    const snapshot = snapshotOf(LIBRARY, true, 'resolve("/warm")');
    const code = `params.set('b', 'd'); [base.href, resolve('/ü'), text, copy.list, base instanceof URL, params instanceof URLSearchParams, new URL('x:y').href].join()`;
    const [first, second] = await inContexts(snapshot, code);
    assert.equal(first, 'https://example.org/a?b=d,https://example.org/%C3%BC3,textü,1,true,true,x:y');
    assert.match(second, /^TypeError: This context has no web APIs/);
  });

  test('random values and times are made in each context', async () => {
    const snapshot = snapshotOf('function roll() { return crypto.randomUUID() + performance.now() }');
    const rolled = new Set();
    for (let count = 0; count < 3; count += 1) rolled.add((await inContexts(snapshot, 'roll()'))[0]);
    assert.equal(rolled.size, 3);
    for (const [code, what] of [['crypto.randomUUID()', 'random values'], ['crypto.getRandomValues(new Uint8Array(1))', 'random values'], ['new TextDecoder().decode(new Uint8Array(1), { stream: true })', 'a TextDecoder in the middle of a stream']]) {
      assert.throws(() => snapshotOf(code), { name: 'TypeError', message: `A snapshot cannot have ${what}` });
    }
  });

  test('contexts can have more of them, and sandboxes have them', async () => {
    const snapshot = snapshotOf("var base = new URL('https://a.example/'); var bytes = Buffer.from('abc');", ['URL', 'Buffer']);
    const [all] = await inContexts(snapshot, "[base instanceof URL, base.host, new TextEncoder().encode('x').length, bytes.toString('hex')].join()");
    assert.equal(all, 'true,a.example,1,616263');
    const [decoded] = await inContexts(snapshot, "const decoder = new TextDecoder(); decoder.decode(new Uint8Array([0xc3]), { stream: true }) + decoder.decode(new Uint8Array([0xbc]))");
    assert.equal(decoded, 'ü');
    const sandbox = ivm.createSandbox({}, { snapshot, web: ['URL', 'atob'] });
    assert.deepEqual((await sandbox.execute("return [base instanceof URL, new URL('b', base).href, atob('eA==')]")).result, [true, 'https://a.example/b', 'x']);
  });

  test('code of a context cannot reach what connects them', async () => {
    const snapshot = snapshotOf(`${LIBRARY} Object.prototype.connect = Function.prototype.call = Function.prototype.apply = Array.prototype[Symbol.iterator] = () => { throw 1 };`);
    const [found] = await inContexts(snapshot, `
      Object.prototype.parseUrl = () => 'replaced';
      [resolve('/a'), Object.getOwnPropertySymbols(globalThis).length, Reflect.ownKeys(base).length].join()`);
    assert.equal(found, 'https://example.org/a2,0,0');
    const [error] = await inContexts(snapshot, "try { structuredClone(Symbol('x')) } catch (error) { error.name }");
    assert.equal(error, 'DataCloneError');
    assert.equal((await inContexts(snapshot, "try { structuredClone(base) + '' } catch (error) { error.name }"))[0], 'DataCloneError');
  });

  test('what they declare under the same name is refused, and what they assign stays', async () => {
    await withIsolate((isolate) => {
      assert.throws(() => isolate.createContextSync({ web: ['URL'] }), { code: 'ERR_INVALID_ARG', message: /`URL`/ });
    }, { snapshot: snapshotOf('const URL = 1;') });
    assert.equal((await inContexts(snapshotOf('URL = 1; delete globalThis.atob'), 'URL + typeof atob'))[0], '1undefined');
  });

  test('a wrong name is refused', () => {
    assert.throws(() => snapshotOf('1', ['fetch']), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /^`web` must be a boolean or an array of names/ });
  });
});

test('contexts of an isolate do not share streams of a TextDecoder', () => withIsolate((isolate) => {
  const [first, second] = Array.from({ length: 2 }, () => isolate.createContextSync({ web: ['TextDecoder'] }));
  for (const context of [first, second]) context.evalSync('globalThis.decoder = new TextDecoder(); globalThis.more = (bytes, stream) => decoder.decode(new Uint8Array(bytes), { stream })');
  assert.equal(first.evalSync('more([0xe2, 0x82], true)'), '');
  assert.equal(second.evalSync('more([0xac], true)'), '\ufffd');
  assert.equal(first.evalSync('more([0xac], false)'), '\u20ac');
}));

test('without a listener, errors of timers are published', () => withIsolate(async (isolate) => {
  const { add, until } = entries();
  const failures = channel('isolated-v8:unhandled-host-error');
  failures.subscribe(add);
  try {
    (await isolate.createContext({ timers: true })).evalSync('setTimeout(() => { throw new Error("late") }, 0)');
    const [{ origin, error }] = await until(1);
    assert.deepEqual([origin, error.message], ['timer', 'late']);
  } finally {
    failures.unsubscribe(add);
  }
}));

test('timers stop with the deadline of the call that set them, and with their isolate', () => withIsolate(async (isolate) => {
  const { add, until } = entries();
  const context = await isolate.createContext({ timers: add, console: add });
  await assert.rejects(context.eval('setTimeout(() => { for (;;); }, 1); new Promise(() => {})', { promise: true, deadline: 200 }), { code: /ERR_ISOLATE_(DEADLINE|TIMEOUT)/ });
  context.evalSync('setInterval(() => console.log("tick"), 1)');
  await until(2);
  isolate.dispose();
}));

test('too many timers are refused', () => withIsolate(async (isolate) => {
  const context = await isolate.createContext({ timers: true });
  assert.equal(context.evalSync('let count = 0; try { for (;;) { setTimeout(() => {}, 1e6); count += 1; } } catch (error) { error.name + count }'), 'RangeError1000');
}));

test('they are not available inside isolates', () => withIsolate(async (isolate) => {
  const context = await isolate.createContext();
  await context.global.set('ivm', ivm);
  const code = `(async () => {
    const inner = new ivm.Isolate();
    const all = [];
    for (const options of [{ web: true }, { timers: true }, { console: true }]) {
      try { inner.createContextSync(options); all.push('created'); } catch (error) { all.push(error.code); }
      all.push(await inner.createContext(options).then(() => 'created', (error) => error.code));
    }
    await inner.createContext({ web: false, timers: null });
    return all.join();
  })()`;
  assert.equal(await context.eval(code, { promise: true }), Array(6).fill('ERR_ISOLATE_UNSUPPORTED').join());
}));

test('an aborted or disposed creation rejects', () => withIsolate(async (isolate) => {
  await assert.rejects(isolate.createContext({ web: true, signal: AbortSignal.abort(new Error('no')) }), { message: 'no' });
  const creating = isolate.createContext({ web: true, timers: true, console: true });
  isolate.dispose();
  await assert.rejects(creating, { code: 'ERR_ISOLATE_DISPOSED' });
}));
