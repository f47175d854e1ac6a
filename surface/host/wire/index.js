'use strict';
// The host's codec for the wire format, in which values cross between engines: V8's structured-clone format, version 16, with a table of
// carriers beside the bytes. `t` (ArrayBuffer), `u` (SharedArrayBuffer) and `\` (anything else) are followed by an index into the table.

const { arriving } = require('./arriving.js');
const { free, hasCopies } = require('./copies.js');
const { Reader } = require('./reader.js');
const { FIXED_TIME, MAX_WEIGHT } = require('./reading-limits.js');
const { mayHaveRegexps } = require('./regexp-cost.js');
const { shortList } = require('./short-list.js');
const { isOneByte, placeIn } = require('./sink.js');
const { Writer } = require('./writer.js');

/**
 * The last writer and reader. If a collection of the whole heap finds no instance of a class, V8 drops the maps of its instances, and the code that
 * was optimized for them: the codec would take ten times as long for a tenth of a second after each of them.
 * @type {{ writer: InstanceType<typeof Writer> | undefined, reader: InstanceType<typeof Reader> | undefined }}
 */
const last = { writer: undefined, reader: undefined };

/**
 * @param {import('./leaf-writer.js').WriteHooks} hooks
 * @param {ReturnType<typeof placeIn>} [place]
 */
function begin(hooks, place) {
  const writer = new Writer(hooks, place);
  if (arriving.value !== undefined) arriving.writer = writer;
  return writer;
}

/** @param {InstanceType<typeof Writer>} writer that is done */
function end(writer) {
  arriving.writer = undefined;
  writer.release();
  // Otherwise the part may be what could not be written.
  if (arriving.value === undefined) arriving.part = undefined;
  last.writer = writer;
}

/**
 * @param {InstanceType<typeof Writer>} writer
 * @param {unknown} error
 * @returns {unknown} the error
 */
function failed(writer, error) {
  if (arriving.unwritten !== undefined) arriving.unwritten = writer.objects();
  return error;
}

/**
 * A value that was written.
 * @typedef {object} Serialized
 * @property {Uint8Array} bytes
 * @property {unknown[]} table
 * @property {boolean} isAlone whether nothing else uses the buffer of the bytes, now or later
 */

/**
 * @param {InstanceType<typeof Writer>} writer
 * @returns {Serialized}
 */
const takeFrom = (writer) => ({ bytes: writer.take(), table: writer.table, isAlone: writer.isAlone });

/**
 * @param {unknown} value
 * @param {import('./leaf-writer.js').WriteHooks} hooks
 * @returns {Serialized}
 */
function serialize(value, hooks) {
  const writer = begin(hooks);
  try {
    writer.run(value);
    writer.checkBuffers();
    return takeFrom(writer);
  } catch (error) {
    throw failed(writer, error);
  } finally {
    end(writer);
  }
}

/**
 * Writes a value to `place` if it is small and has no table.
 * @param {unknown} value
 * @param {import('./leaf-writer.js').WriteHooks} hooks
 * @param {ReturnType<typeof placeIn>} place
 * @returns {number | Serialized} the number of bytes there
 */
function serializeAt(value, hooks, place) {
  const writer = begin(hooks, place);
  try {
    writer.run(value);
    writer.checkBuffers();
    const length = writer.table.length === 0 ? writer.keep() : 0;
    return length > 0 ? length : takeFrom(writer);
  } catch (error) {
    throw failed(writer, error);
  } finally {
    end(writer);
  }
}

/**
 * @param {Uint8Array} bytes to which no other code writes
 * @param {unknown[]} table
 * @param {import('./reader.js').ReadHooks} hooks
 * @param {import('../work.js').WorkBudget} [work] the budget of the call
 * @returns {unknown}
 */
function deserialize(bytes, table, hooks, work) {
  const reader = new Reader(bytes, table, hooks, 0, work);
  const value = reader.run();
  last.reader = reader;
  return value;
}

module.exports = { deserialize, FIXED_TIME, free, hasCopies, isOneByte, MAX_WEIGHT, mayHaveRegexps, placeIn, Reader, serialize, serializeAt, shortList };
