// Which test files a change can affect:
//
// - Tests of `repo/` read sources, pages and scripts as they lie there: any change affects all of them.
// - A change of the product (its sources, what it is built of, what it is loaded by) or of what runs the tests affects every test.
// - Any other change affects the tests that load the changed file, directly or through others; and every test of its topic, where the file
//   lies in `__test__/<topic>/` or `<topic>/` (pages are of the topic `docs`).

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { capture, root } from '../process.mjs';

export const PRODUCT = /^(src|surface|launcher|vendor|\.cargo|adapters|command|doctor|loader|npm|__test__\/hosts|scripts\/(suite|setup))\/|^(Cargo\.(toml|lock)|build\.rs|package(-lock)?\.json|[\w-]+\.[mc]?js|scripts\/(setup|process|suite)\.mjs)$/;
const TOPIC = /^(?:__test__\/)?([\w-]+)\//;
const topicOf = (path) => (path.endsWith('.md') ? 'docs' : TOPIC.exec(path)?.[1]);
const LOADS = /(?:\bfrom|\bimport|\bimport\(|\bnew URL\()\s*['"`](\.[^'"`]+|[\w.-]+\.mjs)['"`]/g;
/** Tests name the files that they start by their path from the root. */
const NAMED = /['"`]((?:__test__|scripts|fuzz|examples|bench)\/[\w./-]+)['"`]/g;

async function git(...args) {
  const { code, output } = await capture('git', args);
  return code === 0 ? output.split('\n').filter(Boolean) : undefined;
}

/** The commit where the present branch has left the main one, or the last commit. */
async function usualBase() {
  for (const branch of ['origin/main', 'main']) {
    const [base] = (await git('merge-base', 'HEAD', branch)) ?? [];
    if (base !== undefined) return base;
  }
  return 'HEAD';
}

/** Paths that differ from those of a commit, new files included. */
export async function changedSince(base) {
  const known = await git('diff', '--name-only', '--no-renames', base ?? (await usualBase()));
  if (known === undefined) throw new Error(`git knows no ${base} here`);
  return [...known, ...((await git('ls-files', '--others', '--exclude-standard')) ?? [])];
}

const graph = new Map();

/** The files of the repository that this one names. */
function loadedBy(file) {
  if (!graph.has(file)) {
    const text = /\.[mc]?[jt]s$/.test(file) && existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '';
    const beside = [...text.matchAll(LOADS)].map(([, path]) => relative(root, join(root, dirname(file), path)).split(sep).join('/'));
    graph.set(file, [...beside, ...[...text.matchAll(NAMED)].map(([, path]) => path)]);
  }
  return graph.get(file);
}

/** This file and everything that it loads. */
function closure(file) {
  const seen = new Set([file]);
  for (const one of seen) for (const other of loadedBy(one)) seen.add(other);
  return seen;
}

/**
 * The test files that a change of these paths can affect.
 * @param {string[]} files
 * @param {string[]} changed
 */
export function affectedBy(files, changed) {
  if (changed.length === 0) return [];
  if (changed.some((path) => PRODUCT.test(path))) return files;
  const topics = new Set(changed.filter((path) => !path.endsWith('.test.mjs')).map(topicOf));
  return files.filter((file) => {
    const [, place, topic] = file.split('/');
    if (place === 'repo' || topics.has(topic)) return true;
    const all = closure(file);
    return changed.some((path) => all.has(path));
  });
}

/**
 * The test files that changes since a commit can affect.
 * @param {string[]} files
 * @param {string} [base]
 */
export const affected = async (files, base) => affectedBy(files, await changedSince(base));
