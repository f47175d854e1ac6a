// Describes a value with means that every engine has: the same text on a host and in a guest means the same value. One function without
// dependencies, so that its source runs anywhere.

/** @param {unknown} root */
export function describe(root) {
  const numbers = new Map();
  const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
  const units = (text) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(36)).join('.');
  const bytesOf = (buffer) => Array.from(new Uint8Array(buffer)).join();

  function words(value) {
    switch (typeof value) {
      case 'string': return `"${units(value)}"`;
      case 'number': return Object.is(value, -0) ? '-0' : String(value);
      case 'bigint': return `${value}n`;
      case 'object': return value === null ? 'null' : object(value);
      default: return String(value);
    }
  }

  function object(value) {
    if (numbers.has(value)) return `#${numbers.get(value)}`;
    numbers.set(value, numbers.size);
    const tag = tagOf(value);
    const proto = Object.getPrototypeOf(value);
    const native = globalThis[tag] !== undefined && proto === globalThis[tag].prototype;
    const head = `#${numbers.get(value)} ${tag}${native ? '' : ' of another prototype'}`;
    switch (tag) {
      case 'Date': return `${head} ${value.getTime()}`;
      case 'RegExp': return `${head} ${units(value.source)} ${value.flags} ${value.lastIndex}`;
      case 'Number': case 'String': case 'Boolean': case 'BigInt': return `${head} ${words(value.valueOf())}`;
      case 'Map': return `${head} {${[...value].map(([k, v]) => `${words(k)} => ${words(v)}`).join()}}`;
      case 'Set': return `${head} {${[...value].map(words).join()}}`;
      case 'ArrayBuffer': return `${head} ${value.resizable ?? false} ${value.maxByteLength ?? value.byteLength} [${bytesOf(value)}]`;
      case 'Error': {
        const own = (name) => (Object.prototype.hasOwnProperty.call(value, name) ? words(value[name]) : 'none');
        return `#${numbers.get(value)} ${value.name} ${proto === globalThis[value.name]?.prototype} ${own('message')} ${own('stack')} ${own('cause')}`;
      }
    }
    if (ArrayBuffer.isView(value)) return `${head} at ${value.byteOffset} for ${value.byteLength} of ${words(value.buffer)}`;
    const length = Array.isArray(value) ? ` ${value.length}` : '';
    return `${head}${length} {${Object.keys(value).map((key) => `"${units(key)}": ${words(value[key])}`).join()}}`;
  }

  return words(root);
}
