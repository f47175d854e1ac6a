// Runs test files, each in a process of its own, on the hosts that their places name (suite/places.mjs); suite/schedule.mjs decides the
// order. A file with a failure runs again at once, alone. Both outcomes are printed; the second one counts.
//
// node scripts/suite.mjs [--full | --rest]      the core of the suite; all of it; what the core leaves out
//   --file wire/,sandbox/quotas                 files whose path has one of these parts, on all hosts of their places
//   --host node24,bun                           only on these hosts; with --file on exactly these, whatever their places name
//   --shard 2/3                                 the second of three parts that take about equally long
//   --changed [--since main]                    files that a change since then can affect (suite/changes.mjs)
//   --limit 400                                 seconds for each file
//   --record                                    updates suite/durations.json
//
// ISOLATED_V8_SYNC_CALLS=caller, or =thread, runs all of them with this setting of `syncCalls` (suite/places.mjs).

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { hostOf, selectHosts } from './setup/hosts.mjs';
import { capture } from './process.mjs';
import { affected } from './suite/changes.mjs';
import { estimate, record } from './suite/durations.mjs';
import { hostsOf, isTimed, shortName, syncCallsOf, testFiles } from './suite/places.mjs';
import { Progress, clock } from './suite/progress.mjs';
import { PATH_SEPARATOR, parseReport } from './suite/report.mjs';
import { Schedule, shardOf } from './suite/schedule.mjs';

const DEFAULT_LIMIT_SECONDS = 400;
/** If more files than this have failed, no more are repeated: such failures are not chance. */
const MAX_REPEATS = 12;
/** Signals of a process that has crashed. A second run does not excuse it. */
const CRASH = /^SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP)$/;
/** What a file prints of programs that it has run again. */
const AGAIN = /^again, alone: .*$/gm;

export const suiteOptions = {
  host: { type: 'string' },
  file: { type: 'string' },
  limit: { type: 'string' },
  full: { type: 'boolean' },
  rest: { type: 'boolean' },
  shard: { type: 'string' },
  changed: { type: 'boolean' },
  since: { type: 'string' },
  record: { type: 'boolean' },
};

async function runFile(host, file, limitSeconds, folder) {
  const limit = limitSeconds * 1000;
  const report = join(folder, `${host.name}-${file.replaceAll('/', '-')}.xml`);
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, FORCE_COLOR, ...env } = process.env;
  const result = await capture(host.executable, host.args(file, report, limit), {
    limit,
    env: { ISOLATED_V8_SYNC_CALLS: syncCallsOf(file, host.name), ...env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  let tests = { passed: 0, skipped: 0, failures: [], paths: { ran: [], skipped: [] } };
  try {
    tests = parseReport(readFileSync(report, 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  // Failures outside tests count as one: a crash, a time limit, a file without tests.
  const ended = result.signal ? `signal ${result.signal}` : `exit code ${result.code}`;
  let trouble;
  if (result.late) trouble = `still running after ${limitSeconds} s`;
  else if (result.code !== 0 && tests.failures.length === 0) trouble = `ended with ${ended}`;
  else if (host.trouble?.test(result.output)) trouble = 'something went wrong outside of any test';
  else if (tests.passed + tests.skipped + tests.failures.length === 0) trouble = 'ran no test';
  if (trouble) tests.failures.push({ path: '(file)', failure: `${trouble}\n${result.output}`.trimEnd() });
  rmSync(report, { force: true });
  return { ...tests, crash: CRASH.test(result.signal ?? '') ? result.signal : undefined, again: result.output.match(AGAIN) ?? [], seconds: result.ms / 1000, cpu: result.cpu };
}

/** One line for a run, and its failures below. Failures of the first run are repeated by name only. */
function describe(mark, { file, host, before }, { passed, skipped, failures, seconds }) {
  const counts = [`${passed} passed`, failures.length && `${failures.length} failed`, skipped && `${skipped} skipped`];
  const line = `${mark.padEnd(4)} ${host.padEnd(6)} ${shortName(file)}  ${counts.filter(Boolean).join(', ')}  ${seconds.toFixed(1)} s${before === undefined ? '' : ', the second time, alone'}`;
  const known = ({ failure }) => before?.failures.some((one) => withoutTimes(one.failure) === withoutTimes(failure));
  return [line, ...failures.map((one) => `     x ${one.path}${known(one) ? ': as before' : `\n${one.failure.replace(/^/gm, '       ')}`}`)].join('\n');
}

const withoutTimes = (text) => text.replaceAll(/\d+/g, '');

/** A part of work, such as `2/3`. */
export function shardOfText(text) {
  const [, number, count] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? [];
  if (count === undefined || Number(number) > Number(count)) throw new Error(`--shard ${text} is not a part such as 2/3`);
  return { number: Number(number), count: Number(count) };
}

/** The hosts that a file runs on. */
function chosenHosts(file, { full, rest, host, file: part }) {
  const all = hostsOf(file, 'full');
  const wanted = host?.split(',');
  const core = hostsOf(file, 'core');
  if (part !== undefined) return wanted ?? [...new Set([...all, ...core])];
  const names = rest ? all.filter((name) => !core.includes(name)) : full ? all : core;
  return wanted === undefined ? names : names.filter((name) => wanted.includes(name));
}

async function choose(values) {
  const { file, changed, since, shard } = values;
  const known = testFiles();
  let files = known.filter((name) => !file || file.split(',').some((part) => name.includes(part)));
  if (files.length === 0) throw new Error(file ? `no test file matches ${file}` : 'there is no test file');
  if (changed) files = await affected(files, since);
  const jobs = files.flatMap((name) => chosenHosts(name, values).map((host) => ({ file: name, host, timed: isTimed(name), ...estimate(name, host) })));
  if (shard === undefined) return jobs;
  const { number, count } = shardOfText(shard);
  return shardOf(jobs, number, count);
}

/** What `npm test` leaves out, by place. */
function leftOut(values) {
  if (values.full || values.rest || values.file || values.host) return [];
  if (values.changed) return ['     left out: what the change does not affect, and what `npm test` leaves out of the rest (`--changed --full` runs that)'];
  const left = new Map();
  for (const file of testFiles()) {
    const names = chosenHosts(file, { ...values, rest: true });
    const key = `${file.split('/')[1]}/ on ${names.join(', ')}`;
    if (names.length > 0) left.set(key, (left.get(key) ?? 0) + 1);
  }
  return [...left].map(([where, count]) => `     left out: ${count} files of ${where}`);
}

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {number} seconds
 * @property {number} load
 * @property {boolean} [timed]
 * @property {string} [group]
 * @property {boolean} [early] whether it starts before all files
 * @property {(print: (text: string) => void) => Promise<void>} run
 */

/** Tests, and groups of tests, that no host ran, although their files ran. */
function skippedEverywhere(seen) {
  return [...seen].flatMap(([file, { ran, skipped }]) => {
    const wasRun = (path) => ran.has(path) || [...ran].some((other) => other.startsWith(path + PATH_SEPARATOR));
    return [...skipped].filter((path) => !wasRun(path)).map((path) => `     skipped on each host that ran the file: ${shortName(file)}: ${path}`);
  });
}

/**
 * Runs the suite, or the part of it that these options choose; resolves with the counts of tests.
 * @param {Record<string, any>} [values]
 * @param {Check[]} [others] what is done beside it
 * @returns {Promise<{ passed: number, failed: number, skipped: number, left: string[] }>}
 */
export async function runSuite(values = {}, others = []) {
  selectHosts(values.host);
  const limit = Number(values.limit ?? DEFAULT_LIMIT_SECONDS);
  if (!(limit > 0)) throw new Error(`--limit ${values.limit} is not a number of seconds`);
  if (values.since !== undefined && !values.changed) throw new Error('--since needs --changed');
  const jobs = await choose(values);
  const total = { passed: 0, failed: 0, skipped: 0, left: leftOut(values) };
  if (jobs.length === 0 && values.changed) console.log('     no test file is affected');
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-suite-'));
  const passedOn = new Map(jobs.map(({ host }) => [host, 0]));
  const measured = [];
  const summary = [];
  /** @type {Map<string, { ran: Set<string>, skipped: Set<string> }>} */
  const seen = new Map();
  const start = performance.now();
  let done = 0;
  let repeats = 0;

  const schedule = new Schedule([...jobs, ...others.filter(({ early }) => !early)], async (job) => {
    if (job.run !== undefined) {
      await job.run((text) => progress.print(text));
      return;
    }
    const result = await runFile(hostOf(job.host), job.file, limit, folder);
    for (const line of result.again) progress.print(`     ${job.host} ${shortName(job.file)} ${line}`);
    if (job.before?.crash !== undefined) result.failures.push({ path: '(file)', failure: `${job.before.crash} ended the first run` });
    const ok = result.failures.length === 0;
    if (!ok && job.before === undefined && repeats < MAX_REPEATS) {
      repeats += 1;
      progress.print(`${describe('x', job, result)}\n     it runs again, alone`);
      schedule.first({ ...job, exclusive: true, before: result });
      return;
    }
    done += 1;
    total.passed += result.passed;
    total.failed += result.failures.length;
    total.skipped += result.skipped;
    passedOn.set(job.host, passedOn.get(job.host) + result.passed);
    const paths = seen.get(job.file) ?? { ran: new Set(), skipped: new Set() };
    seen.set(job.file, paths);
    for (const path of result.paths.ran) paths.ran.add(path);
    for (const path of result.paths.skipped) paths.skipped.add(path);
    if (ok && job.before === undefined) {
      measured.push({ ...job, seconds: result.seconds, cpu: result.cpu });
      return;
    }
    progress.print(describe(ok ? 'ok' : 'FAIL', job, result));
    summary.push(`${ok ? 'ok  ' : 'FAIL'} ${job.host.padEnd(6)} ${shortName(job.file)}${ok ? ', the second time only' : job.before === undefined ? '' : ', twice'}`);
  });
  const progress = new Progress(() => {
    const now = schedule.running.map(({ name, host, file }) => name ?? `${host} ${shortName(file)}`).join(', ');
    return `${clock((performance.now() - start) / 1000)}  ${done} of ${jobs.length} files, ${total.passed} passed, ${total.failed} failed, about ${clock(schedule.left)} left: ${now}`;
  });
  for (const other of others.filter(({ early }) => early).toReversed()) schedule.first(other);
  try {
    await schedule.run();
  } finally {
    progress.end();
    rmSync(folder, { recursive: true, force: true });
  }
  if (values.record) record(measured);
  if (summary.length > 0) console.log(`files with failures:\n${summary.join('\n')}`);
  for (const [host, passed] of passedOn) {
    if (passed > 0) continue;
    total.failed += 1;
    console.log(`FAIL ${host} passed no test at all`);
  }
  for (const line of skippedEverywhere(seen)) console.log(line);
  if (jobs.length > 0) console.log(`suite: ${jobs.length} runs of ${new Set(jobs.map(({ file }) => file)).size} files on ${passedOn.size} ${passedOn.size === 1 ? 'host' : 'hosts'} in ${clock((performance.now() - start) / 1000)}, ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const { values } = parseArgs({ options: suiteOptions });
    const { passed, failed, left } = await runSuite(values);
    if (passed + failed === 0 && !values.changed) throw new Error('these options leave nothing to run');
    for (const line of left) console.log(line);
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed > 0 ? 1 : 0;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
