// `npm test`: prepares the checkout, checks the sources and the packed package, and runs the core of the suite. `npm run test:full` runs
// everything, `npm run test:rest` what `npm test` leaves out.
//
// The options of suite.mjs choose a part. With `--shard 1/3` the checks are divided too; with `--host`, `--file` or `--changed` there are
// no checks. `--skip-suite` leaves out the suite and the checks that need the hosts, `--skip-checks` leaves out the checks.
// `--with-rest 2/3` then also runs a shard of what `npm test` leaves out.

import { parseArgs } from 'node:util';
import { capture } from './process.mjs';
import { locked, setup } from './setup.mjs';
import { runSuite, suiteOptions } from './suite.mjs';
import { clock } from './suite/progress.mjs';

const tsc = 'node_modules/typescript/bin/tsc';
const script = (name) => [process.execPath, `scripts/${name}.mjs`];
/** One profile for everything, so that V8 is unpacked and its crate built once. */
const clippy = ['cargo', 'clippy', '--release', ...locked];

/**
 * `full`: not part of `npm test`. `hosts`: runs programs on all hosts, with packages from npm's registry.
 * @type {{ name: string, command: string[], count?: (output: string) => { passed: number, failed: number }, full?: boolean, hosts?: boolean }[]}
 */
const checks = [
  { name: 'cargo fmt', command: ['cargo', 'fmt', '--check'] },
  { name: 'cargo clippy', command: [...clippy, '--all-targets', '--features', 'plain-v8', '--', '-D', 'warnings'] },
  { name: 'cargo test', command: ['cargo', 'test', '--release', ...locked], count: countCargoTests },
  { name: 'exported symbols', command: script('symbols') },
  { name: 'tsc (hosts)', command: [process.execPath, tsc] },
  { name: 'tsc (surface)', command: [process.execPath, tsc, '--project', 'tsconfig.surface.json'] },
  { name: 'oxlint', command: [process.execPath, 'node_modules/oxlint/bin/oxlint', '--deny-warnings'] },
  { name: 'packaging', command: script('packaging') },
  // The first run of clippy covers the tests' part of `cfg(any(test, fuzzing))`.
  { name: 'cargo clippy (fuzzing)', command: [...clippy, '--lib', '--', '--cfg', 'fuzzing', '-D', 'warnings'], full: true },
  { name: 'documentation', command: script('documentation'), full: true },
  { name: 'workflows', command: script('workflows'), full: true },
  { name: 'application', command: script('application'), count: countHosts, full: true, hosts: true },
  { name: 'installation', command: script('installation'), count: countHosts, full: true, hosts: true },
  { name: 'newcomer', command: script('newcomer'), full: true, hosts: true },
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
  const { code, output, ms } = await capture(command, args).catch((error) => ({ code: 1, output: error.message, ms: 0 }));
  const counts = count?.(output) ?? { passed: 0, failed: 0 };
  if (code === 0) counts.passed ||= 1;
  else counts.failed ||= 1;
  const mark = code === 0 ? 'ok' : 'FAIL';
  print(`${mark.padEnd(4)} ${name}${count ? `  ${counts.passed} passed` : ''}  ${(ms / 1000).toFixed(1)} s`);
  if (code !== 0) print(output.trimEnd().replace(/^/gm, '       '));
  return counts;
}

/** The checks that these options choose. */
function chosenChecks({ host, file, changed, full, rest, shard, ...values }) {
  if (values['skip-checks'] || host !== undefined || file !== undefined || changed) return [];
  const wanted = checks.filter((check) => (full || (rest ? check.full : !check.full)) && !(check.hosts && values['skip-suite']));
  if (shard === undefined) return wanted;
  const [number, count] = shard.split('/').map(Number);
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
const runChecks = async (list, print = console.log) => {
  for (const check of list) add(await runCheck(check, print));
};
const isCargo = ({ command: [command] }) => command === 'cargo';

/** Runs everything that these options choose; resolves with descriptions of what the suite has left out. */
async function runAll(options) {
  const chosen = chosenChecks(options);
  const first = chosen.filter(({ hosts }) => !hosts);
  const cargo = (print) => runChecks(first.filter(isCargo), print);
  const others = (print) => runChecks(first.filter((check) => !isCargo(check)), print);
  if (options['skip-suite']) {
    await Promise.all([cargo(), others()]);
    return [];
  }
  // Cargo leaves a processor idle much of the time.
  const suite = await runSuite(options, [{ name: 'checks by cargo', seconds: 90, load: 1.3, run: cargo }, { name: 'other checks', seconds: 20, load: 1, run: others }]);
  add(suite);
  await runChecks(chosen.filter(({ hosts }) => hosts));
  return suite.left;
}

const start = performance.now();
try {
  await setup('dependencies', 'addon', ...(values['skip-suite'] ? [] : ['hosts']));
  const left = await runAll(values);
  const shard = values['with-rest'];
  if (left.length > 0) {
    console.log(`${left.join('\n')}\n     left out: ${checks.filter(({ full }) => full).map(({ name }) => name).join(', ')}`);
    if (shard === undefined) console.log('     `npm run test:rest` runs what was left out, `npm run test:full` everything');
    else console.log(`     part ${shard} of what was left out:`);
  }
  if (shard !== undefined) await runAll({ ...values, rest: true, shard });
} catch (error) {
  console.log(`FAIL ${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  total.failed += 1;
}
console.log(`     in ${clock((performance.now() - start) / 1000)}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;
