// Debugging a guest with Chrome's DevTools. `node examples/devtools.mjs` prints an address: open it in Chrome, and the guest stops at its
// `debugger` statement the next time that it runs. Look at why the sum is wrong, then put `fixed = true` into the console, and resume.

import { setTimeout as sleep } from 'node:timers/promises';
import ivm from 'isolated-v8';
import { serve } from 'isolated-v8/inspector';

const isolate = new ivm.Isolate({ inspector: true });
const context = await isolate.createContext({ inspector: true });

// A file name makes the code appear among the sources.
const total = await context.eval(`
  var fixed = false;
  (cart) => {
    let sum = 0;
    for (const { price, count } of cart) {
      debugger; // no effect without a debugger
      sum += fixed ? Number(price) * count : price;
    }
    return sum;
  }`, { reference: true, filename: 'file:///shop/total.js' });

const server = await serve(isolate, { port: Number(process.argv[2] ?? 9229), title: 'the shop' });
console.log('DevTools:', server.devtoolsUrl);
console.log('protocol:', server.url);

// By asynchronous calls: a thread that waits in a `…Sync` method serves no debugger.
const cart = [{ price: '3', count: 2 }, { price: '1', count: 1 }];
for (;;) {
  const sum = await total.apply(undefined, [cart], { arguments: { copy: true } });
  console.log('total', sum);
  if (sum === 7) break;
  await sleep(500);
}

await server.close();
isolate.dispose();
