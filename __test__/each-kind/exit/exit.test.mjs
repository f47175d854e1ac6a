// A process that has used the package ends as it would without: with its own exit code, no signal, and soon. The states of a single guest
// at the end are in matrix.test.mjs.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';

const PRELUDE = `
  const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
  const make = () => { const isolate = new ivm.Isolate(); return { isolate, context: isolate.createContextSync() }; };
  /** Resolves when the guest of this call is running. */
  const starts = (context, code, options) => new Promise((resolve) => {
    context.global.setSync('started', new ivm.Callback(() => resolve(), { ignored: true }));
    context.eval('started(); ' + code, options).catch(() => {});
  });
  const HANG = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';
`.replaceAll(/\n\s*/g, '\n');

/** Runs a program that must end by itself, with this exit code and output. */
async function ends(code, { exit = 0, stdout = '', stderr, limit = 10_000 } = {}) {
  const result = await run(`${PRELUDE}\n${code}`, { timeout: limit });
  assert.deepEqual(
    { code: result.code, signal: result.signal, timedOut: result.timedOut, stdout: result.stdout },
    { code: exit, signal: null, timedOut: false, stdout },
    `after ${Math.round(result.ms)} ms\n${result.stdout}${result.stderr}`,
  );
  if (stderr === undefined) assert.doesNotMatch(result.stderr, /panick|fatal|SIG|Segmentation|UnhandledPromise/i);
  else assert.match(result.stderr, stderr);
  return result;
}

/** A program whose worker threads run \`worker\`, with \`main\` around them. */
const withWorkers = (main, worker) => `
  import { isMainThread, parentPort, Worker } from 'node:worker_threads';
  const work = () => new Worker(new URL(import.meta.url));
  /** Resolves with a worker that has reported that it is ready. */
  const ready = () => new Promise((resolve, reject) => {
    const worker = work();
    worker.once('message', () => resolve(worker));
    worker.once('error', reject);
  });
  const exited = (worker) => new Promise((resolve) => { worker.once('exit', resolve); });
  if (isMainThread) {
    ${main}
  } else {
    const tell = () => parentPort.postMessage('ready');
    ${worker}
  }`;

describe('the process ends by itself', () => {
  test('after loading the package only', () => ends(''));
  test('with twenty idle isolates that have worked', () => ends('for (let i = 0; i < 20; i += 1) make().context.evalSync("1");'));
  test('with a disposed isolate', () => ends('const { isolate, context } = make(); context.evalSync("1"); isolate.dispose();'));
  test('with handles and callbacks alive', () => ends(`
    const { context } = make();
    context.global.setSync('f', () => 1);
    globalThis.held = context.evalSync('f(); ({ f })', { reference: true });`));
  test('after async work', () => ends('const { context } = make(); console.log(await context.eval("6 * 7"));', { stdout: '42\n' }));
  test('after a sandbox', () => ends('console.log((await ivm.createSandbox({ f: async () => 3 }).execute("f()")).result);', { stdout: '3\n' }));
  test('after a sandbox that timed out, whose host function never settles', () =>
    ends('console.log((await ivm.createSandbox({ f: () => new Promise(() => {}) }, { timeout: 50 }).execute("f()")).error);', { stdout: 'Execution timed out after 50ms\n' }));
  test('after a timeout and after the end of memory', () => ends(`
    const { context } = make();
    try { context.evalSync('for (;;);', { timeout: 20 }); } catch (error) { console.log(error.code); }
    try { context.evalSync('const a = []; for (;;) a.push(new Array(1000).fill(1.5))'); } catch (error) { console.log(error.code); }`,
  { stdout: 'ERR_ISOLATE_TIMEOUT\nERR_ISOLATE_MEMORY\n' }));
  test('with a pending promise of a guest whose isolate is disposed', () => ends(`
    const { isolate, context } = make();
    const promise = context.evalSync('new Promise(() => {})', { promise: true });
    promise.catch((error) => console.log(error.message));
    isolate.dispose();`, { stdout: 'Promise was abandoned\n' }));

  test('only after a pending async call has ended', () => ends(`
    const { context } = make();
    context.eval('for (const end = Date.now() + 300; Date.now() < end;); 5').then((value) => console.log(value));`, { stdout: '5\n' }));
  test('after a chain of async calls', () => ends(`
    const { context } = make();
    const next = (n) => context.eval(String(n)).then((value) => (n < 20 ? next(n + 1) : console.log(value)));
    next(0);`, { stdout: '20\n' }));
  test('after a call with an async callback', () => ends(`
    const { context } = make();
    context.global.setSync('later', new ivm.Reference(async () => { await sleep(50); return 3; }));
    context.eval('later.applySyncPromise(undefined, [])').then((value) => console.log(value));`, { stdout: '3\n' }));
  test('after a sandbox execution', () => ends(`
    ivm.createSandbox({}).execute('for (const end = Date.now() + 200; Date.now() < end;);').then(() => console.log('done'));`, { stdout: 'done\n' }));
});

describe('process.exit', () => {
  test('with a guest that makes ignored calls', () => ends(`
    await starts(make().context, 'for (;;) started()');
    process.exit(3);`, { exit: 3 }));
  test('with ten guests running', () => ends(`
    await Promise.all(Array.from({ length: 10 }, () => starts(make().context, 'for (;;);')));
    process.exit(3);`, { exit: 3 }));
  test('inside a function of a sandbox', () => ends('await ivm.createSandbox({ leave: () => process.exit(6) }).execute("leave()");', { exit: 6 }));
  test('in a beforeExit handler', () => ends(`
    const { context } = make();
    process.once('beforeExit', async () => {
      console.log(await context.eval('6 * 7'));
      await starts(context, 'for (;;);');
      process.exit(2);
    });`, { exit: 2, stdout: '42\n' }));
  test('in an exit handler that uses an isolate', () => ends(`
    const { context } = make();
    process.on('exit', () => console.log(context.evalSync('6 * 7')));
    process.exit(2);`, { exit: 2, stdout: '42\n' }));
});

describe('a signal', () => {
  for (const [what, guest] of [['idle', '""'], ['looping', '"for (;;);"'], ['unresponsive', 'HANG']]) {
    test(`ends the process with a guest ${what}`, async () => {
      const result = await run(`${PRELUDE}
        await starts(make().context, ${guest});
        setInterval(() => {}, 1000);
        process.kill(process.pid, 'SIGTERM');`, { timeout: 10_000 });
      assert.deepEqual({ signal: result.signal, timedOut: result.timedOut, stderr: result.stderr }, { signal: 'SIGTERM', timedOut: false, stderr: '' });
    });
    test(`is handled with a guest ${what}`, () => ends(`
      const { context } = make();
      await starts(context, ${guest});
      process.once('SIGTERM', () => {
        console.log(make().context.evalSync('6 * 7'));
        process.exit(2);
      });
      setInterval(() => {}, 1000);
      process.kill(process.pid, 'SIGTERM');`, { exit: 2, stdout: '42\n' }));
  }
});

describe('an uncaught error', () => {
  test('of a guest, thrown through a sync call', () => ends('make().context.evalSync("throw new Error(\'of the guest\')");', { exit: 1, stderr: /of the guest/ }));
  test('of a guest, as a rejection', () => ends('make().context.eval("throw new Error(\'of the guest\')"); await sleep(2000);', { exit: 1, stderr: /of the guest/ }));
});

describe('worker threads', () => {
  const terminated = (work) => ends(withWorkers(`
    const worker = await ready();
    await worker.terminate();
    const { context } = make();
    console.log(context.evalSync('6 * 7'), await context.eval('2'));`, work), { stdout: '42 2\n' });

  test('terminated with pending async work', () => terminated(`
    const { context } = make();
    const next = () => context.eval('1').then(next, next);
    for (let i = 0; i < 10; i += 1) next();
    setTimeout(tell, 20);`));

  const importing = (resolver) => `
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    const module = isolate.compileModuleSync('await import("x")');
    module.instantiateSync(context, ${resolver});
    module.evaluate({ promise: true });
    setInterval(() => {}, 1000);`;
  test('terminated while a resolver keeps it busy', () => terminated(`
    const isolate = new ivm.Isolate();
    isolate.compileModuleSync('import "x"').instantiateSync(isolate.createContextSync(), () => { tell(); for (;;); });`));
  test('terminated while an imported module loops', () => terminated(importing('() => { tell(); return isolate.compileModuleSync("for (;;);"); }')));

  test('ends by itself', () => ends(withWorkers(`
    const worker = work();
    worker.on('message', (message) => console.log(message));
    console.log('exit', await exited(worker));
    console.log(make().context.evalSync('6 * 7'));`, `
    const { context } = make();
    context.global.setSync('f', () => 1);
    parentPort.postMessage(context.evalSync('f() + 1'));
    parentPort.postMessage(await context.eval('f() + 2'));`), { stdout: '2\n3\nexit 0\n42\n' }));
  test('six end by themselves, with isolates in use on every thread', () => ends(withWorkers(`
    const { context } = make();
    const codes = Array.from({ length: 6 }, () => exited(work()));
    for (let i = 0; i < 200; i += 1) if (context.evalSync(String(i)) !== i) throw new Error('wrong');
    console.log((await Promise.all(codes)).join());`, `
    const { context } = make();
    for (let i = 0; i < 50; i += 1) if (await context.eval(String(i)) !== i) throw new Error('wrong');`), { stdout: `${Array(6).fill(0).join()}\n`, limit: 30_000 }));

  test('six terminated at once in the middle of their work', () => ends(withWorkers(`
    const workers = await Promise.all(Array.from({ length: 6 }, ready));
    await Promise.all(workers.map((worker) => worker.terminate()));
    console.log(make().context.evalSync('6 * 7'));`, `
    const { context } = make();
    const { threadId } = await import('node:worker_threads');
    if (threadId % 3 === 0) {
      context.global.setSync('block', () => { tell(); for (;;); });
      context.evalSync('block()');
    } else if (threadId % 3 === 1) {
      starts(context, 'for (;;);').then(tell);
      setInterval(() => {}, 1000);
    } else {
      context.evalSync('1');
      tell();
      setInterval(() => {}, 1000);
    }`), { stdout: '42\n', limit: 30_000 }));
  test('six terminated, then process.exit with a guest looping', () => ends(withWorkers(`
    const workers = await Promise.all(Array.from({ length: 6 }, ready));
    await Promise.all(workers.map((worker) => worker.terminate()));
    await starts(make().context, 'for (;;);');
    process.exit(0);`, `
    const { context } = make();
    context.global.setSync('block', () => { tell(); for (;;); });
    context.evalSync('block()');`), { limit: 30_000 }));

  test('an unreferenced worker ends with the process', () => ends(withWorkers('(await ready()).unref();', `
    starts(make().context, 'for (;;);').then(tell);
    setInterval(() => {}, 1000);`)));
  for (const [what, work] of [['idle', 'make(); tell(); setInterval(() => {}, 1000);'], ['looping', 'starts(make().context, "for (;;);").then(tell); setInterval(() => {}, 1000);'],
    ['unresponsive', 'starts(make().context, HANG).then(tell); setInterval(() => {}, 1000);'],
    ['in a callback', "const { context } = make(); context.global.setSync('block', () => { tell(); for (;;); }); context.evalSync('block()');"]]) {
    test(`process.exit on the main thread with two workers ${what}`, () => ends(withWorkers('await Promise.all(Array.from({ length: 2 }, ready)); process.exit(3);', work), { exit: 3, limit: 20_000 }));
    test(`an uncaught error on the main thread with two workers ${what}`, () =>
      ends(withWorkers("await Promise.all(Array.from({ length: 2 }, ready)); throw new Error('of the program');", work), { exit: 1, stderr: /of the program/, limit: 20_000 }));
  }
});
