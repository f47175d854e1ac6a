// The linter of prose: what it reads of a file, and what its word list finds there.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { namesOf, proseOf } from '../../../scripts/checks/prose/passages.mjs';
import { check, checkNames, readWords } from '../../../scripts/checks/prose/words.mjs';

/** The lines of the prose in a file, without what is not prose. */
const linesOf = (path, text) => proseOf(path, text).split('\n').map((line) => line.replaceAll(/\0+/g, ' ').replaceAll(/ +/g, ' ').trim());

describe('prose', () => {
  test('of Markdown: text without code, tags and targets of links', () => {
    assert.deepEqual(linesOf('docs/x.md', [
      '# A `title`', 'See [the page](other.md#part) and ``a ` b`` at https://example.org/x.', '```js', 'code(); // a comment', '```', '> ~~~~', '> code', '> ~~~~',
      '<img src="x">after', '[x]: other.md',
    ].join('\n')), ['# A', 'See [the page and at', '', '', '', '', '', '', 'after', '[x']);
  });

  test('of sources: comments and messages', () => {
    assert.deepEqual(linesOf('src/x.rs', [
      '//! About `it`.', 'let a = 1; // after code', '/// Of [`x`] a', '/* one', ' * two */ code', '/** three */', 'let url = "http://x"; a / b', '        // SAFETY: four', '//',
    ].join('\n')), ['About .', 'after code', 'Of [ ] a', 'one', 'two', 'three', '', 'SAFETY: four', '']);
    assert.deepEqual(linesOf('surface/x.js', [
      '/**', ' * Text', ' * @param {{ a: Map<string, { b: number }> }} name what it is', ' * @returns {number}', ' */', 'function f(/** @type {any} */ a) {', '',
    ].join('\n')), ['', 'Text', 'what it is', '', '', '', '']);
    assert.deepEqual(linesOf('surface/x.js', "fail(`it has ${n} parts`, 'name', \"it's one\"); // why"), ["it has parts it's one why"]);
    assert.deepEqual(linesOf('x.toml', '# A comment\nkey = "#1" # after\n'), ['A comment', 'after', '']);
  });

  test('of tests: their names as well', () => {
    assert.deepEqual(linesOf('__test__/x/y/z.test.mjs', [
      "test('runs `code` of a guest\\'s', async () => { // why", 'describe(`${name}: limits`, () => {', "  it(\"one\", f); it('two', g);", "const test = 'no';",
    ].join('\n')), ["runs of a guest\\'s why", ': limits', 'one two', '']);
  });

  test('no other file has any', () => {
    assert.equal(proseOf('package.json', '{ "a": "// b" }'), undefined);
  });

  test('has the length and the lines of its file', () => {
    const text = readFileSync(new URL(import.meta.url), 'utf8');
    const prose = proseOf('__test__/repo/prose/prose.test.mjs', text);
    assert.equal(prose.length, text.length);
    assert.deepEqual([...prose].map((c, at) => c === '\n' && at).filter(Boolean), [...text].map((c, at) => c === '\n' && at).filter(Boolean));
  });
});

describe('the word list', () => {
  const words = readWords('# a comment\n[turns]\nfor good => "permanently"\n(?:un)?told => "reported"\n[terms]\nJavascript => JavaScript\n');

  test('finds turns in any case, also across lines of a passage', () => {
    const text = '// It stops for\n// good. TOLD\nfor(); // good\nfor(good);\n';
    assert.deepEqual(check(proseOf('x.mjs', text), words), [
      { line: 1, found: 'for good', advice: '"permanently"' }, { line: 2, found: 'TOLD', advice: '"reported"' },
    ]);
  });

  test('finds terms in their case, and whole words only', () => {
    assert.deepEqual(check('Javascript, JavaScript, javascript, Javascripts, a-Javascript, retold', words), [{ line: 1, found: 'Javascript', advice: 'JavaScript' }]);
  });

  test('has advice for each line', () => {
    for (const wrong of ['for good => "permanently"', '[turns]\nfor good', '[turns]\na => b => c', '[other]\na => b']) assert.throws(() => readWords(wrong), /words\.txt/);
  });

  test('the one of the repository', () => {
    const own = readWords(readFileSync(new URL('../../../scripts/checks/prose/words.txt', import.meta.url), 'utf8'));
    const found = (text) => check(text, own).map((one) => one.found);
    assert.deepEqual(found('Nobody\n  is told of it; the isolate goes on. He who hears of\tit lets go'), ['Nobody', 'is told', 'goes on', 'He who', 'hears', 'lets go']);
    for (const turn of [
      'A guest that cannot be stopped does not hold its caller.',
      'Who wants something else makes it of isolates.',
      'The oldest makes room of those who have more of them than he.',
      'It takes no execution along.',
      'It ends after a second without a word.',
      'In callbacks of a FinalizationRegistry nobody acts.',
      'What a guest has set going by then is over.',
      'No caller hears of the result, nor of what the code throws.',
      'Objects that say themselves what their text is.',
      'It sets a timer in motion.',
      'The end takes the whole sandbox along.',
      'Somebody must release it.',
      'Its threads live on.',
      'Messages of at most so many bytes.',
      'A result is to be had at once.',
      'Whoever waits gives up.',
      'It merely counts.',
    ]) assert.notDeepEqual(found(turn), [], turn);
    assert.deepEqual(found('A caller is notified. The isolate continues, and JavaScript in TypeScript on macOS uses Node-API.'), []);
  });

  test('finds words of names in code, and in the name of a file', () => {
    const own = readWords('[turns]\nshelf => a\n[names]\n^most \\w+ => max_…\nshelf => arena\n');
    const text = "// the shelf\nconst MOST_LINES = 'shelf';\nlet bookShelf = mostly, almost, shelfish;\n";
    assert.deepEqual(checkNames(namesOf('src/shelf.js', text), own), [
      { line: 1, found: 'src/shelf.js', advice: 'arena' }, { line: 2, found: 'MOST_LINES', advice: 'max_…' }, { line: 3, found: 'bookShelf', advice: 'arena' },
    ]);
  });
});
