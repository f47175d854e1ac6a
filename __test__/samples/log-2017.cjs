// The same as in 2017: with `globalReference()`, a promise for every log that is not awaited, and `dispose()` at the end.

const ivm = require('isolated-vm');

const isolate = new ivm.Isolate({ memoryLimit: 128 });
const context = isolate.createContextSync();
const jail = context.globalReference();
jail.setSync('global', jail.derefInto());
jail.setSync('_ivm', ivm);
const write = new ivm.Reference(function(...args) {
  console.log(...args);
});
jail.setSync('_log', write);

const bootstrap = isolate.compileScriptSync('new '+ function() {
  const ivm = _ivm;
  delete _ivm;
  const log = _log;
  delete _log;
  global.log = function(...args) {
    log.apply(undefined, args.map((arg) => new ivm.ExternalCopy(arg).copyInto()));
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
}).then(() => {
  const copy = new ivm.ExternalCopy({ a: 1 });
  for (const handle of [ write, copy, jail ]) {
    handle.dispose();
  }
  for (const use of [ () => write.deref(), () => copy.copy(), () => jail.getSync('global') ]) {
    try {
      use();
    } catch (error) {
      console.log(error.message);
    }
  }
  isolate.dispose();
});
