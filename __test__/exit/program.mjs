// A process that brings a guest into a state and ends: `program.mjs <state> <ending>`. With `program.mjs <state> workers <endings>`, worker
// threads do that while the main thread observes.

import { createRequire } from 'node:module';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const ivm = createRequire(import.meta.url)('../../index.js'); // faster to load than the ES module
const [state, where, list = ''] = isMainThread ? process.argv.slice(2) : [workerData.state, workerData.ending];
const ending = where === 'workers' ? undefined : where;

const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const HANG = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';
const OUT_OF_MEMORY = "'a'.repeat(2 ** 28).split('')";

/** A limit for processes that end by themselves, which must not wait forever. */
const limits = ending === 'natural' ? { timeout: 200 } : {};
/** A sandbox's limit includes the time to make it. */
const sandboxLimits = ending === 'natural' ? { timeout: 1_000 } : {};
/** A limit for states in which time does not count towards `timeout`. */
const deadline = ending === 'natural' ? { deadline: 1_500 } : {};
const swallow = () => {};

const make = (options) => {
  const isolate = new ivm.Isolate(options);
  return { isolate, context: isolate.createContextSync() };
};

/** Makes a call whose guest runs `code`. Resolves when it runs. */
const starts = (code, { isolate, context } = make()) => new Promise((resolve) => {
  context.global.setSync('started', new ivm.Callback(resolve, { ignored: true }));
  context.eval(`started(); ${code}`, limits).catch(swallow);
  globalThis.kept = isolate;
});

/** Makes the engine abandon a guest that cannot be stopped. */
async function abandonGuest(code) {
  // On a busy machine the time may be over before the guest is where it cannot be stopped.
  for (let i = 0; i < 20; i += 1) {
    const error = await make().context.eval(code, { timeout: 20 }).catch((reason) => reason);
    if (error?.code === 'ERR_ISOLATE_UNRESPONSIVE') return;
  }
  throw new Error('It was not given up');
}

/** Sends a message to the main thread. */
const tell = () => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
  parentPort.postMessage('ready');
};

/** Ends this thread now. If something else ends it, it runs `stay` until then. */
function end(stay = () => { setInterval(() => {}, 1_000); }) {
  if (isMainThread) console.log('x'.repeat(30_000));
  switch (ending) {
    case 'process.exit':
      process.exit(7);
      break;
    case 'Deno.exit':
      globalThis.Deno.exit(7);
      break;
    case 'uncaught':
      throw new Error('of the program itself');
    case 'terminate':
      tell();
      stay();
      break;
    default:
      process.exitCode = 3;
  }
}

const loopForever = () => { for (;;); };

/** Brings a guest into a state, and ends there. */
const STATES = {
  idle() {
    for (let i = 0; i < 5; i += 1) make().context.evalSync('1');
    end();
  },
  async loop() {
    await starts('for (;;);');
    end();
  },
  async microtasks() {
    await starts('(async () => { for (;;) await 0 })()');
    end();
  },
  async hang() {
    await starts(HANG);
    end();
  },
  async 'out of memory'() {
    await starts('const all = []; for (;;) all.push(new Array(1000).fill(1.5));');
    end();
  },
  async parked() {
    await make().context.eval(OUT_OF_MEMORY).catch(({ code }) => {
      if (code !== 'ERR_ISOLATE_MEMORY') throw new Error(`It ended with ${code}`);
    });
    end();
  },
  async 'given up'() {
    await abandonGuest(HANG);
    end();
  },
  async suspended() {
    await abandonGuest('Array.prototype.every.call({ length: 2 ** 53 - 1 }, Object)');
    // On a busy machine this may take several attempts.
    for (let i = 0; i < 1_000 && ivm.engineStats().lostRunning > 0; i += 1) await sleep(20);
    if (ivm.engineStats().lostRunning > 0) throw new Error('It was not suspended');
    end();
  },
  async 'Atomics.wait'() {
    await starts('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');
    end();
  },
  'a sync call'() {
    const { context } = make();
    context.global.setSync('started', new ivm.Callback(() => end(loopForever)));
    try {
      context.evalSync(ending === 'natural' ? 'started(); for (;;);' : 'started()', limits);
    } catch (error) {
      if (error.code !== 'ERR_ISOLATE_TIMEOUT') throw error;
    }
  },
  async 'an async call'() {
    const { context } = make();
    context.global.setSync('started', new ivm.Callback(() => end(loopForever)));
    await context.eval('started()');
  },
  'nested calls'() {
    const { context } = make();
    context.global.setSync('inner', () => end(loopForever));
    context.global.setSync('outer', () => context.evalSync('inner()'));
    context.evalSync('outer()');
  },
  async 'endless calls'() {
    const { context } = make();
    let calls = 0;
    const begun = new Promise((resolve) => {
      context.global.setSync('call', () => { if ((calls += 1) === 100) resolve(); });
    });
    context.eval('for (;;) try { call() } catch {}', limits).catch(swallow);
    await begun;
    end();
  },
  async applySyncPromise() {
    const { context } = make();
    await new Promise((resolve) => {
      context.global.setSync('slow', new ivm.Reference(() => { resolve(); return new Promise(swallow); }));
      context.eval('slow.applySyncPromise()', deadline).catch(swallow);
    });
    end();
  },
  'being made'() {
    for (let i = 0; i < 20; i += 1) new ivm.Isolate({ memoryLimit: 8 }).createContext();
    end(() => { for (;;) new ivm.Isolate({ memoryLimit: 8 }).dispose(); });
  },
  'being disposed'() {
    const all = Array.from({ length: 5 }, () => make().isolate);
    for (const isolate of all) isolate.dispose();
    end();
  },
  async 'a sandbox that loops'() {
    await new Promise((resolve) => {
      ivm.createSandbox({ started: resolve }, sandboxLimits).execute('started().then(() => { for (;;); })').catch(swallow);
    });
    end();
  },
  async 'a sandbox that waits'() {
    await new Promise((resolve) => {
      ivm.createSandbox({ wait: () => { resolve(); return new Promise(swallow); } }, sandboxLimits).execute('wait()').catch(swallow);
    });
    end();
  },
  async 'a debugger pause'() {
    const { isolate } = make({ inspector: true });
    const context = isolate.createContextSync({ inspector: true });
    const session = isolate.createInspectorSession();
    await new Promise((resolve) => {
      session.onNotification = (json) => { if (json.startsWith('{"method":"Debugger.paused"')) resolve(); };
      session.dispatchProtocolMessage('{"id":1,"method":"Debugger.enable"}');
      context.eval('debugger; for (;;);', deadline).catch(swallow);
    });
    globalThis.kept = session;
    end();
  },
  async 'an import that waits'() {
    const { isolate, context } = make();
    const module = isolate.compileModuleSync('await import("x")');
    await new Promise((resolve) => {
      module.instantiateSync(context, () => { resolve(); return new Promise(swallow); });
      module.evaluate({ ...deadline, promise: true }).catch(swallow);
    });
    end();
  },
  async 'a resolver that waits'() {
    const { isolate, context } = make();
    await new Promise((resolve) => {
      isolate.compileModuleSync('import "x"').instantiate(context, () => { resolve(); return new Promise(swallow); }).catch(swallow);
    });
    end();
  },
};

/** Runs the state in a worker, and reports how that ended. */
async function watch(one) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { state, ending: one } });
  let error;
  worker.on('error', ({ message }) => { error = message; });
  const exited = new Promise((resolve) => { worker.once('exit', resolve); });
  if (one === 'terminate') {
    await new Promise((resolve) => { worker.once('message', resolve); });
    await worker.terminate();
  }
  return { ending: one, code: await exited, ...(error === undefined ? {} : { error }) };
}

if (ending === undefined) {
  const { context } = make();
  const ends = await Promise.all(list.split(',').map(watch));
  console.log(JSON.stringify([...ends, context.evalSync('6 * 7'), await make().context.eval('6 * 7')]));
} else {
  await STATES[state]();
}
