// The globals that a test has in addition to the language: function bodies that run first in its realm, with the arguments `$0`, `$1` and so on.

/** Defines `print`, given the host's function. */
export const PRINT = `
  const print = $0;
  Object.defineProperty(globalThis, 'print', {
    value: (text) => { print(String(text)); }, writable: true, enumerable: false, configurable: true,
  });
`;

/** Globals of agents of both kinds, given `ivm`. */
const CLOCKS = `
  const { ExternalCopy, lib: { hrtime } } = ivm;
  const { wait } = Atomics;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  const clocks = {
    sleep(milliseconds) { wait(nothing, 0, 0, milliseconds); },
    monotonicNow() { const [seconds, nanoseconds] = hrtime(); return seconds * 1e3 + nanoseconds / 1e6; },
  };
`;

/**
 * Defines and returns `$262`. Contexts of one isolate cannot access each other's global objects (as in isolated-vm), so another realm's
 * global is a Proxy here, with a handler from that realm.
 */
export const HOST_OBJECT = `
  const [ivm, context, isFirst, createRealm, start, broadcast, getReport] = [$0, $1, $2, $3, $4, $5, $6];
  ${CLOCKS}
  const { gc, Reflect: { get, set, has, deleteProperty, defineProperty, getOwnPropertyDescriptor, ownKeys } } = globalThis;
  const detach = Function.prototype.call.bind(ArrayBuffer.prototype.transfer);
  const self = globalThis;
  const seenFromElsewhere = () => new Proxy({}, {
    get: (_target, key) => get(self, key),
    set: (_target, key, value) => set(self, key, value),
    has: (_target, key) => has(self, key),
    deleteProperty: (_target, key) => deleteProperty(self, key),
    defineProperty: (_target, key, descriptor) => defineProperty(self, key, descriptor),
    getOwnPropertyDescriptor: (_target, key) => getOwnPropertyDescriptor(self, key),
    ownKeys: () => ownKeys(self),
  });
  const $262 = {
    global: isFirst ? self : seenFromElsewhere(),
    createRealm() { return createRealm(); },
    evalScript(source) { return context.evalSync(String(source), { reference: true }).deref(); },
    detachArrayBuffer(buffer) { detach(buffer); },
    gc() {
      if (typeof gc !== 'function') throw new Error('there is no gc()');
      gc();
    },
    agent: {
      ...clocks,
      start(source) { start(String(source)); },
      broadcast(buffer, number) { broadcast(new ExternalCopy(buffer), number); },
      getReport() { return getReport(); },
    },
  };
  Object.defineProperty(self, '$262', { value: $262, writable: true, enumerable: false, configurable: true });
  return $262;
`;

/** Defines `$262` in an agent, and returns the receiver of broadcasts. */
export const AGENT_OBJECT = `
  const [ivm, report] = [$0, $1];
  ${CLOCKS}
  const early = [];
  let receive;
  globalThis.$262 = { agent: {
    ...clocks,
    receiveBroadcast(callback) {
      receive = callback;
      if (early.length > 0) receive(...early.shift());
    },
    report(value) { report(String(value)); },
    leaving() {},
  } };
  return (...message) => { receive === undefined ? early.push(message) : receive(...message); };
`;

/**
 * Remembers the message of the last `Test262Error`, because these are not instances of Error and therefore cannot leave an isolate. Returns
 * a function that returns the message.
 */
export const WATCH_ERRORS = `
  if (typeof Test262Error !== 'function') return () => undefined;
  const { defineProperty } = Object;
  let last;
  defineProperty(Test262Error.prototype, 'message', {
    configurable: true,
    set(value) {
      last = String(value);
      defineProperty(this, 'message', { value, writable: true, enumerable: true, configurable: true });
    },
  });
  return () => last;
`;

/** A module that runs scripts, because only modules can use `import()`. */
export const BRIDGE = `
  const run = eval;
  export default (source) => { run(source); };
  () => import('');
`;
