// The memory that guests' values use in a host, and the memory that the reader counts for them: `node bench/heap-cost.mjs [hosts] [kind prefix]`.
// Prints bytes for one value of each kind: the counted ones, and the growth of heap and process on each host.
// `--kind <kind> <count>` is the program that a host runs.

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { argv, memoryUsage } from 'node:process';

import { bytesOf, KINDS, LARGE, liveMemory } from '../__test__/wire/memory-kinds.mjs';
import { selectHosts } from '../scripts/setup/hosts.mjs';
import { root } from '../scripts/process.mjs';

/** Approximate bytes on the wire. Enough values are read for a few dozen megabytes. */
const MAX_COUNT = 200_000;
const WIRE = 3_000_000;
const require = createRequire(import.meta.url);

async function measure(kind, count) {
  const { Reader } = require('../surface/host/wire/index.js');
  const { Work } = require('../surface/host/work.js');
  const read = (bytes) => {
    const reader = new Reader(bytes, [], { resolve: () => undefined, maxWeight: Infinity }, 0, new Work());
    return { value: reader.run(), weight: reader.weight };
  };
  read(bytesOf(kind, 100));
  const bytes = bytesOf(kind, count);
  const before = [await liveMemory(), memoryUsage.rss()];
  const { value, weight } = read(bytes);
  const peak = memoryUsage.rss();
  const after = [await liveMemory(), memoryUsage.rss()];
  globalThis.kept = [value, bytes];
  const each = (number) => Math.round(number / count);
  return { wire: each(bytes.length), counted: each(weight), heap: each(after[0] - before[0]), rss: each(after[1] - before[1]), peak: each(peak - before[1]) };
}

if (argv[2] === '--kind') {
  console.log(JSON.stringify(await measure(argv[3], Number(argv[4]))));
} else {
  const hosts = selectHosts(argv[2]);
  const kinds = [...Object.keys(KINDS), ...Object.keys(LARGE)].filter((kind) => kind.startsWith(argv[3] ?? ''));
  console.log(['kind'.padEnd(46), 'wire', 'counted', ...hosts.map(({ name }) => `${name} (heap rss peak)`), 'least counted/heap'].join('  '));
  for (const kind of kinds) {
    const count = kind.startsWith('buffers that') ? 4_000 : Math.min(MAX_COUNT, Math.ceil(WIRE / (bytesOf(kind, 20).length / 20)));
    const rows = hosts.map(({ executable, program, name }) => {
      const { stdout, stderr, status } = spawnSync(executable, [...program(name === 'bun' ? [] : ['--expose-gc'], 'bench/heap-cost.mjs'), '--kind', kind, String(count)],
        { cwd: root, encoding: 'utf8', timeout: 60_000 });
      return status === 0 ? JSON.parse(stdout) : { failed: stderr.split('\n').slice(0, 8).join(' | ') };
    });
    const good = rows.filter((row) => row.failed === undefined);
    const ratio = Math.min(...good.map(({ counted, heap, rss }) => counted / Math.max(heap, rss)));
    console.log([kind.padEnd(46), String(good[0]?.wire).padStart(4), String(good[0]?.counted).padStart(6),
      ...rows.map(({ failed, heap, rss, peak }) => failed ?? `${heap} ${rss} ${peak}`.padStart(16)), ratio.toFixed(2), ratio < 0.8 ? '<<<' : ''].join('  '));
  }
}
