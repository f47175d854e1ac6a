// How the host's microtasks are run between deliveries.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { host, run } from '../../harness.mjs';

test('no deprecation of Node ends the process', { skip: !host.startsWith('node') }, async () => {
  const { stdout, stderr, code } = await run(`
    (async () => {
      const context = await new ivm.Isolate().createContext();
      await context.global.set('call', new ivm.Callback((name) => { Promise.resolve().then(() => { order.push('after ' + name); }); order.push(name); }, { ignored: true }));
      const order = [];
      await context.eval('call("a"); call("b")');
      for (let turn = 0; turn < 100 && order.length < 4; turn += 1) await new Promise((resolve) => { setImmediate(resolve); });
      console.log(order.join());
    })();`, { commonjs: true, hostArgs: ['--pending-deprecation', '--throw-deprecation'] });
  assert.deepEqual([stdout.trim(), code], ['a,after a,b,after b', 0], stderr);
});
