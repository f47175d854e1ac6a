// `AsyncLocalStorage`: a caller keeps its stores after every `await`, and in its functions that guests call meanwhile.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { ivm, ours, withContext } from '../../api/ivm.mjs';

const storage = new AsyncLocalStorage();
const turn = () => new Promise((resolve) => {
  setTimeout(resolve, 1);
});

/** A context with host functions of every kind that record their store. They are passed in from a context of their own. */
function withFunctions(body) {
  return withContext(async ({ isolate, context }) => {
    const seen = [];
    const note = (name) => {
      seen.push(`${name} ${storage.getStore()}`);
    };
    storage.run('setup', () => {
      context.global.setSync('sync', () => note('sync'));
      context.global.setSync('later', new ivm.Callback(() => note('later'), { async: true }));
      context.global.setSync('ignored', new ivm.Callback(() => note('ignored'), { ignored: true }));
      context.global.setSync('reference', new ivm.Reference(async () => {
        note('reference');
        await turn();
        note('after');
      }));
    });
    await body({ isolate, context, seen });
  });
}

test('the store is kept across every kind of await', () => withContext(async ({ isolate, context }) => {
  const script = isolate.compileScriptSync('1');
  const held = context.evalSync('(() => 1)', { reference: true });
  const calls = [
    () => context.eval('1'), () => context.eval('throw 1'), () => context.eval('1 +'), () => context.evalClosure('return 1'),
    () => script.run(context), () => isolate.createContext(), () => isolate.compileScript('1'), () => isolate.getHeapStatistics(),
    () => held.apply(), () => held.copy(), () => context.global.get('x'), () => context.global.set('x', 1), () => context.global.delete('x'),
    () => context.eval('Promise.resolve(1)', { promise: true }), () => context.evalSync('Promise.resolve(1)', { promise: true }),
    () => context.evalSync('Promise.reject(1)', { promise: true }), () => new ivm.Reference(1).copy(),
    () => context.evalClosure('return $0', [turn()], { arguments: { promise: true }, result: { promise: true } }),
  ];
  await Promise.all(calls.map((call, index) => storage.run(index, async () => {
    try {
      await call();
    } catch {}
    assert.equal(storage.getStore(), index);
    const promise = call();
    await promise.then(() => assert.equal(storage.getStore(), index), () => assert.equal(storage.getStore(), index));
    assert.equal(storage.getStore(), index);
  })));
  assert.equal(storage.getStore(), undefined);
}));

test('what a sync call continues runs in the context of its own caller', () => withFunctions(async ({ context, seen }) => {
  context.evalSync(`
    let release;
    const released = new Promise((resolve) => { release = resolve; });
    const wait = async () => { await released; sync(); sync(1, [2]); sync({ a: new Map() }); return 1; };
    const end = () => { sync(); release(); sync(); };
  `);
  const waiting = storage.run('waiting', () => context.eval('wait()', { promise: true }));
  await context.eval('1');
  storage.run('sync', () => context.evalSync('end()'));
  assert.equal(await waiting, 1);
  assert.deepEqual(seen, [...Array(2).fill('sync sync'), ...Array(3).fill('sync waiting')]);
}));

test('functions that a sync call calls run in the caller\'s context', () => withFunctions(async ({ context, seen }) => {
  storage.run('caller', () => context.evalSync('sync(); sync()'));
  assert.deepEqual(seen, ['sync caller', 'sync caller']);
  storage.run('outer', () => {
    context.global.setSync('nest', () => storage.run('inner', () => context.evalSync('sync()')));
    context.evalSync('nest(); sync()');
  });
  assert.deepEqual(seen.slice(2), ['sync inner', 'sync outer']);
}));

test('functions that an async call calls run in the caller\'s context', ours, () => withFunctions(async ({ context, seen }) => {
  await storage.run('caller', () => context.eval('sync(); later(); ignored(); reference.applySyncPromise(); reference.applyIgnored(); sync()'));
  await context.eval('1');
  await turn();
  await turn();
  assert.deepEqual(seen.filter((each) => !each.endsWith(' caller')), []);
  assert.deepEqual(seen.map((each) => each.split(' ')[0]).toSorted(), ['after', 'after', 'ignored', 'later', 'reference', 'reference', 'sync', 'sync']);
}));

test('also after every await of the guest', ours, () => withFunctions(async ({ context, seen }) => {
  const code = `(async () => {
    sync();
    await null;
    sync();
    await later();
    sync();
    await reference.apply(undefined, [], { result: { promise: true } });
    for (let i = 0; i < 3; i += 1) await later();
    await new Promise((resolve) => { Promise.resolve().then(sync).then(resolve); });
    await $0;
    ignored();
    sync();
  })()`;
  await storage.run('caller', () => context.evalClosure(`return ${code}`, [turn()], { arguments: { promise: true }, result: { promise: true } }));
  assert.equal(seen.length, 12);
  assert.deepEqual(seen.filter((each) => !each.endsWith(' caller')), []);
}));

test('concurrent calls have separate contexts', ours, () => withFunctions(async ({ context, seen }) => {
  const calls = Array.from({ length: 20 }, (_, id) => storage.run(id, async () => {
    await context.eval(`(async () => { for (let i = 0; i < 3; i += 1) { await later(); sync(); await reference.apply(undefined, [], { result: { promise: true } }); } })()`, { promise: true });
    assert.equal(storage.getStore(), id);
  }));
  await Promise.all(calls);
  for (let id = 0; id < 20; id += 1) assert.equal(seen.filter((each) => each.endsWith(` ${id}`)).length, 12, `caller ${id}`);
}));

test('work of a guest after its call has ended runs in no caller\'s context', () => withFunctions(async ({ context, seen }) => {
  await storage.run('caller', () => context.eval('globalThis.go = new Promise((resolve) => { globalThis.begin = resolve; }); go.then(sync); 0'));
  await storage.run('other', () => context.eval('begin()'));
  await turn();
  assert.equal(seen.length, 1);
  assert.doesNotMatch(seen[0], /caller|setup/);
}));

test('a disposed isolate releases the stores of its callers', () => withFunctions(async ({ isolate, context }) => {
  const promise = storage.run('caller', () => context.eval('new Promise(() => {})', { promise: true }).catch((error) => [error.message, storage.getStore()]));
  await context.eval('1');
  isolate.dispose();
  assert.deepEqual(await promise, ['Promise was abandoned', 'caller']);
}));

test('functions of a sandbox run in the context of execute\'s caller', ours, async () => {
  const seen = [];
  const sandbox = storage.run('setup', () => ivm.createSandbox({ note: async (name) => {
    seen.push(`${name} ${storage.getStore()}`);
    await turn();
    seen.push(`${name} ${storage.getStore()}`);
  } }));
  await Promise.all(['a', 'b'].map((id) => storage.run(id, async () => {
    const { error } = await sandbox.execute(`const first = note('${id}'); await first; note('${id}');`);
    assert.deepEqual([error, storage.getStore()], [undefined, id]);
  })));
  assert.deepEqual(seen.toSorted(), ['a a', 'a a', 'a a', 'a a', 'b b', 'b b', 'b b', 'b b']);
});

test('onCatastrophicError runs in the context of the isolate\'s creator', ours, async () => {
  // It does not keep the event loop alive.
  const alive = setInterval(() => {}, 1000);
  const { message, store } = await new Promise((resolve) => {
    const isolate = storage.run('maker', () => new ivm.Isolate({ onCatastrophicError: (problem) => resolve({ message: problem, store: storage.getStore() }) }));
    const context = isolate.createContextSync();
    storage.run('caller', () => context.eval('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 20 }).catch(() => {}));
  });
  clearInterval(alive);
  assert.deepEqual([message, store], ['Script failed to terminate', 'maker']);
});

test('hooks that make calls while calls begin', { skip: (process.versions.bun !== undefined || process.versions.deno !== undefined) && 'only Node has such hooks' }, () => withFunctions(async ({ context }) => {
  let hooked = 0;
  let isHooked = false;
  const hook = createHook({
    init() {
      if (isHooked) return;
      isHooked = true;
      hooked += 1;
      context.eval('sync()').catch(() => {});
      context.evalSync('sync()');
      isHooked = false;
    },
  }).enable();
  try {
    const results = await Promise.all(Array.from({ length: 10 }, (_, index) => context.eval(`sync(); ${index}`)));
    assert.deepEqual(results, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  } finally {
    hook.disable();
  }
  assert.ok(hooked > 10);
}));
