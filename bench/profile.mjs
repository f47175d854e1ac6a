// `node bench/profile.mjs <scenario>`: runs this package's side of one scenario for some time, for a profiler.

import { load, OURS } from './libraries.mjs';
import { scenarios } from './scenarios.mjs';

const PROFILED_MS = 5_000;

const [id] = process.argv.slice(2);
const { prepare, pauseMs } = scenarios.find((scenario) => scenario.id === id);
const { run, end } = prepare(await load(OURS));

/** Async runs need turns of the event loop; sync ones do not. */
async function loop(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const result = run();
    if (result instanceof Promise) await result;
    if (pauseMs !== undefined) await new Promise((resolve) => { setTimeout(resolve, pauseMs); });
  }
}

await loop(PROFILED_MS);
end();
process.exit(0);
