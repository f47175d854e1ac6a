'use strict';
// What the text that an AI wrote is meant to be: a function, statements, or one expression.

const FENCE = /^```(?:js|javascript|ts|typescript)?[^\S\n]*\n([\s\S]*?)\n?[^\S\n]*```$/i;
const STATEMENT = /^(?:const|let|var|for|while|if|try|switch|return|throw|class|function)\b/;
const FUNCTION_START = /^(?:async\b|function\b|\(|[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*\s*=>)/u;
const LEADING_COMMENTS = /^(?:\s+|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;
const TRAILING_SEMICOLONS = /[;\s]+$/;

/**
 * Code to run, as the body of a function.
 * @typedef {object} Body
 * @property {string} text
 * @property {number} prefix characters before the user's own, so that errors name the user's positions
 */

/**
 * The code without blanks around it and without a Markdown fence.
 * @param {string} code
 * @returns {string}
 */
function strip(code) {
  const trimmed = code.trim();
  const fenced = FENCE.exec(trimmed);
  return fenced === null ? trimmed : fenced[1].trim();
}

/**
 * Makes an async arrow function of what an AI wrote: blanks and a Markdown fence are taken off; code that starts with
 * `async (` stays as it is; statements become its body, anything else what it returns.
 * @param {string} code
 * @returns {string}
 */
function normalizeCode(code) {
  const bare = strip(code);
  if (bare.startsWith('async (')) {
    return bare;
  }
  return STATEMENT.test(bare) ? `async () => { ${bare} }` : `async () => { return ${bare} }`;
}

/**
 * What calls the normalized code.
 * @param {string} code
 * @returns {Body}
 */
function normalBody(code) {
  const normalized = normalizeCode(code);
  return { text: `return (${normalized}\n)()`, prefix: 'return ('.length + normalized.indexOf(strip(code)) };
}

/**
 * Code that may be one function expression as a whole, as a body that evaluates to the promise of it; undefined for all
 * other code. Whether it is an expression at all shows when it is compiled.
 * @param {string} code
 * @returns {Body | undefined}
 */
function functionBody(code) {
  const bare = strip(code).replace(TRAILING_SEMICOLONS, '');
  if (!FUNCTION_START.test(bare.replace(LEADING_COMMENTS, ''))) {
    return undefined;
  }
  const start = 'return (async () => (';
  return { text: `${start}${bare}\n))()`, prefix: start.length };
}

module.exports = { functionBody, normalBody, normalizeCode };
