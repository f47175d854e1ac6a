// Stacks and messages that guests make: rewriting them takes time in proportion to their length.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { once } from 'node:events';

const require = createRequire(import.meta.url);
const { errorOf } = require('../../../surface/core/error.js');
const { faultOf, hidePaths } = require('../../../surface/host/wire/faults.js');
const { failureOf } = require('../../../surface/host/sandbox/common/failure.js');
const { reportUnhandled } = require('../../../surface/host/calls/unhandled.js');
const { TAG } = require('../../../surface/core/protocol.js');

const SIZE = 2_000_000;
/** The maximum milliseconds of each, on a busy machine. A search for one text in the other took at least 10 s. */
const MAX_TIME = 2_000;

/** Messages that almost occur in a stack, many times. */
const length = SIZE / 40;
const almost = `${'a'.repeat(length - 1)}X`;
const TEXTS = {
  'a message that almost occurs': [`x${`\nError: ${almost}`.repeat(20)}${'a'.repeat(SIZE)}`, 'Error', 'a'.repeat(length)],
  'the same at the beginning': [`${`Error: ${almost}`.repeat(20)}${'a'.repeat(SIZE)}`, 'Error', 'a'.repeat(length)],
  'a name that almost occurs': [`x${`\n${almost}`.repeat(20)}${'a'.repeat(SIZE)}`, 'a'.repeat(length), ''],
  'a message of lines': [`x${'\nError: \n'.repeat(SIZE / 10)}`, 'Error', `${'\nError: \n'.repeat(SIZE / 20)}!`],
  'empty lines': ['\n'.repeat(SIZE), 'Error', '\n'.repeat(SIZE / 2)],
  'frames': [`Error: x${'\n    at f (/a/b.js:1:2)'.repeat(SIZE / 25)}`, 'Error', 'x'],
  'half frames': [`Error: x${'\n    at'.repeat(SIZE / 7)}`, 'Error', 'x'],
  'brackets': [`Error: x\n    at ${' ('.repeat(SIZE / 2)}`, 'Error', 'x'],
};

for (const [what, [stack, name, message]] of Object.entries(TEXTS)) {
  test(`the time for ${what} is linear`, () => {
    const thrown = Object.assign(new Error(message), { name, stack });
    const work = {
      hidePaths: () => hidePaths(stack, name, message),
      faultOf: () => faultOf(thrown, false),
      errorOf: () => errorOf([TAG.FAULT, 'Error', name, message, stack, undefined], { stack }),
      failureOf: () => failureOf({ ok: false, value: message, logs: [], lost: 0, name, stack }, 'code', message, new Map([['a', 'code']])),
    };
    for (const [step, run] of Object.entries(work)) {
      const start = performance.now();
      assert.ok(run() !== undefined);
      const took = performance.now() - start;
      assert.ok(took < MAX_TIME, `${step}: ${Math.round(took)} ms`);
    }
  });
}

test('the header of a syntax error is found after its position', () => {
  const frames = '\n    at f (/host/file.js:1:2)\n    at /host/other.js:3:4';
  // One line represents all frames of the host.
  const hidden = '\n    at f (<host>)';
  assert.equal(hidePaths(`/host/file.js:1\nlet let\n    ^^^\n\nSyntaxError: m\nof two lines${frames}`, 'SyntaxError', 'm\nof two lines'), `SyntaxError: m\nof two lines${hidden}`);
  assert.equal(hidePaths(`Error: m${frames}`, 'Error', 'm'), `Error: m${hidden}`);
  assert.equal(hidePaths(`Error${frames}`, 'Error', ''), `Error${hidden}`);
  assert.equal(hidePaths(`changed since${frames}`, 'Error', 'm'), `changed since${hidden}`);
});

test('frames before a boundary keep their functions\' names, and only the innermost of the others remains', () => {
  const boundary = '\n    at (<isolated-vm boundary>)';
  const guest = '\n    at inner (<isolated-vm>:1:2)\n    at <isolated-vm>:3:4';
  const host = '\n    at f (/host/file.js:1:2)\n    at /host/other.js:3:4';
  const hide = (frames) => hidePaths(`Error: m${frames}`, 'Error', 'm').slice('Error: m'.length);
  assert.equal(hide(`${guest}${boundary}${host}`), `\n    at inner (<host>)\n    at <host>${boundary}\n    at f (<host>)`);
  assert.equal(hide(`${host}${boundary}${guest}${boundary}${host}`), `\n    at f (<host>)\n    at <host>${boundary}\n    at inner (<host>)\n    at <host>${boundary}\n    at f (<host>)`);
  assert.equal(hide(`${guest}${boundary}`), `\n    at inner (<host>)\n    at <host>${boundary}`);
  assert.equal(hide(boundary), boundary);
  assert.equal(hide(''), '');
  assert.equal(hide('\n    at /host/other.js:3:4\n    at f (/host/file.js:1:2)'), '\n    at <host>');
});

test('a long stack keeps its lines', () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `    at f (file.js:${index}:1)`);
  for (const count of [0, 1, 199, 200, 201, 1_000]) {
    const stack = lines.slice(0, count).map((line) => `\n${line}`).join('');
    assert.equal(failureOf({ ok: false, value: 'm', logs: [], lost: 0, name: 'E', stack }, 'code', 'm').stack, `E: m${stack}`);
  }
});

test('an error whose name or message is no text is reported without making a text of it', async () => {
  let texts = 0;
  const list = [[{ toString() { texts += 1; return 'x'; } }]];
  const warning = once(process, 'warning');
  reportUnhandled('a test', Object.assign(new Error('m'), { message: list }));
  const [{ message, detail }] = await warning;
  assert.match(message, /\(a test\) failed, and no caller can receive its error: \[object Error\]\./);
  assert.equal(detail, '[object Error]');
  assert.equal(texts, 0);
});
