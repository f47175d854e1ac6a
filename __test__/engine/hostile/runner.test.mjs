// The runner itself: it reports problems, and blames the right program.

import { before, describe, mock, test } from 'node:test';
import assert from 'node:assert/strict';
import { fits } from '../../hostile/outcome.mjs';
import { everyProgram, programsOf } from '../../hostile/corpus.mjs';
import { bound, runPrograms } from '../../hostile/runner.mjs';

const CULPRITS = new URL('../../hostile/culprits.mjs', import.meta.url).href;
/** Milliseconds for a child that would never end. */
const LIMIT = 6_000;

// Programs have other limits of memory on the caller's thread.
process.env.ISOLATED_V8_SYNC_CALLS = 'thread';

// What it prints of second runs is for the suite.
before(() => { mock.method(console, 'log', () => {}); });

/** The runner's reports about programs, by name. */
async function report(names, way, limit) {
  const programs = (await programsOf(CULPRITS)).filter(({ name }) => names.includes(name));
  const results = await runPrograms(CULPRITS, programs, [way], limit);
  return Object.fromEntries(names.map((name) => [name, results.get(`${way} ${name}`).problems.join('\n')]));
}

const FINE = ['fine', 'fine, too'];

/** Limits how many run at a time. */
const AT_A_TIME = 3;
const waiting = [];
let going = 0;
async function inTurn(work) {
  if (going === AT_A_TIME) await new Promise((resolve) => { waiting.push(resolve); });
  else going += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) going -= 1;
    else next();
  }
}

describe('the runner reports', () => {
  for (const [name, ways, problem, limit] of [
    ['aborts', ['sandbox', 'sync'], /^its process was ended by SIG/],
    ['is killed', ['sync'], /^its process was ended by SIGKILL/],
    ['exits', ['async'], /^its process ended before it had said how it is/],
    ['ends with a code', ['sync'], /^its process ended with exit code 3/],
    ['hangs', ['async'], /^its process did not end/, LIMIT],
    ['does not end its process', ['sync'], /^its process did not end/, LIMIT],
    ['ends otherwise', ['async', 'sandbox', 'sync'], /^ended with value 2, not value 3$/],
    ['throws something else', ['sync'], /^ended with TypeError: x, not RangeError: …$/],
    ['is not stopped', ['async', 'sandbox'], /^ended with timeout, not (unresponsive|memory)$/],
    ['holds up the event loop', ['async', 'sandbox'], /^held up the event loop for \d+ ms/],
    ['takes too long', ['sync'], /^took \d+ ms, more than \d+/],
    ['leaks', ['async'], /^its process kept \d+ MB, of which 0 were lost/],
    ['takes too much at its peak', ['sync'], /^took \d+ MB at its peak, more than 150/],
    ['changes prototypes', ['sync'], /^its process found the prototype of its objects changed/],
  ]) {
    for (const way of ways) {
      const reported = inTurn(() => report([FINE[0], name, FINE[1]], way, limit));
      test(`${name}, ${way}`, async () => {
        const { [name]: problemText, ...others } = await reported;
        assert.match(problemText, problem);
        assert.deepEqual(others, { fine: '', 'fine, too': '' });
      });
    }
  }
});

test('expected outcomes', () => {
  for (const [expected, outcome] of [
    ['timeout', 'timeout'], ['value 1', 'value 1'], ['value …', 'value [1]'], ['RangeError: x', 'RangeError: x'], ['RangeError: x', 'error x'],
    ['throws "a"', 'error a'], ['throws null', 'error null'], ['TypeError: …', 'error y'], ['SyntaxError: a…', 'SyntaxError: ab'],
  ]) assert.equal(fits(expected, outcome), true, `${expected}, ${outcome}`);
  for (const [expected, outcome] of [
    ['timeout', 'memory'], ['timeout', 'error timeout'], ['value 1', 'value 11'], ['RangeError: x', 'TypeError: x'], ['value …', 'error x'],
    ['memory', 'error memory'], ['RangeError: x', 'error xy'], ['unresponsive', 'timeout'], ['value 1.5', 'value 1x5'],
  ]) assert.equal(fits(expected, outcome), false, `${expected}, ${outcome}`);
});

test('the time limit of a guest is extended by the time it did not run, up to a maximum', () => {
  const none = { host: 0, others: 0 };
  assert.equal(bound({ timeout: 50 }, 'sync', none), 1_300);
  assert.equal(bound({ timeout: 50 }, 'async', { host: 100, others: 100 }), 1_500);
  assert.equal(bound({ timeout: 50 }, 'sync', { host: 0, others: 60_000 }), 4_300);
  assert.equal(bound({ timeout: 50 }, 'sandbox', none), 550);
});

test('the programs', async () => {
  const programs = await everyProgram();
  const names = programs.map(({ group, name }) => `${group}: ${name}`);
  assert.equal(new Set(names).size, names.length, 'two programs of one name');
  assert.ok(programs.length >= 120, String(programs.length));
  for (const { name, code, ends, timeout, memory, peak } of programs) {
    assert.ok(typeof name === 'string' && typeof code === 'string' && code !== '', name);
    assert.ok([timeout, memory, peak].every((number) => Number.isInteger(number) && number > 0), name);
    for (const way of Object.values(ends)) assert.ok(way.length > 0 && way.every((end) => typeof end === 'string'), name);
  }
});
