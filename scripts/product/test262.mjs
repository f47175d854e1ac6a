// Runs a part of test262 in isolates of this package:
// `node scripts/product/test262.mjs <checkout of test262> [--filter language/types,built-ins/JSON] [--host node24 | --host plain]
//   [--concurrency 2] [--every 20] [--limit milliseconds] [--json results.json] [--against results.json]`
// `--host plain` runs the same tests in plain V8, with examples/plain-v8/: failures there are V8's, not this package's. `--against`
// prints the tests whose outcome differs from an earlier run, saved by `--json`. Then only tests that fail here and passed there count as
// failures.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { root } from '../process.mjs';
import { executeAll } from './test262/pool.mjs';
import { SUBSET, findTests } from './test262/tests.mjs';
import { Tally, differences, failureOf } from './test262/verdict.mjs';

const DEFAULT_HOST = 'node24';
const DEFAULT_CONCURRENCY = 2;
const DEFAULT_LIMIT_MS = 10_000;
const PROGRESS_EVERY = 5_000;
const plain = join(root, 'target/release/examples/plain-v8');

const options = {
  filter: { type: 'string' },
  host: { type: 'string' },
  concurrency: { type: 'string' },
  every: { type: 'string' },
  limit: { type: 'string' },
  json: { type: 'string' },
  against: { type: 'string' },
};

function programOf(host, directory) {
  if (host === 'plain') return { command: plain, args: [directory] };
  const [{ executable, program }] = selectHosts(host);
  return { command: executable, args: [...program(['--expose-gc'], 'scripts/product/test262/executor.mjs'), directory] };
}

/**
 * @param {string} directory the checkout
 * @param {{ filter?: string, host: string, concurrency: number, every: number, limit: number }} settings
 */
async function runTests(directory, { filter, host, concurrency, every, limit }) {
  const program = programOf(host, directory);
  const tests = findTests(directory, filter?.split(',') ?? SUBSET).filter((_, index) => index % every === 0);
  if (tests.length === 0) throw new Error('there is no such test');
  const tally = new Tally();
  const due = [];
  for (const test of tests) {
    if (test.skip === undefined) due.push(test);
    else tally.skipped.set(test.name, test.skip);
  }

  const again = [];
  let done = 0;
  await executeAll(due, program, { concurrency, limit }, (test, outcome) => {
    done += 1;
    if (done % PROGRESS_EVERY === 0) console.log(`${done} of ${due.length}`);
    if (failureOf(test, outcome) === undefined) tally.passed.push(test.name);
    else again.push(test);
  });
  // Alone, so that no other process competes for the processor.
  await executeAll(again, program, { concurrency: 1, limit }, (test, outcome) => {
    const failure = failureOf(test, outcome);
    if (failure === undefined) tally.passed.push(test.name);
    else tally.failed.set(test.name, failure);
  });
  return tally;
}

function show(tally) {
  for (const [name, failure] of [...tally.failed].toSorted()) console.log(`FAIL ${name}\n       ${failure.replaceAll('\n', '\n       ')}`);
  console.log('');
  for (const reason of new Set(tally.skipped.values())) {
    console.log(`left out for ${reason}: ${[...tally.skipped.values()].filter((one) => one === reason).length}`);
  }
  for (const [folder, { passed, failed, skipped }] of tally.table()) {
    console.log(`${folder.padEnd(32)} ${passed} passed, ${failed} failed, ${skipped} left out`);
  }
  console.log(`${tally.passed.length} passed, ${tally.failed.size} failed, ${tally.skipped.size} left out`);
}

function compare(tally, file) {
  const { worse, better } = differences(tally, JSON.parse(readFileSync(file, 'utf8')));
  for (const [name, failure] of worse) console.log(`only here FAIL ${name}: ${failure}`);
  for (const [name, failure] of better) console.log(`only there FAIL ${name}: ${failure}`);
  console.log(`${worse.length} fail only here, ${better.length} only there`);
  return worse.length === 0;
}

try {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length !== 1) throw new Error('usage: node scripts/product/test262.mjs <checkout of test262> [--filter language] [--host node24]');
  const tally = await runTests(resolve(positionals[0]), {
    filter: values.filter,
    host: values.host ?? DEFAULT_HOST,
    concurrency: Number(values.concurrency ?? DEFAULT_CONCURRENCY),
    every: Number(values.every ?? 1),
    limit: Number(values.limit ?? DEFAULT_LIMIT_MS),
  });
  show(tally);
  if (values.json) writeFileSync(values.json, `${JSON.stringify(tally, null, 1)}\n`);
  const good = values.against ? compare(tally, values.against) : tally.failed.size === 0;
  process.exitCode = good ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
