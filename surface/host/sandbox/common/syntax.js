'use strict';
// Explains V8's syntax errors in code that models write.

const { MAIN_FILE } = require('../../protocol.js');
const { nextLine } = require('./lines.js');
const { endOf, looksTyped } = require('./normalize.js');

const POSITION = /^[^]* \[sandbox\.js(?:#\d+)?:(\d+):\d+\]$/;
/** Characters of a line that are searched for types. */
const MAX_LINE = 1_000;

/**
 * The line of a syntax error, from 1; undefined if the outcome is something else.
 * @param {import('./execution.js').Outcome} outcome
 */
function lineOf({ ok, name, value }) {
  const [, line] = (name === 'SyntaxError' && !ok && POSITION.exec(String(value))) || [];
  return line === undefined ? undefined : Number(line);
}

/**
 * A syntax error in the text that was appended to the user's code means that something in the code is not closed.
 * @template {import('./execution.js').Outcome} O
 * @param {O} outcome
 * @param {string} code
 * @returns {O}
 */
function withoutOurs(outcome, code) {
  const found = lineOf(outcome);
  if (found === undefined) {
    return outcome;
  }
  const { line, column } = endOf(code);
  if (found <= line) {
    return outcome;
  }
  const place = `${MAIN_FILE}:${line}:${column}`;
  return { ...outcome, value: `Unexpected end of input [${place}]`, stack: `\n    at ${place}` };
}

/**
 * Names the option for TypeScript in a syntax error whose line looks like TypeScript.
 * @template {import('./execution.js').Outcome} O
 * @param {O} outcome
 * @param {string} code
 * @param {boolean} typescript whether the option is set
 * @returns {O}
 */
function namingOption(outcome, code, typescript) {
  const found = typescript ? undefined : lineOf(outcome);
  if (found === undefined) {
    return outcome;
  }
  let start = 0;
  for (let line = 1; line < found && (line === 1 || start > 0); line += 1) {
    start = nextLine(code, start);
  }
  const end = nextLine(code, start);
  const isTyped = looksTyped(code.slice(start, Math.min(end === 0 ? code.length : end, start + MAX_LINE)));
  return isTyped ? { ...outcome, value: `${outcome.value} (code with types needs the option \`typescript: true\`)` } : outcome;
}

/** V8's message for a fence that is run as JavaScript: an empty template literal, and a second one that it is called with. */
const CALLED = '"" is not a function';

/**
 * @template {import('./execution.js').Outcome} O
 * @param {O} outcome
 * @param {string} code
 * @returns {O}
 */
function namingFence(outcome, code) {
  const isFence = !outcome.ok && outcome.value === CALLED && /^\s*```/.test(code);
  return isFence ? { ...outcome, value: `${CALLED}: the code is in a Markdown fence that does not name JavaScript or TypeScript` } : outcome;
}

/**
 * Explains an error in code of any form.
 * @param {import('./execution.js').Outcome} outcome
 * @param {string} code
 * @param {boolean} typescript whether the option is set
 */
const explained = (outcome, code, typescript) => namingFence(namingOption(withoutOurs(outcome, code), code, typescript), code);

module.exports = { explained, namingOption };
