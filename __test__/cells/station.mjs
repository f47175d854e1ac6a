// A realm that takes part: it has functions that others call, and calls those of others. Hosts and guests evaluate the same file.

import { descriptions } from './describe.mjs';
import { formsOf } from './forms.mjs';
import { valuesOf } from './values.mjs';

export function createStation(ivm) {
  const describe = descriptions(ivm);
  const specs = Object.values(valuesOf(ivm));
  const forms = formsOf();
  const make = (index) => specs[index].make();
  const links = {};
  const store = {};
  const notes = {};

  const targets = {
    give: make,
    giveThis: function giveThis() {
      'use strict';
      return make(this);
    },
    giveOf: ({ index }) => make(index),
    later: async (index) => make(index),
    raise: (index) => { throw make(index); },
    reject: async (index) => { throw make(index); },
    see: (value) => describe(value),
    seeThis: function seeThis() {
      'use strict';
      return describe(this);
    },
    seeLater: async (promise) => describe(await promise),
    seeCopy: (copy) => describe(copy.copy()),
    seeKept: (key) => describe(store[key]),
    echo: (value) => value,
    second: (_first, value) => value,
    through: (reference, index) => reference.applySync(undefined, [index.derefInto()], { result: { copy: true } }),
    throughFunction: (call, index) => call(index),
    throughAsync: (reference, index) => reference.apply(undefined, [index.derefInto()], { result: { copy: true } }),
    note: (value) => {
      const text = describe(value);
      notes[text] = (notes[text] ?? 0) + 1;
    },
  };
  const values = {};
  specs.forEach((_, index) => Object.assign(values, { [index]: make(index), [`value${index}`]: make(index) }));
  const mapped = (functions, change) => Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, change(call)]));
  const reference = (value) => new ivm.Reference(value);

  /** What others need to call this station. */
  const link = () => ({
    ...mapped(targets, reference),
    none: specs.map((_, index) => reference(() => make(index))),
    held: specs.map((_, index) => reference(make(index))),
    values: reference(values),
    store: reference(store),
    run: reference(run),
    callbacks: mapped(targets, (call) => new ivm.Callback(call)),
    noneCallbacks: specs.map((_, index) => new ivm.Callback(() => make(index))),
    asyncCallbacks: mapped(targets, (call) => new ivm.Callback(call, { async: true })),
    noteCallback: new ivm.Callback(targets.note, { ignored: true }),
  });
  const station = { ivm, make, targets, give: targets.give };

  /** The outcome of a cell as a text, or a promise of it. */
  function run(form, to, index) {
    const given = (value) => `= ${describe(value)}`;
    const thrown = (error) => `! ${describe(error)}`;
    try {
      const value = forms[form].run(links[to], index, station);
      return value instanceof Promise ? value.then(given, thrown) : given(value);
    } catch (error) {
      return thrown(error);
    }
  }
  /** Has another station run the cell. */
  const forward = (by, form, to, index, promises) => links[by].run.applySync(undefined, [form, to, index], promises ? { result: { promise: true } } : {});
  return {
    describe, link, run, forward, notes,
    connect(name, other) {
      links[name] = other;
    },
    /** Adds what the owner of a context has. */
    own(name, of, scripts) {
      Object.assign(links[name], { context: of, scripts });
    },
    targets,
    names: Object.keys(forms),
  };
}
