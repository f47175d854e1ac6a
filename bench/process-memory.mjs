// The memory of a process of `SubprocessSandbox` that waits for an execution. Prints JSON: bytes. Linux only.

import { readFileSync, readdirSync } from 'node:fs';
import ivm from '../index.mjs';

const PAGE_BYTES = 4096;
const PPID = 1;
const SETTLE_MS = 500;

/** Resident memory of this process's children that they share with no file. */
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
    return { resident: resident * PAGE_BYTES, own: (resident - shared) * PAGE_BYTES };
  });
}

const sandbox = new ivm.SubprocessSandbox({ poolSize: 1 });
// It reports its confinement once it is ready.
await sandbox.confinement();
await new Promise((resolve) => { setTimeout(resolve, SETTLE_MS); });
// The other child is the executable that starts processes.
const [largest] = ownMemoryOfChildren().toSorted((a, b) => b.own - a.own);
console.log(JSON.stringify(largest));
process.exit(0);
