'use strict';
// Disposes of isolates that may end by themselves at any moment, since they run on threads of their own.

/**
 * Disposes of an isolate, unless it has ended. It may also end after the first look: nothing would catch the error in a timer, or where a promise
 * continues, and the process would end.
 * @param {{ readonly isDisposed: boolean, dispose(): void }} isolate
 */
function disposeOf(isolate) {
  if (isolate.isDisposed) {
    return;
  }
  try {
    isolate.dispose();
  } catch (error) {
    if (!isolate.isDisposed) {
      throw error;
    }
  }
}

module.exports = { disposeOf };
