// The first program of a user. `scripts/product/installation.mjs` installs what this imports, under the name that it is given.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const name = process.argv.at(-1);
const { default: ivm } = await import(name);
assert.equal(createRequire(import.meta.url)(name), ivm);

const isolate = new ivm.Isolate({ memoryLimit: 32 });
const context = isolate.createContextSync();
assert.equal(context.evalSync('6 * 7'), 42);
assert.equal(await context.eval('Promise.resolve([1, 2].length)', { promise: true }), 2);
isolate.dispose();

const sandbox = ivm.createSandbox({ double: (number) => 2 * number });
assert.deepEqual((await sandbox.execute('return double(21)')).result, 42);

const apart = ivm.createSubprocessSandbox();
assert.equal((await apart.execute('return 1 + 1', [], () => undefined)).result, 2);
console.log('installed and running');
