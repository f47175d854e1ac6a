'use strict';
// Calls the native side with carriers that no surface makes, and reads carriers that no native side makes. The outcome must be a result or an
// error, never a crash.

const assert = require('node:assert');
const { createHostBinding } = require('../../surface/host/binding.js');
const createSurface = require('../../surface/index.js');
const { MODE, OP, TAG } = require('../../surface/core/protocol.js');
const { outcomeOf, pollution } = require('./values.cjs');

const CODES = ['1', '({})', 'throw 1', '(a) => a', 'globalThis', '[1, [2]]', 'return $0', 'new Promise(() => {})', 'Promise.resolve({})', 'import a from "b"'];
/** Operations that are slow, or can wait forever. */
const LEFT_OUT = new Set([OP.CREATE_SNAPSHOT, OP.LINK_WATCH, OP.DISPOSE]);
const OPERATIONS = Object.values(OP).filter((op) => !LEFT_OUT.has(op));
const MAX_USES = 500;

const MAX_IDS = 60;

let environment;
let unpack;
let release;
let uses = 0;
/** Ids that the native side has returned, for further calls. */
let ids = [];

function open(native) {
  if (environment === undefined) {
    // The native side does not own the values unpacked here, so they cannot be released.
    const host = createHostBinding({
      open(...args) {
        const opened = native.open(...args);
        ({ release } = opened);
        return { ...opened, release() {} };
      },
    });
    host.connect(createSurface(host.binding, () => ({})));
    ({ environment } = host);
    ({ unpack } = host.binding);
  }
  if (ids.length > 0 && uses++ < MAX_USES) return;
  for (const id of ids) giveUp(id);
  uses = 0;
  const isolate = environment.invoke(OP.CREATE_ISOLATE, MODE.SYNC, 0, 0, 16, undefined, false, undefined)[2];
  const context = environment.invoke(OP.CREATE_CONTEXT, MODE.SYNC, 0, isolate, false)[2];
  ids = [isolate, context];
}

/** Disposes of the object with an id, which may be an isolate. */
function giveUp(id) {
  outcomeOf(() => environment.invoke(OP.DISPOSE, MODE.SYNC, 0, id));
  outcomeOf(() => release(id));
}

/** @param {Uint8Array} bytes */
function reader(bytes) {
  let at = 0;
  const byte = () => (at < bytes.length ? bytes[at++] : 0);
  const below = (limit) => byte() % limit;
  const number = () => [0, 1, -1, byte(), 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 31), NaN, Infinity, 1.5, 1e300][below(12)];
  const id = () => (below(3) ? ids[below(ids.length)] : number());
  const buffer = () => {
    const made = new ArrayBuffer(below(32), below(4) ? undefined : { maxByteLength: 64 });
    if (below(6) === 0) structuredClone(made, { transfer: [made] });
    return made;
  };

  function any(depth) {
    switch (below(depth > 4 ? 10 : 20)) {
      case 0: return undefined;
      case 1: return null;
      case 2: return below(2) === 0;
      case 3: case 4: return number();
      case 5: return CODES[below(CODES.length)];
      case 6: return BigInt(byte()) ** BigInt(below(20));
      case 7: return buffer();
      case 8: return [new Uint8Array(buffer()), new Uint8Array(new SharedArrayBuffer(8)), new DataView(new ArrayBuffer(4))][below(3)];
      case 9: return [() => 1, Symbol('s'), new Date(0), Promise.resolve(1), new SharedArrayBuffer(4)][below(5)];
      case 10: return [TAG.WIRE, Uint8Array.from({ length: below(24) }, (_, index) => (index === 0 ? 0xff : index === 1 ? 16 : byte())), list(depth)];
      case 11: return [TAG.HANDLE, id(), id(), number(), any(depth + 1), number()];
      case 12: return [[TAG.FUNCTION, TAG.REFERENCE][below(2)], id(), any(depth + 1), number(), number(), number()];
      case 13: return [[TAG.BUFFER, TAG.MOVE][below(2)], below(4) ? buffer() : any(depth + 1), number(), number()];
      case 14: return [TAG.SHARED, below(3) ? new Uint8Array(new SharedArrayBuffer(8)) : any(depth + 1), number(), any(depth + 1)];
      case 15: return [TAG.FAULT, any(depth + 1), any(depth + 1), any(depth + 1), any(depth + 1), any(depth + 1)];
      case 16: return [[TAG.COPY, TAG.THROWN, TAG.PROMISE, TAG.LIST][below(4)], any(depth + 1), any(depth + 1)];
      case 17: return [[TAG.DEREF, TAG.COPY_INTO][below(2)], id(), any(depth + 1)];
      case 18: return { 0: TAG.WIRE, length: number(), get 1() { throw new Error('a getter'); } };
      default: return list(depth);
    }
  }
  const list = (depth) => Array.from({ length: below(5) }, () => any(depth + 1));
  return { any, below, byte, id, list, isAtEnd: () => at >= bytes.length };
}

const MAX_CALLS = 8;

/**
 * @param {any} native the addon
 * @param {Uint8Array} data
 */
function checkCarriers(native, data) {
  open(native);
  const before = pollution();
  const input = reader(data);
  for (let calls = 0; calls < MAX_CALLS && !input.isAtEnd(); calls += 1) {
    const isCall = input.below(3) > 0;
    const outcome = outcomeOf(() => (isCall ? call(input) : unpack(input.any(0))));
    if ('thrown' in outcome && outcome.thrown instanceof Error) assert.strictEqual(typeof outcome.thrown.message, 'string');
    if (isCall && 'value' in outcome && Array.isArray(outcome.value) && outcome.value[0] === TAG.HANDLE) {
      const id = outcome.value[2];
      if (ids.length < MAX_IDS) ids.push(id);
      else giveUp(id);
    }
  }
  assert.deepStrictEqual(pollution(), before);
  assert.ok(ids.length > 0);
}

function call(input) {
  const op = input.byte() < 240 ? OPERATIONS[input.below(OPERATIONS.length)] : input.byte();
  if (LEFT_OUT.has(op)) return undefined;
  const mode = [MODE.SYNC, MODE.IGNORED, MODE.SYNC, 7][input.below(4)];
  const args = input.list(0);
  // Set a limit if the operation has one, so that no call waits forever.
  if (op === OP.EVAL || op === OP.EVAL_CLOSURE) args.splice(0, Infinity, CODES[input.below(CODES.length)], ...args.slice(1, 4), input.below(64), 20, 50, ...args.slice(4));
  if (op === OP.RUN || op === OP.REF_APPLY || op === OP.REF_APPLY_SYNC_PROMISE) args.splice(0, 4, input.below(2) ? input.id() : input.below(64), input.below(64), 20, 50);
  return environment.invoke(op, mode, 0, input.id(), ...args);
}

module.exports = { checkCarriers };
