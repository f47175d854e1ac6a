// The same for WebAssembly: a module whose function `f(turns, step)` counts `turns` down by `step` in a loop. With step 0 the loop is endless.
// A running loop does not switch to optimized code, so the function is called with short loops until it is optimized.

import { Random } from '../../__test__/random/numbers.mjs';

const I32 = 0x7f;
const VOID = 0x40;
const END = 0x0b;
const LOCALS = 8;
/** Locals: the turns, the step, and those for counting and computing. */
const [TURNS, STEP, FIRST] = [0, 1, 2];
const ARRAY = 0;
const ARRAY64 = 1;
const DEEPEST = 2;

const uleb = (number) => {
  const bytes = [];
  for (let rest = number >>> 0; ; rest >>>= 7) {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return bytes;
  }
};
const sleb = (number) => {
  const bytes = [];
  for (let rest = number | 0; ; rest >>= 7) {
    const last = (rest >= -64 && rest < 64);
    bytes.push(last ? rest & 127 : (rest & 127) | 128);
    if (last) return bytes;
  }
};
const constant = (number) => [0x41, ...sleb(number)];
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const section = (id, ...content) => {
  const bytes = content.flat(9);
  return [id, ...uleb(bytes.length), ...bytes];
};

class Writer extends Random {
  local() {
    return FIRST + this.below(LOCALS);
  }

  /** Computes with a local, so that loops are too large to unroll, or small enough. */
  arithmetic() {
    const steps = this.pick([1, 2, 5, 30, 120]);
    const local = this.local();
    return Array.from({ length: steps }, () => [get(local), constant(this.below(100) + 1), this.pick([0x6a, 0x6b, 0x73, 0x6c, 0x77]), set(local)]);
  }

  plain() {
    const length = this.pick([0, 1, 2, 4, 5, 8, 10, 12, 15, 16, 40]);
    const address = () => [get(this.local()), constant(0xff), 0x71];
    return this.pick([
      () => [constant(7), constant(length), 0xfb, 0x06, ARRAY, 0x1a], // array.new
      () => [0x42, 7, constant(length), 0xfb, 0x06, ARRAY64, 0x1a],
      () => [constant(length), 0xfb, 0x07, ARRAY, 0x1a], // array.new_default
      () => [Array.from({ length }, () => constant(1)), 0xfb, 0x08, ARRAY, length, 0x1a], // array.new_fixed
      () => [constant(7), constant(64), 0xfb, 0x06, ARRAY, constant(1), constant(9), constant(length), 0xfb, 0x10, ARRAY], // array.fill
      () => [constant(7), constant(64), 0xfb, 0x06, ARRAY, constant(0), constant(7), constant(64), 0xfb, 0x06, ARRAY, constant(0), constant(length), 0xfb, 0x11, ARRAY, ARRAY], // array.copy
      () => [address(), constant(3), constant(length), 0xfc, 0x0b, 0], // memory.fill
      () => [address(), address(), constant(length), 0xfc, 0x0a, 0, 0], // memory.copy
      () => [address(), constant(1), 0x36, 2, 0], // i32.store
      () => [address(), 0x28, 2, 0, set(this.local())], // i32.load
      () => [constant(1), 0x10, 0, set(this.local())], // call
      () => [constant(1), constant(0), 0x11, 3, 0, set(this.local())], // call_indirect
      () => this.arithmetic(),
      () => this.arithmetic(),
    ])();
  }

  block(depth) {
    return Array.from({ length: 1 + this.below(3) }, () => (depth < DEEPEST && this.chance(0.4) ? this.nested(depth + 1) : this.plain()));
  }

  nested(depth) {
    const count = this.pick([0, 1, 2, 4, 5, 16, 100]);
    // A separate counter that no other code changes, so that the loop ends.
    const counter = FIRST + LOCALS + depth;
    const body = this.block(depth);
    const again = [get(counter), constant(1), 0x6a, 0x22, counter, constant(count), this.pick([0x48, 0x49]), 0x0d, 0];
    return this.pick([
      () => [constant(0), set(counter), 0x03, VOID, body, again, END],
      () => [constant(0), set(counter), 0x02, VOID, 0x03, VOID, get(counter), constant(count), 0x4e, 0x0d, 1, body, get(counter), constant(1), 0x6a, set(counter), 0x0c, 0, END, END],
      () => [get(TURNS), constant(1), 0x71, 0x04, VOID, body, 0x05, this.block(depth), END],
      () => [0x02, VOID, get(TURNS), constant(3), 0x71, 0x0e, 1, 0, 0, body, END], // br_table
    ])();
  }

  /** The loop that counts `turns` down. */
  endless() {
    const down = [get(TURNS), get(STEP), 0x6b, 0x22, TURNS];
    const body = this.block(0);
    return this.pick([
      () => [0x03, VOID, body, down, 0x0d, 0, END],
      () => [0x02, VOID, 0x03, VOID, down, 0x45, 0x0d, 1, body, 0x0c, 0, END, END],
      () => [0x03, VOID, 0x03, VOID, body, down, 0x0d, 1, END, END],
      () => [0x03, VOID, down, 0x04, VOID, body, 0x0c, 1, END, END],
    ])();
  }
}

/**
 * As `programOf`, around a module.
 * @param {number} seed
 */
export function wasmProgramOf(seed) {
  const writer = new Writer(seed);
  const before = writer.chance(0.7) ? writer.block(DEEPEST) : [];
  const loop = writer.endless();
  const result = Array.from({ length: LOCALS }, (_, index) => [get(FIRST + index), ...(index > 0 ? [0x73] : [])]);
  const functionBody = [1, LOCALS + DEEPEST + 1, I32, before, loop, result, END].flat(9);
  const identity = [0, get(0), END].flat();
  const bytes = [
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, 4, [0x5e, I32, 1], [0x5e, 0x7e, 1], [0x60, 2, I32, I32, 1, I32], [0x60, 1, I32, 1, I32]),
    ...section(3, 2, 3, 2),
    ...section(4, 1, 0x70, 0, 1),
    ...section(5, 1, 1, 1, 1),
    ...section(7, 1, 1, 0x66, 0, 1),
    ...section(9, 1, 0, constant(0), END, 1, 0),
    ...section(10, 2, uleb(identity.length), identity, uleb(functionBody.length), functionBody),
  ];
  return {
    prepare: `const bytes = new Uint8Array([${bytes.join()}]);
const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
const end = Date.now() + 150; while (Date.now() < end) for (let i = 0; i < 20; i++) f(50, 1);`,
    call: 'f(1, 0)',
  };
}
