// Collects the cases and runs them, both on a host and inside an isolate.

import { createAssert, expect } from './assert.mjs';
import { groups } from './cases/index.mjs';
import { createSides } from './sides.mjs';

/**
 * @typedef {object} Settings
 * @property {'host' | 'guest'} side where `ivm` belongs
 * @property {boolean} original whether it is isolated-vm
 */

/** The argument of a case: opens isolates, which are disposed with the case. */
function createRoom(ivm) {
  const isolates = [];
  return {
    open(options = { memoryLimit: 32 }) {
      const isolate = new ivm.Isolate(options);
      isolates.push(isolate);
      return { isolate, context: isolate.createContextSync() };
    },
    close() {
      for (const isolate of isolates) {
        if (!isolate.isDisposed) isolate.dispose();
      }
    },
  };
}

/**
 * The cases, in order.
 * @param {any} ivm
 * @param {Settings} settings
 */
export function collect(ivm, { side, original }) {
  const cases = [];
  const assert = createAssert(!original);
  for (const [group, register] of groups) {
    const test = (name, options, body = options) => {
      const { differs } = body === options ? {} : options;
      cases.push({ group, name, differs: typeof differs === 'object' ? differs[side] : differs, body });
    };
    register({ ivm, test, assert, expect, sides: createSides(side, assert, expect) });
  }
  return cases;
}

/** Runs a case, and disposes its isolates whatever happens. */
export function runCase(ivm, { body }) {
  const room = createRoom(ivm);
  let result;
  try {
    result = body(room);
  } catch (error) {
    room.close();
    throw error;
  }
  if (result instanceof Promise) return result.finally(room.close);
  room.close();
  return undefined;
}
