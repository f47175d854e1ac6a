// All hostile programs, as plain data with all fields filled in.
//
// The fields that a program's file may have, beside `name`:
// code       the body of a function, run as `(() => { code })()`; with `script: true` run as it is, and after a statement in sandboxes
// async      the function is async; with `promised`, its result is a promise. Both are awaited, and the time limit is a `deadline`
//            (a `timeout` ends with the run of the code itself)
// ends       how it must end: `value <JSON>`, `timeout`, `memory`, `unresponsive`, `throws <JSON>` or `<name>: <message>`, where
//            `…` matches anything. A list if it depends on choices of V8 (for example when it collects garbage)
// sandbox    the same in `createSandbox`, if it differs (`unresponsive` is `timeout` there)
// timeout    milliseconds. Without `async` and `promised`, waiting for the host does not count; with `wall` it does
// memory     the isolate's `memoryLimit`, MB
// peak       the maximum growth of the process meanwhile, MB
// kept       the maximum that the process keeps, MB, beside lost memory: hosts do not return all memory of their own heap

/** Ways to run a program. */
export const WAYS = ['async', 'sandbox', 'sync'];

/** For programs that must be stopped, and for those that end by themselves. */
const TIMEOUT_MS = 50;
const LONG_TIMEOUT_MS = 5_000;
const STOPPED = /^(timeout|unresponsive)$/;
const MEMORY_MB = 32;
const PEAK_MB = 160;
const KEPT_MB = 64;

/** Files of programs. */
export const FILES = [
  'loops', 'compiled', 'builtins', 'memory', 'buffers', 'wasm', 'texts', 'sources', 'stack', 'promises', 'results', 'errors', 'calls', 'large',
];

const list = (ends) => (Array.isArray(ends) ? ends : [ends]);

/** A sandbox answers at its timeout, and a script in it has no value. */
const inSandbox = (ends, script) =>
  ends.map((end) => (end === 'unresponsive' ? 'timeout' : script && end.startsWith('value ') ? 'value undefined' : end));

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string} group
 * @property {string} code
 * @property {{ async: string[], sandbox: string[], sync: string[] }} ends
 * @property {number} timeout
 * @property {number} memory
 * @property {number} peak
 * @property {number} kept
 * @property {boolean} waits
 * @property {boolean} wall
 */

/** @returns {Program} */
function complete(group, { name, code, script = false, async = false, promised = false, ...rest }) {
  const all = list(rest.ends);
  const usual = all.some((end) => STOPPED.test(end)) ? TIMEOUT_MS : LONG_TIMEOUT_MS;
  const { sandbox, timeout = usual, memory = MEMORY_MB, peak = PEAK_MB, kept = KEPT_MB, wall = false } = rest;
  return Object.freeze({
    name,
    group,
    code: script ? code : `${async ? 'async ' : ''}() => {\n${code}\n}`,
    script,
    ends: { async: all, sync: all, sandbox: sandbox === undefined ? inSandbox(all, script) : list(sandbox) },
    timeout,
    memory,
    peak,
    kept,
    waits: async || promised,
    wall,
  });
}

/** The programs of one file. */
export async function programsOf(file) {
  const { group, defaults, programs } = await import(file.includes('/') ? file : `./programs/${file}.mjs`);
  return programs.map((program) => complete(group, { ...defaults, ...program }));
}

export async function everyProgram() {
  return (await Promise.all(FILES.map(programsOf))).flat();
}
