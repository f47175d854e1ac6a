// Messages that arrive while another is handled, or while a pause ends. Each in a process of its own, which V8 would end.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const PROGRAM = `
  const seen = isolate.createContextSync({ inspector: true });
  const open = () => {
    const session = isolate.createInspectorSession();
    const answers = new Map();
    const order = [];
    const events = new Map();
    let last = 0;
    session.onNotification = (json) => {
      const { method, params } = JSON.parse(json);
      events.get(method)?.(params);
    };
    session.onResponse = (id, json) => {
      order.push(id);
      const { result, error } = JSON.parse(json);
      answers.get(id)?.(error?.message ?? result.exceptionDetails?.exception.description ?? result.result?.value ?? 'done');
    };
    return {
      order,
      dispose: () => session.dispose(),
      next: (method) => new Promise((resolve) => { events.set(method, resolve); }),
      call: (method, params) => new Promise((resolve) => {
        last += 1;
        answers.set(last, resolve);
        session.dispatchProtocolMessage(JSON.stringify({ id: last, method, params }));
      }),
    };
  };
  const session = open();
  const evaluate = (expression, more) => session.call('Runtime.evaluate', { expression, contextId: 2, ...more });
  const pure = { throwOnSideEffect: true, timeout: 300 };
  /** Longer than the time that a message has for itself. */
  const busy = () => sleep(100);
`;

const overlaps = (code) => passes(PROGRAM + code, { options: '{ inspector: true, memoryLimit: 64 }', timeout: 30_000 });

test('checks for side effects wait for each other', () => overlaps(`
  const first = evaluate('for (;;);', pure);
  await busy();
  const others = [evaluate('1 + 1', pure), evaluate('globalThis.changed = 1', pure)];
  assert.equal(await first, 'Execution was terminated');
  assert.equal(await others[0], 2);
  assert.match(await others[1], /side-effect/);
  assert.deepEqual(session.order, [1, 2, 3]);
`));

test('an evaluation with side effects waits for a check', () => overlaps(`
  const first = evaluate('for (;;);', pure);
  await busy();
  const other = evaluate('globalThis.changed = 7');
  assert.equal(await first, 'Execution was terminated');
  assert.equal(await other, 7);
  assert.equal(seen.evalSync('changed'), 7);
`));

test('a check waits for running code', () => overlaps(`
  const first = evaluate('for (;;);', { timeout: 300 });
  await busy();
  const other = session.call('Runtime.callFunctionOn', { functionDeclaration: '() => 5', executionContextId: 2, throwOnSideEffect: true });
  assert.equal(await first, 'Execution was terminated');
  assert.equal(await other, 5);
`));

test('a check is terminated, even if another one is queued', () => overlaps(`
  const first = evaluate('for (;;);', { throwOnSideEffect: true });
  await busy();
  const other = evaluate('2 + 2', pure);
  await session.call('Runtime.terminateExecution');
  assert.equal(await first, 'Execution was terminated');
  assert.equal(await other, 4);
`));

test('sessions open and close during a check', () => overlaps(`
  const first = evaluate('for (;;);', pure);
  await busy();
  const other = open();
  const answer = other.call('Runtime.evaluate', { expression: '3 + 3', contextId: 2, throwOnSideEffect: true });
  open().dispose();
  assert.equal(await first, 'Execution was terminated');
  assert.equal(await answer, 6);
`));

/** Pauses a guest, which then continues with `rest`. */
const paused = (rest, code) => overlaps(`
  await session.call('Debugger.enable');
  const pausing = session.next('Debugger.paused');
  const guest = seen.eval('debugger; ${rest}');
  await pausing;
  ${code}
`);

for (const method of ['Debugger.stepInto', 'Debugger.stepOver', 'Debugger.stepOut']) {
  test(`after the debugger was disabled: ${method}`, () => paused('"ran on"', `
    const answers = await Promise.all([session.call('Debugger.disable'), session.call('${method}')]);
    assert.match(answers[1], /while paused/);
    assert.equal(await guest, 'ran on');
  `));
}

test('a session without a debugger steps when the other one ends', () => paused('"ran on"', `
  const other = open();
  await other.call('Runtime.enable');
  session.dispose();
  assert.match(await other.call('Debugger.stepOver'), /while paused/);
  assert.equal(await guest, 'ran on');
`));

test('messages after the end of a pause are handled when the guest resumes', () => paused('for (;;);', `
  const ended = errorOf(() => guest);
  const [, value] = await Promise.all([session.call('Debugger.resume'), evaluate('6 * 7')]);
  assert.equal(value, 42);
  const again = session.next('Debugger.paused');
  await session.call('Debugger.pause');
  await again;
  isolate.dispose();
  await ended;
`));
