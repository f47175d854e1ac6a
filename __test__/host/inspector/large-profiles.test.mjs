// Profiles of guests with many functions and deep stacks: V8 keeps a node for each way to reach a function. Each in a process of its own.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** A guest whose stacks differ from sample to sample. */
const GUEST = `
  const code = \`
    const make = (index) => (0, eval)('(function ' + 'f'.repeat(100) + index + '(depth, seed) {' +
      'return depth > 0 ? all[(seed * 7 + depth * 13 + (seed >> 3) * depth) % 300](depth - 1, seed) : spin(); })');
    const spin = () => { let sum = 0; for (let i = 0; i < 20_000; i++) sum += i; return sum; };
    const all = Array.from({ length: 300 }, (_, index) => make(index));
    globalThis.run = (time) => { for (let seed = 1, end = Date.now() + time; Date.now() < end; seed += 1) all[seed % 300](250, seed); };
  \`;
  context.evalSync(code);
  const max = 600 * 2 ** 20;
  const checkMemory = () => {
    const { rss } = process.memoryUsage();
    assert.ok(rss < max, 'takes ' + (rss >> 20) + ' MiB');
  };
`;

test('a profile has samples until it is full, and the guest continues', () => passes(`${GUEST}
  const profileOf = async (time) => {
    isolate.startCpuProfiler('a');
    await context.eval('run(' + time + ')');
    const [{ profile }] = await isolate.stopCpuProfiler('a');
    checkMemory();
    assert.ok(profile.samples.length > 1, String(profile.samples.length));
    return profile.nodes.length;
  };
  // A busy machine takes fewer samples.
  let time = 1_000;
  let count = 0;
  for (; count < 50_000 && time < 20_000; time *= 2) count = await profileOf(time);
  assert.ok(count >= 50_000, String(count));
  count = await profileOf(2 * time);
  assert.ok(count >= 50_000 && count < 70_000, String(count));
  assert.equal(await context.eval('6 * 7'), 42);
`, { options: '{ memoryLimit: 128 }', timeout: 150_000 }));

test('a limit that has passed ends the guest, not its profile', () => passes(`${GUEST}
  // The guest stops in less, but to write the profile takes longer.
  ivm.configureEngine({ terminationGrace: 50 });
  isolate.startCpuProfiler('a');
  assert.equal((await errorOf(() => context.eval('run(1e9)', { timeout: 2_000 }))).code, 'ERR_ISOLATE_TIMEOUT');
  const [{ profile }] = await isolate.stopCpuProfiler('a');
  assert.ok(profile.nodes.length > 1_000, String(profile.nodes.length));
  assert.equal(ivm.engineStats().endings.abandoned, 0);
`, { options: '{ memoryLimit: 128 }', timeout: 60_000 }));

test('an isolate that is disposed of gives no profile', () => passes(`${GUEST}
  isolate.startCpuProfiler('a');
  const running = errorOf(() => context.eval('run(1e9)'));
  await runsOn();
  isolate.dispose();
  assert.equal((await running).code, 'ERR_ISOLATE_DISPOSED');
  assert.equal((await errorOf(() => isolate.stopCpuProfiler('a'))).code, 'ERR_ISOLATE_DISPOSED');
  otherWorks();
`, { options: '{ memoryLimit: 128 }', timeout: 60_000 }));
