// `Script`: run, release, the compilation cache.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

test('a script runs any number of times in any context', () => withContext(async ({ isolate, context }) => {
  const script = isolate.compileScriptSync('globalThis.count = (globalThis.count ?? 0) + 1');
  const other = await isolate.createContext();
  assert.equal(script.runSync(context), 1);
  assert.equal(script.runSync(context), 2);
  assert.equal(await script.run(other), 1);
  assert.equal(script.runIgnored(other), undefined);
  assert.equal(await other.eval('count'), 2);
}));

test('each run in the same context is a run of its own', () => withContext(async ({ isolate, context }) => {
  const functions = isolate.compileScriptSync('all.push(function made() { return made }); all.length');
  context.evalSync('const all = []');
  for (let runs = 1; runs <= 5; runs += 1) assert.equal(functions.runSync(context), runs);
  assert.equal(context.evalSync('new Set(all).size'), 5);
  assert.equal(context.evalSync('all.every((made) => made() === made)'), true);
  const declaration = isolate.compileScriptSync('let declared = 1; declared');
  assert.equal(declaration.runSync(context), 1);
  for (let runs = 0; runs < 3; runs += 1) assert.throws(() => declaration.runSync(context), failure(SyntaxError, "Identifier 'declared' has already been declared"));
  const other = await isolate.createContext();
  for (let runs = 0; runs < 3; runs += 1) assert.throws(() => functions.runSync(other), failure(ReferenceError, 'all is not defined'));
  assert.equal(functions.runSync(context), 6);
}));

test('a script may run while it runs, and be released meanwhile', () => withContext(({ isolate, context }) => {
  const script = isolate.compileScriptSync('depth += 1; if (depth < 4) again(); depth');
  let release = false;
  context.evalSync('var depth = 0');
  context.global.setSync('again', new ivm.Callback(() => {
    script.runSync(context);
    if (release) script.release();
  }));
  for (let runs = 0; runs < 3; runs += 1) {
    context.evalSync('depth = 0');
    assert.equal(script.runSync(context), 4);
  }
  release = true;
  context.evalSync('depth = 2');
  assert.equal(script.runSync(context), 4);
}));

test('a script keeps no released context, and a context no released script', ours, async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 32 });
  const fill = 'globalThis.numbers = new Array(250_000).fill(1.5); numbers.length';
  const scripts = [];
  for (let count = 0; count < 40; count += 1) {
    const script = isolate.compileScriptSync(`${fill} // ${count}`);
    const context = await isolate.createContext();
    for (let runs = 0; runs < 3; runs += 1) assert.equal(script.runSync(context), 250_000);
    context.release();
    scripts.push(script);
  }
  const context = await isolate.createContext();
  for (let count = 0; count < 60; count += 1) {
    const script = isolate.compileScriptSync(`[${'1,'.repeat(100_000)} ${count}].length`);
    for (let runs = 0; runs < 3; runs += 1) assert.equal(script.runSync(context), 100_001);
    script.release();
  }
  assert.equal(scripts[0].runSync(context), 250_000);
  isolate.dispose();
});

test('results follow the transfer options', () => withContext(async ({ isolate, context }) => {
  const script = await isolate.compileScript('({ a: [1] })');
  assert.equal(script.runSync(context), undefined);
  assert.deepEqual(script.runSync(context, { copy: true }), { a: [1] });
  assert.deepEqual(script.runSync(context, { externalCopy: true }).copy(), { a: [1] });
  assert.equal(script.runSync(context, { reference: true }).typeof, 'object');
  assert.deepEqual(await script.run(context, { copy: true }), { a: [1] });
  assert.deepEqual(await script.runSync(context, { copy: true, promise: true }), { a: [1] });
}));

test('arguments and options are checked', () => withContext(async ({ isolate, context }) => {
  const script = isolate.compileScriptSync('1');
  for (const method of ['run', 'runSync', 'runIgnored']) {
    assert.throws(() => script[method](), failure(TypeError, '`undefined` requires at least 1 parameter'));
    assert.throws(() => script[method](1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
    assert.throws(() => script[method]({}), failure(TypeError, '`undefined` requires parameter 1 to be something else'));
    assert.throws(() => script[method](isolate), failure(TypeError, '`undefined` requires parameter 1 to be something else'));
    assert.throws(() => script[method](context, 1), failure(TypeError, '`undefined` requires parameter 2 to be an object'));
  }
  assert.throws(() => script.runSync(context, { release: 1 }), failure(TypeError, '`release` must be a boolean'));
  assert.throws(() => script.runIgnored(context, { timeout: 'a' }), failure(TypeError, '`timeout` must be a 32-bit number'));
  await assert.rejects(script.run(context, { copy: 1 }), failure(TypeError, '`copy` must be a boolean'));
}));

test('a context of another isolate is refused', () => withContext(({ isolate }) => withContext(async ({ context: foreign }) => {
  const script = isolate.compileScriptSync('1');
  assert.throws(() => script.runSync(foreign), failure(Error, 'Invalid context'));
  await assert.rejects(script.run(foreign), failure(Error, 'Invalid context'));
})));

test('a released context is refused', () => withContext(async ({ isolate }) => {
  const context = isolate.createContextSync();
  const script = isolate.compileScriptSync('1');
  context.release();
  assert.throws(() => script.runSync(context), failure(Error, 'Context is released'));
  await assert.rejects(script.run(context), failure(Error, 'Context is released'));
}));

test('release can be repeated', () => withContext(({ isolate, context }) => {
  const script = isolate.compileScriptSync('(function () { return 3 })');
  const made = script.runSync(context);
  assert.equal(script.release(), undefined);
  assert.equal(script.release(), undefined);
  assert.equal(made(), 3);
}));

test('a released script is refused', ours, () => withContext(async ({ isolate, context }) => {
  const script = isolate.compileScriptSync('1');
  assert.equal(script.runSync(context, { release: true }), 1);
  assert.throws(() => script.runSync(context), failure(Error, 'Script has been released'));
  await assert.rejects(script.run(context), { code: 'ERR_ISOLATE_RELEASED' });
}));

test('instances are not frozen', () => withContext(({ isolate }) => {
  assert.equal(Object.isFrozen(isolate.compileScriptSync('1')), false);
}));

test('the compilation cache is produced, accepted and rejected', () => withContext(async ({ isolate, context }) => {
  const code = 'function twice(a) { return a * 2 } twice(21)';
  const first = isolate.compileScriptSync(code, { produceCachedData: true });
  assert.deepEqual(Object.keys(first), ['cachedData']);
  assert.ok(first.cachedData instanceof ivm.ExternalCopy);
  assert.ok(first.cachedData.copy().byteLength > 0);
  const second = await isolate.compileScript(code, { cachedData: first.cachedData });
  assert.deepEqual(Object.keys(second), ['cachedDataRejected']);
  assert.equal(second.cachedDataRejected, false);
  assert.equal(second.runSync(context), 42);
}));

test('a compilation cache is valid for its own code only', ours, () => withContext(({ isolate, context }) => {
  const code = '(() => { const name = "one"; return name })()';
  const options = { filename: 'file:///one.js', lineOffset: 1, columnOffset: 2 };
  const { cachedData } = isolate.compileScriptSync(code, { ...options, produceCachedData: true });
  const compile = (other, more) => isolate.compileScriptSync(other, { ...options, cachedData, ...more });
  assert.equal(compile(code, {}).cachedDataRejected, false);
  // With the same length: V8 would accept it and run the other one's code.
  for (const result of ['two', 'tw→', 'tw\xf6']) {
    const text = code.replace('one', result);
    const script = compile(text, {});
    assert.equal(script.cachedDataRejected, true, text);
    assert.equal(Object.hasOwn(script, 'cachedData'), false);
    assert.equal(script.runSync(context), result);
    const { cachedData: fresh } = compile(text, { produceCachedData: true });
    assert.equal(compile(text, { cachedData: fresh }).cachedDataRejected, false);
  }
  const wide = `${code} + '→'`;
  const { cachedData: ofWide } = isolate.compileScriptSync(wide, { produceCachedData: true });
  assert.equal(isolate.compileScriptSync(wide, { cachedData: ofWide }).cachedDataRejected, false);
  assert.equal(isolate.compileScriptSync(wide.replace('→', '←'), { cachedData: ofWide }).runSync(context), 'one←');
  assert.equal(isolate.compileModuleSync(code, { ...options, cachedData }).cachedDataRejected, true);
  assert.equal(new ivm.Isolate().compileScriptSync(code, { ...options, cachedData }).cachedDataRejected, false);
}));

test('a compilation cache is valid for the same code with another name and position', ours, () => withContext(({ isolate }) => {
  const code = '(() => { throw new Error("x"); })()';
  const { cachedData } = isolate.compileScriptSync(code, { filename: 'file:///one.js', produceCachedData: true });
  withContext(({ isolate: other, context }) => {
    const script = other.compileScriptSync(code, { filename: 'file:///two.js', lineOffset: 100, columnOffset: 5, cachedData });
    assert.equal(script.cachedDataRejected, false);
    assert.throws(() => script.runSync(context), ({ stack }) => {
      assert.match(stack, /file:\/\/\/two\.js:101:21/);
      assert.doesNotMatch(stack, /one\.js/);
      return true;
    });
  });
}));

test('a script runs in contexts of its own isolate only', () => withContext(async ({ isolate }) => {
  const script = isolate.compileScriptSync('1');
  const other = new ivm.Isolate();
  const context = other.createContextSync();
  const refusal = failure(Error, 'Invalid context');
  assert.throws(() => script.runSync(context), refusal);
  await assert.rejects(script.run(context), refusal);
  assert.throws(() => script.runIgnored(context), refusal);
  other.dispose();
}));
