// The corpus of hostile programs in confined processes: whatever V8 does for them, including running out of memory, it needs no system call
// that is refused, and no process ends differently than without confinement.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { programsOf } from '../../hostile/corpus.mjs';

const options = { skip: process.platform !== 'linux' && 'there are no such processes' };

const FILES = ['loops', 'compiled', 'builtins', 'memory', 'buffers', 'wasm', 'texts', 'sources', 'stack', 'promises', 'results', 'errors', 'calls'];
const REFUSED = ['ERR_ISOLATE_CRASH', 'ERR_ISOLATE_PROTOCOL', 'ERR_ISOLATE_SYSTEM_CALL'];
/** A result that is too large for this engine. */
const TOO_LARGE = 'The value could not be brought into the host';
const MIN_MS = 200;
const MAX_MS = 3_000;
const AT_A_TIME = 2;

/** How a program has failed: its name and the error. */
async function failureOf({ name, code, script, timeout, memory }) {
  const sandbox = new ivm.SubprocessSandbox({ timeout: Math.min(Math.max(timeout, MIN_MS), MAX_MS), memoryLimit: memory, poolSize: 0 });
  const { error, failure } = await sandbox.execute(script ? code : `return await (${code})()`, [], async () => {});
  return REFUSED.includes(failure?.code) && error !== TOO_LARGE ? `${name}: ${error} (${failure.code}, ${failure.signal})` : undefined;
}

describe('hostile programs in confined processes', options, () => {
  for (const file of FILES) {
    test(file, { timeout: 200_000 }, async () => {
      const rest = (await programsOf(file)).values();
      const failures = [];
      const work = async () => {
        for (const program of rest) {
          const failure = await failureOf(program);
          if (failure !== undefined) failures.push(failure);
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, work));
      assert.deepEqual(failures, []);
    });
  }
});
