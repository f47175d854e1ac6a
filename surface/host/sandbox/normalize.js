'use strict';
// Determines what AI-written text is meant to be: a function, statements, or one expression.

const { FILE } = require('./failure.js');
const { endPosition } = require('./lines.js');
const { wrong } = require('./options.js');

const FENCE = '```';
const LANGUAGES = Object.freeze(['', 'js', 'javascript', 'ts', 'typescript']);
const STATEMENT = /^(?:const|let|var|for|while|if|try|switch|return|throw|class|function)\b/;
/** Other starts of statements in TypeScript. */
const DECLARATION = /^(?:interface|type|enum|declare|namespace|abstract)\s+[\p{ID_Start}$_]/u;
/** An arrow function's parameters, or, captured, the `function` keyword. */
const FUNCTION_START = /^(?:(?:async\s+)?(function)\b|async\b|\(|[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*\s*=>)/u;
const VISIBLE = /\S|$/g;
/** All characters between these are visible. */
const SPACE = 0x20;
const DELETE = 0x7f;

/**
 * Code to run, as the body of a function or as a module.
 * @typedef {object} Body
 * @property {string} text
 * @property {number} line of its first character as the user counts, from 0
 * @property {number} column of its first character, less than 0 if characters precede the user's own
 * @property {string} [name] of a module
 * @property {string} [script] the name of a script, which is not a function body
 */

/**
 * The remaining part of a user's text, and its position there.
 * @typedef {object} Piece
 * @property {string} text
 * @property {number} line from 0
 * @property {number} column from 0
 */

/**
 * The code without blanks around it and without a Markdown fence. The text is untrusted: every regular expression here must take at
 * most linear time.
 * @param {string} code
 * @returns {string}
 */
function strip(code) {
  const trimmed = code.trim();
  return languageOf(trimmed) === undefined ? trimmed : trimmed.slice(trimmed.indexOf('\n'), -FENCE.length).trim();
}

/**
 * The fence's language, in lower case; undefined if there is no fence, or its language is unknown.
 * @param {string} trimmed
 */
function languageOf(trimmed) {
  const line = trimmed.indexOf('\n');
  if (line === -1 || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE)) {
    return undefined;
  }
  const language = trimmed.slice(FENCE.length, line).trim().toLowerCase();
  return LANGUAGES.includes(language) ? language : undefined;
}

/**
 * Whether the fence says that it is TypeScript.
 * @param {string} code
 */
const isTypeScript = (code) => languageOf(code.trim())?.startsWith('t') === true;

/**
 * The position of a part in a text, with lines as V8 counts them.
 * @param {string} whole
 * @param {string} part
 * @returns {Piece}
 */
function place(whole, part) {
  // The fence's language may occur in the code, too, so the search starts after it.
  const trimmed = whole.trimStart();
  const from = whole.length - trimmed.length + (languageOf(trimmed.trimEnd()) === undefined ? 0 : trimmed.indexOf('\n'));
  return { text: part, ...endPosition(whole.slice(0, Math.max(whole.indexOf(part, from), 0))) };
}

/**
 * Where the code ends, as the user counts.
 * @param {string} code
 * @returns {{ line: number, column: number }} of the character after it, from 1
 */
function endOf(code) {
  const { text, line, column } = place(code, strip(code));
  const end = endPosition(text);
  return { line: line + end.line + 1, column: end.column + (end.line === 0 ? column : 0) + 1 };
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
 * The code from its first token on. One regular expression for all comments would need a stack as deep as the number of comments.
 * @param {string} code
 * @returns {string}
 */
function withoutComments(code) {
  let from = 0;
  for (;;) {
    const first = code.charCodeAt(from);
    if (!(first > SPACE && first < DELETE)) {
      VISIBLE.lastIndex = from;
      from = /** @type {RegExpExecArray} */ (VISIBLE.exec(code)).index;
    }
    const isLine = code.startsWith('//', from);
    const end = isLine ? code.indexOf('\n', from) : code.startsWith('/*', from) ? code.indexOf('*/', from + 2) : -1;
    if (end < 0) {
      return isLine ? '' : code.slice(from);
    }
    from = isLine ? end + 1 : end + 2;
  }
}

/**
 * Converts AI-written code to an async arrow function. Blanks and a Markdown fence are removed. Code that starts with `async (` stays as
 * it is. Statements become the function's body, and anything else becomes its return value.
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
 * @param {string} end separates the code from the brace after it
 * @param {boolean} [typed] whether it is TypeScript
 */
function wrap(bare, end, typed = false) {
  if (bare.startsWith('async (')) {
    return bare;
  }
  return STATEMENT.test(bare) || (typed && DECLARATION.test(bare)) ? `async () => { ${bare}${end}}` : `async () => { return ${bare}${end}}`;
}

/**
 * A body that calls the normalized code. One difference: a line break ends a comment at the end of the code.
 * @param {string} code
 * @param {boolean} typed whether it is TypeScript
 * @returns {Body}
 */
function normalBody(code, typed) {
  const { text: bare, line, column } = place(code, strip(code));
  const wrapped = wrap(bare, '\n', typed);
  const before = wrapped === bare ? 0 : wrapped.length - bare.length - '\n}'.length;
  return { text: `return (${wrapped}\n)()`, line, column: column - 'return ('.length - before };
}

/** Text before the user's own in a module in which `globalThis` is shadowed. */
const SHADOW = 'var globalThis; ';

/**
 * The code as a module.
 * @param {string} code
 * @returns {Body}
 */
const mainModule = (code) => ({ ...place(code, strip(code)), name: FILE });

/**
 * The same without `globalThis`.
 * @param {Body} main
 * @returns {Body}
 */
const shadowed = ({ text, line, column, name }) => ({ text: SHADOW + text, line, column: column - SHADOW.length, name });

/**
 * @typedef {object} Form
 * @property {Body} code
 * @property {string} guard
 * @property {boolean} hasKeyword
 */

const BEFORE = 'return (async () => (';
const AFTER = '\n))()';

/**
 * A body that evaluates to a promise for a function, for code that may be one function expression as a whole; undefined for all other
 * code. The guard compiles if the code is not one: an arrow function cannot be an operand, and a function cannot be assigned to.
 * @param {string} code
 * @returns {Form | undefined}
 */
function functionForm(code) {
  const piece = place(code, withoutSemicolons(strip(code)));
  const start = FUNCTION_START.exec(withoutComments(piece.text));
  return start === null ? undefined : form(piece, start[1] !== undefined);
}

/**
 * @param {Piece} piece
 * @param {boolean} hasKeyword
 * @returns {Form}
 */
function form({ text, line, column }, hasKeyword) {
  const guard = hasKeyword ? `return (${text}\n= 0)` : `return (0 + ${text}\n)`;
  return { code: { text: BEFORE + text + AFTER, line, column: column - BEFORE.length }, guard, hasKeyword };
}

/**
 * The same with another body, which differs only between `BEFORE` and `AFTER`.
 * @param {Form} before
 * @param {Body} body
 */
const refilled = ({ hasKeyword }, { text, line, column }) =>
  form({ text: text.slice(BEFORE.length, -AFTER.length), line, column: column + BEFORE.length }, hasKeyword);

module.exports = { endOf, functionForm, isTypeScript, mainModule, normalBody, normalizeCode, refilled, shadowed };
