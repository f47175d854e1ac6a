// What the sandboxes report beside a result: resource use, the location of failures, and output.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { createSandbox, IsolatedVMSandbox } = ivm;

const SANDBOXES = {
  // There, code that does not begin with a statement's keyword is one expression.
  createSandbox: (options) => (code, functions = {}) => createSandbox(functions, options).execute(code),
  IsolatedVMSandbox: (options) => (code, functions = {}) => {
    const tools = Object.keys(functions).map((name) => ({ name: `t:${name}`, description: '' }));
    return new IsolatedVMSandbox(options).execute(code, tools, (name, params) => functions[name.slice(2)](params));
  },
};
const CALL = { createSandbox: 'f', IsolatedVMSandbox: 't.f' };

for (const [kind, make] of Object.entries(SANDBOXES)) {
  describe(`${kind}: usage`, () => {
    test('counts time, heap and calls', async () => {
      const { usage } = await make({ memoryLimit: 64 })(`
        const kept = [];
        for (const end = Date.now() + 50; Date.now() < end || kept.length < 100_000;) kept.push({ a: kept.length });
        for (let i = 0; i < 3; i += 1) await ${CALL[kind]}(1);
        return kept.length;
      `, { f: () => new Promise((resolve) => { setTimeout(resolve, 100); }) });
      assert.equal(usage.hostCalls, 3);
      assert.ok(usage.cpuMs >= 49 && usage.cpuMs < usage.wallMs - 200, JSON.stringify(usage));
      assert.ok(usage.wallMs >= 49 + 300 - 3, JSON.stringify(usage));
      assert.ok(usage.heapPeak > 4_000_000 && usage.heapPeak < 64_000_000, JSON.stringify(usage));
    });

    test('reports failures, too', async () => {
      const { usage } = await make({ timeout: 600 })('for (;;);');
      assert.ok(usage.wallMs >= 600 && usage.cpuMs > 0 && usage.hostCalls === 0, JSON.stringify(usage));
    });
  });

  describe(`${kind}: failure`, () => {
    test('names the position in the code as it was passed', async () => {
      const { error, failure } = await make()('const a = 1;\nconst o = null;\nreturn o.x;\n// end');
      assert.equal(error, "Cannot read properties of null (reading 'x')");
      assert.deepEqual(failure, {
        name: 'TypeError', message: error, line: 3, column: 10,
        stack: `TypeError: ${error}\n    at sandbox.js:3:10`,
        frame: '  1 | const a = 1;\n  2 | const o = null;\n> 3 | return o.x;\n    |          ^\n  4 | // end',
      });
    });

    test('of code that does not compile', async () => {
      const { failure } = await make()('const a = 1;\nconst b = ;');
      assert.equal(failure.name, 'SyntaxError');
      assert.deepEqual([failure.line, failure.column], [2, 11]);
      assert.equal(failure.frame, '  1 | const a = 1;\n> 2 | const b = ;\n    |           ^');
    });

    test('has the name of the code\'s own error, and truncates long lines', async () => {
      const { failure } = await make()(`${' '.repeat(300)}class Own extends Error { name = "Own" }; throw new Own("m");`);
      assert.equal(failure.name, 'Own');
      assert.equal(failure.stack.split('\n')[0], 'Own: m');
      assert.equal(failure.line, 1);
      const [shown, mark] = failure.frame.split('\n');
      assert.ok(shown.length < 220, shown);
      assert.equal(shown[mark.indexOf('^')], 'n', failure.frame);
    });

    test('of a limit has its code', async () => {
      const { failure } = await make({ timeout: 50 })('for (;;);');
      assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
      assert.equal((await make({ memoryLimit: 8 })('const kept = []; for (;;) kept.push({ a: Math.random() });')).failure.code, 'ERR_ISOLATE_MEMORY');
    });

    test('of values that are not errors, and of the host', async () => {
      assert.deepEqual((await make()('throw 5')).failure, { name: 'Error', message: '5', stack: 'Error: 5' });
      const { failure } = await make()(`await ${CALL[kind]}(1)`, { f: async () => { throw new RangeError('no'); } });
      assert.equal(failure.message, 'no');
      assert.doesNotMatch(failure.stack, /reports\.test/);
    });

    test('a long thrown string is truncated', async () => {
      const { error, failure } = await make({ memoryLimit: 64 })('throw "x".repeat(5e6)');
      assert.deepEqual([error.length, failure.message.length], [2 ** 20, 2 ** 20]);
    });

    test('a hostile stack does no harm', async () => {
      for (const stack of ['"sandbox.js:99999999999999999999:1"', '"\\n    at sandbox.js:0:0"', '"\\n    at sandbox.js:1:1e9"', '{}', '"x".repeat(1e6)']) {
        const { failure } = await make()(`const e = new Error("m"); e.stack = ${stack}; throw e`);
        assert.equal(failure.message, 'm', stack);
      }
    });
  });

  describe(`${kind}: console`, () => {
    test('is streamed before the outcome, in order, and truncated', async () => {
      const seen = [];
      const { logs, lostLogs } = await make({ maxLogEntries: 3, maxLogLength: 4, onLog: (entry) => { seen.push(entry); } })(
        'if (1) console.log("one"); console.warn("three"); console.error({ a: 1 }); console.info("lost"); console.debug("lost");',
      );
      assert.deepEqual(seen, [{ level: 'log', message: 'one' }, { level: 'warn', message: 'thre...' }, { level: 'error', message: '{"a"...' }]);
      assert.equal(lostLogs, 2);
      assert.deepEqual(logs, kind === 'createSandbox' ? ['one', 'thre...', '{"a"...'] : ['one', '[WARN] thre...', '[ERROR] {"a"...']);
    });

    test('is delivered while the code still runs', async () => {
      let receive;
      const received = new Promise((resolve) => { receive = resolve; });
      const { result } = await make({ onLog: () => receive('received') })(`if (1) console.log("on"); return await ${CALL[kind]}(1)`, { f: () => received });
      assert.equal(result, 'received');
    });

    test('a throwing listener has no effect; log entries are not host calls of the code', async () => {
      const { result, usage } = await make({ onLog() { throw new Error('no'); } })('if (1) console.log(1); return 1');
      assert.equal(result, 1);
      assert.equal(usage.hostCalls, 0);
    });

    test('a rejecting listener has no effect; the memory of log entries is bounded', async () => {
      const { logs, lostLogs, result } = await make({ onLog: async () => { throw new Error('no'); }, maxLogEntries: 1e9, memoryLimit: 64 })(
        'if (1) console.log(1); for (let i = 0; i < 200_000; i += 1) console.log(""); return 1',
      );
      assert.equal(result, 1);
      assert.ok(logs.length < 140_000 && lostLogs > 60_000, `${logs.length} ${lostLogs}`);
    });

    test('invalid values are refused', async () => {
      const refused = (options, message) => assert.throws(() => make(options)('', {}), { name: 'TypeError', code: 'ERR_INVALID_ARG', message });
      refused({ onLog: 1 }, '`onLog` must be a function');
      refused({ maxLogEntries: -1 }, '`maxLogEntries` must be a finite number of at least 0');
      refused({ maxLogLength: 0 }, '`maxLogLength` must be a finite number of at least 1');
      assert.equal((await make({ maxLogEntries: 0 })('console.log(1)')).lostLogs, 1);
    });
  });
}

describe('createSandbox: positions in code that is not a list of statements', () => {
  const { execute } = ivm.createSandbox({ f: () => 1 });
  for (const [code, line, column] of [
    ['foo', 1, 1], ['  foo()', 1, 3], ['(a, b)', 1, 1], ['a', 1, 1], ['async', 1, 1], ['```js\nj\n```', 2, 1], ['() => foo', 1, 7],
  ]) {
    test(JSON.stringify(code), async () => {
      const { failure } = await execute(code);
      assert.deepEqual([failure.name, failure.line, failure.column], ['ReferenceError', line, column]);
      assert.ok(failure.stack.includes(`sandbox.js:${line}:${column}`) && !failure.stack.includes(':-'), failure.stack);
    });
  }

  for (const [code, line, column] of [['const a = [1, 2', 1, 16], ['if (f()) {', 1, 11], ['```js\nf(\n```', 2, 3], ['f(\n  1,\n', 2, 5]]) {
    test(`${JSON.stringify(code)} has no end`, async () => {
      const { error, failure } = await execute(code);
      assert.equal(error, `Unexpected end of input [sandbox.js:${line}:${column}]`);
      assert.deepEqual([failure.name, failure.line, failure.column], ['SyntaxError', line, column]);
    });
  }
});
