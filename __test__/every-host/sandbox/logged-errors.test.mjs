// Errors that code writes to its console: name, message and stack, as on Node.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;
const by = (Class) => async (code, options) => (await new Class(options).execute(code, [], async () => {})).logs;
const SANDBOXES = {
  createSandbox: [async (code, options) => (await createSandbox({}, options).execute(code)).logs, (line) => line],
  IsolatedVMSandbox: [by(IsolatedVMSandbox), (line) => line.replace('[ERROR] ', '')],
  ...(process.platform === 'linux' ? { SubprocessSandbox: [by(SubprocessSandbox), (line) => JSON.parse(line.replace('[error] ', ''))] } : {}),
};

for (const [kind, [logsOf, read]] of Object.entries(SANDBOXES)) {
  const lineOf = async (code, options) => read((await logsOf(code, options))[0]);
  describe(`${kind}: errors in the log`, () => {
    test('name, message and stack', async () => {
      assert.match(await lineOf('const f = () => console.error(new TypeError("x"));\nf();'), /^TypeError: x\n {4}at f \(sandbox\.js:1:\d+\)\n {4}at/);
      assert.match(await lineOf('class Mine extends Error { get name() { return "Mine"; } }\nconst e = new Mine("y"); console.error(e)'), /^(Mine|Error): y\n {4}at/);
    });

    test('among others, and with causes', async () => {
      const line = await lineOf('const a = new Error("outer", { cause: new RangeError("inner", { cause: 5 }) }); console.error("failed", a)');
      const text = Array.isArray(line) ? line.join(' ') : line;
      assert.match(text, /^failed Error: outer\n[\s\S]*\n {2}\[cause\]: RangeError: inner\n/);
    });

    test('errors without a stack, and unusual errors', async () => {
      assert.equal(await lineOf('const e = new Error("x"); e.stack = undefined; console.error(e)'), 'Error: x');
      assert.equal(await lineOf('const e = new Error("x"); Object.defineProperty(e, "stack", { get() { throw 1 } }); console.error(e)'), 'Error: x');
      assert.equal(await lineOf('const e = new Error("x"); e.stack = ""; e.toString = () => "mine"; console.error(e)'), 'mine');
      const loop = await lineOf('const e = new Error("x"); e.stack = "S"; e.cause = e; console.error(e)');
      assert.equal(loop, `S${'\n  [cause]: S'.repeat(3)}`);
    });

    test('is cut', async () => {
      const [line] = await logsOf('const e = new Error("x".repeat(1e6)); e.cause = new Error("y".repeat(1e6)); console.error(e)', { maxLogLength: 100 });
      assert.ok(line.length <= 100 + '[ERROR] ...'.length, line);
      assert.match(line, /x\.\.\.$/);
    });

    test('an endless stack ends with its execution', async () => {
      const start = performance.now();
      await logsOf('const e = new Error("x"); Object.defineProperty(e, "stack", { get() { for (;;); } }); console.error(e)', { timeout: 300 });
      assert.ok(performance.now() - start < 15_000);
    });
  });
}
