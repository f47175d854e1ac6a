'use strict';
// `TextEncoder` and `TextDecoder`. The native side does the work; it identifies a decoder in the middle of a stream by a number.

const {
  finalizationRegister, FinalizationRegistry, freeze, put, RangeError, stringSlice, typedArrayName, TypeError, Uint8Array,
} = require('./primordials.js');
const { dictionary, scalarText, shape, text } = require('./interfaces.js');
const { BUFFER_KIND, DECODE } = require('./protocol.js');

const { FATAL, IGNORE_BOM, STREAM } = DECODE;

/** Maximum length of a wrong label in an error message. */
const MAX_LABEL = 100;

/** @param {any} native */
function createEncoding(native) {
  const { beginStream, bufferKind, decode, encodeInto, encodingOf, endStream, mark, utf8Length } = native;
  /** @type {FinalizationRegistry<number> | undefined} created when the first stream starts */
  let streams;

  class TextEncoder {
    #brand = true;

    constructor() {
      mark(this);
    }

    get encoding() {
      return this.#brand && 'utf-8';
    }

    /** @param {unknown} [input] */
    encode(input = '') {
      const source = this.#brand && scalarText(input);
      const bytes = new Uint8Array(utf8Length(source));
      encodeInto(source, bytes);
      return bytes;
    }

    /**
     * @param {unknown} source
     * @param {unknown} destination
     */
    encodeInto(source, destination) {
      const from = this.#brand && text(source);
      if (typedArrayName(destination) !== 'Uint8Array') {
        throw new TypeError('The "dest" argument must be an instance of Uint8Array');
      }
      const done = encodeInto(from, destination);
      return { read: done[0], written: done[1] };
    }
  }

  class TextDecoder {
    #encoding;
    #flags;
    /** Id of its stream; 0 if it never had one. */
    #id = 0;
    #open = false;

    /**
     * @param {unknown} [label]
     * @param {unknown} [options]
     */
    constructor(label = 'utf-8', options = undefined) {
      const name = text(label);
      const settings = dictionary(options);
      const fatal = settings !== undefined && settings.fatal ? FATAL : 0;
      const ignoreBOM = settings !== undefined && settings.ignoreBOM ? IGNORE_BOM : 0;
      const encoding = encodingOf(name);
      if (encoding === undefined) {
        const error = new RangeError(`The "${stringSlice(name, 0, MAX_LABEL)}" encoding is not supported`);
        put(error, 'code', 'ERR_ENCODING_NOT_SUPPORTED', true);
        throw error;
      }
      this.#encoding = /** @type {string} */ (encoding);
      this.#flags = fatal | ignoreBOM;
      mark(this);
    }

    get encoding() {
      return this.#encoding;
    }

    get fatal() {
      return (this.#flags & FATAL) !== 0;
    }

    get ignoreBOM() {
      return (this.#flags & IGNORE_BOM) !== 0;
    }

    /**
     * @param {unknown} [input]
     * @param {unknown} [options]
     * @returns {string}
     */
    decode(input = undefined, options = undefined) {
      const flags = this.#flags;
      if (input !== undefined && bufferKind(input) === BUFFER_KIND.NONE) {
        throw new TypeError('The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
      }
      const settings = dictionary(options);
      const stream = settings !== undefined && settings.stream ? STREAM : 0;
      if (stream !== 0 && this.#id === 0) {
        const begun = beginStream();
        streams ??= new FinalizationRegistry(endStream);
        finalizationRegister(streams, this, begun);
        this.#id = begun;
      }
      const id = stream !== 0 || this.#open ? this.#id : 0;
      // A failure ends the stream.
      this.#open = false;
      const decoded = decode(this.#encoding, flags | stream, id, input);
      if (decoded === undefined) {
        const error = new TypeError(`The encoded data was not valid for encoding ${this.#encoding}`);
        put(error, 'code', 'ERR_ENCODING_INVALID_ENCODED_DATA', true);
        throw error;
      }
      this.#open = stream !== 0;
      return decoded;
    }
  }

  shape(TextEncoder, 'TextEncoder');
  shape(TextDecoder, 'TextDecoder');
  return freeze({ TextDecoder, TextEncoder });
}

module.exports = createEncoding;
