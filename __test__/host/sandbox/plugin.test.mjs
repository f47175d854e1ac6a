// `IsolatedVmSandbox`: isolates of plugins, what they run, and how they end.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { run } from '../../harness.mjs';
import {
  errorOf, gate, hostContext, IsolatedVmSandbox, manifest, NotFoundError, plugin, PluginError, SandboxViolationError, until,
} from '../../sandbox/plugin-helper.mjs';

const unknown = { id: 'isolate_none', pluginId: 'none', memoryLimit: 128, cpuLimit: 5_000 };

describe('IsolatedVmSandbox: isolates', () => {
  test('the handle: defaults, and values of the manifest', async () => {
    const sandbox = new IsolatedVmSandbox();
    const before = Date.now();
    const isolate = await sandbox.createIsolate(manifest());
    assert.deepEqual({ ...isolate }, { id: isolate.id, pluginId: 'org.example.plugin', memoryLimit: 128, cpuLimit: 5_000 });
    const [, time] = /^isolate_org\.example\.plugin_\d+_(\d+)$/.exec(isolate.id);
    assert.ok(Number(time) >= before && Number(time) <= Date.now());
    const limited = await sandbox.createIsolate(manifest({ limits: { memoryMB: 16.9, cpuMs: 100 } }));
    assert.deepEqual([limited.memoryLimit, limited.cpuLimit], [16, 100]);
    sandbox.disposeAll();
  });

  test('ids are unique; active ids are listed', async () => {
    const sandbox = new IsolatedVmSandbox();
    assert.deepEqual([sandbox.getActiveIsolateCount(), sandbox.getActiveIsolates()], [0, []]);
    const [first, second] = await Promise.all([sandbox.createIsolate(manifest()), sandbox.createIsolate(manifest())]);
    assert.notEqual(first.id, second.id);
    assert.equal(sandbox.getActiveIsolateCount(), 2);
    assert.deepEqual(sandbox.getActiveIsolates().map(({ id }) => id), [first.id, second.id]);
    sandbox.dispose(first);
    assert.deepEqual(sandbox.getActiveIsolates().map(({ id }) => id), [second.id]);
    assert.deepEqual({ ...sandbox.getActiveIsolates()[0] }, { ...second });
    sandbox.disposeAll();
    assert.equal(sandbox.getActiveIsolateCount(), 0);
  });

  test('ids are unique in the process', async () => {
    const sandboxes = Array.from({ length: 8 }, () => new IsolatedVmSandbox());
    const isolates = await Promise.all(sandboxes.map((sandbox) => sandbox.createIsolate(manifest())));
    assert.equal(new Set(isolates.map(({ id }) => id)).size, 8);
    assert.ok(await errorOf(sandboxes[0].executeInSandbox(isolates[1], '1', hostContext())) instanceof NotFoundError);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  });

  test('close resolves after the executions have settled', async () => {
    const { sandbox, isolate } = await plugin();
    const order = [];
    const running = [{}, { fresh: true }].map((options) =>
      sandbox.executeInSandbox(isolate, 'new Promise(() => {})', hostContext(), options).catch((error) => order.push(error.name)));
    await sandbox.executeInSandbox(isolate, '1', hostContext());
    await sandbox.close();
    order.push('closed');
    await Promise.all(running);
    assert.deepEqual(order, ['PluginError', 'PluginError', 'closed']);
  });

  for (const [name, wrong] of [
    ['no object', 5], ['no id', {}], ['an empty id', manifest({ id: '' })], ['a limit too small', manifest({ limits: { memoryMB: 7 } })],
    ['a limit of a wrong type', manifest({ limits: { cpuMs: '5' } })], ['hooks that are no strings', manifest({ permissions: { hooks: [1] } })],
    ['domains that are not a list', manifest({ permissions: { network: { allowedDomains: 'example.com' } } })],
    ['domains without their member', manifest({ permissions: { network: ['example.com'] } })], ['storage that is a list', manifest({ permissions: { storage: [1000] } })],
    ['permissions that are a list', manifest({ permissions: ['network'] })],
    ['a quota of a wrong type', manifest({ permissions: { storage: { maxSize: '5' } } })],
    ...['', '*', '.', '..', '*.example.com', 'https://example.com', 'example.com/x', 'user@example.com', 'example.com:80', 'a b', '.example.com']
      .map((domain) => [`the domain ${JSON.stringify(domain)}`, manifest({ permissions: { network: { allowedDomains: [domain] } } })]),
  ]) {
    test(`a manifest is refused: ${name}`, async () => {
      const sandbox = new IsolatedVmSandbox();
      const error = await errorOf(sandbox.createIsolate(wrong));
      assert.deepEqual([error.name, error.code], ['TypeError', 'ERR_INVALID_ARG'], error.stack);
      assert.equal(sandbox.getActiveIsolateCount(), 0);
    });
  }

  test('what is no isolate is refused by name', async () => {
    const { sandbox, isolate } = await plugin();
    for (const wrong of [undefined, null, isolate.id, {}, { id: 5 }, '1 + 1']) {
      await assert.rejects(sandbox.executeInSandbox(wrong, '1', hostContext()), {
        name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`isolate` must be what `createIsolate` has resolved with',
      });
    }
    sandbox.disposeAll();
  });

  test('unknown isolates', async () => {
    const sandbox = new IsolatedVmSandbox();
    const error = await errorOf(sandbox.executeInSandbox(unknown, '1', hostContext()));
    assert.ok(error instanceof NotFoundError && error instanceof Error);
    assert.deepEqual([error.name, error.code, error.message, error.resourceType, error.resourceId],
      ['NotFoundError', 'ERR_ISOLATE_NOT_FOUND', 'Isolate not found: isolate_none', 'Isolate', 'isolate_none']);
    assert.equal(sandbox.dispose(unknown), undefined);
    assert.equal(sandbox.getMemoryUsage(unknown), 0);
    assert.equal(sandbox.updateMemoryUsage(unknown.id, 5), undefined);
    const other = await plugin();
    assert.ok(await errorOf(sandbox.executeInSandbox(other.isolate, '1', hostContext())) instanceof NotFoundError, 'of another sandbox');
    other.sandbox.disposeAll();
  });

  test('dispose ends an isolate once; further use throws', async () => {
    const { sandbox, isolate, execute, logger } = await plugin();
    assert.equal(sandbox.dispose(isolate), undefined);
    sandbox.dispose(isolate);
    assert.equal(logger.of('info', 'Isolate disposed').length, 1);
    assert.ok(await errorOf(execute('1')) instanceof NotFoundError);
    assert.equal(sandbox.getMemoryUsage(isolate), 0);
  });

  for (const [what, code] of [['a loop', 'for (;;);'], ['a promise', 'new Promise(() => {})'], ['a call of the host', 'context.wait()']]) {
    test(`dispose rejects a running execution: ${what}`, async () => {
      const { promise: begun, open } = gate();
      const context = hostContext({ begin: open, wait: () => new Promise(() => {}) });
      const { sandbox, isolate, execute } = await plugin({ context });
      const pending = errorOf(execute(`context.begin(); ${code}`));
      await begun;
      sandbox.dispose(isolate);
      const error = await pending;
      assert.ok(error instanceof PluginError, error.stack);
      assert.deepEqual([error.message, error.cause.code], ['Plugin execution failed: Isolate was disposed during execution', 'ERR_ISOLATE_DISPOSED']);
      assert.equal(sandbox.getActiveIsolateCount(), 0);
    });
  }

  test('dispose ends fresh executions of the isolate, too', async () => {
    const { promise: begun, open } = gate();
    const { sandbox, isolate, execute } = await plugin({ context: hostContext({ begin: open }) });
    const pending = errorOf(execute('context.begin(); for (;;);', { fresh: true }));
    await begun;
    sandbox.dispose(isolate);
    assert.equal((await pending).cause.code, 'ERR_ISOLATE_DISPOSED');
  });

  test('`using`', { skip: Symbol.dispose === undefined }, async () => {
    const { sandbox, isolate } = await plugin();
    isolate[Symbol.dispose]();
    assert.equal(sandbox.getActiveIsolateCount(), 0);
    await sandbox.createIsolate(manifest());
    sandbox[Symbol.dispose]();
    assert.equal(sandbox.getActiveIsolateCount(), 0);
  });
});

describe('IsolatedVmSandbox: executions', () => {
  for (const [code, result] of [
    ['42', 42], ['1; 2', 2], ['const x = 5;', undefined], ['', undefined], ['"text"', 'text'], ['null', null], ['({ a: [1, { b: 2 }] })', { a: [1, { b: 2 }] }],
    ['new Map([[1, new Set([2])]])', new Map([[1, new Set([2])]])], ['Promise.resolve(3)', 3], ['(async () => { await null; return { done: true } })()', { done: true }],
    ['pluginId', 'org.example.plugin'], ['typeof context', 'object'], ['typeof global + (global === globalThis)', 'objecttrue'],
    ['["process", "require", "module", "fetch", "Deno", "Bun", "Buffer", "setTimeout", "ivm"].map((name) => typeof globalThis[name]).join()',
      Array(9).fill('undefined').join()],
  ]) {
    test(`${JSON.stringify(code)} gives its last value`, async () => {
      const { sandbox, execute } = await plugin();
      assert.deepEqual(await execute(code), result);
      sandbox.disposeAll();
    });
  }

  test('state persists until the isolate ends', async () => {
    const { sandbox, execute } = await plugin();
    await execute('var count = 1; let kept = { n: 0 }; function next() { return (count += 1) }');
    assert.equal(await execute('next(); next()'), 3);
    assert.deepEqual(await execute('kept.n = count; kept'), { n: 3 });
    const again = await sandbox.createIsolate(manifest());
    assert.equal(await sandbox.executeInSandbox(again, 'typeof count', hostContext()), 'undefined');
    sandbox.disposeAll();
  });

  test('fresh: true leaves no state and finds none', async () => {
    const { sandbox, execute } = await plugin();
    await execute('var mark = 1; Array.prototype.mark = 2;');
    assert.deepEqual(await execute('var result = [typeof mark, [].mark]; var other = 1; result', { fresh: true }), ['undefined', undefined]);
    assert.deepEqual(await execute('[typeof other, mark, [].mark]'), ['undefined', 1, 2]);
    assert.equal(sandbox.getActiveIsolateCount(), 1);
    const { alive } = ivm.engineStats();
    for (let i = 0; i < 3; i += 1) await execute('1', { fresh: true });
    await until(() => ivm.engineStats().alive <= alive);
    sandbox.disposeAll();
  });

  test('executions of one isolate can overlap', async () => {
    const { sandbox, execute } = await plugin({ context: hostContext({ double: async (n) => n * 2 }) });
    const all = Array.from({ length: 20 }, (_, i) => execute(`context.double(${i})`));
    assert.deepEqual(await Promise.all(all), Array.from({ length: 20 }, (_, i) => i * 2));
    sandbox.disposeAll();
  });

  for (const [code, message] of [
    ['throw new Error("boom")', 'boom'], ['throw "text"', 'text'], ['missing', 'missing is not defined'], ['(', /Unexpected/], ['() => 1', /could not be cloned/],
    ['Promise.reject(new TypeError("later"))', 'later'], ['throw { code: "ERR_ISOLATE_MEMORY" }', /not an instance of `Error`/],
  ]) {
    test(`a failure is a PluginError: ${code}`, async () => {
      const { sandbox, execute } = await plugin();
      const error = await errorOf(execute(code));
      assert.ok(error instanceof PluginError && error instanceof Error, error.stack);
      assert.deepEqual([error.name, error.code, error.pluginId, error.operation], ['PluginError', 'ERR_ISOLATE_PLUGIN', 'org.example.plugin', 'EXECUTE']);
      assert.match(error.message, /^Plugin execution failed: ./);
      if (typeof message === 'string') assert.equal(error.message, `Plugin execution failed: ${message}`);
      else assert.match(error.message, message);
      assert.equal(error.cause.message ?? error.cause, error.message.slice('Plugin execution failed: '.length));
      assert.equal(await execute('1'), 1, 'the isolate stays usable');
      sandbox.disposeAll();
    });
  }

  test('the cause keeps the position in the plugin\'s own lines', async () => {
    const { sandbox, execute } = await plugin();
    const error = await errorOf(execute('const a = 1;\nfunction inner() {\n  throw new RangeError("here");\n}\ninner();'));
    assert.ok(error.cause instanceof RangeError);
    assert.match(error.cause.stack, /at inner \(sandbox\.js:3:9\)\n\s+at sandbox\.js:5:1/);
    sandbox.disposeAll();
  });

  test('wrong arguments', async () => {
    const { sandbox, isolate, execute, context } = await plugin();
    for (const promise of [
      execute(5), sandbox.executeInSandbox(isolate, '1'), sandbox.executeInSandbox(isolate, '1', null), execute('1', 5), execute('1', { fresh: 1 }),
      execute('1', { deadline: 'x' }), execute('1', { deadline: 2 ** 40 }), execute('1', { signal: {} }),
    ]) {
      const error = await errorOf(promise);
      assert.deepEqual([error.name, error.code], ['TypeError', 'ERR_INVALID_ARG'], error.stack);
    }
    assert.throws(() => new IsolatedVmSandbox(5), { code: 'ERR_INVALID_ARG' });
    assert.throws(() => sandbox.updateMemoryUsage(isolate.id, '5'), { code: 'ERR_INVALID_ARG' });
    assert.equal(await sandbox.executeInSandbox(isolate, 'context.config.name', context), 'value');
    sandbox.disposeAll();
  });

  for (const fresh of [false, true]) {
    test(`signal: the execution rejects with its reason, the isolate stays usable; fresh: ${fresh}`, async () => {
      const { promise: begun, open } = gate();
      const { sandbox, execute } = await plugin({ context: hostContext({ begin: open }) });
      const controller = new AbortController();
      const pending = errorOf(execute('context.begin(); for (;;);', { signal: controller.signal, fresh }));
      await begun;
      const reason = new Error('the user has left');
      controller.abort(reason);
      assert.equal(await pending, reason);
      assert.equal(await errorOf(execute('1', { signal: controller.signal, fresh })), reason);
      assert.equal(await execute('2'), 2);
      sandbox.disposeAll();
    });
  }

  test('an isolate that is disposed during its creation', async () => {
    const sandbox = new IsolatedVmSandbox();
    const pending = errorOf(sandbox.createIsolate(manifest()));
    assert.equal(sandbox.getActiveIsolateCount(), 1);
    sandbox.disposeAll();
    const error = await pending;
    assert.ok(error instanceof PluginError);
    assert.equal(error.cause.code, 'ERR_ISOLATE_DISPOSED');
    assert.equal(sandbox.getActiveIsolateCount(), 0);
  });
});

describe('IsolatedVmSandbox: limits', () => {
  test('CPU: time that the plugin runs', async () => {
    const { sandbox, execute } = await plugin({ manifest: manifest({ limits: { cpuMs: 60 } }) });
    const error = await errorOf(execute('var before = 1; for (;;);'));
    assert.ok(error instanceof SandboxViolationError && error instanceof Error, error.stack);
    assert.deepEqual([error.name, error.code, error.pluginId, error.violationType, error.kind, error.message],
      ['SandboxViolationError', 'ERR_ISOLATE_TIMEOUT', 'org.example.plugin', 'CPU', 'CPU', 'Plugin execution exceeded 60ms timeout']);
    assert.equal(error.cause.code, 'ERR_ISOLATE_TIMEOUT');
    assert.equal(await execute('before'), 1, 'the isolate keeps its state');
    assert.equal((await errorOf(execute('for (;;);', { fresh: true }))).kind, 'CPU');
    sandbox.disposeAll();
  });

  test('CPU: waiting for the host does not count, and can take 30 s unless `deadline` is lower', async () => {
    const context = hostContext({ nap: (ms) => new Promise((resolve) => { setTimeout(resolve, ms, 'rested'); }), never: () => new Promise(() => {}) });
    const { sandbox, execute } = await plugin({ context, manifest: manifest({ limits: { cpuMs: 100 } }) });
    assert.equal(await execute('context.nap(300)'), 'rested');
    const error = await errorOf(execute('context.never()', { deadline: 80 }));
    assert.deepEqual([error.kind, error.message, error.cause.code], ['CPU', 'Plugin execution exceeded 80ms timeout', 'ERR_ISOLATE_DEADLINE']);
    assert.equal((await errorOf(execute('new Promise(() => {})', { deadline: 80 }))).kind, 'CPU');
    assert.equal(await execute('1'), 1);
    sandbox.disposeAll();
  });

  test('CPU: continuations by promises count together', async () => {
    const { sandbox, execute, logger } = await plugin({ context: hostContext({ next: async () => 1 }), manifest: manifest({ limits: { cpuMs: 500 } }) });
    // Each piece is short, but not all together.
    const error = await errorOf(execute('(async () => { for (;;) { for (const end = Date.now() + 10; Date.now() < end;); await context.next() } })()'));
    assert.equal(error.kind, 'CPU', error.stack);
    assert.equal(error.message, 'Plugin \'org.example.plugin\' has used up its 500ms');
    assert.equal(logger.of('warn', 'Permission denied').length, 1);
    assert.equal(await execute('context.next()'), 1, 'another execution has its own');
    sandbox.disposeAll();
  });

  for (const [what, loop] of [
    ['a promise of its own kind', 'WebAssembly.compile(empty).then(go)'], ['its host', 'context.next().then(go)'],
  ]) {
    test(`CPU: a plugin that continues endlessly by ${what}`, async () => {
      const { sandbox, execute, logger } = await plugin({ context: hostContext({ next: async () => 1 }), manifest: manifest({ limits: { cpuMs: 400 } }) });
      assert.equal(await execute(`
        var rounds = 0;
        const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
        const go = () => { rounds += 1; for (const end = Date.now() + 20; Date.now() < end;); return ${loop} };
        go(); 'begun'`), 'begun');
      if (loop.includes('WebAssembly')) {
        // It needs nothing from its host, so it ends with its isolate.
        await until(() => sandbox.getActiveIsolateCount() === 0);
        const [[, , { reason }]] = logger.of('info', 'Isolate disposed').map((entry) => entry.slice(0, 3));
        assert.equal(reason, 'cpu');
        const [[, , error, fields]] = logger.of('error', 'Plugin ended');
        assert.deepEqual([error.kind, fields], ['CPU', { pluginId: 'org.example.plugin', reason: 'Plugin execution exceeded 400ms timeout' }]);
        assert.ok(await errorOf(execute('1')) instanceof NotFoundError);
      } else {
        await until(() => logger.of('warn', 'Permission denied').length > 0);
        assert.ok(await execute('rounds') < 60);
      }
      sandbox.disposeAll();
    });
  }

  test('CPU: many waiting executions each have enough time', async () => {
    const { sandbox, execute } = await plugin({ manifest: manifest({ limits: { cpuMs: 1_000 } }), context: hostContext({ next: async () => 1 }) });
    const code = '(async () => { for (const end = Date.now() + 150; Date.now() < end;); await context.next(); return 1 })()';
    assert.deepEqual(await Promise.all(Array.from({ length: 10 }, () => execute(code))), Array(10).fill(1));
    sandbox.disposeAll();
  });

  test('memory: the plugin ends', async () => {
    const result = await run(`
      const sandbox = new ivm.IsolatedVmSandbox();
      const manifest = (id) => ({ id, permissions: {}, limits: { memoryMB: 16 } });
      const isolate = await sandbox.createIsolate(manifest('p'));
      const other = await sandbox.createIsolate(manifest('q'));
      const hog = 'var kept = []; for (;;) kept.push(new Array(1000).fill(1.5))';
      const fail = (promise) => promise.then(() => console.log('it continued'), (error) => console.log(error.name, error.code, error.kind, error.message));
      await fail(sandbox.executeInSandbox(other, hog, {}, { fresh: true }));
      console.log(sandbox.getActiveIsolateCount(), await sandbox.executeInSandbox(other, '1', {}));
      await fail(sandbox.executeInSandbox(isolate, hog, {}));
      console.log(sandbox.getActiveIsolates().map(({ pluginId }) => pluginId).join(), sandbox.getMemoryUsage(isolate));
      await fail(sandbox.executeInSandbox(isolate, '1', {}));
      console.log(await sandbox.executeInSandbox(other, '2', {}));
      sandbox.disposeAll();`, { timeout: 60_000 });
    assert.deepEqual([result.code, result.signal], [0, null], result.stderr);
    const lines = result.stdout.trimEnd().split('\n');
    assert.equal(lines[0], 'SandboxViolationError ERR_ISOLATE_MEMORY MEMORY Plugin exceeded 16MB memory limit');
    assert.equal(lines[1], '2 1');
    assert.equal(lines[2], lines[0]);
    assert.equal(lines[3], 'q 0');
    assert.match(lines[4], /^NotFoundError ERR_ISOLATE_NOT_FOUND undefined Isolate not found: isolate_p_/);
    assert.equal(lines[5], '2');
  });

  test('memory: real figures', async () => {
    const { sandbox, isolate, execute } = await plugin();
    const before = sandbox.getMemoryUsage(isolate);
    assert.ok(before > 100_000 && before < 8 * 2 ** 20, `${before}`);
    await execute('var kept = new Array(4 * 131072).fill(1.5); 0');
    const after = sandbox.getMemoryUsage(isolate);
    assert.ok(after - before > 3.9 * 2 ** 20 && after - before < 32 * 2 ** 20, `${before} ${after}`);
    sandbox.disposeAll();
  });

  test('memory: usage that the host reports counts until the next execution', async () => {
    const { sandbox, isolate, execute, logger } = await plugin();
    sandbox.updateMemoryUsage(isolate.id, 50);
    assert.equal(sandbox.getMemoryUsage(isolate), 50 * 2 ** 20);
    assert.equal(await execute('1'), 1);
    assert.notEqual(sandbox.getMemoryUsage(isolate), 50 * 2 ** 20);
    assert.equal(logger.of('warn').length, 0);

    sandbox.updateMemoryUsage(isolate.id, 115.2);
    await execute('1');
    assert.equal(logger.of('warn').length, 0, '90 % is not above');
    sandbox.updateMemoryUsage(isolate.id, 120);
    await execute('1');
    assert.deepEqual(logger.of('warn'), [['warn', 'Memory usage high', { isolateId: isolate.id, pluginId: isolate.pluginId, usage: 120, limit: 128 }]]);

    for (const usage of [128, 500]) {
      sandbox.updateMemoryUsage(isolate.id, usage);
      const error = await errorOf(execute('1'));
      assert.ok(error instanceof SandboxViolationError);
      assert.deepEqual([error.kind, error.code, error.message], ['MEMORY', 'ERR_ISOLATE_MEMORY', `Memory limit exceeded: ${usage}MB >= 128MB`]);
    }
    assert.equal(sandbox.getActiveIsolateCount(), 1);
    sandbox.updateMemoryUsage(isolate.id, 0);
    assert.equal(await execute('1'), 1);
    sandbox.disposeAll();
  });

  test('memory: a real heap above 90 % is reported', async () => {
    const { sandbox, execute, logger } = await plugin({ manifest: manifest({ limits: { memoryMB: 32 } }) });
    await execute('var kept = new Array(29 * 131072).fill(1.5); 0');
    const [[, , { usage, limit }]] = logger.of('warn', 'Memory usage high');
    assert.equal(limit, 32);
    assert.ok(usage > 28.8 && usage < 40, `${usage}`);
    sandbox.disposeAll();
  });
});

test('error classes are exported to the host', () => {
  const cause = new Error('c');
  const violation = new SandboxViolationError('p', 'STORAGE', 'm', cause);
  assert.deepEqual([violation.code, violation.cause, String(violation)], ['ERR_ISOLATE_LIMIT', cause, 'SandboxViolationError: m']);
  assert.deepEqual(['CPU', 'HOOK', 'MEMORY', 'NETWORK'].map((kind) => new SandboxViolationError('p', kind, '').code),
    ['ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_PERMISSION', 'ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_PERMISSION']);
  const failure = new PluginError('p', 'LOAD', 'm');
  assert.deepEqual([failure.operation, 'cause' in failure, String(failure)], ['LOAD', false, 'PluginError: m']);
  assert.equal(String(new NotFoundError('Thing', '1')), 'NotFoundError: Thing not found: 1');
});
