'use strict';
// Determines what AI-written text is meant to be: a function, statements, or one expression.

const { FILE } = require('./failure.js');
const { findCode } = require('./fence.js');
const { endPosition, nextLine } = require('./lines.js');
const { wrong } = require('./options.js');

const STATEMENT = /^(?:const|let|var|for|while|if|try|switch|return|throw|class|function)\b/;
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
 * The position of code in a text, with lines as V8 counts them.
 * @param {string} whole
 * @param {string} code
 * @param {number} start
 * @returns {Piece}
 */
const place = (whole, code, start) => ({ text: code, ...endPosition(whole.slice(0, start)) });

/**
 * The code in a user's text.
 * @param {string} text
 * @returns {Piece & { isTypeScript: boolean }} `isTypeScript`: whether a fence names TypeScript
 */
function pieceOf(text) {
  const { code, start, isTypeScript } = findCode(text);
  return { ...place(text, code, start), isTypeScript };
}

/**
 * Where the code ends, as the user counts.
 * @param {string} code
 * @returns {{ line: number, column: number }} of the character after it, from 1
 */
function endOf(code) {
  const { text, line, column } = pieceOf(code);
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
    if (code.startsWith('//', from)) {
      from = nextLine(code, from);
      if (from === 0) {
        return '';
      }
      continue;
    }
    const end = code.startsWith('/*', from) ? code.indexOf('*/', from + 2) : -1;
    if (end < 0) {
      return code.slice(from);
    }
    from = end + 2;
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
  const { code: bare } = findCode(code);
  if (bare.startsWith('async (')) {
    return bare;
  }
  return STATEMENT.test(bare) ? `async () => { ${bare} }` : `async () => { return ${bare} }`;
}

/**
 * @param {Piece} piece
 * @param {string} before
 * @param {string} after
 * @returns {Body}
 */
const between = ({ text, line, column }, before, after) => ({ text: before + text + after, line, column: column - before.length });

/** A line break ends a comment at the end of the code. */
const STATEMENTS = Object.freeze(['return (async () => { ', '\n})()']);
const EXPRESSION = Object.freeze(['return (async () => { return (', '\n) })()']);
const OPERAND = Object.freeze(['return (async () => { return ', '\n})()']);
const FUNCTION = Object.freeze(['return (async () => (', '\n))()']);

/**
 * The code as statements.
 * @param {Piece} piece
 * @returns {Body}
 */
const statementsOf = (piece) => between(piece, STATEMENTS[0], STATEMENTS[1]);

/** Text before the user's own in a module in which `globalThis` is shadowed. */
const SHADOW = 'var globalThis; ';

/**
 * The code as a module.
 * @param {Piece} piece
 * @returns {Body}
 */
const mainModule = ({ text, line, column }) => ({ text, line, column, name: FILE });

/**
 * The same without `globalThis`.
 * @param {Body} main
 * @returns {Body}
 */
const shadowed = ({ text, line, column, name }) => ({ text: SHADOW + text, line, column: column - SHADOW.length, name });

/**
 * A way to run code, if it is what V8 compiles and the guard says. All of them return a promise.
 * @typedef {object} Form
 * @property {Body} code
 * @property {string} [guard] compiles only if the code is not in this form or, with `needsGuard`, only if it is
 * @property {boolean} needsGuard
 * @property {boolean} isFunction whether the code is a function, which is called
 */

/**
 * The ways to run code before it is run as statements: as one function, then as one expression. Only V8 can say what code is, so it tries
 * them in this order.
 * @param {Piece} piece
 * @returns {Form[]}
 */
function formsOf(piece) {
  const { text } = piece;
  const start = text.length - withoutComments(text).length;
  const code = place(text, withoutSemicolons(text.slice(start)), start);
  code.column += code.line === 0 ? piece.column : 0;
  code.line += piece.line;
  return [...functionForms(code), ...expressionForms(code, text.slice(start))];
}

/**
 * An arrow function cannot be an operand, and a function cannot be assigned to.
 * @param {Piece} code
 * @returns {Form[]}
 */
function functionForms(code) {
  const start = FUNCTION_START.exec(code.text);
  if (start === null) {
    return [];
  }
  const guard = start[1] === undefined ? `return (0 + ${code.text}\n)` : `return (${code.text}\n= 0)`;
  return [{ code: between(code, FUNCTION[0], FUNCTION[1]), guard, needsGuard: false, isFunction: true }];
}

/**
 * An expression fits between parentheses. If a semicolon and a comment are at its end, it does not, but the only statement of an `if` fits
 * before `else`.
 * @param {Piece} code
 * @param {string} whole the same with what is at its end
 * @returns {Form[]}
 */
function expressionForms(code, whole) {
  if (code.text === '' || STATEMENT.test(code.text)) {
    return [];
  }
  const all = { ...code, text: whole };
  const guard = `return async () => { if (0) ${whole}\nelse; }`;
  return [
    { code: between(code, EXPRESSION[0], EXPRESSION[1]), needsGuard: false, isFunction: false },
    { code: between(all, OPERAND[0], OPERAND[1]), guard, needsGuard: true, isFunction: false },
  ];
}

/**
 * The code as one expression.
 * @param {Piece} piece
 * @returns {Body}
 */
const expressionOf = (piece) => between({ ...piece, text: withoutSemicolons(piece.text) }, EXPRESSION[0], EXPRESSION[1]);

/**
 * @param {Body} body
 * @param {readonly string[]} added
 * @returns {Piece}
 */
const without = ({ text, line, column }, [before, after]) => ({ text: text.slice(before.length, -after.length), line, column: column + before.length });

/** The code in a body that `statementsOf` has made. @param {Body} body */
const codeOfStatements = (body) => without(body, STATEMENTS);

/** The code in a body that `expressionOf` has made. @param {Body} body */
const codeOfExpression = (body) => without(body, EXPRESSION);

/** A type annotation, or a declaration of a type. */
const TYPED = /\b(?:const|let|var)\s+[\w$]+\s*[:!]|[(,]\s*[\w$]+\??\s*:\s*[\w$<[{('"]|\)\s*:\s*[\w$<[{(]|^\s*(?:export\s+)?(?:interface|type|enum|declare|abstract)\s+[\w$]|\b(?:as|satisfies)\s+[\w$<[{('"]/;

/**
 * Whether a line where V8 found a syntax error looks like TypeScript.
 * @param {string} line
 */
const looksTyped = (line) => TYPED.test(line);

module.exports = {
  codeOfExpression, codeOfStatements, endOf, expressionOf, formsOf, looksTyped, mainModule, normalizeCode, pieceOf, shadowed, statementsOf,
};
