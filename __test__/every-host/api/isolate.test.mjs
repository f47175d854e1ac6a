// `Isolate`: creation, properties, disposal.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

test('options are checked strictly', () => {
  assert.throws(() => new ivm.Isolate({ memoryLimit: 'a' }), failure(TypeError, '`memoryLimit` must be a number'));
  assert.throws(() => new ivm.Isolate({ snapshot: 1 }), failure(TypeError, '`snapshot` must be an object'));
  assert.throws(() => new ivm.Isolate({ snapshot: {} }), failure(TypeError, '`snapshot` must be an ExternalCopy to ArrayBuffer'));
  assert.throws(() => new ivm.Isolate({ inspector: 1 }), failure(TypeError, '`inspector` must be a boolean'));
  assert.throws(() => new ivm.Isolate({ onCatastrophicError: 1 }), failure(TypeError, '`onCatastrophicError` must be a function'));
  for (const options of [undefined, null, {}, { memoryLimit: null, inspector: undefined }, () => {}]) {
    const isolate = new ivm.Isolate(options);
    assert.equal(isolate.isDisposed, false);
    isolate.dispose();
  }
});

test('memoryLimit is at least 8 after truncation', () => {
  const tooSmall = failure(Error, '`memoryLimit` must be at least 8');
  assert.throws(() => new ivm.Isolate({ memoryLimit: 0 }), tooSmall);
  assert.throws(() => new ivm.Isolate({ memoryLimit: 7.9 }), tooSmall);
  new ivm.Isolate({ memoryLimit: 8.9 }).dispose();
});

test('memoryLimit is not negative and is a number', ours, () => {
  const tooSmall = failure(Error, '`memoryLimit` must be at least 8');
  assert.throws(() => new ivm.Isolate({ memoryLimit: -1 }), tooSmall);
  assert.throws(() => new ivm.Isolate({ memoryLimit: Number.NaN }), tooSmall);
  new ivm.Isolate({ memoryLimit: Number.MAX_VALUE }).dispose();
});

test('createContext checks its argument, and rejects for bad options', async () => {
  const isolate = new ivm.Isolate();
  const wrong = failure(TypeError, '`undefined` requires parameter 1 to be an object');
  assert.throws(() => isolate.createContextSync(1), wrong);
  assert.throws(() => isolate.createContext(1), wrong);
  const option = failure(TypeError, '`inspector` must be a boolean');
  assert.throws(() => isolate.createContextSync({ inspector: 1 }), option);
  await assert.rejects(isolate.createContext({ inspector: 1 }), option);
  const none = failure(Error, 'Inspector is not enabled for this isolate');
  assert.throws(() => isolate.createContextSync({ inspector: true }), none);
  await assert.rejects(isolate.createContext({ inspector: true }), none);
  const context = await isolate.createContext();
  assert.ok(context instanceof ivm.Context);
  assert.ok(Object.isFrozen(context));
  isolate.dispose();
});

test('contexts of one isolate have separate globals', () => withContext(({ isolate, context }) => {
  const other = isolate.createContextSync();
  context.evalSync('globalThis.shared = 1');
  assert.equal(other.evalSync('typeof shared'), 'undefined');
  assert.equal(context.evalSync('shared'), 1);
}));

test('compileScript checks its arguments, and rejects for bad options', async () => {
  const isolate = new ivm.Isolate();
  for (const method of ['compileScript', 'compileScriptSync']) {
    assert.throws(() => isolate[method](), failure(TypeError, '`undefined` requires at least 1 parameter'));
    assert.throws(() => isolate[method](1), failure(TypeError, '`undefined` requires parameter 1 to be a string'));
    assert.throws(() => isolate[method]('1', 1), failure(TypeError, '`undefined` requires parameter 2 to be an object'));
  }
  for (const [options, message] of [
    [{ filename: 1 }, '`filename` must be a string'],
    [{ lineOffset: 1.5 }, '`lineOffset` must be a 32-bit number'],
    [{ columnOffset: '1' }, '`columnOffset` must be a 32-bit number'],
    [{ cachedData: 1 }, '`cachedData` must be an object'],
    [{ cachedData: {} }, '`cachedData` must be an ExternalCopy to ArrayBuffer'],
    [{ cachedData: new ivm.ExternalCopy('no buffer') }, '`cachedData` must be an ExternalCopy to ArrayBuffer'],
    [{ produceCachedData: 1 }, '`produceCachedData` must be a boolean'],
  ]) {
    assert.throws(() => isolate.compileScriptSync('1', options), failure(TypeError, message));
    await assert.rejects(isolate.compileScript('1', options), failure(TypeError, message));
  }
  isolate.dispose();
});

test('heap statistics have the property names of isolated-vm', async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 32 });
  const names = [
    'total_heap_size', 'total_heap_size_executable', 'total_physical_size', 'total_available_size', 'used_heap_size',
    'heap_size_limit', 'malloced_memory', 'peak_malloced_memory', 'does_zap_garbage', 'externally_allocated_size',
  ];
  for (const statistics of [isolate.getHeapStatisticsSync(), await isolate.getHeapStatistics()]) {
    for (const name of names) assert.equal(typeof statistics[name], 'number', name);
    assert.ok(statistics.used_heap_size > 0);
    assert.ok(statistics.used_heap_size <= statistics.total_heap_size);
    assert.ok(statistics.heap_size_limit <= 64 * 1024 * 1024);
  }
  isolate.dispose();
});

test('heap statistics count buffers separately from the heap', () => withContext(({ isolate, context }) => {
  const before = isolate.getHeapStatisticsSync().externally_allocated_size;
  context.evalSync('globalThis.kept = new ArrayBuffer(1024 * 1024)');
  const after = isolate.getHeapStatisticsSync().externally_allocated_size;
  assert.ok(after - before >= 1024 * 1024, `${before} → ${after}`);
}));

test('clocks are BigInts that increase with work', () => withContext(({ isolate, context }) => {
  const { cpuTime, wallTime } = isolate;
  assert.equal(typeof cpuTime, 'bigint');
  assert.equal(typeof wallTime, 'bigint');
  context.evalSync('for (let end = Date.now() + 30; Date.now() < end;);');
  assert.ok(isolate.cpuTime > cpuTime);
  assert.ok(isolate.wallTime - wallTime >= 20_000_000n);
}));

test('referenceCount counts Contexts, Scripts and References', () => {
  const isolate = new ivm.Isolate();
  assert.equal(isolate.referenceCount, 0);
  const context = isolate.createContextSync();
  assert.equal(isolate.referenceCount, 2);
  const script = isolate.compileScriptSync('1');
  assert.equal(isolate.referenceCount, 3);
  const held = context.evalSync('({})', { reference: true });
  const counted = isolate.referenceCount;
  assert.ok(counted > 3);
  assert.ok(script instanceof ivm.Script && held instanceof ivm.Reference);
  isolate.dispose();
});

test('every method of a disposed isolate throws', async () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const script = isolate.compileScriptSync('1');
  const { global } = context;
  assert.equal(isolate.dispose(), undefined);
  assert.equal(isolate.isDisposed, true);
  assert.throws(() => isolate.dispose(), failure(Error, 'Isolate is already disposed'));
  const sync = failure(Error, 'Isolated is disposed');
  assert.throws(() => isolate.createContextSync(), sync);
  assert.throws(() => isolate.compileScriptSync('1'), sync);
  assert.throws(() => isolate.getHeapStatisticsSync(), sync);
  assert.throws(() => context.evalSync('1'), sync);
  assert.throws(() => context.evalClosureSync('1'), sync);
  assert.throws(() => script.runSync(context), sync);
  assert.throws(() => global.getSync('a'), sync);
  assert.throws(() => global.setSync('a', 1), sync);
  const other = failure(Error, 'Isolate is disposed');
  await assert.rejects(isolate.createContext(), other);
  await assert.rejects(isolate.compileScript('1'), other);
  await assert.rejects(isolate.getHeapStatistics(), other);
  await assert.rejects(context.eval('1'), other);
  await assert.rejects(global.get('a'), other);
  assert.throws(() => isolate.cpuTime, other);
  assert.throws(() => isolate.wallTime, other);
  assert.throws(() => isolate.referenceCount, other);
  // Objects that need no isolate still work.
  assert.equal(global.typeof, 'object');
  assert.equal(context.release(), true);
  assert.throws(() => global.typeof, failure(Error, 'Reference has been released'));
  assert.equal(script.release(), undefined);
});

test('errors of this library have a code', ours, async () => {
  const isolate = new ivm.Isolate();
  assert.throws(() => isolate.compileScriptSync(), { code: 'ERR_INVALID_ARG' });
  isolate.dispose();
  assert.throws(() => isolate.dispose(), { code: 'ERR_ISOLATE_DISPOSED' });
  assert.throws(() => isolate.createContextSync(), { code: 'ERR_ISOLATE_DISPOSED' });
  await assert.rejects(isolate.createContext(), { code: 'ERR_ISOLATE_DISPOSED' });
});

test('dispose rejects queued work', async () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const running = context.eval('for (;;);');
  const queued = context.eval('1');
  const outcomes = Promise.allSettled([running, queued]);
  isolate.dispose();
  const [first, second] = await outcomes;
  assert.match(first.reason.message, /^Isolate (was disposed during execution|is disposed)$/);
  assert.match(second.reason.message, /^Isolate (was disposed during execution|is disposed)$/);
});

test('async calls of one isolate run in order', () => withContext(async ({ context }) => {
  context.evalSync('globalThis.order = []');
  await Promise.all([1, 2, 3, 4, 5].map((number) => context.eval(`order.push(${number})`)));
  assert.equal(context.evalSync('order.join()'), '1,2,3,4,5');
}));

test('exceeding the memory limit ends only the isolate', () => {
  const isolate = new ivm.Isolate({ memoryLimit: 16 });
  const context = isolate.createContextSync();
  assert.throws(
    () => context.evalSync('const kept = []; for (;;) kept.push(`${Math.random()}`);'),
    failure(Error, 'Isolate was disposed during execution due to memory limit'),
  );
  assert.equal(isolate.isDisposed, true);
  withContext(({ context: next }) => assert.equal(next.evalSync('1'), 1));
});

test('buffers count against the memory limit', () => withContext(({ context }) => {
  assert.throws(
    () => context.evalSync('const kept = []; for (;;) kept.push(new ArrayBuffer(2 * 1024 * 1024).slice(0));'),
    failure(RangeError, 'Array buffer allocation failed'),
  );
}, { memoryLimit: 16 }));
