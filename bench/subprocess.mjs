// The duration of an execution in a child process, from the call to its outcome, and its processor time. Prints milliseconds for each kind of
// process and sandbox as JSON. `node bench/subprocess.mjs [executions]` runs on any host.

import ivm from '../index.mjs';

const count = Number(process.argv[2] ?? 100);
const CODE = 'return 1 + 1';
/** The pause between executions. */
const PAUSE_MS = 5;
/** Code that uses some megabytes of heap. */
const LIBRARY = 'var data = Array.from({ length: 100000 }, (_, i) => ({ i }));';
const PERCENT_90 = 0.9;

const noTools = async () => {};
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const snapshot = ivm.Isolate.createSnapshot([{ code: LIBRARY }]);

/** Settings of sandboxes. Their processes serve no other sandboxes. */
const sandboxes = {
  '': {},
  ', with `web`': { web: true },
  ', with a snapshot': { snapshot },
  ', with both': { snapshot, web: true },
};

const kinds = {
  'a process that is started for it': { poolSize: 0, ready: async () => {} },
  // It reports its confinement once it is ready.
  'one that waits': { poolSize: 1, ready: (sandbox) => sandbox.confinement() },
  'one of four that wait, whether or not they are ready': { poolSize: 4, ready: async () => {} },
};

const at = (values, share) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

async function measure(options, { poolSize, ready }) {
  const sandbox = new ivm.SubprocessSandbox({ ...options, poolSize });
  const [wall, cpu] = [[], []];
  for (let i = 0; i < count; i += 1) {
    await ready(sandbox);
    await sleep(PAUSE_MS);
    const start = performance.now();
    const { result, error, usage } = await sandbox.execute(CODE, [], noTools);
    wall.push(performance.now() - start);
    cpu.push(usage.cpuMs);
    if (result !== 2) throw new Error(error);
  }
  return { median: at(wall, 1 / 2), within90: at(wall, PERCENT_90), fastest: at(wall, 0), cpu: at(cpu, 1 / 2) };
}

const results = {};
for (const [kind, how] of Object.entries(kinds)) {
  for (const [what, options] of Object.entries(sandboxes)) results[kind + what] = await measure(options, how);
}
console.log(JSON.stringify(results));
process.exit(0);
