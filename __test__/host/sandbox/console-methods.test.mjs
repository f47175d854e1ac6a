// The methods of a guest's `console` beside the levels: what they print, in each sandbox and in contexts.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { AgentSandbox, createSandbox, Isolate, SubprocessSandbox } from '../../../index.mjs';

const CODE = `
  console.dir({ a: 1 }, { depth: 0 });
  console.table([{ b: 2 }]);
  console.dirxml('x', 1);
  console.assert(1 === 1, 'not printed');
  console.assert(false);
  console.assert(0, 'wrong:', { c: 3 });
  console.count();
  console.count('mine');
  console.count();
  console.countReset();
  console.count();
  console.time('t');
  console.time('t');
  console.timeLog('t', 'on the way');
  console.timeEnd('t', 'unused');
  console.timeEnd('t');
  console.group('outer');
  console.log('in\\nside');
  console.groupCollapsed();
  console.warn('deeper');
  console.groupEnd();
  console.groupEnd();
  console.groupEnd();
  console.log('out');
`;
const EXPECTED = [
  'log {"a":1}', 'log [{"b":2}]', 'log x 1', 'error Assertion failed', 'error Assertion failed: wrong: {"c":3}', 'log default: 1', 'log mine: 1', 'log default: 2', 'log default: 1',
  'log t: <time> on the way', 'log t: <time>', 'log outer', 'log   in\n  side', 'warn     deeper', 'log out',
];
const timeless = (text) => text.replace(/\d+\.\d{3}ms/, '<time>');

test('they print what those of Node print, as one line of the log each', async () => {
  for (const make of [(onLog) => createSandbox({}, { onLog }), (onLog) => new AgentSandbox({ onLog })]) {
    const entries = [];
    const { error, logs } = await make(({ level, message }) => entries.push(`${level} ${timeless(message)}`)).execute(CODE);
    assert.equal(error, undefined);
    assert.deepEqual(entries, EXPECTED);
    assert.equal(logs.length, EXPECTED.length);
  }
});

test('in processes, as JSON', { skip: process.platform !== 'linux' }, async () => {
  const sandbox = new SubprocessSandbox({ poolSize: 0 });
  const { error, logs } = await sandbox.execute(CODE);
  assert.equal(error, undefined);
  const expected = ['[log] {"a":1}', '[log] [{"b":2}]', '[log] ["x",1]', '[error] "Assertion failed"', '[error] "Assertion failed: wrong: {\\"c\\":3}"', '[log] "default: 1"'];
  assert.deepEqual(logs.slice(0, expected.length), expected);
  assert.equal(logs.at(-1), '[log] "out"');
  await sandbox.close();
});

test('in contexts', async () => {
  const isolate = new Isolate();
  const entries = [];
  const context = await isolate.createContext({ console: ({ level, message }) => { entries.push(`${level} ${timeless(message)}`); } });
  await context.eval(CODE);
  const until = Date.now() + 20_000;
  while (entries.length < EXPECTED.length && Date.now() < until) await new Promise((resolve) => { setTimeout(resolve, 1); });
  assert.deepEqual(entries, EXPECTED);
  isolate.dispose();
});

test('a trace has the stack', async () => {
  const { logs } = await createSandbox({}).execute('function f() { console.trace("here", 1); }\nf()');
  assert.match(logs[0], /^Trace: here 1\n\s+at f \(sandbox\.js:1:\d+\)/);
});

test('their memory and their lines are bounded', async () => {
  const { error, logs, lostLogs } = await createSandbox({}, { maxLogEntries: 3, maxLogLength: 30 }).execute(`
    for (let n = 0; n < 5_000; n += 1) { console.time('t' + n); console.countReset(n); console.group(); }
    console.count('x'.repeat(100_000));
    console.log('\\n'.repeat(1_000));
    console.assert(false, 'y'.repeat(1_000_000));
    console.table([]);`);
  assert.equal(error, undefined);
  assert.deepEqual([logs.length, lostLogs, logs.every(({ length }) => length <= 33)], [3, 1, true]);
});

test('labels that throw, or end the guest', async () => {
  const { result, logs } = await createSandbox({}).execute(`
    console.count({ toString() { throw new Error('mine'); } });
    console.count(Symbol('s'));
    console.count(null);
    return 'done';`);
  assert.equal(result, 'done');
  assert.deepEqual(logs, ['default: 1', 'default: 2', 'null: 1']);
  const { failure } = await createSandbox({}, { timeout: 100 }).execute('console.count({ toString() { for (;;); } })');
  assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
});
