// The tests of hostile programs: all of one file, or each program once.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { host } from '../harness.mjs';
import { FILES, WAYS, programsOf } from './corpus.mjs';
import { runAll } from './runner.mjs';

const KINDS = ['node', 'bun', 'deno'];
const kind = KINDS.findIndex((name) => host.startsWith(name));

/** All ways on Node. Bun and Deno have one for each program, not the same one. */
const waysOf = (index) => (kind === 0 ? WAYS : [WAYS[(index + kind) % WAYS.length]]);

/** Tests of these runs. They share processes, so the first test runs them all. */
function testRuns(file, group, runs) {
  let running;
  const results = () => (running ??= runAll(file, runs));
  describe(group, () => {
    for (const { program, way } of runs) {
      test(`${program.name}, ${way}`, async () => {
        assert.deepEqual((await results()).get(`${way} ${program.name}`).problems, []);
      });
    }
  });
}

/**
 * The programs of one file, in every way that this host has to show.
 * @param {string} file
 */
export async function hostile(file) {
  // `soak/hostile/caller-thread` runs the others.
  process.env.ISOLATED_V8_SYNC_CALLS = 'thread';
  const programs = await programsOf(file);
  testRuns(file, programs[0].group, WAYS.flatMap((way) => programs.filter((_, index) => waysOf(index).includes(way)).map((program) => ({ program, way }))));
}

/** Every program in one way on one kind of host; those assigned to this host. */
export async function hostileSample() {
  let before = 0;
  for (const file of FILES) {
    const programs = await programsOf(file);
    const first = before;
    before += programs.length;
    const runs = programs
      .map((program, index) => ({ program, number: first + index }))
      .filter(({ number }) => number % KINDS.length === kind)
      .map(({ program, number }) => ({ program, way: WAYS[Math.floor(number / KINDS.length) % WAYS.length] }));
    testRuns(file, programs[0].group, runs);
  }
}
