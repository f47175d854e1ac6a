// What loading the package takes of the disk, and what it leaves for later.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, run } from '../harness.mjs';
import { surfaceFiles } from '../../scripts/surface.mjs';
import { fake } from './fake.mjs';

const require = createRequire(import.meta.url);

test('`host/` is what `surface/` makes it', () => {
  const files = surfaceFiles();
  assert.deepEqual(readdirSync(join(root, 'host')).toSorted(), [...files.keys()].toSorted());
  for (const [file, text] of files) assert.ok(readFileSync(join(root, 'host', file), 'utf8') === text, `${file}: run node scripts/setup.mjs addon`);
});

test('each module is in one file', () => {
  const places = [...surfaceFiles().values()].flatMap((text) => [...text.matchAll(/^'(.*)': \(function/gm)].map(([, path]) => path));
  assert.ok(places.includes('index.js') && places.includes('host/wire/index.js') && places.includes('host/sandbox/all.js'));
  assert.equal(new Set(places).size, places.length);
});

test('comments go, and texts stay', () => {
  const text = [...surfaceFiles().values()].join('');
  assert.doesNotMatch(text, /^ *\/\*\*(?!.*\*\/ *\S)/m);
  const { BOOTSTRAP } = require('../../surface/host/sandbox/guest-context.js');
  const [comment] = /^\/\/ .+$/m.exec(BOOTSTRAP);
  assert.ok(text.includes(comment));
});

test('the sandboxes are loaded by the first use of one', async () => {
  const { stdout } = await run(`
    import { createRequire } from 'node:module';
    const require = createRequire(import.meta.url);
    const loaded = () => Object.keys(require.cache).map((path) => path.replaceAll('\\\\', '/')).filter((path) => path.includes('/host/'))
      .map((path) => path.split('/host/')[1]).sort().join();
    ivm.Isolate.prototype;
    ivm.IsolatedVMSandbox.prototype.execute;
    const before = loaded();
    ivm.normalizeCode('1');
    console.log(before, loaded());
  `);
  assert.equal(stdout.trim(), 'index.js index.js,sandbox-all.js');
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
