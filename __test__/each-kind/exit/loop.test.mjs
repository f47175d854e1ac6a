// What keeps a process alive: only work in progress and its pending results. Each program ends by itself.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from '../../harness.mjs';

const SETUP = 'const isolate = new ivm.Isolate(); const context = isolate.createContextSync();';

async function prints(code, expected) {
  const { code: exit, signal, stdout, stderr } = await run(SETUP + code, { timeout: 20_000 });
  assert.deepEqual({ exit, signal, stdout: stdout.trim() }, { exit: 0, signal: null, stdout: expected }, stderr);
}

describe('the event loop stays alive for', () => {
  test('a settled promise returned by a sync call', () => prints(
    `context.evalSync('Promise.resolve(1)', { promise: true }).then(console.log);`, '1'));

  test('a rejected promise returned by a sync call', () => prints(
    `context.evalSync('Promise.reject(new Error("no"))', { promise: true }).catch((error) => console.log(error.message));`, 'no'));

  test('an async callback that a sync call has started', () => prints(
    `context.global.setSync('later', new ivm.Callback(() => 5, { async: true }));
    context.evalSync('later()', { promise: true }).then(console.log);`, '5'));

  test('an ignored callback that a sync call has started', () => prints(
    `context.global.setSync('tell', new ivm.Callback((value) => console.log(value), { ignored: true }));
    context.evalSync('tell(6); 0');`, '6'));

  test('a promise of the host that a guest waits for', () => prints(
    `let settle;
    const promise = new Promise((resolve) => { settle = resolve; });
    context.evalClosureSync('return $0.then((value) => value + 1)', [promise], { arguments: { promise: true }, result: { promise: true } })
      .then(console.log);
    settle(7);`, '8'));

  for (const [name, call] of Object.entries({
    evalIgnored: 'context.evalIgnored(code)',
    runIgnored: 'isolate.compileScriptSync(code).runIgnored(context)',
    applyIgnored: "context.evalSync(`() => { ${code} }`, { reference: true }).applyIgnored()",
    evalClosureIgnored: 'context.evalClosureIgnored(code)',
  })) {
    test(`work that ${name} has started, and its calls to the host`, () => prints(
      `const code = 'for (let i = 0; i < 1e7; i++); log("done")';
      context.global.setSync('log', (text) => console.log(text));
      ${call};`, 'done'));
  }

  for (const [name, target] of Object.entries({
    'at once': '() => 5',
    'later, by a timer': '() => new Promise((resolve) => { setTimeout(() => resolve(5), 20); })',
  })) {
    test(`a guest's reaction to a result that arrives ${name}`, () => prints(
      `context.global.setSync('log', new ivm.Callback((text) => console.log(text), { ignored: true }));
      context.global.setSync('ask', new ivm.Reference(${target}));
      const code = 'const work = () => { for (let i = 0; i < 2e7; i++); }; const options = { result: { promise: true } };'
        + 'ask.apply(undefined, [], options).then(() => { work(); return ask.apply(undefined, [], options); }).then((value) => { work(); log("done " + value); }); 0';
      context.evalSync(code);`, 'done 5'));
  }

  for (const [name, event] of Object.entries({
    'a timer': 'new Promise((resolve) => { setTimeout(resolve, 20); })',
    'the end of a wait': 'Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20).value',
  })) {
    test(`a promise that a caller awaits, and that a guest settles after ${name} and some work`, () => prints(
      `const code = ${JSON.stringify(`${event}.then(() => { for (let i = 0; i < 1e8; i++); return 5; })`)};
      const timed = new ivm.Isolate().createContextSync({ timers: true });
      timed.eval(code, { promise: true }).then((value) => console.log('done', value));`, 'done 5'));
  }

  test('promises that a disposed isolate abandons', () => prints(
    `context.evalSync('new Promise(() => {})', { promise: true }).catch((error) => console.log(error.message));
    isolate.dispose();`, 'Promise was abandoned'));
});

describe('the event loop does not stay alive for', () => {
  test('a promise that never settles', () => prints(
    `context.evalSync('new Promise(() => {})', { promise: true }).then(console.log);`, ''));

  // V8 does that half a minute after it has collected much.
  test('V8 that will look for garbage, while a caller awaits a promise that never settles', () => prints(
    `context.evalSync('for (let round = 0; round < 20; round += 1) globalThis.kept = Array.from({ length: 300_000 }, (_, i) => [i]); kept = undefined');
    context.evalSync('new Promise(() => {})', { promise: true }).then(console.log);`, ''));

  test('a guest that cannot be stopped, after its isolate was disposed', () => prints(
    `let start;
    context.global.setSync('ask', new ivm.Callback(() => 1, { async: true }));
    context.global.setSync('started', new ivm.Callback(() => { start = isolate.cpuTime; }, { ignored: true }));
    context.evalSync('ask().then(() => { started(); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }); 0');
    const waitFor = async (condition) => { while (!condition()) await new Promise((resolve) => { setTimeout(resolve, 5); }); };
    // After some processor time, the guest is in the loop.
    await waitFor(() => start !== undefined && isolate.cpuTime - start > 10_000_000n);
    isolate.dispose();
    await waitFor(() => ivm.engineStats().lostThreads === 1);
    console.log('lost');`, 'lost'));

  test('idle isolates', () => prints(`context.evalSync('1');`, ''));
});
