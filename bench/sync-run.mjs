// Times sync calls in this process, and prints the results as JSON: `sync-run.mjs <options as JSON>`.

import { load, OURS } from './libraries.mjs';
import { compare, plans } from './measure.mjs';
import expressions from './expressions.mjs';
import calls from './sync.mjs';

const { libraries: names, syncCalls, filter = '', quick } = JSON.parse(process.argv[2]);
const libraries = new Map();
for (const name of names) libraries.set(name, await load(name));
libraries.get(OURS).configureEngine({ syncCalls });

const results = [];
for (const scenario of [...calls, ...expressions].filter(({ id }) => id.includes(filter))) {
  const { id, title, target } = scenario;
  results.push({ id, title, target, times: await compare(scenario, libraries, quick ? plans.quick : plans.full) });
}
console.log(JSON.stringify(results));
