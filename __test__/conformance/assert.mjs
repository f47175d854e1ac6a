// Assertions in plain ECMAScript, with the same messages on a host and inside an isolate. No imports.

const list = (values) => values.join(', ');

function showObject(value, depth) {
  if (value instanceof Error) return `[${value.name}: ${value.message}]`;
  if (depth === 0) return Array.isArray(value) ? '[…]' : '{…}';
  const inner = (each) => show(each, depth - 1);
  if (Array.isArray(value)) return `[${list(value.map(inner))}]`;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name} [${list([...value].map(inner))}]`;
  if (value instanceof Date) return `Date ${value.getTime()}`;
  if (value instanceof RegExp) return String(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `${value.constructor.name} of ${value.byteLength} bytes`;
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? 'null';
  return `${name} {${list(Reflect.ownKeys(value).map((key) => `${String(key)}: ${inner(value[key])}`))}}`;
}

/** Describes a value. */
export function show(value, depth = 4) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return `[function ${value.name}]`;
  return typeof value === 'object' && value !== null ? showObject(value, depth) : String(value);
}

function fail(text, note) {
  throw new Error(note === undefined ? text : `${note}: ${text}`);
}

const bytesOf = (value) => [...(ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value))];
const isBinary = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

/** The contents of a value of a built-in class, as a list; undefined if its properties are its contents. */
function contents(value) {
  if (value instanceof Date) return [value.getTime()];
  if (value instanceof RegExp) return [String(value), value.lastIndex];
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof Error) return [value.name, value.message];
  return isBinary(value) ? bytesOf(value) : undefined;
}

/** Deep equality: classes of the same realm, own properties, the same cycles. */
function alike(actual, expected, seen) {
  if (Object.is(actual, expected)) return true;
  if (typeof actual !== 'object' || typeof expected !== 'object' || actual === null || expected === null) return false;
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return false;
  if (seen.has(actual)) return seen.get(actual) === expected;
  seen.set(actual, expected);
  const [some, others] = [contents(actual), contents(expected)];
  if (some !== undefined) return alike(some, others, seen);
  const keys = Reflect.ownKeys(actual);
  const wanted = Reflect.ownKeys(expected);
  return keys.length === wanted.length && keys.every((key) => Object.hasOwn(expected, key) && alike(actual[key], expected[key], seen));
}

/**
 * An expected error: exactly this class of the asserting realm, and exactly this message and code.
 * @param {Function} Class
 * @param {string | RegExp} message
 * @param {string} [code] undefined for errors that are not the library's own
 */
const error = (Class, message, code) => ({ Class, message, code });

/** The errors of the library, by code. */
export const expect = {
  thrown: (Class, message) => error(Class, message),
  invalid: (message) => error(TypeError, message, 'ERR_INVALID_ARG'),
  /** If isolated-vm throws a plain `Error`. */
  wrong: (message) => error(Error, message, 'ERR_INVALID_ARG'),
  transfer: (message) => error(TypeError, message, 'ERR_ISOLATE_TRANSFER'),
  released: (message) => error(Error, message, 'ERR_ISOLATE_RELEASED'),
  disposed: (message) => error(Error, message, 'ERR_ISOLATE_DISPOSED'),
  unsupported: (message) => error(Error, message, 'ERR_ISOLATE_UNSUPPORTED'),
  timeout: () => error(Error, 'Script execution timed out.', 'ERR_ISOLATE_TIMEOUT'),
  memory: () => error(Error, 'Isolate was disposed during execution due to memory limit', 'ERR_ISOLATE_MEMORY'),
  error,
};

/** @param {boolean} coded whether errors of the library have codes; isolated-vm's have none */
export function createAssert(coded) {
  function check(thrown, { Class, message, code }, note) {
    const isClass = typeof thrown === 'object' && thrown !== null && Object.getPrototypeOf(thrown) === Class.prototype;
    const says = isClass && (typeof message === 'string' ? thrown.message === message : message.test(thrown.message));
    if (!says || (coded && thrown.code !== code)) {
      const found = isClass ? `${thrown.name}: ${thrown.message} (code ${thrown.code})` : `${show(thrown)}, not of this realm's ${Class.name}`;
      fail(`expected ${Class.name}: ${message} (code ${code}), got ${found}`, note);
    }
  }

  return {
    ok(value, note = 'it is false') {
      if (!value) fail(note);
    },
    /** The same value. */
    equal(actual, expected, note) {
      if (!Object.is(actual, expected)) fail(`expected ${show(expected)}, got ${show(actual)}`, note);
    },
    /** Deeply equal. */
    same(actual, expected, note) {
      if (!alike(actual, expected, new Map())) fail(`expected ${show(expected)}, got ${show(actual)}`, note);
    },
    matches(text, pattern, note) {
      if (typeof text !== 'string' || !pattern.test(text)) fail(`expected ${pattern}, got ${show(text)}`, note);
    },
    throws(call, expected, note) {
      let value;
      try {
        value = call();
      } catch (thrown) {
        check(thrown, expected, note);
        return;
      }
      fail(`expected ${expected.Class.name}: ${expected.message}, got the value ${show(value)}`, note);
    },
    /** Takes a promise, not a function: an asynchronous method must not throw. */
    async rejects(promise, expected, note) {
      let value;
      try {
        value = await promise;
      } catch (thrown) {
        check(thrown, expected, note);
        return;
      }
      fail(`expected ${expected.Class.name}: ${expected.message}, got the value ${show(value)}`, note);
    },
    /** Returns what a call throws. */
    caught(call) {
      try {
        call();
      } catch (thrown) {
        return thrown;
      }
      return fail('it did not throw');
    },
  };
}
