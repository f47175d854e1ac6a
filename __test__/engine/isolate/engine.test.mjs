// `configureEngine`: the defaults of calls. In processes of their own, because the settings apply to all isolates.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** How sync calls are made by default. */
const SYNC_CALLS = process.platform === 'linux' && process.arch === 'x64' ? 'caller' : 'thread';
/** The suite has other defaults for some files. */
const env = { ISOLATED_V8_SYNC_CALLS: '' };

test('a grace period sets when a guest is abandoned', () => passes(`
  const { lostMemoryLimit, ...settings } = ivm.configureEngine();
  assert.deepEqual(settings, { terminationGrace: 1000, timeout: 0, deadline: 0, syncCalls: '${SYNC_CALLS}', codeCache: true });
  assert.equal(ivm.configureEngine({ terminationGrace: 100 }).terminationGrace, 100);
  const time = ms();
  const error = syncError(() => context.evalSync('Array.prototype.every.call({ length: 2 ** 53 - 1 }, Object)', { timeout: 20 }));
  const took = ms() - time;
  assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
  // Up to four times as long if the thread gets no processor.
  assert.ok(took >= 120 && took < 20 + 4 * 100 + 1000, String(took));
  otherWorks();`, { env }));

test('a timeout for all calls', () => passes(`
  ivm.configureEngine({ timeout: 300 });
  const timedOut = { code: 'ERR_ISOLATE_TIMEOUT' };
  const loop = 'for (;;);';
  assert.throws(() => context.evalSync(loop), timedOut);
  assert.throws(() => context.evalClosureSync(loop), timedOut);
  assert.throws(() => isolate.compileScriptSync(loop).runSync(context), timedOut);
  const object = context.evalSync('({ get x() { for (;;); }, f() { for (;;); } })', { reference: true });
  assert.throws(() => object.getSync('x', { accessors: true }), timedOut);
  assert.throws(() => context.evalSync('({ get x() { for (;;); } })', { reference: true }).copySync(), timedOut);
  assert.throws(() => object.getSync('f')(), timedOut);
  assert.throws(() => object.getSync('f', { reference: true }).applySync(), timedOut);
  const call = context.evalSync('new Object(() => { for (;;); })', { reference: true });
  await assert.rejects(call.apply(), timedOut);
  const module = isolate.compileModuleSync(loop);
  module.instantiateSync(context, () => {});
  assert.throws(() => module.evaluateSync(), timedOut);
  // A function of the guest that the host calls.
  context.global.setSync('ivm', ivm);
  const hang = context.evalSync('new ivm.Callback(() => { for (;;); })');
  assert.throws(() => hang(), timedOut);
  // Calls may override it.
  const long = 'for (const end = Date.now() + 600; Date.now() < end;); 1';
  for (const timeout of [0, -1, 5_000]) assert.equal(context.evalSync(long, { timeout }), 1);
  ivm.configureEngine({ timeout: 0 });
  assert.equal(context.evalSync(long), 1);`));

test('a deadline for all calls', () => passes(`
  // Before the deadline, which this call may miss on a busy machine.
  context.global.setSync('ivm', ivm);
  ivm.configureEngine({ deadline: 50 });
  const overdue = { code: 'ERR_ISOLATE_DEADLINE', message: 'Execution exceeded its deadline of 50 ms' };
  assert.throws(() => context.evalSync('for (;;);'), overdue);
  await assert.rejects(context.eval('new Promise(() => {})', { promise: true }), overdue);
  await assert.rejects(context.evalClosure('$0.applySyncPromise()', [new ivm.Reference(() => new Promise(() => {}))]), overdue);
  assert.equal(context.evalSync('for (const end = Date.now() + 200; Date.now() < end;); 1', { deadline: 0 }), 1);
  // Inside isolates, too.
  const nested = 'new ivm.Isolate().createContext().then((inner) => inner.eval("for (;;);")).catch(({ code }) => code)';
  assert.equal(await context.eval(nested, { promise: true, deadline: 10_000 }), 'ERR_ISOLATE_DEADLINE');`));

test('it also ends queued calls', () => passes(`
  const overdue = { code: 'ERR_ISOLATE_DEADLINE' };
  const busy = context.eval('for (const end = Date.now() + 3_000; Date.now() < end;);', { deadline: 10_000 });
  ivm.configureEngine({ deadline: 100 });
  const start = ms();
  await Promise.all(['createContext', 'getHeapStatistics'].map((name) => assert.rejects(isolate[name](), overdue, name)));
  await assert.rejects(isolate.compileScript('1'), overdue);
  await assert.rejects(isolate.compileModule('1'), overdue);
  assert.throws(() => isolate.createContextSync(), overdue);
  assert.throws(() => isolate.getHeapStatisticsSync(), overdue);
  assert.ok(ms() - start < 2_500, String(ms() - start));
  isolate.dispose();
  await assert.rejects(busy);`));

test('invalid values are refused', () => passes(`
  for (const [options, message] of [
    [{ terminationGrace: 0 }, '\`terminationGrace\` must be a number of milliseconds from 10 to 600000'],
    [{ terminationGrace: '100' }, '\`terminationGrace\` must be a number of milliseconds from 10 to 600000'],
    [{ timeout: -1 }, '\`timeout\` must be a number of milliseconds from 0 to 2147483647'],
    [{ timeout: NaN }, '\`timeout\` must be a number of milliseconds from 0 to 2147483647'],
    [{ deadline: Infinity }, '\`deadline\` must be a number of milliseconds from 0 to 2147483647'],
    [{ deadLine: 1 }, 'Unknown option \`deadLine\`. The options are \`terminationGrace\`, \`timeout\`, \`deadline\`, \`lostMemoryLimit\`, \`syncCalls\`, \`codeCache\`'],
    [1, '\`configureEngine\` requires parameter 1 to be an object'],
  ]) assert.throws(() => ivm.configureEngine(options), { name: 'TypeError', code: 'ERR_INVALID_ARG', message });
  // A tiny limit does not count as none.
  assert.ok(ivm.configureEngine({ timeout: 1e-9 }).timeout > 0);
  ivm.configureEngine({ timeout: 0 });
  const { lostMemoryLimit, ...settings } = ivm.configureEngine(null);
  assert.deepEqual(settings, { terminationGrace: 1000, timeout: 0, deadline: 0, syncCalls: '${SYNC_CALLS}', codeCache: true });
  // Omitted options keep their values.
  assert.equal(ivm.configureEngine({ lostMemoryLimit: 64 }).lostMemoryLimit, 64);
  assert.equal(ivm.configureEngine({ timeout: 0 }).lostMemoryLimit, 64);
  // Guests cannot change them.
  context.global.setSync('ivm', ivm);
  assert.equal(context.evalSync('typeof ivm.configureEngine'), 'undefined');`, { env }));

for (const [what, make] of Object.entries({
  'a resizable buffer': 'const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 23 }); buffer.resize(2 ** 23);',
  'a buffer that grows in steps': 'const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 23 }); for (let size = 2 ** 20; size <= 2 ** 23; size += 2 ** 20) buffer.resize(size);',
  'a shared one': 'const buffer = new SharedArrayBuffer(0, { maxByteLength: 2 ** 23 }); buffer.grow(2 ** 23);',
  'a memory of WebAssembly': 'new WebAssembly.Memory({ initial: 100, maximum: 1_000 });',
  'one that grows': 'new WebAssembly.Memory({ initial: 1, maximum: 1_000 }).grow(100);',
})) {
  test(`${what} reuses the memory of garbage`, () => passes(`
    const make = context.evalSync('(count) => { let done = 0; for (; done < count; done += 1) { ${make} } return done; }', { reference: true });
    for (const count of [60, 20]) assert.equal(make.applySync(undefined, [count]), count);`, { options: '{ memoryLimit: 16 }' }));
}

for (const [what, use] of Object.entries({
  'a value': "context.evalSync('new Array(100_000).fill(1.5)', { reference: true }).release()",
  'a value that an asynchronous call returned': "(await context.eval('new Array(100_000).fill(1.5)', { reference: true })).release()",
  'a part of one': "const outer = context.evalSync('[new Array(100_000).fill(1.5)]', { reference: true }); outer.getSync(0, { reference: true }).release(); outer.release()",
  'a context': "const made = isolate.createContextSync(); made.evalSync('globalThis.kept = new Array(100_000).fill(1.5); 1'); made.release()",
  'a script': "isolate.compileScriptSync('\"' + 'x'.repeat(800_000) + index + '\"').release()",
})) {
  test(`${what} frees memory when its last handle is released`, () => passes(`
    for (let index = 0; index < 100; index += 1) { ${use}; }
    assert.equal(context.evalSync('1 + 1'), 2);`, { options: '{ memoryLimit: 16 }', timeout: 60_000 }));
}
