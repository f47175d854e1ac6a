// Cold starts, each in a new process. The files are in the system's cache. Where isolated-vm does not run, its times on another host are shown.

import { capture } from '../scripts/process.mjs';
import { hosts } from '../scripts/setup/hosts.mjs';
import { entryOf, OURS, PEER, peerOf } from './libraries.mjs';
import { publish, tableOf, time } from './report.mjs';

const LIMIT_MS = 60_000;
const ROUNDS = { full: 31, quick: 7 };
/** The host whose times of isolated-vm are shown where it does not run. */
const BASE = 'node24';

const scenarios = [
  { id: 'require', title: '`require`', target: '8 ms' },
  { id: 'evalSync', title: '`require`, an isolate, a context, `evalSync`', target: 'isolated-vm + 10 ms' },
  { id: 'createSandbox', title: '`require`, `createSandbox({})`, `execute`', target: 'isolated-vm + 10 ms' },
  { id: 'subprocess', title: '`require`, `new SubprocessSandbox`, `execute`', target: '60 ms', isOurs: true },
  { id: 'process', title: 'later `execute` in a process that is started for it', target: '8 ms', isOurs: true },
];

/** isolated-vm requires it. Without `--expose-gc`, with which isolates here start from another snapshot. */
const flagsOf = (name) => (name.startsWith('node') ? ['--no-node-snapshot'] : []);

async function start(host, library, id) {
  const [command, ...args] = [host.executable, ...host.program(flagsOf(host.name), 'bench/cold-run.cjs'), entryOf(library), id];
  const { code, output } = await capture(command, args, { limit: LIMIT_MS });
  if (code !== 0) throw new Error(`${library} on ${host.name}: ${output}`);
  return JSON.parse(output.trim().split('\n').at(-1));
}

const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const summary = (runs) => ({ median: middle(runs.map(({ wall }) => wall)), cpu: middle(runs.map(({ cpu }) => cpu)), fastest: Math.min(...runs.map(({ wall }) => wall)) });

/** One after the other, in alternation. */
async function measure(subjects, id, rounds) {
  const runs = subjects.map(() => []);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, [host, library]] of subjects.entries()) {
      const run = await start(host, library, id);
      // The first one fills the system's cache.
      if (round > 0) runs[index].push(run);
    }
  }
  return runs.map(summary);
}

export async function cold(host, { filter = '', quick }) {
  const peerHost = peerOf(host.name) === PEER ? host : hosts.find(({ name }) => name === BASE);
  const results = {};
  const chosen = scenarios.filter(({ id }) => id.includes(filter));
  for (const { id, isOurs } of chosen) {
    const subjects = [[host, OURS], ...(isOurs ? [] : [[peerHost, PEER]])];
    const [ours, theirs] = await measure(subjects, id, quick ? ROUNDS.quick : ROUNDS.full);
    results[id] = { [OURS]: ours, ...(theirs !== undefined && { [PEER]: theirs }) };
  }
  const cells = (each) => (each === undefined ? ['', ''] : [time(each.median), Number.isFinite(each.cpu) ? time(each.cpu) : '']);
  const rows = chosen.map(({ id, title, target }) => {
    const { [OURS]: ours, [PEER]: theirs } = results[id];
    return [title, ...cells(ours), ...cells(theirs), target];
  });
  const peer = `${PEER}${peerHost === host ? '' : ` on ${BASE}`}`;
  const head = ['', OURS, 'processor time', peer, 'processor time', 'target'];
  const table = tableOf(`Cold starts, each in a new process, on ${host.name}:`, head, rows);
  console.log(table);
  if (!quick && filter === '') publish(`cold-${host.name}`, results, table);
  return true;
}
