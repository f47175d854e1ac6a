// A rule engine: the library that all rules use is loaded once and written down as a snapshot, from which every execution starts with a
// heap of its own. Changes that one rule makes to the library are invisible to others. `node examples/rule-engine.mjs`

import { createSandbox, Isolate } from 'isolated-v8';

/** The library of the rules. Imagine some hundred kilobytes of it. */
const LIBRARY = `
  const bands = [[0, 'low'], [100, 'middle'], [1_000, 'high']];
  const band = (amount) => bands.findLast(([from]) => amount >= from)[1];
  const all = (...conditions) => (fact) => conditions.every((condition) => condition(fact));
  const country = (...names) => ({ country }) => names.includes(country);
  const within = (name) => ({ amount }) => band(amount) === name;
`;

const snapshot = Isolate.createSnapshot([{ code: LIBRARY, filename: 'file:///library.js' }]);

// Two isolates wait, ready, for the next rule.
const sandbox = createSandbox({}, { snapshot, warm: 2, timeout: 2_000, memoryLimit: 16 });

/** Rules as customers write them: each gets a payment and returns a decision. */
const rules = {
  'high payments are looked at': "all(within('high'), country('NO', 'SE'))(fact) ? 'review' : 'accept'",
  'moves the bands': "(bands[2][0] = 0, band(fact.amount) === 'high') ? 'review' : 'accept'",
  'does not end': '(() => { for (;;); })()',
};

async function judge(rule, fact) {
  const { result, failure } = await sandbox.execute(`const fact = ${JSON.stringify(fact)};\nreturn ${rule};`);
  // A rule that fails must not let a payment pass.
  return failure === undefined ? result : `review (${failure.code ?? failure.name})`;
}

const facts = [{ amount: 5_000, country: 'NO' }, { amount: 50, country: 'NO' }, { amount: 5_000, country: 'IS' }];
for (const [name, rule] of Object.entries(rules)) {
  const outcomes = await Promise.all(facts.map((fact) => judge(rule, fact)));
  console.log(`${name}: ${outcomes.join(', ')}`);
}
// The change that the second rule made is gone.
console.log(`once more: ${await judge(rules['high payments are looked at'], facts[1])}`);
