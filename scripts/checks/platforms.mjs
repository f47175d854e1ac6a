// `npm run check:platforms`: runs clippy on the whole workspace for other platforms than this machine's, as far as rustup has their
// targets. It shows only that the sources compile there: nothing is linked or run. With `-- --target x86_64-apple-darwin` it checks that
// target only.
//
// This does not need V8's library. Its binding for each target comes with the v8 crate. Nothing is downloaded.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { capture, root } from '../process.mjs';
import { locked } from '../setup.mjs';
import { TARGETS } from '../release/targets.mjs';

const output = async (command, ...args) => {
  const result = await capture(command, args).catch((error) => ({ code: 1, output: error.message }));
  return result.code === 0 ? result.output : undefined;
};

/** Which of the targets rustup has and which it does not, except the machine's own. */
async function targets() {
  const own = (await output('rustc', '-vV'))?.match(/^host: (.*)$/m)?.[1];
  const known = ((await output('rustup', 'target', 'list', '--installed')) ?? '').split('\n');
  const others = TARGETS.filter((target) => target !== own);
  return { installed: others.filter((target) => known.includes(target)), missing: others.filter((target) => !known.includes(target)) };
}

/** The folder of the v8 crate's sources. */
async function crateFolder() {
  const { stdout } = await promisify(execFile)('cargo', ['metadata', '--format-version=1', ...locked], { cwd: root, maxBuffer: 1 << 28 });
  const { packages } = JSON.parse(stdout);
  return dirname(packages.find(({ name }) => name === 'v8').manifest_path);
}

/** Resolves with whether the sources compile for a target. */
async function check(folder, target) {
  const binding = join(folder, 'gen', `src_binding_release_${target}.rs`);
  const start = performance.now();
  const { code, output: said } = existsSync(binding)
    ? await capture('cargo', ['clippy', '--release', ...locked, '--workspace', '--all-targets', '--target', target, '--', '-D', 'warnings'], {
      env: { ...process.env, RUSTY_V8_SKIP_DOWNLOAD: '1', RUSTY_V8_SRC_BINDING_PATH: binding },
    })
    : { code: 1, output: `the v8 crate has no ${binding}` };
  console.log(`${(code === 0 ? 'ok' : 'FAIL').padEnd(4)} ${target}  ${((performance.now() - start) / 1000).toFixed(1)} s`);
  if (code !== 0) console.log(said.trimEnd().replace(/^/gm, '       '));
  return code === 0;
}

const { target } = parseArgs({ options: { target: { type: 'string', multiple: true } } }).values;
const { installed, missing } = await targets();
const chosen = target ?? installed;
const folder = chosen.length > 0 ? await crateFolder() : undefined;
for (const name of chosen) {
  if (!(await check(folder, name))) process.exitCode = 1;
}
if (target === undefined && missing.length > 0) console.log(`not checked, because their targets are missing (rustup target add …): ${missing.join(', ')}`);
