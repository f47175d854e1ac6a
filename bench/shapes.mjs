// Values of many shapes, copied into a guest and out of it. Guests get the source text of each `make`, so it must be self-contained.

import { copyIn, copyOut } from './subjects.mjs';

const MEGABYTE = 1_048_576;
const MANY = 16;

const shapes = [
  { id: 'ids', title: '5,000 of {id}', make: () => Array.from({ length: 5_000 }, (_, id) => ({ id })) },
  { id: 'short-strings', title: '5,000 of {short string}', make: () => Array.from({ length: 5_000 }, (_, id) => ({ name: `record ${id}` })) },
  { id: 'packed-numbers', title: '5,000 of {array of 3 numbers}', make: () => Array.from({ length: 5_000 }, (_, id) => ({ list: [id, id + 1, id + 2] })) },
  {
    id: 'holey-numbers',
    title: '5,000 of {array of 3 numbers, `new Array(3)`}',
    make: () => Array.from({ length: 5_000 }, (_, id) => {
      // oxlint-disable-next-line no-new-array -- it is the length
      const list = new Array(3);
      for (let index = 0; index < 3; index += 1) list[index] = id + index;
      return { list };
    }),
  },
  { id: 'string-arrays', title: '5,000 of {array of 3 strings}', make: () => Array.from({ length: 5_000 }, (_, id) => ({ list: ['red', 'green', `blue ${id}`] })) },
  { id: 'nested', title: '5,000 of {nested object}', make: () => Array.from({ length: 5_000 }, (_, id) => ({ at: { x: id, y: id + 1 } })) },
  {
    id: 'mixed-record',
    title: '5,000 of {id, name, tags, nested}',
    make: () => Array.from({ length: 5_000 }, (_, id) => ({ id, name: `record ${id}`, tags: ['a', 'b'], nested: { ok: true, ratio: id / 3 } })),
  },
  {
    id: 'many-keys',
    title: '5,000 of 20 keys',
    make: () => Array.from({ length: 5_000 }, (_, id) => {
      const record = {};
      for (let key = 0; key < 20; key += 1) record[`key${key}`] = id + key;
      return record;
    }),
  },
  {
    id: 'mixed-shapes',
    title: '5,000 of five shapes in turn',
    make: () => Array.from({ length: 5_000 }, (_, id) => [
      { id }, { name: 'n', id }, { x: id, y: 1, z: 2 }, { kind: 'k', at: { x: id } }, { list: [id], ok: true, no: null },
    ][id % 5]),
  },
  {
    id: 'optional-keys',
    title: '2,000 records with optional keys',
    make: () => Array.from({ length: 2_000 }, (_, id) => ({
      id, ...(id % 2 && { name: `name ${id}` }), ...(id % 3 && { at: null }), ...(id % 5 && { tags: id % 4 ? [] : ['a', 'b'] }), isActive: id % 7 === 0,
    })),
  },
  { id: 'wide-keys', title: '2,000 records with non-ASCII keys', make: () => Array.from({ length: 2_000 }, (_, id) => ({ имя: `имя ${id}`, 年齢: id, größe: id / 2 })) },
  { id: 'mapped-strings', title: '20,000 short strings, made by `map`', make: () => Array.from({ length: 20_000 }, (_, id) => id).map((id) => `s${id}`) },
  { id: 'long-strings', title: '5,000 strings of 700 characters', make: () => Array.from({ length: 5_000 }, (_, id) => `line ${id} `.repeat(80).slice(0, 700)) },
  { id: 'mapped-doubles', title: '20,000 doubles, made by `map`', make: () => Array.from({ length: 20_000 }, (_, id) => id).map((id) => id / 3) },
  { id: 'dictionary', title: 'an object of 800 names', make: () => Object.fromEntries(Array.from({ length: 800 }, (_, id) => [`user:${id}`, id])) },
  {
    id: 'records-by-name',
    title: 'an object of 2,000 names, each of a record',
    make: () => Object.fromEntries(Array.from({ length: 2_000 }, (_, id) => [`modules/part-${id}`, { version: `1.0.${id}`, license: 'MIT', needs: { [`part-${id % 300}`]: '^1' } }])),
  },
  {
    id: 'records-by-number',
    title: 'an object of 2,000 numbers, each of a record',
    make: () => Object.fromEntries(Array.from({ length: 2_000 }, (_, id) => [100 + id, { id: 100 + id, name: `name ${id}` }])),
  },
  { id: 'rows', title: '2,000 arrays of 5 values', make: () => Array.from({ length: 2_000 }, (_, id) => [id, `name ${id}`, id / 7, id % 2 === 0, id % 3 ? null : 'note']) },
  { id: 'coordinates', title: '300 arrays of 8 coordinates', make: () => Array.from({ length: 300 }, (_, id) => ({ id, ring: Array.from({ length: 8 }, (__, at) => [id / 7 + at, id / 11 - at]) })) },
  { id: 'map', title: 'a `Map` of 5,000', make: () => new Map(Array.from({ length: 5_000 }, (_, id) => [`key ${id}`, id])) },
  { id: 'map-of-records', title: 'a `Map` of 1,000 records', make: () => new Map(Array.from({ length: 1_000 }, (_, id) => [`key ${id}`, { id, tags: ['a'], at: new Date(1_700_000_000_000 + id) }])) },
  { id: 'set', title: 'a `Set` of 5,000', make: () => new Set(Array.from({ length: 5_000 }, (_, id) => `key ${id}`)) },
  { id: 'dates', title: '5,000 `Date`s', make: () => Array.from({ length: 5_000 }, (_, id) => new Date(1_700_000_000_000 + id)) },
  { id: 'integers', title: '50,000 integers', make: () => Array.from({ length: 50_000 }, (_, id) => id) },
  { id: 'doubles', title: '50,000 doubles', make: () => Array.from({ length: 50_000 }, (_, id) => id + 0.5) },
  { id: 'wide-strings', title: '5,000 strings of 100 non-ASCII characters', make: () => Array.from({ length: 5_000 }, (_, id) => 'жλ日本語'.repeat(19) + String(10_000 + id)) },
  {
    id: 'tree',
    title: 'a binary tree of depth 12',
    make: () => (function grow(depth) { return depth === 0 ? { leaf: true } : { left: grow(depth - 1), right: grow(depth - 1) }; })(12),
  },
  {
    id: 'shared',
    title: 'a graph with 5,000 shared references',
    make: () => {
      const nodes = Array.from({ length: 100 }, (_, id) => ({ id }));
      return Array.from({ length: 5_000 }, (_, id) => ({ node: nodes[id % 100] }));
    },
  },
  { id: 'errors', title: '500 `Error`s with causes', make: () => Array.from({ length: 500 }, (_, id) => new Error(`error ${id}`, { cause: new TypeError('cause') })) },
  {
    id: 'typed-arrays',
    title: '500 typed arrays of 64 elements',
    make: () => Array.from({ length: 500 }, (_, id) => (id % 2 === 0 ? new Float64Array(64).fill(id) : new Uint8Array(64).fill(id))),
  },
];

const large = (megabytes, size) => [
  { id: `ascii-${size}`, title: `${size} ASCII string`, make: `'x'.repeat(${megabytes * MEGABYTE})` },
  { id: `latin1-${size}`, title: `${size} Latin-1 string`, make: `'é'.repeat(${megabytes * MEGABYTE})` },
  { id: `two-byte-${size}`, title: `${size} two-byte string`, make: `'ж'.repeat(${(megabytes * MEGABYTE) / 2})` },
  { id: `buffer-${size}`, title: `${size} \`ArrayBuffer\``, make: `new ArrayBuffer(${megabytes * MEGABYTE})` },
].map((each) => ({ target: '0.7', ...each }));

const small = { id: 'small', title: 'a small object', make: "({ id: 7, name: 'a small object', tags: ['a', 'b'], nested: { ok: true, ratio: 0.5 } })" };

// oxlint-disable-next-line no-eval -- the same source text makes the value in the guest
const made = (source) => (0, eval)(source);
const PROOF = 'value.length ?? value.size ?? value.byteLength ?? Object.keys(value).length';

/** Every shape, in and out. */
export default [...shapes, small, ...large(1, '1 MB'), ...large(MANY, '16 MB')].flatMap(({ id, title, make, target = '1.0' }) => {
  const source = typeof make === 'string' ? make : `(${make})()`;
  return [
    { id: `${id}-in`, title: `${title}, in`, target, expected: made(`(value => ${PROOF})(${source})`), prepare: copyIn(() => made(source), PROOF) },
    { id: `${id}-out`, title: `${title}, out`, target, get expected() { return made(source); }, prepare: copyOut(source) },
  ];
});
