// Reads source text without a parser: comments and strings are blanked first, so that brackets match.

/** Keeps the lines of what is blanked. */
export const blank = (text) => text.replace(/[^\n]/g, ' ');

/**
 * @param {string} text
 * @param {number} open the position of a bracket
 * @returns {number} the position of the bracket that closes it
 */
export function closing(text, open) {
  let depth = 0;
  for (let position = open; position < text.length; position++) {
    if ('([{'.includes(text[position])) depth++;
    else if (')]}'.includes(text[position]) && --depth === 0) return position;
  }
  return text.length;
}

/**
 * @param {string} list what is between two brackets
 * @returns {number} of its parts, which commas separate
 */
export function count(list) {
  let [parts, depth, isEmpty] = [0, 0, true];
  for (const character of list.replaceAll(/[-=]>/g, '  ')) {
    if ('([{<'.includes(character)) depth++;
    else if (')]}>'.includes(character)) depth--;
    if (character === ',' && depth === 0) {
      parts++;
      isEmpty = true;
    } else if (character.trim() !== '') isEmpty = false;
  }
  return isEmpty ? parts : parts + 1;
}

export const lineCount = (text) => text.trimEnd().split('\n').length;
