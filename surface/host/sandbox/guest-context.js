'use strict';
// What a plugin's realm has before the plugin: the functions behind `context` and `console`. It is the body of a function,
// compiled inside the isolate. It runs before any code of the plugin, keeps what it uses of the built-ins, and hands out
// nothing but what is listed in `begin`: the functions that lead out are known to closures only.

/** What `enter` is called for. */
const ENTER = Object.freeze({ BEGIN: 0, FIRE: 1 });
/** How an answer of the host's is to be understood. */
const ANSWER = Object.freeze({ VALUE: 0, PROMISE: 1, FUNCTION: 2 });

/**
 * The body of a function whose arguments are what takes console calls, the names of those, the ways to methods and promises, and a list of
 * native functions: the first gives the actor that code runs for, the second calls a function for an actor, and the third makes text of a
 * list of a console's arguments, if somebody wants that.
 *
 * An actor is an execution, or the delivery of an event; V8 keeps it for all that those go on with. It has a number on the host, and a
 * context, which is what the global `context` is to its code.
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

// Code that no execution has brought about acts for none.
const nobody = freeze({ __proto__: null, context: undefined });
const actor = () => present() ?? nobody;

const put = (object, key, value) => defineProperty(object, key, { __proto__: null, value, enumerable: true });
const putGlobal = (key, value, enumerable) => {
  const found = getOwnPropertyDescriptor(globalThis, key);
  // What a script of a snapshot has declared cannot be configured any more.
  const isFixed = found !== undefined && !found.configurable;
  defineProperty(globalThis, key, isFixed ? { __proto__: null, value } : { __proto__: null, value, writable: true, enumerable, configurable: true });
};
const named = (method, name) => {
  defineProperty(method, 'name', { __proto__: null, value: name });
  return freeze(method);
};

// The plugin's listeners, by the numbers that the host has for them.
const listeners = new Map();
let last = 0;

const numberOf = (event, handler) => {
  let found = 0;
  mapForEach(listeners, (listener, number) => {
    if (listener.event === event && listener.handler === handler) found = number;
  });
  return found;
};

// How the methods of a bus do more than to call out.
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
  // Its context is that of whoever listens, its calls are its own.
  await act({ __proto__: null, number: delivery, context: by.context }, () => apply(handler, undefined, args));
};

// What an answer of the host means. Calls count for whoever makes them, else for the execution that the context belongs to.
const understand = (own, answer) => {
  const meaning = answer[0];
  const what = answer[1];
  if (meaning === ${ANSWER.FUNCTION}) return freeze((...args) => understand(own, invoke((present() ?? own).number, own.gate, what, args)));
  return meaning === ${ANSWER.PROMISE} ? wait(own.gate, what) : what;
};

// A script of a snapshot may have declared the name, whose property cannot get a getter any more. This stands there instead.
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

// \`context\` is that of the present actor, which may put something else in its place, for itself.
const lend = () => {
  const own = {
    __proto__: null,
    get context() { return actor().context; },
    set context(value) { const each = actor(); if (each !== nobody) each.context = value; },
  };
  const { get, set } = getOwnPropertyDescriptor(own, 'context');
  return { __proto__: null, get: freeze(get), set: freeze(set), enumerable: true, configurable: true };
};
const lent = lend();
const offer = () => {
  // The plugin may have made its global object one that does not change.
  if (getOwnPropertyDescriptor(globalThis, 'context')?.get === lent.get) return;
  if (!define(globalThis, 'context', lent)) defineProperty(globalThis, 'context', { __proto__: null, value: stand });
};

// Makes the actor of an execution, and its context.
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

// As the plugin's own code would see it, where it cannot be sent.
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
