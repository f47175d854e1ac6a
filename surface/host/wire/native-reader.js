'use strict';
// The host's own deserializer, if its engine is V8. It only gets bytes that were checked: a call into it takes as long as a few dozen primitives, and
// none of its work is bounded.

const { uncurryThis } = require('../../core/primordials.js');

/** Deno's deserializer is not faster than this reader. */
const isSupported = !('Deno' in globalThis) && process.versions.bun === undefined && process.versions.v8 !== undefined;

/** A version of the format that all supported hosts read. */
const READABLE = 15;

/** @type {((bytes: Uint8Array) => any) | undefined} */
let read;

/**
 * Loaded when it is first needed, since most programs never do.
 * @returns {typeof read} undefined if a time limit of `node:vm` has ended the loading of `node:v8`: Node never completes it
 */
function load() {
  const { Deserializer } = require('node:v8');
  if (Deserializer === undefined) return undefined;
  const readHeader = uncurryThis(Deserializer.prototype.readHeader);
  const readValue = uncurryThis(Deserializer.prototype.readValue);
  return (bytes) => {
    const deserializer = new Deserializer(bytes);
    readHeader(deserializer);
    return readValue(deserializer);
  };
}

/** @returns {typeof read} a function that reads a value from its bytes with a header; undefined if there is none */
const nativeReader = () => (isSupported ? (read ??= load()) : undefined);

module.exports = { isSupported, nativeReader, READABLE };
