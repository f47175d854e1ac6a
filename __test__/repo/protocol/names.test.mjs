// Names that JavaScript and Rust both have, and that are not generated from `protocol.js`, are the same on both sides.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';

const read = (file) => readFileSync(join(root, file), 'utf8');
const sorted = (names) => [...new Set(names)].toSorted();
/** Everything that the group of the expression finds in the part of a file between two texts. */
function found(file, pattern, from = '', to = '\0') {
  const text = read(file);
  const start = text.indexOf(from);
  assert.ok(start >= 0, `${file} has no ${from}`);
  const end = text.indexOf(to, start);
  return [...text.slice(start, end < 0 ? undefined : end).matchAll(pattern)].map(([, name]) => name);
}

test('layers of the confinement', () => {
  const files = ['launcher/src/confine', 'src/child'].flatMap((folder) => (
    readdirSync(join(root, folder), { recursive: true }).map(String).filter((name) => name.endsWith('.rs')).map((name) => join(folder, name))
  ));
  const names = files.flatMap((file) => found(file, /(?:\blayer\(settings, (?:&mut )?report, |const LAYER: &str = )"(\w+)"/g));
  assert.ok(names.includes('seccomp') && names.includes('userNamespace') && names.includes('cgroup'));
  assert.deepEqual(sorted(names), sorted(found('surface/host/sandbox/subprocess/sandbox.js', /'(\w+)'/g, 'const LAYERS = ', ']);')));
});

test('classes of errors', () => {
  const names = found('src/value/fault.rs', /=> "(\w+)"/g, 'impl ErrorClass', 'impl Code');
  assert.ok(names.includes('RangeError'));
  const classes = found('surface/core/error.js', /return (\w+);/g, 'function classOf', '\n}');
  assert.deepEqual(sorted(names), sorted(classes));
});

test('messages', () => {
  const files = (folder, ending) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))).filter((name) => name.endsWith(ending));
  // Of several words. Text that ends before the tests of a file.
  const native = files('src', '.rs').flatMap((file) => found(file, /"((?:[^"\\\n]|\\[^n])*\S (?:[^"\\\n]|\\[^n])+)"/g, '', '#[cfg(test)]'));
  const surface = new Set(files('surface', '.js').filter((file) => file !== join('surface', 'core', 'protocol.js')).flatMap((file) => found(file, /'((?:[^'\\\n]|\\[^n])*\S (?:[^'\\\n]|\\[^n])+)'/g)));
  assert.ok(native.length > 100 && surface.size > 100);
  // The web APIs use no other file of the surface.
  assert.deepEqual(sorted(native.filter((message) => surface.has(message))), [], 'MESSAGE in surface/core/protocol.js declares what both sides say');
});

test('kinds of values that references have', () => {
  const names = found('src/value/handle.rs', /=> "(\w+)"/g, 'impl TypeOf', '/// A reference to a value');
  assert.ok(names.includes('function'));
  // `typeof` gives the others, symbols and BigInts count as objects.
  const given = found('surface/core/handle.js', /'(\w+)'/g, 'function typeNameOf', '\n}');
  for (const name of given) assert.ok(names.includes(name) || ['symbol', 'bigint'].includes(name), name);
});

test('weights of values', () => {
  const weights = Object.fromEntries(found('surface/host/wire/reading-limits.js', /\b([A-Z_]+: \d+)/g, 'const WEIGHT = ', '});').map((entry) => entry.split(': ')));
  // The native side reads each entry of a map as a key and a value, and does not know the size of the table.
  const { INDEX, INDICES, MAP, NAME, SET, SHAPE, SMALL_MAP, SMALL_SET, ...same } = weights;
  const native = Object.fromEntries(found('src/value/weight.rs', /^const ([A-Z_]+: usize = \d+);/gm).map((entry) => entry.split(': usize = ')));
  assert.equal(Object.keys(same).length, 17);
  for (const [name, bytes] of Object.entries(same)) assert.equal(native[name], bytes, name);
  assert.deepEqual([2 * native.MAP_ITEM, Number(native.SET_ITEM)], [Number(SMALL_MAP), Number(SMALL_SET)]);
});
