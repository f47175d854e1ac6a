// What a sandbox does around a call of a tool: approval, and the form of the result.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { calls, gate, onceCalled, resultOf, SANDBOXES, thenable, tool } from '../../sandbox/tool-helper.mjs';

const tools = [tool('t:f')];
const denied = { name: 'Error', message: 'The call of the tool "t:f" was not approved' };

for (const [kind, Sandbox] of Object.entries(SANDBOXES)) {
  describe(`${kind}: approve`, () => {
    test('gets the call as the tool would', async () => {
      const seen = [];
      const approve = (call) => { seen.push(['approve', call.name, call.params, call.signal instanceof AbortSignal]); return true; };
      const inputSchema = { '~standard': { version: 1, vendor: 'test', validate: ({ n }) => (n > 5 ? { issues: [{ message: 'too much' }] } : { value: { n, more: 1 } }) } };
      const executor = async (name, params) => { seen.push(['tool', name, params]); return 'done'; };
      const outcomes = await resultOf(new Sandbox({ approve }), calls('{ n: 1 }', '{ n: 6 }'), [tool('t:f', { inputSchema })], executor);
      assert.deepEqual(outcomes.map(({ value, name }) => value ?? name), ['done', 'TypeError']);
      assert.deepEqual(seen, [['approve', 't:f', { n: 1, more: 1 }, true], ['tool', 't:f', { n: 1, more: 1 }]]);
    });

    test('only `true` approves', async () => {
      for (const [verdict, approves] of [[true, true], [false], [undefined], [null], [1], ['yes'], [{}], [new Boolean(true)]]) {
        for (const approve of [() => verdict, async () => verdict, () => thenable(() => (resolve) => resolve(verdict))]) {
          let called = 0;
          const [outcome] = await resultOf(new Sandbox({ approve }), calls('{}'), tools, async () => { called += 1; return 'done'; });
          assert.deepEqual([outcome, called], approves ? [{ value: 'done' }, 1] : [denied, 0], String(verdict));
        }
      }
    });

    test('a denial that the code does not catch ends it', async () => {
      const { error, failure, result } = await new Sandbox({ approve: () => false }).execute('await t.f()', tools, async () => 1);
      assert.deepEqual([error, result, failure.message, failure.code], [denied.message, null, denied.message, undefined]);
    });

    test('one that throws or rejects denies, with its message', async () => {
      const failures = [() => { throw new Error('ask later'); }, async () => { throw new Error('ask later'); }, () => thenable(() => { throw new Error('ask later'); }), () => Promise.reject(new Error('ask later'))];
      for (const approve of failures) {
        let called = 0;
        const [outcome] = await resultOf(new Sandbox({ approve }), calls('{}'), tools, async () => { called += 1; });
        assert.deepEqual([outcome.message, called], ['ask later', 0]);
      }
    });

    test('one that never answers does not outlive the execution, and its signal aborts', async () => {
      for (const end of ['timeout', 'abort', 'dispose']) {
        const { promise, open } = gate();
        let signal;
        let called = 0;
        const { controller, execution, sandbox } = await onceCalled((timeout) => {
          const asked = gate();
          const approve = async (call) => { ({ signal } = call); asked.open(); return promise; };
          const made = new Sandbox({ approve, timeout: end === 'timeout' ? timeout : 20_000 });
          const aborts = new AbortController();
          const begun = made.execute('await t.f()', tools, async () => { called += 1; }, { signal: aborts.signal });
          return { sandbox: made, controller: aborts, called: asked.promise, execution: begun };
        });
        assert.equal(signal.aborted, false);
        if (end === 'abort') controller.abort();
        if (end === 'dispose') sandbox.dispose();
        assert.equal((await execution).result, null);
        assert.equal(signal.aborted, true);
        open(true);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
        assert.equal(called, 0, end);
      }
    });

    test('calls over the limit are not asked about', async () => {
      let asked = 0;
      const approve = () => { asked += 1; return true; };
      const code = 'const all = await Promise.allSettled(Array.from({ length: 100 }, () => t.f())); return all.filter(({ status }) => status === "fulfilled").length';
      assert.equal(await resultOf(new Sandbox({ approve, maxApiCalls: 7 }), code, tools, async () => 1), 7);
      assert.equal(asked, 7);
    });

    test('the tool gets the params that were approved, whatever the code does meanwhile', async () => {
      const { promise, open } = gate();
      const approve = async ({ params }) => { await promise; return params.amount === 1; };
      const code = 'const params = { amount: 1 }; const call = t.f(params); params.amount = 1000; await t.g(); return await call';
      const executor = async (name, params) => { if (name === 't:g') open(); return params.amount; };
      const outcome = await new Sandbox({ approve: (call) => (call.name === 't:g' ? true : approve(call)) }).execute(code, [tool('t:f'), tool('t:g')], executor);
      assert.deepEqual([outcome.result, outcome.error], [1, undefined]);
    });

    test('is a function', () => {
      for (const approve of [true, 'yes', {}]) assert.throws(() => new Sandbox({ approve }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`approve` must be a function' });
      for (const approve of [null, undefined]) assert.ok(new Sandbox({ approve }));
    });
  });

  describe(`${kind}: results`, () => {
    const values = {
      date: new Date(0), map: new Map([[1, 2]]), undefined: { a: undefined, b: [undefined] }, nan: NaN, json: { toJSON: () => 'mine' }, nothing: undefined, text: 'x', deep: { a: [{ b: null }] },
    };
    const read = (name) => values[name];
    const executor = async (_name, name) => read(name);
    const all = async (config, names = Object.keys(values)) => {
      const outcomes = await resultOf(new Sandbox(config), calls(...names.map((name) => JSON.stringify(name))), tools, executor);
      return Object.fromEntries(outcomes.map((outcome, index) => [names[index], outcome]));
    };

    test('`json`: what their JSON represents', async () => {
      assert.deepEqual(await all({ results: 'json' }), {
        date: { value: '1970-01-01T00:00:00.000Z' }, map: { value: {} }, undefined: { value: { b: [null] } }, nan: { value: null }, json: { value: 'mine' },
        nothing: { value: undefined }, text: { value: 'x' }, deep: { value: { a: [{ b: null }] } },
      });
    });

    test('`clone`, which is the default', async () => {
      for (const config of [{}, { results: 'clone' }, { results: null }]) {
        const { date, map, nan } = await all(config, ['date', 'map', 'nan']);
        assert.deepEqual([date.value, map.value, nan.value], [values.date, values.map, NaN]);
      }
    });

    test('`json`: what has no JSON is an error', async () => {
      const circular = {};
      circular.self = circular;
      for (const value of [5n, circular, { toJSON() { throw new Error('mine'); } }]) {
        const [outcome] = await resultOf(new Sandbox({ results: 'json' }), calls('{}'), tools, async () => value);
        assert.equal(typeof outcome.message, 'string');
      }
    });

    test('`json`: promises inside are handled', async () => {
      const unhandled = [];
      const listener = (error) => { unhandled.push(error); };
      process.on('unhandledRejection', listener);
      const rejected = () => Promise.reject(new Error('inside'));
      for (const make of [() => ({ a: rejected() }), () => ({ toJSON: rejected }), () => ({ get a() { return rejected(); } })]) {
        assert.deepEqual((await resultOf(new Sandbox({ results: 'json' }), calls('{}'), tools, async () => make()))[0].message, undefined);
      }
      await new Promise((resolve) => { setTimeout(resolve, 20); });
      process.off('unhandledRejection', listener);
      assert.deepEqual(unhandled, []);
    });

    test('nothing else', () => {
      for (const results of ['JSON', true, 1, {}]) assert.throws(() => new Sandbox({ results }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`results` must be one of "clone", "json"' });
    });
  });
}
