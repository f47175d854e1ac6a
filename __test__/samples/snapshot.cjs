// isolated-vm's sample of a snapshot, with a warm-up script. As its comments say, the snapshot is written to a file and read again.

const fs = require('fs');
const ivm = require('isolated-vm');

let snapshot = ivm.Isolate.createSnapshot([ { code: 'function sum(a, b) { return a + b }' } ], 'sum(3, 4)');
function use() {
  const isolate = new ivm.Isolate({ snapshot });
  const context = isolate.createContextSync();
  const script = isolate.compileScriptSync('sum(1, 2)');
  console.log(script.runSync(context));
}
use();

const file = process.argv[2];
fs.writeFileSync(file, Buffer.from(snapshot.copy()));
snapshot = new ivm.ExternalCopy(fs.readFileSync(file).buffer);
use();
