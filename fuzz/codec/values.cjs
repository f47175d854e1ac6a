'use strict';
// Compares values sent host → guest → host and guest → host with the clones of the host's own V8.
//
// All intended differences from V8:
// - a view of a part of a buffer of 8 KB or more, or of a resizable one, brings only its own bytes (none is built here);
// - an array without holes is written as dense even if elements are getters or not enumerable, which V8 would write as sparse: elements that
//   are not enumerable are sent, as are those that a getter adds (none is built here; checking each element would cost too much);
// - paths of the host are hidden in the stacks of errors (none here has frames);
// - the codec does not recurse, but V8 does, in hosts and in guests: how deeply a value may nest depends on the reader or writer and on
//   the remaining stack (no value here nests deeply enough to reach it);
// - a thread has at most 4,096 resizable buffers from guests, with a limit on their address space. Here, few turns of the event loop collect
//   those of earlier values.

const assert = require('node:assert');
const v8 = require('node:v8');
const { build } = require('./build.cjs');
const { difference } = require('./difference.cjs');

/** The version that the host's V8 writes; 0 if the host has another engine. */
const hostVersion = (() => {
  try {
    const [mark, version] = serialized(1);
    return mark === 0xff ? version : 0;
  } catch {
    return 0;
  }
})();
/** Earlier versions write the parts of an error in another order, and no causes. */
const FIRST_WITH_CAUSES = 15;

function serialized(value) {
  const serializer = new v8.Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

function nativeClone(value) {
  const deserializer = new v8.Deserializer(serialized(value));
  deserializer.readHeader();
  return deserializer.readValue();
}

/** @returns {{ value: unknown } | { thrown: any }} */
function outcomeOf(run) {
  try {
    return { value: run() };
  } catch (thrown) {
    return { thrown };
  }
}

/** The errors for too many resizable buffers in a thread, or too much address space for them. */
const FULL = /more resizable buffers than a host has room for|buffers that may become too long/;

const MAX_USES = 2000;
let uses = 0;
let isolate;
let echo;
let make;

/** A guest that returns its argument or builds the value itself. It is replaced after `MAX_USES` uses. */
function ensureGuest(ivm) {
  if (isolate !== undefined && !isolate.isDisposed && uses++ < MAX_USES) return;
  if (isolate !== undefined && !isolate.isDisposed) isolate.dispose();
  uses = 0;
  isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = isolate.createContextSync();
  echo = context.evalSync('(value) => value', { reference: true });
  make = context.evalSync(`(${build})`, { reference: true });
}

const OPTIONS = { arguments: { copy: true }, result: { copy: true }, timeout: 5000 };

/**
 * @param {any} ivm
 * @param {Uint8Array} bytes
 */
function checkValue(ivm, bytes) {
  ensureGuest(ivm);
  const before = pollution();
  // Getters change the object that has them, so each use gets its own value.
  const expected = hostVersion >= FIRST_WITH_CAUSES ? outcomeOf(() => nativeClone(build(bytes))) : undefined;
  const through = outcomeOf(() => echo.applySync(undefined, [build(bytes)], OPTIONS));
  const out = outcomeOf(() => make.applySync(undefined, [bytes], OPTIONS));
  if (expected === undefined) {
    if (FULL.test(through.thrown?.message)) return;
    assert.strictEqual('thrown' in through, 'thrown' in out, 'only one side refuses');
    if ('value' in through) agree(through, out, 'through a guest and out of one');
  } else {
    agree(expected, through, 'V8 and through a guest');
    agree(expected, out, 'V8 and out of a guest');
  }
  assert.deepStrictEqual(pollution(), before);
}

function agree(expected, actual, what) {
  if (FULL.test(actual.thrown?.message)) return;
  if ('thrown' in expected) {
    assert.ok('thrown' in actual, `${what}: only V8 refuses: ${expected.thrown}`);
    assert.match(String(actual.thrown?.message), /could not be cloned\.|Unsupported type|non-transferable/, `${what}: ${actual.thrown?.stack}`);
    return;
  }
  if ('thrown' in actual) assert.fail(`${what}: only V8 takes it: ${actual.thrown?.stack}`);
  assert.strictEqual(difference(expected.value, actual.value), undefined, what);
}

/** The state of prototypes, which a value must not change. */
const pollution = () => [Object.prototype, Array.prototype, Map.prototype, Error.prototype, Function.prototype].map((prototype) => Reflect.ownKeys(prototype).length);

module.exports = { checkValue, FULL, hostVersion, outcomeOf, pollution };
