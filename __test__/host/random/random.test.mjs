// A few runs of the randomized test, each in a process of its own; random.mjs explains longer ones.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { collectorArguments, runFile } from '../../harness.mjs';

const OPERATIONS = 10_000;
/** A slow machine is not a hang. */
const PATIENCE_SECONDS = 30;
const TIMEOUT_MS = 110_000;
const file = fileURLToPath(new URL('../../random/random.mjs', import.meta.url));

describe('random programs over the host and three isolates match a model', () => {
  for (const [seed, disposal] of [[1, 0.4], [2, 1]]) {
    test(`seed ${seed}, disposal ${disposal}`, async () => {
      const args = ['--child', '--operations', String(OPERATIONS), '--seed', String(seed), '--disposal', String(disposal), '--patience', String(PATIENCE_SECONDS)];
      const { code, signal, timedOut, stdout, stderr } = await runFile(file, { args, hostArgs: collectorArguments(), timeout: TIMEOUT_MS });
      const passed = stdout.trimEnd().endsWith('\nok');
      assert.deepEqual({ code, signal, timedOut, passed }, { code: 0, signal: null, timedOut: false, passed: true }, `${stdout}${stderr}`);
    });
  }
});
