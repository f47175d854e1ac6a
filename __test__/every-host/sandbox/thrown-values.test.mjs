// Values that a guest throws, or makes a host function throw, are converted to strings on the host, in time proportional to their size.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import ivm from '../../../index.mjs';
import { errorOf, plugin, until } from '../../sandbox/plugin-helper.mjs';

/** Written in decimal, it takes ten seconds or more. */
const LONG = '(1n << 40000000n)';
const MAX_TIME = 4_000;

async function soon(run) {
  const start = performance.now();
  const result = await run();
  const time = performance.now() - start;
  assert.ok(time < MAX_TIME, `it took ${Math.round(time)} ms`);
  return result;
}

describe('a plugin that throws a long BigInt', () => {
  for (const [how, code] of Object.entries({ 'throws it': `throw ${LONG}`, 'rejects with it': `Promise.reject(${LONG})` })) {
    test(how, async () => {
      const { execute, isolate, sandbox } = await plugin();
      const error = await soon(() => errorOf(execute(code)));
      // JavaScriptCore has no BigInts of that length.
      assert.match(error.message, process.versions.bun === undefined ? /failed: BigInt$/ : /failed: The value could not be brought into the host$/);
      assert.equal((await errorOf(execute('throw 12n'))).message, 'Plugin execution failed: 12');
      sandbox.dispose(isolate);
    });
  }

  test('in an event handler', async () => {
    const { context, execute, isolate, logger, sandbox } = await plugin();
    await execute(`context.eventBus.on('item.indexed', () => { throw ${LONG}; }); 1`);
    await soon(() => {
      context.eventBus.emit('item.indexed', 1);
      return until(() => logger.of('error', 'Plugin event handler failed').length === 1);
    });
    const [, , error] = logger.of('error', 'Plugin event handler failed')[0];
    await soon(() => inspect(error));
    sandbox.dispose(isolate);
  });

  test('is not the cause of the error', async () => {
    const { execute, isolate, sandbox } = await plugin();
    const error = await errorOf(execute(`throw ${LONG}`));
    await soon(() => inspect(error));
    assert.equal((await errorOf(execute('throw 12n'))).cause, 12n);
    sandbox.dispose(isolate);
  });
});

test('errors of a plugin\'s handlers are truncated for the logger', async () => {
  const { context, execute, isolate, logger, sandbox } = await plugin();
  await execute(`let thrown;
    context.eventBus.on('item.indexed', () => { throw thrown; });
    context.eventBus.on('item.removed', (kind) => {
      const text = 'x'.repeat(1_000_000);
      thrown = kind === 0 ? text : kind === 1 ? new Error(text) : Object.assign(new Error('short'), kind === 2 ? { name: text } : { stack: 'Error: short\\n    at ' + text });
    });`);
  for (let kind = 0; kind < 4; kind += 1) {
    context.eventBus.emit('item.removed', kind);
    context.eventBus.emit('item.indexed', 1);
  }
  const failures = () => logger.of('error', 'Plugin event handler failed');
  await until(() => failures().length === 4);
  for (const [, , error, { reason }] of failures()) {
    const texts = typeof error === 'string' ? [error] : [error.name, error.message, error.stack];
    for (const text of [...texts, reason]) assert.ok(text.length < 10_100, `${text.length} characters`);
  }
  sandbox.dispose(isolate);
});

/** Host functions that throw their argument. */
const api = {
  now(value) { throw value; },
  async later(value) { throw value; },
};
const DOUBLED = '(() => { let all = [1]; for (let level = 0; level < 30; level += 1) all = [all, all]; return all; })()';
const THROWN = {
  'a long BigInt': LONG,
  'a BigInt as the message': `{ message: ${LONG} }`,
  'a boxed BigInt as the message': `{ message: Object(${LONG}) }`,
  'one in an array': `{ message: [${LONG}] }`,
  'an array that contains one many times': `{ message: ${DOUBLED} }`,
  'a long view as the stack': '{ message: 1, stack: new Uint8Array(30_000_000) }',
};

describe('an error with a stack of many lines', () => {
  const FRAME = '    at f (g:1:1)\\n';
  const BOUNDARY = '    at (<isolated-vm boundary>)\\n';
  const code = (stack, use) => `const error = new Error('long'); error.stack = 'Error: long\\n' + ${stack}; ${use}`;

  /** The lines of such a stack that a host returns, and of one that it throws. */
  async function lengths(stack) {
    const sandbox = ivm.createSandbox({ memoryLimit: 256, api: { ...api, back: (value) => value } });
    const { result } = await sandbox.execute(code(stack, `
      const length = ({ stack }) => stack.split('\\n').length;
      try { api.now(error); } catch (thrown) { return [length(api.back(error)), length(thrown)]; }`));
    return result;
  }

  test('of the host: one remains', async () => {
    for (const lines of await lengths(`'${FRAME}'.repeat(1_000_000)`)) assert.ok(lines < 20, `${lines} lines`);
  });

  test('of isolates that the error came through: few remain of a million', async () => {
    for (const lines of await lengths(`'${FRAME}${BOUNDARY}'.repeat(500_000)`)) assert.ok(lines > 100 && lines < 1_000, `${lines} lines`);
  });

  test('of isolates that the error came through: all remain of a hundred', async () => {
    const sandbox = ivm.createSandbox({ api: { back: (value) => value } });
    const { result } = await sandbox.execute(code(`'${FRAME}'.repeat(100) + '${BOUNDARY}' + '${FRAME}'.repeat(100)`, 'return api.back(error).stack'));
    assert.match(result, /^Error: long\n( {4}at f \(<host>\)\n){100} {4}at \(<isolated-vm boundary>\)\n {4}at f \(<host>\)$/);
  });

  test('of a plugin', async () => {
    const { execute, isolate, sandbox } = await plugin({ context: { back: async (value) => value } });
    assert.equal(await execute(code(`'${FRAME}'.repeat(100)`, 'context.back(error).then((back) => back.stack)')), 'Error: long\n    at f (<host>)');
    sandbox.dispose(isolate);
  });
});

describe('a host function that throws a guest\'s value', () => {
  for (const [what, value] of Object.entries(THROWN)) {
    test(what, async () => {
      for (const name of Object.keys(api)) {
        const code = `try { api.${name}(${value}); } catch (error) { return typeof error.message; }`;
        const { result, error } = await soon(() => ivm.createSandbox({ api }).execute(code));
        assert.deepEqual([result, error], ['string', undefined]);
      }
    });
  }

  test('keeps only short values', async () => {
    const sandbox = ivm.createSandbox({ api });
    const message = async (value) => (await sandbox.execute(`try { api.now(${value}); } catch ({ message }) { return message; }`)).result;
    assert.equal(await message('{ message: ["a", 2, null] }'), 'a,2,');
    assert.equal(await message('{ message: Object(12n) }'), '12');
    assert.equal(await message('{ message: -5 }'), '-5');
    assert.equal(await message("{ message: Array(100).fill('x'.repeat(300_000)) }"), '[object Array]');
  });
});

test('a promise that cannot be awaited is an error, and is handled if possible', async () => {
  const failing = (key) => Object.defineProperty(Promise.resolve(1), key, { get() { throw new Error(`no ${key}`); } });
  const unhandled = [];
  const listener = (error) => { unhandled.push(error); };
  process.on('unhandledRejection', listener);
  const sandbox = ivm.createSandbox({
    api: {
      constructorFails: () => failing('constructor'),
      // oxlint-disable-next-line unicorn/no-thenable -- it is about that
      thenFails: () => Object.defineProperty(Promise.reject(new Error('rejected')), 'then', { get() { throw new Error('no then'); } }),
    },
  }, { timeout: 5_000 });
  const message = async (name) => (await sandbox.execute(`try { return api.${name}(); } catch ({ message }) { return message; }`)).result;
  assert.match(await message('constructorFails'), /constructor/);
  assert.equal(await message('thenFails'), 'no then');
  await new Promise((resolve) => { setTimeout(resolve, 20); });
  process.off('unhandledRejection', listener);
  assert.deepEqual(unhandled, []);
});
