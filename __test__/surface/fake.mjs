// A native environment that only records calls. These tests check what the surface asks of it.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { createHostBinding } = require('../../surface/host/binding.js');
const createSurface = require('../../surface/index.js');

export const protocol = require('../../surface/core/protocol.js');
export const { KIND, MODE, OP, TAG, TRANSFER } = protocol;

/**
 * @param {(op: number, mode: number, args: unknown[]) => unknown} [answer] carriers of synchronous calls; without it, handles are made and
 * everything else is undefined
 */
export function fake(answer) {
  const made = { [OP.CREATE_ISOLATE]: KIND.ISOLATE, [OP.CREATE_CONTEXT]: KIND.CONTEXT, [OP.COMPILE_SCRIPT]: KIND.SCRIPT, [OP.GLOBAL]: KIND.REFERENCE, [OP.COPY_NEW]: KIND.EXTERNAL_COPY };
  const notes = { invoked: [], released: [], aborted: [], replied: [], disowned: [], settle: undefined, serve: undefined };
  let own;
  let leave;

  /** As the addon reads a carrier: what it names is owned by a slot, or released. */
  function read(carrier) {
    if (!Array.isArray(carrier)) return carrier;
    const [tag, named, ...rest] = carrier;
    switch (tag) {
      case TAG.REFERENCE: return [tag, own(named, rest[1]), ...rest];
      case TAG.FUNCTION: return [tag, own(named, rest[2]), ...rest];
      case TAG.DEREF:
      case TAG.COPY_INTO:
        leave(rest.at(-1));
        return carrier.slice(0, -1);
      default: return carrier;
    }
  }
  let lastId = 0;
  /** Like the addon's `open`: calls functions without a receiver. */
  const open = ({ settle, serve, ...others }) => {
    // The caller of each request is the call that waits.
    Object.assign(notes, { settle, serve: (...args) => read(serve(0, ...args)) });
    ({ own, leave } = others);
    return {
      invoke(op, mode, request, handle, ...carriers) {
        const args = carriers.map(read);
        notes.invoked.push({ op, mode, request, handle, args });
        const carrier = answer?.(op, mode, args);
        if (carrier !== undefined || mode !== MODE.SYNC || !(op in made)) return carrier;
        return [TAG.HANDLE, made[op], (lastId += 1), -1, op === OP.GLOBAL ? 'object' : undefined, 0];
      },
      release(id) {
        notes.released.push(id);
      },
      abort(request) {
        notes.aborted.push(request);
      },
      keepContext() {},
      dropContext() {},
      limits: () => [Infinity, Infinity],
      disowned: () => notes.disowned.splice(0),
      // On a slow machine, replies wait for a later turn.
      recipient: () => 1,
      maxAnswers: () => 0,
      isAwaited: () => true,
      reply(request, carrier) {
        notes.replied.push([request, carrier]);
      },
    };
  };
  const { binding, connect } = createHostBinding({ open });
  const surface = createSurface(binding);
  connect(surface);
  const packed = { ...binding, pack: (value, bits) => read(binding.pack(value, bits)) };
  return { ...notes, notes, binding: packed, surface, ivm: surface.ivm, last: () => notes.invoked.at(-1) };
}
