// The runner of the suite: reports, the order of runs, shards, and which hosts run what.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { hosts } from '../../../scripts/setup/hosts.mjs';
import { capture, root } from '../../../scripts/process.mjs';
import { affectedBy } from '../../../scripts/suite/changes.mjs';
import { estimate } from '../../../scripts/suite/durations.mjs';
import { hostsOf, isTimed, shortName, syncCallsOf, testFiles } from '../../../scripts/suite/places.mjs';
import { parseReport } from '../../../scripts/suite/report.mjs';
import { Schedule, shardOf } from '../../../scripts/suite/schedule.mjs';

const ALL = hosts.map(({ name }) => name);
const files = testFiles();

describe('places', () => {
  test('the full suite includes the core, except excerpts on Node 24, where long runs have all of them', () => {
    for (const file of files) {
      const full = hostsOf(file, 'full');
      assert.ok(full.length > 0, file);
      const left = hostsOf(file, 'core').filter((name) => !full.includes(name));
      assert.deepEqual(left, shortName(file).startsWith('excerpt/') ? ['node24'] : [], file);
    }
  });

  test('files that run on each kind of host make sync calls in both ways', () => {
    for (const file of files.filter((name) => name.startsWith('__test__/each-kind/'))) {
      const ways = ['node24', 'bun', 'deno'].map((host) => syncCallsOf(file, host)).toSorted();
      assert.deepEqual(ways, ['caller', 'caller', 'thread'], file);
    }
  });

  test('a file that is in no place, or has another ending, is an error', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-places-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const write = (name) => {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), '');
    };
    for (const name of ['smoke/api.test.mjs', 'smoke/helper.mjs', '.tmp/x.test.js', 'api/cases.mjs']) write(name);
    assert.deepEqual(testFiles(folder), ['__test__/smoke/api.test.mjs']);
    for (const name of ['new.test.mjs', 'smoke/a.test.js', 'smoke/b.test.cjs', 'smoke/c.tests.mjs', 'other/d.test.mjs']) {
      write(name);
      assert.throws(() => testFiles(folder), { message: new RegExp(`: __test__/${name}$`) });
      rmSync(join(folder, name));
    }
  });

  test('no file limits itself to some of its tests, or uses `afterEach`, whose errors Deno ignores', () => {
    for (const file of files) assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /\b(?:test|describe|it)\.only\(|\bonly: true|\bafterEach\(/, file);
  });

  test('the core runs on every host, with each file that is not a long run', () => {
    const core = new Set(files.flatMap((file) => hostsOf(file, 'core')));
    assert.deepEqual(ALL.filter((name) => !core.has(name)), []);
    for (const file of files) assert.equal(hostsOf(file, 'core').length === 0, shortName(file).startsWith('soak'), file);
  });

  test('files that alternate run on each kind of host', () => {
    const chosen = files.filter((file) => file.startsWith('__test__/every-host/')).map((file) => hostsOf(file, 'core'));
    assert.ok(chosen.every((names) => names.length === 1));
    for (const name of ['node24', 'bun', 'deno']) assert.ok(chosen.filter(([one]) => one === name).length > chosen.length / 6, name);
  });

  test('names mark files that measure time', () => {
    assert.deepEqual(['__test__/engine/a/b.timed.test.mjs', '__test__/engine/a/timed.test.mjs'].map(isTimed), [true, false]);
  });
});

test('unknown durations are estimated', () => {
  for (const host of [...ALL, 'own']) {
    const { seconds, load } = estimate('__test__/engine/none/none.test.mjs', host);
    assert.ok(seconds > 0 && load > 0);
  }
});

/** Runs jobs as a schedule does, in steps of one second. Returns the names of the jobs that ran together. */
async function stepsOf(jobs, processors) {
  const steps = [];
  const waiting = new Set();
  const schedule = new Schedule(jobs, (job) => new Promise((resolve) => { waiting.add({ left: job.seconds, resolve }); }), processors);
  const finished = schedule.run();
  while (waiting.size > 0) {
    steps.push(schedule.running.map(({ name }) => name).toSorted().join(' '));
    for (const one of waiting) {
      one.left -= 1;
      if (one.left > 0) continue;
      waiting.delete(one);
      one.resolve();
    }
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  await finished;
  return steps;
}

const job = (name, seconds, load = 1, more = {}) => ({ name, seconds, load, timed: false, ...more });

describe('the schedule', () => {
  test('starts with the longest, one for each processor', async () => {
    assert.deepEqual(await stepsOf([job('a', 1), job('b', 3), job('c', 2)], 2), ['b c', 'b c', 'a b']);
  });

  test('runs waiting jobs beside computing ones', async () => {
    assert.deepEqual(await stepsOf([job('a', 2), job('b', 2), job('c', 2, 0.2), job('d', 2, 0.2)], 2), ['a b c d', 'a b c d']);
  });

  test('runs no more than two for each processor', async () => {
    assert.deepEqual(await stepsOf(['a', 'b', 'c', 'd', 'e'].map((name) => job(name, 1, 0.2)), 2), ['a b c d', 'e']);
  });

  test('never runs two files that measure time, and leaves each a processor', async () => {
    const timed = { timed: true };
    assert.deepEqual(await stepsOf([job('a', 2, 0.2, timed), job('b', 2, 0.2, timed), job('c', 1), job('d', 1)], 2), ['a c', 'a d', 'b', 'b']);
  });

  test('runs one of a group at a time, and others meanwhile', async () => {
    const steps = await stepsOf([job('a', 3, 0.6, { group: 'g' }), job('b', 2, 0.6, { group: 'g' }), ...['c', 'd', 'e'].map((name) => job(name, 1))], 2);
    assert.deepEqual(steps, ['a c', 'a d', 'a e', 'b', 'b']);
  });

  test('a job that may not start beside another does not delay the rest', async () => {
    const small = Array.from({ length: 30 }, (_, index) => job(`s${index}`, 1));
    const steps = await stepsOf([job('a', 30, 0.5, { timed: true }), job('b', 29, 0.5, { timed: true }), ...small], 2);
    assert.ok(steps.slice(0, 30).every((step) => step.includes('s')), steps.join(' | '));
  });

  test('runs an exclusive job alone, and soon', async () => {
    const steps = await stepsOf([job('a', 3, 0.2), job('b', 2, 0.2, { exclusive: true }), job('c', 1, 0.2)], 2);
    assert.deepEqual(steps, ['a', 'a', 'a', 'b', 'b', 'c']);
  });

  test('does not postpone a large job forever', async () => {
    const small = Array.from({ length: 40 }, (_, index) => job(`s${index}`, 1 + (index % 2), 0.6));
    const steps = await stepsOf([job('first', 5, 0.6), job('large', 4, 2), ...small], 2);
    assert.ok(steps.findIndex((step) => step.includes('large')) < steps.length / 2, steps.join('\n'));
  });
});

test('shards cover all jobs, each once, with similar durations', () => {
  const jobs = Array.from({ length: 50 }, (_, index) => job(`j${index}`, 1 + ((index * 7) % 13)));
  const shards = [1, 2, 3].map((number) => shardOf(jobs, number, 3));
  assert.deepEqual(shards.flat().map(({ name }) => name).toSorted(), jobs.map(({ name }) => name).toSorted());
  const times = shards.map((shard) => shard.reduce((sum, { seconds }) => sum + seconds, 0));
  assert.ok(Math.max(...times) - Math.min(...times) <= 13, times.join());
});

describe('a change affects', () => {
  const affects = (path) => affectedBy(files, [path]).map(shortName);
  const all = files.map(shortName);
  const ofRepo = all.filter((name) => name.startsWith('repo/'));

  test('nothing, if there is no change', () => assert.deepEqual(affectedBy(files, []), []));

  test('everything, if it is in the product', () => {
    for (const path of ['scripts/setup/hosts.mjs', 'scripts/setup/uncaught.mjs', 'scripts/setup/surface.mjs', 'scripts/setup.mjs', 'scripts/process.mjs', 'scripts/suite.mjs', 'scripts/suite/places.mjs', 'npm/linux-x64-gnu/package.json', 'src/lib.rs', 'surface/host/wire/index.js', 'Cargo.lock', 'index.mjs', 'loader/native.js', '__test__/hosts/package.json']) assert.deepEqual(affects(path), all, path);
  });

  test('the tests of the repository, always', () => {
    for (const path of ['scripts/release/release.mjs', 'index.d.ts', '.github/workflows/ci.yml']) assert.deepEqual(affects(path), ofRepo, path);
  });

  test('a test file itself', () => {
    assert.deepEqual(affects('__test__/smoke/api.test.mjs'), [...ofRepo, 'smoke/api'].toSorted());
  });

  test('files that load it, directly or not, and files that start it', () => {
    for (const name of ['soak/hostile/large', 'excerpt/hostile/sample']) assert.ok(affects('__test__/hostile/outcome.mjs').includes(name), name);
    assert.ok(affects('__test__/exit/program.mjs').includes('every-host/exit/matrix'));
    assert.ok(affects('examples/mcp-server.mjs').includes('host/adapters/mcp'));
    assert.ok(!affects('__test__/exit/program.mjs').includes('each-kind/wire/values'));
  });

  test('its topic, if no file names it', () => {
    for (const [path, name] of [['__test__/hostile/programs/loops.mjs', 'soak/hostile/loops'], ['examples/demo.mjs', 'host/examples/examples'], ['README.md', 'host/docs/programs']]) {
      assert.ok(affects(path).includes(name), path);
    }
  });
});

describe('reports', () => {
  test('of Node: nested groups, failures, skipped tests', () => {
    const { passed, skipped, failures } = parseReport(`<testsuites>
      <testsuite name="group"><testcase name="good" time="1"/><testcase name="bad &amp; worse"><failure message="no">it is &lt;bad&gt;</failure></testcase></testsuite>
      <testcase name="left"><skipped message="why"/></testcase></testsuites>`);
    assert.deepEqual([passed, skipped, failures], [1, 1, [{ path: 'group > bad & worse', failure: 'it is <bad>' }]]);
  });

  test('of Node: a group without tests is none', () => {
    const { passed, skipped, failures } = parseReport('<testsuites><testcase name="group" time="1" classname="test"/><!-- tests 0 --><!-- suites 1 --></testsuites>');
    assert.deepEqual([passed, skipped, failures], [0, 0, []]);
  });

  test('of Bun: a failure without text', () => {
    const { passed, failures } = parseReport('<testsuite name="a.test.mjs"><testcase name="slow" assertions="0"><failure type="TimeoutError" /></testcase></testsuite>');
    assert.deepEqual([passed, failures], [0, [{ path: 'slow', failure: 'failed' }]]);
  });

  test('of Deno: a group counts only if it failed by itself', () => {
    const { passed, failures } = parseReport(`<testsuite name="./a.test.mjs">
      <testcase name="group"/><testcase name="group > good"/>
      <testcase name="other"><failure message="no"></failure></testcase><testcase name="other > bad"><failure message="no"></failure></testcase></testsuite>`);
    assert.deepEqual([passed, failures], [1, [{ path: 'other > bad', failure: 'no' }]]);
  });
});

describe('captured commands', () => {
  /** Starts a process that leaves the group, keeps the output open, and ends only with this test. */
  const program = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
    console.log(child.pid);
    child.unref();
    if (process.argv[1] === 'wait') setTimeout(() => {}, 60_000);`;

  for (const [way, limit] of [['end', 0], ['wait', 3000]]) {
    test(`do not wait for processes that have left their group: ${way}`, { timeout: 30_000 }, async (t) => {
      const { code, late, output, ms } = await capture(process.execPath, ['-e', program, way], { limit });
      t.after(() => process.kill(Number(output), 'SIGKILL'));
      assert.deepEqual({ code, late }, limit === 0 ? { code: 0, late: false } : { code: null, late: true });
      assert.ok(ms < 25_000, `${ms} ms`);
    });
  }
});
