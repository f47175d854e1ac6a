// A text that is equal for equal values. Realms compare texts, so that no comparison depends on what it tests.

const PROTOTYPES = [
  Object, Array, Date, Map, Set, RegExp, Number, String, Boolean, BigInt, ArrayBuffer, DataView, Promise,
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
];
/** Hosts add some of their own, such as Bun's `line`. */
const OF_ERRORS = ['name', 'message', 'code', 'cause', 'extra'];

/** @returns {(value: unknown) => string} */
export function descriptions(ivm) {
  const names = new Map(PROTOTYPES.map((constructor) => [constructor.prototype, constructor.name]));
  for (const name of ['Callback', 'Context', 'ExternalCopy', 'Isolate', 'Reference', 'Script']) names.set(ivm[name].prototype, name);

  const property = (owner, key, walk) => {
    const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
    const { enumerable, writable, configurable, value } = descriptor;
    const isPlain = 'value' in descriptor && enumerable && writable && configurable;
    return `${typeof key === 'symbol' ? 'symbol' : JSON.stringify(key)}${isPlain ? ':' : '!'}${walk(value)}`;
  };

  /** What the properties do not say. */
  const contents = (brand, value, walk) => {
    if (brand === 'Date') return walk(value.getTime());
    if (brand === 'RegExp') return `${walk(value.source)} ${value.flags} ${value.lastIndex}`;
    if (brand === 'Map') return [...value].map(([key, item]) => `${walk(key)}=>${walk(item)}`).join();
    if (brand === 'Set') return [...value].map(walk).join();
    if (['Number', 'String', 'Boolean', 'BigInt'].includes(brand)) return walk(value.valueOf());
    if (brand === 'ArrayBuffer') return [...new Uint8Array(value)].join();
    if (brand === 'DataView') return `${value.byteOffset} ${value.byteLength} ${walk(value.buffer)}`;
    if (ArrayBuffer.isView(value)) return `${value.byteOffset} ${value.length} ${walk(value.buffer)}`;
    if (value instanceof ivm.Reference) return value.typeof;
    if (value instanceof ivm.ExternalCopy) return describe(value.copy());
    if (value instanceof Error) return OF_ERRORS.filter((key) => key === 'name' || Object.hasOwn(value, key)).map((key) => `${key} ${walk(value[key])}`).join();
    if (Array.isArray(value)) return `${value.length} ${Reflect.ownKeys(value).filter((key) => key !== 'length').map((key) => property(value, key, walk)).join()}`;
    if (brand === 'Object' || brand === undefined) return Reflect.ownKeys(value).map((key) => property(value, key, walk)).join();
    return '';
  };

  function describe(whole) {
    const seen = new Map();
    const walk = (value) => {
      if (typeof value === 'string') return JSON.stringify(value);
      if (typeof value === 'bigint') return `${value}n`;
      if (typeof value === 'symbol') return 'symbol';
      if (typeof value === 'function') return `function ${value.name}/${value.length}`;
      if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value);
      if (seen.has(value)) return `#${seen.get(value)}`;
      seen.set(value, seen.size);
      const brand = names.get(Object.getPrototypeOf(value));
      return `${brand ?? 'other'}(${contents(brand, value, walk)})`;
    };
    return walk(whole);
  }
  return describe;
}
