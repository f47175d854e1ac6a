'use strict';
// The functions behind `context` and `console`, which a plugin's realm has before the plugin runs. They are the body of a function that
// is compiled inside the isolate. It runs before any code of the plugin, captures the built-ins that it uses, and exposes only what is
// listed in `begin`. Only closures can reach the functions that call the host.

/** Operations of `enter`. */
const ENTER = Object.freeze({ BEGIN: 0, FIRE: 1 });
/** Kinds of answers of the host. */
const ANSWER = Object.freeze({ VALUE: 0, PROMISE: 1, FUNCTION: 2 });

/**
 * The body of a function. Its arguments are the function that receives console calls, the names of the console's methods, the functions that
 * call a method and wait for a promise, and a list of native functions. The first of these returns the actor for which code runs, the second
 * calls a function for an actor, and the third, which is present only if needed, converts a list of console arguments to text.
 *
 * An actor is an execution, or the delivery of an event. V8 preserves it for everything that these continue later. It has a number on the
 * host, and a context, which its code sees as the global `context`.
 */
const BOOTSTRAP = `'use strict';
const report = $0;
const levels = $1;
const invoke = $2;
const wait = $3;
const present = $4[0];
const act = $4[1];
const format = $4.length > 2 ? $4[2] : undefined;
const { apply, defineProperty: define, ownKeys } = Reflect;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;
const { stringify } = JSON;
const { Proxy: Stand, String: text, TypeError: Wrong } = globalThis;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapDelete = uncurry(Map.prototype.delete);
const mapForEach = uncurry(Map.prototype.forEach);

// The actor of code that no execution caused.
const absent = freeze({ __proto__: null, context: undefined });
const actor = () => present() ?? absent;

const put = (object, key, value) => defineProperty(object, key, { __proto__: null, value, enumerable: true });
const putGlobal = (key, value, enumerable) => {
  const found = getOwnPropertyDescriptor(globalThis, key);
  // A global that a script of a snapshot declared is not configurable.
  const isFixed = found !== undefined && !found.configurable;
  defineProperty(globalThis, key, isFixed ? { __proto__: null, value } : { __proto__: null, value, writable: true, enumerable, configurable: true });
};
const named = (method, name) => {
  defineProperty(method, 'name', { __proto__: null, value: name });
  return freeze(method);
};

// The plugin's listeners, by the host's numbers for them.
const listeners = new Map();
let last = 0;

const numberOf = (event, handler) => {
  let found = 0;
  mapForEach(listeners, (listener, number) => {
    if (listener.event === event && listener.handler === handler) found = number;
  });
  return found;
};

// The methods of a bus that do more than call the host.
const meanings = {
  __proto__: null,
  on: (call, own) => (event, handler) => { listen(call, own, event, handler, false); },
  once: (call, own) => (event, handler) => { listen(call, own, event, handler, true); },
  off: (call) => (event, handler) => {
    const number = numberOf(event, handler);
    call([event, number]);
    mapDelete(listeners, number);
  },
  removeAllListeners: (call) => (event) => {
    const removed = call([event]);
    for (let index = 0; index < removed.length; index += 1) mapDelete(listeners, removed[index]);
  },
};

const listen = (call, own, event, handler, once) => {
  if (typeof handler !== 'function') throw new Wrong('The handler must be a function');
  const number = last += 1;
  mapSet(listeners, number, { __proto__: null, event, handler, once, by: present() ?? own });
  try {
    call([event, number]);
  } catch (error) {
    mapDelete(listeners, number);
    throw error;
  }
};

const fire = async (number, args, delivery) => {
  const listener = mapGet(listeners, number);
  if (listener === undefined) return;
  const { by, handler } = listener;
  if (listener.once) mapDelete(listeners, number);
  // Its context is that of the actor that added the listener; its calls are its own.
  await act({ __proto__: null, number: delivery, context: by.context }, () => apply(handler, undefined, args));
};

// Interprets an answer of the host. Calls count for the actor that makes them, or else for the execution that the context belongs to.
const understand = (own, answer) => {
  const meaning = answer[0];
  const what = answer[1];
  if (meaning === ${ANSWER.FUNCTION}) return freeze((...args) => understand(own, invoke((present() ?? own).number, own.gate, what, args)));
  return meaning === ${ANSWER.PROMISE} ? wait(own.gate, what) : what;
};

// A script of a snapshot may have declared the name. Its property then cannot get a getter, and this proxy is its value instead.
const stand = new Stand({}, freeze({
  __proto__: null,
  get: (_, key) => actor().context?.[key],
  has: (_, key) => { const { context } = actor(); return context !== undefined && key in context; },
  ownKeys: () => { const { context } = actor(); return context === undefined ? [] : ownKeys(context); },
  getOwnPropertyDescriptor(_, key) {
    const { context } = actor();
    const found = context === undefined ? undefined : getOwnPropertyDescriptor(context, key);
    return found && { __proto__: null, value: found.value, enumerable: found.enumerable, configurable: true };
  },
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
  setPrototypeOf: () => false,
  preventExtensions: () => false,
}));

// \`context\` is that of the current actor, which may replace it for itself.
const lend = () => {
  const own = {
    __proto__: null,
    get context() { return actor().context; },
    set context(value) { const each = actor(); if (each !== absent) each.context = value; },
  };
  const { get, set } = getOwnPropertyDescriptor(own, 'context');
  return { __proto__: null, get: freeze(get), set: freeze(set), enumerable: true, configurable: true };
};
const lent = lend();
const offer = () => {
  // The plugin may have frozen its global object.
  if (getOwnPropertyDescriptor(globalThis, 'context')?.get === lent.get) return;
  if (!define(globalThis, 'context', lent)) defineProperty(globalThis, 'context', { __proto__: null, value: stand });
};

// Creates the actor of an execution, and its context.
const begin = ({ number, gate, pluginId, paths, config, allowedDomains }) => {
  const context = {};
  const own = { __proto__: null, number, gate, context };
  const holders = [context];
  for (let method = 0; method < paths.length; method += 1) {
    const path = paths[method];
    let holder = context;
    for (let index = 0; index < path.length - 1; index += 1) {
      if (!hasOwn(holder, path[index])) {
        const made = {};
        put(holder, path[index], made);
        put(holders, holders.length, made);
      }
      holder = holder[path[index]];
    }
    const name = path[path.length - 1];
    const call = (args) => understand(own, invoke((present() ?? own).number, gate, method, args));
    const special = path[0] === 'eventBus' ? meanings[name] : undefined;
    put(holder, name, named(special === undefined ? (...args) => call(args) : special(call, own), name));
  }
  put(context, 'config', config);
  put(context, 'allowedDomains', freeze(allowedDomains));
  for (let index = 0; index < holders.length; index += 1) freeze(holders[index]);
  offer();
  putGlobal('pluginId', pluginId, true);
  return own;
};

// A value that cannot be sent, as the plugin's own code would see it.
const shown = (value) => {
  if (typeof value === 'symbol' || typeof value === 'function') return text(value);
  if (typeof value !== 'object' || value === null) return value;
  try {
    return stringify(value) ?? '[object]';
  } catch {
    return '[object]';
  }
};

putGlobal('global', globalThis, false);
const console = {};
for (let index = 0; index < levels.length; index += 1) {
  const level = levels[index];
  put(console, level, named((...args) => {
    const message = format === undefined ? undefined : format(args);
    try {
      report(level, args, message);
    } catch {
      for (let each = 0; each < args.length; each += 1) {
        defineProperty(args, each, { __proto__: null, value: shown(args[each]) });
      }
      report(level, args, message);
    }
  }, level));
}
putGlobal('console', freeze(console), false);

return (what, first, second, third) => what === ${ENTER.BEGIN} ? begin(first) : fire(first, second, third);
`;

module.exports = { ANSWER, BOOTSTRAP, ENTER };
