// @ts-check
'use strict';
// `isolated-v8 doctor`: reports the installation, and whether it works.

const { diagnose } = require('../doctor/index.js');
const { render } = require('../doctor/render.js');
const { parse } = require('./arguments.js');
const { EXIT } = require('./exit.js');

const usage = `Usage: isolated-v8 doctor [--json]

Reports the host, versions, limits and the layers that confine processes here, and runs a self-test.

  --json   writes the report as JSON

Exit codes: 0 all of it works, 1 something does not work, 2 wrong arguments.
`;

/** @type {import('./main.js').Command['main']} */
async function main(args, { stdout }) {
  const { values } = parse(args, { json: { type: 'boolean' } });
  const report = await diagnose();
  stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : render(report));
  return report.ok ? EXIT.OK : EXIT.FAILURE;
}

module.exports = { main, usage };
