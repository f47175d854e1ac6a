// `npm test`: prepares the checkout, checks the sources and the packed package, and runs the core of the suite. `npm run test:full` runs
// everything, `npm run test:rest` what `npm test` leaves out.
//
// The options of suite.mjs choose a part: `--shard 1/3` also divides the checks; `--host` and `--file` skip them; `--changed` runs those of
// the changed sources. `--skip-suite` skips the suite and everything that needs the hosts, `--skip-checks` the checks. `--with-rest 2/3` then
// runs a shard of what `npm test` leaves out.

import { parseArgs } from 'node:util';
import { capture } from './process.mjs';
import { locked, setup } from './setup.mjs';
import { runSuite, shardOfText, suiteOptions } from './suite.mjs';
import { changedSince, PRODUCT } from './suite/changes.mjs';
import { clock } from './suite/progress.mjs';
import { Schedule } from './suite/schedule.mjs';

const tsc = 'node_modules/typescript/bin/tsc';
const script = (name) => [process.execPath, `scripts/${name}.mjs`];
/** One profile for everything, so that V8 is unpacked and its crate built once. */
const clippy = ['cargo', 'clippy', '--release', ...locked];

/** A check takes a minute; with a cold cache and beside other builds, several. */
const LIMIT_MS = 12 * 60_000;

const SOURCES = /^(src|launcher|surface|fuzz|vendor|\.cargo)\/|^(Cargo\.(toml|lock)|build\.rs|(clippy|rustfmt)\.toml)$/;
const LAYERED = /^(src|surface)\/|^scripts\/checks\/layers/;
const PROSE = /\.(md|[cm]?[jt]s|rs|toml|ya?ml|txt)$/;
const PACKED = /^(npm|adapters|command|doctor|surface|vendor|scripts\/(checks|release))\/|^[^/]+$/;
const PAGES = /\.md$|\.d\.[cm]?ts$|^(site|scripts\/site)\//;
const WORKFLOWS = /^\.github\/|^package\.json$|^scripts\/(checks|release)\//;
const SCRIPTS = /\.[cm]?[jt]s$|^tsconfig|^package(-lock)?\.json$|^\.oxlintrc/;

/**
 * `full`: not part of `npm test`. `hosts`: runs programs on all hosts, with packages from npm's registry. `of`: the files whose change
 * requires the check. `seconds` and `load` are estimates, as for test files. Cargo locks its folder, so its commands are a group.
 * @type {{
 *   name: string, command: string[], seconds: number, load: number, group?: string, timed?: boolean,
 *   count?: (output: string) => { passed: number, failed: number }, full?: boolean, hosts?: boolean, of: RegExp,
 * }[]}
 */
const checks = [
  { name: 'cargo fmt', command: ['cargo', 'fmt', '--check'], seconds: 2, load: 1, of: SOURCES },
  { name: 'cargo clippy', command: [...clippy, '--all-targets', '--features', 'plain-v8', '--', '-D', 'warnings'], seconds: 45, load: 1.2, group: 'cargo', of: SOURCES },
  { name: 'cargo test', command: ['cargo', 'test', '--release', ...locked], count: countCargoTests, seconds: 60, load: 1.3, group: 'cargo', of: SOURCES },
  { name: 'exported symbols', command: script('checks/symbols'), seconds: 3, load: 1, of: SOURCES },
  { name: 'tsc (hosts)', command: [process.execPath, tsc], seconds: 4, load: 1.5, of: SCRIPTS },
  { name: 'tsc (surface)', command: [process.execPath, tsc, '--project', 'tsconfig.surface.json'], seconds: 4, load: 1.5, of: SCRIPTS },
  { name: 'oxlint', command: [process.execPath, 'node_modules/oxlint/bin/oxlint', '--deny-warnings'], seconds: 2, load: 1, of: SCRIPTS },
  { name: 'layers', command: script('checks/layers'), seconds: 1, load: 1, of: LAYERED },
  { name: 'prose', command: script('checks/prose'), seconds: 2, load: 1, of: PROSE },
  { name: 'figures', command: [...script('checks/figures'), '--check'], seconds: 1, load: 1, of: /\.md$|^BENCHMARKS\.json$/ },
  { name: 'packaging', command: script('checks/packaging'), seconds: 8, load: 1, group: 'packages', of: PACKED },
  // The first run of clippy has checked the part of `cfg(any(test, fuzzing))` that tests use.
  { name: 'cargo clippy (fuzzing)', command: [...clippy, '--lib', '--', '--cfg', 'fuzzing', '-D', 'warnings'], seconds: 25, load: 1.2, group: 'cargo', full: true, of: SOURCES },
  { name: 'documentation', command: script('site/documentation'), seconds: 15, load: 1, full: true, of: PAGES },
  { name: 'workflows', command: script('checks/workflows'), seconds: 5, load: 1, full: true, of: WORKFLOWS },
  { name: 'application', command: script('product/application'), count: countHosts, seconds: 31, load: 1.2, group: 'packages', full: true, hosts: true, of: PRODUCT },
  { name: 'installation', command: script('product/installation'), count: countHosts, seconds: 24, load: 1.2, group: 'packages', full: true, hosts: true, of: PRODUCT },
  { name: 'bundlers', command: script('product/bundlers'), count: countHosts, seconds: 90, load: 1.2, group: 'packages', full: true, hosts: true, of: PRODUCT },
  { name: 'newcomer', command: script('product/newcomer'), seconds: 15, load: 1, group: 'packages', timed: true, full: true, hosts: true, of: PRODUCT },
];

function countCargoTests(output) {
  const counts = { passed: 0, failed: 0 };
  for (const [, passed, failed] of output.matchAll(/^test result: .*? (\d+) passed; (\d+) failed;/gm)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
  }
  return counts;
}

function countHosts(output) {
  return { passed: output.match(/^ok /gm)?.length ?? 0, failed: output.match(/^FAIL /gm)?.length ?? 0 };
}

async function runCheck({ name, command: [command, ...args], count }, print) {
  const result = await capture(command, args, { limit: LIMIT_MS })
    .catch((error) => ({ code: 1, output: error.message, ms: 0, late: false }));
  const { code, ms } = result;
  const output = result.late ? `${result.output}\ndid not end within ${LIMIT_MS / 60_000} minutes` : result.output;
  const counts = count?.(output) ?? { passed: 0, failed: 0 };
  const ranNothing = code === 0 && count !== undefined && counts.passed === 0;
  const ok = code === 0 && !ranNothing;
  if (ok) counts.passed ||= 1;
  else counts.failed ||= 1;
  const mark = ok ? 'ok' : 'FAIL';
  print(`${mark.padEnd(4)} ${name}${count ? `  ${counts.passed} passed` : ''}  ${(ms / 1000).toFixed(1)} s`);
  if (!ok) print(`${output.trimEnd()}${ranNothing ? '\nran no test' : ''}`.replace(/^/gm, '       '));
  return counts;
}

/** The checks that these options choose. */
async function chosenChecks({ host, file, changed, since, full, rest, shard, ...values }) {
  if (values['skip-checks'] || host !== undefined || file !== undefined) return [];
  const paths = changed ? await changedSince(since) : undefined;
  const wanted = checks.filter((check) => (full || (rest ? check.full : !check.full)) && !(check.hosts && values['skip-suite']))
    .filter(({ of }) => paths === undefined || paths.some((path) => of.test(path)));
  if (shard === undefined) return wanted;
  const { number, count } = shardOfText(shard);
  return wanted.filter((_, index) => index % count === number - 1);
}

const { values } = parseArgs({
  options: { ...suiteOptions, 'skip-suite': { type: 'boolean' }, 'skip-checks': { type: 'boolean' }, 'with-rest': { type: 'string' } },
});
const total = { passed: 0, failed: 0 };
const add = ({ passed, failed }) => {
  total.passed += passed;
  total.failed += failed;
};

/** Runs everything that these options choose; resolves with descriptions of what the suite has left out. */
async function runAll(options) {
  const chosen = await chosenChecks(options);
  const jobs = chosen.map((check) => ({ ...check, early: !check.hosts, run: async (print) => add(await runCheck(check, print)) }));
  if (options['skip-suite']) {
    await new Schedule(jobs, (job) => job.run(console.log)).run();
    return [];
  }
  const suite = await runSuite(options, jobs);
  add(suite);
  return suite.left;
}

const start = performance.now();
try {
  // Tests that also run with isolated-vm take the module from there.
  if (process.env.IVM_MODULE) throw new Error('IVM_MODULE is set, so tests would run with that module instead of this package');
  await setup('dependencies', 'addon', ...(values['skip-suite'] ? [] : ['hosts']));
  const left = await runAll(values);
  const shard = values['with-rest'];
  if (left.length > 0) {
    console.log(`${left.join('\n')}\n     left out: ${checks.filter(({ full }) => full).map(({ name }) => name).join(', ')}`);
    if (shard === undefined) console.log('     `npm run test:rest` runs what was left out, `npm run test:full` everything');
    else console.log(`     part ${shard} of what was left out:`);
  }
  if (shard !== undefined) await runAll({ ...values, rest: true, shard });
  if (total.passed + total.failed === 0 && !values.changed) throw new Error('these options leave nothing to run');
} catch (error) {
  console.log(`FAIL ${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  total.failed += 1;
}
console.log(`     in ${clock((performance.now() - start) / 1000)}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;
