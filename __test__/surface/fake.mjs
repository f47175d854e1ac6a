// A native environment that only takes notes: what the surface asks of it is the subject of these tests.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { createHostBinding } = require('../../surface/host/binding.js');
const createSurface = require('../../surface/index.js');

export const protocol = require('../../surface/protocol.js');
export const { KIND, MODE, OP, TAG, TRANSFER } = protocol;

/**
 * @param {(op: number, mode: number, args: unknown[]) => unknown} [answer] carriers of synchronous calls; without one, handles
 *   are made and everything else is undefined
 */
export function fake(answer) {
  const made = { [OP.CREATE_ISOLATE]: KIND.ISOLATE, [OP.CREATE_CONTEXT]: KIND.CONTEXT, [OP.COMPILE_SCRIPT]: KIND.SCRIPT, [OP.GLOBAL]: KIND.REFERENCE, [OP.COPY_NEW]: KIND.EXTERNAL_COPY };
  const notes = { invoked: [], released: [], replied: [], settle: undefined, serve: undefined };
  let lastId = 0;
  /** As the addon's `open`: functions without a receiver. */
  const open = (settle, serve) => {
    Object.assign(notes, { settle, serve });
    return {
      invoke(op, mode, request, handle, ...args) {
        notes.invoked.push({ op, mode, request, handle, args });
        const carrier = answer?.(op, mode, args);
        if (carrier !== undefined || mode !== MODE.SYNC || !(op in made)) return carrier;
        return [TAG.HANDLE, made[op], (lastId += 1), -1, op === OP.GLOBAL ? 'object' : undefined, 0];
      },
      release(id) {
        notes.released.push(id);
      },
      limits: () => [Infinity, Infinity],
      // As if every carrier left at once.
      taken: () => ({ length: Infinity }),
      reply(request, carrier) {
        notes.replied.push([request, carrier]);
      },
    };
  };
  const { binding, connect } = createHostBinding({ open });
  const surface = createSurface(binding);
  connect(surface);
  return { ...notes, notes, binding, surface, ivm: surface.ivm, last: () => notes.invoked.at(-1) };
}
