// The imports and functions of JavaScript.

import { posix } from 'node:path';
import { blank, closing, count, lineCount } from './text.mjs';

/** Comments, strings, and regular expressions where an expression may begin. */
const NOT_CODE = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`|(?<=[(,=:[!&|?{};\n]\s*|return\s+)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/g;
/** What begins like a method with parameters, and is none. */
const STATEMENTS = new Set(['if', 'for', 'while', 'switch', 'catch', 'with']);

/**
 * @param {string[]} files
 * @param {(file: string) => string} read
 */
export function readJavaScript(files, read) {
  const graph = new Map();
  const functions = [];
  const lines = new Map();
  for (const file of files) {
    const text = read(file);
    lines.set(file, lineCount(text));
    const imports = text.matchAll(/\b(?:require\(|from\s+|import\s+)'(\.[^']+)'/g);
    graph.set(file, new Set([...imports].map(([, path]) => posix.join(posix.dirname(file), path)).filter((path) => path !== file)));
    const code = text.replace(NOT_CODE, blank);
    for (const found of code.matchAll(/([\w$#]*)\s*\(/g)) {
      const open = found.index + found[0].length - 1;
      const end = closing(code, open);
      if (!STATEMENTS.has(found[1]) && /^\s*(?:\{|=>)/.test(code.slice(end + 1))) {
        functions.push({ file, name: found[1] || 'a function', parameters: count(code.slice(open + 1, end).replaceAll(/[<>]/g, ' ')) });
      }
    }
  }
  return { graph, functions, lines };
}
