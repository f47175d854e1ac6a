// Evaluated in a realm that a snapshot will be made of, before any script; gives a function to call after the last one.
//
// V8 leaves newer built-ins out of snapshots and adds them whenever a context is made of one. It trusts that the objects it
// adds them to are as it made them: it ends the process, or worse, where a script has put something in their place. And
// it ends the process when a FinalizationRegistry has something to clean up. `__test__/engine/api/snapshot-intrinsics.test.mjs`
// compares the lists with what V8 adds.
(() => {
  'use strict';
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, setPrototypeOf } = Reflect;
  const { hasOwn } = Object;
  const global = globalThis;

  const { dispose, asyncDispose } = Symbol;
  const AsyncIteratorPrototype = getPrototypeOf(getPrototypeOf((async function* () {}).prototype));
  // Name, object, what is added to it.
  const holders = [
    ['globalThis', global, [
      'AsyncDisposableStack', 'DisposableStack', 'Float16Array', 'SharedArrayBuffer', 'SuppressedError', 'Temporal', 'WebAssembly',
    ]],
    ['%AsyncIteratorPrototype%', AsyncIteratorPrototype, [asyncDispose]],
    ['Atomics', Atomics, ['pause']],
    ['DataView.prototype', DataView.prototype, ['getFloat16', 'setFloat16']],
    ['Date.prototype', Date.prototype, ['toTemporalInstant']],
    ['Error', Error, ['isError', 'stackTraceLimit']],
    ['Intl.Locale.prototype', Intl.Locale.prototype, ['variants']],
    ['Iterator', Iterator, ['concat']],
    ['Iterator.prototype', Iterator.prototype, [dispose]],
    ['Map.prototype', Map.prototype, ['getOrInsert', 'getOrInsertComputed']],
    ['Math', Math, ['f16round', 'sumPrecise']],
    ['Promise', Promise, ['try']],
    ['RegExp', RegExp, ['escape']],
    ['Uint8Array', Uint8Array, ['fromBase64', 'fromHex']],
    ['Uint8Array.prototype', Uint8Array.prototype, ['setFromBase64', 'setFromHex', 'toBase64', 'toHex']],
    ['WeakMap.prototype', WeakMap.prototype, ['getOrInsert', 'getOrInsertComputed']],
  ];
  // V8 looks these up by their names.
  const named = [['Atomics', Atomics], ['Math', Math], ['Uint8Array', Uint8Array]];

  const withheld = getOwnPropertyDescriptor(global, 'FinalizationRegistry');
  setPrototypeOf(withheld, null);
  deleteProperty(global, 'FinalizationRegistry');

  /** What is wrong, or undefined. Runs no code of the scripts. */
  return () => {
    for (let index = 0; index < named.length; index += 1) {
      const name = named[index][0];
      const found = getOwnPropertyDescriptor(global, name);
      if (found === undefined || !hasOwn(found, 'value') || found.value !== named[index][1]) {
        return `\`${name}\` must not be replaced`;
      }
    }
    for (let index = 0; index < holders.length; index += 1) {
      const name = holders[index][0];
      const holder = holders[index][1];
      const keys = holders[index][2];
      if (!isExtensible(holder)) {
        return `\`${name}\` must not be frozen`;
      }
      for (let each = 0; each < keys.length; each += 1) {
        const key = keys[each];
        if (!deleteProperty(holder, key)) {
          return `\`${typeof key === 'symbol' ? 'Symbol.dispose' : key}\` of \`${name}\` must be configurable`;
        }
      }
    }
    if (!hasOwn(global, 'FinalizationRegistry')) {
      defineProperty(global, 'FinalizationRegistry', withheld);
    }
    return undefined;
  };
})();
