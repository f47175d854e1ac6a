'use strict';
// What a plugin's realm has before the plugin: the functions behind `context` and `console`. It is the body of a function,
// compiled inside the isolate. It runs before any code of the plugin, keeps what it uses of the built-ins, and hands out
// nothing but what is listed in `install`: the functions that lead out are known to closures only.

/** What `enter` is called for. */
const ENTER = Object.freeze({ INSTALL: 0, FIRE: 1 });
/** How an answer of the host's is to be understood. */
const ANSWER = Object.freeze({ VALUE: 0, PROMISE: 1, FUNCTION: 2 });

/**
 * The body of a function whose arguments are what takes console calls, the names of those, the ways to methods and promises, and what
 * makes text of a console's arguments, if somebody wants it.
 */
const BOOTSTRAP = `'use strict';
const report = $0;
const levels = $1;
const invoke = $2;
const wait = $3;
const format = $4;
const { apply } = Reflect;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;
const { stringify } = JSON;
const { String: text, TypeError: Wrong } = globalThis;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapDelete = uncurry(Map.prototype.delete);
const mapForEach = uncurry(Map.prototype.forEach);

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
  on: (call) => (event, handler) => { listen(call, event, handler, false); },
  once: (call) => (event, handler) => { listen(call, event, handler, true); },
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

const listen = (call, event, handler, once) => {
  if (typeof handler !== 'function') throw new Wrong('The handler must be a function');
  const number = last += 1;
  mapSet(listeners, number, { __proto__: null, event, handler, once });
  try {
    call([event, number]);
  } catch (error) {
    mapDelete(listeners, number);
    throw error;
  }
};

const fire = async (number, args) => {
  const listener = mapGet(listeners, number);
  if (listener === undefined) return;
  if (listener.once) mapDelete(listeners, number);
  await apply(listener.handler, undefined, args);
};

// What an answer of the host means.
const understand = (gate, answer) => {
  const meaning = answer[0];
  const what = answer[1];
  if (meaning === ${ANSWER.FUNCTION}) return freeze((...args) => understand(gate, invoke(gate, what, args)));
  return meaning === ${ANSWER.PROMISE} ? wait(gate, what) : what;
};

const install = ({ gate, pluginId, paths, config, allowedDomains }) => {
  const context = {};
  const holders = [context];
  for (let number = 0; number < paths.length; number += 1) {
    const path = paths[number];
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
    const call = (args) => understand(gate, invoke(gate, number, args));
    const special = path[0] === 'eventBus' ? meanings[name] : undefined;
    put(holder, name, named(special === undefined ? (...args) => call(args) : special(call), name));
  }
  put(context, 'config', config);
  put(context, 'allowedDomains', freeze(allowedDomains));
  for (let index = 0; index < holders.length; index += 1) freeze(holders[index]);
  putGlobal('context', context, true);
  putGlobal('pluginId', pluginId, true);
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
    const message = format === undefined ? undefined : apply(format, undefined, args);
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

return (what, first, second) => what === ${ENTER.INSTALL} ? install(first) : fire(first, second);
`;

module.exports = { ANSWER, BOOTSTRAP, ENTER };
