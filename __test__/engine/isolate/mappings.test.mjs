// A process whose host has taken most of the mappings that the system gives it.

import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const MAX = process.platform === 'linux' ? Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8')) : 0;
const skip = !(MAX > 60_000 && MAX < 70_000) && 'it has no limit of mappings, or another one';

test('resizable buffers of guests leave mappings for the host', { skip, timeout: 200_000 }, () => passes(`
  const { readFileSync } = await import('node:fs');
  const mappings = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').length;
  const before = mappings();
  const own = Array.from({ length: 22_000 }, () => new ArrayBuffer(8, { maxByteLength: 65_536 }));
  // The control: each has two.
  assert.ok(mappings() - before > 40_000, String(mappings() - before));
  const kept = [];
  let made = 0;
  for (let index = 0; index < 14; index += 1) {
    const guest = new ivm.Isolate({ memoryLimit: 32 });
    kept.push(guest);
    const within = await guest.createContext();
    made += await within.eval(\`
      globalThis.kept = [];
      try { for (;;) kept.push(new ArrayBuffer(8, { maxByteLength: 65536 })); } catch (error) { if (!(error instanceof RangeError)) throw error; }
      kept.length\`);
  }
  assert.ok(made > 4_000 && made < 12_000, String(made));
  assert.ok(mappings() < ${MAX} - 2_000, String(mappings()));
  assert.equal(own.length, 22_000);
  otherWorks();
  for (const guest of kept) guest.dispose();
  await waitFor(() => mappings() < ${MAX} - 8_000);
  assert.equal(await (await new ivm.Isolate().createContext()).eval('new ArrayBuffer(8, { maxByteLength: 65536 }).resizable'), true);`, { timeout: 120_000 }));
