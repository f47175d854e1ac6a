// Replays what the fuzzer of the codec has found (fuzz/README.md). `cargo test` replays the rest of the corpus.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../../harness.mjs';

const require = createRequire(import.meta.url);
const { ready } = require('../../../fuzz/codec/difference.cjs');
const { targets } = require('../../../fuzz/codec/targets.cjs');

const folder = join(root, 'fuzz/corpus');

describe('the corpus of the codec', () => {
  for (const name of Object.keys(targets)) {
    for (const file of readdirSync(join(folder, name)).toSorted()) {
      test(`${name}/${file}`, async () => {
        await ready;
        targets[name](new Uint8Array(readFileSync(join(folder, name, file))));
      });
    }
  }
});
