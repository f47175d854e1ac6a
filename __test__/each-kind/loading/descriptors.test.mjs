// A process without free descriptors cannot open the files of the package that it has not loaded yet.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../harness.mjs';

const skip = process.platform !== 'linux' && 'it has no `prlimit`';

test('a guest learns why its call could not be handled, and can call again', { skip }, async () => {
  const { stdout, stderr } = await run(`
    import { execFileSync } from 'node:child_process';
    import { closeSync, openSync } from 'node:fs';
    const context = new ivm.Isolate().createContextSync();
    context.global.setSync('call', new ivm.Callback(({ a }) => a, { async: true }));
    const describe = '(error) => [error.name, error.code, error.message].join(": ")';
    const call = () => context.eval('call({ a: 1 }).catch(' + describe + ')', { promise: true });
    await context.eval('0');
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=200']);
    const taken = [];
    try { for (;;) taken.push(openSync('/dev/null')); } catch ({ code }) { if (code !== 'EMFILE') throw new Error(code); }
    const without = await call();
    for (const each of taken) closeSync(each);
    console.log(without);
    console.log(await call());`);
  assert.match(stdout, /^Error: ERR_ISOLATE_LIMIT: The host could not handle the call: [^/\n]*EMFILE[^/\n]*\n1\n$/, stderr);
});
