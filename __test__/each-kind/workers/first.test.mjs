// What the first use loads or starts, if many threads are first at the same time.

import { test } from 'node:test';
import { workers } from '../../workers/helper.mjs';

test('first calls of all kinds, from threads that load the package concurrently', () => workers(`
  const both = ['isolate', 'sandbox', 'agent', 'plugin', 'isolate', 'sandbox', 'agent', 'plugin'].map(work);
  same((await Promise.all(both.map(exited))).join(), '0,0,0,0,0,0,0,0');`, `
  const first = {
    isolate: () => make().context.evalSync('1 + 1'),
    sandbox: async () => (await ivm.createSandbox({}).execute('1 + 1')).result,
    agent: async () => (await new ivm.IsolatedVMSandbox().execute('return 1 + 1', [], () => {})).result,
    plugin: async () => {
      const sandbox = new ivm.IsolatedVmSandbox();
      const isolate = await sandbox.createIsolate({ id: 'p', name: 'p', version: '1.0.0', permissions: {} });
      const value = await sandbox.executeInSandbox(isolate, '1 + 1', { pluginId: 'p', config: {} });
      sandbox.disposeAll();
      return value;
    },
  };
  same(await first[workerData](), 2);`));
