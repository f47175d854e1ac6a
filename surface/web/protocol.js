'use strict';
// What the web APIs exchange with the native side, and which of them a host can request. build.rs generates the native side's constants
// from this file.

const { freeze } = Object;

/** One bit for each name that a host can request. */
const WEB = freeze({
  TextEncoder: 1,
  TextDecoder: 2,
  URL: 4,
  URLSearchParams: 8,
  atob: 16,
  btoa: 32,
  structuredClone: 64,
  crypto: 128,
  performance: 256,
  /** Not an API of the web, so `web: true` does not include it. */
  Buffer: 512,
});

/** The bit after those: the realm has no WebAssembly. */
const NO_WASM = 1024;

/** The part of a URL that `setUrl` changes. */
const URL_PART = freeze({
  PROTOCOL: 0,
  USERNAME: 1,
  PASSWORD: 2,
  HOST: 3,
  HOSTNAME: 4,
  PORT: 5,
  PATHNAME: 6,
  SEARCH: 7,
  HASH: 8,
});

/** Indexes in the record of a URL: the whole text, then offsets in it. */
const URL_RECORD = freeze({
  HREF: 0,
  AFTER_SCHEME: 1,
  BEFORE_USERNAME: 2,
  AFTER_USERNAME: 3,
  BEFORE_PASSWORD: 4,
  AFTER_PASSWORD: 5,
  BEFORE_HOST: 6,
  AFTER_HOST: 7,
  BEFORE_PORT: 8,
  AFTER_PORT: 9,
  BEFORE_PATH: 10,
  AFTER_PATH: 11,
  AFTER_QUERY: 12,
});

/** Flags of `decode`. */
const DECODE = freeze({
  FATAL: 1,
  IGNORE_BOM: 2,
  STREAM: 4,
});

/** The results of `bufferKind`: whether a value is a view of unshared memory, a buffer, or either of shared memory. */
const BUFFER_KIND = freeze({
  NONE: 0,
  VIEW: 1,
  BUFFER: 2,
  SHARED: 3,
});

/** The results of `transferable`: whether `structuredClone` can transfer a value. */
const TRANSFERABLE = freeze({
  YES: 0,
  OTHER: 1,
  DETACHED: 2,
  KEPT: 3,
});

module.exports = freeze({ BUFFER_KIND, DECODE, NO_WASM, TRANSFERABLE, URL_PART, URL_RECORD, WEB });
