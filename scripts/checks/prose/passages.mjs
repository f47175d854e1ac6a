// The prose of a file: comments and messages of sources, names of tests, and Markdown without its code. And the names in its code.

/** Replaces a character that is not prose. It is no space, so no phrase of several words matches across it. */
const MASK = '\0';
const mask = (text) => text.replaceAll(/[^\n]/g, MASK);
/** For marks that separate lines of one passage: a phrase may continue after them. */
const blank = (text) => ' '.repeat(text.length);

const INLINE_CODE = /``[^`](?:.*?[^`])?``|`[^`\n]*`/g;
/** Targets of links, HTML comments and tags, and URLs. */
const TARGETS = /<!--.*?-->|\]\([^)\s]*\)|\]: \S+|<\/?[a-z][^>\n]*>|\bhttps?:\/\/[^\s)>\]]+/g;
/** The type and the name after a tag of JSDoc. */
const TYPES = /@[a-z]+[ \t]+\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})*\}(?:[ \t]+\[?[\w.$]+)?/g;
const withoutCode = (text) => [TYPES, INLINE_CODE, TARGETS].reduce((rest, code) => rest.replaceAll(code, mask), text);

const FENCE = /^([ \t]*(?:> ?)?)(`{3,}|~{3,})/;

/** Markdown without blocks of code. */
function ofMarkdown(text) {
  let fence;
  return text.split('\n').map((line) => {
    const [, , mark] = FENCE.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      return mask(line);
    }
    fence = mark;
    return mark === undefined ? withoutCode(line) : mask(line);
  }).join('\n');
}

/** A comment that begins in a line: its mark, and what precedes it. */
const SLASHES = /^(?<before>.*?)(?<mark>(?<![^\s({[;,])(?:\/\/[/!]?|\/\*\*?)(?=\s|$))/;
const HASH = /^(?<before>.*?)(?<mark>(?<!\S)#+(?=\s|$))/;
const END = /\*\//;
const TEST_NAME = /\b(?:test|describe|it)\((?<quote>['"`])(?<name>(?:\\.|(?!\k<quote>)[^\\\n])*)\k<quote>/g;

/** The names of tests in a line of code. */
function namesIn(code) {
  let shown = mask(code);
  for (const { index, 0: { length }, groups: { name } } of code.matchAll(TEST_NAME)) {
    const start = index + length - 1 - name.length;
    shown = shown.slice(0, start) + name.replaceAll(/\$\{[^}]*\}/g, mask) + shown.slice(start + name.length);
  }
  return shown;
}

/** A string of several words. */
const MESSAGE = /(?<quote>['"`])(?<text>(?:\\.|(?!\k<quote>)[^\\\n])*\w (?:\\.|(?!\k<quote>)[^\\\n])*)\k<quote>/g;

/** The messages in a line of code. */
function messagesIn(code) {
  let shown = mask(code);
  for (const { index, groups: { text } } of code.matchAll(MESSAGE)) {
    const start = index + 1;
    shown = shown.slice(0, start) + text.replaceAll(/\$?\{[^}]*\}/g, mask) + shown.slice(start + text.length);
  }
  return shown;
}

/** Comments of a source, and what `ofCode` finds in code. Strings are not read, so a mark of a comment in a string counts as one. */
function ofSource(text, comment, ofCode) {
  let inBlock = false;
  return text.split('\n').map((line) => {
    const { before, mark } = inBlock ? { before: '', mark: /^\s*\*?(?!\/)/.exec(line)?.[0] ?? '' } : comment.exec(line)?.groups ?? {};
    if (mark === undefined) return ofCode(line);
    const rest = line.slice(before.length + mark.length);
    const isBlock = inBlock || mark.startsWith('/*');
    const end = isBlock ? END.exec(rest)?.index ?? -1 : -1;
    inBlock = isBlock && end < 0;
    // A comment after code begins a passage.
    const marked = before.trim() === '' ? blank(before + mark) : ofCode(before) + mask(mark);
    return end < 0 ? marked + rest : marked + rest.slice(0, end) + mask(rest.slice(end));
  }).join('\n');
}

/** Sources whose names are checked. */
const CODE = /\.(?:[cm]?[jt]s|rs)$/;
const NAME = /[A-Za-z_]\w*/g;
const STRING = /'[^'\n]*'|"[^"\n]*"/g;

const KINDS = [
  [/\.md$/, ofMarkdown],
  [/\.test\.mjs$|^__test__\/.*\.mjs$/, (text) => withoutCode(ofSource(text, SLASHES, namesIn))],
  [/^(?:__test__|fuzz|examples|bench)\/.*\.(?:[cm]?[jt]s|rs)$/, (text) => withoutCode(ofSource(text, SLASHES, mask))],
  [CODE, (text) => withoutCode(ofSource(text, SLASHES, messagesIn))],
  [/\.(?:toml|ya?ml)$/, (text) => withoutCode(ofSource(text, HASH, mask))],
];

/**
 * @param {string} path
 * @param {string} text
 * @returns {{ line: number, text: string }[]} the names in the code of a file, and that of the file
 */
export function namesOf(path, text) {
  const prose = CODE.test(path) ? ofSource(text, SLASHES, mask) : undefined;
  const code = prose === undefined ? '' : [...text].map((char, at) => (char === '\n' || prose[at] === MASK ? char : ' ')).join('');
  const names = code.replaceAll(STRING, mask).split('\n')
    .flatMap((line, index) => [...new Set(line.match(NAME) ?? [])].map((name) => ({ line: index + 1, text: name })));
  return [{ line: 1, text: path }, ...names];
}

/**
 * @param {string} path
 * @param {string} text
 * @returns {string | undefined} as long as `text`, with the same line breaks; `undefined` if such files contain no prose
 */
export function proseOf(path, text) {
  return KINDS.find(([pattern]) => pattern.test(path))?.[1](text);
}
