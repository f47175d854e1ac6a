// The page of the tables, docs/benchmarks/tables.md: each table is between markers with its key, in the section of what it measures.

import { hosts } from '../scripts/setup/hosts.mjs';

/** The sections in order. A table's key is a part of the benchmark and a host, or the host alone for calls, or a part that is the same for all hosts. */
const SECTIONS = [
  { title: 'Isolates, calls and code of guests', parts: [''] },
  { title: 'Values of many shapes', parts: ['values'] },
  { title: 'Synchronous calls', parts: ['sync'] },
  { title: 'Cold starts', parts: ['cold'] },
  { title: 'Programs from npm', parts: ['programs'] },
  { title: 'Memory and threads', parts: ['footprint'] },
  { title: 'Many isolates', parts: ['scale'] },
  { title: 'Separate processes', parts: ['subprocess', 'process-memory'] },
  { title: 'Other ways to run code', parts: ['others'] },
  { title: 'Packages', parts: ['packages'] },
];

const INTRODUCTION = `# Tables of the benchmarks

[Summary](../../BENCHMARKS.md) · [Method, and what is slower](method.md)

\`npm run bench\` writes these tables. They are generated: to change one, measure again.`;

const TABLE = /<!-- bench:([\w-]+) -->\n([\s\S]*?)\n<!-- \/bench:\1 -->/g;
const names = hosts.map(({ name }) => name);

/** The part and the host of a table. */
function placeOf(key) {
  const host = names.find((name) => key === name || key.endsWith(`-${name}`));
  return host === undefined ? { part: key, host } : { part: key.slice(0, -host.length).replace(/-$/, ''), host };
}

/** Headings as links need them. */
const anchorOf = (title) => title.toLowerCase().replaceAll(/[^\w ]/g, '').replaceAll(' ', '-');

function sectionOf({ title, parts }, tables) {
  const own = Array.from(tables, ([key, content]) => ({ key, content, ...placeOf(key) }))
    .filter(({ part }) => parts.includes(part))
    .toSorted((a, b) => parts.indexOf(a.part) - parts.indexOf(b.part) || names.indexOf(a.host) - names.indexOf(b.host));
  const text = own.map(({ key, content }) => `<!-- bench:${key} -->\n${content}\n<!-- /bench:${key} -->`).join('\n\n');
  const on = [...new Set(own.map(({ host }) => host))].filter((host) => host !== undefined);
  const link = `- [${title}](#${anchorOf(title)})${on.length > 0 ? `: ${on.join(', ')}` : ''}`;
  return { link, text: `## ${title}\n\n${text}`, count: own.length };
}

/** The page with the tables of `text`, and with that of `key` replaced or added. */
export function arranged(text, key, content) {
  const tables = new Map(Array.from(text.matchAll(TABLE), ([, name, table]) => [name, table]));
  if (key !== undefined) tables.set(key, content);
  const sections = SECTIONS.map((section) => sectionOf(section, tables)).filter(({ count }) => count > 0);
  const placed = sections.reduce((sum, { count }) => sum + count, 0);
  if (placed !== tables.size) throw new Error(`no section has all of the tables ${[...tables.keys()].join(', ')}`);
  return `${[INTRODUCTION, sections.map(({ link }) => link).join('\n'), ...sections.map((section) => section.text)].join('\n\n')}\n`;
}
