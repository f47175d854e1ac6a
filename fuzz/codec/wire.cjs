'use strict';
// Lets the host's codec read bytes and tables that a guest might send. The outcome must be a value or a clear error, soon, without side
// effects. V8 must read the same value, which must also survive another round trip through the codec.

const assert = require('node:assert');
const v8 = require('node:v8');
const { deserialize, serialize } = require('../../surface/host/wire/index.js');
const { TAG: CARRIER } = require('../../surface/core/protocol.js');
const { difference } = require('./difference.cjs');
const { FULL, hostVersion, outcomeOf, pollution } = require('./values.cjs');

const CLEAR = /^(Unable to deserialize cloned data: |Value is nested too deeply|Value is too large)/;
/** Processor time, because other processes may use the processor. */
const SLOW_MS = 2000;
const processorMs = () => (({ user, system }) => (user + system) / 1000)(process.cpuUsage());
/** Older versions of V8 truncate the lengths of resizable buffers to 32 bits, and not all have immutable ones. */
const UNLIKE = ['~', 'C'].map((tag) => tag.charCodeAt(0));

const shared = new SharedArrayBuffer(8);
const handle = Object.freeze(Object.create(null));
const written = { carrierOf: (object) => (object === handle ? [CARRIER.HANDLE, handle] : undefined), shared: (buffer) => [CARRIER.SHARED, buffer] };
const read = { resolve: (carrier) => (Array.isArray(carrier) && (carrier[0] === CARRIER.SHARED || carrier[0] === CARRIER.HANDLE) ? carrier[1] : carrier) };

/** The rows of a table: one for each of these bits. */
const ROWS = [
  () => [CARRIER.BUFFER, new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer],
  () => [CARRIER.SHARED, shared],
  () => [CARRIER.HANDLE, handle],
  () => undefined,
  () => [CARRIER.BUFFER, {}],
  () => 'text',
  () => [CARRIER.BUFFER, new ArrayBuffer(8, { maxByteLength: 16 })],
  () => [],
];

/** @param {Uint8Array} data the rows, the version, then what follows the header */
function checkWire(data) {
  const [rows = 0, version = 16] = data;
  const bytes = new Uint8Array(Math.max(data.length, 2));
  bytes.set(data.subarray(2), 2);
  bytes.set([0xff, version < 4 ? 13 + version : version], 0);
  const table = () => ROWS.filter((_, bit) => rows & (1 << bit)).map((make) => make());
  const before = pollution();
  const began = processorMs();
  const ours = outcomeOf(() => deserialize(bytes, table(), read));
  assert.ok(processorMs() - began < SLOW_MS, 'it takes too long');
  assert.deepStrictEqual(pollution(), before);
  if ('thrown' in ours) {
    assert.ok(ours.thrown instanceof Error && CLEAR.test(ours.thrown.message), ours.thrown);
    return;
  }
  again(ours.value);
  if (rows === 0 && hostVersion >= bytes[1] && !UNLIKE.some((tag) => bytes.includes(tag))) sameAsNative(ours.value, bytes);
}

/** A value that was read survives a round trip. */
function again(value) {
  const { bytes, table } = serialize(value, written);
  const arrived = table.map(([tag, buffer, offset, length]) => (tag === CARRIER.BUFFER ? [tag, buffer.slice(offset, offset + length)] : [tag, buffer]));
  const back = outcomeOf(() => deserialize(bytes, arrived, read));
  if (FULL.test(back.thrown?.message)) return;
  if ('thrown' in back) throw back.thrown;
  assert.strictEqual(difference(value, back.value), undefined, 'there and back');
}

/** The codec may refuse what V8 accepts, but not the reverse. */
function sameAsNative(value, bytes) {
  const native = outcomeOf(() => {
    const deserializer = new v8.Deserializer(Buffer.from(bytes));
    deserializer.readHeader();
    return deserializer.readValue();
  });
  assert.ok('value' in native, `only the codec takes it: ${native.thrown}`);
  assert.strictEqual(difference(native.value, value), undefined, 'V8 reads something else');
}

module.exports = { checkWire };
