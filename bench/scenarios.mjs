// What is measured. A scenario's `prepare` gets a library with isolated-vm's API and returns what to time: `run`, once or
// many times, and `end` afterwards. `run` gives `expected`, which is checked before anything is timed. One run counts as
// `calls` calls, 1 unless told; `title` says what one call is.

const RECORDS = 5_000;
const MEGABYTE = 1_048_576;
const CALLBACKS = 1_000;
const PROMISED_CALLS = 100;
const ONE_SHOT = { memoryLimit: 32, timeout: 30_000 };

const text = 'x'.repeat(MEGABYTE);
const small = { id: 7, name: 'a small object', tags: ['a', 'b'], nested: { ok: true, ratio: 0.5 } };

/** Also source text for guests. */
const makeRecords = (count) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `record ${id}`, at: { x: id, y: id / 2 } }));

/** A context in an isolate of its own, and something to time in it. */
function inContext(make) {
  return (ivm) => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    return { run: make({ ivm, isolate, context }), end: () => isolate.dispose() };
  };
}

const withoutEnd = (make) => (ivm) => ({ run: make(ivm), end() {} });

/** One call of a guest's function with a value that is copied in; it tells something of the value, as proof. */
const copyIn = (makeValue, proof) =>
  inContext(({ context }) => {
    const value = makeValue();
    const sink = context.evalSync(`value => ${proof}`, { reference: true });
    return () => sink.applySync(undefined, [value], { arguments: { copy: true } });
  });

/** One call of a guest's function whose result is copied out. */
const copyOut = (source) =>
  inContext(({ context }) => {
    const origin = context.evalSync(`const value = ${source}; () => value`, { reference: true });
    return () => origin.applySync(undefined, [], { result: { copy: true } });
  });

function lifeCycleSync(ivm) {
  return () => {
    const isolate = new ivm.Isolate();
    const result = isolate.createContextSync().evalSync('1+1');
    isolate.dispose();
    return result;
  };
}

function lifeCycle(ivm) {
  return async () => {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    const result = await context.eval('1+1');
    isolate.dispose();
    return result;
  };
}

/** A guest's loop over calls of a host's function; `start` begins it. */
const callbacks = (start) =>
  inContext(({ ivm, isolate, context }) => {
    context.global.setSync('callback', new ivm.Callback(() => 1));
    const loop = `let sum = 0; for (let i = 0; i < ${CALLBACKS}; i += 1) sum += callback(); sum`;
    const script = isolate.compileScriptSync(`{ ${loop} }`);
    return () => start(script, context);
  });

function oneShotSandbox(ivm) {
  const sandbox = ivm.createSandbox({ greeting: 'hello' }, ONE_SHOT);
  return async () => (await sandbox.execute('1 + 1')).result;
}

/** What `createSandbox` does, written with isolated-vm's API. */
function oneShotByHand(ivm) {
  return async () => {
    const logs = [];
    const isolate = new ivm.Isolate({ memoryLimit: ONE_SHOT.memoryLimit });
    const context = await isolate.createContext();
    await context.global.set('log', new ivm.Callback((...args) => void logs.push(args.join(' '))));
    await context.eval('globalThis.console = { log, info: log, warn: log, error: log, debug: log };');
    await context.global.set('greeting', 'hello');
    const script = await isolate.compileScript('(async () => { return 1 + 1 })()');
    const result = await script.run(context, { timeout: ONE_SHOT.timeout, promise: true, copy: true });
    isolate.dispose();
    return result;
  };
}

export const scenarios = [
  {
    id: 'life-cycle-sync',
    title: '`new Isolate`, context, `evalSync`, dispose',
    expected: 2,
    prepare: withoutEnd(lifeCycleSync),
  },
  {
    id: 'life-cycle',
    title: '`new Isolate`, context, `eval`, dispose',
    expected: 2,
    prepare: withoutEnd(lifeCycle),
  },
  {
    id: 'createContextSync',
    title: '`createContextSync`, release',
    prepare: inContext(({ isolate }) => () => isolate.createContextSync().release()),
    expected: true,
  },
  {
    id: 'evalSync',
    title: "`evalSync('1+1')`",
    expected: 2,
    prepare: inContext(({ context }) => () => context.evalSync('1+1')),
  },
  {
    id: 'eval',
    title: "`eval('1+1')`",
    expected: 2,
    prepare: inContext(({ context }) => () => context.eval('1+1')),
  },
  {
    id: 'script.runSync',
    title: '`script.runSync`',
    expected: 2,
    prepare: inContext(({ isolate, context }) => {
      const script = isolate.compileScriptSync('1+1');
      return () => script.runSync(context);
    }),
  },
  {
    id: 'script.run',
    title: '`script.run`',
    expected: 2,
    prepare: inContext(({ isolate, context }) => {
      const script = isolate.compileScriptSync('1+1');
      return () => script.run(context);
    }),
  },
  {
    id: 'reference.applySync',
    title: '`reference.applySync`',
    expected: 3,
    prepare: inContext(({ context }) => {
      const add = context.evalSync('(a, b) => a + b', { reference: true });
      return () => add.applySync(undefined, [1, 2]);
    }),
  },
  {
    id: 'reference.apply',
    title: '`reference.apply`',
    expected: 3,
    prepare: inContext(({ context }) => {
      const add = context.evalSync('(a, b) => a + b', { reference: true });
      return () => add.apply(undefined, [1, 2]);
    }),
  },
  {
    id: 'callback-sync-run',
    title: 'host callback, in a sync run',
    calls: CALLBACKS,
    expected: CALLBACKS,
    prepare: callbacks((script, context) => script.runSync(context)),
  },
  {
    id: 'callback-async-run',
    title: 'host callback, in an async run',
    calls: CALLBACKS,
    expected: CALLBACKS,
    prepare: callbacks((script, context) => script.run(context)),
  },
  {
    id: 'applySyncPromise',
    title: '`applySyncPromise`, in an async run',
    calls: PROMISED_CALLS,
    expected: PROMISED_CALLS,
    prepare: inContext(({ ivm, isolate, context }) => {
      context.global.setSync('reference', new ivm.Reference(async () => 1));
      const loop = `for (let i = 0; i < ${PROMISED_CALLS}; i += 1) sum += reference.applySyncPromise(undefined, [])`;
      const script = isolate.compileScriptSync(`{ let sum = 0; ${loop}; sum }`);
      return () => script.run(context);
    }),
  },
  {
    id: 'small-object-in',
    title: 'a small object in',
    expected: small.id,
    prepare: copyIn(() => small, 'value.id'),
  },
  {
    id: 'small-object-out',
    title: 'a small object out',
    expected: small,
    prepare: copyOut(JSON.stringify(small)),
  },
  {
    id: 'nested-objects-in',
    title: '5,000 nested objects in',
    expected: RECORDS,
    prepare: copyIn(() => makeRecords(RECORDS), 'value.length'),
  },
  {
    id: 'nested-objects-out',
    title: '5,000 nested objects out',
    expected: makeRecords(RECORDS),
    prepare: copyOut(`(${makeRecords})(${RECORDS})`),
  },
  {
    id: 'string-in',
    title: '1 MB string in',
    expected: MEGABYTE,
    prepare: copyIn(() => text, 'value.length'),
  },
  {
    id: 'string-out',
    title: '1 MB string out',
    expected: text,
    prepare: copyOut(`'x'.repeat(${MEGABYTE})`),
  },
  {
    id: 'buffer-in',
    title: '1 MB `ArrayBuffer` in',
    expected: MEGABYTE,
    prepare: copyIn(() => new ArrayBuffer(MEGABYTE), 'value.byteLength'),
  },
  {
    id: 'buffer-out',
    title: '1 MB `ArrayBuffer` out',
    expected: new ArrayBuffer(MEGABYTE),
    prepare: copyOut(`new ArrayBuffer(${MEGABYTE})`),
  },
  {
    id: 'createSandbox',
    title: "`createSandbox`, `execute('1 + 1')`",
    needs: 'createSandbox',
    expected: 2,
    prepare: withoutEnd((ivm) => (ivm.createSandbox ? oneShotSandbox(ivm) : oneShotByHand(ivm))),
  },
];

/** The scenarios with `filter` in their names, or all. */
export const choose = (filter = '') => scenarios.filter(({ id, title }) => id.includes(filter) || title.includes(filter));
