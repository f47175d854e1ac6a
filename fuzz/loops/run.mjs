// Runs a program in a new isolate. It must end at its timeout or its memory limit. A program that throws or ends by itself proves nothing
// and is counted.

/** @typedef {'stopped' | 'memory' | 'ended' | 'unstoppable' | 'starved'} Outcome */

const OUTCOMES = { ERR_ISOLATE_TIMEOUT: 'stopped', ERR_ISOLATE_MEMORY: 'memory', ERR_ISOLATE_UNRESPONSIVE: 'unstoppable' };
const PREPARATION_MS = 2000;
/** A guest that gets too little processor time to stop is abandoned, too, but later than a running one. */
const STARVED_MS = 3500;

/**
 * @param {any} ivm
 * @param {{ prepare: string, call: string }} program
 * @param {number} timeout milliseconds
 * @returns {{ outcome: Outcome, error: any, late: number }} `late` is the time beyond the timeout
 */
export function runProgram(ivm, { prepare, call }, timeout) {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  let [began, limit] = [0, 0];
  const timed = (code, milliseconds) => {
    [began, limit] = [performance.now(), milliseconds];
    return context.evalSync(code, { timeout: milliseconds });
  };
  const context = isolate.createContextSync();
  try {
    timed(`${prepare}\n0`, PREPARATION_MS);
    timed(`${call};\n0`, timeout);
    return { outcome: 'ended', error: undefined, late: 0 };
  } catch (error) {
    const late = performance.now() - began - limit;
    const outcome = OUTCOMES[error.code] ?? 'ended';
    return { outcome: outcome === 'unstoppable' && late > STARVED_MS ? 'starved' : outcome, error, late };
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}
