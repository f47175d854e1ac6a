// What V8 adds to contexts that start from a snapshot: `src/ops/intrinsics.js` must know all of it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root, run } from '../../harness.mjs';
import { ivm, ours } from '../../api/ivm.mjs';

/** Every property that is reachable from the global object, with the object that has it. */
const WALK = `(() => {
  const seen = new Set();
  const found = [];
  const walk = (object, path) => {
    if (object === null || (typeof object !== 'object' && typeof object !== 'function') || seen.has(object)) return;
    seen.add(object);
    for (const key of Reflect.ownKeys(object)) {
      const name = typeof key === 'symbol' ? String(key) : key;
      found.push(path + ' ' + name);
      const { value, get } = Reflect.getOwnPropertyDescriptor(object, key);
      walk(value, path + '.' + name);
      walk(get, path + '.get ' + name);
    }
    walk(Object.getPrototypeOf(object), path + '.__proto__');
  };
  walk(globalThis, 'globalThis');
  walk((async function* () {}).prototype, 'asyncGenerator');
  return JSON.stringify(found);
})()`;

test('every added intrinsic is listed', ours, () => {
  const isolate = new ivm.Isolate({ snapshot: ivm.Isolate.createSnapshot([{ code: `let before = ${WALK}` }]) });
  const context = isolate.createContextSync();
  const before = new Set(JSON.parse(context.evalSync('before')));
  const added = JSON.parse(context.evalSync(WALK)).filter((each) => !before.has(each));
  isolate.dispose();
  const listed = readFileSync(join(root, 'src/ops/intrinsics.js'), 'utf8');
  const isNew = (path) => added.some((each) => path === each.replace(' ', '.') || path.startsWith(`${each.replace(' ', '.')}.`));
  const missing = added.filter((each) => {
    const [path, name] = [each.slice(0, each.indexOf(' ')), each.slice(each.indexOf(' ') + 1)];
    if (name === 'FinalizationRegistry' || isNew(path.replace('.get ', '.')) || / (?:name|length)$/.test(each) && each.includes('.get ')) return false;
    const holder = path.replace('globalThis.', '');
    const key = name.startsWith('Symbol(') ? /dispose/i.exec(name)?.[0] : `'${name}'`;
    return !(listed.includes(`'${holder}'`) || holder.startsWith('asyncGenerator')) || key === undefined || !listed.includes(key);
  });
  assert.deepEqual(missing, []);
  assert.ok(added.length > 50);
});

test('no other global is looked up by its name', ours, async () => {
  const replace = (value) => `
    const { defineProperty, ownKeys } = Reflect;
    const value = ${value};
    const kept = ['Atomics', 'Math', 'Uint8Array', 'globalThis'];
    const names = ownKeys(globalThis).filter((name) => !kept.includes(name));
    for (const name of names) defineProperty(globalThis, name, { __proto__: null, value, configurable: true });`;
  const code = `
    for (const code of ${JSON.stringify(['5', '{}', 'new Proxy({}, {})', 'undefined'].map((value) => `{${replace(value)}}`))}) {
      const isolate = new ivm.Isolate({ snapshot: ivm.Isolate.createSnapshot([{ code }]) });
      if (isolate.createContextSync().evalSync('1 + 1') !== 2) throw new Error(code);
      isolate.dispose();
    }
    console.log('done');`;
  const result = await run(code);
  assert.equal(result.stdout.trim(), 'done', result.stderr);
});
