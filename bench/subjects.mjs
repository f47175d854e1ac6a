// What scenarios are made of. A subject is what one library does in a scenario: `run`, which is timed, and `end` afterwards.

/** A context in an isolate of its own, and something to time in it. */
export function inContext(make) {
  return (ivm) => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    return { run: make({ ivm, isolate, context }), end: () => isolate.dispose() };
  };
}

export const withoutEnd = (make) => (ivm) => ({ run: make(ivm), end() {} });
