// The option `snapshot` of sandboxes: executions start from a heap that the user has prepared.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';

const { createSandbox, ExternalCopy, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;

const RULES = `
  var rules = { limit: 10, seen: [] };
  class Money { constructor(amount) { this.amount = amount; } over() { return this.amount > rules.limit; } }
  const secret = 42;
  function check(amount) { rules.seen.push(amount); return [new Money(amount).over(), rules.seen.length, secret]; }
`;
const make = () => Isolate.createSnapshot([{ code: RULES, filename: 'rules.js' }]);
const noTools = async () => {};

/** Runs one expression in sandboxes of each kind. */
const KINDS = {
  createSandbox: (options) => {
    const sandbox = createSandbox({ base: 1 }, options);
    return async (code) => {
      const { result, error } = await sandbox.execute(code);
      assert.equal(error, undefined);
      return result;
    };
  },
  IsolatedVMSandbox: (options) => {
    const sandbox = new IsolatedVMSandbox(options);
    return async (code) => {
      const { result, error } = await sandbox.execute(`return ${code}`, [], noTools);
      assert.equal(error, undefined);
      return result;
    };
  },
  'IsolatedVmSandbox, fresh': (options) => {
    const sandbox = new IsolatedVmSandbox(null, options);
    const isolate = sandbox.createIsolate({ id: 'p' });
    isolate.catch(() => {});
    return async (code) => sandbox.executeInSandbox(await isolate, code, {}, { fresh: true });
  },
  SubprocessSandbox: ({ warm, ...options }) => {
    const sandbox = new SubprocessSandbox({ ...options, poolSize: warm });
    return async (code) => {
      const { result, error } = await sandbox.execute(`return ${code}`, [], noTools);
      assert.equal(error, undefined);
      return result;
    };
  },
};

for (const [name, sandboxOf] of Object.entries(KINDS)) {
  describe(name, () => {
    for (const warm of [0, 1, 3]) {
      test(`each execution starts with the prepared heap, warm: ${warm}`, async () => {
        const copy = make();
        const run = sandboxOf({ snapshot: copy, warm });
        copy.release();
        for (let i = 0; i < 6; i += 1) {
          assert.deepEqual(await run('check(11)'), [true, 1, 42]);
          assert.deepEqual(await run('(rules.limit = 1000, check(11))'), [false, 1, 42]);
        }
        const results = await Promise.all(Array.from({ length: 20 }, (_, i) => run(`check(${i})`)));
        assert.deepEqual(results, Array.from({ length: 20 }, (_, i) => [i > 10, 1, 42]));
      });
    }

    test('with web and console beside it', async () => {
      const copy = Isolate.createSnapshot([{ code: 'var console = { log: "mine" }; var setTimeout = 1; var answer = 42;' }]);
      const run = sandboxOf({ snapshot: copy, web: true });
      for (let i = 0; i < 4; i += 1) {
        assert.deepEqual(await run('[typeof console.log, new URL("https://a.b/c").pathname, answer]'), ['function', '/c', 42]);
      }
    });

    test('a name that it declares by var is replaced by the sandbox\'s value of that name', async () => {
      const snapshot = Isolate.createSnapshot([{ code: 'var URL = 1; var crypto = 2; function atob() {} var console = 3; var setTimeout = 4; var btoa = 5, own = 6; globalThis.TextEncoder = 7; let structuredClone2 = 8; const global = globalThis;' }]);
      const run = sandboxOf({ snapshot, web: true });
      for (let i = 0; i < 3; i += 1) {
        assert.deepEqual(await run('[new URL("https://a.b/c").pathname, typeof crypto.randomUUID(), atob(btoa("text")), typeof console.log, new TextEncoder().encode("a").length, own, structuredClone2]'),
          ['/c', 'string', 'text', 'function', 1, 6, 8]);
      }
    });

    for (const [declaration, shadowed, options] of [
      ['const console = { log() {} };', 'console', {}], ['let console;', 'console', {}], ['class URL {}', 'URL', { web: ['URL'] }],
      ['let a = 1, atob = 2;', 'atob', { web: true }], ['const { log } = console, performance = 1;', 'performance', { web: true }],
    ]) {
      test(`other declarations of such a name are refused: ${declaration}`, async () => {
        const snapshot = Isolate.createSnapshot([{ code: declaration }]);
        const run = sandboxOf({ ...options, snapshot });
        const message = `\`snapshot\` declares \`${shadowed}\` by const, let or class, which would shadow what the sandbox has under that name`;
        for (let i = 0; i < 3; i += 1) await assert.rejects(run('1'), (error) => error.message.includes(message) || assert.fail(error));
        if (shadowed !== 'console') assert.equal(await sandboxOf({ snapshot })('1'), 1);
      });
    }

    test('sandboxes with other snapshots, or none, are separate', async () => {
      const [one, two] = ['1', '2'].map((which) => Isolate.createSnapshot([{ code: `var which = ${which};` }]));
      const runs = [sandboxOf({ snapshot: one, warm: 2 }), sandboxOf({ snapshot: two, warm: 2 }), sandboxOf({ warm: 2 })];
      for (let i = 0; i < 6; i += 1) {
        const results = await Promise.all(runs.map((run) => run('typeof which === "undefined" ? 0 : which')));
        assert.deepEqual(results, [1, 2, 0]);
      }
    });
  });
}

test('a stored snapshot', async () => {
  const bytes = new Uint8Array(make().copy()).slice();
  const sandbox = createSandbox({}, { snapshot: new ExternalCopy(bytes.buffer) });
  assert.deepEqual((await sandbox.execute('check(1)')).result, [false, 1, 42]);
});

test('after the copy was transferred', async () => {
  const copy = make();
  const sandbox = createSandbox({}, { snapshot: copy });
  copy.copy({ transferIn: true });
  for (let i = 0; i < 3; i += 1) assert.deepEqual((await sandbox.execute('check(1)')).result, [false, 1, 42]);
});

test('plugins keep what they change', async () => {
  const sandbox = new IsolatedVmSandbox(null, { snapshot: make() });
  const [one, two] = [await sandbox.createIsolate({ id: 'one' }), await sandbox.createIsolate({ id: 'two' })];
  assert.deepEqual(await sandbox.executeInSandbox(one, 'check(1)', {}), [false, 1, 42]);
  assert.deepEqual(await sandbox.executeInSandbox(one, 'check(1)', {}), [false, 2, 42]);
  assert.deepEqual(await sandbox.executeInSandbox(two, 'check(1)', {}), [false, 1, 42]);
});

describe('names that are properties of the snapshot\'s globalThis', () => {
  const NAMES = ['console', 'setTimeout', 'URL', 'atob', 'crypto', 'performance', 'global', 'rate', 'f', 'shop', 'context', 'pluginId'];
  const ways = {
    assigned: (name) => `globalThis.${name} = 'mine';`,
    'as accessors': (name) => `Object.defineProperty(globalThis, '${name}', { get() { return 'mine' }, set() { throw new Error('set') }, configurable: true });`,
    'read-only': (name) => `Object.defineProperty(globalThis, '${name}', { value: 'mine', configurable: true });`,
    'not configurable': (name) => `Object.defineProperty(globalThis, '${name}', { value: 'mine', writable: true });`,
    'inherited, as accessors': (name) => `Object.defineProperty(Object.getPrototypeOf(globalThis), '${name}', { get() { return 'mine' }, set() { throw new Error('set') } });`,
  };
  const SEEN = '[typeof console.log, typeof setTimeout, new URL("https://a.b/c").pathname, atob("YQ=="), typeof crypto.randomUUID(), typeof performance.now()';
  const COMMON = ['function', 'function', '/c', 'a', 'string', 'number'];
  for (const [how, way] of Object.entries(ways)) {
    test(how, async () => {
      const snapshot = Isolate.createSnapshot([{ code: NAMES.map(way).join('\n') }]);
      const tools = [{ name: 'shop:price', description: '' }];
      const outcomes = [
        await createSandbox({ rate: 2, f: () => 3 }, { snapshot, timers: true, web: true }).execute(`${SEEN}, rate, f()]`),
        await new IsolatedVMSandbox({ snapshot, web: true }).execute(`return ${SEEN}, global === globalThis, await shop.price()]`, tools, async () => 4),
        ...(process.platform === 'win32' ? [] : [await new SubprocessSandbox({ snapshot, web: true, poolSize: 0 }).execute(`return ${SEEN}, global === globalThis, await shop.price()]`, tools, async () => 4)]),
      ];
      const plugins = new IsolatedVmSandbox(null, { snapshot, timers: true, web: true });
      const isolate = await plugins.createIsolate({ id: 'p' });
      const seen = [...outcomes.map(({ result, error }) => error ?? result), await plugins.executeInSandbox(isolate, `${SEEN}, global === globalThis, context.config.a, pluginId]`, { config: { a: 5 } })];
      assert.deepEqual(seen, [[...COMMON, 2, 3], ...outcomes.slice(1).map(() => [...COMMON, true, 4]), [...COMMON, true, 5, 'p']]);
      plugins.disposeAll();
    });
  }

  test('non-configurable ones are refused by name', async () => {
    const messageFor = (name) => `\`snapshot\` has made it impossible to give the code \`${name}\`, which the sandbox has`;
    for (const code of [
      'Object.defineProperty(globalThis, "NAME", { value: 1, writable: false, configurable: false });', 'Object.defineProperty(globalThis, "NAME", { get() {}, configurable: false });',
    ]) {
      const holding = (own) => Isolate.createSnapshot([{ code: code.replaceAll('NAME', own) }]);
      for (const own of ['console', 'rate']) {
        const { error, failure } = await createSandbox({ rate: 2 }, { snapshot: holding(own) }).execute('1');
        assert.deepEqual([error, failure.name, failure.code], [messageFor(own), 'TypeError', 'ERR_INVALID_ARG']);
      }
      for (const own of ['console', 'global', 'shop']) {
        const { error } = await new IsolatedVMSandbox({ snapshot: holding(own) }).execute('return 1', [{ name: 'shop:price', description: '' }], noTools);
        assert.equal(error, messageFor(own));
      }
      for (const own of ['console', 'global', 'context', 'pluginId']) {
        const { message } = await new IsolatedVmSandbox(null, { snapshot: holding(own) }).createIsolate({ id: 'p' }).then(assert.fail, (error) => error);
        assert.equal(message, `Plugin execution failed: ${messageFor(own)}`);
      }
    }
    const { error } = await new IsolatedVMSandbox({ snapshot: Isolate.createSnapshot([{ code: 'var shop = Object.freeze({});' }]) })
      .execute('return 1', [{ name: 'shop:price', description: '' }], noTools);
    assert.equal(error, messageFor('price'));
  });
});

test('globals and tools take precedence over the snapshot\'s properties', async () => {
  const snapshot = Isolate.createSnapshot([{ code: 'var rate = 1; var shop = { open: true, price: 1 }; function log() {} let kept = rate;' }]);
  const sandbox = createSandbox({ rate: 2, log: (text) => `logged ${text}` }, { snapshot });
  const agent = new IsolatedVMSandbox({ snapshot });
  for (let i = 0; i < 3; i += 1) {
    assert.deepEqual((await sandbox.execute('[rate, kept, log("it")]')).result, [2, 1, 'logged it']);
    const { result } = await agent.execute('return [await shop.price(), shop.open]', [{ name: 'shop:price', description: '' }], async () => 3);
    assert.deepEqual(result, [3, true]);
  }
});

test('declarations of names of globals, tools, timers and a plugin\'s context', async () => {
  const messageFor = (name) => `\`snapshot\` declares \`${name}\` by const, let or class, which would shadow what the sandbox has under that name`;
  const holding = (code) => Isolate.createSnapshot([{ code }]);
  const { error, failure } = await createSandbox({ rate: 2, 'no name': 1, this: 3, if: 4 }, { snapshot: holding('const rate = 1;') }).execute('1');
  assert.deepEqual([error, failure.name, failure.code], [messageFor('rate'), 'TypeError', 'ERR_INVALID_ARG']);
  assert.equal((await createSandbox({ rate: 1, 'no name': 1, this: 3, if: 4 }, { snapshot: holding('const rate = 1;') }).execute('rate')).result, 1);
  const tools = [{ name: 'shop:price', description: '' }];
  const snapshot = holding('let shop = { price: 1 }; const setTimeout = 1;');
  for (const sandbox of [new IsolatedVMSandbox({ snapshot }), new SubprocessSandbox({ snapshot })]) {
    assert.equal((await sandbox.execute('return 1', tools, noTools)).error, messageFor('setTimeout'));
  }
  assert.equal((await new IsolatedVMSandbox({ snapshot: holding('let shop = { price: 1 };') }).execute('return 1', tools, noTools)).error, messageFor('shop'));
  for (const name of ['context', 'pluginId']) {
    await assert.rejects(new IsolatedVmSandbox(null, { snapshot: holding(`let ${name};`) }).createIsolate({ id: 'p' }), (failed) => failed.message === `Plugin execution failed: ${messageFor(name)}`);
    const plugins = new IsolatedVmSandbox(null, { snapshot: holding(`var ${name} = 1;`) });
    assert.equal(await plugins.executeInSandbox(await plugins.createIsolate({ id: 'p' }), 'pluginId + typeof context', {}), 'pobject');
  }
});

describe('SubprocessSandbox', () => {
  test('has frozen prototypes, modules, tools and limits with it', async () => {
    const snapshot = make();
    const sandbox = new SubprocessSandbox({ snapshot, modules: { 'a.js': 'export const limit = rules.limit;' } });
    const { result, error } = await sandbox.execute('import { limit } from "a.js";\nexport default [limit, await t.f(), check(11), Object.isFrozen(Array.prototype)]',
      [{ name: 't:f', description: '' }], async () => 5);
    assert.deepEqual([result, error], [[10, 5, [true, 1, 42], true], undefined]);
    const plain = new SubprocessSandbox({ snapshot, timeout: 1_000, memoryLimit: 16 });
    assert.equal((await plain.execute('Array.prototype.x = 1', [], noTools)).failure.name, 'TypeError');
    const { failure } = await plain.execute('\nreturn new Money(1).none()', [], noTools);
    assert.deepEqual([failure.name, failure.line], ['TypeError', 2]);
    assert.equal((await plain.execute('for (;;);', [], noTools)).failure.code, 'ERR_ISOLATE_DEADLINE');
    assert.equal((await plain.execute('const kept = []; for (;;) kept.push(new Array(1000).fill(rules));', [], noTools)).failure.code, 'ERR_ISOLATE_MEMORY');
    assert.deepEqual((await plain.execute('return check(11)', [], noTools)).result, [true, 1, 42]);
  });

  test('a stored and a large snapshot, in warm and new processes', async () => {
    const bytes = new Uint8Array(Isolate.createSnapshot([{ code: 'var data = Array.from({ length: 400000 }, (_, i) => ({ i }));' }]).copy()).slice();
    for (const poolSize of [0, 2]) {
      const sandbox = new SubprocessSandbox({ snapshot: new ExternalCopy(bytes.buffer), memoryLimit: 64, poolSize });
      for (let i = 0; i < 4; i += 1) {
        const { result, error } = await sandbox.execute('data.length += 1; return data.length', [], noTools);
        assert.deepEqual([result, error], [400_001, undefined]);
      }
      assert.ok((await sandbox.confinement()).some(({ active }) => active));
    }
  });

  test('code of the snapshot runs under the limits of the execution, and never before it', async () => {
    for (const code of ['Object.freeze = () => { for (;;); }; Reflect.ownKeys = Object.freeze;', 'Promise.prototype.then = () => { for (;;); };',
      'Object.defineProperty(Object.prototype, "value", { get() { for (;;); }, set() { for (;;); }, configurable: true });']) {
      const sandbox = new SubprocessSandbox({ snapshot: Isolate.createSnapshot([{ code }]), web: true, timeout: 2_000 });
      for (let i = 0; i < 2; i += 1) {
        const { result, failure } = await sandbox.execute('return 1 + 1', [], noTools);
        assert.ok(result === 2 || failure.code === 'ERR_ISOLATE_DEADLINE', JSON.stringify({ code, result, failure }));
      }
    }
  });
});

test('positions in errors', async () => {
  const sandbox = createSandbox({}, { snapshot: Isolate.createSnapshot([{ code: 'function fail() {\n  throw new RangeError("no");\n}', filename: 'lib.js' }]) });
  const { error, failure } = await sandbox.execute('\nfail()');
  assert.equal(error, 'no');
  assert.match(failure.stack, /at fail \(lib\.js:2:9\)/);
});

describe('invalid snapshots', () => {
  const makers = [
    (snapshot) => createSandbox({}, { snapshot }),
    (snapshot) => new IsolatedVMSandbox({ snapshot }),
    (snapshot) => new IsolatedVmSandbox(null, { snapshot }),
    (snapshot) => new SubprocessSandbox({ snapshot }),
  ];
  const refused = (snapshot, expected) => {
    for (const maker of makers) assert.throws(() => maker(snapshot), { code: 'ERR_INVALID_ARG', ...expected });
  };

  test('other values', () => {
    const message = '`snapshot` must be an ExternalCopy to ArrayBuffer';
    for (const value of [new ArrayBuffer(8), {}, new ExternalCopy('text'), new ExternalCopy({}), new ExternalCopy(1)]) {
      refused(value, { name: 'TypeError', message });
    }
    for (const value of [1, 'text', true]) refused(value, { name: 'TypeError' });
    const released = make();
    released.release();
    refused(released, { message });
  });

  test('other bytes', () => {
    const message = '`snapshot` was not made by this version of isolated-v8, or is damaged';
    const bytes = new Uint8Array(make().copy()).slice();
    for (const index of [0, 9, 40, bytes.length >> 1, bytes.length - 1]) {
      const damaged = bytes.slice();
      damaged[index] ^= 1;
      refused(new ExternalCopy(damaged.buffer), { name: 'TypeError', message });
    }
    refused(new ExternalCopy(new ArrayBuffer(0)), { name: 'TypeError', message });
  });

  test('a snapshot that is too large', async () => {
    const large = Isolate.createSnapshot([{ code: 'var data = Array.from({ length: 400000 }, (_, i) => ({ i }));' }]);
    const message = 'The snapshot takes more memory than `memoryLimit` allows';
    assert.throws(() => createSandbox({}, { snapshot: large, memoryLimit: 8 }), { code: 'ERR_ISOLATE_MEMORY', message });
    assert.throws(() => new IsolatedVMSandbox({ snapshot: large, memoryLimit: 8 }), { code: 'ERR_ISOLATE_MEMORY', message });
    assert.throws(() => new SubprocessSandbox({ snapshot: large, memoryLimit: 8 }), { code: 'ERR_ISOLATE_MEMORY', message });
    const plugins = new IsolatedVmSandbox(null, { snapshot: large });
    await assert.rejects(plugins.createIsolate({ id: 'p', limits: { memoryMB: 8 } }), (error) => error.message.includes(message));
    assert.equal((await createSandbox({}, { snapshot: large, memoryLimit: 64 }).execute('data.length')).result, 400_000);
  });
});

test('code of the snapshot runs under the limits of the execution, and never before it', () => passes(`
  isolate.dispose();
  const hostile = [
    'const { defineProperty } = Object; Object.defineProperty = (...args) => { for (;;); };',
    'Object.freeze = () => { for (;;); }; Object.create = Object.freeze; Reflect.apply = Object.freeze;',
    'Function.prototype.call = () => { for (;;); };',
    'Object.defineProperty(globalThis, "console", { set() { for (;;); }, get() { for (;;); }, configurable: true });',
    'Object.defineProperty(Object.prototype, "value", { set() { for (;;); }, configurable: true });',
  ];
  for (const code of hostile) {
    const snapshot = ivm.Isolate.createSnapshot([{ code }]);
    const sandbox = ivm.createSandbox({}, { snapshot, web: true, timers: true, timeout: 400, warm: 2 });
    for (let i = 0; i < 3; i += 1) {
      const { result, error } = await sandbox.execute('1 + 1');
      assert.ok(result === 2 || /timed out/.test(error), JSON.stringify({ code, result, error }));
    }
  }
  assert.equal((await ivm.createSandbox({}).execute('1 + 1')).result, 2);`, { timeout: 60_000 }));
