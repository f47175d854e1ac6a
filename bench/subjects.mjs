// The parts of scenarios. A subject is one library's work in a scenario: `run`, which is timed, and `end` afterwards.

/** A context in a new isolate, and work to time in it. */
export function inContext(make) {
  return (ivm) => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    return { run: make({ ivm, isolate, context }), end: () => isolate.dispose() };
  };
}

/** One call of a guest's function with a value that is copied in. It returns a property of the value as proof. */
export const copyIn = (makeValue, proof) =>
  inContext(({ context }) => {
    const value = makeValue();
    const sink = context.evalSync(`value => ${proof}`, { reference: true });
    return () => sink.applySync(undefined, [value], { arguments: { copy: true } });
  });

/** One call of a guest's function whose result is copied out. */
export const copyOut = (source) =>
  inContext(({ context }) => {
    const origin = context.evalSync(`const value = ${source}; () => value`, { reference: true });
    return () => origin.applySync(undefined, [], { result: { copy: true } });
  });

export const withoutEnd = (make) => (ivm) => ({ run: make(ivm), end() {} });
