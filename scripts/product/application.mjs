// Installs public packages that need isolated-vm, unchanged, with an npm `overrides` entry that replaces isolated-vm with this package. Then
// runs a program of each (__test__/application) on every host, or on those that `--host node24,bun` names; `--only n8n,utcp` selects
// programs. With `--original` they get isolated-vm itself, on hosts that can load it: the programs' expectations come from there.

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { capture, root } from '../process.mjs';
import { setup } from '../setup.mjs';
import { APPLICATIONS, NEEDS, applicationOf, installApplications } from './applications.mjs';

const LIMIT_MS = 120_000;

async function runOn(host, folder, program, name) {
  const { NODE_OPTIONS, NODE_PATH, CI, FORCE_COLOR, ...inherited } = process.env;
  const { code, signal, output, late, ms } = await capture(host.executable, host.program([], `${program}.mjs`), {
    limit: LIMIT_MS,
    cwd: folder,
    env: { ...inherited, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  // The program writes this last line if everything was as expected.
  const done = /^(\d+) [a-z ]+ with (\S+)$/.exec(output.trimEnd().split('\n').at(-1));
  const ok = code === 0 && done?.[2] === name && Number(done[1]) > 0;
  const ended = late ? `still running after ${LIMIT_MS / 1000} s` : `ended by ${signal ?? `exit code ${code}`}`;
  console.log(`${(ok ? 'ok' : 'FAIL').padEnd(4)} ${host.name.padEnd(6)} ${program.padEnd(8)} ${ok ? done[0] : ended}  ${(ms / 1000).toFixed(1)} s`);
  if (!ok) console.log(output.trimEnd().replace(/^/gm, '       '));
  return ok;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-application-'));
try {
  const { values } = parseArgs({ options: { host: { type: 'string' }, only: { type: 'string' }, original: { type: 'boolean' } } });
  const programs = values.only?.split(',') ?? Object.keys(APPLICATIONS);
  const unknown = programs.find((program) => !Object.hasOwn(APPLICATIONS, program));
  if (unknown !== undefined) throw new Error(`--only: there is no ${unknown}, but ${Object.keys(APPLICATIONS).join(', ')}`);
  await setup('addon', 'hosts');
  const hosts = selectHosts(values.host);
  const name = await installApplications(folder, programs, values);
  for (const program of programs) copyFileSync(join(root, `__test__/application/${program}.mjs`), join(folder, `${program}.mjs`));
  for (const program of programs) console.log(`${program}: ${applicationOf(program)} ${Object.values(APPLICATIONS[program])[0]}, with ${name} for ${NEEDS}`);
  const failed = [];
  for (const host of hosts) for (const program of programs) if (!(await runOn(host, folder, program, name))) failed.push(host.name);
  if (failed.length > 0) process.exitCode = 1;
} catch (error) {
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
