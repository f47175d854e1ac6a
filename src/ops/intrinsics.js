// Evaluated, before any script, in a realm from which a snapshot is made. Returns a function that must be called after the last script.
//
// V8 leaves newer built-ins out of snapshots, and adds them whenever it creates a context from one. It trusts that the objects to which it
// adds them are unchanged. If a script has replaced one, V8 ends the process, or worse. V8 also ends the process when a FinalizationRegistry
// has something to clean up. `__test__/engine/api/snapshot-intrinsics.test.mjs` compares the lists with what V8 adds.
(() => {
  'use strict';
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, setPrototypeOf } = Reflect;
  const { hasOwn } = Object;
  const global = globalThis;

  const { dispose, asyncDispose } = Symbol;
  const AsyncIteratorPrototype = getPrototypeOf(getPrototypeOf((async function* () {}).prototype));
  // Name, object, properties that V8 adds to it.
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
  // V8 looks these up by name.
  const named = [['Atomics', Atomics], ['Math', Math], ['Uint8Array', Uint8Array]];

  const withheld = getOwnPropertyDescriptor(global, 'FinalizationRegistry');
  setPrototypeOf(withheld, null);
  deleteProperty(global, 'FinalizationRegistry');

  /** Returns a description of the problem, or undefined. Runs no code of the scripts. */
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
