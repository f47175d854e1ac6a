// Executes tests in isolates of this package: reads a line of JSON for each from standard input, and writes its outcome to standard output.
// `executor.mjs <checkout of test262>`. One isolate serves many tests, each in a context of its own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Worker } from './realm.mjs';

/** The maximum number of tests per isolate, if none of them fails. */
const TESTS_PER_ISOLATE = 100;

const [, , root] = process.argv;
const harness = new Map();

function harnessFile(name) {
  if (!harness.has(name)) harness.set(name, readFileSync(join(root, 'harness', name), 'utf8'));
  return harness.get(name);
}

let worker;

for await (const line of createInterface({ input: process.stdin })) {
  const { file, harness: names, ...how } = JSON.parse(line);
  worker ??= new Worker();
  const path = join(root, 'test', file);
  const test = { ...how, path, source: readFileSync(path, 'utf8'), harness: names.map((name) => [name, harnessFile(name)]) };
  const outcome = await worker.execute(test);
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
  // If it failed to parse, nothing has run.
  if ((outcome.phase ?? 'parse') !== 'parse' || worker.executed >= TESTS_PER_ISOLATE) {
    worker.end();
    worker = undefined;
  }
}
process.exit(0);
