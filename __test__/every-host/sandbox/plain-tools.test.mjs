// Tools whose names have one part, such as `search`: functions of the code.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { AgentSandbox, describeTools, SubprocessSandbox } = ivm;
const named = (...names) => names.map((name) => ({ name, description: '' }));
const echo = (name, params) => [name, params];
const kinds = { AgentSandbox, ...(process.platform === 'win32' ? {} : { SubprocessSandbox }) };

for (const [kind, Sandbox] of Object.entries(kinds)) {
  describe(kind, () => {
    const sandbox = new Sandbox({ timeout: 20_000, memoryLimit: 32 });
    const run = async (code, tools, executor = echo) => {
      const { result, error } = await sandbox.execute(code, tools, executor);
      assert.equal(error, undefined);
      return result;
    };

    test('are called by their names, and as `call`', async () => {
      const code = 'return [await search({ q: 1 }), await search.call({ q: 2 }), await search(), typeof search, search.name, search.length]';
      assert.deepEqual(await run(code, named('search')), [['search', { q: 1 }], ['search', { q: 2 }], ['search', {}], 'function', 'search', 1]);
    });

    test('with characters that identifiers cannot have', async () => {
      const code = 'return [await get_weather(1), await mcp__a__b(2), await global.delete(3), await _(4)]';
      assert.deepEqual(await run(code, named('get-weather', 'mcp__a__b', 'delete', ':')), [['get-weather', 1], ['mcp__a__b', 2], ['delete', 3], [':', 4]]);
    });

    test('may have tools of their own, in any order', async () => {
      const code = 'return [await mail(1), await mail.send(2), await mail.call(3), await mail.name(4), await mail.length(5), Object.keys(mail).toSorted().join()]';
      const expected = [['mail', 1], ['mail:send', 2], ['mail', 3], ['mail:name', 4], ['mail.length', 5], 'call,length,name,send'];
      const names = ['mail:send', 'mail:name', 'mail', 'mail.length'];
      assert.deepEqual(await run(code, named(...names)), expected);
      assert.deepEqual(await run(code, named(...names.toReversed())), expected);
    });

    test('the last one of a name counts', async () => {
      const tools = [{ name: 'a', inputSchema: { type: 'string' } }, { name: 'a', inputSchema: { type: 'number' } }];
      assert.deepEqual(await run('return [await a(1), await a.call(2)]', tools), [['a', 1], ['a', 2]]);
    });

    test('two tools with the same name in code are refused', async () => {
      const clashes = {
        'get-weather': ['get_weather', 'get_weather'],
        'a:b': ['a.b', 'a.b'],
        a: ['a:call', 'a'],
        'x:y:z': ['x:y_z', 'x.y_z'],
      };
      for (const [name, [other, called]] of Object.entries(clashes)) {
        const error = { name: 'TypeError', code: 'ERR_INVALID_ARG', message: `The tools "${name}" and "${other}" have the same name in code: ${called}` };
        const tools = named(name, 'between', other);
        await assert.rejects(sandbox.execute('return 1', tools, echo), error);
        assert.throws(() => describeTools(tools), error);
      }
      await assert.rejects(sandbox.execute('', named('x'.repeat(1e6), `${'x'.repeat(1e6)}:call`), echo), ({ message }) => message.length < 1_000);
      assert.deepEqual(await run('return [await a.b(1), await a_b(2)]', named('a.b', 'a_b:call')), [['a.b', 1], ['a_b:call', 2]]);
    });

    test('a global of the sandbox stays what it is', async () => {
      const code = 'return [new Map([[1, 2]]).size, await Map.call(3), Math.max(1, 2), await Math.call(4)]';
      assert.deepEqual(await run(code, named('Map', 'Math')), [1, ['Map', 3], 2, ['Math', 4]]);
    });

    test('cannot be constructed, and reject as others do', async () => {
      const code = 'const all = [await f().catch(({ message }) => message)]; try { new f() } catch (error) { all.push(error.name) } return all';
      assert.deepEqual(await run(code, named('f'), () => { throw new Error('no'); }), ['no', 'TypeError']);
    });
  });
}
