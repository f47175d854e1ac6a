// V8's read-only heap stays while a program makes isolates one after the other: an isolate in which nothing runs keeps it.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

test('V8 does not create its read-only heap again for each isolate', { skip: process.platform !== 'linux' && 'only Linux lists mappings' }, () => passes(`
  import { readFileSync } from 'node:fs';
  isolate.dispose();
  /** Pages of a heap's size that can only be read, and belong to no file. The host's engine may have some, too. */
  const pages = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').flatMap((line) => {
    const [, start, end] = /^([\\da-f]+)-([\\da-f]+) r--p 0+ 00:00 0\\s*$/.exec(line) ?? [];
    return start !== undefined && parseInt(end, 16) - parseInt(start, 16) >= 0x8000 ? [line] : [];
  });
  const ended = () => waitFor(() => ivm.engineStats().alive === 0);
  const cycle = async () => {
    const each = new ivm.Isolate({ warm: 0 });
    assert.equal(each.createContextSync().evalSync('1 + 1'), 2);
    each.dispose();
    await ended();
  };
  await ended();
  const before = new Set(pages());
  for (let i = 0; i < 20; i += 1) await cycle();
  const ours = () => pages().filter((line) => !before.has(line));
  await waitFor(() => ours().length > 0);
  const kept = ours();
  for (let i = 0; i < 5; i += 1) await cycle();
  assert.deepEqual(ours().filter((line) => kept.includes(line)), kept);
  // Isolates of other snapshots share it.
  const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.answer = 42' }]);
  const other = new ivm.Isolate({ snapshot, warm: 0 });
  assert.equal(other.createContextSync().evalSync('answer'), 42);`, { options: '{ warm: 0 }' }));
