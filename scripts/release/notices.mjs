// `node scripts/release/notices.mjs` writes THIRD-PARTY-NOTICES, which is published with each binary: everything that is linked into it for any of
// the platforms in npm/, and the licences. Those of crates come from their packages, all others from vendor/NOTICES.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from '../process.mjs';
import { locked } from '../setup.mjs';
import { TARGETS } from './targets.mjs';

export const NOTICES = 'THIRD-PARTY-NOTICES';

const FOLDER = join(root, 'vendor/NOTICES');
const LICENCE = /^(licen[cs]e|copying|copyright|notice|unlicense)/i;
/** Omitted if the crate is also available under the MIT or a BSD licence: those are short, and only require that they are passed on. */
const LONGER = /apache|unlicense|copying/i;
const SHORTER = /-(mit|bsd)/i;
const OWN = /^isolated-v8/;
const LINE = '='.repeat(80);

/** The crates whose code a target's binary contains: not those that run at build time, nor their own dependencies. */
async function linked(target) {
  const { stdout } = await promisify(execFile)('cargo', ['metadata', '--format-version=1', ...locked, `--filter-platform=${target}`], {
    cwd: root,
    maxBuffer: 1 << 28,
  });
  const { packages, resolve } = JSON.parse(stdout);
  const known = new Map(packages.map((one) => [one.id, one]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const isMacro = (id) => known.get(id).targets.some(({ kind }) => kind.includes('proc-macro'));
  const found = new Set();
  const walk = (id) => {
    if (found.has(id) || isMacro(id)) return;
    found.add(id);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) if (kinds.some(({ kind }) => kind === null)) walk(pkg);
  };
  walk(resolve.root);
  return [...found].map((id) => known.get(id)).filter(({ name }) => !OWN.test(name));
}

function textsOf({ name, version, license, manifest_path: manifest }, index) {
  const folder = dirname(manifest);
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && LICENCE.test(entry.name)).map((entry) => entry.name);
  const choice = files.some((file) => SHORTER.test(file)) && /\bOR\b|\//.test(license);
  const chosen = files.filter((file) => !choice || !LONGER.test(file)).toSorted();
  if (chosen.length > 0) return chosen.map((file) => readFileSync(join(folder, file), 'utf8'));
  const kept = index.crates[name];
  if (kept === undefined) throw new Error(`${name} ${version} (${license}) has no licence file in its package: vendor/NOTICES must have one`);
  return kept.map((file) => readFileSync(join(FOLDER, file), 'utf8'));
}

/** The contents of THIRD-PARTY-NOTICES for the present Cargo.lock and vendor/NOTICES. */
export async function writeNotices() {
  const index = JSON.parse(readFileSync(join(FOLDER, 'index.json'), 'utf8'));
  const crates = new Map();
  for (const target of TARGETS) for (const one of await linked(target)) crates.set(`${one.name} ${one.version}`, one);
  const owners = new Map();
  const add = (owner, text) => {
    const lines = text.replaceAll('\r', '').split('\n').map((line) => line.trimEnd());
    const clean = lines.join('\n').replace(/^\n+|\n+$/g, '');
    // Texts that differ only in their line breaks count as one.
    const key = clean.replace(/\s+/g, ' ').trim();
    const entry = owners.get(key) ?? { text: clean, names: [] };
    if (!entry.names.includes(owner)) entry.names.push(owner);
    owners.set(key, entry);
  };
  for (const { name, text } of index.components) add(name, readFileSync(join(FOLDER, text), 'utf8'));
  const named = [...crates].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, one] of named) for (const text of textsOf(one, index)) add(name, text);
  const parts = [...owners.values()].map(({ names, text }) => `${LINE}\n${names.join('\n')}\n${LINE}\n\n${text}\n`);
  return [
    'The binary of isolated-v8 has code of these authors in it, for some platforms of fewer of them. Each',
    'name stands above its licence; where there was a choice of licences, one of them is here.',
    '',
    parts.join('\n'),
  ].join('\n');
}

/** Resolves with whether the file is up to date. */
export async function areNoticesCurrent() {
  return readFileSync(join(root, NOTICES), 'utf8') === (await writeNotices());
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeFileSync(join(root, NOTICES), await writeNotices());
