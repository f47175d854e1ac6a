// A time limit of `node:vm`, which ends JavaScript without `catch` and `finally`: while files of the package are loaded, between two native calls, and
// in functions that guests call.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { host, root, run } from '../../harness.mjs';

const LIMIT_MS = 10;

test('files of which a part was loaded are loaded again', async () => {
  // The limit expires at different places, in processes of their own.
  const outputs = await Promise.all(Array.from({ length: 8 }, (_, index) => run(`
    import { runInNewContext } from 'node:vm';
    const context = new ivm.Isolate().createContextSync();
    context.evalSync('1');
    const first = () => {
      const start = performance.now();
      while (performance.now() - start < ${LIMIT_MS - 8 + index});
      return context.evalSync('({ a: 1 })', { copy: true });
    };
    let interrupted = false;
    try {
      runInNewContext('first()', { first }, { timeout: ${LIMIT_MS} });
    } catch (error) {
      if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      interrupted = true;
    }
    console.log(JSON.stringify([interrupted, context.evalSync('({ a: 1 })', { copy: true })]));`)));
  const results = outputs.map(({ stdout, stderr }) => {
    assert.match(stdout, /^\[(?:true|false),\{"a":1\}\]$/m, stderr);
    return JSON.parse(stdout);
  });
  assert.ok(results.some(([interrupted]) => interrupted));
});

/** Loads every file, and reads lists of strings and of other values. */
const USE = `
    const context = new ivm.Isolate().createContextSync();
    const texts = context.evalSync('Array.from({ length: 200 }, (_, index) => "text" + index)', { copy: true });
    const back = context.evalClosureSync('return $0.join()', [texts], { arguments: { copy: true } });
    const { message } = await context.evalClosure('return $0()', [new ivm.Callback(() => { throw new Error('mine'); })]).catch((error) => error);
    const results = [];
    for (const Sandbox of [ivm.AgentSandbox, ivm.SubprocessSandbox]) {
      const sandbox = new Sandbox({ timeout: 30_000 });
      results.push((await sandbox.execute('return [1]')).result);
      await sandbox.close();
    }
    new ivm.PluginSandbox();
    console.log(JSON.stringify([back === texts.join(), message, results]));`;
const USED = '[true,"mine",[[1],[1]]]';

test('files of which nothing was loaded are loaded again', async () => {
  const { stdout, stderr } = await run(`
    import { readdirSync } from 'node:fs';
    import { Module } from 'node:module';
    const { cache } = requireOf(import.meta.url);
    for (const name of readdirSync(${JSON.stringify(`${root}/host`)})) {
      const file = ${JSON.stringify(`${root}/host/`)} + name;
      if (name !== 'index.js') cache[file] = Object.assign(new Module(file), { filename: file });
    }
    ${USE}`);
  assert.equal(stdout.trim(), USED, stderr);
});

// Node never completes such a module. Bun's and Deno's modules are not loaded by JavaScript that a limit ends.
test('built-in modules of which nothing was loaded are not needed', { skip: !host.startsWith('node') && 'only Node loads them so' }, async () => {
  const { stdout, stderr } = await run(`
    import { Module } from 'node:module';
    const { _load } = Module;
    const asked = new Set();
    Module._load = (name, ...rest) => ['node:os', 'node:process', 'node:v8'].includes(name) ? asked.add(name) && {} : Reflect.apply(_load, Module, [name, ...rest]);
    ${USE}
    console.log([...asked].join());`);
  assert.equal(stdout.trim(), `${USED}\nnode:v8`, stderr);
});

test('a session of the inspector still responds', { skip: !host.startsWith('node') && 'only Node ends native calls so' }, async () => {
  const { stdout, stderr } = await run(`
    import { runInNewContext } from 'node:vm';
    const session = new ivm.Isolate({ inspector: true }).createInspectorSession();
    session.onNotification = () => {};
    let responded = () => {};
    session.onResponse = (id) => { if (id > 0) responded(); };
    const dispatch = (id) => session.dispatchProtocolMessage(JSON.stringify({ id, method: 'Runtime.disable' }));
    const first = () => { for (let count = 0; count < 1000; count += 1) dispatch(0); };
    for (let round = 1; round <= 150; round += 1) {
      try {
        runInNewContext('first()', { first }, { timeout: 1 });
      } catch (error) {
        if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      }
      await new Promise((resolve, reject) => {
        const late = setTimeout(reject, 10_000, new Error('no response in round ' + round));
        responded = () => { clearTimeout(late); resolve(); };
        dispatch(round);
      });
    }
    console.log('responded');`);
  assert.equal(stdout.trim(), 'responded', stderr);
});

const onlyNode = { skip: !host.startsWith('node') && 'only Node has such limits' };

test('the process continues after a limit has ended a function that was called for another call', onlyNode, async () => {
  const { stdout, stderr } = await run(`
    import { AsyncLocalStorage } from 'node:async_hooks';
    import { runInNewContext } from 'node:vm';
    const storage = new AsyncLocalStorage();
    const stores = [];
    const context = new ivm.Isolate().createContextSync();
    context.global.setSync('endless', new ivm.Callback(() => { stores.push(storage.getStore()); for (;;); }));
    for (let round = 0; round < 3; round += 1) {
      const code = 'new Promise((resolve) => { globalThis.go = resolve; }).then(() => { for (;;) { try { endless(); } catch {} } })';
      storage.run('waiting', () => context.eval(code, { promise: true })).catch(() => {});
      await context.eval('1');
      await new Promise((resolve) => {
        setTimeout(() => storage.run('sync', () => {
          try {
            runInNewContext('first()', { first: () => context.evalSync('go()') }, { timeout: 500 });
          } catch (error) {
            stores.push(error.code, storage.getStore());
          }
          resolve();
        }), 1);
      });
      await new Promise(setImmediate);
      stores.push(storage.getStore());
    }
    console.log(JSON.stringify(stores));`);
  const round = ['waiting', 'ERR_SCRIPT_EXECUTION_TIMEOUT', 'sync', null];
  assert.equal(stdout.trim(), JSON.stringify([...round, ...round, ...round]), stderr);
});

for (const syncCalls of ['caller', 'thread']) {
  test(`a guest does not call its host again after a limit has ended the function that it called (${syncCalls})`, onlyNode, async () => {
    const { stdout, stderr } = await run(`
      import { runInNewContext } from 'node:vm';
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const calls = [];
      for (let round = 0; round < 20; round += 1) {
        const context = new ivm.Isolate().createContextSync();
        let count = 0;
        context.global.setSync('host', new ivm.Callback(() => { count += 1; while (count === 1); }));
        const first = () => context.evalSync('for (;;) { try { host(); } catch {} }', { deadline: 10_000 });
        try {
          runInNewContext('first()', { first }, { timeout: 40 });
        } catch ({ code }) {
          if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new Error(code);
        }
        await new Promise((resolve) => { setTimeout(resolve, 5); });
        calls.push(count);
      }
      console.log(Math.max(...calls));`);
    assert.equal(stdout.trim(), '1', stderr);
  });
}

test('functions of guests can be called after a limit has ended a conversion', onlyNode, async () => {
  const { stdout, stderr } = await run(`
    import { runInNewContext } from 'node:vm';
    const context = new ivm.Isolate().createContextSync();
    const seven = context.evalClosureSync('return () => 7');
    // Its stack is read for the guest.
    const error = Object.defineProperty(new Error('x'), 'stack', { get: () => { for (;;); } });
    context.global.setSync('fail', new ivm.Callback(() => { throw error; }));
    try {
      runInNewContext('first()', { first: () => context.evalSync('fail()') }, { timeout: 50 });
    } catch ({ code }) {
      console.log(code);
    }
    await new Promise(setImmediate);
    console.log(seven());`);
  assert.equal(stdout, 'ERR_SCRIPT_EXECUTION_TIMEOUT\n7\n', stderr);
});

// In optimized code, V8 ends nothing there.
test('the limit of stacks is as before after a limit has ended the reading of errors', onlyNode, async () => {
  const { stdout, stderr } = await run(`
    import { runInNewContext } from 'node:vm';
    const { newError } = requireOf(import.meta.url)(${JSON.stringify(`${root}/surface/host/wire/errors.js`)});
    const { stackTraceLimit } = Error;
    const read = () => { for (;;) newError(0, 'x', false); };
    do {
      try {
        runInNewContext('read()', { read }, { timeout: 5 });
      } catch ({ code }) {
        if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new Error(code);
      }
    } while (Error.stackTraceLimit === stackTraceLimit);
    await new Promise(setImmediate);
    console.log(Error.stackTraceLimit === stackTraceLimit);`, { hostArgs: ['--no-opt', '--no-maglev'] });
  assert.equal(stdout.trim(), 'true', stderr);
});

for (const syncCalls of ['caller', 'thread']) {
  test(`promises of functions, getters and guests are handled after a limit (${syncCalls})`, onlyNode, async () => {
    const { stdout, stderr } = await run(`
      import { runInNewContext } from 'node:vm';
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      let unhandled = 0;
      process.on('unhandledRejection', () => { unhandled += 1; });
      process.on('warning', () => {});
      const context = new ivm.Isolate().createContextSync();
      const rejects = [];
      // After it was noted, no function begins in which the limit could end it.
      const executor = (resolve, reject) => { rejects.push(reject); };
      const fail = () => new Promise(executor);
      context.global.setSync('fail', new ivm.Callback(fail));
      context.global.setSync('refer', new ivm.Reference(fail));
      context.global.setSync('throws', new ivm.Callback(() => { throw fail(); }));
      context.global.setSync('throwsWith', new ivm.Reference(() => { const error = new Error('y'); error.promise = fail(); throw error; }));
      const holds = () => ({ get promise() { return fail(); } });
      context.global.setSync('holder', new ivm.Reference(holds()));
      context.global.setSync('outer', new ivm.Reference({ inner: holds() }));
      context.global.setSync('holds', new ivm.Callback(holds));
      // Most of the time, the limit ends what copies the other parts.
      const large = Array.from({ length: 300 }, (_, index) => ({ index }));
      context.global.setSync('holdsMore', new ivm.Callback(() => ({ get more() { return { large, promise: fail() }; } })));
      context.global.setSync('take', new ivm.Reference(() => 1));
      context.global.setSync('refersTo', new ivm.Reference(holds));
      context.global.setSync('nest', new ivm.Callback(() => {
        const inner = new ivm.Isolate().createContextSync();
        inner.global.setSync('fail', new ivm.Callback(fail));
        try { inner.evalSync('for (;;) try { fail(1) } catch {}') } catch {}
        return {};
      }));
      context.global.setSync('nestAndThrow', new ivm.Callback(() => {
        const inner = new ivm.Isolate().createContextSync();
        inner.global.setSync('refer', new ivm.Reference(fail));
        inner.evalSync('for (;;) try { refer.applySync(undefined, [1]) } catch {}');
      }));
      const calls = [
        'fail(1)', 'fail({})', 'refer.applySync(undefined, [1])', 'throws(1)', 'throwsWith.applySync()', 'holder.getSync("promise", { accessors: true })',
        'holds(1)', 'holds({})', 'holdsMore(1)', 'holdsMore({})', 'refersTo.applySync(undefined, [], { result: { copy: true } })', 'refersTo.applySync(undefined, [], { result: { externalCopy: true } })',
        'holder.copySync()', 'outer.getSync("inner", { copy: true })', 'nest(1)', 'nest({})', 'nestAndThrow(1)', 'nestAndThrow({})',
        'take.applySync(undefined, Array.from({ length: 100 }, () => Promise.reject(1)), { arguments: { copy: true, promise: true } })',
      ];
      let limited = 0;
      for (const call of calls) {
        const first = () => context.evalSync('for (;;) try { ' + call + ' } catch {}', { deadline: 20_000 });
        for (let round = 0; round < 20; round += 1) {
          try {
            runInNewContext('first()', { first }, { timeout: 1 + round % 7 });
          } catch ({ code }) {
            limited += code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 1 : 0;
          }
          await new Promise((resolve) => { setTimeout(resolve); });
          for (const reject of rejects.splice(0)) reject(new Error('x'));
          await new Promise((resolve) => { setTimeout(resolve); });
        }
      }
      // Seldom, the limit ends a function itself after it has noted a promise. Without handlers, there are dozens.
      console.log(limited === 20 * calls.length, unhandled <= 3 || unhandled);`, { timeout: 60_000 });
    assert.equal(stdout.trim(), 'true true', stderr);
  });
}

for (const syncCalls of ['caller', 'thread']) {
  test(`a limit ends all calls that wait, wherever the innermost guest runs (${syncCalls})`, onlyNode, async () => {
    const { stdout, stderr } = await run(`
      import { runInNewContext } from 'node:vm';
      ivm.configureEngine({ syncCalls: '${syncCalls}' });
      const [outer, inner] = [1, 2].map(() => new ivm.Isolate().createContextSync());
      outer.global.setSync('nest', new ivm.Callback(() => { try { return inner.evalSync('for (;;);', { timeout: 500 }); } catch { return 0; } }));
      const first = () => outer.evalSync('for (;;) try { nest() } catch {}', { deadline: 20_000 });
      const since = performance.now();
      try {
        runInNewContext('first()', { first }, { timeout: 100 });
      } catch ({ code }) {
        console.log(code, performance.now() - since < 10_000, outer.evalSync('6 * 7'), inner.evalSync('6 * 7'));
      }`);
    assert.equal(stdout.trim(), 'ERR_SCRIPT_EXECUTION_TIMEOUT true 42 42', stderr);
  });
}
