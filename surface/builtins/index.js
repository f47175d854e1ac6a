'use strict';
// Makes the prototypes of the standard classes ready for being frozen, in the startup snapshot of processes. (V8 adds to them when it
// makes a context, so that they are frozen after that: `src/sandbox/session.rs`.) A frozen data property also keeps objects that inherit
// it from having their own by assignment (`this.name = …` in an error's class). So what may be shadowed becomes an accessor: it gives
// the same value, and assigning makes the property that an ordinary prototype would have left the object to get.

const {
  Array, Boolean, Date, Error, Function, Map, Number, Object, Promise, Reflect, RegExp, Set, String, TypeError,
} = globalThis;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;
const { ownKeys } = Reflect;

const WRAPPER = freeze(['constructor', 'toString', 'valueOf']);

/** Classes, and of some what alone may be shadowed, or may not: on that V8 relies for its speed. */
const CLASSES = freeze([
  [Object], [Error], [Function], [Date], [Map], [Set],
  [String, WRAPPER], [Number, WRAPPER], [Boolean, WRAPPER],
  [Array, undefined, freeze(['constructor'])],
  [Promise, undefined, freeze(['constructor', 'then'])],
  [RegExp, undefined, freeze(['constructor', 'exec'])],
]);

/**
 * @param {object} prototype
 * @param {string} key
 * @param {PropertyDescriptor} found
 */
function open(prototype, key, { value, enumerable }) {
  // Methods, which nobody can construct.
  const property = {
    get() {
      return value;
    },
    /** @param {unknown} own */
    set(own) {
      if (this === prototype || ((typeof this !== 'object' && typeof this !== 'function') || this === null)) {
        throw new TypeError(`Cannot assign to read only property '${key}'`);
      }
      if (hasOwn(this, key)) {
        /** @type {any} */ (this)[key] = own;
      } else {
        defineProperty(this, key, /** @type {any} */ ({ __proto__: null, value: own, writable: true, enumerable: true, configurable: true }));
      }
    },
  };
  const { get, set } = property;
  defineProperty(prototype, key, /** @type {any} */ ({ __proto__: null, get: freeze(get), set: freeze(set), enumerable, configurable: false }));
}

for (const [Class, only, never = []] of /** @type {any[]} */ (CLASSES)) {
  const { prototype } = Class;
  for (const key of ownKeys(prototype)) {
    const found = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(prototype, key));
    const isOpen = typeof key === 'string' && found.configurable && found.writable === true && !never.includes(key) && (only === undefined || only.includes(key));
    if (isOpen) {
      open(prototype, key, found);
    }
  }
}
