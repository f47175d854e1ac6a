// `Context`: eval, evalClosure, global, release.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

test('eval returns the last value if it is transferable', () => withContext(async ({ context }) => {
  const cases = [
    ['1 + 1', 2], ['"text"', 'text'], ['"\\u00ff"', 'ÿ'], ['"☃ \\u{1f600}"', '☃ 😀'], ['"\\ud800"', '\ud800'], ['true', true],
    ['null', null], ['undefined', undefined], ['-0', -0], ['NaN', Number.NaN], ['1 / 0', Infinity], ['0.1', 0.1],
    ['2n ** 70n', 2n ** 70n], ['-5n', -5n], ['2 ** 31', 2 ** 31], ['-(2 ** 31)', -(2 ** 31)],
    ['({})', undefined], ['[1]', undefined], ['Symbol()', undefined], ['Promise.resolve(1)', undefined], ['', undefined],
    ['let a = 1;', undefined],
  ];
  for (const [code, value] of cases) {
    assert.deepEqual(context.evalSync(`{ ${code} }`), value, code);
  }
  assert.equal(await context.eval('6 * 7'), 42);
  assert.equal(await context.eval('({})'), undefined);
}));

test('arguments are checked', () => withContext(({ context }) => {
  for (const method of ['eval', 'evalSync', 'evalIgnored', 'evalClosure', 'evalClosureSync', 'evalClosureIgnored']) {
    assert.throws(() => context[method](), failure(TypeError, '`undefined` requires at least 1 parameter'), method);
    assert.throws(() => context[method](1), failure(TypeError, '`undefined` requires parameter 1 to be a string'), method);
    assert.throws(() => context[method](undefined), failure(TypeError, '`undefined` requires parameter 1 to be a string'), method);
  }
  for (const method of ['eval', 'evalSync', 'evalIgnored']) {
    assert.throws(() => context[method]('1', 1), failure(TypeError, '`undefined` requires parameter 2 to be an object'), method);
  }
  for (const method of ['evalClosure', 'evalClosureSync', 'evalClosureIgnored']) {
    assert.throws(() => context[method]('1', {}), failure(TypeError, '`undefined` requires parameter 2 to be an array'), method);
    assert.throws(() => context[method]('1', [], 1), failure(TypeError, '`undefined` requires parameter 3 to be an object'), method);
  }
  assert.equal(context.evalSync('1', null), 1);
  assert.equal(context.evalClosureSync('return arguments.length', null, null), 0);
}));

test('options are checked: sync and ignored throw, async rejects', () => withContext(async ({ context }) => {
  for (const [options, message] of [
    [{ copy: 1 }, '`copy` must be a boolean'],
    [{ reference: 'yes' }, '`reference` must be a boolean'],
    [{ promise: 0 }, '`promise` must be a boolean'],
    [{ timeout: 1.5 }, '`timeout` must be a 32-bit number'],
    [{ timeout: Infinity }, '`timeout` must be a 32-bit number'],
    [{ timeout: 2 ** 31 }, '`timeout` must be a 32-bit number'],
    [{ timeout: '10' }, '`timeout` must be a 32-bit number'],
    [{ filename: 5 }, '`filename` must be a string'],
    [{ lineOffset: 0.5 }, '`lineOffset` must be a 32-bit number'],
    [{ copy: true, reference: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
    [{ copy: true, externalCopy: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
  ]) {
    assert.throws(() => context.evalSync('1', options), failure(TypeError, message));
    assert.throws(() => context.evalIgnored('1', options), failure(TypeError, message));
    await assert.rejects(context.eval('1', options), failure(TypeError, message));
  }
  for (const [options, message] of [
    [{ result: 1 }, '`result` must be an object'],
    [{ arguments: 1 }, '`arguments` must be an object'],
    [{ result: { copy: 1 } }, '`copy` must be a boolean'],
    [{ timeout: 'a' }, '`timeout` must be a 32-bit number'],
  ]) {
    assert.throws(() => context.evalClosureSync('1', [], options), failure(TypeError, message));
    await assert.rejects(context.evalClosure('1', [], options), failure(TypeError, message));
  }
  // -1 and 0 mean no limit, null and undefined the default.
  assert.equal(context.evalSync('1', { timeout: -1 }), 1);
  assert.equal(context.evalSync('1', { timeout: 0, copy: null, reference: undefined }), 1);
}));

test('deadline is checked like timeout', ours, () => withContext(({ context }) => {
  assert.throws(() => context.evalSync('1', { deadline: 'a' }), { code: 'ERR_INVALID_ARG', message: '`deadline` must be a 32-bit number' });
  assert.throws(() => context.evalSync('1', { deadline: -1 }), { code: 'ERR_INVALID_ARG', message: '`deadline` must be at least 0' });
  assert.equal(context.evalSync('1', { deadline: 1000 }), 1);
}));

test('evalClosure refuses more arguments than a function can have', ours, async () => {
  const { stdout, stderr } = await run(`
    const context = new ivm.Isolate().createContextSync();
    const told = [];
    for (const count of [65_535, 65_537, 100_000]) {
      const list = new Array(count).fill(1);
      try { context.evalClosureSync('return arguments.length', list); } catch (error) { told.push(error.name, error.code); }
      await context.evalClosure('return arguments.length', list).catch((error) => told.push(error.message));
    }
    console.log(JSON.stringify(told), context.evalSync('1 + 1'));
    process.exit();`);
  const each = ['RangeError', 'ERR_ISOLATE_LIMIT', 'A closure has more than 65534 arguments'];
  assert.equal(stdout.trim(), `${JSON.stringify([...each, ...each, ...each])} 2`, stderr);
});

test('evalClosure has arguments, `return` and the global as `this`', () => withContext(async ({ context }) => {
  assert.equal(context.evalClosureSync('return $0 + $1', [1, 2]), 3);
  assert.equal(context.evalClosureSync('return arguments.length', [1, undefined, 3]), 3);
  assert.equal(context.evalClosureSync('return this === globalThis'), true);
  assert.equal(context.evalClosureSync('1'), undefined);
  assert.equal(await context.evalClosure('return $0.length', ['abc']), 3);
  assert.equal(context.evalClosureSync('return [typeof $0, $1].join()', Object.assign([], { 1: 2, length: 2 })), 'undefined,2');
  assert.equal(context.evalClosureSync('return arguments.length', Array.from({ length: 300 }, (_, index) => index)), 300);
}));

test('evalClosure throws for values that cannot be transferred', () => withContext(async ({ context }) => {
  const refused = failure(TypeError, 'A non-transferable value was passed');
  for (const value of [{}, [], Symbol(), Promise.resolve(), new Map(), new SharedArrayBuffer(8), new Date()]) {
    assert.throws(() => context.evalClosureSync('return 1', [value]), refused);
    assert.throws(() => context.evalClosureIgnored('return 1', [value]), refused);
    await assert.rejects(context.evalClosure('return 1', [value]), refused);
  }
  for (const code of ['({})', '[]', 'Symbol()', 'Promise.resolve()']) {
    assert.throws(() => context.evalClosureSync(`return ${code}`), refused);
    await assert.rejects(context.evalClosure(`return ${code}`), refused);
  }
}));

test('evalIgnored runs the code and returns nothing', () => withContext(async ({ context }) => {
  assert.equal(context.evalIgnored('globalThis.ran = 1; throw new Error("ignored")'), undefined);
  assert.equal(context.evalClosureIgnored('globalThis.ran += $0', [1]), undefined);
  assert.equal(await context.eval('ran'), 2);
}));

test('syntax errors name their position', () => withContext(async ({ context }) => {
  const error = failure(SyntaxError, "Unexpected identifier 'b' [<isolated-vm>:1:3]");
  assert.throws(() => context.evalSync('a b'), error);
  assert.throws(() => context.evalClosureSync('a b'), error);
  await assert.rejects(context.eval('a b'), error);
  assert.throws(
    () => context.evalSync('\n\n a b', { filename: 'file:///q.js', lineOffset: 10, columnOffset: 3 }),
    failure(SyntaxError, "Unexpected identifier 'b' [file:///q.js:13:4]"),
  );
}));

test('stacks show filename and offsets', () => withContext(({ context }) => {
  const stack = (options) => {
    try {
      context.evalSync('(function named() { throw new Error("x") })()', options);
    } catch (error) {
      return error.stack;
    }
    return assert.fail('did not throw');
  };
  assert.match(stack(), /at named \(<isolated-vm>:1:27\)/);
  assert.match(stack({ filename: 'file:///a.js', lineOffset: 5, columnOffset: 10 }), /at named \(file:\/\/\/a\.js:6:37\)/);
}));

test('timeout stops a loop, and the isolate stays usable', () => withContext(async ({ isolate, context }) => {
  const late = failure(Error, 'Script execution timed out.');
  assert.throws(() => context.evalSync('for (;;);', { timeout: 20 }), late);
  assert.equal(context.evalSync('1 + 1'), 2);
  assert.throws(() => context.evalClosureSync('try { for (;;); } finally { globalThis.never = 1 }', [], { timeout: 20 }), late);
  assert.equal(context.evalSync('typeof never'), 'undefined');
  await assert.rejects(context.eval('for (;;);', { timeout: 20 }), late);
  assert.throws(() => isolate.compileScriptSync('for (;;);').runSync(context, { timeout: 20 }), late);
  assert.throws(() => context.evalSync('(function spin() { for (;;); })', { reference: true }).applySync(undefined, [], { timeout: 20 }), late);
  assert.equal(context.evalSync('2'), 2);
}));

test('timeout covers microtasks of the run', () => withContext(({ context }) => {
  assert.throws(
    () => context.evalSync('Promise.resolve().then(() => { for (;;); }); 1', { timeout: 20 }),
    failure(Error, 'Script execution timed out.'),
  );
  assert.equal(context.evalSync('1'), 1);
}));

test('a timeout error names the frames that were running', () => withContext(({ context }) => {
  assert.throws(
    () => context.evalSync('function runaway() { for (;;); } runaway()', { timeout: 20 }),
    (error) => /at runaway \(<isolated-vm>:1:/.test(error.stack),
  );
}));

test('time spent in the host does not count as timeout', () => withContext(({ context }) => {
  context.global.setSync('wait', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120));
  assert.equal(context.evalSync('wait(); 5', { timeout: 40 }), 5);
}));

test('timeouts and deadlines have a code', ours, () => withContext(async ({ context }) => {
  assert.throws(() => context.evalSync('for (;;);', { timeout: 20 }), { code: 'ERR_ISOLATE_TIMEOUT' });
  assert.throws(() => context.evalSync('for (;;);', { deadline: 20 }), { code: 'ERR_ISOLATE_DEADLINE' });
  await assert.rejects(context.eval('for (;;);', { deadline: 20 }), { code: 'ERR_ISOLATE_DEADLINE' });
  assert.equal(context.evalSync('1'), 1);
}));

test('microtasks run at the end of each call', () => withContext(({ context }) => {
  context.evalSync('globalThis.log = []; Promise.resolve().then(() => log.push("task")); log.push("script")');
  assert.equal(context.evalSync('log.join()'), 'script,task');
}));

test('a call rejects with an unhandled rejection', () => withContext(async ({ context }) => {
  assert.throws(() => context.evalSync('Promise.reject(new RangeError("boo")); 1'), failure(RangeError, 'boo'));
  await assert.rejects(context.eval('Promise.resolve().then(() => { throw new Error("later") }); 1'), failure(Error, 'later'));
  assert.equal(context.evalSync('Promise.reject(new Error("handled")).catch(() => {}); 7'), 7);
  assert.equal(context.evalSync('(async () => { try { await Promise.reject(1) } catch {} })(); 8'), 8);
}));

test('global is one Reference, released with its context', () => withContext(({ isolate }) => {
  const context = isolate.createContextSync();
  const { global } = context;
  assert.ok(global instanceof ivm.Reference);
  assert.equal(context.global, global);
  assert.equal(global.typeof, 'object');
  global.setSync('here', 5);
  assert.equal(context.evalSync('here'), 5);
  assert.equal(context.release(), true);
  assert.equal(context.release(), false);
  assert.equal(context.global, undefined);
  assert.throws(() => global.getSync('here'), failure(Error, 'Reference has been released'));
}));

test('a released context is refused', ours, () => withContext(async ({ context }) => {
  context.release();
  assert.throws(() => context.evalSync('1'), failure(Error, 'Context is released'));
  assert.throws(() => context.evalClosureSync('1'), failure(Error, 'Context is released'));
  assert.throws(() => context.evalIgnored('1'), { code: 'ERR_ISOLATE_RELEASED' });
  await assert.rejects(context.eval('1'), failure(Error, 'Context is released'));
}));

test('values of a released context stay usable', () => withContext(({ context }) => {
  const reference = context.evalSync('globalThis.state = 1; () => ++state', { reference: true });
  context.release();
  assert.equal(reference.applySync(), 2);
  assert.equal(reference.applySync(), 3);
}));

test('globalReference() is an alias of `global`', ours, () => withContext(({ context }) => {
  assert.equal(context.globalReference(), context.global);
}));

test('an unhandled rejection does not hide the error of the call itself', () => withContext(async ({ context }) => {
  const reject = 'Promise.reject(new RangeError("rejected"));';
  assert.throws(() => context.evalSync(`${reject} 1`), failure(RangeError, 'rejected'));
  assert.throws(() => context.evalSync(`${reject} throw new TypeError("thrown")`), failure(TypeError, 'thrown'));
  await assert.rejects(context.eval(`${reject} throw new TypeError("thrown")`), failure(TypeError, 'thrown'));
  assert.throws(() => context.evalSync('Promise.reject(new RangeError("r"))', { copy: true }), failure(TypeError, '#<Promise> could not be cloned.'));
}));

test('the global of a context outlives its isolate as a handle', () => withContext(({ isolate, context }) => {
  isolate.dispose();
  assert.equal(context.global.typeof, 'object');
  assert.throws(() => context.global.getSync('x'), failure(Error, 'Isolated is disposed'));
}));

test('guests generate code from strings of up to an eighth of their memory limit', () => {
  const isolate = new ivm.Isolate({ memoryLimit: 8 });
  const context = isolate.createContextSync();
  const size = 2 ** 20;
  assert.equal(context.evalSync(`eval('1' + ' '.repeat(${size - 1}))`), 1);
  assert.equal(context.evalSync('new Function("return 2")() + (0, eval)("1")'), 3);
  for (const code of ['eval(text)', '(0, eval)(text)', 'new Function(text)', '(async () => {}).constructor(text)']) {
    assert.throws(() => context.evalSync(`text = ' '.repeat(${size + 1}); ${code}`), { name: 'EvalError' }, code);
  }
  assert.equal(context.evalSync('eval({ toString() { return "1" } }) instanceof Object'), true);
  isolate.dispose();
});
