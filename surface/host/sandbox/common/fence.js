'use strict';
// Finds the code in a text that a model wrote: the contents of a Markdown fence, or the whole text. The text is untrusted, so everything here
// takes at most linear time.

/** Languages of fences, and whether they are TypeScript. */
const LANGUAGES = new Map(Object.entries({
  '': false, js: false, javascript: false, mjs: false, cjs: false, node: false, jsx: false, ts: true, typescript: true, mts: true, cts: true, tsx: true,
}));
/** Only texts of letters are looked up: Deno's engine takes long for those that look like array indices, since their hashes are not seeded. */
const LETTERS = /^[a-z]*$/;
const MIN_RUN = 3;
const MAX_INDENT = 3;
const SPACE = 0x20;
const BACKTICK = '`';
/** The longest language, with room for text after it. */
const MAX_INFO = 100;
const WORD = /^[\w+#-]*/;

/**
 * Code in a text.
 * @typedef {object} Found
 * @property {string} code without white space around it
 * @property {number} start its position
 * @property {boolean} isTypeScript whether the fence names TypeScript
 */

/**
 * A line that starts with the characters of a fence.
 * @typedef {object} Fence
 * @property {number} start
 * @property {number} content the position after the fence's characters
 * @property {number} end the position of the line's end
 * @property {string} mark its character
 * @property {number} run the number of its characters
 * @property {string} info what follows, at most `MAX_INFO` characters
 */

/** @param {string} language */
const isKnown = (language) => LETTERS.test(language) && LANGUAGES.has(language);

/** @param {string} info */
const languageOf = (info) => (/** @type {RegExpExecArray} */ (WORD.exec(info)))[0].toLowerCase();

/**
 * @param {string} text
 * @param {number} from
 * @param {string} mark
 */
function runLength(text, from, mark) {
  let end = from;
  while (text[end] === mark) {
    end += 1;
  }
  return end - from;
}

/**
 * The next run of at least `least` of a fence's characters. Engines take quadratic time to search a text for many equal characters.
 * @param {string} text
 * @param {number} from
 * @param {string} mark
 * @param {number} least
 * @returns {number} its position, -1 if there is none
 */
function nextRun(text, from, mark, least) {
  for (let at = text.indexOf(mark, from); at >= 0;) {
    const run = runLength(text, at, mark);
    if (run >= least) {
      return at;
    }
    at = text.indexOf(mark, at + run);
  }
  return -1;
}

/**
 * The next line at or after the line that starts at `from` that starts with a fence's characters.
 * @param {string} text
 * @param {number} from
 * @returns {Fence | undefined}
 */
function nextFence(text, from) {
  for (let start = from; start < text.length;) {
    const next = text.indexOf('\n', start);
    const end = next < 0 ? text.length : next;
    let at = start;
    while (at < start + MAX_INDENT && text.charCodeAt(at) === SPACE) {
      at += 1;
    }
    const mark = text[at];
    if (mark === BACKTICK || mark === '~') {
      const run = runLength(text, at, mark);
      const content = at + run;
      const info = text.slice(content, Math.min(end, content + MAX_INFO)).trim();
      // A line of JavaScript may start with `~`.
      if (run >= MIN_RUN && (mark === BACKTICK || isKnown(info.toLowerCase()))) {
        return { start, content, end, mark, run, info };
      }
    }
    start = end + 1;
  }
  return undefined;
}

/**
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {boolean} isTypeScript
 * @returns {Found}
 */
function part(text, from, to, isTypeScript) {
  const whole = text.slice(from, to);
  const code = whole.trimStart();
  return { code: code.trimEnd(), start: from + whole.length - code.length, isTypeScript };
}

/**
 * The code of a fence on one line, such as ```` ```js f()``` ````; undefined if it is not one.
 * @param {string} text
 * @param {Fence} fence
 * @returns {Found | undefined}
 */
function onOneLine(text, { content, end, mark, run, info }) {
  const line = text.slice(content, end).trimEnd();
  const close = mark.repeat(run);
  if (!line.endsWith(close)) {
    return undefined;
  }
  const to = content + line.length - run;
  const language = languageOf(info);
  const hasLanguage = language !== '' && isKnown(language) && text[content + language.length] === ' ';
  return part(text, hasLanguage ? content + language.length : content, to, hasLanguage && LANGUAGES.get(language) === true);
}

/** What precedes `/*` in patterns such as `src/*.js`, `*\/*` and "`/*`", in text around code. */
const PATTERN = /[\w*./:"'`-]/;

/**
 * Whether a position is in a comment of JavaScript.
 * @param {string} text
 * @param {number} position
 */
function isInComment(text, position) {
  let open = text.lastIndexOf('/*', position);
  while (open > 0 && PATTERN.test(text[open - 1])) {
    open = text.lastIndexOf('/*', open - 1);
  }
  return open > text.lastIndexOf('*/', position);
}

/**
 * Whether a position is in a template literal of JavaScript, in which a fence of `~` needs no escapes.
 * @param {string} text
 * @param {number} position
 */
function isInTemplate(text, position) {
  let isInside = false;
  for (let at = text.indexOf(BACKTICK); at >= 0 && at < position; at = text.indexOf(BACKTICK, at + 1)) {
    isInside = isInside !== (text[at - 1] !== '\\');
  }
  return isInside;
}

/**
 * Where code in a fence ends: at the fence's closing line, at its characters at the end of another line, or at the end of the text.
 * @param {string} text
 * @param {number} from the position of the code
 * @param {{ mark: string, run: number }} fence
 * @returns {{ at: number, line: Fence | undefined }} `line`: the closing line, if there is one
 */
function closeOf(text, from, { mark, run }) {
  let close = nextFence(text, from);
  while (close !== undefined && (close.mark !== mark || close.run < run || close.info !== '')) {
    close = nextFence(text, close.end + 1);
  }
  if (close !== undefined) {
    return { at: close.start, line: close };
  }
  for (let at = nextRun(text, from, mark, run); at >= 0;) {
    const after = at + runLength(text, at, mark);
    const end = text.indexOf('\n', after);
    if (text.slice(after, end < 0 ? text.length : end).trim() === '') {
      return { at, line: undefined };
    }
    at = end < 0 ? -1 : nextRun(text, end, mark, run);
  }
  return { at: text.length, line: undefined };
}

/** What precedes a fence in a sentence. @type {RegExp | undefined} */
let prose;

/**
 * Whether a text may precede a fence in a sentence. A fence in a string or a comment of JavaScript has other characters before it.
 * @param {string} text
 */
function isProse(text) {
  // V8 takes a millisecond to find the letters of all languages, also when it only reads a file with such an expression.
  prose ??= new RegExp(String.raw`^(?:[\p{L}\p{N}\s,.:!?*-]|(?<=\p{L})['\u2019](?=\p{L}))*$`, 'u');
  return prose.test(text);
}

const MAX_PROSE = 1_000;

/**
 * The code of the text's first backticks, if they are a fence that begins within a line of text, such as "Run ```js f()``` now".
 * @param {string} text
 * @returns {Found | undefined}
 */
function withinLine(text) {
  const at = text.indexOf(BACKTICK.repeat(MIN_RUN));
  const before = text.lastIndexOf('\n', at) + 1;
  if (at < 0 || at - before > MAX_PROSE || !isProse(text.slice(before, at)) || isInComment(text, at)) {
    return undefined;
  }
  const run = runLength(text, at, BACKTICK);
  const content = at + run;
  const next = text.indexOf('\n', content);
  const end = next < 0 ? text.length : next;
  const info = text.slice(content, Math.min(end, content + MAX_INFO)).trim();
  const language = languageOf(info);
  if (!isKnown(language)) {
    return undefined;
  }
  const isTypeScript = LANGUAGES.get(language) === true;
  if (info.length === language.length) {
    // `nextFence` finds those at the start of a line.
    return next < 0 || text.slice(before, at).trim() === '' ? undefined : part(text, end, closeOf(text, end + 1, { mark: BACKTICK, run }).at, isTypeScript);
  }
  const close = nextRun(text, content, BACKTICK, run);
  return language === '' || close < 0 || close > end ? undefined : part(text, content + language.length, close, isTypeScript);
}

/**
 * The code in a text: the first fence with a known language, or one without a language. A fence that is not closed ends with the text, and
 * one that is not opened, at the text's end, starts with it. All of the text, without white space around it, if there is no such fence.
 * @param {string} text
 * @returns {Found}
 */
function findCode(text) {
  /** @type {Found | undefined} */
  let unnamed;
  let isFirst = true;
  for (let fence = nextFence(text, 0); fence !== undefined; isFirst = false) {
    const { mark, info, start, end } = fence;
    const single = onOneLine(text, fence);
    if (single !== undefined) {
      return single;
    }
    const { at: closes, line: close } = closeOf(text, end + 1, fence);
    const language = languageOf(info);
    const isOpening = mark !== BACKTICK || !info.includes(BACKTICK);
    const isInCode = isFirst && (isInComment(text, start) || (mark !== BACKTICK && isInTemplate(text, start)));
    if (isInCode || (isFirst && close === undefined && info === '' && text.slice(0, start).trim() !== '')) {
      const isAtEnd = text.slice(end).trim() === '';
      return (isInCode ? undefined : withinLine(text)) ?? part(text, 0, isAtEnd ? start : text.length, false);
    }
    if (isOpening && isKnown(language)) {
      const found = part(text, end, closes, LANGUAGES.get(language) === true);
      if (language !== '') {
        return found;
      }
      unnamed ??= found;
    }
    fence = close === undefined ? undefined : nextFence(text, close.end + 1);
  }
  return unnamed ?? withinLine(text) ?? part(text, 0, text.length, false);
}

module.exports = { findCode };
