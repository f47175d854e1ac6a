// What crosses with errors beside class, name, message and stack: `cause`, and own properties that are primitive values. Both ways.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { runInThisContext } from 'node:vm';
import { ivm, withContext } from '../../api/ivm.mjs';

function caught(run) {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail('did not throw');
}

/** What a receiver sees of an error, as text; the same function in both realms. */
const VIEW = `(error) => {
  const view = (error) => typeof error !== 'object' || error === null ? String(error) : [
    error.constructor.name, error.name, error.message,
    Object.keys(error).map((key) => key + '=' + typeof error[key] + ':' + String(error[key])).join(),
    Object.hasOwn(error, 'cause') ? view(error.cause) : 'none',
  ];
  return JSON.stringify(view(error));
}`;
const view = runInThisContext(VIEW);

/** An error, as code that runs in both realms, and what the receiver sees. */
const ERRORS = {
  'properties of each primitive type': ['Object.assign(new RangeError("m"), { a: "text", b: 1.5, c: true, d: null, e: undefined, f: 5n, g: NaN, h: -0 })',
    '["RangeError","RangeError","m","a=string:text,b=number:1.5,c=boolean:true,d=object:null,e=undefined:undefined,f=bigint:5,g=number:NaN,h=number:0","none"]'],
  'a code': ['Object.assign(new Error("m"), { code: "ENOENT", errno: -2 })', '["Error","Error","m","code=string:ENOENT,errno=number:-2","none"]'],
  'no objects, functions and symbols': ['Object.assign(new Error("m"), { a: {}, b: [], c() {}, d: Symbol(), [Symbol("e")]: 1, f: 1 })', '["Error","Error","m","f=number:1","none"]'],
  'no names of prototypes': [`(() => {
    const error = new Error("m");
    for (const key of ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "__defineGetter__"]) Object.defineProperty(error, key, { value: 1, enumerable: true });
    return Object.assign(error, { message: "changed", name: "Named", stack: "no frames", ok: 1 });
  })()`, '["Error","Named","changed","ok=number:1","none"]'],
  'no codes of this library': ['Object.assign(new Error("m"), { code: "ERR_ISOLATE_TIMEOUT", other: "ERR_ISOLATE_TIMEOUT" })', '["Error","Error","m","other=string:ERR_ISOLATE_TIMEOUT","none"]'],
  'no ERR_INVALID_ARG': ['Object.assign(new Error("m"), { code: "ERR_INVALID_ARG" })', '["Error","Error","m","","none"]'],
  'no properties that are not enumerable': ['Object.defineProperty(new Error("m"), "a", { value: 1 })', '["Error","Error","m","","none"]'],
  'no inherited properties': ['(() => { class A extends Error {} A.prototype.a = 1; return new A("m") })()', '["Error","Error","m","","none"]'],
  'a cause': ['new TypeError("m", { cause: new RangeError("inner") })', '["TypeError","TypeError","m","",["RangeError","RangeError","inner","","none"]]'],
  'a primitive cause': ['new Error("m", { cause: 0 })', '["Error","Error","m","","0"]'],
  'null as a cause': ['new Error("m", { cause: null })', '["Error","Error","m","","null"]'],
  'a cause with properties and a cause': ['new Error("m", { cause: Object.assign(new SyntaxError("in", { cause: Object.assign(new Error("last"), { b: 2 }) }), { code: "E" }) })',
    '["Error","Error","m","",["SyntaxError","SyntaxError","in","code=string:E",["Error","Error","last","b=number:2","none"]]]'],
  'no cause that is another object': ['new Error("m", { cause: { a: 1 } })', '["Error","Error","m","","none"]'],
  'no error as a cause of itself': ['(() => { const error = new Error("m"); error.cause = error; return error })()', '["Error","Error","m","","none"]'],
  'no circle of causes': ['(() => { const a = new Error("a"), b = new Error("b", { cause: a }); a.cause = b; return a })()', '["Error","Error","a","",["Error","Error","b","","none"]]'],
};

for (const [what, [code, expected]] of Object.entries(ERRORS)) {
  test(`from guest to host: ${what}`, () => withContext(async ({ context }) => {
    assert.equal(view(caught(() => context.evalSync(`throw ${code}`))), expected);
    assert.equal(view(await context.eval(`Promise.reject(${code})`, { promise: true }).then(assert.fail, (error) => error)), expected);
  }));

  test(`from host to guest, and back: ${what}`, () => withContext(async ({ context }) => {
    const make = () => runInThisContext(code);
    const fail = () => { throw make(); };
    await context.global.set('sync', new ivm.Callback(fail));
    await context.global.set('async', new ivm.Reference(async () => fail()));
    assert.equal(context.evalSync(`try { sync() } catch (error) { (${VIEW})(error) }`), expected);
    assert.equal(await context.eval(`async.apply(undefined, [], { result: { promise: true } }).catch(${VIEW})`, { promise: true }), expected);
    assert.equal(view(caught(() => context.evalSync('sync()'))), expected);
  }));

  test(`between guests: ${what}`, () => withContext(({ context }) => withContext(({ context: other }) => {
    const fail = other.evalSync(`() => { throw ${code} }`, { reference: true });
    context.global.setSync('fail', fail);
    assert.equal(context.evalSync(`try { fail.applySync() } catch (error) { (${VIEW})(error) }`), expected);
  })));
}

describe('bounds', () => {
  const sizes = `(() => {
    const error = new Error('m');
    for (let i = 0; i < 40; i += 1) error['k' + i] = i;
    error.cause = Object.assign(new Error('x'.repeat(100_000)), { name: 'n'.repeat(100_000), fits: 'y'.repeat(8_192), long: 'y'.repeat(8_193), big: 2n ** 70_000n, ['n'.repeat(8_193)]: 1 });
    return error;
  })()`;
  const chain = 'Array.from({ length: 20 }).reduce((cause) => new Error("m", { cause }), undefined)';
  const large = 'Object.assign(new Error("m"), Object.fromEntries(Array.from({ length: 30 }, (_, i) => ["k" + i, "x".repeat(8_000)])))';
  const check = (error) => {
    assert.deepEqual(Object.keys(error), Array.from({ length: 32 }, (_, index) => `k${index}`));
    assert.deepEqual([error.cause.message.length, error.cause.name.length], [8_192, 8_192]);
    assert.deepEqual(Object.keys(error.cause), ['fits']);
  };
  const depth = (error) => (error.cause === undefined ? 0 : 1 + depth(error.cause));

  test('of a guest', () => withContext(({ context }) => {
    check(caught(() => context.evalSync(`throw ${sizes}`)));
    assert.equal(depth(caught(() => context.evalSync(`throw ${chain}`))), 8);
    assert.equal(Object.keys(caught(() => context.evalSync(`throw ${large}`))).length, 16);
  }));

  test('of a host', () => withContext(({ context }) => {
    const through = (code) => {
      context.global.setSync('fail', new ivm.Callback(() => { throw runInThisContext(code); }));
      return caught(() => context.evalSync('fail()'));
    };
    check(through(sizes));
    assert.equal(depth(through(chain)), 8);
    assert.equal(Object.keys(through(large)).length, 16);
  }));

  test('a cause that is a long BigInt is left out', () => withContext(({ context }) => {
    assert.equal(caught(() => context.evalSync('throw new Error("m", { cause: 2n ** 600n })')).cause, 2n ** 600n);
    const error = caught(() => context.evalSync('throw new Error("m", { cause: 2n ** 70_000n })'));
    assert.deepEqual([error.message, 'cause' in error], ['m', false]);
  }));

  test('an object of many indices or keys takes no time', () => withContext(({ context }) => {
    const error = caught(() => context.evalSync('throw Object.assign(new Float64Array(2 ** 20), { message: "m" })', { timeout: 5_000 }));
    assert.equal(error.message, 'm');
    assert.deepEqual(Object.keys(error).filter((key) => key !== 'message'), []);
  }));
});

test('no getters and traps run', () => withContext(({ context }) => {
  const code = `(() => {
    globalThis.ran = [];
    const error = new Error('m');
    Object.defineProperty(error, 'a', { get() { ran.push('a') }, enumerable: true });
    Object.defineProperty(error, 'cause', { get() { ran.push('cause') } });
    Object.defineProperty(Object.prototype, 'value', { get() { ran.push('value') }, configurable: true });
    return error;
  })()`;
  const error = caught(() => context.evalSync(`throw ${code}`));
  assert.deepEqual(Object.keys(error), []);
  assert.equal(Object.hasOwn(error, 'cause'), false);
  assert.equal(context.evalSync('delete Object.prototype.value; ran.join()'), '');
  const trapped = caught(() => context.evalSync(`throw new Proxy(new Error('m'), new Proxy({}, { get(_, name) { if (name !== 'get' && name !== 'getPrototypeOf' && name !== 'has') ran.push(name); } }))`));
  assert.equal(Object.hasOwn(trapped, 'cause'), false);
  assert.doesNotMatch(context.evalSync('ran.join()'), /ownKeys/);
  context.global.setSync('fail', new ivm.Callback(() => {
    const failure = new Error('m', { cause: new Proxy(new Error('inner'), { get: assert.fail, ownKeys: assert.fail, getPrototypeOf: assert.fail }) });
    throw Object.defineProperty(failure, 'a', { get: assert.fail, enumerable: true });
  }));
  assert.equal(context.evalSync(`try { fail() } catch (error) { (${VIEW})(error) }`), '["Error","Error","m","","none"]');
}));

test('no text is made of a name or message that is no text', () => withContext(async ({ context }) => {
  let texts = 0;
  // As a guest's array, which may have so many elements that its text takes minutes.
  const list = [[{ toString() { texts += 1; return 'x'; } }]];
  const big = 1n << 100_000n;
  for (const key of ['message', 'name']) for (const [value, text] of [[list, '[object Array]'], [big, 'BigInt']]) {
    const make = () => Object.assign(new RangeError('m'), { [key]: value, kept: 1 });
    const throwing = new ivm.Callback(() => { throw make(); });
    const rejecting = new ivm.Reference(async () => { throw new Error('outer', { cause: make() }); });
    const code = 'try { $0() } catch (error) { return [error.KEY, error.kept] }'.replace('KEY', key);
    assert.deepEqual(await context.evalClosure(code, [throwing], { result: { copy: true } }), [text, 1]);
    const cause = 'return $0.apply(undefined, [], { result: { promise: true } }).catch(({ cause }) => [cause.KEY, cause.kept])'.replace('KEY', key);
    assert.deepEqual(await context.evalClosure(cause, [rejecting], { result: { copy: true, promise: true } }), [text, 1]);
    // The copy of a value has a name only if that is the name of a class.
    const returned = 'return $0.message'.replace('KEY', key);
    assert.equal(await context.evalClosure(returned, [make()], { arguments: { copy: true } }), key === 'message' ? text : 'm');
  }
  // No caller receives this one.
  const reports = [];
  const report = ({ error }) => reports.push(error);
  const reported = channel('isolated-v8:unhandled-host-error');
  reported.subscribe(report);
  await context.evalClosure('$0()', [new ivm.Callback(async () => { throw Object.assign(new Error('m'), { message: list }); }, { ignored: true })]);
  reported.unsubscribe(report);
  assert.equal(texts, 0);
}));

test('properties are defined, whatever a guest has put on prototypes', () => withContext(({ context }) => {
  context.global.setSync('fail', new ivm.Callback(() => { throw Object.assign(new Error('m', { cause: 1 }), { a: 1 }); }));
  assert.equal(context.evalSync(`
    globalThis.ran = 0;
    for (const key of ['a', 'cause', '6', '0', '1', 'value']) Object.defineProperty(Object.prototype, key, { set() { ran += 1 }, get() { ran += 1; return 5 }, configurable: true });
    try { fail() } catch (error) { [Object.hasOwn(error, 'a'), Object.hasOwn(error, 'cause'), ran].join() }
  `), 'true,true,0');
}));

test('paths of the host are not in the stacks of causes', () => withContext(({ context }) => {
  context.global.setSync('fail', new ivm.Callback(() => { throw new Error('m', { cause: new Error('inner') }); }));
  assert.match(context.evalSync('try { fail() } catch (error) { error.cause.stack }'), /^Error: inner\n {4}at (?:.* \()?<host>\)?$/);
  const { cause } = caught(() => context.evalSync('function inner() { throw new Error("m", { cause: new Error("deep") }) } inner()'));
  assert.match(cause.stack, /^Error: deep\n {4}at inner \(<isolated-vm>:1:/);
}));

test('inside isolates', () => withContext(async ({ context }) => {
  await context.global.set('ivm', ivm);
  assert.equal(await context.eval(`(async () => {
    const inner = await new ivm.Isolate().createContext();
    return inner.eval('throw Object.assign(new Error("m", { cause: new TypeError("deep", { cause: 5 }) }), { code: "E", n: 1n })').catch(${VIEW});
  })()`, { promise: true }), '["Error","Error","m","code=string:E,n=bigint:1",["TypeError","TypeError","deep","","5"]]');
}));

describe('failures of the sandboxes', () => {
  const CODE = 'throw Object.assign(new RangeError("m", { cause: new TypeError("deep", { cause: 5 }) }), { code: "E", n: 1 })';
  const check = ({ properties, cause, code }) => {
    assert.deepEqual(properties, { code: 'E', n: 1 });
    assert.deepEqual([cause.name, cause.message, cause.cause, cause.properties], ['TypeError', 'deep', 5, undefined]);
    assert.match(cause.stack, /^TypeError: deep/);
    assert.equal(code, undefined);
  };
  const tools = [{ name: 't:f', description: '' }];
  const fail = async () => { throw Object.assign(new RangeError('m', { cause: new TypeError('deep', { cause: 5 }) }), { code: 'E', n: 1 }); };

  test('createSandbox', async () => {
    check((await ivm.createSandbox({}).execute(CODE)).failure);
    check((await ivm.createSandbox({ fail }).execute('fail()')).failure);
    assert.equal(Object.hasOwn((await ivm.createSandbox({}).execute('null.x')).failure, 'properties'), false);
  });

  test('AgentSandbox', async () => {
    check((await new ivm.AgentSandbox().execute(CODE, [], fail)).failure);
    check((await new ivm.AgentSandbox().execute('await t.f()', tools, fail)).failure);
  });

  test('SubprocessSandbox', { skip: process.platform !== 'linux' }, async () => {
    const sandbox = new ivm.SubprocessSandbox();
    check((await sandbox.execute(CODE, [], fail)).failure);
    check((await sandbox.execute('await t.f()', tools, fail)).failure);
    assert.equal((await sandbox.execute('try { await t.f() } catch (error) { return error.cause.cause }', tools, fail)).result, 5);
    await sandbox.close();
  });

  test('PluginSandbox', async () => {
    const sandbox = new ivm.PluginSandbox();
    const isolate = await sandbox.createIsolate({ id: 'p' });
    check((await sandbox.executeInSandbox(isolate, CODE, {}).then(assert.fail, (error) => error)).failure);
    await sandbox.close();
  });
});
