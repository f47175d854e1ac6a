// What loading the package takes, and what it leaves for later.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, run } from '../harness.mjs';
import { surfaceText } from '../../scripts/surface.mjs';
import { fake } from './fake.mjs';

const require = createRequire(import.meta.url);

test('`host/` is what `surface/` makes it', () => {
  assert.ok(readFileSync(join(root, 'host/index.js'), 'utf8') === surfaceText(), 'run node scripts/setup.mjs');
});

test('modules that are needed at first are compiled at once', () => {
  const begins = (path) => new RegExp(`^'${path}': (\\(?)function`, 'm').exec(surfaceText())?.[1];
  assert.deepEqual(['index.js', 'host/wire/index.js', 'host/sandbox/index.js', 'host/sandbox/all.js', 'host/sandbox/gate.js'].map(begins), ['(', '(', '(', '', '']);
});

test('comments go, and texts stay', () => {
  const text = surfaceText();
  assert.doesNotMatch(text, /^ *\/\*\*(?!.*\*\/ *\S)/m);
  const { BOOTSTRAP } = require('../../surface/host/sandbox/guest-context.js');
  const [comment] = /^\/\/ .+$/m.exec(BOOTSTRAP);
  assert.ok(text.includes(comment));
});

test('the package is few files, and the first use of a sandbox loads none', async () => {
  const { stdout } = await run(`
    import { createRequire } from 'node:module';
    const require = createRequire(import.meta.url);
    const loaded = () => Object.keys(require.cache).filter((path) => path.endsWith('.js')).length;
    const before = loaded();
    ivm.normalizeCode('1');
    console.log(before, loaded());
  `);
  assert.equal(stdout.trim(), '3 3');
});

test('a first use that found the stack full is none', async () => {
  const { stdout } = await run(`
    let failed = 0;
    // From where hardly anything can be called, until it succeeds.
    const deep = () => { try { return deep(); } catch { try { ivm.normalizeCode('1'); } catch { failed += 1; throw new Error('full'); } } };
    try { deep(); } catch { failed += 1; }
    console.log(failed > 0, ivm.normalizeCode('1'), new ivm.IsolatedVMSandbox() instanceof ivm.IsolatedVMSandbox);
  `);
  assert.equal(stdout.trim(), 'true async () => { return 1 } true');
});

test('what stands for the sandboxes has their members', () => {
  const { surface, ivm } = fake();
  const { createAll } = require('../../surface/host/sandbox/all.js');
  const { createSandboxes } = require('../../surface/host/sandbox/index.js');
  const [actual, standing] = [createAll, createSandboxes].map((create) => create(surface.core, {}, () => ivm));
  assert.deepEqual(Object.keys(standing).toSorted(), Object.keys(actual).toSorted());
  const shape = (target, without) => Object.fromEntries(Reflect.ownKeys(target).filter((key) => key !== without).map((key) => {
    const { value, ...attributes } = Object.getOwnPropertyDescriptor(target, key);
    return [key, { ...attributes, type: typeof value, name: value?.name, length: value?.length }];
  }));
  for (const [name, { length, prototype }] of Object.entries(actual)) {
    assert.equal(standing[name].length, length, name);
    assert.equal(standing[name].name, name);
    if (!name.endsWith('Sandbox') || name.startsWith('create')) continue;
    assert.deepEqual(shape(standing[name], 'prototype'), shape(actual[name], 'prototype'), name);
    assert.deepEqual(shape(standing[name].prototype), shape(prototype), name);
  }
});

test('a class that extends one of them has instances of its own', async () => {
  const { stdout } = await run(`
    class Mine extends ivm.IsolatedVMSandbox {
      more = 1;
      async execute(code) { return { ...await super.execute(code, [], () => {}), mine: true }; }
    }
    const mine = new Mine({ memoryLimit: 16 });
    const { result, mine: own } = await mine.execute('return 2');
    mine.dispose();
    const refused = await ivm.IsolatedVMSandbox.prototype.execute.call({}, 'return 2', [], () => {}).catch((error) => error.name);
    let called;
    try { ivm.IsolatedVMSandbox(); } catch (error) { called = error.name; }
    console.log(result, own, mine.more, mine instanceof Mine, mine instanceof ivm.IsolatedVMSandbox, mine.constructor === Mine, refused, called);
  `);
  assert.equal(stdout.trim(), '2 true 1 true true true TypeError TypeError');
});
