// Worker threads that load the package and end leave nothing open in the process.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { entry, run } from '../../harness.mjs';

test('workers that have ended leave no descriptors', { skip: process.platform !== 'linux' && 'it lists /proc/self/fd', timeout: 120_000 }, async () => {
  const { stdout, stderr } = await run(`
    import { readdirSync } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    const WORKER = \`
      const { parentPort } = require('node:worker_threads');
      const ivm = require(${JSON.stringify(entry)});
      new ivm.Isolate().createContextSync().eval('1').then((value) => parentPort.postMessage(value));
      setInterval(() => {}, 1000);\`;
    const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
    const open = () => readdirSync('/proc/self/fd').length;
    const use = async (count) => {
      for (let index = 0; index < count; index += 1) {
        const worker = new Worker(WORKER, { eval: true });
        await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
        await worker.terminate();
      }
    };
    await use(3);
    const before = open();
    await use(8);
    const end = performance.now() + 10_000;
    while (open() > before + 3 && performance.now() < end) await sleep(50);
    console.log(open() <= before + 3 ? 'none' : before + ' and then ' + open());
    process.exit();`, { timeout: 100_000 });
  assert.equal(stdout, 'none\n', stderr);
});
