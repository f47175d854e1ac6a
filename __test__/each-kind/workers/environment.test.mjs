// Handles are used only in the environment that made them: they do not move from one thread to another.

import { test } from 'node:test';
import { workers } from '../../workers/helper.mjs';

/** Handles can be cloned on Node 20. */
const REFUSES = "const refuses = Boolean(globalThis.Bun || globalThis.Deno) || !process.version.startsWith('v20.');";

const HANDLES = `
  const { isolate, context } = make();
  const handles = {
    isolate, context,
    script: isolate.compileScriptSync('1'),
    global: context.global,
    reference: context.evalSync('({ secret: 1 })', { reference: true }),
    own: new ivm.Reference({ secret: 1 }),
    copy: new ivm.ExternalCopy({ secret: 1 }),
    callback: new ivm.Callback(() => 1),
    into: new ivm.ExternalCopy({ secret: 1 }).copyInto(),
    dereference: context.global.derefInto(),
  };
  const guestFunction = context.evalSync('() => 1');`;

test('postMessage refuses a handle, or clones it to an object that every method refuses', () => workers(`
  ${HANDLES}
  const worker = work();
  const end = exited(worker);
  const answers = [];
  const finished = new Promise((resolve) => { worker.on('message', (message) => (message === 'end' ? resolve() : answers.push(message))); });
  ${REFUSES}
  // \`postMessage\` of Deno's \`node:worker_threads\` throws a TypeError.
  const refusalName = globalThis.Deno ? 'TypeError' : 'DataCloneError';
  for (const [name, handle] of Object.entries(handles)) {
    let outcome = 'posted';
    try { worker.postMessage({ name, handle }); } catch (error) { outcome = error.name; }
    same(name + ' ' + outcome, name + ' ' + (refuses ? refusalName : 'posted'));
  }
  let refused;
  try { worker.postMessage({ name: 'function', handle: guestFunction }); } catch (error) { refused = error.name; }
  same(refused, refusalName);
  worker.postMessage('end');
  await finished;
  same(answers.join('\\n'), '');
  await worker.terminate();
  await end;`, `
  const { context } = make();
  const refusal = (use) => { try { return 'gave ' + String(use()); } catch (error) { return error.code + ' ' + error.message; } };
  const methods = [];
  for (const Class of [ivm.Isolate, ivm.Context, ivm.Script, ivm.Reference, ivm.ExternalCopy]) {
    for (const [key, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(Class.prototype))) {
      if (key !== 'constructor' && !/Module|Profiler|Inspector/.test(key)) methods.push([Class.name + '.' + key, value ?? get]);
    }
  }
  parentPort.on('message', (message) => {
    if (message === 'end') {
      parentPort.postMessage('end');
      return;
    }
    const { name, handle } = message;
    const check = (what, actual, expected) => { if (!expected.test(actual)) parentPort.postMessage(name + ' ' + what + ': ' + actual); };
    check('keys', Reflect.ownKeys(handle).join(), /^(cachedData)?$/);
    for (const [what, method] of methods) {
      check(what, refusal(() => method.call(handle, 'x', 'y')), /^ERR_INVALID_ARG (Illegal invocation|\`undefined\` requires \`this\` to be something else)$/);
    }
    check('global', refusal(() => context.global.setSync('x', handle)), /^ERR_ISOLATE_TRANSFER A non-transferable value was passed$/);
    check('run', refusal(() => ivm.Script.prototype.runSync.call(make().isolate.compileScriptSync('1'), handle)), /^ERR_INVALID_ARG /);
    check('copied', refusal(() => Object.keys(context.evalClosureSync('return $0', [handle], { arguments: { copy: true }, result: { copy: true } })).length), /^gave 0$/);
  });`));

test('a handle in workerData is refused, or is not a handle in the worker', () => workers(`
  ${HANDLES}
  ${REFUSES}
  let worker;
  try {
    worker = new Worker(new URL(import.meta.url), { workerData: { reference: handles.reference, nested: [new Map([['copy', handles.copy]])] } });
  } catch (error) {
    same(error.name, 'DataCloneError');
  }
  same(worker === undefined, refuses);
  if (worker !== undefined) same(await exited(worker), 0);`, `
  const { context } = make();
  for (const what of [workerData.reference, workerData.nested[0].get('copy')]) {
    same(what instanceof ivm.Reference || what instanceof ivm.ExternalCopy, false);
    let code;
    try { context.evalClosureSync('', [what]); } catch (error) { ({ code } = error); }
    same(code, 'ERR_ISOLATE_TRANSFER');
  }`));

test('handle ids are not valid in another environment', () => workers(`
  const isolates = Array.from({ length: 20 }, () => make());
  for (const { context } of isolates) context.evalSync('globalThis.secret = 1');
  same(await exited(work()), 0);
  for (const { context } of isolates) same(context.evalSync('secret'), 1);`, `
  const all = Array.from({ length: 20 }, () => make());
  for (const { context } of all) same(context.evalSync('typeof secret'), 'undefined');
  for (const { isolate } of all) isolate.dispose();`));
