// Runs every __test__/**/*.test.mjs on every host, several at a time, each file in a process of its own. Many tests are about time and
// memory, whose limits hold on a machine that is not overloaded: what fails beside others runs again, alone, at most twice, and the last run
// counts. Failures are printed at the end, those that did not come again, too; when many files fail, nothing is run again.
// `node scripts/suite.mjs [--host node24,bun] [--file wire] [--limit seconds]`

import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { selectHosts } from './hosts.mjs';
import { capture, root } from './process.mjs';

const DEFAULT_LIMIT_SECONDS = 400;
const AT_A_TIME = 3;
const MOST_AGAIN = 16;
const TIMES_AGAIN = 2;
/** What has not begun again by then counts as it failed. */
const AGAIN_LIMIT_MS = 600_000;
const PATH_SEPARATOR = ' > ';
/** Bun and Deno list files as suites. */
const FILE = /\.(mjs|ts)$/;

/**
 * Files that run on some hosts only, unless `--file` names them. The guests of these have the same V8 on every host; what differs
 * is how a host waits, schedules and exits.
 */
const CHOSEN = [
  { names: ['hostile/'], hosts: ['node24', 'node26', 'bun', 'deno'], why: 'four hosts stand for all there' },
  { names: ['sandbox/confined-corpus.', 'sandbox/subprocess-many.'], hosts: ['node24'], why: 'what runs in other processes, which the native side starts and buries' },
  { names: ['test262/', 'sandbox/web-compare.'], hosts: ['node24'], why: 'a script of this repository, and what is compared with this host' },
  {
    names: ['fuzz/loops.', 'guest/limits.', ...['exhaustion', 'native-memory', 'race', 'stopping'].map((name) => `isolate/${name}.`)],
    hosts: ['node24', 'bun'],
    why: 'what they are about knows nothing of hosts',
  },
  {
    names: [
      'inspector/hostile.',
      ...['flood', 'forgotten', 'limits', 'memory', 'outside', 'shared', 'snapshot', 'statistics', 'suspension', 'unanswered'].map((name) => `isolate/${name}.`),
      ...['create-sandbox-limits', 'modules', 'reading', 'snapshots', 'subprocess-hostile', 'subprocess-pool', 'subprocess-processes', 'warm', 'web'].map((name) => `sandbox/${name}.`),
    ],
    hosts: ['node20', 'node26', 'bun', 'deno'],
    why: 'the oldest and the newest Node stand for those between',
  },
];

const entities = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&', '#10': '\n', '#13': '\r', '#9': '\t' };
const decode = (text) => text.replace(/&(#?\w+);/g, (whole, name) => entities[name] ?? whole);

/**
 * The tests of a JUnit report, as the three runtimes write it. Deno lists groups beside their tests; a group counts only
 * when it failed and none of its tests did.
 */
export function parseReport(xml) {
  const suites = [];
  let cases = [];
  const pattern = /<testsuite name="([^"]*)"[^>]*>|<\/testsuite>|<testcase name="([^"]*)"[^>]*?(\/)?>([\s\S]*?(?=<\/testcase>|<testcase|<testsuite|<\/testsuite))?/g;
  for (const [tag, suite, name, selfClosed, body = ''] of xml.matchAll(pattern)) {
    if (tag.startsWith('</')) suites.pop();
    else if (suite !== undefined) suites.push(decode(suite));
    else {
      const inner = selfClosed ? '' : body;
      const failure = /<(?:failure|error)[^>]*?(?:message="([^"]*)"[^>]*)?>([\s\S]*)<\/(?:failure|error)>/.exec(inner);
      cases.push({
        path: [...suites.filter((title) => !FILE.test(title)), decode(name)].join(PATH_SEPARATOR),
        name: decode(name),
        failure: failure && decode(failure[2].trim() || failure[1] || 'failed'),
        skipped: /<skipped/.test(inner),
      });
    }
  }
  const isGroup = (group) => cases.some((other) => other.name.startsWith(group.name + PATH_SEPARATOR));
  const failedBelow = (group) =>
    cases.some((other) => other.failure && other.name.startsWith(group.name + PATH_SEPARATOR));
  cases = cases.filter((test) => !isGroup(test) || (test.failure && !failedBelow(test)));
  return {
    passed: cases.filter((test) => !test.failure && !test.skipped).length,
    skipped: cases.filter((test) => !test.failure && test.skipped).length,
    failures: cases.filter((test) => test.failure).map(({ path, failure }) => ({ path, failure })),
  };
}

const testFiles = () =>
  readdirSync(join(root, '__test__'), { recursive: true })
    .map((name) => join('__test__', String(name)).split(sep).join('/'))
    .filter((name) => name.endsWith('.test.mjs') && !name.includes('node_modules'))
    .toSorted();

async function runFile(host, file, limitSeconds, folder) {
  const limit = limitSeconds * 1000;
  const report = join(folder, `${host.name}-${file.replaceAll('/', '-')}.xml`);
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, FORCE_COLOR, ...env } = process.env;
  const result = await capture(host.executable, host.args(file, report, limit), {
    limit,
    env: { ...env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  let tests = { passed: 0, skipped: 0, failures: [] };
  try {
    tests = parseReport(readFileSync(report, 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  // What goes wrong outside any test counts as one failure: a crash, a time limit, a file without tests.
  const ended = result.signal ? `signal ${result.signal}` : `exit code ${result.code}`;
  let trouble;
  if (result.late) trouble = `still running after ${limitSeconds} s`;
  else if (result.code !== 0 && tests.failures.length === 0) trouble = `ended with ${ended}`;
  else if (host.trouble?.test(result.output)) trouble = 'something went wrong outside of any test';
  else if (tests.passed + tests.skipped + tests.failures.length === 0) trouble = 'ran no test';
  if (trouble) tests.failures.push({ path: '(file)', failure: `${trouble}\n${result.output}`.trimEnd() });
  return { ...tests, ms: result.ms };
}

function print(mark, host, file, { passed, skipped, failures, ms }) {
  const counts = [`${passed} passed`, failures.length && `${failures.length} failed`, skipped && `${skipped} skipped`];
  const time = `${(ms / 1000).toFixed(1)} s`;
  console.log(`${mark.padEnd(4)} ${host.name.padEnd(6)} ${file}  ${counts.filter(Boolean).join(', ')}  ${time}`);
}

function printFailures({ failures }) {
  for (const { path, failure } of failures) {
    console.log(`     x ${path}\n${failure.replace(/^/gm, '       ')}`);
  }
}

/** Runs the suite; resolves with the counts of tests. */
export async function runSuite({ host, file, limit = DEFAULT_LIMIT_SECONDS } = {}) {
  const hosts = selectHosts(host);
  const files = testFiles().filter((name) => !file || file.split(',').some((part) => name.includes(part)));
  if (files.length === 0) throw new Error(file ? `no test file matches ${file}` : 'there is no test file');

  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-suite-'));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const ran = new Map(hosts.map(({ name }) => [name, 0]));
  const left = file ? [] : CHOSEN;
  const isLeft = (one, name) =>
    left.some((rule) => rule.names.some((start) => name.startsWith(`__test__/${start}`)) && !rule.hosts.includes(one.name));
  const queue = files.flatMap((name) => hosts.filter((one) => !isLeft(one, name)).map((one) => ({ one, name, results: [] })));
  for (const rule of left) console.log(`     on ${rule.hosts.join(', ')} only (${rule.why}): ${rule.names.map((name) => `${name}*`).join(' ')}`);
  const count = (one, { passed, failures, skipped }) => {
    total.passed += passed;
    total.failed += failures.length;
    total.skipped += skipped;
    ran.set(one.name, ran.get(one.name) + passed);
  };
  let failed = [];
  const run = async ({ one, name, results }) => {
    const result = await runFile(one, name, limit, folder);
    results.push(result);
    const ok = result.failures.length === 0;
    print(ok ? 'ok' : 'x', one, name, result);
    if (ok) count(one, result);
    return ok;
  };
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) if (!(await run(next))) failed.push(next);
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    const all = failed;
    const end = performance.now() + AGAIN_LIMIT_MS;
    for (let time = 1; all.length <= MOST_AGAIN && failed.length > 0 && time <= TIMES_AGAIN; time += 1) {
      console.log('     again, alone:');
      const still = [];
      for (const entry of failed) if (performance.now() >= end || !(await run(entry))) still.push(entry);
      failed = still;
    }
    for (const { one, name, results } of failed) {
      const last = results.pop();
      print('FAIL', one, name, last);
      printFailures(last);
      count(one, last);
    }
    for (const { one, name, results } of all) {
      const earlier = results.filter(({ failures }) => failures.length > 0);
      if (earlier.length > 0) console.log(`     before, ${one.name} ${name}:`);
      for (const result of earlier) printFailures(result);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const [name, passed] of ran) {
    if (passed > 0) continue;
    total.failed += 1;
    console.log(`FAIL ${name} passed no test at all`);
  }
  if (total.skipped > 0) console.log(`     ${total.skipped} skipped`);
  return total;
}

export const suiteOptions = {
  host: { type: 'string' },
  file: { type: 'string' },
  limit: { type: 'string' },
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: suiteOptions });
  try {
    const { passed, failed } = await runSuite({ ...values, limit: Number(values.limit ?? DEFAULT_LIMIT_SECONDS) });
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed > 0 ? 1 : 0;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
