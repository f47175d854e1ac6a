// @ts-check
'use strict';
// Reads the arguments of a command.

const { parseArgs } = require('node:util');

/** Wrong arguments. Its message is for the user. */
class UsageError extends Error {}

const MAX_NUMBER = 0x7fff_ffff;

/** Options of all commands that run code. */
const OPTIONS = Object.freeze({
  timeout: { type: /** @type {const} */ ('string') },
  memory: { type: /** @type {const} */ ('string') },
  typescript: { type: /** @type {const} */ ('boolean') },
  web: { type: /** @type {const} */ ('boolean') },
});

/**
 * @param {string[]} args
 * @param {import('node:util').ParseArgsOptionsConfig} options
 * @param {number} [maxPositionals]
 * @returns {{ values: Record<string, any>, positionals: string[] }}
 */
function parse(args, options, maxPositionals = 0) {
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (/** @type {any} */ error) {
    // The first sentence; what follows is advice about `--`.
    throw new UsageError(String(error.message).split('. ')[0]);
  }
  if (parsed.positionals.length > maxPositionals) {
    throw new UsageError(`unexpected argument '${parsed.positionals[maxPositionals]}'`);
  }
  return parsed;
}

/**
 * @param {Record<string, any>} values
 * @param {string} name
 * @param {string} unit
 * @param {number} min
 * @param {number} fallback
 * @returns {number}
 */
function readNumber(values, name, unit, min, fallback) {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = text.trim() === '' ? NaN : Number(text);
  if (!(value >= min && value <= MAX_NUMBER)) {
    throw new UsageError(`--${name} must be a number of ${unit} from ${min} to ${MAX_NUMBER}`);
  }
  return value;
}

/** @param {Record<string, any>} values */
const readLimits = (values) => ({
  timeout: readNumber(values, 'timeout', 'milliseconds', 1, 30_000),
  memoryLimit: readNumber(values, 'memory', 'megabytes', 8, 128),
});

module.exports = { OPTIONS, parse, readLimits, UsageError };
