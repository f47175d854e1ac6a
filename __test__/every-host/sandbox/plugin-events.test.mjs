// Events that reach many listeners of plugins, or are large: their cost for the host, and what arrives.

import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import ivm from '../../../index.mjs';
import { gate, hostContext, manifest, plugin, rememberingLogger } from '../../sandbox/plugin-helper.mjs';

const EVENT = 'item.indexed';
const MEGABYTE = 2 ** 20;

/** A bus that allows many listeners. */
const roomy = () => {
  const bus = new EventEmitter();
  bus.setMaxListeners(0);
  return bus;
};

/** A plugin with listeners, and its bus. */
async function listening(code, { context = {}, limits } = {}) {
  const eventBus = roomy();
  const made = await plugin({ manifest: { ...manifest(), ...(limits === undefined ? {} : { limits }) }, context: hostContext({ eventBus, ...context }) });
  await made.execute(code);
  return { ...made, eventBus };
}

describe('one emit for many listeners', () => {
  test('uses the memory of few copies and little time at a time', async () => {
    const { code, stdout, stderr } = await run(`
      import { EventEmitter } from 'node:events';
      const eventBus = new EventEmitter();
      eventBus.setMaxListeners(0);
      const sandbox = new ivm.IsolatedVmSandbox();
      const plugin = await sandbox.createIsolate({ ...${JSON.stringify(manifest())}, limits: { memoryMB: 256 } });
      const execute = (code) => sandbox.executeInSandbox(plugin, code, { eventBus });
      await execute("var count = 0, sum = 0; for (let i = 0; i < 1000; i += 1) context.eventBus.on('${EVENT}', (text) => { count += 1; sum += text.length; })");
      const before = process.memoryUsage().rss;
      let peak = 0;
      const timer = setInterval(() => { peak = Math.max(peak, process.memoryUsage().rss); }, 5);
      await execute("context.eventBus.emit('${EVENT}', 'x'.repeat(4e6))");
      while (await execute('count') < 1000) await new Promise((resolve) => { setTimeout(resolve, 5); });
      clearInterval(timer);
      const sum = await execute('sum');
      sandbox.disposeAll();
      console.log(JSON.stringify({ sum, grown: (peak - before) / 2 ** 20 }));`, { timeout: 60_000 });
    assert.equal(code, 0, stderr);
    const { sum, grown } = JSON.parse(stdout);
    assert.equal(sum, 4e9);
    // 4 GB if each listener has a copy of its own.
    assert.ok(grown < 1_000, `${grown} MB`);
  });

  test('as an error without listeners is not described by the bus', async () => {
    const eventBus = roomy();
    const made = manifest();
    made.permissions.hooks.push('error');
    const { execute, sandbox } = await plugin({ manifest: made, context: hostContext({ eventBus }) });
    const emit = "context.eventBus.emit('error', new String('x'.repeat(1e6)))";
    // A description takes seconds and gigabytes for what a guest can send.
    await assert.rejects(execute(emit), /The event 'error' has no listeners/);
    const got = [];
    eventBus.on('error', (text) => got.push(text.length));
    assert.equal(await execute(emit), true);
    assert.deepEqual(got, [1e6]);
    sandbox.disposeAll();
  });

  test('has a limited number of arguments', async () => {
    const { execute, sandbox } = await listening(`var got = 0; context.eventBus.on('${EVENT}', (...args) => { got = args.length; })`);
    assert.equal(await execute(`context.eventBus.emit('${EVENT}', ...new Array(999).fill(1))`), true);
    assert.equal(await execute('got'), 999);
    await assert.rejects(execute(`context.eventBus.emit('${EVENT}', ...new Array(1_000).fill(1))`), /The event bus takes at most 1000 arguments/);
    sandbox.disposeAll();
  });

  test('has a limited number of values, if a plugin emits it', async () => {
    const { execute, eventBus, sandbox } = await listening(`var got = 0; context.eventBus.on('${EVENT}', ({ length }) => { got = length; })`);
    const emit = (length) => execute(`context.eventBus.emit('${EVENT}', Array.from({ length: ${length} }, (_, id) => ({ id })))`);
    assert.equal(await emit(20_000), true);
    assert.equal(await execute('got'), 20_000);
    // Writing them would block the host for a tenth of a second, each time.
    await assert.rejects(emit(300_000), ({ cause }) => {
      assert.equal(cause.message, 'Argument 2 of `eventBus.emit` is too large: the limit is 200000 values in all arguments together, where an object or array counts as two. Emit less at once');
      return true;
    });
    eventBus.emit(EVENT, Array.from({ length: 200_000 }, () => 0));
    for (const end = Date.now() + 20_000; await execute('got') !== 200_000;) assert.ok(Date.now() < end);
    sandbox.disposeAll();
  });

  test('reads the arguments once', async () => {
    const { execute, eventBus, sandbox } = await listening(`var seen = []; for (let i = 0; i < 50; i += 1) context.eventBus.on('${EVENT}', (a, b) => { seen.push(a.x + b); a.x = 0; })`);
    let reads = 0;
    eventBus.emit(EVENT, { get x() { reads += 1; return 1; } }, 2);
    assert.equal(await execute('seen.length'), 50);
    assert.equal(reads, 1);
    assert.deepEqual(await execute('[...new Set(seen)]'), [3], 'each has objects of its own');
    sandbox.disposeAll();
  });

  test('reads them once for the plugins of all isolates', async () => {
    const eventBus = roomy();
    const sandbox = new ivm.IsolatedVmSandbox(rememberingLogger());
    const isolates = await Promise.all([0, 1, 2].map((id) => sandbox.createIsolate({ ...manifest(), id: `org.example.p${id}` })));
    const each = (code) => Promise.all(isolates.map((isolate) => sandbox.executeInSandbox(isolate, code, { eventBus })));
    await each(`var seen; context.eventBus.on('${EVENT}', (value) => { seen = value; })`);
    let reads = 0;
    eventBus.emit(EVENT, { get x() { reads += 1; return [1]; } });
    assert.deepEqual(await each('seen'), [{ x: [1] }, { x: [1] }, { x: [1] }]);
    assert.equal(reads, 1);
    sandbox.disposeAll();
  });
});

describe('each emit has its own arguments', () => {
  const record = `var seen = []; for (let i = 0; i < 3; i += 1) context.eventBus.on('${EVENT}', (value) => { seen.push(value.n); })`;

  test('of the same object that has changed', async () => {
    const { execute, eventBus, sandbox } = await listening(record);
    const value = { n: 1 };
    eventBus.emit(EVENT, value);
    value.n = 2;
    eventBus.emit(EVENT, value);
    eventBus.emit(EVENT, { n: 3 });
    assert.deepEqual(await execute('seen'), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    sandbox.disposeAll();
  });

  test('on two buses', async () => {
    const other = roomy();
    const { eventBus, sandbox, isolate, execute } = await listening(record);
    await sandbox.executeInSandbox(isolate, `context.eventBus.on('${EVENT}', (value) => { seen.push('other ' + value.n); })`, { eventBus: other });
    const value = { n: 1 };
    eventBus.emit(EVENT, value);
    value.n = 2;
    other.emit(EVENT, value);
    assert.deepEqual(await execute('seen'), [1, 1, 1, 'other 2']);
    sandbox.disposeAll();
  });

  test('of an emit within an emit', async () => {
    const { execute, eventBus, sandbox } = await listening(record);
    const value = { n: 1 };
    let isInner = false;
    eventBus.prependListener(EVENT, () => {
      if (isInner) return;
      isInner = true;
      value.n = 2;
      eventBus.emit(EVENT, value);
      value.n = 3;
    });
    eventBus.emit(EVENT, value);
    assert.deepEqual(await execute('seen'), [2, 2, 2, 3, 3, 3]);
    sandbox.disposeAll();
  });
});

describe('arguments', () => {
  const values = {
    'several': [['x'.repeat(5_000), 1, null, undefined, true, 2n], "Array.from(args, (each) => typeof each + String(each).length).join()", 'string5000,number1,object4,undefined9,boolean4,bigint1'],
    'none': [[], 'args.length', 0],
    'a Map in an object': [[{ map: new Map([['k', { deep: [1] }]]) }], "args[0].map.get('k').deep[0]", 1],
    'bytes': [[new Uint8Array(100_000).fill(7)], 'args[0].length + args[0][99_999]', 100_007],
    'an ArrayBuffer': [[new ArrayBuffer(50_000)], 'args[0].byteLength', 50_000],
    'a long BigInt': [[1n << 20_000n], 'args[0] === 1n << 20_000n', true],
    'the same object twice': [(() => { const one = {}; return [one, { one }]; })(), 'args[0] === args[1].one', true],
    'a shared list': [[Array.from({ length: 20_000 }, (_, index) => index)], 'args[0].length', 20_000],
  };
  for (const [name, [args, code, expected]] of Object.entries(values)) {
    test(name, async () => {
      const { execute, eventBus, sandbox } = await listening(`var seen = []; for (let i = 0; i < 2; i += 1) context.eventBus.on('${EVENT}', (...args) => { seen.push(${code}); })`);
      eventBus.emit(EVENT, ...args);
      assert.deepEqual(await execute('seen'), [expected, expected]);
      sandbox.disposeAll();
    });
  }

  test('that cannot be copied fail for each listener, and are read only once', async () => {
    const { eventBus, sandbox, logger, execute } = await listening(`for (let i = 0; i < 5; i += 1) context.eventBus.on('${EVENT}', () => {})`);
    let reads = 0;
    eventBus.emit(EVENT, { get x() { reads += 1; return () => {}; } });
    assert.equal(await execute('1'), 1);
    assert.equal(logger.of('error', 'Plugin event handler failed').length, 5);
    assert.equal(reads, 1);
    sandbox.disposeAll();
  });
});

describe('arguments that take more memory than a listener has', () => {
  const kinds = {
    'small objects': 'Array.from({ length: 200_000 }, (_, id) => ({ id }))',
    'objects with an index': 'Array.from({ length: 60_000 }, () => ({ 1000000: 1 }))',
    'a sparse array': '(() => { const list = []; list[10_000_000] = 1; return list; })()',
    'an empty sparse array': '(() => { const list = []; list.length = 30_000_000; return list; })()',
  };

  test('are refused, and the listener continues', async () => {
    const { execute, eventBus, sandbox, logger } = await listening(`var seen = []; context.eventBus.on('${EVENT}', (value) => { seen.push(value); })`, { limits: { memoryMB: 16 } });
    for (const value of Object.values(kinds)) eventBus.emit(EVENT, Function(`return ${value}`)());
    eventBus.emit(EVENT, 'afterwards');
    assert.deepEqual(await execute('seen'), ['afterwards']);
    const failed = logger.of('error', 'Plugin event handler failed');
    assert.equal(failed.length, Object.keys(kinds).length);
    for (const entry of failed) assert.match(JSON.stringify(entry), /The value takes about \d+ bytes, more than the isolate has left/);
    sandbox.disposeAll();
  });

  test('arrive if a collection makes room for them', async () => {
    const { execute, eventBus, sandbox } = await listening(`var sum = 0; context.eventBus.on('${EVENT}', (list) => { sum += list.length; })`, { limits: { memoryMB: 16 } });
    for (let i = 0; i < 6; i += 1) eventBus.emit(EVENT, Array.from({ length: 30_000 }, (_, id) => ({ id })));
    assert.equal(await execute('sum'), 180_000);
    sandbox.disposeAll();
  });
});

describe('queued events', () => {
  const busy = async () => {
    const { promise: begun, open } = gate();
    const { promise: hold, open: release } = gate();
    const made = await listening(`var sizes = []; context.eventBus.on('${EVENT}', async (value) => { sizes.push(value.length); if (sizes.length === 1) context.begin(); await context.hold(); })`,
      { context: { begin: open, hold: () => hold }, limits: { memoryMB: 512 } });
    return { ...made, begun, release };
  };
  const dropped = ({ logger }) => logger.of('warn', 'Plugin event dropped').length;

  test('beyond 64 MB are dropped, with a warning, and later ones arrive', async () => {
    const made = await busy();
    for (let i = 0; i < 20; i += 1) made.eventBus.emit(EVENT, new Uint8Array(8 * MEGABYTE));
    await made.begun;
    // The copies are somewhat larger than 8 MB each.
    assert.equal(dropped(made), 13);
    made.release();
    assert.equal(await made.execute('sizes.length'), 7);
    // Until the host has noticed that the handlers are done.
    let last;
    for (const later of ['later', new Uint8Array(16 * MEGABYTE)]) {
      for (const end = Date.now() + 20_000; last !== later.length && Date.now() < end;) {
        made.eventBus.emit(EVENT, later);
        last = await made.execute('sizes.at(-1)');
      }
      assert.equal(last, later.length);
    }
    made.sandbox.disposeAll();
  });

  test('count once for all listeners of an emit', async () => {
    const made = await listening(`var seen = 0; for (let i = 0; i < 30; i += 1) context.eventBus.on('${EVENT}', async () => { seen += 1; })`, { limits: { memoryMB: 256 } });
    made.eventBus.emit(EVENT, new Uint8Array(4 * MEGABYTE));
    assert.equal(dropped(made), 0);
    assert.equal(await made.execute('seen'), 30);
    made.sandbox.disposeAll();
  });

  test('a single larger event arrives', async () => {
    const made = await busy();
    made.release();
    made.eventBus.emit(EVENT, new Uint8Array(70 * MEGABYTE));
    made.eventBus.emit(EVENT, new Uint8Array(8 * MEGABYTE));
    assert.deepEqual(await made.execute('sizes'), [70 * MEGABYTE]);
    assert.equal(dropped(made), 1);
    made.sandbox.disposeAll();
  });
});
