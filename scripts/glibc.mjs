// Which glibc the built files need: `node scripts/glibc.mjs [--most 2.31]`. With `--most` it is a failure if they need a newer one.

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compareVersions, floorOf } from './elf.mjs';
import { root } from './process.mjs';
import { addonFile, launcherFile } from './setup.mjs';

const { most } = parseArgs({ options: { most: { type: 'string' } } }).values;
for (const file of [addonFile, launcherFile].filter((name) => name !== undefined)) {
  const floor = floorOf(join(root, file));
  const tooNew = most !== undefined && compareVersions(floor, most) > 0;
  console.log(`${file} needs glibc ${floor}${tooNew ? `, which is newer than ${most}` : ''}`);
  if (tooNew) process.exitCode = 1;
}
