// Results of code, closures, microtasks, time.

const RESULTS = [
  ['1 + 1', 2], ['"text"', 'text'], ['"\\u00ff"', 'ÿ'], ['"☃ \\u{1f600}"', '☃ 😀'], ['"\\ud800"', '\ud800'], ['true', true],
  ['null', null], ['undefined', undefined], ['-0', -0], ['NaN', Number.NaN], ['1 / 0', Infinity], ['0.1', 0.1],
  ['2n ** 70n', 2n ** 70n], ['-5n', -5n], ['2 ** 31', 2 ** 31], ['-(2 ** 31)', -(2 ** 31)], ['', undefined], ['let a = 1;', undefined],
];
const NOT_TRANSFERABLE = ['({})', '[1]', 'Symbol()', 'Promise.resolve(1)', 'new Map()', 'new Date()', 'new SharedArrayBuffer(1)', 'new Error("x")', '/x/'];
const BUSY = 'for (;;);';

export default ({ ivm, test, assert, expect, sides }) => {
  test('eval returns the last value', async ({ open }) => {
    const { context } = open();
    for (const [code, value] of RESULTS) assert.equal(context.evalSync(`{ ${code} }`), value, code);
    for (const [code, value] of RESULTS) assert.equal(await context.eval(`{ ${code} }`), value, code);
  });

  test('eval returns undefined for values that cannot be transferred', async ({ open }) => {
    const { context } = open();
    for (const code of NOT_TRANSFERABLE) assert.equal(context.evalSync(code), undefined, code);
    for (const code of NOT_TRANSFERABLE) assert.equal(await context.eval(code), undefined, code);
  });

  test('eval returns functions and handles', ({ open }) => {
    const { context } = open();
    assert.equal(context.evalSync('(n) => n * 2')(21), 42);
    assert.equal(context.evalClosureSync('return $0', [context.global]).typeof, 'object');
  });

  test('evalIgnored runs the code and returns nothing', async ({ open }) => {
    const { context } = open();
    assert.equal(context.evalIgnored('globalThis.ran = 1; throw new Error("ignored")'), undefined);
    assert.equal(context.evalClosureIgnored('globalThis.ran += $0', [1]), undefined);
    assert.equal(context.evalIgnored('not a program'), undefined);
    assert.equal(await context.eval('ran'), 2);
  });

  test('scripts share the global scope of their context', async ({ open }) => {
    const { context } = open();
    context.evalSync('const one = 1; let two = 2; var three = 3; function four() { return 4; }');
    assert.equal(context.evalSync('one + two + three + four()'), 10);
    assert.throws(() => context.evalSync('const one = 2'), expect.thrown(SyntaxError, /^Identifier 'one' has already been declared/));
    assert.equal(await context.eval('one'), 1);
  });

  test('evalClosure has arguments and `return`', async ({ open }) => {
    const { context } = open();
    assert.equal(context.evalClosureSync('return $0 + $1', [1, 2]), 3);
    assert.equal(context.evalClosureSync('return arguments.length', [1, undefined, 3]), 3);
    assert.equal(context.evalClosureSync('return this === globalThis'), true);
    assert.equal(context.evalClosureSync('1'), undefined);
    assert.equal(await context.evalClosure('return $0.length', ['abc']), 3);
  });

  test('evalClosure takes any number of arguments', ({ open }) => {
    const { context } = open();
    assert.equal(context.evalClosureSync('return [typeof $0, $1].join()', Object.assign([], { 1: 2, length: 2 })), 'undefined,2');
    for (const count of [0, 1, 2, 3, 4, 5, 10, 300]) {
      const list = Array.from({ length: count }, (_, index) => index);
      assert.equal(context.evalClosureSync('let sum = 0; for (const each of arguments) sum += each; return sum', list), list.reduce((a, b) => a + b, 0));
    }
  });

  test('evalClosure rejects arguments that cannot be transferred', async ({ open }) => {
    const { context } = open();
    const refused = expect.transfer('A non-transferable value was passed');
    const values = [{}, [], Symbol('s'), Promise.resolve(), new Map(), new SharedArrayBuffer(8), new Date(), /x/, new Error('x')];
    for (const value of values) {
      assert.throws(() => context.evalClosureSync('return 1', [value]), refused);
      assert.throws(() => context.evalClosureIgnored('return 1', [value]), refused);
    }
    for (const value of values) await assert.rejects(context.evalClosure('return 1', [value]), refused);
  });

  test('evalClosure rejects results that cannot be transferred', async ({ open }) => {
    const { context } = open();
    const refused = expect.transfer('A non-transferable value was passed');
    for (const code of NOT_TRANSFERABLE) assert.throws(() => context.evalClosureSync(`return ${code}`), refused, code);
    for (const code of NOT_TRANSFERABLE) await assert.rejects(context.evalClosure(`return ${code}`), refused, code);
  });

  test('errors name their position', async ({ open }) => {
    const { context } = open();
    const error = expect.thrown(SyntaxError, "Unexpected identifier 'b' [<isolated-vm>:1:3]");
    assert.throws(() => context.evalSync('a b'), error);
    assert.throws(() => context.evalClosureSync('a b'), error);
    assert.throws(
      () => context.evalSync('\n\n a b', { filename: 'file:///q.js', lineOffset: 10, columnOffset: 3 }),
      expect.thrown(SyntaxError, "Unexpected identifier 'b' [file:///q.js:13:4]"),
    );
    await assert.rejects(context.eval('a b'), error);
    await assert.rejects(context.evalClosure('a b'), error);
  });

  test('stacks show filename and offsets', ({ open }) => {
    const { context } = open();
    const stack = (options) => assert.caught(() => context.evalSync('(function named() { throw new Error("x") })()', options)).stack;
    assert.matches(stack(), /at named \(<isolated-vm>:1:27\)/);
    assert.matches(stack({ filename: 'file:///a.js', lineOffset: 5, columnOffset: 10 }), /at named \(file:\/\/\/a\.js:6:37\)/);
  });

  test('timeout stops a synchronous call, and the isolate stays usable', ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync(BUSY);
    const spin = context.evalSync('(function spin() { for (;;); })', { reference: true });
    assert.throws(() => context.evalSync(BUSY, { timeout: 20 }), expect.timeout());
    assert.throws(() => context.evalClosureSync('try { for (;;); } catch { globalThis.never = 1 } finally { globalThis.never = 2 }', [], { timeout: 20 }), expect.timeout());
    assert.equal(context.evalSync('typeof never'), 'undefined');
    assert.throws(() => script.runSync(context, { timeout: 20 }), expect.timeout());
    assert.throws(() => spin.applySync(undefined, [], { timeout: 20 }), expect.timeout());
    assert.equal(context.evalSync('2'), 2);
  });

  test('timeout stops an asynchronous call, and the isolate stays usable', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync(BUSY);
    const spin = context.evalSync('(function spin() { for (;;); })', { reference: true });
    await assert.rejects(context.eval(BUSY, { timeout: 20 }), expect.timeout());
    await assert.rejects(context.evalClosure(BUSY, [], { timeout: 20 }), expect.timeout());
    await assert.rejects(script.run(context, { timeout: 20 }), expect.timeout());
    await assert.rejects(spin.apply(undefined, [], { timeout: 20 }), expect.timeout());
    assert.equal(await context.eval('2'), 2);
  });

  test('timeout stops an ignored call', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync(BUSY);
    const spin = context.evalSync('(function spin() { for (;;); })', { reference: true });
    context.evalIgnored(BUSY, { timeout: 20 });
    context.evalClosureIgnored(BUSY, [], { timeout: 20 });
    script.runIgnored(context, { timeout: 20 });
    spin.applyIgnored(undefined, [], { timeout: 20 });
    assert.equal(await context.eval('3'), 3);
  });

  test('timeout stops what a guest applies in its own isolate', ({ open }) => {
    const { context } = open();
    context.global.setSync('ivm', ivm);
    const outcome = (code) => context.evalSync(`
      var spin = new ivm.Reference(() => { for (;;); });
      var caught = (call) => { try { return call(); } catch (error) { return error.message; } };
      ${code}`);
    assert.equal(outcome('caught(() => spin.applySync(undefined, [], { timeout: 20 }))'), 'Script execution timed out.');
    assert.equal(outcome('caught(() => new ivm.Reference(() => { throw new Error("own"); }).applySync(undefined, [], { timeout: 1000 }))'), 'own');
    assert.equal(outcome('new ivm.Reference((a, b) => a + b).applySync(undefined, [1, 2], { timeout: 1000 })'), 3);
    assert.equal(context.evalSync('4'), 4);
  });

  test('timeout covers microtasks', ({ open }) => {
    const { context } = open();
    assert.throws(() => context.evalSync('Promise.resolve().then(() => { for (;;); }); 1', { timeout: 20 }), expect.timeout());
    assert.equal(context.evalSync('1'), 1);
  });

  test('a timeout error names the function that was running', ({ open }) => {
    const { context } = open();
    const named = () => /at runaway \(<isolated-vm>:1:/.test(assert.caught(() => context.evalSync('function runaway() { for (;;); } runaway()', { timeout: 20 })).stack);
    // A thread that gets no turn in time is stopped before it can report its name.
    for (let tries = 0; tries < 50; tries += 1) {
      if (named()) return;
    }
    assert.ok(false, 'no stack names it');
  });

  test('deadline errors have their own code', { differs: 'it has no deadlines' }, async ({ open }) => {
    const { context } = open();
    const late = expect.error(Error, 'Execution exceeded its deadline of 20 ms', 'ERR_ISOLATE_DEADLINE');
    assert.throws(() => context.evalSync(BUSY, { deadline: 20 }), late);
    await assert.rejects(context.eval(BUSY, { deadline: 20 }), late);
    assert.equal(await context.eval('1'), 1);
  });

  test('microtasks run at the end of each call', ({ open }) => {
    const { context } = open();
    context.evalSync('globalThis.log = []; Promise.resolve().then(() => log.push("task")); log.push("script")');
    assert.equal(context.evalSync('log.join()'), 'script,task');
  });

  test('a call rejects with an unhandled rejection', async ({ open }) => {
    const { context } = open();
    assert.throws(() => context.evalSync('Promise.reject(new RangeError("boo")); 1'), expect.thrown(RangeError, 'boo'));
    assert.equal(context.evalSync('Promise.reject(new Error("handled")).catch(() => {}); 7'), 7);
    assert.equal(context.evalSync('(async () => { try { await Promise.reject(1) } catch {} })(); 8'), 8);
    await assert.rejects(context.eval('Promise.resolve().then(() => { throw new Error("later") }); 1'), expect.thrown(Error, 'later'));
    assert.equal(await context.eval('9'), 9);
  });

  test('an unhandled rejection does not hide the error of the call', async ({ open }) => {
    const { context } = open();
    const code = 'Promise.reject(new RangeError("rejected")); throw new TypeError("thrown")';
    assert.throws(() => context.evalSync(code), expect.thrown(TypeError, 'thrown'));
    await assert.rejects(context.eval(code), expect.thrown(TypeError, 'thrown'));
  });

  test('code from strings is bounded by an eighth of the memory limit', ({ open }) => {
    const { context } = open({ memoryLimit: 8 });
    const size = 2 ** 20;
    assert.equal(context.evalSync(`eval('1' + ' '.repeat(${size - 1}))`), 1);
    for (const code of ['eval(text)', '(0, eval)(text)', 'new Function(text)']) {
      const { name } = assert.caught(() => context.evalSync(`text = ' '.repeat(${size + 1}); ${code}`));
      assert.equal(name, 'EvalError', code);
    }
  });

  test('time spent outside the isolate does not count towards the timeout', { differs: { guest: 'it does not count time in other isolates' } }, ({ open }) => {
    const { context } = open();
    context.global.setSync('wait', () => {
      const end = Date.now() + 600;
      while (Date.now() < end);
    });
    const call = () => context.evalSync('wait(); 5', { timeout: 300 });
    if (sides.waitingCounts) assert.throws(call, expect.timeout());
    else assert.equal(call(), 5);
  });
};
