// A guest with `ivm` can send functions in its values, such as a `toString`. The host's errors may have such values, and converting them to
// text must not call the guest: it would block the event loop for as long as it likes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm, { AgentSandbox } from '../../../index.mjs';

/** What functions of a host may do with a value of a guest. */
const HOSTS = {
  'throw it': (value) => { throw value; },
  'throw an error with its properties': (value) => { throw Object.assign(new Error('mine'), value); },
  'reject with an error with its properties': async (value) => { throw Object.assign(new Error('mine'), value); },
  'throw an error with it as the cause': (value) => { throw new Error('mine', { cause: value }); },
  'throw errors with its properties': (value) => { throw new AggregateError([Object.assign(new Error('mine'), value)], 'all'); },
  'return an error with its properties': (value) => Object.assign(new Error('mine'), value),
  'return an error with its properties in a list': (value) => [Object.assign(new TypeError('mine'), value)],
  'throw a list with it': (value) => { throw [value.message ?? value]; },
  'throw an heir of it': (value) => { throw Object.create(value); },
};

/** Values with functions that convert them to text, as code: `call` is one. */
const TEXTS = ['{ toString: call }', '{ toString: 1, valueOf: call }', '[{ toString: call }]'];
const KEYS = ['message', 'name', 'code', 'stack', 'cause'];

const valuesOf = (text) => [text, ...KEYS.map((key) => `{ ${key}: ${text} }`)];

for (const side of ['sync', 'async']) {
  describe(`in ${side} calls`, () => {
    for (const [what, host] of Object.entries(HOSTS)) {
      test(`functions that ${what} do not call the guest`, async () => {
        const isolate = new ivm.Isolate();
        const context = isolate.createContextSync();
        context.global.setSync('ivm', ivm);
        context.global.setSync('host', new ivm.Callback(host));
        context.global.setSync('reference', new ivm.Reference(host));
        context.evalSync("let calls = 0; const call = new ivm.Callback(() => { calls += 1; return 'of the guest'; });");
        for (const value of TEXTS.flatMap(valuesOf)) {
          for (const called of ['host($)', 'reference.applySync(undefined, [$], { arguments: { copy: true }, result: { copy: true } })']) {
            const code = `(() => { try { const got = ${called.replace('$', value)}; return 'got ' + got; } catch (error) { return 'caught ' + error; } })()`;
            const outcome = side === 'sync' ? context.evalSync(code, { timeout: 5_000 }) : await context.eval(code, { timeout: 5_000 });
            assert.match(outcome, /^(?:got|caught) /);
            assert.ok(!outcome.includes('of the guest'), outcome);
          }
        }
        assert.equal(context.evalSync('calls'), 0);
        // The host itself may call it.
        let own;
        context.global.setSync('give', new ivm.Callback((value) => { own = `${value}`; }));
        context.evalSync('give({ toString: call })');
        assert.deepEqual([own, context.evalSync('calls')], ['of the guest', 1]);
        isolate.dispose();
      });
    }
  });
}

describe('results of tools that are converted to JSON do not call a guest whose values they have', () => {
  for (const results of ['clone', 'json']) {
    for (const make of [(value) => value, async (value) => ({ value }), (value) => [value, () => 1]]) {
      test(`results: '${results}', ${make}`, async () => {
        const isolate = new ivm.Isolate();
        const context = isolate.createContextSync();
        let value;
        context.global.setSync('ivm', ivm);
        context.global.setSync('give', new ivm.Callback((given) => { value = given; }));
        context.evalSync("let calls = 0; give({ toJSON: new ivm.Callback(() => { calls += 1; return 'of the guest'; }) })");
        const sandbox = new AgentSandbox({ results });
        const { failure } = await sandbox.execute('return await own.tool({})', [{ name: 'own:tool', description: '' }], () => make(value));
        assert.match(failure?.message ?? '', /A function of a guest cannot convert a value to text/);
        assert.equal(context.evalSync('calls'), 0);
        // The host itself may call it.
        assert.equal(JSON.stringify(value), '"of the guest"');
        await sandbox.close();
        isolate.dispose();
      });
    }
  }
});
