// Programs show the errors that they get. Hosts compare the lines of a stack with each other and with those of a cause's stack for that, and
// search it for the message.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import ivm from '../../../index.mjs';

/** Lines of which many are equal, at many distances. */
const LINES = 'Array.from({ length: 12_000 }, (_, i) => `\\n${(i + 1) & -(i + 1)}`).join("")';
const other = '"a".repeat(30_000)';
const message = `${other} + "b" + ${other}`;
const stacked = `Object.assign(new Error('m'), { stack: 'Error: m\\n    at f' + ${LINES} })`;

const ERRORS = {
  'a stack of many lines': stacked,
  'a stack and that of its cause': `Object.assign(${stacked}, { cause: Object.assign(new Error('c'), { stack: 'Error: c\\n    at f' + '\\nx'.repeat(4_000) }) })`,
  'the stack of a cause': `new Error('m', { cause: ${stacked} })`,
  'a long name': `Object.assign(new Error(${message}), { name: 'a'.repeat(200_000) })`,
  'a name of many lines': `Object.assign(new Error(''), { name: 'E\\n    at f' + ${LINES} })`,
  'a stack of another error': `Object.assign(new Error(${message}), { stack: 'a'.repeat(200_000) })`,
  'a stack that begins with a long name': `Object.assign(new Error(${message}), { stack: 'a'.repeat(200_000) + ': ' + ${message} })`,
};

/** Ways in which a host gets an error. */
const WAYS = {
  'is thrown': (context, error) => context.eval(`throw ${error}`).catch((thrown) => thrown),
  'is thrown synchronously': async (context, error) => {
    try {
      return context.evalSync(`throw ${error}`);
    } catch (thrown) {
      return thrown;
    }
  },
  'is part of a value': (context, error) => context.eval(`[{ error: ${error} }]`, { copy: true }),
  'is an argument': async (context, error) => {
    const received = [];
    context.global.setSync('take', (...args) => { received.push(args); });
    await context.eval(`take(${error})`);
    return received;
  },
};

describe('an error that a host shows', () => {
  for (const [way, get] of Object.entries(WAYS)) {
    for (const [what, error] of Object.entries(ERRORS)) {
      test(`${way}: ${what}`, async () => {
        const isolate = new ivm.Isolate({ memoryLimit: 128 });
        const shown = await get(await isolate.createContext(), error);
        const start = process.cpuUsage();
        const text = inspect(shown, { depth: 5, colors: true });
        const { user, system } = process.cpuUsage(start);
        isolate.dispose();
        assert.ok(text.length > 0);
        // It would take seconds in some hosts. The rest is for busy machines.
        assert.ok(user + system < 500_000, `${user + system} µs`);
      });
    }
  }

  test('has the first lines of its stack, and all of its message', async () => {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    const code = (lines, text) => `Object.assign(new RangeError('${text}'), { stack: 'RangeError: ${text}' + ${lines} })`;
    const many = 'Array.from({ length: 1_000 }, (_, i) => `\\n    at f${i} (file.js:1:1)`).join("")';
    const long = 'a b'.repeat(10_000);
    const stacks = [
      (await context.eval(`throw ${code(many, long)}`).catch((error) => error)).stack,
      (await context.eval(`[${code(many, long)}]`, { copy: true }))[0].stack,
    ];
    for (const stack of stacks) {
      assert.ok(stack.startsWith(`RangeError: ${long}\n    at f0 (file.js:1:1)\n`), stack.slice(-500));
      assert.match(stack, /at f190 \(file\.js:1:1\)\n[^]*\n {4}at \.\.\.(?:\n|$)/);
      assert.ok(!stack.includes('f300'));
    }
    // Those of usual errors are as they were.
    const usual = 'Array.from({ length: 190 }, (_, i) => `\\n    at f${i} (file.js:1:1)`).join("")';
    const [copied] = await context.eval(`[${code(usual, 'm')}]`, { copy: true });
    assert.equal(copied.stack, await context.eval(`${code(usual, 'm')}.stack`));
    isolate.dispose();
  });
});
