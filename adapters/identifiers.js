'use strict';
// Names of tools in the code of a model.

const RESERVED = new Set(`arguments await break case catch class const continue debugger default delete do else enum eval export
  extends false finally for function if implements import in instanceof interface let new null package private protected public
  return static super switch this throw true try typeof undefined var void while with yield`.split(/\s+/));

/**
 * A tool's name in the types that codemode shows to the model.
 * @param {string} name
 */
function identifier(name) {
  const word = name.replaceAll(/[-.\s]/g, '_').replaceAll(/[^\w$]/g, '').replace(/^(?=\d|$)/, '_');
  return RESERVED.has(word) ? `${word}_` : word;
}

/**
 * Why tools cannot be in the same code, if two of them have one name there.
 * @param {readonly string[]} names of the tools
 * @param {readonly string[]} identifiers of the same tools
 * @returns {string | undefined} undefined if all differ
 */
function clashOf(names, identifiers) {
  /** @type {Map<string, string>} */
  const known = new Map();
  for (const [index, word] of identifiers.entries()) {
    const other = known.get(word);
    if (other !== undefined) return `The tools "${other}" and "${names[index]}" have the same name in code: ${word}`;
    known.set(word, names[index]);
  }
  return undefined;
}

module.exports = { clashOf, RESERVED, identifier };
