// The word list: each line of words.txt has a pattern, `=>`, and what to write instead.

const SECTION = /^\[(?<name>\w+)\]$/;
const FLAGS = { turns: 'giu', terms: 'gu', names: 'giu' };
/** Between two words of a phrase: spaces, or one line break. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*)`;

/**
 * @param {string} list
 * @returns {{ name: string, pattern: RegExp, advice: string[] }[]} for each section, one pattern with a group for each of its lines
 */
export function readWords(list) {
  const sections = new Map();
  let section;
  for (const line of list.split('\n').map((one) => one.trim()).filter((one) => one !== '' && !one.startsWith('#'))) {
    const name = SECTION.exec(line)?.groups.name;
    if (name !== undefined) {
      if (FLAGS[name] === undefined) throw new Error(`words.txt has an unknown section: ${line}`);
      section = sections.get(name) ?? sections.set(name, []).get(name);
      continue;
    }
    const [pattern, advice, ...more] = line.split(/\s+=>\s+/);
    if (section === undefined || !advice || more.length > 0) throw new Error(`words.txt has a line without a section or advice: ${line}`);
    section.push({ pattern: pattern.replaceAll(/ +/g, GAP), advice });
  }
  return [...sections].map(([name, lines]) => ({
    name,
    pattern: new RegExp(String.raw`(?<![\w-])(?:${lines.map(({ pattern }) => `(${pattern})`).join('|')})(?![\w-])`, FLAGS[name]),
    advice: lines.map(({ advice }) => advice),
  }));
}

/**
 * @param {string} prose
 * @param {ReturnType<typeof readWords>} words
 * @returns {{ line: number, found: string, advice: string }[]} in prose
 */
export const check = (prose, words) => find(prose, words.filter(({ name }) => name !== 'names'));

/**
 * @param {Iterable<{ line: number, text: string }>} names
 * @param {ReturnType<typeof readWords>} words
 * @returns {{ line: number, found: string, advice: string }[]} in the words of names
 */
export function checkNames(names, words) {
  const own = words.filter(({ name }) => name === 'names');
  return [...names].flatMap(({ line, text }) => find(wordsOf(text), own).map(({ advice }) => ({ line, found: text, advice })));
}

/** `MAX_ENTRIES` and `maxEntries` have the words `max` and `entries`. */
const wordsOf = (name) => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll(/[^A-Za-z\d]+/g, ' ').trim();

function find(text, words) {
  const problems = [];
  for (const { pattern, advice } of words) {
    for (const { index, 0: found, ...groups } of text.matchAll(pattern)) {
      const number = advice.findIndex((_, at) => groups[at + 1] !== undefined);
      problems.push({ line: text.slice(0, index).split('\n').length, found: found.replaceAll(/\s+/g, ' '), advice: advice[number] });
    }
  }
  return problems.toSorted((a, b) => a.line - b.line);
}
