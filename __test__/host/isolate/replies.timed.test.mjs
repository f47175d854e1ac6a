// Many promises of host functions that settle in one turn of the event loop: their results are sent to guests in slices.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Milliseconds: a slice takes 8 and one result, but CI's machines are slow and busy. */
const MAX_GAP = 300;

const PRELUDE = `
  import { AsyncLocalStorage } from 'node:async_hooks';
  import { Gaps } from ${JSON.stringify(new URL('../../hostile/measure.mjs', import.meta.url).href)};
  const gate = () => { let open; const opened = new Promise((resolve) => { open = resolve; }); return { open, opened }; };
  const megabyte = 'x'.repeat(2 ** 20);
  /** The longest gap while something runs. */
  const gapOf = async (work) => {
    const gaps = new Gaps();
    try { await work(); return gaps.take(); } finally { gaps.stop(); }
  };
  const small = async (what, work) => {
    const gap = await gapOf(work);
    assert.ok(gap < ${MAX_GAP}, what + ': the event loop stood still for ' + Math.round(gap) + ' ms');
  };
  /** Code that calls \`name\` this many times at once, and returns how many characters it got. */
  const calls = (name, count) => 'const all = []; for (let i = 0; i < ' + count + '; i += 1) all.push(' + name + '({}).then((text) => text.length)); '
    + 'let sum = 0; for (const each of all) sum += await each; return sum;';
  const tools = [{ name: 't:f', description: '' }];
  /** Executes code whose tool \`t.f\` is a function. */
  const execute = (tool, code, Sandbox = ivm.IsolatedVMSandbox) => new Sandbox({ memoryLimit: 1024, timeout: 60_000 }).execute(code, tools, (name, params) => tool(params));
  const sumBy = async (tool, count, Sandbox) => {
    const { result, error } = await execute(tool, calls('t.f', count), Sandbox);
    assert.equal(error, undefined);
    return result;
  };
`;

const run = (code) => passes(`${PRELUDE}\n${code}\nprocess.exitCode = 0;`, { options: '{ memoryLimit: 512 }', timeout: 120_000 });

describe('the event loop turns', () => {
  for (const kind of ['IsolatedVMSandbox', 'SubprocessSandbox']) {
    test(`while tools of ${kind} reply`, () => run(`
      await small('text', async () => { assert.equal(await sumBy(async () => megabyte, 600, ivm.${kind}), 600 * 2 ** 20); });`));
  }

  test('while tools reply with objects', () => run(`
    const reply = Array.from({ length: 3_000 }, (_, index) => ({ index, name: 'n' + index }));
    await small('objects', async () => { assert.equal(await sumBy(async () => reply, 300), 300 * 3_000); });`));

  test('while tools fail', () => run(`
    const failure = new Error(megabyte);
    const fail = async () => { await undefined; throw failure; };
    await small('rejections', async () => {
      const { result, error } = await execute(fail, "return (await Promise.all(Array.from({ length: 1_200 }, () => t.f().catch((error) => error.message.length)))).length");
      assert.equal(error, undefined);
      assert.equal(result, 1_200);
    });`));

  test('while functions throw, or discard what a guest has sent', () => run(`
    await context.global.set('echo', new ivm.Callback((value) => { throw value; }, { async: true }));
    await context.global.set('ignored', new ivm.Callback((value) => value, { ignored: true }));
    for (const value of ['new String("x".repeat(3e6))', '(() => { const o = { message: "m" }; for (let i = 0; i < 1e6; i += 1) o[i] = i; return o; })()']) {
      await small(value, () => context.eval('echo(' + value + ').then(() => 0, () => 1)', { promise: true }).then((failed) => assert.equal(failed, 1)));
      await small(value, () => context.eval('ignored(' + value + '); echo(0).catch(() => {})', { promise: true }));
    }`));

  test('while promises passed to a guest settle', () => run(`
    const { open, opened } = gate();
    let begun = 0;
    await context.global.set('f', new ivm.Reference(() => { begun += 1; return opened; }));
    const sum = context.eval('(async () => { let sum = 0; for (const each of Array.from({ length: 100 }, () => f.apply(undefined, [], { result: { promise: true, copy: true } }))) sum += (await each).length; return sum; })()', { promise: true });
    await waitFor(() => begun === 100);
    const reply = Array.from({ length: 15_000 }, (_, index) => ({ index, name: 'n' + index }));
    await small('promises', async () => { open(reply); assert.equal(await sum, 100 * 15_000); });`));
});

describe('a queued reply', () => {
  test('does not delay others', () => run(`
    const flooding = sumBy(async () => megabyte, 600);
    const other = ivm.createSandbox({ g: async (value) => value + 1 }, { timeout: 60_000 });
    let isOver = false;
    flooding.then(() => { isOver = true; });
    let count = 0;
    let longest = 0;
    while (!isOver || count === 0) {
      const start = ms();
      const { result, error } = await other.execute('const start = Date.now(); const a = await g(await g(1)); return [a, Date.now() - start];');
      assert.equal(error, undefined);
      assert.equal(result[0], 3);
      longest = Math.max(longest, result[1]);
      count += 1;
    }
    assert.equal(await flooding, 600 * 2 ** 20);
    assert.ok(longest < 2 * ${MAX_GAP}, 'two calls took ' + longest + ' ms');`));

  test('keeps its order', () => run(`
    const { open, opened } = gate();
    let index = 0;
    const tool = async () => { const mine = index++; await opened; return [mine, megabyte]; };
    const execution = execute(tool, 'const order = []; await Promise.all(Array.from({ length: 100 }, () => t.f().then(([mine]) => { order.push(mine); }))); return order;');
    await waitFor(() => index === 100);
    open();
    assert.deepEqual((await execution).result, Array.from({ length: 100 }, (_, each) => each));`));

  test('keeps its async context', () => run(`
    const storage = new AsyncLocalStorage();
    const { open, opened } = gate();
    const seen = { A: [], B: [] };
    let begun = 0;
    const executions = Object.keys(seen).map((name) => {
      const tool = async () => { begun += 1; await opened; return { megabyte, get store() { seen[name].push(storage.getStore()); return 1; } }; };
      return storage.run(name, () => execute(tool, 'await Promise.all(Array.from({ length: 50 }, () => t.f()));'));
    });
    await waitFor(() => begun === 100);
    open();
    for (const { error } of await Promise.all(executions)) assert.equal(error, undefined);
    assert.deepEqual(seen, { A: Array(50).fill('A'), B: Array(50).fill('B') });`));

  test('has no unhandled rejection', () => run(`
    const { open, opened } = gate();
    let begun = 0;
    const execution = execute(async () => { begun += 1; await opened; return { megabyte: Array(200).fill({ megabyte: 1 }), inner: Promise.reject(new Error('inner')) }; },
      'return (await Promise.allSettled(Array.from({ length: 3_000 }, () => t.f()))).length');
    await waitFor(() => begun === 3_000);
    open();
    assert.equal((await execution).result, 3_000);`));

  test('does not block synchronous calls of a guest that waits for it', () => run(`
    const { open, opened } = gate();
    let begun = 0;
    const flooding = sumBy(async () => { begun += 1; await opened; return megabyte; }, 200);
    await waitFor(() => begun === 200);
    await context.global.set('wait', new ivm.Reference(async () => { begun += 1; await opened; for (let hops = 0; hops < 50; hops += 1) await undefined; return 5; }));
    const waiting = context.eval('wait.applySyncPromise(undefined, [])');
    await waitFor(() => begun === 201);
    open();
    // In the same turn of the event loop, once all promises have settled.
    for (let hops = 0; hops < 100; hops += 1) await undefined;
    assert.equal(context.evalSync('6 * 7'), 42);
    assert.equal(await waiting, 5);
    assert.equal(await flooding, 200 * 2 ** 20);`));

  test('is dropped after its guest has ended', () => run(`
    const { open, opened } = gate();
    let begun = 0;
    let read = 0;
    await context.global.set('f', new ivm.Reference(() => { begun += 1; return opened.then(() => ({ megabyte, get count() { return read += 1; } })); }));
    const ended = errorOf(() => context.eval('Promise.all(Array.from({ length: 400 }, () => f.apply(undefined, [], { result: { promise: true, copy: true } }))).then(() => 1)', { promise: true }));
    await waitFor(() => begun === 400);
    open();
    for (let hops = 0; hops < 100; hops += 1) await undefined;
    assert.ok(read > 0);
    isolate.dispose();
    const before = read;
    assert.equal((await ended).code, 'ERR_ISOLATE_DISPOSED');
    await sleep(300);
    assert.ok(before < 400, 'all were sent at once');
    assert.equal(read, before);`));
});
