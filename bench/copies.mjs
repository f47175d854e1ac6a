// Values copied into a guest and out of it.

import { copyIn, copyOut, inContext } from './subjects.mjs';

const RECORDS = 5_000;
const MEGABYTE = 1_048_576;
const MANY_MEGABYTES = 64;

const text = 'x'.repeat(MEGABYTE);
const small = { id: 7, name: 'a small object', tags: ['a', 'b'], nested: { ok: true, ratio: 0.5 } };

/** Guests get its source text, too. */
const makeRecords = (count) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `record ${id}`, at: { x: id, y: id / 2 } }));

/** One call with a new buffer that moves into the guest. */
const transfer = (megabytes) =>
  inContext(({ ivm, context }) => {
    const sink = context.evalSync('value => value.byteLength', { reference: true });
    return () => {
      const buffer = new ArrayBuffer(megabytes * MEGABYTE);
      const copy = new ivm.ExternalCopy(buffer, { transferOut: true });
      return sink.applySync(undefined, [copy.copyInto({ transferIn: true })]);
    };
  });

const transferOf = (megabytes, target) => ({
  target,
  id: `transfer-${megabytes}`,
  title: `${megabytes} MB \`ArrayBuffer\`, made and moved in (\`transferOut\`, \`transferIn\`)`,
  expected: megabytes * MEGABYTE,
  uses: ['ExternalCopy'],
  prepare: transfer(megabytes),
});

export default [
  {
    id: 'small-object-in',
    target: '1.0',
    title: 'a small object in',
    expected: small.id,
    prepare: copyIn(() => small, 'value.id'),
  },
  {
    id: 'small-object-out',
    target: '1.0',
    title: 'a small object out',
    expected: small,
    prepare: copyOut(JSON.stringify(small)),
  },
  {
    id: 'nested-objects-in',
    target: '1.0',
    title: '5,000 nested objects in',
    expected: RECORDS,
    prepare: copyIn(() => makeRecords(RECORDS), 'value.length'),
  },
  {
    id: 'nested-objects-out',
    target: '0.8',
    title: '5,000 nested objects out',
    expected: makeRecords(RECORDS),
    prepare: copyOut(`(${makeRecords})(${RECORDS})`),
  },
  {
    id: 'string-in',
    target: '0.4',
    title: '1 MB string in',
    expected: MEGABYTE,
    prepare: copyIn(() => text, 'value.length'),
  },
  {
    id: 'string-out',
    target: '0.4',
    title: '1 MB string out',
    expected: text,
    prepare: copyOut(`'x'.repeat(${MEGABYTE})`),
  },
  {
    id: 'buffer-in',
    target: '0.4',
    title: '1 MB `ArrayBuffer` in',
    expected: MEGABYTE,
    prepare: copyIn(() => new ArrayBuffer(MEGABYTE), 'value.byteLength'),
  },
  {
    id: 'buffer-out',
    target: '0.4',
    title: '1 MB `ArrayBuffer` out',
    expected: new ArrayBuffer(MEGABYTE),
    prepare: copyOut(`new ArrayBuffer(${MEGABYTE})`),
  },
  transferOf(1),
  transferOf(MANY_MEGABYTES, 'ours 2 × 1 MB'),
];
