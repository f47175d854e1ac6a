// Code that leaves marks wherever it can, and reports which ones it has found.

/** The body of a function that returns the names of the marks that already exist. */
export const MARKS = `
  const realm = Function('return this')();
  const found = [];
  const look = (name, there) => { if (there) found.push(name); };
  look('global', 'mark' in realm);
  for (const name of Reflect.ownKeys(realm)) {
    if (name === 'globalThis' || name === 'global') continue;
    const value = realm[name];
    if (typeof value !== 'object' && typeof value !== 'function' || value === null) continue;
    look(String(name), Object.hasOwn(value, 'mark'));
    const { prototype } = value;
    if (prototype) look(String(name) + '.prototype', Object.hasOwn(prototype, 'mark'));
  }
  const AsyncFunction = (async () => {}).constructor;
  const Generator = Object.getPrototypeOf(function* () {});
  const TypedArray = Object.getPrototypeOf(Int8Array);
  const Iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  const hidden = { AsyncFunction, Generator, TypedArray, Iterator, TypedArrayPrototype: TypedArray.prototype, console: realm.console, log: realm.console.log };
  for (const [name, value] of Object.entries(hidden)) look(name, Object.hasOwn(value, 'mark'));
  const symbol = Symbol.for('mark');
  look('symbol', Object.hasOwn(symbol.constructor, symbol));
  look('template', (() => { const tag = (strings) => strings; const cached = () => tag\`mark\`; return cached() !== cached(); })());
  look('push', Array.prototype.push.name !== 'push');
  look('parse', JSON.parse.name !== 'parse');
  look('then', Promise.prototype.then.name !== 'then');
  look('prepareStackTrace', 'prepareStackTrace' in Error);
  look('stackTraceLimit', Error.stackTraceLimit !== 10);
  look('regexp', RegExp.$1 !== '');
  for (const name of Reflect.ownKeys(realm)) {
    if (name === 'globalThis' || name === 'global') continue;
    const value = realm[name];
    if (typeof value !== 'object' && typeof value !== 'function' || value === null) continue;
    try { value.mark = 1; } catch {}
    if (value.prototype) try { value.prototype.mark = 1; } catch {}
  }
  for (const value of Object.values(hidden)) value.mark = 1;
  realm.mark = 1;
  symbol.constructor[symbol] = 1;
  /(mark)/.exec('mark');
  realm.eval('var lexical = 1; let block = 1;');
  const result = found.slice();
  Array.prototype.push = function marked() {};
  JSON.parse = function marked() {};
  const { then } = Promise.prototype;
  Promise.prototype.then = function marked(...args) { return Reflect.apply(then, this, args); };
  Error.prepareStackTrace = () => 'mark';
  Error.stackTraceLimit = 3;
  console.log = () => {};
  return result;
`;
