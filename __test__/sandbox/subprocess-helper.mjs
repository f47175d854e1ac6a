// What tests of the subprocess sandbox share: the processes of this machine, and fake children.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { host, root } from '../harness.mjs';

const require = createRequire(import.meta.url);
const { createHost } = require('../../surface/host/index.js');
const native = require('../../loader/native.js');

export const noTools = async (name) => { throw new Error(`unexpected tool ${name}`); };
export const tool = (name) => ({ name, description: `the tool ${name}` });
export const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
export const TERMINATED = 'Execution terminated (timeout or resource limit)';

const NAME = 'isolated-v8-launcher';

/** What the kernel reports of a process, or undefined. */
function processOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    return { pid: Number(pid), name, state: fields[0], parent: Number(fields[1]), threads: Number(fields[17]) };
  } catch {
    return undefined;
  }
}

/** The processes that a process has started for its sandboxes. Those that were not reaped are in state Z. */
export const childrenOf = (parent = process.pid) =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(processOf)
    .filter((found) => found?.parent === parent && NAME.startsWith(found.name));

/** Those of them in which V8 runs: they keep their present ids. */
export const startedChildren = () => childrenOf().filter(({ state, threads }) => state !== 'Z' && threads > 2);

/** Megabytes of a process's guest, from its command line; NaN for processes that are not children of the library. */
export function memoryOf(pid) {
  try {
    return Number(/;memory=(\d+);/.exec(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))?.[1]) / 2 ** 20;
  } catch {
    // It has ended.
    return NaN;
  }
}

export const isAlive = (pid) => ![undefined, 'Z', 'X'].includes(processOf(pid)?.state);

/** Waits until a condition holds; fails if it does not within the time. */
export async function until(what, holds, limit = 10_000) {
  const end = performance.now() + limit;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not within ${limit} ms: ${what}`);
    await sleep(5);
  }
}

/** The environment of a process, by name. */
export const environmentOf = (pid) =>
  Object.fromEntries(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));

/** The resident memory of this process in bytes. */
export const residentBytes = () => Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[1]) * 4096;

export const openDescriptors = () => readdirSync('/proc/self/fd').length;

/** Folders of fake launchers, deleted when this process ends. */
const folders = [];
const deleteFolders = () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
};
process.on('exit', deleteFolders);
// `deno test` ends without `exit`.
globalThis.addEventListener?.('unload', deleteFolders);

/** A shell script instead of the executable. Descriptor 0 is its connection. */
export function fakeLauncher(script, { mode = 0o755 } = {}) {
  const tmp = join(root, '__test__/.tmp');
  mkdirSync(tmp, { recursive: true });
  const folder = mkdtempSync(join(tmp, `${host}-launcher-`));
  folders.push(folder);
  const file = join(folder, NAME);
  writeFileSync(file, `#!/bin/sh\ncd ${folder}\n${script}\n`);
  chmodSync(file, mode);
  return { file, folder };
}

/** `ivm` with another executable. */
export const hostWith = (launcher) => createHost(native, { launcher });

/** One execution by a child that is a script. The script finds `bytes` in the file `bytes`, and `files` by their names. */
export async function executeBy(script, { bytes = Buffer.alloc(0), files = {}, config = {}, tools = [], executor = noTools, code = '' } = {}) {
  const { file, folder } = fakeLauncher(script);
  for (const [name, contents] of Object.entries({ bytes, ...files })) writeFileSync(join(folder, name), contents);
  const { SubprocessSandbox } = hostWith(file);
  return new SubprocessSandbox({ poolSize: 0, timeout: 20_000, ...config }).execute(code, tools, executor);
}

// The messages of a child (src/child/frame.rs).
const u32 = (number) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(number >>> 0); return bytes; };
const f64 = (number) => { const bytes = Buffer.alloc(8); bytes.writeDoubleLE(number); return bytes; };
const counted = (bytes) => Buffer.concat([u32(bytes.length), bytes]);
export const frame = (kind, ...parts) => counted(Buffer.concat([Buffer.from([kind]), ...parts.map((part) => Buffer.from(part))]));
export const text = (string) => Buffer.concat([Buffer.from([1]), counted(Buffer.from(string, 'latin1'))]);
export const none = Buffer.from([0]);
export const ready = (report = '') => frame(16, counted(Buffer.from(report)));
export const log = (level, string) => frame(17, [level], text(string));
export const call = (number, index, params = '{}') => frame(18, u32(number), u32(index), text(params));
export const value = {
  undefined: Buffer.from([0]),
  number: (number) => Buffer.concat([Buffer.from([4]), f64(number)]),
  string: (string) => Buffer.concat([Buffer.from([6]), text(string)]),
  payload: (bytes, ...buffers) => Buffer.concat([Buffer.from([7]), counted(Buffer.from(bytes)), u32(buffers.length), ...buffers.map((each) => counted(Buffer.from(each)))]),
};
/** An error's own properties and its cause, which is an outcome. */
export const detailsOf = (properties, cause = none) =>
  Buffer.concat([Buffer.from([1]), u32(properties.length), ...properties.flatMap(([key, each]) => [text(key), each]), cause]);
export const end = (ok, result, { code = none, name = none, stack = none, details = none, figures = [2, 0] } = {}) =>
  frame(19, [ok ? 1 : 0], result, code, name, stack, details, ...figures.map(f64));
