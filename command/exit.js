// @ts-check
'use strict';
// Exit codes of the command. docs/command-line.md documents them.

const EXIT = Object.freeze({
  OK: 0,
  /** The code failed by itself. For `doctor`: something does not work. */
  FAILURE: 1,
  /** Wrong arguments, or a file that cannot be read. */
  USAGE: 2,
  TIMEOUT: 3,
  MEMORY: 4,
  /** Another limit or error of this library. */
  LIBRARY: 5,
});

/**
 * @param {{ code?: string } | undefined} failure of an execution
 * @returns {number}
 */
function exitCodeOf(failure) {
  switch (failure && (failure.code ?? '')) {
    case undefined:
      return EXIT.OK;
    case '':
      return EXIT.FAILURE;
    case 'ERR_ISOLATE_DEADLINE':
    case 'ERR_ISOLATE_TIMEOUT':
      return EXIT.TIMEOUT;
    case 'ERR_ISOLATE_MEMORY':
      return EXIT.MEMORY;
    default:
      return EXIT.LIBRARY;
  }
}

module.exports = { EXIT, exitCodeOf };
