// @ts-check
'use strict';
// `isolated-v8 run`: runs a file in a sandbox.

const { AgentSandbox } = require('../index.js');
const { OPTIONS, parse, readLimits } = require('./arguments.js');
const { exitCodeOf } = require('./exit.js');
const { readSource } = require('./source.js');
const { described, json, shown, writerTo } = require('./text.js');

const usage = `Usage: isolated-v8 run [options] [file]

Runs a file, or standard input (without a file, or with -), in a sandbox: the body of an async function, or an ES module.
Console output and what the code returns, or its default export, are printed.

  --timeout <ms>   time limit in milliseconds, default 30000
  --memory <MB>    memory limit in megabytes, at least 8, default 128
  --typescript     allows types; files named .ts, .mts or .cts have them anyway
  --web            provides web APIs: URL, TextEncoder, crypto, ...
  --json           prints one JSON document with result, error, failure, logs and usage

Exit codes: 0 success, 1 the code failed, 2 wrong arguments or unreadable file, 3 time limit, 4 memory limit,
5 another limit or error of isolated-v8.
`;

/** Bytes that a result may take, as JSON. */
const MAX_OUTPUT = 16 * 2 ** 20;
/** Console calls that are printed, and characters of each. The sandbox keeps at most 8 MB in all. */
const MAX_LOGS = 100_000;
const MAX_LOG_CHARACTERS = 100_000;
const ERRORS = Object.freeze(['error', 'warn']);

/** @typedef {import('../index.js').AgentResult} Outcome */
/** @typedef {import('../index.js').SandboxErrorResult & import('../index.js').AgentResultDetails} Failed */

/**
 * An error of ours as an outcome.
 * @param {any} error
 * @returns {Failed}
 */
function outcomeOf(error) {
  const message = String(error?.message ?? error);
  const code = typeof error?.code === 'string' ? error.code : 'ERR_INVALID_ARG';
  return { result: null, error: message, failure: { name: 'Error', message, code, stack: `Error: ${message}` }, logs: [], durationMs: 0, duration: 0 };
}

/**
 * @param {Outcome} outcome
 * @returns {{ document: string, outcome: Outcome }} the outcome that the document describes
 */
function documentOf(outcome) {
  /** @param {Outcome} each */
  const write = ({ duration: _, ...each }) => `${json({ ok: each.error === undefined, ...each, result: each.result ?? null })}\n`;
  try {
    return { document: write(outcome), outcome };
  } catch (/** @type {any} */ error) {
    const { logs, lostLogs, durationMs, duration } = outcome;
    const message = `The result cannot be written as JSON: ${error.message.split('\n')[0]}`;
    const failed = { ...outcomeOf({ message, code: 'ERR_ISOLATE_TRANSFER' }), logs, lostLogs, usage: outcome.usage, durationMs, duration };
    return { document: write(failed), outcome: failed };
  }
}

/**
 * @param {string} code
 * @param {ConstructorParameters<typeof AgentSandbox>[0]} options
 * @returns {Promise<Outcome>}
 */
async function execute(code, options) {
  try {
    const sandbox = new AgentSandbox({ modules: {}, poolSize: 0, maxOutputSize: MAX_OUTPUT, maxLogEntries: MAX_LOGS, maxLogLength: MAX_LOG_CHARACTERS, ...options });
    return await sandbox.execute(code, [], async () => undefined);
  } catch (error) {
    // The native part cannot be loaded.
    return outcomeOf(error);
  }
}

/** @type {import('./main.js').Command['main']} */
async function main(args, { stdin, stdout, stderr }) {
  const { values, positionals } = parse(args, { ...OPTIONS, json: { type: 'boolean' } }, 1);
  const limits = readLimits(values);
  const [file = '-'] = positionals;
  if (file === '-' && stdin.isTTY) stderr.write('Reading code from standard input. Control-D ends it.\n');
  const { code, isTyped } = await readSource(file, stdin);
  const options = { ...limits, web: values.web === true, typescript: values.typescript === true || isTyped };
  if (values.json) {
    const { document, outcome } = documentOf(await execute(code, options));
    stdout.write(document);
    return exitCodeOf(outcome.failure);
  }
  const [out, err] = [writerTo(stdout), writerTo(stderr)];
  /** @param {{ level: string, message: string }} entry */
  const onLog = ({ level, message }) => (ERRORS.includes(level) ? err : out)(`${message}\n`);
  const { result, failure, lostLogs } = await execute(code, { ...options, onLog });
  if (lostLogs !== undefined) err(`(${lostLogs} more console calls are not shown)\n`);
  if (failure !== undefined) err(described(failure));
  else if (result !== undefined) out(`${typeof result === 'string' ? result : shown(result)}\n`);
  return exitCodeOf(failure);
}

/** @param {Error} error in the arguments */
const report = (error) => documentOf(outcomeOf(error)).document;

module.exports = { main, report, usage };
