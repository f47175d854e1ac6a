// The surface inside a realm where every built-in was replaced, before and after the module arrives there. The replacements see only what
// the guest has anyway, and the surface keeps working.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { root } from '../../harness.mjs';
import { TAMPERING, USES } from '../../guest/tampering.mjs';

/** Every name of a property that the surface mentions. */
function propertyNames() {
  const names = new Set(['then', 'get', 'set', 'value', 'writable', 'enumerable', 'configurable', 'done', 'return', 'throw']);
  const files = ['surface', 'surface/core', 'surface/api'].flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)));
  for (const file of files.filter((path) => path.endsWith('.js'))) {
    const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
    for (const [, name] of code.matchAll(/\.([A-Za-z_]\w*)/g)) names.add(name);
    for (const [, name] of code.matchAll(/[{,]\s*([A-Za-z_]\w*)\s*(?=[:,}(])/g)) names.add(name);
  }
  // Every object has these, or everything that is not tested here needs them.
  for (const name of ['constructor', 'toString', 'valueOf', '__proto__']) names.delete(name);
  return [...names];
}

function provide(context) {
  const host = {
    ivm,
    hostFunction: (n) => n + 1,
    hostThrows: () => { throw new RangeError('host'); },
    hostReference: new ivm.Reference((n) => n * 2),
    hostObject: new ivm.Reference({ n: 4 }),
    hostAsync: new ivm.Callback(async (n) => n, { async: true }),
  };
  for (const [name, value] of Object.entries(host)) context.global.setSync(name, value);
}

/** `when`: before the module arrives in the realm, between the first Reference and the module, or after both. */
async function run(mode, when) {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const guest = context.evalSync(TAMPERING, { reference: true });
  const call = (name, ...args) => guest.getSync(name, { reference: true }).applySync(undefined, args, { arguments: { copy: true } });
  context.evalSync('globalThis.buffer = new ArrayBuffer(8); globalThis.other = new ArrayBuffer(8); 1');
  if (when === 'between') context.global.setSync('first', new ivm.Reference(1));
  if (when === 'after') {
    provide(context);
    context.evalSync('new ivm.Isolate().dispose()');
  }
  const tampered = mode === undefined ? 0 : call('tamper', mode, propertyNames());
  const arm = guest.getSync('arm', { reference: true });
  if (when !== 'after') {
    arm.applySync(undefined, [true]);
    provide(context);
    arm.applySync(undefined, [false]);
  }
  const exercise = guest.getSync('exercise', { reference: true });
  exercise.applySync(undefined, [context.evalSync(USES, { reference: true }).derefInto()]);
  const report = exercise.applySync(undefined, [context.evalSync(USES, { reference: true }).derefInto()]);
  // Asynchronous operations answer in later turns, which are observed too.
  arm.applySync(undefined, [true]);
  const imported = 'room.evalSync("globalThis.imported === true")';
  for (let turn = 0; turn < 2_000 && !context.evalSync(imported); turn += 1) await new Promise((resolve) => { setTimeout(resolve, 1); });
  const done = context.evalSync(imported);
  for (let turn = 0; turn < 10; turn += 1) await context.eval('1');
  const result = { report, tampered, done, shown: call('count'), leaks: call('leaks') };
  isolate.dispose();
  return result;
}

const TIMES = {
  before: 'before the module arrives',
  between: 'after a Reference arrived, before the module does',
  after: 'after the module arrives',
};

describe('every built-in is replaced', () => {
  for (const mode of ['watches', 'throws', 'gives functions']) {
    for (const [when, words] of Object.entries(TIMES)) {
      test(`by a function that ${mode}, ${words}`, async () => {
        const expected = await run(undefined, when);
        assert.match(expected.report, /^isolate: false\n[^]*\neval: 42\n[^]*\nmodule: 3\n[^]*\nhost: 2\n/);
        assert.equal(expected.done, true);
        const actual = await run(mode, when);
        assert.ok(actual.tampered > 1_400, `${actual.tampered} were replaced`);
        assert.equal(actual.leaks, '');
        assert.deepEqual(actual.report.split('\n'), expected.report.split('\n'));
        assert.equal(actual.done, true);
      });
    }
  }
});
