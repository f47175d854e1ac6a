// isolated-vm's second sample from 2018 on: one sum, on one thread and on four.

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
  const script = await isolate.compileScript(sum + '');
  await script.run(context);
  const reference = await context.global.get('sum');
  const from = Math.floor(end / count * index);
  const to = Math.floor(end / count * (index + 1));
  return await reference.apply(undefined, [ from, to ]);
});
Promise.all(parts).then(function(totals) {
  console.log('on four threads: ' + totals.reduce((a, b) => a + b, 0));
});
