// Hostile programs by sync calls on the thread of their caller: all of them on Node, and a third of them on each other kind of host. With `ROUNDS`, all
// of them on every host, as often as that says.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { host } from '../../harness.mjs';
import { FILES, programsOf } from '../../hostile/corpus.mjs';
import { AVAILABLE, runPrograms } from '../../hostile/runner.mjs';

/** Bun and Deno have different ones. */
const SHARES = 3;
const ROUNDS = Number(process.env.ROUNDS ?? 1);
const share = process.env.ROUNDS === undefined ? ['bun', 'deno'].indexOf(host) : -1;

// The processes of the programs inherit this.
process.env.ISOLATED_V8_SYNC_CALLS = 'caller';

describe("hostile programs on the caller's thread", { skip: !AVAILABLE && 'elsewhere they run on threads of their own' }, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const file of FILES) {
      test(ROUNDS === 1 ? file : `${file}, round ${round}`, async () => {
        const programs = (await programsOf(file)).filter((_, index) => share === -1 || index % SHARES === share);
        const results = await runPrograms(file, programs, ['sync']);
        const wrong = [...results].filter(([, { problems }]) => problems.length > 0).map(([name, { problems }]) => [name, problems]);
        assert.ok(results.size > 0);
        assert.deepEqual(wrong, []);
      });
    }
  }
});
