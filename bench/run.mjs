// The process that measures: `node --expose-gc --no-node-snapshot bench/run.mjs <options as JSON>`, started by index.mjs.

import { arch, availableParallelism, platform } from 'node:os';
import { compare, plans } from './measure.mjs';
import { load, OURS, PEER, PEER_VERSION, version } from './libraries.mjs';
import { line, write } from './report.mjs';
import { choose, scenarios } from './scenarios.mjs';

const WIDTHS = [46, 11, 11, 7, 7];

const { host, filter, quick } = JSON.parse(process.argv[2]);
const plan = quick ? plans.quick : plans.full;
const libraries = load();
const print = (cells) =>
  console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(WIDTHS[i]) : cell.padStart(WIDTHS[i]))).join(' '));

const chosen = choose(filter);

const rows = [];
let complete = chosen.length === scenarios.length;
print([`one call of, on ${host}`, OURS, PEER, 'ratio', 'CPU']);
for (const scenario of chosen) {
  const { id, title, needs } = scenario;
  if (needs !== undefined && libraries.get(OURS)[needs] === undefined) {
    print([title, 'skipped: not there yet']);
    continue;
  }
  try {
    const times = await compare(scenario, libraries, plan);
    rows.push({ id, title, times });
    print(line(rows.at(-1)));
  } catch (error) {
    print([title, `failed: ${error.message}`]);
    complete = false;
    process.exitCode = 1;
  }
}

// A part of the table, or a rough one, is for the terminal only.
if (complete && !quick) {
  write(host, {
    host: `Node ${process.versions.node}`,
    versions: { [OURS]: version(), [PEER]: PEER_VERSION },
    platform: `${platform()} ${arch()}`,
    cpus: availableParallelism(),
    rounds: plan.rounds,
    unit: 'ms per call',
    rows,
  });
}
