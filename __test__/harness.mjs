// What tests share. Tests are plain `node:test` and `node:assert/strict`, which every host has. Use `describe` and `test`, not `t.test`
// (Bun counts subtests as one).

import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = join(fileURLToPath(import.meta.url), '../..');

/** The package's two entries, as a file and as a URL. */
export const entry = join(root, 'index.js');
export const moduleEntry = pathToFileURL(join(root, 'index.mjs')).href;

/** Code of an ES module that loads the package as CommonJS: that takes half the processor time of `import`, on Deno a third. */
const REQUIRE_ENTRY = `import { createRequire as requireOf } from 'node:module'; const ivm = requireOf(import.meta.url)(${JSON.stringify(entry)});`;

const isDeno = 'Deno' in globalThis;
const isBun = process.versions.bun !== undefined;
const major = Number.parseInt(process.versions.node, 10);

/** This runtime: `node20` … `node26`, `bun` or `deno`. */
export const host = isDeno ? 'deno' : isBun ? 'bun' : `node${major}`;

/** Versions of Node that share the cases of long files among them. Node 24 and the other kinds of hosts run all cases. */
const SHARED_BY = ['node20', 'node22', 'node25', 'node26'];

/** Whether this host runs the case with this index, of cases that versions of Node share. */
export const isOfHost = (index) => {
  const share = SHARED_BY.indexOf(host);
  return share === -1 || index % SHARED_BY.length === share;
};

const DEFAULT_TIMEOUT_MS = 30_000;
const scratch = join(root, '__test__/.tmp');
let scripts = 0;

/** The runtime's arguments before the file of a program. */
export const programArguments = () => (isDeno ? ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual'] : []);

/** The same for programs that call `gc()`, which Bun provides under another name. */
export const collectorArguments = () => (isDeno ? [...programArguments(), '--v8-flags=--expose-gc'] : isBun ? [] : ['--expose-gc']);

/**
 * @typedef {object} RunOptions
 * @property {number} [timeout] milliseconds until the child is killed (30,000)
 * @property {string[]} [args] arguments for the program
 * @property {string[]} [hostArgs] arguments for the runtime itself, instead of the usual ones
 * @property {Record<string, string>} [env] added to the environment
 * @property {string} [cwd]
 * @property {string} [input] its standard input
 *
 * @typedef {object} RunResult
 * @property {number | null} code exit code; null when a signal ended it
 * @property {string | null} signal
 * @property {string} stdout
 * @property {string} stderr
 * @property {number} ms how long it ran
 * @property {boolean} timedOut
 */

/**
 * Runs a file in a process of its own, with the runtime that this test runs on.
 * @param {string} file
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export function runFile(file, options = {}) {
  const { timeout = DEFAULT_TIMEOUT_MS, args = [], hostArgs = programArguments(), env = {}, cwd = root, input = '' } = options;
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...inherited } = process.env;
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, [...hostArgs, file, ...args], { cwd, env: { ...inherited, NO_COLOR: '1', ...env } });
    let stdout = '';
    let stderr = '';
    let timedOut = false;
    child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, timeout);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, ms: performance.now() - start, timedOut });
    });
    child.stdin.on('error', () => {}); // it may end without reading
    child.stdin.end(input);
  });
}

/**
 * Runs code in a process of its own, like `runFile`. It is an ES module in which `ivm` is the package, unless `bare`.
 * @param {string} code
 * @param {RunOptions & { bare?: boolean, commonjs?: boolean }} [options]
 * @returns {Promise<RunResult>}
 */
export async function run(code, { bare = false, commonjs = false, ...options } = {}) {
  mkdirSync(scratch, { recursive: true });
  const file = join(scratch, `${host}-${process.pid}-${(scripts += 1)}.${commonjs ? 'cjs' : 'mjs'}`);
  const load = commonjs
    ? `const ivm = require(${JSON.stringify(entry)});`
    : REQUIRE_ENTRY;
  // On the first line, so that positions in the code's own lines stay correct.
  writeFileSync(file, bare ? code : `${load} ${code}`);
  try {
    return await runFile(file, options);
  } finally {
    rmSync(file, { force: true });
  }
}
