// What a child measures of itself. It separates the effect of other processes on a busy machine: Linux reports for each thread how long it
// was ready to run but got no processor. On other systems nothing is subtracted.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

const NANOSECONDS = 1e6;
const MEGABYTE = 2 ** 20;
/** A thread of the lowest priority belongs to an abandoned guest. */
const LOWEST = 19;
/** A field of `/proc/<pid>/stat`, after the name. */
const NICE = 16;

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

export const now = () => performance.now();

/** How long a thread has waited for a processor, in milliseconds. */
const delayOf = (thread) => Number(read(`/proc/self/task/${thread}/schedstat`).split(' ')[1] ?? 0) / NANOSECONDS;

/** The same for the host's thread, which is the process's first. */
export const hostDelay = () => delayOf(process.pid);

function threads() {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return [];
  }
}

const isAbandoned = (thread) => Number(read(`/proc/self/task/${thread}/stat`).split(') ').at(-1).split(' ')[NICE]) === LOWEST;

/** Starts to measure how long threads wait for processors. The result returns the host's wait, and the longest of any other thread. */
export function watchDelays() {
  const before = new Map(threads().map((thread) => [thread, delayOf(thread)]));
  return () => {
    let host = 0;
    let others = 0;
    for (const thread of threads()) {
      const delay = delayOf(thread) - (before.get(thread) ?? 0);
      if (Number(thread) === process.pid) host = delay;
      else if (delay > others && !isAbandoned(thread)) others = delay;
    }
    return { host, others };
  };
}

const TICK_MS = 10;

/** The longest times for which this process blocked the host's event loop. */
export class Gaps {
  #last = now();
  #delay = hostDelay();
  #worst = 0;
  #timer = setInterval(() => this.tick(), TICK_MS);

  tick() {
    const time = now();
    const delay = hostDelay();
    this.#worst = Math.max(this.#worst, time - this.#last - (delay - this.#delay) - TICK_MS);
    this.#last = time;
    this.#delay = delay;
  }

  /** The longest since the last call of this method. */
  take() {
    this.tick();
    const worst = this.#worst;
    this.#worst = 0;
    return worst;
  }

  stop() {
    clearInterval(this.#timer);
  }
}

const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(read('/proc/self/status'))?.[1] ?? 0) / 1024;

/** The resident memory of this process, in MB. */
export const resident = () => field('VmRSS') || process.memoryUsage().rss / MEGABYTE;

/** Its peak since `forgetPeak`. */
export const peak = () => field('VmHWM') || resident();

export function forgetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // The peak is then that of the process's whole life.
  }
}
