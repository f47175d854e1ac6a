'use strict';
// Prepares the prototypes of the standard classes for freezing, in the startup snapshot of processes. (V8 adds members to them when it
// creates a context, so they are frozen after that: `src/sandbox/session.rs`.) A frozen data property also prevents assignment to the same
// name on inheriting objects (`this.name = …` in an error's class). Properties that may be shadowed are therefore replaced by accessors:
// the getter returns the same value, and the setter defines an own property, as assignment with an ordinary prototype would.

const {
  Array, Boolean, Date, Error, Function, Map, Number, Object, Promise, Reflect, RegExp, Set, String, TypeError,
} = globalThis;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;
const { ownKeys } = Reflect;

const WRAPPER = freeze(['constructor', 'toString', 'valueOf']);

/** Classes; for some, the only keys that may be shadowed, or keys that may not be. V8's optimizations rely on the others. */
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
  // Methods, so that they are not constructors.
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
