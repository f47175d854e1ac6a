// The tests of one file of programs: each program, each way.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { WAYS, programsOf } from './corpus.mjs';
import { runPrograms } from './runner.mjs';

/** @param {string} file */
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
