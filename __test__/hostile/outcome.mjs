// Describes how a program has ended, and checks whether that is expected.

const MAX_CHARACTERS = 300;
const MAX_ENTRIES = 20;
const MAX_DEPTH = 4;

const WORDS = {
  ERR_ISOLATE_TIMEOUT: 'timeout',
  ERR_ISOLATE_DEADLINE: 'timeout',
  ERR_ISOLATE_MEMORY: 'memory',
  ERR_ISOLATE_UNRESPONSIVE: 'unresponsive',
};
const OUT_OF_MEMORY = 'Isolate was disposed during execution due to memory limit';

const cut = (text) => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text);

/** JSON of small values; the beginning of large ones. */
function sketch(value, depth = 0) {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  if (typeof value === 'bigint') return value < 2n ** 64n ? `${value}n` : 'a BigInt';
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return `[${value.slice(0, MAX_ENTRIES).map((item) => sketch(item, depth + 1))}]`;
  const keys = Object.keys(value).slice(0, MAX_ENTRIES);
  return `{${keys.map((key) => `${JSON.stringify(cut(key))}:${sketch(value[key], depth + 1)}`)}}`;
}

export const valued = (value) => `value ${cut(sketch(value))}`;

/** The outcome of a call that has thrown. */
export function thrown(error) {
  if (!(error instanceof Error)) return `throws ${cut(sketch(error))}`;
  const word = WORDS[error.code];
  return word === undefined || (word === 'memory' && error.message !== OUT_OF_MEMORY) ? cut(`${error.name}: ${error.message}`) : word;
}

const MESSAGE_ONLY = 'error ';

/** The outcome of an execution in a sandbox, which reports messages only. */
export function executed({ error, result }, timeout) {
  if (error === undefined) return valued(result);
  if (error === `Execution timed out after ${timeout}ms`) return 'timeout';
  return error === OUT_OF_MEMORY ? 'memory' : cut(`${MESSAGE_ONLY}${error}`);
}

const pattern = (text) => new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^]*')}$`);
const THROWN = /^throws "?([^]*?)"?$/;
const ERROR = /^[^: ]+: ([^]*)$/;

/** Whether an outcome is as expected; `…` in the expectation matches anything. */
export function fits(expected, outcome) {
  if (!outcome.startsWith(MESSAGE_ONLY)) return pattern(expected).test(outcome);
  const message = THROWN.exec(expected)?.[1] ?? ERROR.exec(expected)?.[1];
  return message !== undefined && pattern(MESSAGE_ONLY + message).test(outcome);
}
