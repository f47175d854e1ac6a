// A module's source is searched for `import()` before V8 gets it. That takes time in proportion to its length, whatever its contents.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** A search that restarted at each word would take minutes. */
const COUNT = 300_000;

describe('sources that repeat possible call prefixes compile in linear time', () => {
  const parts = { 'line comments': 'import//', 'block comments': 'import/*', spaces: 'import  ', 'other letters': 'import\\u00e9', 'wide letters': 'import//\\u0101' };
  for (const [name, part] of Object.entries(parts)) {
    test(name, () => passes(`
      const module = isolate.compileModuleSync('//' + '${part}'.repeat(${COUNT}) + '\\nexport const a = 1;');
      module.instantiateSync(context, () => {});
      module.evaluateSync();
      assert.equal(module.namespace.getSync('a'), 1);`, { timeout: 20_000 }));
  }

  test('asynchronously, too', () => passes(`
    await isolate.compileModule('//' + 'import/*'.repeat(${COUNT}));`, { timeout: 20_000 }));

  test('in snapshots, which are searched for `eval`, too', () => passes(`
    for (const part of ['eval//', 'eval/*', 'eval ', 'ev\\\\u0061l']) ivm.Isolate.createSnapshot([{ code: '//' + part.repeat(${COUNT}) }]);`, { timeout: 20_000 }));
});

test('calls of `import` after comments find their resolver', () => passes(`
  const other = isolate.compileModuleSync('export const a = 7;');
  for (const call of ["import('o')", "import/* ( */('o')", "import // (\\n('o')", "import /* a */ /* b */ ('o')"]) {
    const module = isolate.compileModuleSync('export const it = ' + call + '; globalThis.got = it.then((found) => found.a);');
    module.instantiateSync(context, () => other);
    module.evaluateSync();
    assert.equal(await context.eval('got', { promise: true }), 7, call);
  }`));
