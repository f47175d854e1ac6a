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

describe('a result that is announced as large', () => {
  const config = { memoryLimit: 256 };
  /** One that leaves room for 60 MB of others. */
  async function announced(timeout) {
    const made = unfinished(450, 2, { ...config, timeout });
    const execution = run(made);
    await until('it has begun', made.hasSent);
    return { sandbox: made.sandbox, execution };
  }
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

  test('reserves memory for all of it, until its deadline', { timeout: 60_000 }, async () => {
    const { execution } = await announced(5_000);
    const { over, isOver } = others(3, 70);
    const { failure } = await execution;
    assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    assert.equal(isOver(), false);
    assert.deepEqual(await over, Array(3).fill(70 * MEGABYTE));
  });

  test('no longer counts when it is terminated', { timeout: 60_000 }, async () => {
    const { sandbox, execution } = await announced(50_000);
    const { over, isOver } = others(3, 70);
    await sleep(1_500);
    assert.equal(isOver(), false);
    sandbox.terminate();
    assert.equal((await execution).failure.code, 'ERR_ISOLATE_DISPOSED');
    assert.deepEqual(await over, Array(3).fill(70 * MEGABYTE));
  });

  test('does not delay results that fit in the remaining budget', { timeout: 60_000 }, async () => {
    const { sandbox, execution } = await announced(50_000);
    assert.deepEqual(await others(1, 50).over, [50 * MEGABYTE]);
    sandbox.terminate();
    await execution;
  });
});
