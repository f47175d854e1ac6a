// The same as in 2017, with `globalReference()`.

function sum(from, to) {
  let total = 0;
  for (let number = from; number < to; ++number) {
    total += number;
  }
  return total;
}
const end = Math.pow(2, 27);
console.log('on one thread: ' + sum(0, end));

const ivm = require('isolated-vm');
const count = 4;
const parts = Array(count).fill().map(async function(_, index) {
  const isolate = new ivm.Isolate();
  const context = await isolate.createContext();
  const jail = context.globalReference();
  const script = await isolate.compileScript(sum + '');
  await script.run(context);
  const reference = await jail.get('sum');
  const from = Math.floor(end / count * index);
  const to = Math.floor(end / count * (index + 1));
  return await reference.apply(undefined, [ from, to ]);
});
Promise.all(parts).then(function(totals) {
  console.log('on four threads: ' + totals.reduce((a, b) => a + b, 0));
});
