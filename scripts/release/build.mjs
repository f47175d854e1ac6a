// `node scripts/release/build.mjs --target x86_64-unknown-linux-gnu [--to binary]`: builds the published files of a target into a folder.
// Only this script defines how; CI uses it for every platform.
//
// For Linux with glibc it uses cargo-zigbuild (`pip install -r scripts/tools/requirements.txt`), which links for an older glibc than the
// machine's own. A binary that needs a newer glibc than allowed is a failure. All others are built on their own platform.

import { chmodSync, copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compareVersions, floorOf, hasSymbols } from './elf.mjs';
import { binariesOf, ownTriple } from './pack.mjs';
import { capture, root, show } from '../process.mjs';
import { addSnapshot } from '../setup/snapshot.mjs';
import { GLIBC, TARGETS, tripleOf } from './targets.mjs';

/** Cargo's names for the files that a package has as … */
const BUILT = [
  [/\.node$/, { linux: 'libisolated_v8.so', darwin: 'libisolated_v8.dylib', win32: 'isolated_v8.dll' }],
  [/launcher/, { linux: 'isolated-v8-launcher', darwin: 'isolated-v8-launcher' }],
];

async function main() {
  const { target, to } = parseArgs({ options: { target: { type: 'string' }, to: { type: 'string', default: 'binary' } } }).values;
  if (!TARGETS.includes(target)) throw new Error(`--target is one of ${TARGETS.join(', ')}`);
  const glibc = target.endsWith('-linux-gnu');
  const { output } = await capture('rustc', ['-vV']);
  if (!glibc && !output.includes(`host: ${target}\n`)) throw new Error(`${target} is built on such a machine, and this is another:\n${output}`);
  const command = glibc ? ['zigbuild', '--target', `${target}.${GLIBC}`] : ['build'];
  const code = await show('cargo', [...command, '--release', '--locked']);
  if (code !== 0) throw new Error(`cargo ${command[0]} failed (exit code ${code})`);

  const triple = tripleOf(target);
  // The addon makes its snapshot itself.
  const isOwn = triple === ownTriple;
  const platform = triple.split('-')[0];
  const folder = join(resolve(root, process.env.CARGO_TARGET_DIR ?? 'target'), glibc ? target : '', 'release');
  mkdirSync(resolve(to), { recursive: true });
  for (const file of binariesOf(triple)) {
    const [, names] = BUILT.find(([pattern]) => pattern.test(file));
    const from = join(folder, names[platform]);
    if (!existsSync(from)) throw new Error(`${from} was not built`);
    const place = join(resolve(to), file);
    copyFileSync(from, place);
    chmodSync(place, 0o755);
    if (file.endsWith('.node') && isOwn) await addSnapshot(place);
    const floor = glibc ? floorOf(place) : undefined;
    if (floor !== undefined && compareVersions(floor, GLIBC) > 0) throw new Error(`${file} needs glibc ${floor}, and is to run on ${GLIBC}`);
    if (glibc && hasSymbols(place)) throw new Error(`${file} was built with symbols that nothing needs`);
    console.log(`${place}${floor === undefined ? '' : ` needs glibc ${floor}`}`);
  }
}

await main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
