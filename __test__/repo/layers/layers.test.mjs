// The check of the sources' structure: it sees the imports of this repository, and what is wrong in small trees.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';
import { check, MAX, readSources } from '../../../scripts/checks/layers.mjs';

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-layers-'));
after(() => rmSync(folder, { recursive: true }));

const LIBRARY = '//! - `low`: first\n//! - `high`: second\n\nmod high;\nmod low;\n';
let trees = 0;

/** The problems of a tree with these files. */
function problemsOf(files) {
  const tree = join(folder, String(++trees));
  for (const [path, text] of Object.entries({ 'src/lib.rs': LIBRARY, 'surface/index.js': '', ...files })) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  return check(readSources(tree));
}

const names = (count, of) => Array.from({ length: count }, (_, index) => of(index));

test('reads the imports of this repository', () => {
  const { rust, script } = readSources(root);
  assert.deepEqual(check({ rust, script }), []);
  assert.ok(rust.graph.get('src/isolate/thread/run.rs').has('src/isolate/remote/mod.rs'));
  assert.ok(rust.graph.get('src/host/call.rs').has('src/ops/mod.rs'), 'a function of a module is called by its path');
  assert.ok(rust.graph.get('src/web/url.rs').has('src/isolate/guest/guest_realm.rs'), 'a name is traced to the module that defines it');
  assert.ok(rust.graph.get('src/isolate/thread/memory.rs').has('src/isolate/thread/ending.rs'), 'a method is traced to the file that defines it');
  assert.ok(!rust.graph.has('src/isolate/tests.rs'));
  assert.ok(script.graph.get('surface/host/wire/reader.js').has('surface/host/wire/pausable-reader.js'));
  assert.ok(rust.structs.some(({ name, fields }) => name === 'Remote' && fields === 15));
  assert.ok(rust.functions.some(({ file, name, parameters }) => file === 'src/isolate/thread/job_execution.rs' && name === 'run' && parameters === 4));
  assert.ok(script.functions.some(({ name, parameters }) => name === 'putAside' && parameters === 7));
});

test('the documentation has the same order', () => {
  const { rust } = readSources(root);
  const order = rust.layers.map((layer) => `\`${layer.slice('src/'.length)}\``).join(' → ');
  assert.ok(readFileSync(join(root, 'docs/architecture.md'), 'utf8').includes(`- in \`src/\`: ${order}\n`));
});

test('finds an import of a later layer', () => {
  const up = ['src/low.rs imports src/high.rs, which is of a later layer'];
  const high = 'pub struct High;\n';
  for (const low of [
    'use crate::high::High;\n',
    'use crate::{high::{self, High as Other}};\n',
    'fn low() { crate::high::High; }\n',
    'use crate::high;\nfn low() { high::High; }\n',
    'use super::high::*;\n',
    'mod inner {\n    use super::super::high::High;\n}\n',
  ]) {
    assert.deepEqual(problemsOf({ 'src/low.rs': low, 'src/high.rs': high }), up, low);
  }
  assert.deepEqual(problemsOf({ 'src/low.rs': 'use crate::anything;\n', 'src/lib.rs': `${LIBRARY}pub fn anything() {}\n`, 'src/high.rs': high }), [
    'src/low.rs imports src/lib.rs, which is of a later layer',
  ]);
  assert.deepEqual(problemsOf({ 'surface/host/wire/a.js': "require('../b.js');\n", 'surface/host/b.js': '' }), [
    'surface/host/wire/a.js imports surface/host/b.js, which is of a later layer',
  ]);
});

test('ignores what is no import', () => {
  const files = { 'src/high.rs': 'pub struct High;\n' };
  for (const low of [
    '// use crate::high::High;\n/* crate::high::High */\nconst TEXT: &str = "crate::high::High";\n',
    '#[cfg(test)]\nmod tests {\n    use crate::high::High;\n}\n',
    '#[cfg(any(test, fuzzing))]\nuse crate::high::High;\n',
    'mod inner {\n    use super::high::High;\n}\nmod high {}\n',
  ]) {
    assert.deepEqual(problemsOf({ ...files, 'src/low.rs': low }), [], low);
  }
  assert.deepEqual(problemsOf({ ...files, 'src/low/mod.rs': '#[cfg(test)]\nmod tests;\n', 'src/low/tests.rs': 'use crate::high::High;\n' }), []);
  assert.deepEqual(problemsOf({ 'surface/a.js': "/** @param {import('./host/b.js').B} b */\n", 'surface/host/b.js': '' }), []);
});

test('finds circles of more than two files, through names that are passed on', () => {
  const circle = {
    'src/low/mod.rs': 'mod a;\nmod b;\nmod c;\npub use a::A;\npub use b::B;\npub use c::C;\n',
    'src/low/a.rs': 'use super::B;\npub struct A;\n',
    'src/low/b.rs': 'use super::C;\npub struct B;\n',
    'src/low/c.rs': 'use super::A;\npub struct C;\n',
  };
  assert.deepEqual(problemsOf(circle), ['a circle of 3 files: src/low/a.rs src/low/b.rs src/low/c.rs']);
  assert.deepEqual(problemsOf({ ...circle, 'src/low/c.rs': 'pub struct C;\n' }), []);
  assert.deepEqual(problemsOf({ ...circle, 'src/low/b.rs': 'use super::A;\npub struct B;\n' }), [], 'two files may import each other');
  const script = Object.fromEntries(names(4, (index) => [`surface/${index}.js`, `require('./${(index + 1) % 4}.js');\n`]));
  assert.deepEqual(problemsOf(script), ['a circle of 4 files: surface/0.js surface/1.js surface/2.js surface/3.js']);
});

test('finds circles through the methods of one type', () => {
  const type = { 'src/low/mod.rs': 'mod a;\nmod b;\nmod c;\n', 'src/low/a.rs': 'pub struct A { last: u8 }\nimpl A {\n    fn first(&self) {\n        self.last;\n    }\n}\n' };
  const b = 'use super::a::A;\nimpl A {\n    fn second(&self) {\n        self.first();\n    }\n}\n';
  const c = 'use super::a::A;\nimpl<T> From<T> for A {\n    fn last(&self) {\n        self.second();\n    }\n}\n';
  assert.deepEqual(problemsOf({ ...type, 'src/low/b.rs': b, 'src/low/c.rs': c }), [], 'a field with the name of a method is no call');
  const circle = ['a circle of 3 files: src/low/a.rs src/low/b.rs src/low/c.rs'];
  for (const first of ['impl A {\n    fn first(&self) {\n        self.last();\n    }\n}\n', 'fn first(first: &Arc<A>) {\n    first\n        .last();\n}\n', 'fn first() {\n    A::last;\n}\n']) {
    assert.deepEqual(problemsOf({ ...type, 'src/low/a.rs': `pub struct A;\n${first}`, 'src/low/b.rs': `${b}impl A {\n    fn first(&self) {}\n}\nuse super::a::first;\n`, 'src/low/c.rs': c }), circle, first);
  }
  // A method of another type.
  const other = 'pub struct B;\nimpl B {\n    fn last(&self) {}\n}\nfn first(first: &B) {\n    first.last();\n}\npub struct A;\n';
  assert.deepEqual(problemsOf({ ...type, 'src/low/a.rs': other, 'src/low/b.rs': b, 'src/low/c.rs': c }), []);
});

test('finds folders that import what imports them', () => {
  const files = {
    'src/low/mod.rs': 'mod a;\nmod b;\nmod part;\n',
    'src/low/a.rs': 'use super::part::Part;\npub struct A;\n',
    'src/low/b.rs': 'pub struct B;\n',
    'src/low/part/mod.rs': 'mod c;\npub use c::Part;\n',
    'src/low/part/c.rs': 'use crate::low::b::B;\npub struct Part;\n',
  };
  assert.deepEqual(problemsOf(files), []);
  assert.deepEqual(problemsOf({ ...files, 'src/low/b.rs': 'use super::a::A;\n' }), [
    'a circle of 3 files: src/low/a.rs src/low/b.rs src/low/part/c.rs', 'a circle with a folder: src/low/a.rs src/low/b.rs src/low/part',
  ]);
  const other = { 'src/low/part/d.rs': 'use crate::low::a::A;\n', 'src/low/part/mod.rs': 'mod c;\nmod d;\npub use c::Part;\n' };
  assert.deepEqual(problemsOf({ ...files, ...other }), ['a circle with a folder: src/low/a.rs src/low/part']);
});

test('finds what is too large', () => {
  const struct = (count) => `pub struct Large {\n${names(count, (index) => `    /// A, b.\n    pub f${index}: Map<u8, [u8; 2]>,\n`).join('')}}\n`;
  assert.deepEqual(problemsOf({ 'src/low.rs': struct(MAX.fields) }), []);
  assert.deepEqual(problemsOf({ 'src/low.rs': struct(MAX.fields + 1) }), [`src/low.rs: struct Large has ${MAX.fields + 1} fields`]);
  const macro = (count) => `macro_rules! large {\n    ($($name:ident: $type:ty = $none:expr;)*) => {\n        pub struct Large {\n            $($name: $type,)*\n        }\n    };\n}\n`
    + `large! {\n${names(count, (index) => `    /// A; b.\n    #[a(b)]\n    f${index}: Map<u8, [u8; 2]> = Map { a: 1, b: 2 };\n`).join('')}}\n`;
  assert.deepEqual(problemsOf({ 'src/low.rs': macro(MAX.fields) }), []);
  assert.deepEqual(problemsOf({ 'src/low.rs': macro(MAX.fields + 1) }), [`src/low.rs: struct Large has ${MAX.fields + 1} fields`]);
  const parameters = (count) => names(count, (index) => `p${index}: Map<u8, fn(u8, u8) -> u8>`).join(', ');
  assert.deepEqual(problemsOf({ 'src/low.rs': `fn large<'a, T: Fn(u8)>(&'a self, ${parameters(MAX.parameters)}) {}\n` }), []);
  assert.deepEqual(problemsOf({ 'src/low.rs': `fn large(${parameters(MAX.parameters + 1)}) {}\n` }), [`src/low.rs: large has ${MAX.parameters + 1} parameters`]);
  const list = names(MAX.parameters + 1, (index) => `p${index} = [1, ')']`).join(', ');
  for (const text of [`function large(${list}) {}`, `class A {\n  large(${list}) {\n  }\n}`, `const large = (${list}) => 1;`]) {
    assert.equal(problemsOf({ 'surface/a.js': `${text}\n` }).length, 1, text);
  }
  assert.deepEqual(problemsOf({ 'surface/a.js': `large(${list});\nif (a(${list})) {\n}\n` }), []);
  const lines = (count) => '\n//'.repeat(count - 1);
  assert.deepEqual(problemsOf({ 'src/low.rs': lines(MAX.lines), 'surface/a.js': lines(MAX.lines) }), []);
  assert.deepEqual(problemsOf({ 'src/low.rs': lines(MAX.lines + 1), 'surface/a.js': lines(MAX.lines + 1) }), [
    `src/low.rs has ${MAX.lines + 1} lines`, `surface/a.js has ${MAX.lines + 1} lines`,
  ]);
});
