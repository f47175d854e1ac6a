// Guests that use what they make against the host. Each program has a process of its own.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const SHARE = "for (const [name, value] of Object.entries({ ivm, isolate, context })) context.global.setSync(name, value);\n";

describe('a guest with `ivm`', () => {
  test('calls back and forth endlessly', () => passes(`${SHARE}
    const outcome = context.evalSync(\`
      const room = new ivm.Isolate().createContextSync();
      room.global.setSync('outer', context);
      room.evalSync('globalThis.f = () => outer.evalSync("g()")');
      globalThis.g = () => room.evalSync('f()');
      let outcome;
      try { g(); } catch (error) { outcome = error.name; }
      outcome;
    \`);
    assert.equal(outcome, 'RangeError');
    assert.equal(context.evalSync('6 * 7'), 42);
    otherWorks();
  `, { timeout: 60_000 }));

  test('leaves isolates running, and is disposed', () => passes(`${SHARE}
    context.evalSync(\`
      globalThis.rooms = [];
      for (let n = 0; n < 3; n += 1) {
        const room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync();
        room.evalIgnored('for (;;);');
        rooms.push(room);
      }
    \`);
    isolate.dispose();
    otherWorks();
  `));

  test('leaves isolates running without a waiting call', () => passes(`${SHARE}
    context.evalSync('for (let n = 0; n < 3; n += 1) { const room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync(); room.evalIgnored("for (;;);"); }');
  `));

  test('shares the memory of a worker that ends', () => passes(`
    import { Worker } from 'node:worker_threads';
    const worker = new Worker(\`
      const { workerData, parentPort } = require('node:worker_threads');
      const { createRequire } = require('node:module');
      import(workerData).then(({ default: ivm }) => {
        const isolate = new ivm.Isolate();
        const context = isolate.createContextSync();
        const shared = new SharedArrayBuffer(1 << 16);
        context.evalClosureSync(\\\`
          const room = new $0.Isolate().createContextSync();
          room.evalClosureIgnored('const view = new Uint8Array($0); for (let n = 0;; n += 1) view[n & 65535] = n;', [$1], { arguments: { copy: true } });
          globalThis.room = room;
        \\\`, [ivm, new ivm.ExternalCopy(shared).copyInto()]);
        parentPort.postMessage('ready');
      });
    \`, { eval: true, workerData: new URL('../../../index.mjs', ${JSON.stringify(import.meta.url)}).href });
    await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
    await worker.terminate();
    otherWorks();
  `));

  test('disposes every reachable isolate during calls', () => passes(`${SHARE}
    const error = syncError(() => context.evalSync(\`
      const room = new ivm.Isolate().createContextSync();
      room.global.setSync('isolate', isolate);
      room.evalSync('isolate.dispose()');
      1;
    \`));
    assert.equal(error.code, 'ERR_ISOLATE_DISPOSED');
    otherWorks();
  `));

  test('fills an isolate that it has created while it waits for it', () => passes(`${SHARE}
    assert.equal(context.evalSync(\`
      const room = new ivm.Isolate({ memoryLimit: 8 }).createContextSync();
      let outcome; try { room.evalSync('const a = []; for (;;) a.push([a])'); } catch (error) { outcome = error.code; } outcome;
    \`), 'ERR_ISOLATE_MEMORY');
    otherWorks();
  `));
});
