// The module under test. If `IVM_MODULE` is the path of isolated-vm 7, the same files run against that, which checks that they describe its
// behaviour. `ours` marks what only this package does.

import { createRequire } from 'node:module';

const original = process.env.IVM_MODULE;

/** @type {typeof import('../../index.js')} */
export const ivm = original ? createRequire(import.meta.url)(original) : (await import('../../index.mjs')).default;

/** Options of tests that only this package passes, because isolated-vm behaves differently or crashes. */
export const ours = original ? { skip: 'isolated-vm does otherwise' } : {};

/** A new isolate and context for one test; disposed at its end, whatever happens. */
export function withContext(body, options) {
  const isolate = new ivm.Isolate(options);
  const end = () => {
    if (!isolate.isDisposed) isolate.dispose();
  };
  let result;
  try {
    result = body({ isolate, context: isolate.createContextSync() });
  } catch (error) {
    end();
    throw error;
  }
  if (result instanceof Promise) return result.finally(end);
  end();
  return result;
}

/** A check for `assert.throws`: an error of exactly this class and message. */
export function failure(Class, message) {
  return (error) => {
    if (Object.getPrototypeOf(error) !== Class.prototype || error.message !== message) {
      throw new Error(`expected ${Class.name}: ${message}\n  actual: ${error?.name}: ${error?.message ?? error}`, { cause: error });
    }
    return true;
  };
}
