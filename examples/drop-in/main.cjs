// A program that was written for isolated-vm, as it was. `package.json` beside it says that isolated-vm is isolated-v8; nothing else
// tells the difference. `npm install && node main.cjs`
//
// It runs formulas that customers have written for the columns of a table.

const ivm = require('isolated-vm');

const rows = [
  { item: 'pear', price: 1.5, count: 4 },
  { item: 'fig', price: 0.25, count: 100 },
];
const formulas = {
  total: 'row.price * row.count',
  label: '`${row.count} × ${upper(row.item)}`',
  broken: 'row.discount.rate',
  endless: '(() => { for (;;); })()',
  greedy: '(() => { const kept = []; for (;;) kept.push(new Array(1000).fill(row.price)); })()',
};

/** One isolate for a customer; each formula is compiled once and run for each row. */
class Customer {
  constructor() {
    this.isolate = new ivm.Isolate({ memoryLimit: 16 });
    this.context = this.isolate.createContextSync();
    const { global } = this.context;
    global.setSync('global', global.derefInto());
    // A function of the host, called and waited for by the guest.
    global.setSync('upper', new ivm.Callback((text) => String(text).toUpperCase()));
  }

  async column(formula) {
    const script = await this.isolate.compileScript(formula, { filename: 'file:///formula.js' });
    const values = [];
    for (const row of rows) {
      await this.context.global.set('row', new ivm.ExternalCopy(row).copyInto({ release: true }));
      values.push(await script.run(this.context, { timeout: 2_000, copy: true }));
    }
    return values;
  }
}

async function main() {
  for (const [name, formula] of Object.entries(formulas)) {
    const customer = new Customer();
    try {
      console.log(name, JSON.stringify(await customer.column(formula)));
    } catch (error) {
      console.log(name, 'failed:', error.message);
    }
    if (!customer.isolate.isDisposed) customer.isolate.dispose();
  }
}

main();
