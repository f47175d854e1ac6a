// @ts-check
'use strict';
// Describes host, system and binary. Nothing here may fail: what cannot be read is left out.

const { execFileSync } = require('node:child_process');
const { readFileSync, statSync } = require('node:fs');
const os = require('node:os');

const MB = 2 ** 20;

/**
 * @template T
 * @param {() => T} look
 * @returns {T | undefined}
 */
function attempt(look) {
  try {
    return look();
  } catch {
    return undefined;
  }
}

function describeHost() {
  const deno = attempt(() => /** @type {any} */ (globalThis).Deno?.version);
  const { bun, node } = process.versions;
  const name = deno !== undefined ? `Deno ${deno.deno}` : bun !== undefined ? `Bun ${bun}` : `Node ${node}`;
  return {
    name,
    'engine of its own': deno?.v8 ?? (bun === undefined ? process.versions.v8 : 'JavaScriptCore'),
    electron: process.versions.electron,
    executable: attempt(() => process.execPath),
  };
}

/** @param {number | undefined} bytes */
const inMB = (bytes) => (bytes === undefined ? undefined : `${Math.round(bytes / MB)} MB`);

/** glibc's version; nothing on other C libraries. The host's own report of it is not to be trusted: Deno's is made up. */
function glibc() {
  if (process.platform !== 'linux') return undefined;
  const options = { encoding: /** @type {const} */ ('utf8'), timeout: 5_000, stdio: /** @type {any} */ (['ignore', 'pipe', 'ignore']) };
  return /^glibc ([\d.]+)/.exec(execFileSync('getconf', ['GNU_LIBC_VERSION'], options))?.[1];
}

/**
 * One of the kernel's limits of this process.
 * @param {string} name
 */
function bound(name) {
  const line = readFileSync('/proc/self/limits', 'utf8').split('\n').find((text) => text.startsWith(name));
  return line?.slice(name.length).trim().split(/\s+/)[0];
}

function describeSystem() {
  // Deno refuses these without --allow-sys.
  const kernel = attempt(() => os.release());
  const total = attempt(() => os.totalmem());
  const processors = attempt(() => os.availableParallelism()) ?? attempt(() => os.cpus().length);
  const constrained = attempt(() => process.constrainedMemory());
  return {
    platform: `${process.platform} ${process.arch}${kernel === undefined ? '' : `, kernel ${kernel}`}`,
    glibc: attempt(glibc),
    processors: processors?.toString(),
    memory: inMB(total),
    'memory for this process': constrained && constrained < (total ?? Infinity) ? inMB(constrained) : undefined,
    'address space': attempt(() => bound('Max address space')),
    'processes and threads': attempt(() => bound('Max processes')),
    mappings: attempt(() => readFileSync('/proc/sys/vm/max_map_count', 'utf8').trim()),
    'time zone': attempt(() => Intl.DateTimeFormat().resolvedOptions().timeZone),
  };
}

/** The file that is loaded, where the system tells. */
function describeBinary() {
  const file = attempt(() => /^\S+(?:\s+\S+){4}\s+(\/.*isolated-v8\.[\w-]+\.node)$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[1]);
  return { binary: file, size: file && attempt(() => inMB(statSync(file).size)) };
}

module.exports = { describeBinary, describeHost, describeSystem };
