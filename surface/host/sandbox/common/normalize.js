'use strict';
// The forms that code of a model may have: a function, one expression, or statements.

const { MAIN_FILE: FILE } = require('../../protocol.js');
const { findCode } = require('./fence.js');
const { endPosition, nextLine } = require('./lines.js');

const STATEMENT = /^(?:const|let|var|for|while|if|try|switch|return|throw|class|function)(?![\w$])/;
/** An arrow function's parameters, or, captured, the `function` keyword. */
const FUNCTION_START = /^(?:(?:async\s+)?(function)(?![\w$])|async\b|\(|[a-zA-Z$_][\w$]*\s*=>)/;
const BEYOND_ASCII = /[^\0-\x7f]/;
/** @type {{ statement: RegExp, functionStart: RegExp } | undefined} */
let wide;
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
 * Where code ends without the blanks and semicolons at its end.
 * @param {string} code
 * @param {number} [end]
 */
function endWithoutSemicolons(code, end = code.length) {
  let last = end;
  while (last > 0 && (code[last - 1] === ';' || code[last - 1].trim() === '')) {
    last -= 1;
  }
  return last;
}

/** @param {string} code */
const withoutSemicolons = (code) => code.slice(0, endWithoutSemicolons(code));

/**
 * The same without what may be comments at its end. What is left compiles only if those are comments.
 * @param {string} code
 */
function withoutEnd(code) {
  let end = code.length;
  // Where the last comment begins.
  let open = code.length;
  for (;;) {
    end = endWithoutSemicolons(code, end);
    let start = -1;
    if (code.slice(Math.max(end - 2, 0), end) === '*/') {
      open = open > end - 2 ? code.lastIndexOf('/*', end - 2) : open;
      start = open;
    }
    if (start < 0) {
      const line = code.slice(code.lastIndexOf('\n', end - 1) + 1, end);
      const comment = line.indexOf('//');
      start = comment < 0 ? -1 : end - line.length + comment;
    }
    if (start < 0 || end === 0) {
      return code.slice(0, end);
    }
    end = start;
  }
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
 * The same for code with letters of other languages. They are made when they are needed: V8 takes a millisecond to find those letters, also
 * when it only reads a file with such an expression.
 */
function wideForms() {
  const part = String.raw`[\p{ID_Continue}$\u200c\u200d]`;
  const extended = (/** @type {RegExp} */ { source }) => new RegExp(source.replaceAll(String.raw`[\w$]`, part).replace('[a-zA-Z$_]', String.raw`[\p{ID_Start}$_]`), 'u');
  return { statement: extended(STATEMENT), functionStart: extended(FUNCTION_START) };
}

/** @param {string} code */
function formsFor(code) {
  if (!BEYOND_ASCII.test(code)) return { statement: STATEMENT, functionStart: FUNCTION_START };
  return (wide ??= wideForms());
}

/** @param {string} code */
const isStatement = (code) => formsFor(code).statement.test(code);

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
  const start = formsFor(code.text).functionStart.exec(code.text);
  if (start === null) {
    return [];
  }
  const bare = withoutEnd(code.text);
  return (bare === code.text ? [bare] : [code.text, bare]).map((text) => ({
    code: between({ ...code, text }, FUNCTION[0], FUNCTION[1]),
    guard: start[1] === undefined ? `return (0 + ${text}\n)` : `return (${text}\n= 0)`,
    needsGuard: false,
    isFunction: true,
  }));
}

/**
 * An expression fits between parentheses. If a semicolon and a comment are at its end, it does not, but the only statement of an `if` fits
 * before `else`.
 * @param {Piece} code
 * @param {string} whole the same with what is at its end
 * @returns {Form[]}
 */
function expressionForms(code, whole) {
  if (code.text === '' || isStatement(code.text)) {
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
 * The code as the text of an async arrow function.
 * @param {string} text
 * @returns {Generator<string, string, boolean>} yields function bodies, and gets whether V8 compiles them
 */
function* arrowOf(text) {
  const { text: code } = pieceOf(text);
  const piece = { text: code, line: 0, column: 0 };
  for (const form of formsOf(piece)) {
    if ((yield form.code.text) && (form.guard === undefined || (yield form.guard) === form.needsGuard)) {
      return arrowOfForm(form);
    }
  }
  return (yield statementsOf(piece).text) ? `async () => { ${ended(code)} }` : arrowOfUnknown(code);
}

/** @param {Form} form */
function arrowOfForm(form) {
  if (form.isFunction) {
    const { text: called } = without(form.code, FUNCTION);
    return ASYNC_ARROW.test(called) ? called : `async () => (${ended(called)})()`;
  }
  const { text: value } = without(form.code, form.needsGuard ? OPERAND : EXPRESSION);
  return `async () => { return ${ended(value)} }`;
}

/**
 * The same for code that V8 does not compile. It may have types.
 * @param {string} code
 */
function arrowOfUnknown(code) {
  if (code.startsWith('async (')) {
    return code;
  }
  if (/^(?:async\s+)?function\b/.test(code) && code.endsWith('}')) {
    return `async () => (${code})()`;
  }
  const isExpression = !isStatement(code) && !/[;\n]/.test(code);
  return isExpression ? `async () => { return ${ended(code)} }` : `async () => { ${ended(code)} }`;
}

/** With a line break if there may be a comment at the end. @param {string} code */
const ended = (code) => (/\/\/|<!--|-->/.test(code) ? `${code}\n` : code);

const ASYNC_ARROW = /^async(?!\s*function\b)/;

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

/** What only TypeScript has: annotations, declarations of types, modifiers, type parameters, `!` after a value. */
const TYPED = new RegExp([
  /\b(?:const|let|var)\s+[\w$]+\s*[:!]/,
  /[(,]\s*[\w$]+\??\s*:\s*[\w$<[{('"]/,
  /\)\s*:\s*[\w$<[{(]/,
  /^\s*[\w$]+[?!]?\s*:\s*(?:string|number|boolean|bigint|symbol|unknown|any|void|never|object|Record|Map|Set|Array|Promise|Date)\b/,
  /^\s*(?:export\s+)?(?:interface|type|enum|declare|abstract|namespace)\s+[\w$]/,
  /^\s*import\s+type\s/,
  /\b(?:public|private|protected|readonly|override)\s+[\w$#[]/,
  /\b(?:as|satisfies)\s+[\w$<[{('"]/,
  /\b(?:function|class|interface|new)\s*[\w$.]*\s*<\s*[\w$[{]/,
  /[=(,]\s*<[\w$]+(?:\s+extends\b[^>]*|,[^>]*)?>\s*\(/,
  /\bimplements\s+[\w$]/,
  /[\w$)\]]!(?:[.;,)\]]|\s*$)/,
].map(({ source }) => source).join('|'));

/**
 * Whether a line where V8 found a syntax error looks like TypeScript.
 * @param {string} line
 */
const looksTyped = (line) => TYPED.test(line);

module.exports = {
  arrowOf, codeOfExpression, codeOfStatements, endOf, expressionOf, formsOf, looksTyped, mainModule, pieceOf, shadowed, statementsOf,
};
