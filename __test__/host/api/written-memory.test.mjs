// The memory of large values that a host has written is freed at once, and not when the host collects it.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm } from '../../api/ivm.mjs';
import { host } from '../../harness.mjs';

const COUNT = 40;
const values = {
  'strings, which the host itself writes': Array.from({ length: 2_000 }, (_, i) => `line ${i} `.repeat(100)),
  'records, which are larger than what is kept': Array.from({ length: 5_000 }, (_, id) => ({ id, text: `text ${id} `.repeat(60) })),
};

for (const [what, value] of Object.entries(values)) {
  test(what, { skip: !host.startsWith('node') }, () => {
    const isolate = new ivm.Isolate({ memoryLimit: 256 });
    const sink = isolate.createContextSync().evalSync('(value) => value.length', { reference: true });
    const copyIn = () => sink.applySync(undefined, [value], { arguments: { copy: true } });
    assert.equal(copyIn(), value.length);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < COUNT; i += 1) copyIn();
    const taken = process.memoryUsage().arrayBuffers - before;
    isolate.dispose();
    // All of them have more than 40 MB.
    assert.ok(taken < 16e6, `${Math.round(taken / 1e6)} MB`);
  });
}
