// How programs access `ivm`, and the names that older programs use.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { entry, moduleEntry } from '../../harness.mjs';

test('`await import()` provides default and named exports', async () => {
  const ivm = await import(moduleEntry);
  const required = createRequire(import.meta.url)(entry);
  assert.equal(ivm.default, required);
  for (const name of ['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script', 'lib']) {
    assert.equal(ivm[name], required[name], name);
  }
  const isolate = new ivm.Isolate({ memoryLimit: 16 });
  const context = await isolate.createContext();
  assert.equal(await context.eval('6 * 7'), 42);
  assert.equal(new ivm.Reference({ a: 1 }).getSync('a'), 1);
  isolate.dispose();
});

test('aliases work', async () => {
  const { Isolate, Reference, ExternalCopy } = await import(moduleEntry);
  const isolate = new Isolate();
  const context = isolate.createContextSync();
  const jail = context.globalReference();
  jail.setSync('global', jail.derefInto());
  assert.equal(context.evalSync('global === globalThis'), true);
  const reference = new Reference(() => 5);
  jail.setSync('five', reference);
  assert.equal(await context.eval('five.applySync()'), 5);
  reference.dispose();
  assert.throws(() => reference.deref(), { message: 'Reference has been released' });
  const copy = new ExternalCopy('x');
  copy.dispose();
  assert.throws(() => copy.copy(), { message: 'Copy has been released' });
  isolate.dispose();
});
