// Messages that are read at the same time share the time and the memory.

import assert from 'node:assert';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Reader, write } from '../../wire/helper.mjs';

const require = createRequire(import.meta.url);
const { createArrivals } = require('../../../surface/host/requests/arrivals.js');
const { WANTED } = require('../../../surface/host/protocol.js');
const { TAG } = require('../../../surface/core/protocol.js');

/** A host with `count` messages of objects, which all arrive at the same time. */
async function receive(count, objects, { maxWeight, wanted = () => true } = {}) {
  const { bytes } = write(Array.from({ length: objects }, (_, index) => ({ index })));
  const settled = [];
  const released = [];
  const paused = [];
  const resumed = [];
  let last = 100;
  const native = {
    pause: () => { paused.push(last += 1); return last; },
    wanted: (number) => (wanted(number) ? WANTED.YES : WANTED.NO),
    resume: (number) => { resumed.push(number); },
    drain: () => {},
    limits: () => [Infinity, Infinity],
  };
  const arrivals = createArrivals({
    native,
    hooks: { resolve: () => assert.fail('a table') },
    settle: (request, [tag, value]) => { settled.push([request, tag === TAG.VALUE ? value.length : tag]); },
    serveFor: () => {},
    release: (carriers) => { released.push(...carriers); },
    maxWeight,
  });
  for (let request = 1; request <= count; request += 1) arrivals.settle(request, [TAG.WIRE, bytes.slice(), []]);
  while (settled.length < count) await new Promise((resolve) => { setImmediate(resolve); });
  return { settled, released, paused, resumed };
}

const COUNT = 4;
/** More objects than a host reads in one turn. */
const OBJECTS = 400_000;
const requests = Array.from({ length: COUNT }, (_, index) => index + 1);

test('every request completes', async () => {
  const { settled, paused, resumed } = await receive(COUNT, OBJECTS);
  assert.deepStrictEqual(settled.toSorted(([a], [b]) => a - b), requests.map((request) => [request, OBJECTS]));
  assert.strictEqual(paused.length, COUNT);
  assert.deepStrictEqual(resumed.toSorted((a, b) => a - b), paused);
});

test('together they take no more memory than one may', async () => {
  // An object takes 72 bytes, its property 16 and its place 12. There is room for one of them.
  const maxWeight = OBJECTS * 100;
  const stretch = 2048 * 64;
  const readers = new Set();
  const { readUntil } = Reader.prototype;
  Reader.prototype.readUntil = function (until, allowance) {
    readers.add(this);
    assert.ok(allowance <= maxWeight);
    const isWhole = readUntil.call(this, until, allowance);
    assert.ok(this.weight <= Math.max(allowance, 0) + stretch, `${this.weight} of ${allowance}`);
    return isWhole;
  };
  try {
    const { settled } = await receive(COUNT, OBJECTS, { maxWeight });
    assert.deepStrictEqual(settled.toSorted(([a], [b]) => a - b), requests.map((request) => [request, OBJECTS]));
  } finally {
    Reader.prototype.readUntil = readUntil;
  }
  // Some had to start over, each at most once.
  assert.ok(readers.size > COUNT && readers.size < 2 * COUNT, `${readers.size}`);
});

test('a small message with a large copy in its table is read in turns', async () => {
  const { bytes } = write(Array.from({ length: OBJECTS }, (_, index) => ({ index })));
  // A list of row 0.
  const list = new Uint8Array([0xff, 16, 0x41, 1, 0x5c, 0, 0x24, 0, 1]);
  const settled = [];
  let paused = 0;
  const arrivals = createArrivals({
    native: { pause: () => (paused += 1), wanted: () => WANTED.YES, resume: () => {}, drain: () => {}, limits: () => [Infinity, Infinity] },
    hooks: { resolve: () => assert.fail('a copy') },
    settle: (request, [tag, value]) => { settled.push([request, tag, value[0].length]); },
    serveFor: () => {},
    release: () => {},
  });
  arrivals.settle(1, [TAG.WIRE, list, [[TAG.WIRE, bytes, []]]]);
  assert.deepStrictEqual([paused, settled], [1, []]);
  while (settled.length === 0) await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepStrictEqual(settled, [[1, TAG.VALUE, OBJECTS]]);
  // The native side may use the memory again.
  assert.deepStrictEqual([list[0], bytes[0]], [0, 0]);
});

test('abandoned requests are dropped', async () => {
  const { settled, released, resumed } = await receive(2, OBJECTS, { wanted: (number) => number !== 101 });
  assert.deepStrictEqual(settled, [[1, TAG.FAULT], [2, OBJECTS]]);
  assert.deepStrictEqual(released.map(([tag]) => tag), [TAG.WIRE]);
  assert.deepStrictEqual(resumed, [102]);
});

test('a synchronous call within a request is not delayed', () => {
  const paused = [];
  const holds = [];
  const arrivals = createArrivals({
    native: { pause: () => { paused.push('pause'); return 1; }, wanted: () => 1, resume: () => {}, drain: () => {}, limits: () => [Infinity, Infinity] },
    hooks: {},
    settle: () => {},
    // A function of the host that calls another isolate, whose guest calls the host.
    serveFor: (caller) => {
      if (caller === 0) arrivals.serveNow(4, 5, 6, 7);
      holds.push(arrivals.defer());
    },
  });
  arrivals.serve(0, 1, 2, 3);
  assert.strictEqual(holds[0], undefined);
  assert.ok(holds[1]);
  assert.deepStrictEqual(paused, ['pause']);
});

test('arguments that are read once more are the same', async () => {
  const objects = 120_000;
  const [first, other] = ['a', 'b'].map((name) => write(Array.from({ length: 600 }, (_, index) => ({ [name]: index }))).bytes);
  const large = write(Array.from({ length: objects }, (_, index) => ({ index }))).bytes;
  const served = [];
  const mine = first.slice();
  const settled = [];
  const arrivals = createArrivals({
    native: {
      pause: () => 101,
      wanted: () => WANTED.YES,
      resume: () => {},
      // The native side uses memory that is free for the next value.
      drain: () => { if (mine[0] === 0) mine.set(other); },
      limits: () => [Infinity, Infinity],
    },
    hooks: { resolve: () => assert.fail('a table') },
    settle: (request) => { settled.push(request); },
    serveFor: (_caller, args) => { served.push(args.slice(3).map(([tag, value]) => [tag, value.length, value[3]])); },
    // Room for one of the large ones.
    maxWeight: objects * 100 + 1_200_000,
  });
  arrivals.settle(1, [TAG.WIRE, large.slice(), []]);
  arrivals.serve(0, 2, 0, 0, [TAG.WIRE, mine, []], [TAG.WIRE, large.slice(), []]);
  while (served.length + settled.length < 2) await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepStrictEqual(served, [[[TAG.VALUE, 600, { a: 3 }], [TAG.VALUE, objects, { index: 3 }]]]);
});

test('a request that cannot be served, or whose answer cannot be read, fails', async () => {
  const large = write(Array.from({ length: 200_000 }, (_, index) => ({ index }))).bytes;
  const failed = [];
  const released = [];
  const arrivals = createArrivals({
    native: {
      pause: () => 101,
      wanted: () => WANTED.YES,
      resume: () => {},
      drain: () => {},
      limits: () => [Infinity, Infinity],
      reply: () => { throw new Error('reply'); },
      fail: (request, { message }) => { failed.push([request, message]); },
    },
    hooks: { resolve: () => assert.fail('a table') },
    settle: () => {},
    // It loads files of the package.
    serveFor: (_caller, [request]) => {
      if (request === 1) throw new Error('serve');
      return 'carrier';
    },
    release: (carriers) => { released.push(carriers.length); },
  });
  for (const request of [1, 2]) arrivals.serve(0, request, 0, 0, [TAG.WIRE, large.slice(), []]);
  while (failed.length < 2) await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepStrictEqual(failed.toSorted(), [[1, 'serve'], [2, 'reply']]);
  assert.deepStrictEqual(released, [4]);
});
