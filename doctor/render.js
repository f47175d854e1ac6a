// @ts-check
'use strict';
// A report, for people.

const WIDTH = 24;

/** @param {Record<string, string | undefined>} facts */
const list = (facts) => Object.entries(facts)
  .filter(([, value]) => value !== undefined)
  .map(([name, value]) => `  ${name.padEnd(WIDTH)} ${value}`);

/** @param {import('./checks.js').Outcome} outcome */
function line({ name, ms, failure, missing }) {
  const mark = failure !== undefined ? 'FAIL' : missing !== undefined ? 'none' : 'ok';
  return `  ${mark.padEnd(4)} ${name}, ${ms} ms${failure ?? missing ? `: ${failure ?? missing}` : ''}`;
}

/**
 * @param {import('./index.js').Report} report
 * @returns {string}
 */
function render({ ok, host, system, library, limits, confinement, checks }) {
  const layers = typeof confinement === 'string'
    ? [`  none: ${confinement}`]
    : confinement.map(({ name, active, detail }) => `  ${name.padEnd(WIDTH)} ${active ? 'active' : '-     '}  ${detail}`);
  const failed = checks.filter(({ failure }) => failure !== undefined).length;
  return [
    `isolated-v8 ${library.version ?? ''}`.trimEnd(),
    ...list({ ...library, version: undefined }),
    '', 'Host', ...list(host),
    '', 'System', ...list(system),
    ...(limits === undefined ? [] : ['', 'Default limits of calls', ...list(limits)]),
    '', 'Confinement of the processes of SubprocessSandbox', ...layers,
    '', 'Self-test', ...checks.map(line),
    '', ok ? 'Everything works.' : `${failed} of ${checks.length} checks failed.`, '',
  ].join('\n');
}

module.exports = { render };
