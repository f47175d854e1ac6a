// The places of test files, and the hosts that each place runs on: `__test__/<place>/<topic>/<name>.test.mjs`. What tests share is in
// `__test__/<topic>/`. A file whose name ends in `.timed.test.mjs` measures time: see schedule.mjs.

import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { OWN, hosts, hostsFolder } from '../setup/hosts.mjs';
import { root } from '../process.mjs';

const ALL = hosts.map(({ name }) => name);
/** One of each kind of host. */
const KINDS = ['node24', 'bun', 'deno'];
const IN_TURN = [...new Set([...KINDS, ...ALL])];

/**
 * The hosts of each place. In the core of the suite, a file runs on the hosts of `core` or, with `turns`, on one of them, which depends
 * only on the file's name.
 * @type {Record<string, { core: string[], full: string[], turns?: boolean }>}
 */
export const PLACES = {
  // The repository itself: pages, declarations, releases.
  repo: { core: [OWN], full: [OWN] },
  // A short file for each area, which shows that it works at all.
  smoke: { core: ALL, full: ALL },
  // Behaviour that depends only on the guests' V8 or on the native side.
  engine: { core: ['node24'], full: ['node24'] },
  // What depends on the kind of a host (its engine, event loop, threads or allocator), but not on its version.
  host: { core: ['node24', 'bun'], full: KINDS, turns: true },
  // The same, where `npm test` has to see both Node's engine and Bun's: what the codec costs.
  'two-kinds': { core: ['node24', 'bun'], full: KINDS },
  // What any host may do otherwise: types of values, loading, waiting, the order of calls.
  'every-host': { core: KINDS, full: ALL, turns: true },
  // The same, but `npm test` must run it on one host of each kind: exits, workers, the codec, both sides of the API.
  'each-kind': { core: KINDS, full: ALL },
  // A part of `soak/` and `soak-engine/` for `npm test`. On Node 24 those have all of it, elsewhere they do not.
  excerpt: { core: KINDS, full: ['bun', 'deno'] },
  // Long runs.
  soak: { core: [], full: KINDS },
  // Long runs of what V8 decides, or what happens in other processes.
  'soak-engine': { core: [], full: ['node24'] },
};

const FOLDER = '__test__';
const SUFFIX = '.test.mjs';
const LIKE_A_TEST = /[._]tests?\.[cm]?[jt]sx?$/;

/** The path without what all files have in common: `engine/isolate/limits`. */
export const shortName = (file) => file.slice(FOLDER.length + 1, -SUFFIX.length);

export const isTimed = (file) => file.endsWith(`.timed${SUFFIX}`);

const placeOf = (file) => file.split('/')[1];

/**
 * All test files, as paths from the root.
 * @param {string} [folder] of the places
 */
export function testFiles(folder = join(root, FOLDER)) {
  const entries = readdirSync(folder, { withFileTypes: true })
    // Tests make and delete files in hidden folders meanwhile.
    .filter(({ name }) => !name.startsWith('.') && join(folder, name) !== hostsFolder)
    .flatMap((entry) => [entry.name, ...(entry.isDirectory() ? readdirSync(join(folder, entry.name), { recursive: true }) : []).map((name) => `${entry.name}/${String(name).split(sep).join('/')}`)])
    .map((name) => `${FOLDER}/${name}`);
  const files = entries.filter((file) => LIKE_A_TEST.test(file)).toSorted();
  const lost = files.filter((file) => !file.endsWith(SUFFIX) || !Object.hasOwn(PLACES, placeOf(file)));
  if (lost.length > 0) throw new Error(`these test files do not end in ${SUFFIX}, or are in none of the places ${Object.keys(PLACES).join(', ')}: ${lost.join(', ')}`);
  return files;
}

/** A number that depends only on the file's name. */
const numberOf = (file) => [...shortName(file)].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);

/**
 * How isolates of a run make sync calls unless a test says otherwise (`configureEngine`): a third of all runs use threads of the library. Files that
 * run on one host of each kind use both.
 * @param {string} file
 * @param {string} host
 */
export const syncCallsOf = (file, host) => ((numberOf(file) + IN_TURN.indexOf(host)) % KINDS.length === 0 ? 'thread' : 'caller');

/**
 * The names of the hosts that a file runs on.
 * @param {'core' | 'full'} level
 */
export function hostsOf(file, level) {
  const place = PLACES[placeOf(file)];
  const names = place[level];
  return level === 'core' && place.turns ? [names[numberOf(file) % names.length]] : names;
}
