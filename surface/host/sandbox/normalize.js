'use strict';
// What the text that an AI wrote is meant to be: a function, statements, or one expression.

const { wrong } = require('./options.js');

const FENCE = '```';
const LANGUAGES = Object.freeze(['', 'js', 'javascript', 'ts', 'typescript']);
const STATEMENT = /^(?:const|let|var|for|while|if|try|switch|return|throw|class|function)\b/;
/** An arrow function's parameters, or, captured, the `function` keyword. */
const FUNCTION_START = /^(?:(?:async\s+)?(function)\b|async\b|\(|[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*\s*=>)/u;
const LEADING_COMMENTS = /^(?:\s+|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

/**
 * Code to run, as the body of a function.
 * @typedef {object} Body
 * @property {string} text
 * @property {number} prefix characters before the user's own, so that errors name the user's positions
 */

/**
 * The code without blanks around it and without a Markdown fence. The text is nobody's whom we trust: no expression here may
 * take longer than its length.
 * @param {string} code
 * @returns {string}
 */
function strip(code) {
  const trimmed = code.trim();
  const line = trimmed.indexOf('\n');
  if (line === -1 || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE)) {
    return trimmed;
  }
  const language = trimmed.slice(FENCE.length, line).trim().toLowerCase();
  return LANGUAGES.includes(language) ? trimmed.slice(line, -FENCE.length).trim() : trimmed;
}

/**
 * @param {string} code
 * @returns {string}
 */
function withoutSemicolons(code) {
  let end = code.length;
  while (end > 0 && (code[end - 1] === ';' || code[end - 1].trim() === '')) {
    end -= 1;
  }
  return code.slice(0, end);
}

/**
 * Makes an async arrow function of what an AI wrote: blanks and a Markdown fence are taken off; code that starts with
 * `async (` stays as it is; statements become its body, anything else what it returns.
 * @param {string} code
 * @returns {string}
 */
function normalizeCode(code) {
  if (typeof code !== 'string') {
    throw wrong('code', 'a string');
  }
  return wrap(strip(code), ' ');
}

/**
 * @param {string} bare
 * @param {string} end what separates the code from the brace after it
 */
function wrap(bare, end) {
  if (bare.startsWith('async (')) {
    return bare;
  }
  return STATEMENT.test(bare) ? `async () => { ${bare}${end}}` : `async () => { return ${bare}${end}}`;
}

/**
 * What calls the normalized code. It differs in one thing: a comment at the end of the code ends there.
 * @param {string} code
 * @returns {Body}
 */
function normalBody(code) {
  const bare = strip(code);
  const wrapped = wrap(bare, '\n');
  return { text: `return (${wrapped}\n)()`, prefix: 'return ('.length + wrapped.indexOf(bare) };
}

/**
 * Code that may be one function expression as a whole, as a body that evaluates to a promise of the function; undefined for
 * all other code. The guard compiles where it is not one: no arrow function is an operand, and no function can be assigned to.
 * @param {string} code
 * @returns {{ code: Body, guard: string } | undefined}
 */
function functionForm(code) {
  const bare = withoutSemicolons(strip(code));
  const start = FUNCTION_START.exec(bare.replace(LEADING_COMMENTS, ''));
  if (start === null) {
    return undefined;
  }
  const guard = start[1] === undefined ? `return (0 + ${bare}\n)` : `return (${bare}\n= 0)`;
  const before = 'return (async () => (';
  return { code: { text: `${before}${bare}\n))()`, prefix: before.length }, guard };
}

module.exports = { functionForm, normalBody, normalizeCode };
