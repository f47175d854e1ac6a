// Collects the cases and runs them, on a host and inside an isolate alike.

import { createAssert, expect } from './assert.mjs';
import { groups } from './cases/index.mjs';
import { createSides } from './sides.mjs';

/**
 * @typedef {object} Settings
 * @property {'host' | 'guest'} side where `ivm` is at home
 * @property {boolean} original whether it is isolated-vm
 */

/** What cases get: isolates of their own, which end with them. */
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

/** Runs a case, and ends its isolates whatever happens. */
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
