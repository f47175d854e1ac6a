// What options of sandboxes add to an execution, and the memory of a process that waits for one. Prints JSON: milliseconds and bytes.
// `node bench/features.mjs [executions]`

import { readFileSync, readdirSync } from 'node:fs';
import ivm from '../index.mjs';

const count = Number(process.argv[2] ?? 50);
const CODE = 'return 1 + 1';
/** Between an execution and the next, in which the next isolate is made. */
const PAUSE_MS = 10;
const PAGE_BYTES = 4096;
const PPID = 1;

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

/** Resident memory of this process's children that they share with no file, on Linux. */
function ownMemoryOfChildren() {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[PPID]) === process.pid;
    } catch {
      return false;
    }
  });
  return children.map((pid) => {
    const [, resident, shared] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ').map(Number);
    return (resident - shared) * PAGE_BYTES;
  });
}

const subprocess = new ivm.SubprocessSandbox({ poolSize: 1 });
await subprocess.confinement();
await sleep(500);
const processBytes = Math.max(...ownMemoryOfChildren());

console.log(JSON.stringify({ typescriptMs: typescript - plain, webMs: web - plain, processBytes }));
process.exit(0);
