// The tests of hostile programs: all of one file in every way, or each program once.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { host } from '../harness.mjs';
import { FILES, WAYS, programsOf } from './corpus.mjs';
import { runAll, runPrograms } from './runner.mjs';

/**
 * The programs of one file, each in every way.
 * @param {string} file
 */
export async function hostile(file) {
  const programs = await programsOf(file);
  let running;
  /** They share processes, so the first test runs them all. */
  const results = () => (running ??= runPrograms(file, programs, WAYS));
  describe(programs[0].group, () => {
    for (const program of programs) {
      for (const way of WAYS) {
        test(`${program.name}, ${way}`, async () => {
          assert.deepEqual((await results()).get(`${way} ${program.name}`).problems, []);
        });
      }
    }
  });
}

const KINDS = ['node', 'bun', 'deno'];

/** Every program in one way on one kind of host; those assigned to this host. */
export async function hostileSample() {
  const kind = KINDS.findIndex((name) => host.startsWith(name));
  let before = 0;
  for (const file of FILES) {
    const programs = await programsOf(file);
    const first = before;
    before += programs.length;
    const runs = programs
      .map((program, index) => ({ program, number: first + index }))
      .filter(({ number }) => number % KINDS.length === kind)
      .map(({ program, number }) => ({ program, way: WAYS[Math.floor(number / KINDS.length) % WAYS.length] }));
    let running;
    const results = () => (running ??= runAll(file, runs));
    describe(programs[0].group, () => {
      for (const { program, way } of runs) {
        test(`${program.name}, ${way}`, async () => {
          assert.deepEqual((await results()).get(`${way} ${program.name}`).problems, []);
        });
      }
    });
  }
}
