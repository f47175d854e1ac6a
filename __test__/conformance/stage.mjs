// An isolate in which the cases run. It gets the sources of these files, and `ivm`. A stage may open another one inside itself, so any
// depth is possible.

import { collect, runCase } from './kit.mjs';

/** The maximum time of a case, in milliseconds. */
const DEADLINE = 60_000;

const GUEST = 'stage.mjs';

/** `./cases/index.mjs` as seen from `kit.mjs`, and so on. */
function pathFrom(referrer, specifier) {
  const steps = [...referrer.split('/').slice(0, -1), ...specifier.split('/')];
  const path = [];
  for (const step of steps) {
    if (step === '..') path.pop();
    else if (step !== '.') path.push(step);
  }
  return path.join('/');
}

/**
 * Every call is synchronous, so a case may use synchronous methods until its first `await`.
 * @param {any} ivm
 * @param {any} files an ExternalCopy of the contents of each file
 * @param {{ depth: number, original: boolean }} settings a depth of 1 is an isolate of the caller
 * @returns {(index: number) => Promise<void>} runs a case
 */
export function openStage(ivm, files, { depth, original }) {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  const texts = files.copy();
  const paths = Object.keys(texts);
  const modules = paths.map((path) => isolate.compileModuleSync(texts[path], { filename: `file:///${path}` }));
  const entry = modules[paths.indexOf(GUEST)];
  entry.instantiateSync(context, (specifier, referrer) => modules[paths.indexOf(pathFrom(paths[modules.indexOf(referrer)], specifier))]);
  entry.evaluateSync();
  const { namespace } = entry;
  namespace.getSync('start', { reference: true }).applySync(undefined, [files, depth, original]);
  const run = namespace.getSync('run', { reference: true });
  return (index) => run.applySync(undefined, [index], { deadline: DEADLINE, result: { promise: true } });
}

/** @type {(index: number) => unknown} */
let runHere;

/** Inside the stage: prepares the cases, or the next stage. */
export function start(files, depth, original) {
  const { ivm } = globalThis;
  if (depth > 1) {
    runHere = openStage(ivm, files, { depth: depth - 1, original });
    return;
  }
  const cases = collect(ivm, { side: 'guest', original });
  runHere = (index) => runCase(ivm, cases[index]);
}

/** Inside the stage: runs a case. */
export const run = (index) => runHere(index);
