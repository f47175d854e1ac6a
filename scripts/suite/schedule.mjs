// Which run starts when: the longest first, as many at a time as the processors can serve.
//
// Runs whose files measure time (`*.timed.test.mjs`) have a processor to themselves, and no two of them run at the same time. An exclusive
// run, which repeats a failed one, runs with nothing beside it.

import { availableParallelism } from 'node:os';

/** A waiting run leaves its processor to others. Beside a run that measures time, fewer others may run. */
const OVERCOMMIT = 0.5;
const TIMED_OVERCOMMIT = 0.25;
/** Runs use memory even if they compute little. */
const MAX_PER_PROCESSOR = 2;
/** After this many others, the run that has waited longest is next. */
const MAX_PASSED_OVER = 10;

/**
 * @typedef {object} Job
 * @property {number} seconds how long it takes, by experience
 * @property {number} load how many processors it uses meanwhile
 * @property {boolean} [timed] whether it measures time
 * @property {string} [group] no two jobs of a group run at a time
 * @property {boolean} [exclusive] whether nothing may run beside it
 */

export class Schedule {
  #queue;
  #running = new Set();
  #passedOver = 0;
  #work;
  #processors;

  /**
   * @param {Job[]} jobs
   * @param {(job: any) => Promise<void>} work
   * @param {number} [processors]
   */
  constructor(jobs, work, processors = availableParallelism()) {
    this.#queue = jobs.toSorted((one, other) => other.seconds - one.seconds);
    this.#work = work;
    this.#processors = processors;
  }

  get running() {
    return [...this.#running];
  }

  /** Expected seconds of work that are left, if no processor is idle. */
  get left() {
    return this.#queue.reduce((sum, { seconds, load }) => sum + seconds * Math.min(load, this.#processors), 0) / this.#processors;
  }

  /** Puts a job before all others. */
  first(job) {
    this.#queue.unshift(job);
  }

  /** Whether it may not run beside one that runs now, whatever the load. */
  #isBarred(job) {
    return [...this.#running].some(({ timed, group }) => (job.timed && timed) || (job.group !== undefined && job.group === group));
  }

  #fits(job) {
    const running = [...this.#running];
    if (running.length === 0) return true;
    if (running.length >= MAX_PER_PROCESSOR * this.#processors) return false;
    if (job.exclusive || running.some(({ exclusive }) => exclusive)) return false;
    const all = [...running, job];
    const load = all.reduce((sum, one) => sum + (one.timed ? Math.max(one.load, 1) : one.load), 0);
    return load <= this.#processors + (all.some(({ timed }) => timed) ? TIMED_OVERCOMMIT : OVERCOMMIT);
  }

  /** The next job that may start now. */
  #take() {
    const free = this.#queue.filter((job) => !this.#isBarred(job));
    const [head] = free;
    if (head === undefined) return undefined;
    const waits = head.exclusive || this.#passedOver >= MAX_PASSED_OVER;
    const next = waits ? (this.#fits(head) ? head : undefined) : free.find((job) => this.#fits(job));
    if (next === undefined) return undefined;
    this.#passedOver = next === head ? 0 : this.#passedOver + 1;
    this.#queue.splice(this.#queue.indexOf(next), 1);
    return next;
  }

  /** Does all the work. */
  run() {
    return new Promise((resolve, reject) => {
      const work = async (job) => {
        this.#running.add(job);
        await this.#work(job);
        this.#running.delete(job);
        start();
      };
      const start = () => {
        for (let job = this.#take(); job !== undefined; job = this.#take()) work(job).catch(reject);
        if (this.#running.size === 0 && this.#queue.length === 0) resolve();
      };
      start();
    });
  }
}

/**
 * Divides jobs into `count` parts that take about equally long, and returns the one with this number (from 1). The same jobs are always
 * divided in the same way.
 */
export function shardOf(jobs, number, count) {
  const shards = Array.from({ length: count }, () => ({ cost: 0, jobs: [] }));
  for (const job of jobs.toSorted((one, other) => other.seconds * other.load - one.seconds * one.load)) {
    const [shard] = shards.toSorted((one, other) => one.cost - other.cost);
    shard.jobs.push(job);
    shard.cost += job.seconds * Math.max(job.load, 0.5);
  }
  return shards[number - 1].jobs;
}
