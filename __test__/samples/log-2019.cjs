// The same as at the end of 2019, when a closure called a Reference.

const ivm = require('isolated-vm');

const isolate = new ivm.Isolate({ memoryLimit: 128 });
const context = isolate.createContextSync();
const jail = context.global;
jail.setSync('global', jail.derefInto());
const write = function(...args) {
  console.log(...args);
};
context.evalClosureSync(`global.log = function(...args) {
  $0.applyIgnored(undefined, args, { arguments: { copy: true } });
}`, [ write ], { arguments: { reference: true } });
context.evalSync('log("hello", "world")');

const hungry = isolate.compileScriptSync(`
  const kept = [];
  const size = 2 * 1024 * 1024;
  while (true) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 4096) {
      bytes[at] = 1;
    }
    kept.push(bytes);
    log('kept ' + (kept.length * 2) + ' MB');
  }
`);
hungry.run(context).catch((error) => {
  console.error(error);
  console.log(String(error));
});
