// How long files take, and how many processors they use. For each file and host, durations.json has seconds of wall-clock time and of
// processor time. `node scripts/suite.mjs --record` updates it for the files that it runs. It affects only the order of runs, what runs at
// the same time, and the division into shards.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { shortName, testFiles } from './places.mjs';

const FILE = join(root, 'scripts/suite/durations.json');
/** The host whose durations are used for every version of Node. */
const NODE = 'node24';
const UNKNOWN = [10, 10];
const MIN_LOAD = 0.2;

/** @type {Record<string, Record<string, [number, number]>>} */
const known = JSON.parse(readFileSync(FILE, 'utf8'));

const hostKey = (host) => (/^(node\d+|own)$/.test(host) ? NODE : host);

function entryOf(file, host) {
  const entries = known[shortName(file)] ?? {};
  return entries[hostKey(host)] ?? Object.values(entries)[0] ?? UNKNOWN;
}

/** @returns {{ seconds: number, load: number }} the load in processors */
export function estimate(file, host) {
  const [seconds, cpu] = entryOf(file, host);
  return { seconds, load: Math.max(cpu / Math.max(seconds, 0.1), MIN_LOAD) };
}

const rounded = (number) => Math.round(number * 10) / 10;

/**
 * Stores the measurements, and removes files that no longer exist.
 * @param {{ file: string, host: string, seconds: number, cpu: number }[]} measured
 */
export function record(measured) {
  for (const { file, host, seconds, cpu } of measured) {
    if (hostKey(host) !== host && host !== 'own') continue;
    (known[shortName(file)] ??= {})[hostKey(host)] = [rounded(seconds), rounded(cpu)];
  }
  const names = testFiles().map(shortName).filter((name) => Object.hasOwn(known, name));
  const lines = names.map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(known[name])}`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}
