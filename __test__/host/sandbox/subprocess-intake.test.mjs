// Fake children that begin a large message and do not finish it: how much the host keeps of all of them together, and which of them it stops reading.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { end, fakeLauncher, hostWith, noTools, ready, residentBytes, sleep, until, value } from '../../sandbox/subprocess-helper.mjs';

const MEGABYTE = 2 ** 20;
const END = 19;

const u32 = (number) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(number); return bytes; };

/** A sandbox whose process sends some bytes and then zeros. `hasSent` tells whether it has. */
function sandboxOf(bytes, zeros, config) {
  const { file, folder } = fakeLauncher(`cat bytes >&0; head -c ${zeros} /dev/zero >&0; echo > sent; exec sleep 60`);
  writeFileSync(join(folder, 'bytes'), bytes);
  const { SubprocessSandbox } = hostWith(file);
  return { sandbox: new SubprocessSandbox({ poolSize: 0, ...config }), hasSent: () => existsSync(join(folder, 'sent')) };
}

/** The beginning of a result of `megabytes`, of which `sent` arrive. */
const unfinished = (length, sent, config) => sandboxOf(Buffer.concat([ready(), u32(length * MEGABYTE), Buffer.from([END, 1, 7])]), sent * MEGABYTE - 3, config);
const text = (length) => value.string('x'.repeat(length));
const finished = (length, config) => sandboxOf(Buffer.concat([ready(), end(true, text(length))]), 0, { timeout: 60_000, ...config });
const run = ({ sandbox }) => sandbox.execute('', [], noTools);

describe('unfinished results', { skip: process.platform !== 'linux' && 'memory is measured on Linux' }, () => {
  test('use no more memory than the budget', { timeout: 60_000 }, async () => {
    const before = residentBytes();
    let peak = 0;
    const timer = setInterval(() => { peak = Math.max(peak, residentBytes() - before); }, 10);
    const hostile = Array.from({ length: 8 }, () => run(unfinished(250, 249, { timeout: 4_000 })));
    await until('much has arrived', () => peak > 200 * MEGABYTE, 4_000);
    // Small results do not wait, and a large one does not wait for longer than the others may run.
    const large = run(finished(20 * MEGABYTE));
    const start = performance.now();
    assert.equal((await run(finished(10))).result, 'x'.repeat(10));
    assert.ok(performance.now() - start < 2_000, `a small result took ${performance.now() - start} ms`);
    for (const { failure } of await Promise.all(hostile)) assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    clearInterval(timer);
    assert.ok(peak < 700 * MEGABYTE, `${Math.round(peak / MEGABYTE)} MB`);
    assert.equal((await large).result.length, 20 * MEGABYTE);
    await until('it is free again', () => residentBytes() - before < 300 * MEGABYTE);
  });
});

describe('a message that is announced as large', () => {
  const config = { memoryLimit: 256 };
  /** What others send meanwhile. */
  function others(count, size) {
    const all = Array.from({ length: count }, () => run(finished(size * MEGABYTE, config)));
    let isOver = false;
    const over = Promise.all(all).then((outcomes) => {
      isOver = true;
      return outcomes.map(({ result }) => result.length);
    });
    return { over, isOver: () => isOver };
  }
  const beginnings = {
    'of which a little arrives': Buffer.concat([u32(450 * MEGABYTE), Buffer.from([END, 1, 7])]),
    // Its kind, and so its maximum, is not known.
    'of which nothing but the length arrives': u32(0xffff_ffff),
  };

  for (const [what, bytes] of Object.entries(beginnings)) {
    test(`${what} delays no other`, { timeout: 60_000 }, async () => {
      const made = sandboxOf(Buffer.concat([ready(), bytes]), 0, { ...config, timeout: 50_000 });
      const execution = run(made);
      await until('it has begun', made.hasSent);
      // Together more than there is room for.
      assert.deepEqual(await others(4, 100).over, Array(4).fill(100 * MEGABYTE));
      made.sandbox.terminate();
      assert.equal((await execution).failure.code, 'ERR_ISOLATE_DISPOSED');
    });
  }

  test('delays others once most of it has arrived, until it is terminated', { timeout: 60_000 }, async () => {
    const made = unfinished(450, 300, { ...config, timeout: 50_000 });
    const execution = run(made);
    await until('it has arrived', made.hasSent);
    const { over, isOver } = others(2, 20);
    await sleep(1_500);
    assert.equal(isOver(), false);
    assert.equal((await run(finished(10))).result, 'x'.repeat(10));
    made.sandbox.terminate();
    assert.equal((await execution).failure.code, 'ERR_ISOLATE_DISPOSED');
    assert.deepEqual(await over, Array(2).fill(20 * MEGABYTE));
  });
});
