// Resident memory of processes of `SubprocessSandbox` that wait for an execution. Linux only.

import { readFileSync, readdirSync } from 'node:fs';
import ivm from '../index.mjs';

const PAGE_BYTES = 4096;
/** The position of the parent's number in `/proc/<pid>/stat`, after the name. */
const PPID = 1;
const SETTLE_MS = 500;

/** @returns {{ resident: number, own: number }[]} bytes of each child of this process; `own` is what it shares with no file */
function memoryOfChildren() {
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

/** The memory of one process, in bytes. */
export async function warmProcessMemory() {
  const sandbox = new ivm.SubprocessSandbox({ poolSize: 1 });
  // It reports its confinement once it is ready.
  await sandbox.confinement();
  await new Promise((resolve) => { setTimeout(resolve, SETTLE_MS); });
  // The other child is the executable that starts processes.
  return memoryOfChildren().toSorted((a, b) => b.own - a.own)[0];
}
