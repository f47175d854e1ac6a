'use strict';
// Describes why an execution failed, for human readers: the error as the guest saw it, its position in the user's own text, and the lines
// there. The guest controls the stack, so all code here must take time at most linear in the stack's length.

const { DETAIL } = require('../../../core/protocol.js');
const { MAIN_FILE: FILE } = require('../../protocol.js');
const { Lines } = require('./lines.js');
const { bare } = require('./options.js');

/** @param {string} file */
const positionIn = (file) => new RegExp(`(?:\\bat (?:async )?|\\()${file.replace('.', '\\.')}:(\\d{1,10}):(-?\\d{1,10})`);
const POSITION = positionIn(FILE);

/** Most frames that are examined, and most characters of each. V8 writes 10 frames by default. */
const MAX_PLACES = 200;
const MAX_PLACE_CHARS = 2_000;

const FRAME = '    at ';
const ASYNC = 'async ';
const NUMBER = /^\d{1,10}$/;

/** Lines that are shown before and after the failing one. */
const AROUND = 2;
const MAX_COLUMNS = 200;

/** @typedef {import('./lines.js').TextLines} TextLines */

/**
 * @typedef {object} Failure
 * @property {string} name
 * @property {string} message
 * @property {string} [code]
 * @property {string} stack
 * @property {string} [module] the name of the module where it occurred, unless that is the code itself
 * @property {number} [line] from 1
 * @property {number} [column] from 1
 * @property {string} [frame]
 * @property {Record<string, unknown>} [properties] own properties of the error that are primitive values
 * @property {unknown} [cause] a primitive value or a `Cause`
 */

/** @typedef {{ name: string, message: string, stack: string, properties?: Record<string, unknown>, cause?: unknown }} Cause */

/**
 * The lines around a position, which is marked.
 * @param {TextLines} lines
 * @param {number} line from 1
 * @param {number} column from 1
 * @returns {string}
 */
function frameOf(lines, line, column) {
  const first = Math.max(line - AROUND, 1);
  const last = Math.min(line + AROUND, lines.count);
  const width = String(last).length;
  // A line may be a whole program. The part that is shown has the column in its middle.
  const start = column > MAX_COLUMNS ? column - MAX_COLUMNS / 2 : 0;
  const shown = [];
  for (let number = first; number <= last; number += 1) {
    const text = /** @type {string} */ (lines.line(number)).slice(start, start + MAX_COLUMNS).replaceAll('\t', ' ');
    const here = number === line;
    shown.push(`${here ? '>' : ' '} ${String(number).padStart(width)} | ${text}`.trimEnd());
    if (here) {
      shown.push(`  ${' '.repeat(width)} | ${' '.repeat(Math.max(column - 1 - start, 0))}^`);
    }
  }
  return shown.join('\n');
}

/** @param {string} place */
const isRead = (place) => place.length <= MAX_PLACE_CHARS;

/**
 * The position in a frame: `    at NAME:LINE:COLUMN`, or the same in parentheses after a function's name.
 * @param {string} place
 */
function partsOf(place) {
  if (!place.startsWith(FRAME)) return undefined;
  const text = place.slice(FRAME.length, place.endsWith(')') ? -1 : undefined);
  const beforeColumn = text.lastIndexOf(':');
  const beforeLine = text.lastIndexOf(':', beforeColumn - 1);
  const [line, column] = [text.slice(beforeLine + 1, beforeColumn), text.slice(beforeColumn + 1)];
  if (beforeColumn < 0 || beforeLine < 0 || !NUMBER.test(line) || !NUMBER.test(column)) return undefined;
  const bracket = text.lastIndexOf(' (', beforeLine);
  const start = bracket >= 0 ? bracket + 2 : text.startsWith(ASYNC) ? ASYNC.length : 0;
  return { name: text.slice(start, beforeLine), line: Number(line), column: Number(column) };
}

/**
 * The position of a frame in one of the user's texts.
 * @param {string} place
 * @param {RegExp} position
 * @param {TextLines} lines of the code itself
 * @param {((name: string) => TextLines | undefined) | undefined} linesOf a module
 * @returns {{ module: string | undefined, lines: TextLines, line: number, column: number } | undefined}
 */
function positionOf(place, position, lines, linesOf) {
  const own = position.exec(place);
  if (own !== null) {
    const [line, column] = [Number(own[1]), Number(own[2])];
    return line >= 1 && line <= lines.count && column >= 1 ? { module: undefined, lines, line, column } : undefined;
  }
  const parts = linesOf && partsOf(place);
  if (parts === undefined) return undefined;
  const { name, line, column } = parts;
  const found = linesOf?.(name);
  return found === undefined ? undefined : { module: name, lines: found, line, column };
}

/**
 * V8 may report that an error occurred in the code that was put around the user's text, namely in the statement that contains the text.
 * Then the error occurred where the text begins.
 * @param {string} place
 * @param {RegExp} position
 * @param {TextLines} lines of the user's text
 */
function atBeginning(place, position, lines) {
  return place.replace(position, (whole, line, column) => {
    const text = lines.line(Number(line));
    return text === undefined || Number(column) >= 1 ? whole : `${whole.slice(0, whole.lastIndexOf(':'))}:${text.search(/\S|$/) + 1}`;
  });
}

/**
 * @param {ReadonlyMap<string, string>} modules
 * @returns {(name: string) => TextLines | undefined}
 */
function linesIn(modules) {
  /** @type {Map<string, TextLines>} */
  const known = new Map();
  return (name) => {
    const text = modules.get(name);
    const lines = text === undefined ? undefined : known.get(name) ?? new Lines(text);
    if (lines !== undefined) {
      known.set(name, lines);
    }
    return lines;
  };
}

/**
 * What crosses with an error besides its name, message and stack.
 * @param {any[] | undefined} details each element at its index of DETAIL
 * @returns {Pick<Failure, 'properties' | 'cause'>}
 */
function partsOfDetails(details) {
  if (details === undefined) {
    return {};
  }
  /** @type {Record<string, unknown>} */
  const properties = {};
  for (let index = DETAIL.PROPERTIES; index < details.length; index += 2) {
    Object.defineProperty(properties, details[index], bare({ value: details[index + 1], writable: true, enumerable: true, configurable: true }));
  }
  const cause = details[DETAIL.CAUSE];
  return { ...(details.length > DETAIL.PROPERTIES ? { properties } : {}), ...(cause === undefined ? {} : { cause: Array.isArray(cause) ? causeOf(cause) : cause }) };
}

/**
 * @param {any[]} cause
 * @returns {Cause}
 */
function causeOf([name, message, stack, details]) {
  return { name, message, stack: `${name}: ${message}${stack}`, ...partsOfDetails(details) };
}

/**
 * @param {import('./execution.js').Outcome} outcome of a failure
 * @param {string} source the user's text
 * @param {string} message as it is reported
 * @param {ReadonlyMap<string, string>} [modules] what the code can import
 * @param {string} [file] the name of the text in stacks
 * @returns {Failure}
 */
function failureOf({ code, name = 'Error', stack = '', details }, source, message, modules, file) {
  const position = file === undefined ? POSITION : positionIn(file);
  const lines = new Lines(source);
  const linesOf = modules && linesIn(modules);
  const first = stack.split('\n', MAX_PLACES);
  // The rest stays one string: a stack can have a million lines.
  const rest = stack.slice(first.reduce((length, place) => length + place.length + 1, -1));
  // Frames in the code that was put around the user's text are removed.
  const places = first.map((place, index) => (index === 1 && isRead(place) ? atBeginning(place, position, lines) : place))
    .filter((place) => !isRead(place) || !position.test(place) || positionOf(place, position, lines, linesOf) !== undefined);
  /** @type {Failure} */
  const failure = { name, message, stack: `${name}: ${message}${places.join('\n')}${rest}`, ...(code === undefined ? {} : { code }), ...partsOfDetails(details) };
  for (const place of places.filter(isRead)) {
    const found = positionOf(place, position, lines, linesOf);
    if (found !== undefined) {
      const { module, line, column } = found;
      return { ...failure, ...(module === undefined ? {} : { module }), line, column, frame: frameOf(found.lines, line, column) };
    }
  }
  return failure;
}

module.exports = { failureOf };
