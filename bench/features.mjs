// What options of sandboxes add to an execution, and the memory of a process that waits for one. Prints JSON: milliseconds and bytes.
// `node bench/features.mjs [executions]`

import ivm from '../index.mjs';
import { warmProcessMemory } from './child-memory.mjs';

const count = Number(process.argv[2] ?? 50);
const CODE = 'return 1 + 1';
/** Between an execution and the next, in which the next isolate is made. */
const PAUSE_MS = 10;

const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const sandboxes = Object.entries({ plain: {}, typescript: { typescript: true }, web: { web: true } })
  .map(([name, options]) => ({ name, sandbox: ivm.createSandbox({}, options), times: [] }));

// In turns, so that all of them meet the same disturbances.
for (let i = -2; i < count; i += 1) {
  for (const { sandbox, times } of sandboxes) {
    await sleep(PAUSE_MS);
    const start = performance.now();
    const { result, error } = await sandbox.execute(CODE);
    if (result !== 2) throw new Error(error);
    if (i >= 0) times.push(performance.now() - start);
  }
}
const [plain, typescript, web] = sandboxes.map(({ times }) => middle(times));

const { own: processBytes } = await warmProcessMemory();

console.log(JSON.stringify({ typescriptMs: typescript - plain, webMs: web - plain, processBytes }));
process.exit(0);
