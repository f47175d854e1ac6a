// Runs every __test__/**/*.test.mjs on every host, two at a time, each file in a process of its own.
// `node scripts/suite.mjs [--host node24,bun] [--file wire] [--limit seconds]`

import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { selectHosts } from './hosts.mjs';
import { capture, root } from './process.mjs';

const DEFAULT_LIMIT_SECONDS = 240;
const AT_A_TIME = 2;
const PATH_SEPARATOR = ' > ';
/** Bun and Deno list files as suites. */
const FILE = /\.(mjs|ts)$/;

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

function print(host, file, result) {
  const { passed, skipped, failures, ms } = result;
  const counts = [`${passed} passed`, failures.length && `${failures.length} failed`, skipped && `${skipped} skipped`];
  const mark = failures.length > 0 ? 'FAIL' : 'ok';
  const time = `${(ms / 1000).toFixed(1)} s`;
  console.log(`${mark.padEnd(4)} ${host.name.padEnd(6)} ${file}  ${counts.filter(Boolean).join(', ')}  ${time}`);
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
  const queue = files.flatMap((name) => hosts.map((one) => [one, name]));
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [one, name] = next;
      const result = await runFile(one, name, limit, folder);
      print(one, name, result);
      total.passed += result.passed;
      total.failed += result.failures.length;
      total.skipped += result.skipped;
      ran.set(one.name, ran.get(one.name) + result.passed);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const [name, count] of ran) {
    if (count > 0) continue;
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
