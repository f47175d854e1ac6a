'use strict';
// How much memory and time a value may take that is read, in every form that values arrive in.

/** Most bytes, by estimate, that a value may take here. Without a limit, a guest could exhaust the host's memory. */
const MAX_WEIGHT = 2 ** 29;
/**
 * Bytes that values take: the largest that `bench/heap-cost.mjs` measures on Node, Bun and Deno. An object counts `OBJECT`, plus the entry for
 * its kind. Its place in another object counts `ELEMENT`, `PROPERTY`, `MAP` or `SET`.
 */
const WEIGHT = Object.freeze({
  OBJECT: 72, VIEW: 160, REGEXP: 512, ERROR: 420, DATE: 40, BUFFER: 288, RESIZABLE_BUFFER: 2336,
  /** In addition to its characters or digits. */
  STRING: 56, BIGINT: 32,
  /** A number that is not a small integer. */
  NUMBER: 16,
  ELEMENT: 12,
  /** An array in dictionary mode, and each of its elements, or a named key of any array. */
  SPARSE_TABLE: 300, SPARSE: 96,
  /** Empty maps and sets, and each entry: an entry takes more in a small table. */
  MAP_TABLE: 224, SMALL_MAP: 130, MAP: 72, SET_TABLE: 208, SMALL_SET: 120, SET: 52,
  PROPERTY: 16, INDEX: 24,
  /** A property of an object with many properties. */
  TABLE_PROPERTY: 90,
  /** An object that has any indices. */
  INDICES: 300,
  /** A name that no other object has, in addition to its characters, and a sequence of names that no other object has. */
  NAME: 48, SHAPE: 240,
});

/**
 * The time that reading may take. Hosts' engines do not seed the hashes of numbers and BigInts, and some do not seed those of all strings.
 * With colliding keys, a guest can make n insertions into a Map, Set or object cost n². Which keys collide depends on the engine and its
 * version, and other operations are as costly (such as elements of an object that become a dictionary and back, again and again). So the
 * limit is on time: a fixed allowance in milliseconds, and an allowance per byte of the data and of the memory that its value takes. This is
 * at least 25 times what honest data takes.
 */
const FIXED_TIME = 250;
const TIME_PER_BYTE = 500e-6;
module.exports = { FIXED_TIME, MAX_WEIGHT, TIME_PER_BYTE, WEIGHT };
