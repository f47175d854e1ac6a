#!/usr/bin/env node
// @ts-check
'use strict';
// `npx isolated-v8 doctor`: reports the installation, and whether it works.

const { diagnose } = require('./index.js');
const { render } = require('./render.js');

const USAGE = `Usage: isolated-v8 doctor [--json]

Reports the host, versions, limits and the layers that confine processes here, and runs a self-test.
The exit code is 0 if everything works, and 1 otherwise.
`;

/** Resolves with the exit code. */
async function main() {
  const words = process.argv.slice(2);
  const json = words.includes('--json');
  const [command, ...more] = words.filter((word) => word !== '--json');
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (command !== 'doctor' || more.length > 0) {
    process.stderr.write(USAGE);
    return 2;
  }
  const report = await diagnose();
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : render(report));
  return report.ok ? 0 : 1;
}

(async () => {
  process.exitCode = await main();
})();
