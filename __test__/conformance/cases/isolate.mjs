// `Isolate`: creation, properties, disposal.

const STATISTICS = [
  'total_heap_size', 'total_heap_size_executable', 'total_physical_size', 'total_available_size', 'used_heap_size',
  'heap_size_limit', 'malloced_memory', 'peak_malloced_memory', 'does_zap_garbage', 'externally_allocated_size',
];

export default ({ ivm, test, assert, expect, sides }) => {
  test('options must be an object', () => {
    for (const options of [1, 'a', true, 1n]) {
      assert.throws(() => new ivm.Isolate(options), expect.invalid('`Isolate` requires parameter 1 to be an object'));
    }
  });

  test('options can be omitted', () => {
    for (const options of [undefined, null, {}, { memoryLimit: null, inspector: undefined, snapshot: null, onCatastrophicError: undefined }, () => {}]) {
      const isolate = new ivm.Isolate(options);
      assert.equal(isolate.isDisposed, false);
      isolate.dispose();
    }
  });

  test('options are checked for their types', () => {
    assert.throws(() => new ivm.Isolate({ memoryLimit: '8' }), expect.invalid('`memoryLimit` must be a number'));
    assert.throws(() => new ivm.Isolate({ snapshot: 1 }), expect.invalid('`snapshot` must be an object'));
    assert.throws(() => new ivm.Isolate({ snapshot: {} }), expect.invalid('`snapshot` must be an ExternalCopy to ArrayBuffer'));
    assert.throws(() => new ivm.Isolate({ snapshot: new ivm.ExternalCopy(1) }), expect.invalid('`snapshot` must be an ExternalCopy to ArrayBuffer'));
    assert.throws(() => new ivm.Isolate({ inspector: 1 }), expect.invalid('`inspector` must be a boolean'));
    assert.throws(() => new ivm.Isolate({ onCatastrophicError: 1 }), expect.invalid('`onCatastrophicError` must be a function'));
  });

  test('memoryLimit is at least 8 after truncation', () => {
    for (const memoryLimit of [0, 7, 7.9, Infinity]) {
      assert.throws(() => new ivm.Isolate({ memoryLimit }), expect.wrong('`memoryLimit` must be at least 8'));
    }
    new ivm.Isolate({ memoryLimit: 8.9 }).dispose();
  });

  test('memoryLimit is not negative, and a number', { differs: 'it takes them for large numbers' }, () => {
    for (const memoryLimit of [-1, Number.NaN, -Infinity]) {
      assert.throws(() => new ivm.Isolate({ memoryLimit }), expect.wrong('`memoryLimit` must be at least 8'));
    }
  });

  test('getters of options are called, and their errors are thrown', () => {
    const error = new RangeError('from a getter');
    const thrown = assert.caught(() => new ivm.Isolate({ get memoryLimit() { throw error; } }));
    assert.equal(thrown, error);
  });

  test('onCatastrophicError is accepted', () => {
    new ivm.Isolate({ memoryLimit: 8, onCatastrophicError: () => {} }).dispose();
  });

  test('createContext', async ({ open }) => {
    const { isolate } = open();
    const context = isolate.createContextSync();
    assert.ok(context instanceof ivm.Context);
    const later = isolate.createContext({});
    assert.ok(later instanceof Promise);
    assert.ok(await later instanceof ivm.Context);
    assert.ok(await isolate.createContext(null) instanceof ivm.Context);
  });

  test('createContext checks its options', async ({ open }) => {
    const { isolate } = open();
    const wrong = expect.invalid('`undefined` requires parameter 1 to be an object');
    assert.throws(() => isolate.createContextSync(1), wrong);
    assert.throws(() => isolate.createContext(1), wrong);
    const option = expect.invalid('`inspector` must be a boolean');
    assert.throws(() => isolate.createContextSync({ inspector: 1 }), option);
    await assert.rejects(isolate.createContext({ inspector: 1 }), option);
  });

  test('inspected contexts require an isolate with an inspector', async ({ open }) => {
    const { isolate } = open();
    const none = expect.unsupported('Inspector is not enabled for this isolate');
    assert.throws(() => isolate.createContextSync({ inspector: true }), none);
    await assert.rejects(isolate.createContext({ inspector: true }), none);
  });

  test('contexts have separate globals', ({ open }) => {
    const { isolate, context } = open();
    const other = isolate.createContextSync();
    context.evalSync('globalThis.mine = 1; Object.prototype.added = 2');
    assert.equal(other.evalSync('typeof mine + typeof ({}).added'), 'undefinedundefined');
    assert.equal(context.evalSync('mine'), 1);
  });

  for (const method of ['compileScript', 'compileScriptSync', 'compileModule', 'compileModuleSync']) {
    test(`${method} checks its arguments`, ({ open }) => {
      const { isolate } = open();
      assert.throws(() => isolate[method](), expect.invalid('`undefined` requires at least 1 parameter'));
      for (const code of [1, undefined, null, {}]) {
        assert.throws(() => isolate[method](code), expect.invalid('`undefined` requires parameter 1 to be a string'));
      }
      assert.throws(() => isolate[method]('1', 1), expect.invalid('`undefined` requires parameter 2 to be an object'));
    });
  }

  for (const what of ['Script', 'Module']) {
    test(`compile${what} checks its options`, async ({ open }) => {
      const { isolate } = open();
      const cases = [
        [{ filename: 1 }, '`filename` must be a string'],
        [{ lineOffset: 1.5 }, '`lineOffset` must be a 32-bit number'],
        [{ columnOffset: '1' }, '`columnOffset` must be a 32-bit number'],
        [{ cachedData: 1 }, '`cachedData` must be an object'],
        [{ cachedData: {} }, '`cachedData` must be an ExternalCopy to ArrayBuffer'],
        [{ cachedData: new ivm.ExternalCopy('no buffer') }, '`cachedData` must be an ExternalCopy to ArrayBuffer'],
        [{ produceCachedData: 1 }, '`produceCachedData` must be a boolean'],
      ];
      for (const [options, message] of cases) assert.throws(() => isolate[`compile${what}Sync`]('1', options), expect.invalid(message));
      for (const [options, message] of cases) await assert.rejects(isolate[`compile${what}`]('1', options), expect.invalid(message));
    });

    test(`compile${what} reads its options in the order of isolated-vm`, ({ open }) => {
      const read = [];
      open().isolate[`compile${what}Sync`]('1', new Proxy({}, { get: (_, key) => { read.push(key); } }));
      const last = what === 'Module' ? ['meta'] : [];
      assert.same(read.filter((key) => key !== 'signal'), ['filename', 'columnOffset', 'lineOffset', 'produceCachedData', 'cachedData', ...last]);
    });

    test(`compile${what} reports the position of a syntax error`, async ({ open }) => {
      const { isolate } = open();
      const origin = { filename: 'file:///q.js', lineOffset: 10, columnOffset: 3 };
      assert.throws(() => isolate[`compile${what}Sync`]('a b'), expect.thrown(SyntaxError, "Unexpected identifier 'b' [<isolated-vm>:1:3]"));
      assert.throws(() => isolate[`compile${what}Sync`]('\n a b', origin), expect.thrown(SyntaxError, "Unexpected identifier 'b' [file:///q.js:12:4]"));
      assert.throws(() => isolate[`compile${what}Sync`]('a b', origin), expect.thrown(SyntaxError, "Unexpected identifier 'b' [file:///q.js:11:6]"));
      await assert.rejects(isolate[`compile${what}`]('!'), expect.thrown(SyntaxError, 'Unexpected end of input [<isolated-vm>:1:2]'));
    });
  }

  test('getHeapStatistics has the property names of isolated-vm', async ({ open }) => {
    const { isolate } = open({ memoryLimit: 16 });
    const check = (statistics) => {
      for (const name of STATISTICS) assert.equal(typeof statistics[name], 'number', name);
      assert.ok(statistics.used_heap_size > 0 && statistics.used_heap_size <= statistics.total_heap_size);
      assert.equal(Object.getPrototypeOf(statistics), Object.prototype);
    };
    check(isolate.getHeapStatisticsSync());
    check(await isolate.getHeapStatistics());
  });

  test('getHeapStatistics reports the limit', ({ open }) => {
    const { heap_size_limit: limit } = open({ memoryLimit: 16 }).isolate.getHeapStatisticsSync();
    assert.ok(limit >= 16 << 20 && limit <= 20 << 20, `${limit}`);
  });

  test('getHeapStatistics counts buffers separately from the heap', ({ open }) => {
    const { isolate, context } = open();
    const before = isolate.getHeapStatisticsSync().externally_allocated_size;
    context.evalSync('globalThis.kept = new ArrayBuffer(1 << 20)');
    assert.ok(isolate.getHeapStatisticsSync().externally_allocated_size - before >= 1 << 20);
  });

  test('cpuTime and wallTime increase with work', ({ open }) => {
    const { isolate, context } = open();
    const { cpuTime, wallTime } = isolate;
    assert.same([typeof cpuTime, typeof wallTime], ['bigint', 'bigint']);
    context.evalSync('for (const end = Date.now() + 30; Date.now() < end;);');
    assert.ok(isolate.cpuTime > cpuTime, 'cpuTime');
    assert.ok(isolate.wallTime - wallTime >= 20_000_000n, 'wallTime');
  });

  test('referenceCount counts Contexts, Scripts and References', () => {
    const isolate = new ivm.Isolate({ memoryLimit: 16 });
    const counts = [isolate.referenceCount];
    const context = isolate.createContextSync();
    counts.push(isolate.referenceCount);
    const script = isolate.compileScriptSync('1');
    counts.push(isolate.referenceCount);
    const held = context.evalSync('({})', { reference: true });
    assert.ok(isolate.referenceCount > 3);
    assert.same(counts, [0, 2, 3]);
    assert.ok(script instanceof ivm.Script && held instanceof ivm.Reference);
    isolate.dispose();
  });

  test('referenceCount decreases when handles are released', ({ open }) => {
    const { isolate, context } = open();
    const before = isolate.referenceCount;
    const held = [isolate.compileScriptSync('1'), isolate.createContextSync(), context.evalSync('({})', { reference: true })];
    assert.ok(isolate.referenceCount > before);
    for (const each of held) each.release();
    context.evalSync('1');
    assert.equal(isolate.referenceCount, before);
  });

  test('dispose', () => {
    const isolate = new ivm.Isolate({ memoryLimit: 8 });
    assert.equal(isolate.isDisposed, false);
    assert.equal(isolate.dispose(), undefined);
    assert.equal(isolate.isDisposed, true);
    assert.throws(() => isolate.dispose(), expect.disposed('Isolate is already disposed'));
  });

  test('a disposed isolate rejects synchronous calls', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    const { global } = context;
    isolate.dispose();
    const gone = expect.disposed('Isolated is disposed');
    for (const call of [
      () => isolate.createContextSync(), () => isolate.compileScriptSync('1'), () => isolate.compileModuleSync('1'), () => isolate.getHeapStatisticsSync(),
      () => context.evalSync('1'), () => context.evalClosureSync('1'), () => script.runSync(context),
      () => global.getSync('a'), () => global.setSync('a', 1), () => global.deleteSync('a'), () => global.copySync(), () => global.applySync(),
    ]) assert.throws(call, gone, String(call));
  });

  test('a disposed isolate rejects asynchronous calls', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    const { global } = context;
    isolate.dispose();
    const gone = expect.disposed('Isolate is disposed');
    for (const call of [
      () => isolate.createContext(), () => isolate.compileScript('1'), () => isolate.compileModule('1'), () => isolate.getHeapStatistics(),
      () => context.eval('1'), () => context.evalClosure('1'), () => script.run(context),
      () => global.get('a'), () => global.set('a', 1), () => global.delete('a'), () => global.copy(), () => global.apply(),
    ]) await assert.rejects(call(), gone, String(call));
  });

  test('getters of a disposed isolate throw', ({ open }) => {
    const { isolate } = open();
    isolate.dispose();
    for (const key of ['cpuTime', 'wallTime', 'referenceCount']) assert.throws(() => isolate[key], expect.disposed('Isolate is disposed'), key);
  });

  test('objects that need no isolate outlive it', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    const { global } = context;
    isolate.dispose();
    assert.equal(global.typeof, 'object');
    assert.equal(context.global, global);
    assert.equal(context.release(), true);
    assert.throws(() => global.typeof, expect.released('Reference has been released'));
    assert.equal(script.release(), undefined);
  });

  test('dispose ends running and queued calls', async ({ open }) => {
    const { isolate, context } = open();
    const outcomes = Promise.allSettled([context.eval('for (;;);'), context.eval('1')]);
    isolate.dispose();
    for (const { reason } of await outcomes) assert.throws(() => { throw reason; }, expect.disposed(/^Isolate (was disposed during execution|is disposed)$/));
  });

  test('asynchronous calls run in order', async ({ open }) => {
    const { context } = open();
    context.evalSync('globalThis.order = []');
    await Promise.all([1, 2, 3, 4, 5].map((number) => context.eval(`order.push(${number})`)));
    assert.equal(await context.eval('order.join()'), '1,2,3,4,5');
  });

  test('createSnapshot is for hosts', { differs: { guest: 'guests can make snapshots' } }, () => {
    const snapshot = sides.hostOnly('createSnapshot', () => ivm.Isolate.createSnapshot([{ code: 'globalThis.answer = 42' }]));
    if (snapshot === undefined) return;
    const isolate = new ivm.Isolate({ memoryLimit: 32, snapshot });
    assert.equal(isolate.createContextSync().evalSync('answer'), 42);
    isolate.dispose();
  });

  test('createSnapshot checks its arguments', () => {
    const { createSnapshot } = ivm.Isolate;
    assert.throws(() => createSnapshot(), expect.invalid('`undefined` requires at least 1 parameter'));
    assert.throws(() => createSnapshot(1), expect.invalid('`undefined` requires parameter 1 to be an array'));
    assert.throws(() => createSnapshot([], 1), expect.invalid('`undefined` requires parameter 2 to be a string'));
  });

  test('the option snapshot is for hosts', { differs: 'it takes what is no snapshot, and the process ends' }, () => {
    const snapshot = new ivm.ExternalCopy(new ArrayBuffer(8));
    const made = assert.caught(() => new ivm.Isolate({ snapshot }));
    assert.ok(made instanceof Error);
    if (!sides.hosts) sides.hostOnly('snapshot', () => { throw made; });
  });

  test('the option inspector is for hosts', { differs: { guest: 'guests can have inspectors' } }, () => {
    const isolate = sides.hostOnly('inspector', () => new ivm.Isolate({ memoryLimit: 32, inspector: true }));
    isolate?.createContextSync({ inspector: true });
    isolate?.dispose();
  });

  test('inspector sessions are for hosts', { differs: { guest: 'guests can have inspectors' } }, ({ open }) => {
    const { isolate } = open();
    if (sides.hosts) assert.throws(() => isolate.createInspectorSession(), expect.unsupported('Inspector is not enabled for this isolate'));
    else sides.hostOnly('createInspectorSession', () => isolate.createInspectorSession());
  });

  test('CPU profiles are for hosts', { differs: { guest: 'guests can have profiles' } }, async ({ open }) => {
    const { isolate, context } = open();
    assert.equal(sides.hostOnly('startCpuProfiler', () => isolate.startCpuProfiler('title')), sides.hosts ? true : undefined);
    context.evalSync('for (const end = Date.now() + 20; Date.now() < end;);');
    const profiles = sides.hostOnly('stopCpuProfiler', () => isolate.stopCpuProfiler('title'));
    assert.equal(Array.isArray(await profiles), sides.hosts);
  });
};
