// How long an execution in a process of its own takes, from the call to its outcome: with a process that is started for it, and with
// one that waits. `node bench/subprocess.mjs [executions]`; any host runs it.

import ivm from '../index.mjs';

const count = Number(process.argv[2] ?? 50);
const CODE = 'return 1 + 1';
/** Milliseconds in which a process has become one that waits. */
const SETTLING = 100;

const noTools = async () => {};
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

async function measure(sandbox, prepare) {
  const times = [];
  for (let i = 0; i < count; i += 1) {
    await prepare();
    const start = performance.now();
    const { result, error } = await sandbox.execute(CODE, [], noTools);
    times.push(performance.now() - start);
    if (result !== 2) throw new Error(error);
  }
  return times.toSorted((a, b) => a - b);
}

function report(name, times) {
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(1);
  console.log(`${name}: median ${at(0.5)} ms, fastest ${at(0)} ms, 90 % within ${at(0.9)} ms`);
}

const cold = new ivm.SubprocessSandbox({ poolSize: 0 });
report('a new process', await measure(cold, () => sleep(SETTLING)));

const warm = new ivm.SubprocessSandbox({ poolSize: 1 });
// A report comes from a process that is ready.
report('one that waits', await measure(warm, async () => {
  await warm.confinement();
  await sleep(SETTLING);
}));
