// The ready-made sandboxes pass nothing of the host's to their guests, and accept nothing from them that could change the host.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { PLACES, WALKER } from '../../hostile-values/walker.mjs';

const failure = () => Object.assign(new RangeError('of the host', { cause: new Error('inner') }), { code: 'ENOENT', process });

const GLOBALS = {
  number: 1,
  nested: { deep: [{ list: [1, 2], map: new Map([[{}, {}]]) }], f: () => ({ a: 1 }) },
  buffer: Buffer.from('text'),
  error: new Error('given'),
  echo: (value) => value,
  fails: () => { throw failure(); },
  rejects: async () => { throw failure(); },
  throwsOther: () => { throw { process }; }, // oxlint-disable-line no-throw-literal
  gives: () => ({ list: [failure()], date: new Date(0) }),
  // oxlint-disable-next-line unicorn/no-thenable -- for code that awaits it
  givesThenable: () => ({ then: 1, process: { exit: 'text' } }),
  givesFunction: () => () => process,
  api: { request: async () => ({ status: 200 }) },
};

/** Uses everything that a sandbox has, and walks over it and the results. */
const EXPLORE = (roots, use) => `
  const walk = ${WALKER};
  const all = [];
  const attempt = async (use) => { try { all.push(await use()); } catch (error) { all.push(error); } };
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (error, frames) => { all.push(frames, ...frames.map((frame) => [frame.getThis(), frame.getFunction(), frame.getFileName(), frame.getTypeName(), frame.getEvalOrigin(), String(frame)])); return [error, frames]; };
  for (const use of [${use}]) {
    await attempt(use);
    await attempt(() => use.call());
  }
  for (const error of [...all]) if (error instanceof Error) all.push(error.stack);
  delete Error.prepareStackTrace;
  await attempt(() => setTimeout(() => {}, 1));
  await attempt(() => console.log({ get a() { all.push(new Error('inside').stack); throw new Error('own'); } }, new Proxy({}, { get() { all.push(new Error('inside').stack); throw 1; } })));
  const result = walk({ ${roots}, console, all, global: (0, eval)('this') });
  return [result.findings, result.count];`;

function assertClean({ error, result }) {
  assert.equal(error, undefined);
  const [findings, count] = result;
  assert.deepEqual(findings, []);
  assert.ok(count > 200, `looked at ${count} things only`);
}

describe('createSandbox', () => {
  const code = `async () => {${EXPLORE(Object.keys(GLOBALS).join(', '), `() => echo({ a: [() => {}] }), () => echo(globalThis), () => echo(Symbol('s')), fails, rejects, throwsOther, gives, givesThenable,
    givesFunction, () => nested.f(), () => api.request(), () => new fails(), () => fails.constructor('return process')(), () => fails.call.call(fails), () => Reflect.construct(Object, [], fails),
    () => { Function.prototype.toJSON = () => { throw new Error('own') }; return echo({ f: fails }); }`)}}`;

  test('its values do not lead to the host', async () => {
    assertClean(await ivm.createSandbox(GLOBALS, { timers: true }).execute(code));
  });

  test('errors show no paths to the guest or to the caller', async () => {
    for (const call of ['fails()', 'rejects()', 'throwsOther()', 'fails(Symbol("s"))', 'null.x']) {
      const { error } = await ivm.createSandbox(GLOBALS).execute(call);
      assert.equal(typeof error, 'string');
      for (const place of PLACES) assert.ok(!error.includes(place), error);
      const { result } = await ivm.createSandbox(GLOBALS).execute(`try { ${call} } catch (error) { return [error.stack, error.constructor === Error || error instanceof Error, Object.getOwnPropertyNames(error).join()] }`);
      assert.equal(result[1], true);
      assert.match(result[2], /^(stack,message|message,stack)(,code)?(,cause)?$/);
      for (const place of PLACES) assert.ok(!result[0].includes(place), result[0]);
    }
  });
});

describe('IsolatedVMSandbox', () => {
  const tools = ['a:give', 'a:fail', 'b.c.d', 'single'].map((name) => ({ name, description: '' }));
  const executor = async (name, params) => {
    if (name === 'a:fail') throw failure();
    return { name, params, error: failure(), f: undefined };
  };

  test('its values do not lead to the host', async () => {
    const sandbox = new ivm.IsolatedVMSandbox({ timeout: 20_000 });
    assertClean(await sandbox.execute(EXPLORE('a, b, single', `() => a.give({ x: 1 }), () => a.fail(), () => b.c_d(), () => single.call({ get x() { throw new Error('own') } }), () => new a.give(),
      () => a.give.constructor('return process')(), () => a.give({ toJSON() { return a.give.caller } })`), tools, executor));
    sandbox.dispose();
  });

  test('params bring only JSON from the guest', async () => {
    const got = [];
    const sandbox = new ivm.IsolatedVMSandbox();
    const { error } = await sandbox.execute(`
      Object.prototype.toJSON = function () { return JSON.rawJSON === undefined ? this : { polluted: 1 } };
      await a.give(JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'));
      delete Object.prototype.toJSON;
      await a.give(JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'));
      await a.give(new Proxy({ a: 1 }, {}));`, tools, async (_name, params) => { got.push(params); });
    assert.equal(error, undefined);
    assert.equal(got.length, 3);
    for (const params of got) assert.equal(Object.getPrototypeOf(params), Object.prototype);
    assert.deepEqual(Object.keys(got[1]).toSorted(), ['__proto__', 'constructor']);
    assert.equal({}.x, undefined);
    sandbox.dispose();
  });
});
