// What guests pass on: callbacks with a mode, References that return home, and calls between guests that a host waits for.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from '../../harness.mjs';
import ivm from '../../../index.mjs';

function withIvm() {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  return { isolate, context };
}

describe('the callback of a guest is called in its own mode', () => {
  const MAKE = 'globalThis.seen = []; const make = (options) => new ivm.Callback((n) => { seen.push(n); if (n < 0) throw new RangeError("negative"); return n + 1; }, options);';

  test('by the host', async () => {
    const { isolate, context } = withIvm();
    context.evalSync(`${MAKE} globalThis.later = make({ async: true }); globalThis.ignored = make({ ignored: true }); globalThis.sync = make();`);
    const [later, ignored, sync] = ['later', 'ignored', 'sync'].map((name) => context.global.getSync(name));
    assert.equal(sync(1), 2);
    const promise = later(2);
    assert.ok(promise instanceof Promise);
    assert.equal(await promise, 3);
    await assert.rejects(later(-1), { name: 'RangeError', message: 'negative' });
    assert.equal(ignored(-2), undefined);
    assert.deepEqual(await context.eval('seen', { copy: true }), [1, 2, -1, -2]);
    isolate.dispose();
    await assert.rejects(later(1), { code: 'ERR_ISOLATE_DISPOSED', message: 'Isolate is disposed' });
    assert.equal(ignored(1), undefined);
  });

  test('by the guest itself, after a round trip', async () => {
    const { isolate, context } = withIvm();
    context.evalClosureSync(`${MAKE} $0.global.setSync('later', make({ async: true })); $0.global.setSync('ignored', make({ ignored: true }));`, [context]);
    assert.deepEqual(
      await context.eval('(async () => { const promise = later(1); return [promise instanceof Promise, ignored(2), seen.length, await promise]; })()', { promise: true, copy: true }),
      [true, undefined, 0, 2],
    );
    isolate.dispose();
  });

  test('by another guest, without an unhandled rejection in the host', async () => {
    const { code, signal, stdout, stderr } = await run(`
      const [one, other] = [new ivm.Isolate(), new ivm.Isolate()].map((isolate) => isolate.createContextSync());
      one.global.setSync('ivm', ivm);
      other.global.setSync('call', one.evalSync('new ivm.Callback(() => { throw new Error("of the guest"); }, { async: true })'));
      console.log(other.evalSync('try { call() } catch (error) { error.message }'));
      await one.eval('0');
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log('continues');
    `);
    assert.deepEqual({ code, signal, lines: stdout.trim().split('\n') }, { code: 0, signal: null, lines: ['#<Promise> could not be cloned.', 'continues'] }, stderr);
  });
});

test('a Reference of the host is dereferenced into the host', () => {
  const { isolate, context } = withIvm();
  for (const value of [{}, 1, () => {}]) {
    context.global.setSync('reference', new ivm.Reference(value));
    let seen;
    context.evalClosureSync('$0(reference.derefInto())', [(argument) => { seen = argument; }]);
    assert.equal(seen, value);
    assert.equal(context.evalSync('reference.derefInto({ release: true })'), value);
    context.global.setSync('reference', new ivm.Reference(value));
    assert.equal(context.evalSync('({ inside: reference.derefInto() })', { copy: true }).inside, value);
  }
  isolate.dispose();
});

test('an ignored call of a guest that cannot begin is reported', () => {
  const { isolate, context } = withIvm();
  const other = withIvm();
  context.global.setSync('script', isolate.compileScriptSync('1'));
  context.global.setSync('elsewhere', other.context);
  assert.equal(context.evalSync('try { script.runIgnored(elsewhere) } catch (error) { error.code + error.message }'), 'ERR_INVALID_ARGInvalid context');
  isolate.dispose();
  other.isolate.dispose();
});

describe('the event loop stays alive for', () => {
  const SETUP = `
    const isolates = [new ivm.Isolate(), new ivm.Isolate()];
    const [one, other] = isolates.map((isolate) => isolate.createContextSync());
    for (const [context, another] of [[one, other], [other, one]]) {
      context.global.setSync('ivm', ivm);
      context.global.setSync('other', another);
    }
    const LONG = 'let sum = 0; for (let i = 0; i < 3e7; i += 1) sum += i; sum > 0';
    const print = (value) => console.log(value);
    const later = new ivm.Reference(() => new Promise((resolve) => setTimeout(resolve, 20, 7)));
    other.global.setSync('later', later);
  `;
  const prints = async (code, expected) => {
    const { code: exit, signal, stdout, stderr } = await run(SETUP + code);
    assert.deepEqual({ exit, signal, stdout: stdout.trim() }, { exit: 0, signal: null, stdout: expected }, stderr);
  };

  test('work of one guest for another', () => prints(
    `one.evalClosureSync('return other.eval($0)', [LONG], { result: { promise: true } }).then(print);`, 'true'));

  test('work for a guest without a waiting caller', () => prints(
    `one.global.setSync('print', new ivm.Callback(print, { ignored: true }));
    one.evalClosureSync('other.eval($0).then(print)', [LONG]);`, 'true'));

  test('a guest that waits for the host', () => prints(
    `one.evalClosureSync('return other.eval("later.applySyncPromise()")', [], { result: { promise: true } }).then(print);`, '7'));

  test('promises of a guest that another awaits', () => prints(
    `one.evalClosureSync('return other.eval($0, { promise: true }).then((value) => { ' + LONG + '; return value; })',
      ['later.apply(undefined, [], { result: { promise: true } }).then((value) => { ' + LONG + '; return value + 1; })'], { result: { promise: true } }).then(print);`, '8'));

  test('promises of an isolate that another disposes', () => prints(
    `const isolate = new ivm.Isolate();
    isolate.createContextSync().evalSync('new Promise(() => {})', { promise: true }).catch((error) => print(error.message));
    one.global.setSync('isolate', isolate);
    one.evalSync('isolate.dispose()');`, 'Promise was abandoned'));

  test('promises of an isolate that ends with its creator', () => prints(
    `const made = one.evalSync('new ivm.Isolate()').createContextSync();
    made.evalSync('new Promise(() => {})', { promise: true }).catch((error) => print(error.message));
    other.evalClosureSync('$0.dispose()', [isolates[0]]);`, 'Promise was abandoned'));

  test('but not for an abandoned isolate that another waits for', () => prints(
    `one.evalClosureSync('return other.eval($0)', ['[].indexOf.call({ length: 2 ** 53 - 1 }, 1)'], { result: { promise: true } }).catch((error) => print(error.code));
    setTimeout(() => isolates[1].dispose(), 100);`, 'undefined'));

  test('but not for endless work', () => prints(
    `one.evalClosureSync('return other.eval("new Promise(() => {})", { promise: true })', [], { result: { promise: true } }).then(print);`, ''));
});
