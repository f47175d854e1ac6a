// Whether a test has passed, and the totals.

/**
 * @typedef {object} Outcome the outcome of a test, from an executor
 * @property {string} [phase] where it failed: `parse`, `resolution`, `runtime`, `timeout`, `crash`
 * @property {string} [name] of the error's constructor
 * @property {string} [message]
 * @property {string} [printed] by an asynchronous test, at its end
 */

const DONE = 'Test262:AsyncTestComplete';

/**
 * Why a test has failed; undefined if it has passed.
 * @param {import('./tests.mjs').Test} test
 * @param {Outcome} outcome
 */
export function failureOf({ async, negative }, { phase, name, message, printed }) {
  const ending = phase === undefined ? 'nothing was thrown' : `${phase}: ${name ?? ''}${message ? `: ${message}` : ''}`;
  if (negative) {
    return phase === negative.phase && name === negative.type ? undefined : `${negative.phase} ${negative.type} expected; ${ending}`;
  }
  if (phase !== undefined) return ending;
  return !async || printed === DONE ? undefined : printed;
}

/** The folder that a test counts for: two levels of `built-ins` and of `language`. */
const folderOf = (name) => name.split('/').slice(0, 2).join('/');

/** Results by test name: passed, or why the test has failed or was skipped. */
export class Tally {
  passed = [];
  /** @type {Map<string, string>} */
  failed = new Map();
  /** @type {Map<string, string>} */
  skipped = new Map();

  /** A line for each folder. */
  table() {
    const folders = new Map();
    const count = (names, column) => {
      for (const name of names) {
        const folder = folderOf(name);
        if (!folders.has(folder)) folders.set(folder, { passed: 0, failed: 0, skipped: 0 });
        folders.get(folder)[column] += 1;
      }
    };
    count(this.passed, 'passed');
    count(this.failed.keys(), 'failed');
    count(this.skipped.keys(), 'skipped');
    return [...folders].toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  toJSON() {
    return { passed: this.passed.toSorted(), failed: sorted(this.failed), skipped: sorted(this.skipped) };
  }
}

const sorted = (map) => Object.fromEntries([...map].toSorted(([one], [other]) => (one < other ? -1 : 1)));

/**
 * Tests whose outcome differs from an earlier run.
 * @param {Tally} tally
 * @param {{ passed: string[], failed: Record<string, string> }} earlier
 */
export function differences(tally, earlier) {
  const passedThere = new Set(earlier.passed);
  const worse = [...tally.failed].filter(([name]) => passedThere.has(name));
  const better = tally.passed.filter((name) => Object.hasOwn(earlier.failed, name)).map((name) => [name, earlier.failed[name]]);
  return { worse, better };
}
