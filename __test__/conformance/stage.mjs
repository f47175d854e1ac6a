// An isolate in which the cases run: it gets the texts of these very files, and `ivm`. A stage may open the next one inside
// itself, so any depth can be had.

import { collect, runCase } from './kit.mjs';

/** Milliseconds that a case may take. */
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
 * Every call is synchronous: a case may use synchronous methods until it awaits something for the first time.
 * @param {any} ivm
 * @param {any} files an ExternalCopy of what is in which file
 * @param {{ depth: number, original: boolean }} settings a depth of 1 is an isolate of whoever calls
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

/** Inside: makes the cases ready, or the next stage. */
export function start(files, depth, original) {
  const { ivm } = globalThis;
  if (depth > 1) {
    runHere = openStage(ivm, files, { depth: depth - 1, original });
    return;
  }
  const cases = collect(ivm, { side: 'guest', original });
  runHere = (index) => runCase(ivm, cases[index]);
}

/** Inside: runs a case. */
export const run = (index) => runHere(index);
