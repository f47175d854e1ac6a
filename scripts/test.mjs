// `npm test`: makes the checkout ready, checks the sources and the packed package, then runs the suite on every host, a public
// application, and installations by several package managers. With `-- --host node24,bun` and/or `--file wire` only that part of the
// suite runs; `--skip-suite` leaves out the suite and all after it.

import { parseArgs } from 'node:util';
import { capture } from './process.mjs';
import { locked, setup } from './setup.mjs';
import { runSuite, suiteOptions } from './suite.mjs';

const tsc = 'node_modules/typescript/bin/tsc';

/** One profile for everything, so that V8 is unpacked and its crate built once. */
const checks = [
  { name: 'cargo fmt', command: ['cargo', 'fmt', '--check'] },
  { name: 'cargo clippy', command: ['cargo', 'clippy', '--release', ...locked, '--all-targets', '--features', 'plain-v8', '--', '-D', 'warnings'] },
  { name: 'cargo clippy (fuzzing)', command: ['cargo', 'clippy', '--release', ...locked, '--lib', '--', '--cfg', 'fuzzing', '-D', 'warnings'] },
  { name: 'cargo test', command: ['cargo', 'test', '--release', ...locked], count: countCargoTests },
  { name: 'exported symbols', command: [process.execPath, 'scripts/symbols.mjs'] },
  { name: 'tsc (hosts)', command: [process.execPath, tsc] },
  { name: 'tsc (surface)', command: [process.execPath, tsc, '--project', 'tsconfig.surface.json'] },
  { name: 'oxlint', command: [process.execPath, 'node_modules/oxlint/bin/oxlint', '--deny-warnings'] },
  { name: 'packaging', command: [process.execPath, 'scripts/packaging.mjs'] },
  { name: 'documentation', command: [process.execPath, 'scripts/documentation.mjs'] },
  { name: 'workflows', command: [process.execPath, 'scripts/workflows.mjs'] },
];

/** These need npm's registry and, as the suite does, all hosts. */
const installed = [
  { name: 'application', command: [process.execPath, 'scripts/application.mjs'], count: countHosts },
  { name: 'installation', command: [process.execPath, 'scripts/installation.mjs'], count: countHosts },
  { name: 'newcomer', command: [process.execPath, 'scripts/newcomer.mjs'] },
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

async function runCheck({ name, command: [command, ...args], count }) {
  const { code, output, ms } = await capture(command, args).catch((error) => ({ code: 1, output: error.message, ms: 0 }));
  const counts = count?.(output) ?? { passed: 0, failed: 0 };
  if (code === 0) counts.passed ||= 1;
  else counts.failed ||= 1;
  const mark = code === 0 ? 'ok' : 'FAIL';
  console.log(`${mark.padEnd(4)} ${name}${count ? `  ${counts.passed} passed` : ''}  ${(ms / 1000).toFixed(1)} s`);
  if (code !== 0) console.log(output.trimEnd().replace(/^/gm, '       '));
  return counts;
}

const options = { ...suiteOptions, 'skip-suite': { type: 'boolean' } };
const { values } = parseArgs({ options });
const part = values.host !== undefined || values.file !== undefined;
const total = { passed: 0, failed: 0 };
const add = ({ passed, failed }) => {
  total.passed += passed;
  total.failed += failed;
};

try {
  await setup('dependencies', 'addon', ...(values['skip-suite'] ? [] : ['hosts']));
  if (!part) {
    for (const check of checks) add(await runCheck(check));
  }
  if (!values['skip-suite']) {
    add(await runSuite({ ...values, limit: values.limit === undefined ? undefined : Number(values.limit) }));
    for (const check of part ? [] : installed) add(await runCheck(check));
  }
} catch (error) {
  console.log(`FAIL ${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  total.failed += 1;
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;
