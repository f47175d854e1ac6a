'use strict';
// The bytes of V8's structured-clone format, version 16, with the names from V8's value-serializer.cc. Numbers are little-endian, as
// are all platforms of this package.

const { freeze } = Object;

/** The version that is written, and the oldest version that is read. */
const VERSION = freeze({ WRITTEN: 16, OLDEST: 13, VIEW_FLAGS_SINCE: 14 });

/** @param {string} character */
const code = (character) => character.charCodeAt(0);

/** First byte of a value, or an end mark. */
const TAG = freeze({
  VERSION: 0xff,
  PADDING: 0,
  VERIFY_OBJECT_COUNT: code('?'),
  THE_HOLE: code('-'),
  UNDEFINED: code('_'),
  NULL: code('0'),
  TRUE: code('T'),
  FALSE: code('F'),
  INT32: code('I'),
  UINT32: code('U'),
  DOUBLE: code('N'),
  BIGINT: code('Z'),
  UTF8_STRING: code('S'),
  ONE_BYTE_STRING: code('"'),
  TWO_BYTE_STRING: code('c'),
  OBJECT_REFERENCE: code('^'),
  BEGIN_OBJECT: code('o'),
  END_OBJECT: code('{'),
  BEGIN_SPARSE_ARRAY: code('a'),
  END_SPARSE_ARRAY: code('@'),
  BEGIN_DENSE_ARRAY: code('A'),
  END_DENSE_ARRAY: code('$'),
  DATE: code('D'),
  TRUE_OBJECT: code('y'),
  FALSE_OBJECT: code('x'),
  NUMBER_OBJECT: code('n'),
  BIGINT_OBJECT: code('z'),
  STRING_OBJECT: code('s'),
  REGEXP: code('R'),
  BEGIN_MAP: code(';'),
  END_MAP: code(':'),
  BEGIN_SET: code("'"),
  END_SET: code(','),
  ARRAY_BUFFER: code('B'),
  IMMUTABLE_ARRAY_BUFFER: code('C'),
  RESIZABLE_ARRAY_BUFFER: code('~'),
  ARRAY_BUFFER_TRANSFER: code('t'),
  ARRAY_BUFFER_VIEW: code('V'),
  SHARED_ARRAY_BUFFER: code('u'),
  HOST_OBJECT: code('\\'),
  ERROR: code('r'),
});

/** Tags inside an error. */
const ERROR_TAG = freeze({ MESSAGE: code('m'), CAUSE: code('c'), STACK: code('s'), END: code('.') });

/** Tag of the error classes that keep their prototype; every other error becomes an Error. */
const ERROR_PROTOTYPES = freeze({
  EvalError: code('E'),
  RangeError: code('R'),
  ReferenceError: code('F'),
  SyntaxError: code('S'),
  TypeError: code('T'),
  URIError: code('U'),
});

/** Tag of the kind of a view. */
const VIEW_TAG = freeze({
  Int8Array: code('b'),
  Uint8Array: code('B'),
  Uint8ClampedArray: code('C'),
  Int16Array: code('w'),
  Uint16Array: code('W'),
  Int32Array: code('d'),
  Uint32Array: code('D'),
  Float16Array: code('h'),
  Float32Array: code('f'),
  Float64Array: code('F'),
  BigInt64Array: code('q'),
  BigUint64Array: code('Q'),
  DataView: code('?'),
});

/** Bits of a view's flags. */
const VIEW_FLAG = freeze({ LENGTH_TRACKING: 1, RESIZABLE_BUFFER: 2 });

/** Bit of each flag of a regular expression; V8's experimental `l` (64) is not among them. */
const REGEXP_FLAG = freeze({ g: 1, i: 2, m: 4, y: 8, u: 16, s: 32, d: 128, v: 256 });

/** How deep a value may nest if the caller sets no limit. */
const DEFAULT_MAX_DEPTH = 10_000;

/**
 * Levels that are read or written by recursion. Deeper containers are put aside and continued from an explicit stack, so the native
 * stack stays shallow for every value.
 */
const RECURSION_LEVELS = 64;

module.exports = freeze({
  DEFAULT_MAX_DEPTH, ERROR_PROTOTYPES, ERROR_TAG, RECURSION_LEVELS, REGEXP_FLAG, TAG, VERSION, VIEW_FLAG, VIEW_TAG,
});
