// Times one scenario with several libraries in one process. Samples alternate, so that other load on the machine affects all libraries
// equally. Each library's time in a round is compared with the others' times in the same round.

import { deepStrictEqual } from 'node:assert/strict';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { isPromise } from 'node:util/types';

/** `sampleMs` is the intended duration of a sample, `warmupMs` that of the runs before the first. */
export const plans = {
  full: { rounds: 25, sampleMs: 20, warmupMs: 250 },
  quick: { rounds: 7, sampleMs: 8, warmupMs: 60 },
};

const SETTLE_MS = 2;
/** Processor time of a pause in which nothing but its timer has run, at most. */
const IDLE_MS = 0.5;
const MAX_SETTLE_MS = 200;
/** The number of runs in a sample that consists mostly of pauses. */
const PAUSED_RUNS = 10;

function quantile(values, at) {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * at;
  const below = Math.floor(place);
  const above = Math.ceil(place);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

export const median = (values) => quantile(values, 0.5);

/** Whether no thread of this process does more than wait for a time. A thread may have to wait for a processor, so two pauses decide. */
async function rests() {
  for (let pause = 0; pause < 2; pause += 1) {
    const before = process.cpuUsage();
    await sleep(SETTLE_MS);
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 > IDLE_MS) return false;
  }
  return true;
}

/**
 * Lets the event loop and other threads finish the work of an earlier sample, and collects its garbage. isolated-vm marks the heap of an isolate on
 * a thread of its own, for tens of milliseconds.
 */
async function settle() {
  const end = performance.now() + MAX_SETTLE_MS;
  while (!(await rests()) && performance.now() < end);
  globalThis.gc({ type: 'minor' });
  await turn();
}

function loop(run, times) {
  const start = performance.now();
  for (let i = 0; i < times; i += 1) run();
  return performance.now() - start;
}

/** One at a time. */
async function asyncLoop(run, times) {
  const start = performance.now();
  for (let i = 0; i < times; i += 1) await run();
  return performance.now() - start;
}

/** Only the runs are timed, including the remaining work of the last one. */
async function pausedLoop(run, times, pauseMs) {
  let wall = 0;
  for (let i = 0; i < times; i += 1) {
    wall += await asyncLoop(run, 1);
    await sleep(pauseMs);
  }
  return wall;
}

/** @returns {Promise<{ wall: number, cpu: number }>} milliseconds in total; processor time is that of the whole process */
async function sample({ run, isAsync, pauseMs }, times) {
  const cpuBefore = process.cpuUsage();
  let wall;
  if (pauseMs !== undefined) wall = await pausedLoop(run, times, pauseMs);
  else wall = isAsync ? await asyncLoop(run, times) : loop(run, times);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wall, cpu: (user + system) / 1000 };
}

/** Checks the result, warms up, and determines the number of runs in a sample. */
async function warmUp(subject, expected, { sampleMs, warmupMs }) {
  const first = subject.run();
  subject.isAsync = isPromise(first);
  deepStrictEqual(await first, expected);
  if (subject.pauseMs !== undefined) {
    subject.times = PAUSED_RUNS;
    return void (await sample(subject, PAUSED_RUNS));
  }
  const end = performance.now() + warmupMs;
  let times = 1;
  let wall;
  do {
    ({ wall } = await sample(subject, times));
    if (wall < sampleMs / 2) times *= 2;
  } while (performance.now() < end || wall < sampleMs / 2);
  subject.times = Math.max(1, Math.round((times * sampleMs) / wall));
}

/** Adds the name of the library to an error. */
async function blaming({ name }, work) {
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${name}: ${cause.message}`, { cause });
  }
}

function summary(samples) {
  const wall = samples.map((each) => each.wall);
  return {
    median: median(wall),
    quartiles: [quantile(wall, 0.25), quantile(wall, 0.75)],
    cpu: median(samples.map((each) => each.cpu)),
  };
}

/** A scenario may have its own plan, except in quick runs. */
export function planOf({ sampleMs, warmupMs, rounds }, general) {
  const isFull = general === plans.full;
  return { ...general, ...(isFull && sampleMs && { sampleMs }), ...(isFull && warmupMs && { warmupMs }), ...(isFull && rounds && { rounds }) };
}

/**
 * @param {Map<string, object>} libraries by name; ratios are those of the first one to each other one
 * @returns {Promise<object>} by library: milliseconds per call, and ratios of wall and processor time
 */
export async function compare(scenario, libraries, general) {
  const { pauseMs } = scenario;
  const plan = planOf(scenario, general);
  const subjects = [];
  for (const [name, ivm] of libraries) subjects.push({ name, pauseMs, ...(await scenario.prepare(ivm)), samples: [] });
  try {
    for (const subject of subjects) await blaming(subject, () => warmUp(subject, scenario.expected, plan));
    globalThis.gc();
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        await settle();
        const { wall, cpu } = await blaming(subject, () => sample(subject, subject.times));
        const calls = subject.times * (scenario.calls ?? 1);
        subject.samples.push({ wall: wall / calls, cpu: cpu / calls });
      }
    }
  } finally {
    for (const { end } of subjects) await end();
  }
  const [ours, ...others] = subjects;
  const ratio = (other, of) => median(ours.samples.map((each, round) => each[of] / other.samples[round][of]));
  const times = { [ours.name]: summary(ours.samples) };
  for (const other of others) {
    times[other.name] = { ...summary(other.samples), ratio: ratio(other, 'wall'), cpuRatio: ratio(other, 'cpu') };
  }
  return times;
}
