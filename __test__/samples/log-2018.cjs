// The same as in 2018 and 2019: the guest gets `ivm` itself and a Reference, and makes copies of what it logs.

const ivm = require('isolated-vm');

const isolate = new ivm.Isolate({ memoryLimit: 128 });
const context = isolate.createContextSync();
const jail = context.global;
jail.setSync('global', jail.derefInto());
jail.setSync('_ivm', ivm);
jail.setSync('_log', new ivm.Reference(function(...args) {
  console.log(...args);
}));

// `new` before a function's text turns it into a program with a scope of its own.
const bootstrap = isolate.compileScriptSync('new '+ function() {
  const ivm = _ivm;
  delete _ivm;
  const log = _log;
  delete _log;
  global.log = function(...args) {
    log.applyIgnored(undefined, args.map((arg) => new ivm.ExternalCopy(arg).copyInto()));
  };
});
bootstrap.runSync(context);
isolate.compileScriptSync('log("hello", "world", typeof _ivm, typeof _log)').runSync(context);

const hungry = isolate.compileScriptSync('new '+ function() {
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
});
hungry.run(context).catch((error) => {
  console.error(error);
  console.log(String(error));
});
