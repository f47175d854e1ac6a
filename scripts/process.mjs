// Child processes: with this process's terminal, or captured and with a time limit.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(fileURLToPath(import.meta.url), '../..');

const MAX_OUTPUT_CHARS = 256 * 1024;
const isWindows = process.platform === 'win32';

/** The settings by which npm and Node reach a registry on this machine. */
const REACHING = /^(npm_config_(registry|ca|cafile|cert|key|strict_ssl|userconfig|globalconfig|(https?_?|no_?)?proxy)|NODE_EXTRA_CA_CERTS)$/i;

/** The environment of a user. Of this process's own settings for Node and npm, it keeps only those that are needed to reach a registry. */
export function environmentOfUser() {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|CI$|FORCE_COLOR$)/i.test(name) || REACHING.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
}

/** The running process groups, which are ended with this process. */
const running = new Set();

function end(child) {
  try {
    if (isWindows) child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // gone already
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) end(child);
    process.exit(1);
  });
}

/**
 * Runs a command with this process's terminal; resolves with its exit code.
 * @returns {Promise<number>}
 */
export function show(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const TICKS_PER_SECOND = 100;
/** Fields of `/proc/<pid>/stat` after the name: user and system time of children that have ended. */
const [CHILDREN_USER, CHILDREN_SYSTEM] = [13, 14];

/** Seconds of processor time that ended children and their own children have used; 0 if the system does not report it. */
function takenByEnded() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

let taken = takenByEnded();

/**
 * Runs a command, captures its output, and kills it with all its children after `limit` milliseconds. `cpu` is the processor time that it
 * used, in seconds.
 * @returns {Promise<{ code: number | null, signal: string | null, output: string, late: boolean, ms: number, cpu: number }>}
 */
export function capture(command, args, { limit = 0, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: !isWindows, ...options });
    running.add(child);
    let output = '';
    let late = false;
    let cpu = 0;
    const take = (chunk) => {
      output += chunk;
      if (output.length > 2 * MAX_OUTPUT_CHARS) output = output.slice(-MAX_OUTPUT_CHARS);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    const timer = limit > 0 && setTimeout(() => ((late = true), end(child)), limit);
    child.on('error', (error) => {
      clearTimeout(timer);
      running.delete(child);
      reject(error);
    });
    // Grandchildren may hold the pipes open. They end with the child's group; those that have left it are not waited for.
    child.on('exit', () => {
      const before = taken;
      taken = takenByEnded();
      cpu = taken - before;
      clearTimeout(timer);
      setTimeout(() => end(child), 1000).unref();
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, 5000).unref();
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, output, late, ms: performance.now() - start, cpu });
    });
  });
}
