// Host functions that fail in every way, called in every way. It prints what each caller got and what was reported. The tests check whether
// it finishes.

import { EventEmitter } from 'node:events';
import { subscribe } from 'node:diagnostics_channel';
import ivm from '../../index.mjs';

const LATER = 30;
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const later = async (message) => {
  await sleep(LATER);
  throw new Error(message);
};

/** Its constructor cannot make the promise that `then` returns. */
class Strict extends Promise {
  constructor(executor, token) {
    if (token !== 'mine') throw new TypeError('Strict promises are made by their owner');
    super(executor);
  }
}
/** Its work begins when it is awaited. */
class Lazy extends Promise {
  #start;
  constructor(start) {
    super((resolve) => { resolve(); });
    this.#start = start;
  }
  static get [Symbol.species]() { return Promise; }
  // eslint-disable-next-line unicorn/no-thenable
  then(resolve, reject) { return this.#start().then(resolve, reject); }
}
const thenable = (then) => Object.defineProperty({}, `th${'en'}`, { value: then });

/** Looking at it throws. */
function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** What a function does, given the message of its error. */
const BEHAVIOURS = {
  throws: (message) => { throw new Error(message); },
  throwsOdd: () => { throw Object.assign(() => {}, { toString() { throw new Error('odd'); } }); },
  rejects: async (message) => { throw new Error(message); },
  rejectsLater: later,
  rejectsOdd: () => Promise.reject(Object.assign(() => {}, { toString() { throw new Error('odd'); } })),
  rejectsNull: () => Promise.reject(null),
  strict: (message) => new Strict((_, reject) => { reject(new Error(message)); }, 'mine'),
  lazy: (message) => new Lazy(() => later(message)),
  thenableRejects: (message) => thenable((_, reject) => { setTimeout(() => reject(new Error(message)), LATER); }),
  thenableThrows: (message) => thenable(() => { throw new Error(message); }),
  thenableThrowsLater: (message) => thenable(async () => { throw new Error(message); }),
  thenableBoth: (message) => thenable((resolve, reject) => { reject(new Error(message)); resolve('both'); throw new Error('third'); }),
  thenableGetter: (message) => Object.defineProperty({}, `th${'en'}`, { get() { throw new Error(message); } }),
  never: () => new Promise(() => {}),
  huge: async () => 'x'.repeat(2 ** 24),
  uncloneable: async () => () => {},
  nested: async (message) => ({ list: [{ inner: later(message) }], run() {} }),
  array: (message) => [later(message), later(message)],
  throwsRevoked: () => { throw revoked(); },
  rejectsRevoked: () => Promise.reject(revoked()),
  throwsBelowRevoked: () => { throw Object.setPrototypeOf({}, revoked()); },
  rejectsBelowRevoked: () => Promise.reject(Object.setPrototypeOf({}, revoked())),
  resolvesRevoked: async () => ({ inner: revoked() }),
  throwsPromise: (message) => { throw later(message); },
  rejectsWithPromise: (message) => Promise.reject(later(message)),
  throwsList: (message) => { throw [{ inner: later(message) }]; },
  throwsCause: (message) => { throw new Error('outer', { cause: new TypeError('inner', { cause: later(message) }) }); },
  throwsProperty: (message) => { throw Object.assign(new RangeError('outer'), { [Symbol('key')]: later(message), list: [later(message)] }); },
  rejectsAggregate: async (message) => { throw new AggregateError([new Error('first'), later(message), Object.assign(new Error('third'), { job: later(message) })]); },
};

const results = {};
const reports = [];
const messageOf = (error) => {
  try {
    return error?.message;
  } catch {
    return 'no message';
  }
};
subscribe('isolated-v8:unhandled-host-error', ({ error, origin }) => { reports.push([origin, String(messageOf(error))]); });

const shown = (value) => (typeof value === 'string' && value.length > 100 ? `a string of ${value.length}` : value instanceof ivm.Reference ? 'a Reference' : String(value));
async function settledWithin(promise, time) {
  let timer;
  const over = new Promise((resolve) => { timer = setTimeout(() => resolve('nothing came'), time); });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** The value behind a Reference remains reachable by its holders. Promises inside it are not searched for. */
const BEHIND = ['nested', 'array'];
/** The host program itself gets what was thrown, and the promises in it. */
const THROWN = ['throwsPromise', 'rejectsWithPromise', 'throwsList', 'throwsCause', 'throwsProperty', 'rejectsAggregate'];

/** What must run, some of it at the same time. */
const tasks = [];
const work = async () => {
  for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) await task();
};

/** Tries every behaviour in one way. `run` gets the function that fails, and the number of milliseconds for which the guest waits. */
function way(name, run, left = []) {
  results[name] = {};
  for (const behaviour of Object.keys(BEHAVIOURS).filter((each) => !left.includes(each))) {
    tasks.push(async () => { results[name][behaviour] = await outcomeOf(run, BEHAVIOURS[behaviour], `boom ${name} ${behaviour}`); });
  }
}

async function outcomeOf(run, behaviour, message) {
  const fail = () => behaviour(message);
  const wait = behaviour === BEHAVIOURS.never ? 300 : 10_000;
  try {
    return `value: ${shown(await settledWithin(run(fail, wait), wait + 1_000))}`;
  } catch (error) {
    return `error: ${shown(messageOf(error))}`;
  }
}

/** Guest code that reports how its call ended. */
const tried = (call) => `(async () => { try { const value = await (${call}); return typeof value === 'string' && value.length > 100 ? 'long' : 'got ' + value; } catch (error) { return 'failed ' + error?.message; } })()`;

async function withGuest(run, options = {}) {
  const isolate = new ivm.Isolate({ memoryLimit: 32, warm: 0, ...options });
  try {
    const context = await isolate.createContext();
    return await run(context, isolate);
  } finally {
    // Timers run in order: the behaviour's is over.
    await sleep(2 * LATER);
    if (!isolate.isDisposed) isolate.dispose();
  }
}

const evalWith = (given, call, deadline) => withGuest(async (context) => {
  context.global.setSync('ivm', ivm);
  context.global.setSync('given', given);
  return context.eval(tried(call), { promise: true, copy: true, deadline });
});

const GROUPS = {
  core() {
    way('function', (fail, wait) => evalWith(fail, 'given()', wait));
    way('callback', (fail, wait) => evalWith(new ivm.Callback(fail), 'given()', wait));
    way('callbackAsync', (fail, wait) => evalWith(new ivm.Callback(fail, { async: true }), 'given()', wait));
    way('callbackIgnored', (fail, wait) => evalWith(new ivm.Callback(fail, { ignored: true }), 'given()', wait));
    const reference = (call) => (fail, wait) => evalWith(new ivm.Reference(fail), call, wait);
    way('apply', reference('given.apply(undefined, [])'), BEHIND);
    way('applyPromise', reference('given.apply(undefined, [], { result: { promise: true, copy: true } })'));
    way('applySync', reference('given.applySync(undefined, [])'), BEHIND);
    way('applyIgnored', reference('given.applyIgnored(undefined, [])'));
    way('applySyncPromise', reference('given.applySyncPromise(undefined, [])'), BEHIND);
    way('applyCallback', (fail, wait) => evalWith(new ivm.Reference(new ivm.Callback(fail)), 'given.applyIgnored(undefined, [])', wait));
    way('getter', (fail, wait) => evalWith(new ivm.Reference({ get value() { return fail(); } }), "given.get('value', { accessors: true })", wait), BEHIND);
    way('getterCopied', (fail, wait) => evalWith(new ivm.Reference({ get value() { return fail(); } }), 'given.copy()', wait), BEHIND);
  },
  home() {
    const local = (call) => (fail) => call(new ivm.Reference(fail));
    way('homeApply', local((reference) => reference.apply(undefined, [])), [...BEHIND, ...THROWN]);
    way('homeApplyPromise', local((reference) => reference.apply(undefined, [], { result: { promise: true, copy: true } })), THROWN);
    way('homeApplySync', local(async (reference) => reference.applySync(undefined, [])), [...BEHIND, ...THROWN]);
    way('homeApplyIgnored', local(async (reference) => reference.applyIgnored(undefined, [])));
    const back = (options) => (fail) => withGuest(async (context) => {
      context.global.setSync('given', new ivm.Callback(fail, options));
      return (await context.global.get('given'))();
    });
    way('homeFunction', back());
    way('homeFunctionAsync', back({ async: true }));
    way('homeFunctionIgnored', back({ ignored: true }));
    const resolver = (instantiate) => (fail, wait) => withGuest(async (context, isolate) => {
      const module = await isolate.compileModule("import 'a'; import 'b';");
      return instantiate(module, context, fail, wait);
    });
    way('resolver', resolver((module, context, fail, wait) => module.instantiate(context, fail, { signal: AbortSignal.timeout(wait) })), THROWN);
    way('resolverSync', resolver((module, context, fail) => module.instantiateSync(context, fail)), THROWN);
    way('resolverImport', (fail, wait) => withGuest(async (context, isolate) => {
      const module = await isolate.compileModule(`export default ${tried("import('a')")};`);
      await module.instantiate(context, fail);
      await module.evaluate({ deadline: wait });
      return module.namespace.get('default', { promise: true });
    }));
    way('inspector', (fail) => withGuest(async (_, isolate) => {
      const session = isolate.createInspectorSession();
      const answered = new Promise((resolve) => {
        session.onResponse = () => { resolve(); return fail(); };
      });
      session.dispatchProtocolMessage('{"id":1,"method":"Runtime.enable"}');
      await answered;
    }, { inspector: true }));
  },
  sandboxes() {
    const outcome = ({ result, error }) => result ?? `execution failed: ${error}`;
    const body = (call) => `return await ${tried(call)}`;
    way('global', async (fail, wait) => outcome(await ivm.createSandbox({ fail }, { timeout: wait, warm: 0 }).execute(body('fail()'))));
    way('globalDeep', async (fail, wait) => outcome(await ivm.createSandbox({ api: { request: fail } }, { timeout: wait, warm: 0 }).execute(body('api.request()'))));
    way('onLog', async (fail) => outcome(await ivm.createSandbox({}, { onLog: fail, warm: 0 }).execute('console.log(1)\nreturn 1')));
    const tools = [{ name: 'a:b', description: '' }];
    way('tool', async (fail, wait) => outcome(await new ivm.IsolatedVMSandbox({ timeout: wait, warm: 0 }).execute(body('a.b({})'), tools, fail)));
    way('toolAfterEnd', async (fail, wait) => outcome(await new ivm.IsolatedVMSandbox({ timeout: wait, warm: 0 }).execute('a.b({}); return 1', tools, fail)));
    way('schema', async (fail, wait) => outcome(await new ivm.IsolatedVMSandbox({ timeout: wait, warm: 0 })
      .execute(body('a.b({})'), [{ name: 'a:b', inputSchema: { '~standard': { version: 1, vendor: 'test', validate: fail } } }], () => 1)));
    way('approve', async (fail, wait) => outcome(await new ivm.IsolatedVMSandbox({ timeout: wait, warm: 0, approve: fail }).execute(body('a.b({})'), tools, () => 1)));
    way('onLogAgent', async (fail) => outcome(await new ivm.IsolatedVMSandbox({ onLog: fail, warm: 0 }).execute('console.log(1n); return 1', [], () => {})));
  },
  subprocess() {
    const outcome = ({ result, error }) => result ?? `execution failed: ${error}`;
    const body = (call) => `return await ${tried(call)}`;
    const tools = [{ name: 'a:b', description: '' }];
    way('toolApart', async (fail, wait) => outcome(await new ivm.SubprocessSandbox({ timeout: Math.max(wait, 3_000), poolSize: 0 }).execute(body('a.b({})'), tools, fail)));
    way('onLogApart', async (fail, wait) => outcome(await new ivm.SubprocessSandbox({ timeout: Math.max(wait, 3_000), poolSize: 0, onLog: fail }).execute('console.log(1); return 1', [], () => {})));
  },
  plugins() {
    const manifest = { id: 'org.example.p', name: 'P', version: '1.0.0', description: '', author: 'A', license: 'ISC', entrypoint: 'i.js', permissions: { storage: { maxSize: 2 ** 27 }, hooks: ['e'] } };
    const plugged = (code, contextOf, more = {}) => async (fail, wait) => {
      const { logger, options, execution } = typeof more === 'function' ? more(fail) : more;
      const sandbox = new ivm.IsolatedVmSandbox(logger, { warm: 0, ...options });
      const isolate = await sandbox.createIsolate(manifest);
      try {
        return await sandbox.executeInSandbox(isolate, code, contextOf(fail), { deadline: wait, ...execution });
      } finally {
        await sleep(2 * LATER);
        sandbox.disposeAll();
      }
    };
    way('method', plugged(tried('context.other()'), (fail) => ({ other: fail })));
    way('methodNotAwaited', plugged('context.other(); 1', (fail) => ({ other: fail })));
    way('metrics', plugged(tried('context.metrics.count()'), (fail) => ({ metrics: { count: fail } })));
    way('returned', plugged(tried('context.timer()()'), (fail) => ({ timer: () => fail })));
    way('cacheGet', plugged(tried("context.cache.get('k')"), (fail) => ({ cache: { get: fail } })));
    way('cacheSet', plugged(tried("context.cache.set('k', 1)"), (fail) => ({ cache: { set: fail } })));
    way('contextLogger', plugged(tried('context.logger.info(1n)'), (fail) => ({ logger: { info: fail } })));
    const bus = (more) => Object.assign(new EventEmitter(), more);
    way('busOn', plugged(tried("context.eventBus.on('e', () => {})"), (fail) => ({ eventBus: { on: fail, emit() {} } })));
    way('busOff', plugged("context.eventBus.on('e', () => {}); 1", (fail) => ({ eventBus: { on() {}, off: fail, emit() {} } })));
    way('busEmit', plugged(tried("context.eventBus.emit('e')"), (fail) => ({ eventBus: bus({ emit: fail }) })));
    way('busNames', plugged(tried('context.eventBus.eventNames()'), (fail) => ({ eventBus: bus({ eventNames: fail }) })));
    way('logger', plugged('console.log(1n); 1', () => ({}), (fail) => ({ logger: { debug: fail, info: fail } })));
    way('onLogPlugin', plugged('console.log(1); 1', () => ({}), (fail) => ({ options: { onLog: fail } })));
    way('onUsage', plugged('1', () => ({}), (fail) => ({ execution: { onUsage: fail } })));
  },
};

GROUPS[process.argv[2]]();
await Promise.all(Array.from({ length: 24 }, work));
// Abandoned guests end last.
for (let turns = 0; turns < 1_000 && ivm.engineStats().alive > 0; turns += 1) await sleep(10);
// Timers run in order: all that behaviours have started are over.
await sleep(2 * LATER);
console.log(JSON.stringify({ results, reports }));
