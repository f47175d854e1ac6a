// The visitor of guests' values: it sees what the codec delivers, and its cost is linear in that.

/* oxlint-disable no-sparse-arrays, no-new-wrappers -- both travel */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { cloned, read, write } from '../../wire/helper.mjs';

const require = createRequire(import.meta.url);
const { EVENT, ROLE, Visitor } = require('../../../surface/host/values/visit.js');
const { Reader } = require('../../../surface/host/wire/reader.js');
const { Work } = require('../../../surface/host/work.js');

const nameOf = (names, number) => Object.keys(names).find((name) => names[name] === number);
const shown = (value) => (typeof value === 'object' && value !== null ? Object.prototype.toString.call(value).slice(8, -1) : value);

/** All events, as text; `steps` is their cost. */
function visited(value, options) {
  let steps = 0;
  const visitor = new Visitor(value, { spend: (count = 1) => (steps += count) }, options);
  const events = [];
  for (let event = visitor.next(); event !== EVENT.END; event = visitor.next()) {
    const place = event === EVENT.LEAVE ? '' : ` ${nameOf(ROLE, visitor.role)}${visitor.key === undefined ? '' : ` ${String(shown(visitor.key))}`}`;
    events.push(`${nameOf(EVENT, event)}${place}: ${String(shown(visitor.value))}`);
  }
  assert.equal(visitor.next(), EVENT.END);
  return { events, steps };
}
const leaves = (value) => visited(value).events.filter((event) => event.startsWith('LEAF'));
const large = (entry, length = 3000) => Object.fromEntries(Array.from({ length }, (_, index) => entry(index)));

describe('visited values', () => {
  test('objects, and elements and named keys of arrays', () => {
    assert.deepEqual(visited(cloned({ a: 1, b: [true, Object.assign([2n, , null], { x: 'y', '-1': 'z', '1.5': 0 })] })).events, [
      'ENTER ROOT: Object', 'LEAF PROPERTY a: 1', 'ENTER PROPERTY b: Array', 'LEAF ELEMENT 0: true', 'ENTER ELEMENT 1: Array',
      'LEAF ELEMENT 0: 2', 'LEAF ELEMENT 2: null', 'LEAF PROPERTY x: y', 'LEAF PROPERTY -1: z', 'LEAF PROPERTY 1.5: 0',
      'LEAVE: Array', 'LEAVE: Array', 'LEAVE: Object',
    ]);
  });

  test('keys and values of maps, members of sets', () => {
    assert.deepEqual(visited(cloned(new Map([['a', 1], [{ k: 2 }, new Set(['m', [3]])]]))).events, [
      'ENTER ROOT: Map', 'LEAF MAP_KEY: a', 'LEAF MAP_VALUE a: 1', 'ENTER MAP_KEY: Object', 'LEAF PROPERTY k: 2', 'LEAVE: Object',
      'ENTER MAP_VALUE Object: Set', 'LEAF MEMBER: m', 'ENTER MEMBER: Array', 'LEAF ELEMENT 0: 3', 'LEAVE: Array', 'LEAVE: Set', 'LEAVE: Map',
    ]);
  });

  test('fields of errors', () => {
    const error = Object.defineProperty(new TypeError('m', { cause: [Object.assign(new Error('c'), { stack: 't' })] }), 'stack', { value: 's' });
    assert.deepEqual(visited(cloned(error)).events, [
      'ENTER ROOT: Error', 'LEAF PROPERTY name: TypeError', 'LEAF PROPERTY message: m', 'LEAF PROPERTY stack: s', 'ENTER PROPERTY cause: Array',
      'ENTER ELEMENT 0: Error', 'LEAF PROPERTY name: Error', 'LEAF PROPERTY message: c', 'LEAF PROPERTY stack: t', 'LEAVE: Error',
      'LEAVE: Array', 'LEAVE: Error',
    ]);
    assert.ok(leaves(Object.assign(new Error('m'), { code: 'E', name: 'N' })).includes('LEAF PROPERTY code: E'));
    assert.ok(visited(Object.assign(new Error('m'), { [`${'k'}`]: new Map() })).events.includes('ENTER PROPERTY k: Map'));
  });

  test('leaves: boxed primitives are their primitives, and values without parts are themselves', () => {
    assert.deepEqual(visited(cloned([new String('ab'), new Number(1), new Boolean(false), Object(5n), new Date(0), /x/g])).events.slice(1, -1), [
      'LEAF ELEMENT 0: ab', 'LEAF ELEMENT 1: 1', 'LEAF ELEMENT 2: false', 'LEAF ELEMENT 3: 5', 'LEAF ELEMENT 4: Date', 'LEAF ELEMENT 5: RegExp',
    ]);
    const bytes = [new ArrayBuffer(9), new Uint8Array(9), new DataView(new ArrayBuffer(9)), Buffer.alloc(9)];
    assert.deepEqual(visited(bytes).events.slice(1, -1).map((event) => event.slice(0, 14)), [0, 1, 2, 3].map((index) => `LEAF ELEMENT ${index}`));
    for (const leaf of [undefined, null, '', 0, -0, 1n, true, Symbol('s'), () => {}, Promise.resolve(), new WeakMap(), new Proxy({}, {})]) {
      assert.match(visited(leaf).events.join(), /^LEAF ROOT: [^,]*$/);
    }
    assert.equal(visited(new String('x'.repeat(1e6))).steps, 3);
  });

  test('shared values: in each position, or once; cycles are not entered', () => {
    const shared = { s: 1 };
    const value = cloned([shared, shared]);
    const again = ['LEAF PROPERTY s: 1', 'LEAVE: Object'];
    assert.deepEqual(visited(value).events.slice(1, -1), ['ENTER ELEMENT 0: Object', ...again, 'ENTER ELEMENT 1: Object', ...again]);
    assert.deepEqual(visited(value, { isOnce: true }).events.slice(1, -1), ['ENTER ELEMENT 0: Object', ...again, 'AGAIN ELEMENT 1: Object']);
    const cycle = new Map();
    cycle.set(cycle, new Set([cycle]));
    for (const options of [{ isOnce: false }, { isOnce: true }]) {
      assert.deepEqual(visited(cloned(cycle), options).events, [
        'ENTER ROOT: Map', 'AGAIN MAP_KEY: Map', 'ENTER MAP_VALUE Map: Set', 'AGAIN MEMBER: Map', 'LEAVE: Set', 'LEAVE: Map',
      ]);
    }
  });

  test('parts can be skipped', () => {
    const visitor = new Visitor([[1, 2], 3], new Work());
    assert.deepEqual([visitor.next(), visitor.next()], [EVENT.ENTER, EVENT.ENTER]);
    visitor.skip();
    assert.deepEqual([visitor.next(), visitor.value, visitor.next(), visitor.value.length], [EVENT.LEAF, 3, EVENT.LEAVE, 2]);
  });

  test('skipped values cost nothing, however many parts they have', () => {
    const time = (count) => {
      const row = Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
      const value = cloned(Array(5000).fill(row));
      const visitor = new Visitor(value, new Work());
      visitor.next();
      const start = performance.now();
      while (visitor.next() === EVENT.ENTER) visitor.skip();
      return performance.now() - start;
    };
    time(10);
    const best = (count) => Math.min(...Array.from({ length: 5 }, () => time(count)));
    const [few, many] = [best(10), best(1000)];
    assert.ok(many < 10 * few + 10, `${few} ms, then ${many} ms`);
  });

  test('a parent, for each part', () => {
    const value = { a: new Map([['k', [1]]]) };
    const visitor = new Visitor(value, new Work());
    const parents = [];
    while (visitor.next() !== EVENT.END) parents.push(visitor.parent);
    const map = value.a;
    assert.deepEqual(parents, [undefined, value, map, map, map.get('k'), map, value, undefined]);
  });

  test('a realm with modified built-ins', () => {
    const { keys } = Object;
    Object.keys = () => ['wrong'];
    const visitor = new Visitor(cloned({ a: 1 }), new Work());
    const seen = [visitor.next(), visitor.next(), visitor.key, visitor.next()];
    Object.keys = keys;
    assert.deepEqual(seen, [EVENT.ENTER, EVENT.LEAF, 'a', EVENT.LEAVE]);
  });
});

describe('large containers', () => {
  test('are visited completely', () => {
    for (const value of [
      large((index) => [`k${index}`, index]), large((index) => [index * 7, index]), large((index) => [`k${index}`, index], 1024), large((index) => [`k${index}`, index], 1025),
      Object.assign(Array.from({ length: 3000 }, (_, index) => index), { x: 'y' }), Object.assign([1, 2], large((index) => [`k${index}`, index])),
      Array.from({ length: 3000 }), Object.assign(Array(3000), { 5: 1, 2999: 2, x: 3 }), Object.assign(Array(4e9), { 5: 1, 3999999999: 2, x: 3 }),
    ]) {
      const seen = visited(cloned(value)).events;
      assert.deepEqual(seen.toSorted(), visited(value).events.toSorted());
      assert.equal(seen.length, Object.keys(value).length + 2);
    }
  });

  test('are visited completely after an interruption', () => {
    const value = [large((index) => [`k${index}`, { deep: [index] }]), Object.assign([1, 2], large((index) => [`k${index}`, [[index]]]))];
    const { bytes } = write(value);
    const reader = new Reader(bytes, [], { resolve: () => undefined });
    while (!reader.readUntil(0));
    assert.deepEqual(visited(reader.result), visited(value));
  });

  test('a sparse array costs its elements, not its length', () => {
    assert.equal(visited(cloned(Object.assign(Array(4_294_967_295), { 7: 1, 4294967294: 2, x: 3 }))).steps, 7);
    assert.equal(visited(cloned(Object.assign(Array(100_000), { 7: 1 }))).steps, 5);
  });

  test('are visited incrementally: the first part of millions costs no more than that of a few', () => {
    const bytes = write({ few: large((index) => [`k${index}`, 1], 2000), many: large((index) => [`k${index}`, 1], 200_000) }).bytes;
    const { few, many } = read(bytes);
    const first = (value) => {
      const start = performance.now();
      const visitor = new Visitor(value, new Work());
      assert.deepEqual([visitor.next(), visitor.next()], [EVENT.ENTER, EVENT.LEAF]);
      return performance.now() - start;
    };
    const best = (value) => Math.min(...Array.from({ length: 20 }, () => first(value)));
    assert.ok(best(many) < 20 * best(few) + 0.5);
  });

  test('count every step in the budget', () => {
    const visitor = new Visitor(cloned(Array.from({ length: 10_000 }, () => ({}))), new Work({ steps: 1000 }));
    assert.throws(() => {
      while (visitor.next() !== EVENT.END);
    }, { code: 'ERR_ISOLATE_LIMIT' });
  });
});
