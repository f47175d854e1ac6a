// The surface inside a realm whose guest code has tampered with everything before the first handle arrives.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';

/** Two contexts of one isolate; only the second has a secret. */
function setUp(tamper) {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.evalSync(RECORDER + tamper);
  const holder = isolate.createContextSync();
  let called = 0;
  holder.global.setSync('secret', new ivm.Reference(() => { called += 1; return 'secret'; }));
  context.global.setSync('ref', new ivm.Reference(() => 'public'));
  return { isolate, context, calls: () => called };
}

/** Keeps what tampered built-ins see, by means that cannot be tampered with themselves. */
const RECORDER = `
  globalThis.caught = { __proto__: null, count: 0 };
  const { defineProperty, hasOwn } = Object;
  const { apply, ownKeys } = Reflect;
  const data = (value) => ({ __proto__: null, value, writable: true, configurable: true, enumerable: true });
  const record = (value) => {
    if (typeof value === 'object' && value !== null && caught.count < 10000) defineProperty(caught, 'n' + caught.count++, data(value));
  };`;

const TAMPERING = {
  'how arrays are iterated': `
    const original = Array.prototype[Symbol.iterator];
    let n = 0;
    Array.prototype[Symbol.iterator] = function* () {
      record(this);
      const values = apply(original, this, []);
      for (let next = values.next(); !next.done; next = values.next()) yield typeof next.value === 'number' ? n++ : next.value;
    };`,
  'accessors on Object.prototype': `
    const keys = ['id', 'entry', 'source', 'shares', 'remains', 'target', 'request', 'resolve', 'reject', 'site', 'promise', 'local',
      'flags', 'typeOf', 'released', 'kind', 'record', 'global', 'type', 'mode', 'value', 'get', 'set', 'code', 'stack', 'name'];
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i];
      defineProperty(Object.prototype, key, {
        __proto__: null, configurable: true,
        set(value) { record(this); record(value); defineProperty(this, key, data(value)); },
        get() { record(this); return undefined; },
      });
    }`,
  'setters on Array.prototype': `
    for (let key = 0; key < 20; key += 1) {
      defineProperty(Array.prototype, key, { __proto__: null, configurable: true, set(value) { record(this); record(value); } });
    }`,
  'every method in sight': `
    const names = ['Array', 'Map', 'Set', 'WeakMap', 'Promise', 'Function', 'Object', 'String', 'FinalizationRegistry', 'Reflect', 'Error'];
    for (let i = 0; i < names.length; i += 1) {
      const holders = [globalThis[names[i]], globalThis[names[i]].prototype];
      for (let j = 0; j < holders.length; j += 1) {
        const holder = holders[j];
        const keys = holder === undefined ? [] : ownKeys(holder);
        for (let k = 0; k < keys.length; k += 1) {
          const found = Reflect.getOwnPropertyDescriptor === undefined ? undefined : apply(describe, undefined, [holder, keys[k]]);
          if (found === undefined || !hasOwn(found, 'value') || typeof found.value !== 'function' || keys[k] === 'constructor' || !found.writable) continue;
          const method = found.value;
          holder[keys[k]] = function () {
            record(this);
            for (let a = 0; a < arguments.length; a += 1) record(arguments[a]);
            return new.target === undefined ? apply(method, this, arguments) : construct(method, arguments, new.target);
          };
        }
      }
    }`.replace(/^/, 'const { construct, getOwnPropertyDescriptor: describe } = Reflect;'),
};

describe('guest code that has tampered with', () => {
  for (const [what, tamper] of Object.entries(TAMPERING)) {
    test(what, () => {
      const { isolate, context, calls } = setUp(tamper);
      const tries = context.evalSync(`
        const seen = [];
        for (let i = 0; i < 12; i += 1) { let got; try { got = ref.applySync(undefined, []); } catch (error) { got = 'threw'; } defineProperty(seen, i, data(got)); }
        let text = ''; for (let i = 0; i < seen.length; i += 1) text += seen[i] + ' '; text;`);
      assert.equal(calls(), 0, tries);
      assert.ok(!tries.includes('secret'), tries);
      // Nothing that was caught names a handle, or is a function of the binding.
      const leaks = context.evalSync(`
        let leaks = 0;
        for (let i = 0; i < caught.count; i += 1) {
          const each = caught['n' + i];
          if (hasOwn(each, 'id') || hasOwn(each, 'entry') || hasOwn(each, 'invoke') || hasOwn(each, 'native')) leaks += 1;
        }
        leaks;`);
      assert.equal(leaks, 0);
      isolate.dispose();
    });
  }
});

test('what a kind of handle needs is made again if no stack was left for it', () => {
  const USES = {
    isolate: 'got.isDisposed === false',
    context: 'got.evalSync("6 * 7") === 42',
    copy: 'got.copy()[0] === 1',
    script: 'got.runSync(room) === 42',
    module: 'got.dependencySpecifiers.length === 1',
    lib: 'got.hrtime().length === 2',
    ivm: 'new got.Isolate().createContextSync().evalSync("1") === 1 && Object.keys(Object.getPrototypeOf(got)).length === 7',
  };
  const isolate = new ivm.Isolate();
  const room = isolate.createContextSync();
  const handles = {
    isolate, context: room, copy: new ivm.ExternalCopy([1]), script: isolate.compileScriptSync('6 * 7'),
    module: isolate.compileModuleSync('import "x"'), lib: ivm.lib, ivm,
  };
  for (const [name, use] of Object.entries(USES)) {
    const context = isolate.createContextSync();
    // This realm has the API, except what this kind needs.
    context.global.setSync('first', new ivm.Reference(1));
    context.global.setSync('give', new ivm.Callback((wanted) => handles[wanted]));
    const [failed, works] = context.evalSync(`
      let failed = 0;
      let got;
      (function dive() {
        try { dive(); } catch {}
        // From the end of the stack on, with more of it each time.
        if (got === undefined) try { got = give(${JSON.stringify(name)}); } catch { failed += 1; }
      })();
      const room = give('context');
      [failed, ${use}]`, { copy: true });
    assert.ok(failed > 0, name);
    assert.equal(works, true, name);
  }
  isolate.dispose();
});

test('copied errors do not reveal paths of the host', async () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const seen = context.evalClosureSync('return $0.stack', [new Error('copied')], { arguments: { copy: true } });
  assert.match(seen, /^Error: copied/);
  assert.doesNotMatch(seen, /__test__|hardening/);
  const { result } = await ivm.createSandbox({ f: () => new Error('x') }).execute('return f().stack');
  assert.doesNotMatch(result, /__test__|hardening/);
  isolate.dispose();
});
