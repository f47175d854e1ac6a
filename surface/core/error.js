'use strict';
// Errors on both sides of a boundary. An error crosses as a *fault*: class, name, message, the frames of the raising side, a code for
// errors that this library raises, and details: its cause and its own properties that are primitive values. The receiving realm creates a
// new error from it, whose stack shows both sides, joined by a boundary line. No object of one realm ever reaches the other.

const {
  captureStackTrace, define, Error, freeze, hasOwn, RangeError, ReferenceError, stringIncludes, stringIndexOf, stringSlice, stringStartsWith,
  SyntaxError, TypeError,
} = require('./primordials.js');
const { BOUNDARY_FRAME, CODE, DETAIL, FAULT } = require('./protocol.js');

const BOUNDARY = `\n${BOUNDARY_FRAME}`;
const FRAME = '    at ';

/**
 * Limits of the stacks of errors from elsewhere. To show an error, hosts compare the lines of its stack with each other and with those of its cause, and
 * search it for the message (`util.inspect` in Node). The time for that grows with the product of their lengths.
 */
const MAX_LINES = 200;
/** Most characters of a name before the message, and of a message that is searched for behind such a name. */
const MAX_NAME = 128;
const MAX_MESSAGE = 1_052_672;
/** Most characters of a stack that does not begin with the error's message, multiplied by those of the message; and characters that it may always have. */
const MAX_PRODUCT = 16_777_216;
const MIN_FOREIGN = 4_096;

/**
 * Creates an error of this library.
 * @param {ErrorConstructor} Class
 * @param {string} message
 * @param {string} code one of `CODE`
 * @returns {Error}
 */
function coded(Class, message, code) {
  const error = new Class(message);
  define(error, 'code', code, true, true);
  return error;
}

/** @param {string} message */
const invalid = (message) => coded(/** @type {ErrorConstructor} */ (TypeError), message, CODE.INVALID_ARG);
/** @param {string} message */
const released = (message) => coded(Error, message, CODE.RELEASED);
/** @param {string} message */
const refused = (message) => coded(/** @type {ErrorConstructor} */ (TypeError), message, CODE.TRANSFER);
/** @param {string} what */

/**
 * The frames of a rendered stack, without its header: empty, or starting with a newline.
 * @param {unknown} stack
 * @returns {string}
 */
function framesOf(stack) {
  if (typeof stack !== 'string' || stack === '') {
    return '';
  }
  if (stringStartsWith(stack, FRAME)) {
    return `\n${stack}`;
  }
  const start = stringIndexOf(stack, `\n${FRAME}`);
  return start === -1 ? '' : stringSlice(stack, start);
}

/**
 * The first lines of a text.
 * @param {string} text
 * @returns {string}
 */
function firstLines(text) {
  let end = -1;
  for (let count = 0; count < MAX_LINES; count += 1) {
    end = stringIndexOf(text, '\n', end + 1);
    if (end === -1) {
      return text;
    }
  }
  return `${stringSlice(text, 0, end)}\n${FRAME}...`;
}

/**
 * The stack of an error that is part of a value: it may be any text, and is cut off.
 * @param {string} stack
 * @param {string} message of the error
 * @returns {string}
 */
function boundedStack(stack, message) {
  const name = stringIndexOf(stringSlice(stack, 0, MAX_NAME + 2), ': ');
  const start = name === -1 ? 0 : name + 2;
  const isOwn = message.length <= MAX_MESSAGE && stringStartsWith(stack, message, start);
  const end = isOwn ? start + message.length : 0;
  const most = MAX_PRODUCT / message.length;
  const rest = stringSlice(stack, end, isOwn || message === '' ? stack.length : most < MIN_FOREIGN ? MIN_FOREIGN : most);
  const first = firstLines(rest);
  return end + rest.length === stack.length && first === rest ? stack : stringSlice(stack, 0, end) + first;
}

/**
 * Detects an engine whose strict code makes tail calls: a method that ends in `return other()` is no longer on the stack when `other`
 * runs, so the stack cannot be cut at that method. In such an engine all frames are captured, and those of these files are removed when
 * the stack is formatted.
 * @returns {string | undefined} prefix of the locations of these files; undefined if methods stay on the stack
 */
function findTailCalls() {
  const capture = captureStackTrace;
  // Only JavaScriptCore makes tail calls, and its errors have a property that others lack. Formatting a stack takes V8 longer than the rest
  // of this file.
  if (capture === undefined || !hasOwn(new Error(), 'line')) {
    return undefined;
  }
  /** @type {{ stack?: unknown }} */
  const cut = {};
  /** @type {{ stack?: unknown }} */
  const whole = {};
  const inner = () => {
    capture(cut, outer);
    capture(whole);
    return cut;
  };
  const outer = () => inner();
  const above = () => {
    const seen = outer();
    return seen;
  };
  above();
  if (framesOf(cut.stack) !== '') {
    return undefined;
  }
  // The folder of the first frame's file, because hosts bundle the surface into one file; or the one around it, because tests load this file.
  const frames = framesOf(whole.stack);
  const start = stringIndexOf(frames, '(');
  let around = -1;
  let end = -1;
  for (let index = start + 1; index < frames.length && frames[index] !== '\n'; index += 1) {
    if (frames[index] === '/' || frames[index] === '\\') {
      around = end;
      end = index;
    }
  }
  const file = 'core/error.js';
  if (stringSlice(frames, around + 1, around + 1 + file.length) === file) {
    end = around;
  }
  return start === -1 || end === -1 ? undefined : stringSlice(frames, start, end + 1);
}

const surfacePlace = findTailCalls();

/**
 * Captures the call site of `method`. Engines capture now, and format when `callerFrames` reads the stack. In V8, capturing takes longer
 * the more functions are inlined at that point, so methods that are called often do it themselves, before they call anything else.
 * @param {Function} method the public method; its own frame and the frames of its callees are left out
 * @returns {{ stack?: unknown }}
 */
function callSite(method) {
  if (captureStackTrace === undefined) {
    return new Error();
  }
  const site = {};
  if (surfacePlace === undefined) {
    captureStackTrace(site, method);
  } else {
    captureStackTrace(site);
  }
  return site;
}

/**
 * @param {{ stack?: unknown }} site
 * @returns {string}
 */
function callerFrames(site) {
  const frames = framesOf(site.stack);
  if (surfacePlace === undefined) {
    return frames;
  }
  let kept = '';
  eachLine(frames, (line) => {
    if (!stringIncludes(line, surfacePlace)) {
      kept += line;
    }
  });
  return kept;
}

/**
 * @param {string} frames
 * @param {(line: string) => void} visit each line starts with its newline
 */
function eachLine(frames, visit) {
  let start = 0;
  while (start < frames.length) {
    const next = stringIndexOf(frames, '\n', start + 1);
    const end = next === -1 ? frames.length : next;
    visit(stringSlice(frames, start, end));
    start = end;
  }
}

/**
 * @param {unknown} name
 * @returns {ErrorConstructor}
 */
function classOf(name) {
  switch (name) {
    case 'RangeError': return RangeError;
    case 'ReferenceError': return ReferenceError;
    case 'SyntaxError': return SyntaxError;
    case 'TypeError': return TypeError;
    default: return Error;
  }
}

/**
 * Creates the error that a fault carrier describes.
 * @param {readonly any[]} fault each element at its index of FAULT
 * @param {{ stack?: unknown } | undefined} site of the caller, from `callSite`
 * @returns {Error}
 */
function errorOf(fault, site) {
  const className = fault[FAULT.CLASS];
  const name = fault[FAULT.NAME];
  const message = fault[FAULT.MESSAGE];
  const code = fault[FAULT.CODE];
  const Class = classOf(className);
  const error = new Class(message);
  let header = Class === Error ? 'Error' : className;
  if (typeof name === 'string' && name !== '' && name !== header) {
    define(error, 'name', name, true, false);
    header = name;
  }
  if (typeof code === 'string') {
    define(error, 'code', code, true, true);
  }
  const inner = firstLines(framesOf(fault[FAULT.STACK]));
  const outer = site === undefined ? '' : callerFrames(site);
  const boundary = inner !== '' && site !== undefined ? BOUNDARY : '';
  const shown = header.length > MAX_NAME ? `${stringSlice(header, 0, MAX_NAME)}...` : header;
  define(error, 'stack', `${shown}: ${message}${inner}${boundary}${outer}`, true, false);
  if (fault[FAULT.DETAILS] !== undefined) {
    addDetails(error, fault[FAULT.DETAILS]);
  }
  return error;
}

/**
 * @param {Error} error
 * @param {readonly any[]} details each element at its index of DETAIL
 */
function addDetails(error, details) {
  const cause = details[DETAIL.CAUSE];
  if (cause !== undefined) {
    define(error, 'cause', typeof cause === 'object' && cause !== null ? errorOf(cause, undefined) : cause, true, false);
  }
  for (let index = DETAIL.PROPERTIES; index < details.length; index += 2) {
    define(error, details[index], details[index + 1], true, true);
  }
}

module.exports = freeze({ BOUNDARY, boundedStack, CODE, callSite, classOf, coded, eachLine, errorOf, FRAME, framesOf, invalid, refused, released });
