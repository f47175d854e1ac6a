// The host's codec is JavaScript, which V8 optimizes for the maps of its writers and readers. A map that no object has any more is dropped by a
// collection of the whole heap, together with the code. So one writer and one reader stay alive (surface/host/wire/index.js).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../harness.mjs';

const PROGRAM = `
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  const echo = context.evalSync('(value) => value', { reference: true });
  context.global.setSync('give', new ivm.Callback(() => ({ id: 1, keys: ['id', 'name'] })));
  const options = { arguments: { copy: true }, result: { copy: true } };
  const work = (milliseconds) => {
    for (const end = performance.now() + milliseconds; performance.now() < end;) {
      echo.applySync(undefined, [{ id: 1, name: 'name', at: { x: 1, y: 2 } }], options);
      context.evalSync('for (let i = 0; i < 100; i += 1) give().id');
    }
  };
  work(1_000);
  await new Promise((resolve) => { setTimeout(resolve, 20); });
  console.log('collects');
  gc();
  work(50);
  console.log('done');
  process.exit(0);
`;
const FUNCTIONS = ['record', 'serialize', 'Writer', 'Reader', 'deserialize', 'properties'];

test('code of the codec stays optimized after a collection', async () => {
  const { code, stdout, stderr } = await run(PROGRAM, { timeout: 60_000, hostArgs: ['--expose-gc', '--trace-opt', '--trace-deopt'] });
  assert.equal(code, 0, stderr);
  const [before, after] = stdout.split('collects\n');
  assert.ok(after.includes('done'));
  const optimized = FUNCTIONS.filter((name) => new RegExp(`completed (?:compiling|optimizing).*<JSFunction ${name} `).test(before));
  assert.ok(optimized.includes('record') && optimized.length > 2, optimized.join());
  const dropped = [...after.matchAll(/<SharedFunctionInfo (\w+)>[^\n]*embedded weak objects cleared/g)].map(([, name]) => name);
  assert.deepEqual(dropped.filter((name) => FUNCTIONS.includes(name)), []);
});
