// Errors across the boundary, both ways.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

const NOT_AN_ERROR = 'An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.';
const BOUNDARY = '    at (<isolated-vm boundary>)';

function caught(run) {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail('did not throw');
}

test('the five standard classes keep their class', () => withContext(async ({ context }) => {
  for (const Class of [Error, RangeError, ReferenceError, SyntaxError, TypeError]) {
    assert.throws(() => context.evalSync(`throw new ${Class.name}('text')`), failure(Class, 'text'));
    await assert.rejects(context.eval(`throw new ${Class.name}('text')`), failure(Class, 'text'));
  }
  assert.throws(() => context.evalSync('missing'), failure(ReferenceError, 'missing is not defined'));
  assert.throws(() => context.evalSync('null.a'), TypeError);
}));

test('other classes arrive as Error with their name', () => withContext(({ context }) => {
  const custom = caught(() => context.evalSync('class Custom extends TypeError { get name() { return "Custom" } } throw new Custom("m")'));
  assert.equal(Object.getPrototypeOf(custom), Error.prototype);
  assert.equal(custom.name, 'Custom');
  assert.equal(custom.message, 'm');
  assert.equal(Object.getOwnPropertyDescriptor(custom, 'name').enumerable, false);
  assert.match(custom.stack, /^Custom: m\n/);
  const extended = caught(() => context.evalSync('class A extends TypeError {} throw new A("m")'));
  assert.equal(Object.getPrototypeOf(extended), Error.prototype);
  assert.equal(extended.name, 'TypeError');
  assert.equal(caught(() => context.evalSync('throw new EvalError("m")')).name, 'EvalError');
}));

test('objects in properties do not survive', () => withContext(({ context }) => {
  const error = caught(() => context.evalSync('throw Object.assign(new Error("m"), { extra: {} })'));
  // JavaScriptCore stores the positions of errors on them.
  const positions = ['column', 'line', 'originalColumn', 'originalLine', 'sourceURL'];
  assert.deepEqual(Reflect.ownKeys(error).filter((key) => !positions.includes(key)).toSorted(), ['message', 'stack']);
  assert.deepEqual(Object.keys(error), []);
  assert.equal(caught(() => context.evalSync('const e = new Error(); e.message = 1234; throw e')).message, '1234');
  assert.deepEqual(caught(() => context.evalSync('throw { message: 5, name: "Foo" }')).message, '5');
}));

test('thrown primitives are passed unchanged', () => withContext(async ({ context }) => {
  for (const [code, value] of [['1', 1], ['"text"', 'text'], ['null', null], ['undefined', undefined], ['5n', 5n], ['false', false]]) {
    assert.ok(Object.is(caught(() => context.evalSync(`throw ${code}`)), value), code);
    await context.eval(`throw ${code}`).then(assert.fail, (reason) => assert.ok(Object.is(reason, value), code));
  }
}));

test('thrown objects and symbols are not passed', () => withContext(({ context }) => {
  assert.throws(() => context.evalSync('throw {}'), failure(Error, NOT_AN_ERROR));
  assert.throws(() => context.evalSync('throw []'), failure(Error, NOT_AN_ERROR));
  assert.throws(() => context.evalSync('throw Symbol("s")'), failure(Error, NOT_AN_ERROR));
  assert.throws(() => context.evalSync('throw new Proxy({}, { get() { throw 1 } })'), failure(Error, NOT_AN_ERROR));
}));

test('stacks show both sides, joined by a boundary', () => withContext(async ({ context }) => {
  function outer() {
    context.evalSync('function inner() { throw new Error("E\\nm") } inner()', { filename: 'file:///guest.js' });
  }
  const { stack } = caught(outer);
  assert.ok(stack.startsWith('Error: E\nm\n    at inner (file:///guest.js:1:'), stack);
  const [guest, host] = stack.split(`${BOUNDARY}\n`);
  assert.doesNotMatch(guest, /errors\.test/);
  assert.match(host, /^    at outer \(.*errors\.test\.mjs/);
  assert.ok(host.split('\n').length <= 10);
  const descriptor = Object.getOwnPropertyDescriptor(caught(outer), 'stack');
  assert.equal(descriptor.enumerable, false);

  let calls = 0;
  function asyncOuter() {
    try {
      return context.eval('function inner() { throw new Error("E") } inner()');
    } finally {
      // In some engines, a caller that has nothing left to do leaves the stack.
      calls += 1;
    }
  }
  const rejection = await asyncOuter().then(assert.fail, (error) => error.stack);
  assert.match(rejection, new RegExp(`^Error: E\\n    at inner \\(<isolated-vm>:1:.*\\n[^]*\\n${BOUNDARY.replaceAll(/[()]/g, '\\$&')}\\n    at asyncOuter \\(.*errors\\.test`));
  assert.equal(calls, 1);
}));

test('errors of the library have the caller\'s stack', () => withContext(async ({ isolate }) => {
  isolate.dispose();
  let calls = 0;
  function caller() {
    try {
      return isolate.compileScript('1');
    } finally {
      calls += 1;
    }
  }
  const { stack } = await caller().then(assert.fail, (error) => error);
  assert.match(stack, /at caller \(.*errors\.test/);
  assert.equal(calls, 1);
}));

test('errors of the host are thrown in the guest', () => withContext(({ context }) => {
  const cases = [
    [() => { throw new RangeError('hey'); }, 'error.constructor === RangeError && error.message', 'hey'],
    [() => { throw 5; }, 'error', 5],
    [() => { throw undefined; }, 'String(error)', 'undefined'],
    [() => { throw {}; }, 'error.message', NOT_AN_ERROR],
    [() => { class A extends TypeError {} throw new A('z'); }, 'error.constructor.name + error.name + error.message', 'ErrorTypeErrorz'],
    [() => { throw Object.assign(new Error('m'), { code: 'ENOENT', path: '/x' }); }, 'Object.getOwnPropertyNames(error).toSorted().join()', 'code,message,path,stack'],
  ];
  for (const [call, code, expected] of cases) {
    context.global.setSync('call', call);
    assert.equal(context.evalSync(`try { call(); 'did not throw' } catch (error) { ${code} }`), expected);
  }
}));

test('errors of the host pass through the guest', () => withContext(async ({ context }) => {
  context.global.setSync('call', () => { throw new RangeError('through'); });
  assert.throws(() => context.evalSync('(function between() { call() })()'), failure(RangeError, 'through'));
  const error = caught(() => context.evalSync('(function between() { call() })()'));
  assert.match(error.stack, /at between \(<isolated-vm>:1:/);
  await assert.rejects(context.eval('call()'), failure(RangeError, 'through'));
}));

test('guests do not see paths of the host\'s code', ours, () => withContext(({ context }) => {
  context.global.setSync('call', function named() { throw new Error('m'); });
  const stack = context.evalSync('try { call() } catch (error) { error.stack }');
  assert.doesNotMatch(stack, /errors\.test|file:|[/\\]/);
  assert.match(stack, /at named \(<host>\)/);
}));

test('guests do not see the source of the host\'s functions', ours, () => withContext(async ({ context }) => {
  const secret = { named: () => 'password', Class: class { value = 'password'; } };
  const { global } = context;
  const expected = /^function named\(\) \{ \[native code\] \} could not be cloned\.$/;
  const messageOf = (code) => context.evalSync(`try { ${code} } catch (error) { error.message }`);
  global.setSync('returns', new ivm.Callback(() => secret));
  global.setSync('refer', new ivm.Reference(secret));
  global.setSync('apply', new ivm.Reference(() => [secret.named]));
  global.setSync('late', new ivm.Reference(async () => secret));
  global.setSync('nested', new ivm.Callback(() => {
    try { return global.setSync('value', secret, { copy: true }); } catch (error) { throw new Error('m', { cause: error }); }
  }));
  for (const code of ['returns()', 'refer.copySync()', 'refer.getSync("named", { copy: true })', 'apply.applySync(undefined, [], { result: { copy: true } })']) assert.match(messageOf(code), expected, code);
  assert.match(messageOf('refer.getSync("Class", { copy: true })'), /^function Class\(\) \{ \[native code\] \} could/);
  assert.match(context.evalSync('try { nested() } catch (error) { error.cause.message }'), expected);
  assert.match(await context.eval('late.apply(undefined, [], { result: { promise: true, copy: true } }).catch((error) => error.message)', { promise: true }), expected);
  assert.doesNotMatch(messageOf('returns()') + context.evalSync('try { returns() } catch (error) { error.stack }'), /password/);
  // Nor in errors that are values, or whose parts are functions.
  const refusal = caught(() => global.setSync('value', secret, { copy: true }));
  global.setSync('errors', new ivm.Callback(() => [refusal, new Error('m', { cause: refusal }).cause, Object.assign(new Error('m'), { name: 'N', message: secret.named })]));
  const texts = context.evalSync('errors().map((error) => error.message)', { copy: true });
  assert.match(texts[0], expected);
  assert.match(texts[1], expected);
  assert.equal(texts[2], 'function named() { [native code] }');
  assert.doesNotMatch(context.evalSync('errors().map((error) => `${error.stack}\\n${error.message}`).join()'), /password/);
  assert.match(context.evalSync('errors()[0].stack'), /^TypeError: function named\(\) \{ \[native code\] \} could not be cloned\.\n +at /);
  for (const message of [secret.named, [secret.named]]) {
    global.setSync('throws', new ivm.Callback(() => { throw Object.assign(new Error('m'), { message }); }));
    assert.doesNotMatch(context.evalSync('try { throws() } catch (error) { `${error.message}${error.stack}` }'), /password/);
  }
  // The host does.
  assert.match(refusal.message, /password/);
  const shown = new ivm.Isolate({ hostStacks: true }).createContextSync();
  shown.global.setSync('returns', new ivm.Callback(() => secret));
  assert.match(shown.evalSync('try { returns() } catch (error) { error.message }'), /password/);
  // Nor what a tool throws.
  const throws = await new ivm.AgentSandbox().execute('return await tools.f({}).catch((error) => error.message)', [{ name: 'tools:f', description: '' }], async () => { throw secret.named; });
  assert.equal(throws.result, 'function named() { [native code] }');
  const returns = await new ivm.AgentSandbox().execute('const error = await tools.f({}); return error.message + error.stack', [{ name: 'tools:f', description: '' }], async () => refusal);
  assert.match(returns.result, /^function named\(\) \{ \[native code\] \} could not be cloned\.TypeError: function named\(\) /);
  assert.doesNotMatch(returns.result, /password/);
}));

test('errors inside copies are errors', () => withContext(({ context }) => {
  const { error } = context.evalSync('({ error: new RangeError("w") })', { copy: true });
  assert.ok(error instanceof RangeError);
  assert.equal(error.message, 'w');
}));

test('a guest\'s tampering does not affect the host', () => withContext(({ context }) => {
  const error = caught(() => context.evalSync(`
    Error.prepareStackTrace = () => ({ evil: true });
    Object.defineProperty(Error.prototype, 'name', { get() { return { evil: true } } });
    const error = new Error('m');
    Object.defineProperty(error, 'stack', { get() { throw 1 } });
    throw error;
  `));
  assert.ok(error instanceof Error);
  assert.equal(error.message, 'm');
  assert.equal(typeof error.stack, 'string');
}));

test('stack overflows do not harm the host', () => withContext(({ context }) => {
  assert.throws(() => context.evalSync('(function f() { f() })()'), failure(RangeError, 'Maximum call stack size exceeded'));
  assert.equal(context.evalSync('1'), 1);
}));

test('every error of the library has a code', ours, () => withContext(async ({ isolate, context }) => {
  const held = (code) => context.evalSync(code, { reference: true });
  const other = new ivm.Isolate();
  const cases = [
    ['ERR_INVALID_ARG', 'Property is getter', () => held('({ get a() {} })').getSync('a')],
    ['ERR_INVALID_ARG', 'Object is or has proxy', () => held('new Proxy({}, {})').getSync('a')],
    ['ERR_INVALID_ARG', 'Set failed', () => held('Object.freeze({ a: 1 })').setSync('a', 2)],
    ['ERR_INVALID_ARG', 'Delete failed', () => held('Object.freeze({ a: 1 })').deleteSync('a')],
    ['ERR_INVALID_ARG', 'Reference is not a function', () => held('({})').applySync()],
    ['ERR_INVALID_ARG', 'Reference is not a function', () => new ivm.Reference({}).applySync()],
    ['ERR_INVALID_ARG', 'Invalid context', () => other.compileScriptSync('1').runSync(context)],
    ['ERR_ISOLATE_TRANSFER', '() => 1 could not be cloned.', () => new ivm.ExternalCopy(() => 1)],
    ['ERR_ISOLATE_TRANSFER', '() => 1 could not be cloned.', () => context.evalSync('() => 1', { copy: true })],
    ['ERR_ISOLATE_TRANSFER', '#<WeakMap> could not be cloned.', () => held('({ a: new WeakMap() })').copySync()],
    ['ERR_ISOLATE_TRANSFER', 'Unsupported type', () => context.evalSync('Symbol()', { copy: true })],
    ['ERR_ISOLATE_TRANSFER', 'A non-transferable value was passed', () => context.evalClosureSync('return {}')],
    ['ERR_ISOLATE_TRANSFER', 'Cannot dereference this into target isolate', () => other.createContextSync().evalClosureSync('', [held('({})').derefInto()])],
    ['ERR_ISOLATE_UNSUPPORTED', 'This function may not be called from the default thread', () => held('() => 1').applySyncPromise()],
    ['ERR_ISOLATE_RELEASED', 'Array buffer is invalid', () => {
      const copy = new ivm.ExternalCopy(new ArrayBuffer(1));
      copy.copy({ transferIn: true });
      copy.copy();
    }],
  ];
  for (const [code, message, refused] of cases) assert.throws(refused, { code, message });
  await assert.rejects(context.eval('() => 1', { copy: true }), { code: 'ERR_ISOLATE_TRANSFER' });
  // A guest's own errors have none, whatever they claim.
  assert.throws(() => held('({ get a() { throw new TypeError("() => 1 could not be cloned.") } })').copySync(), (error) => error.name === 'TypeError' && !('code' in error));
  other.dispose();
  isolate.dispose();
}));

test('the error for an argument that is not transferable keeps its code if the guest does not catch it', ours, () => withContext(async ({ context }) => {
  const messages = ['f() {} could not be cloned.', 'function f() { [native code] } could not be cloned.'];
  const refused = (error) => error.name === 'TypeError' && messages.includes(error.message) && error.code === 'ERR_ISOLATE_TRANSFER';
  context.global.setSync('call', new ivm.Callback(() => {}));
  context.global.setSync('give', new ivm.Callback(() => ({ f() {} })));
  context.global.setSync('ignored', new ivm.Callback(() => {}, { ignored: true }));
  for (const code of ['call({ f() {} })', 'ignored({ f() {} })', 'give()']) {
    assert.throws(() => context.evalSync(code), refused, code);
    await assert.rejects(context.eval(code), refused, code);
    await assert.rejects(context.eval(`(async () => { await 1; ${code} })()`, { promise: true }), refused, code);
    assert.equal(context.evalSync(`try { ${code} } catch (error) { error.code }`), 'ERR_ISOLATE_TRANSFER');
  }
  // A guest's own errors have none, even if they look the same.
  for (const code of [
    'throw Object.assign(new TypeError("f() {} could not be cloned."), { code: "ERR_ISOLATE_TRANSFER" })',
    'try { call({ f() {} }) } catch (error) { throw Object.create(error) }',
    'try { call({ f() {} }) } catch (error) { throw new Proxy(error, {}) }',
    'try { call({ f() {} }) } catch (error) { throw Object.assign(new TypeError(error.message), error) }',
  ]) {
    assert.throws(() => context.evalSync(code), (error) => !('code' in error), code);
  }
}));

test('a result that this host cannot make is refused with a code', () => withContext(async ({ context }) => {
  const code = '1n << 1_100_000n';
  const outcomes = [
    () => context.evalSync(code),
    () => context.eval(code),
    () => context.evalSync(`() => ${code}`, { reference: true }).applySync(),
    () => context.evalSync(`({ value: ${code} })`, { reference: true }).getSync('value'),
  ];
  for (const outcome of outcomes) {
    if (process.versions.bun === undefined) assert.equal(await outcome(), 1n << 1_100_000n);
    else await assert.rejects(async () => outcome(), { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: 'The value could not be brought into the host' });
  }
  assert.equal(context.evalSync('1'), 1);
}));
