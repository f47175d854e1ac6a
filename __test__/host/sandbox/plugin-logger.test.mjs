// `IsolatedVmSandbox`: what the logger receives.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, IsolatedVmSandbox, manifest, plugin, rememberingLogger, until } from '../../sandbox/plugin-helper.mjs';

describe('IsolatedVmSandbox: the logger', () => {
  test('is a child logger if possible', async () => {
    const child = rememberingLogger();
    const asked = [];
    const parent = { ...rememberingLogger(), child: (fields) => { asked.push(fields); return child; } };
    const sandbox = new IsolatedVmSandbox(parent);
    assert.deepEqual(asked, [{ component: 'IsolatedVmSandbox' }]);
    await sandbox.createIsolate(manifest());
    sandbox.disposeAll();
    assert.deepEqual(child.entries.map(([level, message]) => `${level} ${message}`), ['info Creating isolate', 'info Isolate disposed', 'info All isolates disposed']);
  });

  test('its entries', async () => {
    const { sandbox, isolate, execute, logger } = await plugin();
    const ids = { isolateId: isolate.id, pluginId: isolate.pluginId };
    assert.deepEqual(logger.entries.splice(0), [['info', 'Creating isolate', { ...ids, memoryLimit: 128, cpuLimit: 5_000 }]]);
    await execute('1');
    const [[level, message, { isolateId, executionTime }]] = logger.entries.splice(0);
    assert.deepEqual([level, message, isolateId, Number.isInteger(executionTime)], ['debug', 'Code executed', isolate.id, true]);
    await errorOf(execute('throw 1'));
    assert.deepEqual(logger.entries, []);
    sandbox.dispose(isolate);
    const [[, , { lifetime, ...rest }]] = logger.of('info', 'Isolate disposed');
    assert.deepEqual([typeof lifetime, rest], ['number', ids]);
    await sandbox.createIsolate(manifest());
    await sandbox.createIsolate(manifest());
    sandbox.disposeAll();
    assert.deepEqual(logger.of('info', 'All isolates disposed'), [['info', 'All isolates disposed', { count: 2 }]]);
  });

  test('console of the plugin', async () => {
    const { sandbox, execute, logger } = await plugin();
    await execute('console.log("a", 1, { b: [2] }); console.info("i"); console.debug("d"); console.warn("w"); console.error("e", new Error("x"))');
    const { pluginId } = { pluginId: 'org.example.plugin' };
    const said = logger.entries.filter(([, message]) => message.startsWith('Plugin'));
    assert.deepEqual(said.slice(0, 4), [
      ['debug', 'Plugin console.log', { pluginId, args: ['a', 1, { b: [2] }] }], ['debug', 'Plugin console.info', { pluginId, args: ['i'] }],
      ['debug', 'Plugin console.debug', { pluginId, args: ['d'] }], ['warn', 'Plugin console.warn', { pluginId, args: ['w'] }],
    ]);
    const [level, message, error, fields] = said[4];
    assert.deepEqual([level, message, error, fields.args[0], fields.args[1].message], ['error', 'Plugin console.error', undefined, 'e', 'x']);
    sandbox.disposeAll();
  });

  test('console accepts values that cannot be transferred', async () => {
    const { sandbox, execute, logger } = await plugin();
    await execute('const cycle = { f() {} }; cycle.cycle = cycle; console.log(() => 1, Symbol("s"), { f() {}, n: 1 }, cycle, 2n, undefined, null)');
    assert.deepEqual(logger.of('debug', 'Plugin console.log').map(([, , { args }]) => args), [['() => 1', 'Symbol(s)', '{"n":1}', '[object]', 2n, undefined, null]]);
    sandbox.disposeAll();
  });

  test('one execution logs at most 10,000 entries', async () => {
    const { sandbox, execute, logger } = await plugin();
    await execute('for (let i = 0; i < 12_000; i += 1) console.log(i)');
    assert.equal(logger.of('debug', 'Plugin console.log').length, 9_999);
    assert.deepEqual(logger.of('warn'), [['warn', 'Plugin log limit reached', { pluginId: 'org.example.plugin', limit: 10_000 }]]);
    await execute('console.log("again")');
    assert.deepEqual(logger.of('debug', 'Plugin console.log').at(-1)[2].args, ['again']);
    sandbox.disposeAll();
  });

  test('one execution logs at most 8 MB', async () => {
    for (const [say, isOfConsole] of [['console.log', true], ['context.logger.info', false]]) {
      const { sandbox, execute, logger, context } = await plugin();
      const sizes = () => (isOfConsole ? logger.of('debug', 'Plugin console.log').map(([, , { args }]) => args) : context.calls.map(([, ...values]) => values))
        .map((values) => values.reduce((sum, value) => sum + (value.length ?? JSON.stringify(value).length), 0));
      await execute(`
        for (let index = 0; index < 12; index += 1) ${say}(...new Array(100).fill('x'.repeat(10_000)));
        for (let index = 0; index < 2_000; index += 1) ${say}({ text: 'x'.repeat(8_000) });
        ${say}('late')`);
      assert.equal(sizes().length, 8);
      assert.ok(sizes().reduce((sum, size) => sum + size) <= 8 * 2 ** 20);
      assert.deepEqual(logger.of('warn'), [['warn', 'Plugin log limit reached', { pluginId: 'org.example.plugin', limit: 8 * 2 ** 20, unit: 'bytes' }]]);
      await execute(`for (let index = 0; index < 2_000; index += 1) ${say}({ text: 'x'.repeat(8_000) })`);
      assert.ok(sizes().length > 1_000 && sizes().length < 1_100, `${sizes().length}`);
      sandbox.disposeAll();
    }
  });

  test('the properties and causes of errors count', async () => {
    const { sandbox, execute, logger } = await plugin();
    const count = () => logger.of('error', 'Plugin event handler failed').length;
    await execute(`context.eventBus.on('item.indexed', () => { throw Object.assign(new Error('m', { cause: Object.assign(new Error(), { long: 'x'.repeat(8_000) }) }), { own: 'x'.repeat(8_000) }); });
      for (let index = 0; index < 900; index += 1) context.eventBus.emit('item.indexed')`);
    await until(() => logger.of('warn').length > 0);
    // Each takes 16 KB, and its stacks.
    assert.ok(count() > 450 && count() <= 524, `${count()} entries`);
    assert.deepEqual(logger.of('warn'), [['warn', 'Plugin log limit reached', { pluginId: 'org.example.plugin', limit: 8 * 2 ** 20, unit: 'bytes' }]]);
    sandbox.disposeAll();
  });

  test('an empty object counts as the memory that it takes, once in each entry', async () => {
    for (const made of ['new Map()', '[]', 'new Date(NaN)']) {
      const { sandbox, execute, context } = await plugin();
      await execute(`const many = Array.from({ length: 1_900 }, () => ${made}); for (let index = 0; index < 200; index += 1) context.logger.info(many)`);
      assert.equal(context.calls.length, 68, made);
      await execute('const one = {}; const same = new Array(1_900).fill(one); for (let index = 0; index < 200; index += 1) context.logger.info(same)');
      assert.equal(context.calls.length, 68 + 200, made);
      sandbox.disposeAll();
    }
  });

  test('log entries have a maximum size', async () => {
    const { sandbox, execute, logger, context } = await plugin();
    await execute(`
      for (const say of [console.warn, context.logger.info]) { say('x'.repeat(20_000), { list: new Array(5_000).fill(1) }, { n: 1 }, 2n ** (2n ** 22n), { n: [2n ** (2n ** 22n)] }); say(...new Array(150).fill(0)) }
      for (let i = 0; i < 11_000; i += 1) context.logger.debug(i)`);
    const expected = ['x'.repeat(10_000) + '...', '[object of more than 10000 bytes]', { n: 1 }, '[bigint of more than 10000 bytes]', '[object of more than 10000 bytes]'];
    const [[, , { args }], [, , { args: many }]] = logger.of('warn', 'Plugin console.warn');
    assert.deepEqual(args, expected);
    assert.deepEqual([many.length, many.at(-1)], [101, '[50 more]']);
    assert.deepEqual(context.calls[0], ['logger.info', ...expected]);
    assert.ok(context.calls.length < 10_000);
    sandbox.disposeAll();
  });

  test('a throwing logger and a missing logger have no effect', async () => {
    const broken = () => { throw new Error('broken'); };
    for (const logger of [{ debug: broken, info: broken, warn: broken, error: broken }, {}, undefined, null]) {
      const sandbox = new IsolatedVmSandbox(logger);
      const isolate = await sandbox.createIsolate(manifest());
      assert.equal(await sandbox.executeInSandbox(isolate, 'console.log(1); 1', {}), 1);
      sandbox.disposeAll();
    }
  });
});
