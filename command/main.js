// @ts-check
'use strict';
// Finds a command by its name, and runs it.

const { EXIT } = require('./exit.js');
const { UsageError } = require('./arguments.js');

/** @typedef {Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>} Streams */

/**
 * @typedef {object} Command
 * @property {string} usage
 * @property {(args: string[], streams: Streams) => Promise<number>} main resolves with the exit code
 * @property {(error: Error) => string} [report] an error as a document for standard output, if the arguments ask for one
 */

/** Loaded on use. @type {Record<string, () => Command>} */
const commands = {
  run: () => require('./run.js'),
  repl: () => require('./repl.js'),
  mcp: () => require('./mcp.js'),
  doctor: () => require('./doctor.js'),
};

const USAGE = `Usage: isolated-v8 <command> [options]

  run [file]   runs a file, or standard input, in a sandbox
  repl         reads and runs lines in a sandbox that keeps its state
  mcp          serves a sandbox to a client of the Model Context Protocol
  doctor       reports the installation, and whether it works

isolated-v8 <command> --help lists the options of a command.
`;

const HELP = ['--help', '-h', 'help'];
const VERSION = ['--version', '-v'];

/**
 * @param {string[]} args
 * @param {Streams} [streams]
 * @returns {Promise<number>} the exit code
 */
async function main([name = '', ...args], streams = process) {
  const { stdout, stderr } = streams;
  if (HELP.includes(name)) {
    stdout.write(USAGE);
    return EXIT.OK;
  }
  if (VERSION.includes(name)) {
    stdout.write(`${require('../package.json').version}\n`);
    return EXIT.OK;
  }
  if (!Object.hasOwn(commands, name)) {
    stderr.write(USAGE);
    return EXIT.USAGE;
  }
  const command = commands[name]();
  if (args.includes('--help') || args.includes('-h')) {
    stdout.write(command.usage);
    return EXIT.OK;
  }
  try {
    return await command.main(args, streams);
  } catch (/** @type {any} */ error) {
    if (String(error?.code).startsWith('ERR_ISOLATE_')) {
      stderr.write(`isolated-v8 ${name}: ${error.message}\n`);
      return EXIT.LIBRARY;
    }
    if (!(error instanceof UsageError)) throw error;
    const document = args.includes('--json') ? command.report?.(error) : undefined;
    if (document !== undefined) stdout.write(document);
    stderr.write(`isolated-v8 ${name}: ${error.message}\n\n${command.usage}`);
    return EXIT.USAGE;
  }
}

module.exports = { main };
