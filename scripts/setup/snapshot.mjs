// Adds the startup snapshots of hosts and of processes of sandboxes to the end of the addon's file, which no loader reads.
// `src/engine/snapshot.rs` reads them when V8 starts. On macOS a signed file must not change, so there V8 makes its snapshot at each start.

import { capture } from '../process.mjs';

const LIMIT_MS = 60_000;

const PROGRAM = `
  const addon = { exports: {} };
  process.dlopen(addon, process.argv[1]);
  require('node:fs').appendFileSync(process.argv[1], Buffer.from(addon.exports.startupSnapshots()));`;

/** @param {string} file an addon for this machine */
export async function addSnapshot(file) {
  if (process.platform === 'darwin') return;
  const { code, output } = await capture(process.execPath, ['-e', PROGRAM, file], { limit: LIMIT_MS });
  if (code !== 0) throw new Error(`no startup snapshot can be made with ${file}:\n${output}`);
}
