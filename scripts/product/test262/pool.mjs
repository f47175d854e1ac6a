// Processes that execute tests: each gets one line of JSON per test and answers with one. A process that crashes, or does not answer in time,
// is replaced.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { root } from '../../process.mjs';

/** Added to the time limit that an executor itself gives a test. */
const GRACE_MS = 30_000;
const MAX_STDERR_CHARS = 2_000;

class Executor {
  #child;
  #waiting;
  #stderr = '';

  constructor({ command, args }) {
    this.#child = spawn(command, args, { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.on('error', (error) => this.#answer({ phase: 'crash', message: error.message }));
    this.#child.on('close', (code, signal) => {
      this.#child = undefined;
      this.#answer({ phase: 'crash', message: `${signal ?? `exit code ${code}`} ${this.#stderr}`.trim() });
    });
    this.#child.stdin.on('error', () => {}); // `close` reports it
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARS);
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      try {
        this.#answer(JSON.parse(line));
      } catch {
        this.#answer({ phase: 'crash', message: `not JSON: ${line.slice(0, MAX_STDERR_CHARS)}` });
      }
    });
  }

  get isAlive() {
    return this.#child !== undefined;
  }

  #answer(outcome) {
    this.#waiting?.(outcome);
  }

  /** @returns {Promise<import('./verdict.mjs').Outcome>} */
  execute(test, limit) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.end();
        this.#answer({ phase: 'timeout', message: 'the executor does not answer' });
      }, limit + GRACE_MS);
      this.#waiting = (outcome) => {
        this.#waiting = undefined;
        clearTimeout(timer);
        resolve(outcome);
      };
      const { file, harness, strict, module, async } = test;
      this.#child.stdin.write(`${JSON.stringify({ file, harness, strict, module, async, limit })}\n`);
    });
  }

  end() {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

/**
 * @param {import('./tests.mjs').Test[]} tests
 * @param {{ command: string, args: string[] }} program
 * @param {{ concurrency: number, limit: number }} settings
 * @param {(test: import('./tests.mjs').Test, outcome: import('./verdict.mjs').Outcome) => void} report
 */
export async function executeAll(tests, program, { concurrency, limit }, report) {
  let next = 0;
  const work = async () => {
    let executor;
    try {
      while (next < tests.length) {
        const test = tests[next];
        next += 1;
        if (!executor?.isAlive) executor = new Executor(program);
        report(test, await executor.execute(test, limit));
      }
    } finally {
      executor?.end();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
