'use strict';
// Converts errors of this host to faults for guests, and thrown values to text. A guest may have made either, so the time here is bounded by
// the size of the error.

const {
  asIntN, bigintValueOf, errorToString, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray, isView, stringIncludes, stringIndexOf, stringSlice, stringStartsWith, freeze,
} = require('../../core/primordials.js');
const { BOUNDARY, classOf, eachLine, FRAME, framesOf } = require('../../core/error.js');
const { CODE, CODE_PREFIX, MESSAGE, TAG } = require('../../core/protocol.js');
const { converted } = require('./conversion.js');
const { describeWithoutSource, messageWithoutSource } = require('./refusal.js');

/** A longer BigInt is not written in decimal: that takes time in proportion to the square of its length. */
const MAX_BIGINT_BITS = 4096;
/** Elements of an array that is converted to text, and characters of all of them. */
const MAX_ELEMENTS = 1000;
const MAX_CHARACTERS = 1_000_000;

/**
 * Whether converting an array to text takes no longer than its length suggests: an element that is an array may contain itself many times. The text
 * of a function is its source.
 * @param {readonly unknown[]} array
 */
function isShortList(array) {
  let characters = 0;
  for (let index = 0; index < array.length; index += 1) {
    const element = array[index];
    characters += typeof element === 'string' ? element.length : 0;
    if (index === MAX_ELEMENTS || characters > MAX_CHARACTERS || typeof element === 'bigint' || typeof element === 'function' || (typeof element === 'object' && element !== null)) {
      return false;
    }
  }
  return true;
}

/**
 * Whether the text of a value is available at once, or made by its own `toString`: that is the host's, since functions of guests refuse to be
 * called (see conversion.js). Converting an array, an error or a long BigInt may take any time.
 * @param {unknown} value
 */
function isReadable(value) {
  if (typeof value === 'bigint') {
    return asIntN(MAX_BIGINT_BITS, value) === value;
  }
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return true;
  }
  const own = getOwnPropertyDescriptor(value, 'toString');
  return own !== undefined && hasOwn(own, 'value') && typeof own.value === 'function';
}

/**
 * Whether an error can be rendered in bounded time. Engines convert its name and message to text when `stack` is read for the first time, and hosts
 * may have given an error a guest's values as such.
 * @param {any} error
 */
function isRenderable(error) {
  try {
    return isReadable(error.name) && isReadable(error.message);
  } catch {
    // Engines ignore what a getter throws.
    return true;
  }
}

/**
 * The text of something that was thrown, or of a part of it. Its size may be a guest's choice: what takes long to convert is only named.
 * @param {any} value
 * @returns {string}
 * @throws what converting the value throws
 */
function thrownText(value) {
  let unboxed = value;
  if (typeof value === 'object' && value !== null) {
    if (isArray(value) ? !isShortList(value) : isView(value)) {
      return '[object Array]';
    }
    if (!isRenderable(value) && value.toString === errorToString) {
      return '[object Error]';
    }
    try {
      unboxed = bigintValueOf(value);
    } catch {
      // It is no boxed BigInt.
    }
  }
  return typeof unboxed === 'bigint' && asIntN(MAX_BIGINT_BITS, unboxed) !== unboxed ? 'BigInt' : textFrom(value);
}

/**
 * The text of any value. Functions of guests are not called for it.
 * @param {any} value
 * @returns {string}
 * @throws what converting the value throws
 */
const textFrom = (value) => (typeof value === 'object' || typeof value === 'function' ? converted(String, value) : String(value));

/**
 * The text of a part of an error, for a guest: without the source of functions.
 * @param {unknown} value
 * @returns {string}
 */
const partText = (value) => (typeof value === 'function' && !isReadable(value) ? describeWithoutSource(value) : thrownText(value));

/** @param {any} error */
const stackWithin = (error) => error.stack;

/**
 * The `stack` of an error. An engine may convert its name and message for that.
 * @param {any} error
 * @returns {unknown}
 */
const readStack = (error) => converted(stackWithin, error);

/**
 * A property as a string; undefined if reading it fails.
 * @param {any} object
 * @param {string} key
 * @returns {string | undefined}
 */
function textOf(object, key) {
  try {
    const value = key === 'stack' ? readStack(object) : object[key];
    return value === undefined ? undefined : partText(value);
  } catch {
    return undefined;
  }
}

/** @param {any} value @returns {string} throws for a symbol, unlike `String` */
const asText = (value) => `${value}`;

/**
 * The name or message of an error as text. Throws for a symbol, as converting it does.
 * @param {any} value
 * @returns {string}
 */
const readableText = (value) => (typeof value === 'string' ? value : isReadable(value) ? converted(asText, value) : partText(value));

/**
 * The stack of an error; undefined if there is none, or if it cannot be rendered.
 * @param {any} error
 * @returns {string | undefined}
 */
const stackOf = (error) => (isRenderable(error) ? textOf(error, 'stack') : undefined);

/**
 * The name of an object's constructor, as far as it can be read without running getters.
 * @param {object} object
 * @returns {string}
 */
function constructorName(object) {
  try {
    /** @type {object | null} */
    let holder = object;
    for (let depth = 0; holder !== null && depth < 100; depth += 1) {
      const found = getOwnPropertyDescriptor(holder, 'constructor');
      if (found !== undefined) {
        const name = typeof found.value === 'function' ? getOwnPropertyDescriptor(found.value, 'name') : undefined;
        return typeof name?.value === 'string' ? name.value : '';
      }
      holder = getPrototypeOf(holder);
    }
  } catch {
    // A trap of a proxy threw: no name.
  }
  return '';
}

/**
 * Whether the object has an own property `name`.
 * @param {object} object
 */
function hasOwnName(object) {
  try {
    return hasOwn(object, 'name');
  } catch {
    return false;
  }
}

/**
 * Creates the fault carrier of a thrown object: class, name, message, stack, the code if it is one of ours, and details.
 * A thrown primitive is not a fault; the caller packs it as `TAG.THROWN`.
 * @param {object} thrown
 * @param {boolean} showPaths whether the receiver may see the locations of this realm's code
 * @param {any[]} [details] each element at its index of DETAIL
 * @returns {any[]}
 */
function faultOf(thrown, showPaths, details) {
  const made = constructorName(thrown);
  const standard = made === 'Error' || classOf(made) !== Error;
  const message = (showPaths ? undefined : messageWithoutSource(thrown)) ?? textOf(thrown, 'message');
  const stack = stackOf(thrown);
  if (!standard && message === undefined && stack === undefined) {
    return [TAG.FAULT, 'Error', undefined, MESSAGE.NOT_AN_ERROR, '', undefined, undefined];
  }
  const name = standard && !hasOwnName(thrown) ? undefined : textOf(thrown, 'name');
  const frames = stack === undefined ? '' : framesOf(stack);
  const code = textOf(thrown, 'code');
  return [
    TAG.FAULT,
    standard ? made : 'Error',
    name,
    message ?? '',
    showPaths ? frames : withoutPaths(frames),
    code !== undefined && isOurCode(code) ? code : undefined,
    details,
  ];
}

/** @param {string} code */
function isOurCode(code) {
  return code === CODE.INVALID_ARG || stringStartsWith(code, CODE_PREFIX);
}

/** Maximum number of frames that are read. A guest may have made a stack of millions. */
const MAX_FRAMES = 10_000;

/**
 * Removes locations from frames. Of this realm's own frames, those after the last boundary, only the innermost remains, with the name of its
 * function: the others are mostly those of this library and of the runtime. Frames before a boundary, which are those of isolates that the
 * error came through, keep the names of their functions.
 * @param {string} frames
 * @returns {string}
 */
function withoutPaths(frames) {
  let end = 0;
  for (let count = 0; end !== -1 && count < MAX_FRAMES; count += 1) {
    end = stringIndexOf(frames, '\n', end + 1);
  }
  let kept = '';
  // Since the last boundary.
  let innermost = '';
  let all = '';
  eachLine(end === -1 ? frames : stringSlice(frames, 0, end), (line) => {
    if (stringStartsWith(line, BOUNDARY)) {
      kept += all + line;
      innermost = '';
      all = '';
      return;
    }
    const hidden = withoutPath(line);
    innermost ||= hidden;
    all += hidden;
  });
  kept += innermost;
  return end === -1 ? kept : `${kept}\n${FRAME}...`;
}

/** @param {string} line starts with its newline */
function withoutPath(line) {
  const place = stringIndexOf(line, ' (');
  const called = place === -1 ? '' : stringSlice(line, FRAME.length + 1, place);
  // A name that contains a path belongs to a module or a file, not to a function.
  return called === '' || stringIncludes(called, '/') || stringIncludes(called, '\\')
    ? `\n${FRAME}<host>`
    : `\n${FRAME}${called} (<host>)`;
}

/** Maximum number of lines before the header of a syntax error. Hosts write its location, the source line, a marker and an empty line. */
const MAX_LINES_BEFORE_HEADER = 8;

/**
 * The position of the header in a rendered stack: at the start of one of its first lines. A full search would take time proportional to
 * the product of both lengths, and both strings may come from a guest.
 * @param {string} stack
 * @param {string} header
 * @returns {number} -1 if not found
 */
function headerStart(stack, header) {
  let start = 0;
  for (let line = 0; line <= MAX_LINES_BEFORE_HEADER; line += 1) {
    if (stringStartsWith(stack, header, start)) {
      return start;
    }
    start = stringIndexOf(stack, '\n', start) + 1;
    if (start === 0) {
      return -1;
    }
  }
  return -1;
}

/**
 * A rendered stack in two parts: the header with what the receiver gets as the message, and the frames. Hosts also write a location before the
 * header of syntax errors.
 * @param {string} stack
 * @param {string} name
 * @param {string} message
 * @param {string} shown what the receiver gets as the message
 * @returns {{ header: string, frames: string }}
 */
function partsOf(stack, name, message, shown) {
  const header = message === '' ? name : `${name}: ${message}`;
  const found = headerStart(stack, header);
  const start = found === -1 ? 0 : found;
  const frames = framesOf(stringSlice(stack, found === -1 ? 0 : start + header.length));
  return { header: shown === message ? stringSlice(stack, start, stack.length - frames.length) : `${name}: ${shown}`, frames };
}

/**
 * Removes the locations of this realm's code from a rendered stack.
 * @param {string} stack
 * @param {string} name
 * @param {string} message
 * @param {string} [shown] what the receiver gets as the message
 * @returns {string}
 */
function hidePaths(stack, name, message, shown = message) {
  const { header, frames } = partsOf(stack, name, message, shown);
  return header + withoutPaths(frames);
}

/**
 * Removes the source of a function from a rendered stack, if the receiver gets another message for it.
 * @param {string} stack
 * @param {string} name
 * @param {string} message
 * @param {string} shown what the receiver gets as the message
 * @returns {string}
 */
function hideSource(stack, name, message, shown) {
  if (shown === message) {
    return stack;
  }
  const { header, frames } = partsOf(stack, name, message, shown);
  return header + frames;
}

module.exports = freeze({ faultOf, hidePaths, hideSource, isOurCode, isReadable, readableText, readStack, stackOf, thrownText });
