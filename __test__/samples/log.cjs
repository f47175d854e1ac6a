// isolated-vm's first sample since version 4: a function of the host becomes a function of the guest. Then a guest that fills memory.

const ivm = require('isolated-vm');

const isolate = new ivm.Isolate({ memoryLimit: 128 });
const context = isolate.createContextSync();
const jail = context.global;
jail.setSync('global', jail.derefInto());
jail.setSync('log', function(...args) {
  console.log(...args);
});
context.evalSync('log("hello", "world")');

const hungry = isolate.compileScriptSync(`
  const kept = [];
  const size = 2 * 1024 * 1024;
  while (true) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 4096) {
      bytes[at] = 1; // so that it uses physical memory
    }
    kept.push(bytes);
    log('kept ' + (kept.length * 2) + ' MB');
  }
`);
// With the asynchronous `run`, so that the host is free to serve the log.
hungry.run(context).catch((error) => {
  console.error(error);
  console.log(String(error));
});
