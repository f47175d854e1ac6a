// @ts-check
'use strict';
// Creates the report: the installation, and whether it works.

const { examine } = require('./checks.js');
const { describeBinary, describeHost, describeSystem } = require('./system.js');

/**
 * @typedef {object} Report
 * @property {boolean} ok whether everything that is available here works
 * @property {Record<string, string | undefined>} host
 * @property {Record<string, string | undefined>} system
 * @property {Record<string, string | undefined>} library
 * @property {Record<string, string> | undefined} limits the defaults of calls
 * @property {import('./checks.js').Layer[] | string} confinement its layers, or why there is none
 * @property {import('./checks.js').Outcome[]} checks
 */

/** The package, and the version of its V8; it throws where the native part cannot be loaded. */
const loadPackage = () => ({ ivm: require('../index.js'), v8: require('../loader/native.js').v8 });

/** Unknown where Deno may not read. */
function versionOfPackage() {
  try {
    return require('../package.json').version;
  } catch {
    return undefined;
  }
}

/** @param {number} ms */
const time = (ms) => (ms === 0 ? 'none' : `${ms} ms`);

/**
 * @param {() => { ivm: any, v8: string }} [load] a replacement for the package, for tests
 * @returns {Promise<Report>}
 */
async function diagnose(load = loadPackage) {
  const version = versionOfPackage();
  const report = { host: describeHost(), system: describeSystem() };
  let loaded;
  try {
    loaded = load();
  } catch (/** @type {any} */ error) {
    const failed = { name: 'loads', failure: String(error?.message ?? error), ms: 0 };
    return { ok: false, ...report, library: { version }, limits: undefined, confinement: 'not known', checks: [failed] };
  }
  const { ivm, v8 } = loaded;
  const { confinement, checks } = await examine(ivm);
  const { timeout, deadline, terminationGrace } = ivm.configureEngine();
  return {
    ok: checks.every(({ failure }) => failure === undefined),
    ...report,
    library: { version, v8, ...describeBinary() },
    limits: { timeout: time(timeout), deadline: time(deadline), 'termination grace': time(terminationGrace) },
    confinement,
    checks,
  };
}

module.exports = { diagnose };
