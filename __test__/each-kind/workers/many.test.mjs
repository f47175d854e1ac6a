// Many worker threads use the package at the same time, each an environment of its own.

import { test } from 'node:test';
import { workers } from '../../workers/helper.mjs';

const EVERYTHING = `
  for (let round = 0; round < 4; round += 1) {
    const { isolate, context } = make();
    let calls = 0;
    context.global.setSync('sync', (value) => { calls += 1; return value * 2; });
    context.global.setSync('later', new ivm.Callback((value) => { calls += 1; return value + 1; }, { async: true }));
    context.global.setSync('note', new ivm.Callback(() => { calls += 1; }, { ignored: true }));
    context.global.setSync('slow', new ivm.Reference(async (value) => { await null; calls += 1; return value + threadId; }));
    same(context.evalSync('let sum = 0; for (let i = 0; i < 50; i += 1) sum += sync(i); sum'), 2450);
    same(await context.eval('sync(4) + 1'), 9);
    same(await context.eval('later(41)', { promise: true }), 42);
    same(await context.eval('note(); slow.applySyncPromise(undefined, [7])'), 7 + threadId);
    const script = isolate.compileScriptSync('sync(1) + sync(2)');
    same((await Promise.all(Array.from({ length: 20 }, () => script.run(context)))).join(), Array(20).fill(6).join());
    same(new ivm.ExternalCopy({ threadId }).copy().threadId, threadId);
    same(context.evalSync('({ get: () => sync(8) })', { reference: true }).getSync('get')(), 16);
    let code;
    try { context.evalSync('for (;;);', { timeout: 5 }); } catch (error) { ({ code } = error); }
    same(code, 'ERR_ISOLATE_TIMEOUT');
    same((await ivm.createSandbox({ add: async (a, b) => a + b }).execute('add(1, 2)')).result, 3);
    await context.eval('1');
    same(calls, 50 + 1 + 1 + 2 + 40 + 1);
    if (round % 2 === 0) isolate.dispose();
  }`;

test('eight at once, with every kind of call, while the main thread does the same', () => workers(`
  const all = Array.from({ length: 8 }, () => exited(work()));
  ${EVERYTHING}
  console.log((await Promise.all(all)).join());`, EVERYTHING, { stdout: '0,0,0,0,0,0,0,0\n' }));

test('twenty one after another', () => workers(`
  for (let i = 0; i < 20; i += 1) same(await exited(work()), 0);
  same(make().context.evalSync('6 * 7'), 42);`, `
  const { context } = make();
  context.global.setSync('f', () => 20);
  same(context.evalSync('f() + 1'), 21);
  same(await context.eval('f() + 2'), 22);`));

test('process.exit of the main thread while eight are in the middle of everything', () => workers(`
  await Promise.all(Array.from({ length: 8 }, ready));
  process.exit(7);`, `
  const { context } = make();
  context.global.setSync('f', () => { tell(); return 1; });
  if (threadId % 2 === 0) context.evalSync('for (;;) f()');
  else for (;;) await context.eval('f()');`, { exit: 7 }));
