// Reads values of each kind of about a given size, and prints how much of the heap they take: a line of JSON for each kind.

import { createRequire } from 'node:module';
import { argv } from 'node:process';
import { bytesOf, KINDS, LARGE, liveMemory } from './memory-kinds.mjs';

const require = createRequire(import.meta.url);
const { Reader } = require('../../surface/host/wire/index.js');
const { Work } = require('../../surface/host/work.js');

const size = Number(argv[2]);
const FEW = 500;

function read(bytes) {
  const reader = new Reader(bytes, [], { resolve: () => undefined, maxWeight: Infinity }, 0, new Work());
  return { value: reader.run(), weight: reader.weight };
}

/** In a separate frame, so that nothing of the previous kind stays reachable. */
async function measure(kind) {
  const { weight } = read(bytesOf(kind, FEW));
  const bytes = bytesOf(kind, Math.floor(size / (weight / FEW)));
  const before = await liveMemory();
  const { value, weight: counted } = read(bytes);
  const taken = await liveMemory() - before;
  // Both are alive until here.
  return { kind, counted, taken, wire: bytes.length, isThere: typeof value === 'object' };
}

for (const kind of [...Object.keys(KINDS), ...Object.keys(LARGE)]) console.log(JSON.stringify(await measure(kind)));
