// Writes results as a table of docs/benchmarks/tables.md, and as data in BENCHMARKS.json.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/process.mjs';
import { OURS, PEER } from './libraries.mjs';
import { arranged } from './tables.mjs';

const markdownFile = join(root, 'docs/benchmarks/tables.md');
const dataFile = join(root, 'BENCHMARKS.json');
const SIGNIFICANT_DIGITS = 3;

export const time = (ms) =>
  ms < 1
    ? `${Number((ms * 1000).toPrecision(SIGNIFICANT_DIGITS))} µs`
    : `${Number(ms.toPrecision(SIGNIFICANT_DIGITS))} ms`;

export const line = ({ title, times }, peer) =>
  [title, time(times[OURS].median), time(times[peer].median), times[peer].ratio.toFixed(2), times[peer].cpuRatio.toFixed(2)];

const row = (cells) => `| ${cells.join(' | ')} |`;

export const tableOf = (title, head, rows) => [title, '', row(head), row(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(row)].join('\n');

function callsTable({ host, versions, cpus, cpu, platform, rows }) {
  const peer = Object.keys(versions).find((name) => name !== OURS);
  // They concern isolated-vm.
  const withTarget = (cells, target = '') => row(peer === PEER ? [...cells, target] : cells);
  return [
    `${OURS} ${versions[OURS]} and ${peer} ${versions[peer]} on ${host}, ${platform}, ${cpus} CPUs (${cpu}):`,
    '',
    withTarget(['one call of', OURS, peer, 'ratio', 'CPU ratio'], 'target'),
    withTarget(['---', '---:', '---:', '---:', '---:'], '---:'),
    ...rows.map((each) => withTarget(line(each, peer), each.target)),
  ].join('\n');
}

/** Stores results under `key`, as data and as a table. */
export function publish(key, results, table) {
  const data = existsSync(dataFile) ? JSON.parse(readFileSync(dataFile, 'utf8')) : {};
  data[key] = results;
  writeFileSync(dataFile, `${JSON.stringify(data, null, 2)}\n`);
  const text = existsSync(markdownFile) ? readFileSync(markdownFile, 'utf8') : '';
  writeFileSync(markdownFile, arranged(text, key, table));
}

export const publishCalls = (host, results) => publish(host, results, callsTable(results));
