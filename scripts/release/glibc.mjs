// Prints which glibc the built files need: `node scripts/release/glibc.mjs`. Published files must not need a newer one than targets.mjs names;
// build.mjs checks that.

import { join } from 'node:path';
import { floorOf } from './elf.mjs';
import { root } from '../process.mjs';
import { addonFile, launcherFile } from '../setup.mjs';

for (const file of [addonFile, launcherFile].filter((name) => name !== undefined)) console.log(`${file} needs glibc ${floorOf(join(root, file))}`);
