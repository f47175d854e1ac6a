// CPU profiles, whose size is up to the guest, are read in slices.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { profilesOf } = require('../../../surface/api/profile.js');
const { Work } = require('../../../surface/host/work.js');

const COUNT = 60_000;
const NAMES = ['f', '"},{"id":9,', '],"startTime":', '"nodes":[', '[{', '\\'];

const answer = (count) => JSON.stringify({
  id: 3,
  result: {
    profile: {
      nodes: Array.from({ length: count }, (_, index) => ({
        id: index + 1,
        callFrame: { functionName: NAMES[index % NAMES.length], scriptId: '7', url: 'a.js', lineNumber: 0, columnNumber: 1 },
        hitCount: 1,
        children: [index + 2],
      })),
      startTime: 10, endTime: 20, samples: [1, 2, 3], timeDeltas: [1, 2, 3],
    },
  },
});

test('nodes of a large profile are read with turns of the event loop in between', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const [{ threadId, profile }] = await profilesOf([5, answer(COUNT)], { startWork: () => new Work() });
  clearImmediate(timer);
  assert.equal(threadId, 5);
  assert.equal(profile.nodes.length, COUNT);
  assert.ok(profile.nodes.every(({ id, callFrame }, index) => id === index + 1 && callFrame.functionName === NAMES[index % NAMES.length]));
  assert.deepEqual(profile.timeDeltas, [1, 3, 6]);
  assert.ok(turns > 0, `${turns} turns`);
});

test('small profiles are read whole', async () => {
  for (const count of [0, 1]) {
    const [{ profile }] = await profilesOf([5, answer(count)], { startWork: () => new Work() });
    assert.equal(profile.nodes.length, count);
    assert.deepEqual([profile.startTime, profile.endTime, profile.samples], [10, 20, [1, 2, 3]]);
  }
});
