// The life cycle of an isolate: created directly, and by a sandbox. Each is measured back to back and with pauses, as in a server, with and
// without warm isolates.

import { withoutEnd } from './subjects.mjs';

const PAUSE_MS = 5;
/** Long enough to include background work. */
const LONG_SAMPLE_MS = 500;
const LONG_ROUNDS = 10;
const CALLS = 10;
const ONE_SHOT = { memoryLimit: 32, timeout: 30_000 };

function lifeCycleSync(ivm, options) {
  return () => {
    const isolate = new ivm.Isolate(options);
    const result = isolate.createContextSync().evalSync('1+1');
    isolate.dispose();
    return result;
  };
}

function lifeCycle(ivm, options) {
  return async () => {
    const isolate = new ivm.Isolate(options);
    const context = await isolate.createContext();
    const result = await context.eval('1+1');
    isolate.dispose();
    return result;
  };
}

const ONE_PLUS_ONE = { code: '1 + 1', body: 'return 1 + 1', globals: { greeting: 'hello' }, expected: 2 };
const LOOP = `let sum = 0; for (let i = 0; i < ${CALLS}; i += 1) sum += await add(i, 1); return sum;`;
const HOST_CALLS = { code: LOOP, body: LOOP, globals: { add: (a, b) => a + b }, expected: (CALLS * (CALLS + 1)) / 2 };

function bySandbox(ivm, { code, globals }, options) {
  const sandbox = ivm.createSandbox(globals, { ...ONE_SHOT, ...options });
  return async () => (await sandbox.execute(code)).result;
}

/** `createSandbox`, written with isolated-vm's API. */
function byHand(ivm, { body, globals }) {
  return async () => {
    const logs = [];
    const isolate = new ivm.Isolate({ memoryLimit: ONE_SHOT.memoryLimit });
    const context = await isolate.createContext();
    await context.global.set('log', new ivm.Callback((...args) => void logs.push(args.join(' '))));
    await context.eval('globalThis.console = { log, info: log, warn: log, error: log, debug: log };');
    for (const [name, value] of Object.entries(globals)) {
      await context.global.set(name, typeof value === 'function' ? new ivm.Callback(value) : value);
    }
    const script = await isolate.compileScript(`(async () => { ${body} })()`);
    const result = await script.run(context, { timeout: ONE_SHOT.timeout, promise: true, copy: true });
    isolate.dispose();
    return result;
  };
}

/** isolated-vm's side is the same with and without warm isolates. */
const sandbox = (task) => (ivm, options) => (ivm.createSandbox ? bySandbox(ivm, task, options) : byHand(ivm, task));

/** `targets`: back to back, and with pauses. `coldTarget`: back to back, without warm isolates. */
const cycles = [
  { id: 'life-cycle-sync', targets: ['0.7, CPU 1.0', '0.7'], coldTarget: '1.0', title: '`new Isolate`, context, `evalSync`, dispose', expected: 2, make: lifeCycleSync },
  { id: 'life-cycle', targets: ['0.7, CPU 1.0', '0.7'], coldTarget: '1.0', title: '`new Isolate`, context, `eval`, dispose', expected: 2, make: lifeCycle },
  { id: 'createSandbox', targets: ['0.5, CPU 0.7', '0.15'], title: "`createSandbox`, `execute('1 + 1')`", expected: ONE_PLUS_ONE.expected, make: sandbox(ONE_PLUS_ONE) },
  { id: 'createSandbox-calls', targets: ['', '0.3'], title: `\`createSandbox\`, ${CALLS} host calls`, expected: HOST_CALLS.expected, make: sandbox(HOST_CALLS) },
];

const warm = cycles.map(({ make, ...cycle }) => ({ ...cycle, prepare: withoutEnd((ivm) => make(ivm)) }));
const cold = cycles.map(({ make, id, title, expected, coldTarget }) => ({
  id: `${id}-cold`,
  targets: [coldTarget],
  title: `${title}, \`warm: 0\``,
  expected,
  prepare: withoutEnd((ivm) => make(ivm, { warm: 0 })),
}));

export default [...warm, ...cold].flatMap(({ targets: [target, pausedTarget], ...cycle }) => [
  { ...cycle, target, title: `${cycle.title}, back to back`, sampleMs: LONG_SAMPLE_MS, rounds: LONG_ROUNDS },
  { ...cycle, target: pausedTarget, id: `${cycle.id}-paused`, title: `${cycle.title}, ${PAUSE_MS} ms apart`, pauseMs: PAUSE_MS },
]);
