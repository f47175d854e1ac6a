// What a child measures of itself. What other processes of a busy machine cause is told apart from what we cause: Linux says of
// each thread for how long it was ready to run and got no processor. Elsewhere nothing is subtracted.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

const NANOSECONDS = 1e6;
const MEGABYTE = 2 ** 20;
/** A thread of the lowest priority is one that was given up. */
const LOWEST = 19;
/** Of `/proc/<pid>/stat`, after the name. */
const NICE = 16;

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

export const now = () => performance.now();

/** Milliseconds for which a thread has waited for a processor. */
const delayOf = (thread) => Number(read(`/proc/self/task/${thread}/schedstat`).split(' ')[1] ?? 0) / NANOSECONDS;

/** The same of the host's thread, which is the process's first. */
export const hostDelay = () => delayOf(process.pid);

function threads() {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return [];
  }
}

const isGivenUp = (thread) => Number(read(`/proc/self/task/${thread}/stat`).split(') ').at(-1).split(' ')[NICE]) === LOWEST;

/** Starts to watch what threads wait for processors; the result tells the host's wait, and the longest of any other. */
export function watchDelays() {
  const before = new Map(threads().map((thread) => [thread, delayOf(thread)]));
  return () => {
    let host = 0;
    let others = 0;
    for (const thread of threads()) {
      const delay = delayOf(thread) - (before.get(thread) ?? 0);
      if (Number(thread) === process.pid) host = delay;
      else if (delay > others && !isGivenUp(thread)) others = delay;
    }
    return { host, others };
  };
}

const TICK_MS = 10;

/** Longest times for which the host's event loop stood still through us. */
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

  /** The worst since the last call of this. */
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

/** MB that this process takes. */
export const resident = () => field('VmRSS') || process.memoryUsage().rss / MEGABYTE;

/** The most that it took since `forgetPeak`. */
export const peak = () => field('VmHWM') || resident();

export function forgetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // The peak is that of the whole process then.
  }
}
