// The declarations and the runtime agree on names.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { moduleEntry, root } from '../../harness.mjs';

const module = await import(moduleEntry);
const ivm = module.default;
const read = (file) => readFileSync(join(root, file), 'utf8');
const sorted = (names) => [...new Set(names)].toSorted();

/** Names that index.d.mts exports in lists that start with `start`. */
const exported = (start) =>
  [...read('index.d.mts').matchAll(new RegExp(`^${start} \\{([^}]*)\\}`, 'gm'))].flatMap(([, list]) => list.match(/\w+/g));

/** Names that index.d.ts declares directly in `ivm`. */
const declared = (kind) => [...read('index.d.ts').matchAll(new RegExp(`^  (?:${kind}) (\\w+)`, 'gm'))].map(([, name]) => name);

test('the ES module exports what its declarations say', () => {
  assert.deepEqual(sorted(Object.keys(module)), sorted(['default', ...exported('export')]));
});

test('every type is exported by name, except the helpers', () => {
  const types = declared('class|interface|type').filter((name) => !(name in ivm));
  const helpers = types.filter((name) => /^(?:Apply|Argument|Arguments|As|Check|Fallback|Result|With)[A-Z]/.test(name));
  assert.deepEqual(sorted(exported('export type')), sorted(types.filter((name) => !helpers.includes(name))));
});

test('ivm has the values that are declared', () => {
  const names = declared('class|function|const').filter((name) => name !== 'Copy' && name !== 'Dereference');
  assert.deepEqual(sorted([...Object.keys(Object.getPrototypeOf(ivm)), 'lib']), sorted(names));
});

const classes = declared('class').filter((name) => name in ivm);
for (const name of classes) {
  test(`${name} has the members that are declared`, () => {
    const block = new RegExp(`^  class ${name}\\b[\\s\\S]*?^  \\}`, 'm').exec(read('index.d.ts'))[0];
    const member = /^ {4}(?!private|constructor)(static )?(?:readonly )?(\w+)\??[<(:]/gm;
    // Some exist only at times.
    const members = [...block.matchAll(member)].filter(([, , one]) => !one.startsWith('cachedData') && one !== 'failure');
    const named = (isStatic) => sorted(members.filter(([, word]) => Boolean(word) === isStatic).map(([, , one]) => one));
    const own = (object, without) => sorted(Object.getOwnPropertyNames(object).filter((one) => !without.includes(one)));
    if (ivm[name].prototype instanceof Error) {
      // Their members are fields. Hosts add some of their own.
      const error = new ivm[name]('a', 'CPU', 'b');
      assert.deepEqual(named(false).filter((one) => !Object.hasOwn(error, one)), []);
      assert.deepEqual(Object.keys(error).filter((one) => !named(false).includes(one) && !Object.hasOwn(new Error('x'), one)), []);
    } else {
      assert.deepEqual(own(ivm[name].prototype, ['constructor']), named(false));
    }
    assert.deepEqual(own(ivm[name], ['length', 'name', 'prototype', 'arguments', 'caller']), named(true));
  });
}
