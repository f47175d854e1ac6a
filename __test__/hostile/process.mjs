// One child process that runs hostile programs, with limits of time and memory, so that a hostile program harms neither the suite nor the
// machine.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectorArguments, root } from '../harness.mjs';

const CHILD = join(root, '__test__/hostile/child.mjs');
const MAX_MB = 3_000;
const WATCH_MS = 100;
const MAX_STDERR = 2_000;

/** The resident memory of a process in MB; 0 if it is unknown. */
function resident(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/**
 * @typedef {object} Ended
 * @property {number | null} code
 * @property {string | null} signal
 * @property {object[]} lines what the child has printed
 * @property {string} stderr the end of its error output
 * @property {string | undefined} killed why this process has killed it
 */

/**
 * @param {object} task what the child must do
 * @param {number} limit milliseconds
 * @returns {Promise<Ended>}
 */
export function runChild(task, limit) {
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...collectorArguments(), CHILD, JSON.stringify(task)], { cwd: root, env: { ...env, NO_COLOR: '1' } });
    let stdout = '';
    let stderr = '';
    let killed;
    const kill = (why) => {
      killed ??= why;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => kill('did not end'), limit);
    const watch = setInterval(() => {
      if (resident(child.pid) > MAX_MB) kill(`took more than ${MAX_MB} MB`);
    }, WATCH_MS);
    child.stdout.setEncoding('utf8').on('data', (chunk) => { stdout += chunk; });
    child.stderr.setEncoding('utf8').on('data', (chunk) => { stderr = (stderr + chunk).slice(-MAX_STDERR); });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      clearInterval(watch);
      const lines = stdout.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}')).map((line) => JSON.parse(line));
      resolve({ code, signal, lines, stderr: stderr.trim(), killed });
    });
    child.stdin.end();
  });
}
