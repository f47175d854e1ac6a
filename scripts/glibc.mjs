// Which glibc the built files need: `node scripts/glibc.mjs`. What is published must not need a newer one than scripts/targets.mjs says, which
// scripts/release-build.mjs sees to.

import { join } from 'node:path';
import { floorOf } from './elf.mjs';
import { root } from './process.mjs';
import { addonFile, launcherFile } from './setup.mjs';

for (const file of [addonFile, launcherFile].filter((name) => name !== undefined)) console.log(`${file} needs glibc ${floorOf(join(root, file))}`);
