// One cold start in this process, which must be new: `cold-run.cjs <path of a library> <scenario>` prints as JSON its duration and processor
// time in milliseconds.

const EXECUTIONS = 10;
const PAUSE_MS = 5;
const NANOSECONDS = 1e6;
/** `performance` would load files of Node that a library may need, too. */
const now = () => Number(process.hrtime.bigint()) / NANOSECONDS;
/** A thread that has just started the process's last process sleeps by then. */
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const [path, name] = process.argv.slice(2);

/** What isolated-vm has instead of `createSandbox`. */
async function runApart(ivm) {
  const isolate = new ivm.Isolate();
  const context = await isolate.createContext();
  const result = await context.eval('(async () => 1 + 1)()', { promise: true, copy: true });
  isolate.dispose();
  return { result };
}

const inProcess = (ivm) => new ivm.SubprocessSandbox({ poolSize: 0 });
const execute = (sandbox) => sandbox.execute('return 1 + 1', [], async () => {});

/** Each returns the results of its last step. */
const scenarios = {
  require: () => 2,
  evalSync: (ivm) => new ivm.Isolate().createContextSync().evalSync('1 + 1'),
  createSandbox: async (ivm) => (await (ivm.createSandbox === undefined ? runApart(ivm) : ivm.createSandbox({}).execute('1 + 1'))).result,
  subprocess: async (ivm) => (await execute(inProcess(ivm))).result,
};

async function once() {
  const [start, cpu] = [now(), process.cpuUsage()];
  const result = await scenarios[name](require(path));
  const wall = now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { result, wall, cpu: (user + system) / 1_000 };
}

/** A process for each execution, all but the first. */
async function processes() {
  const sandbox = inProcess(require(path));
  const times = [];
  for (let i = 0; i <= EXECUTIONS; i += 1) {
    const start = now();
    const { result } = await execute(sandbox);
    if (i > 0) times.push(now() - start);
    if (result !== 2) return { result };
    await sleep(PAUSE_MS);
  }
  return { result: 2, wall: middle(times) };
}

(name === 'process' ? processes() : once()).then(({ result, ...times }) => {
  if (result !== 2) throw new Error(`a wrong result: ${result}`);
  console.log(JSON.stringify(times));
  process.exit(0);
});
