// `node fuzz/main.mjs TARGET [options of the fuzzer]`; README.md describes the targets. Findings are in fuzz/artifacts.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, show } from '../scripts/process.mjs';
import { nodeCommand } from './libraries.mjs';

const CODEC = ['values', 'wire', 'carriers'];
const RUST = ['evals', 'frames', 'inspector', 'operations', 'payload', 'seal', 'web'];
const MAX_BYTES = 2048;
const MAX_MEGABYTES = 4096;
const INPUT_MS = 120_000;

const [target, ...options] = process.argv.slice(2);
const fuzz = join(root, 'fuzz');
const artifacts = join(fuzz, 'artifacts');

/** The folders for new inputs and for those that are checked in; none if the options name inputs. */
function corpora() {
  if (options.some((option) => !option.startsWith('-'))) return [];
  const found = join(artifacts, 'corpus', target);
  mkdirSync(found, { recursive: true });
  return [found, join(fuzz, 'corpus', target)];
}

const common = [`-max_len=${MAX_BYTES}`, `-rss_limit_mb=${MAX_MEGABYTES}`, `-artifact_prefix=${join(artifacts, target)}-`];

async function codec() {
  const cli = join(fuzz, 'node_modules/@jazzer.js/core/dist/cli.js');
  if (!existsSync(cli) && (await show('npm', ['ci', '--silent'], { cwd: fuzz })) !== 0) return 1;
  mkdirSync(join(artifacts, 'libraries'), { recursive: true });
  const [command, ...before] = nodeCommand(join(artifacts, 'libraries'));
  // Only the host's side is instrumented, both its bundle and its sources, which some targets load. `-e` replaces Jazzer.js's own list. Its
  // limit of 5 s for an input measures elapsed time, not processor time.
  const args = [...before, cli, join(fuzz, 'codec/target.cjs'), '-i', 'host/', '-i', 'surface/', '-e', 'node_modules', '--timeout', String(INPUT_MS), ...corpora(), '--', ...common, ...options];
  return show(command, args, { env: { ...process.env, TARGET: target } });
}

function rust() {
  // Threads free their memory when they end, so a search for leaks after each input finds none, and would take most of the time.
  const late = '-detect_leaks=0';
  const env = { ...process.env, LSAN_OPTIONS: `suppressions=${join(fuzz, 'leaks.txt')}:print_suppressions=0` };
  return show('cargo', ['+nightly', 'fuzz', 'run', '--fuzz-dir', fuzz, target, ...corpora(), '--', ...common, late, ...options], { env });
}

if (target === 'loops') process.exitCode = await show(process.execPath, [join(fuzz, 'loops/main.mjs'), ...options]);
else if (CODEC.includes(target)) process.exitCode = await codec();
else if (RUST.includes(target)) process.exitCode = await rust();
else {
  console.error(`Which target? ${['loops', ...CODEC, ...RUST].join(' ')}`);
  process.exitCode = 1;
}
