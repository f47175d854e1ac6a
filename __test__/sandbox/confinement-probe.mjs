// A child process that tries what an attacker would, with any subset of the layers that confine it (`launcher/src/probe.rs`).

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness.mjs';

/** All layers, in the order in which a child applies them. */
export const LAYERS = [
  'cgroup', 'oomScore', 'ownUser', 'userNamespace', 'networkNamespace', 'ipcNamespace', 'utsNamespace', 'mountNamespace', 'rlimits', 'pidNamespace', 'parentDeath',
  'capabilities', 'notDumpable', 'noNewPrivileges', 'landlock', 'descriptors', 'seccomp',
];

/** The layers that every Linux has that hosts run on. */
export const REQUIRED = ['rlimits', 'parentDeath', 'noNewPrivileges', 'descriptors', 'seccomp'];

export const allBut = (...layers) => LAYERS.filter((layer) => !layers.includes(layer));

/** Error numbers of x86-64 and ARM64. */
export const ERRNO = { EPERM: 1, ENOENT: 2, ESRCH: 3, EAGAIN: 11, ENOMEM: 12, EACCES: 13, EMFILE: 24, ENOSYS: 38, ENETUNREACH: 101 };
export const SIGNAL = { SIGKILL: 9, SIGXFSZ: 25, SIGSYS: 31 };

const LIMIT_MS = 20_000;
const POLL_MS = 10;

const fileNamed = (pattern) => {
  const name = readdirSync(root).find((file) => pattern.test(file));
  if (name === undefined) throw new Error(`no file is named like ${pattern}`);
  return join(root, name);
};

/**
 * @typedef {object} Probed
 * @property {Map<string, { active: boolean, detail: string }>} layers as the child reports them
 * @property {Record<string, number>} results error numbers by operation, 0 for success
 * @property {{ exit?: number, signal?: number }} end
 */

function start(off, operations, inherited = 'ignore') {
  const args = ['probe', fileNamed(/^isolated-v8\..*\.node$/), off.join(','), operations.join('|')];
  const process = spawn(fileNamed(/^isolated-v8-launcher\./), args, { stdio: ['ignore', 'pipe', 'pipe', ...(inherited === 'ignore' ? [] : [inherited])] });
  let output = '';
  let errors = '';
  process.stdout.setEncoding('utf8').on('data', (chunk) => { output += chunk; });
  process.stderr.setEncoding('utf8').on('data', (chunk) => { errors += chunk; });
  const lines = () => output.split('\n').slice(0, -1).map((line) => line.split('\t'));
  const ended = new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      process.kill('SIGKILL');
      reject(new Error(`the probe has not ended: ${output}${errors}`));
    }, LIMIT_MS);
    process.on('error', reject);
    process.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, errors });
    });
  });
  return { process, lines, ended };
}

/**
 * Tries operations one after another, with all layers except some.
 * @param {string[]} off
 * @param {string[]} operations
 * @returns {Promise<Probed>}
 */
export async function probe(off, operations) {
  const { lines, ended } = start(off, operations);
  const { code, errors } = await ended;
  if (code !== 0) throw new Error(`the probe has ended with exit code ${code}: ${errors}`);
  const layers = new Map();
  const results = {};
  const end = {};
  for (const [name, value, detail] of lines()) {
    if (detail !== undefined) layers.set(name, { active: value === 'on', detail });
    else if (name === 'exit' || name === 'signal') end[name] = Number(value);
    else if (name !== 'launcher' && name !== 'moved') results[name] = Number(value);
  }
  return { layers, results, end };
}

/**
 * A child that does nothing.
 * @param {string[]} off
 * @param {{ inherited?: number }} [settings] a descriptor of this process that the child's parent inherits
 */
export async function waitingProbe(off, { inherited } = {}) {
  const { process, lines, ended } = start(off, ['wait'], inherited);
  const value = (name) => lines().find(([key]) => key === name)?.[1];
  // The child and its parent print in any order.
  const isReady = () => value(LAYERS.at(-1)) !== undefined && value(value('pidNamespace') === 'off' ? 'launcher' : 'moved') !== undefined;
  const end = ended.then(() => 'ended', () => 'ended');
  const pause = () => new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
  while (!isReady()) {
    if (await Promise.race([pause(), end]) === 'ended') throw new Error('the child has ended');
  }
  return {
    parent: process.pid,
    pid: Number(value('moved') ?? value('launcher')),
    /** Kills its parent. */
    kill: () => {
      process.kill('SIGKILL');
      // A surviving child has them too.
      process.stdout.destroy();
      process.stderr.destroy();
      return end;
    },
  };
}

/** What the kernel reports of each thread of a process. */
export function threadsOf(pid) {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    return Object.fromEntries(status.split('\n').map((line) => line.split(':\t')));
  });
}
