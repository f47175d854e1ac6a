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

module.exports = { RESERVED, identifier };
