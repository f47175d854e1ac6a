// @ts-check
'use strict';
// A sandbox that keeps its state from one input to the next, for `isolated-v8 repl`.

const { IsolatedVmSandbox } = require('../index.js');
const { cut, described, shown } = require('./text.js');

const MAX_OUTPUT = 2 ** 20;
const MAX_LOGS = 1_000;
/** Most values of an array that are shown, and the deepest level. */
const SHOWN = Object.freeze({ depth: 4, maxArrayLength: 100, maxStringLength: 10_000 });

/** What V8 adds to the message of an error that it finds before code runs. */
const PLACE = String.raw` \[sandbox\.js(?:#\d+)?:\d+:\d+\]`;
const SYNTAX = new RegExp(`${PLACE}$`);
const UNFINISHED = new RegExp(`^(?:Unexpected end of input|Unterminated template(?: literal)?|missing \\) after argument list)${PLACE}$`);
const AWAIT = /\bawait\b/;
const OBJECT = /^\s*\{[^]*\}\s*$/;

/** An input that is not complete. */
const MORE = Symbol('more');

/** @typedef {{ timeout: number, memoryLimit: number, typescript: boolean, web: boolean }} Settings */

/**
 * The forms of an input, which are tried until V8 can compile one.
 * @param {string} text
 */
function formsOf(text) {
  // An expression statement that begins with a brace is a block.
  const plain = OBJECT.test(text) ? [`(${text}\n)`, text] : [text];
  // Scripts have no `await`.
  return AWAIT.test(text) ? [...plain, `(async () => (${text}\n))()`, `(async () => {${text}\n})()`] : plain;
}

/** @param {any} error */
const isSyntaxError = (error) => error?.failure?.name === 'SyntaxError' && SYNTAX.test(error.failure.message);

/** @param {any} error */
function textOf({ failure, message }) {
  // Functions, for example.
  if (failure?.code === 'ERR_ISOLATE_TRANSFER') return `(not shown: ${cut(failure.message)})\n`;
  return failure === undefined ? `${message}\n` : described(failure);
}

class Session {
  #settings;
  #write;
  #sandbox;
  /** @type {import('../index.js').SandboxIsolate | undefined} */ #isolate;

  /**
   * @param {Settings} settings
   * @param {(text: string) => void} write called with the lines that code prints
   */
  constructor(settings, write) {
    this.#settings = settings;
    this.#write = write;
    const { typescript, web } = settings;
    this.#sandbox = new IsolatedVmSandbox(undefined, {
      timers: true, typescript, web, warm: 0, maxOutputSize: MAX_OUTPUT, maxLogEntries: MAX_LOGS, onLog: ({ message }) => write(`${message}\n`),
    });
  }

  /** Ends the isolate with all state. */
  reset() {
    this.#sandbox.disposeAll();
    this.#isolate = undefined;
  }

  /**
   * Runs an input and writes its outcome.
   * @param {string} text
   * @param {AbortSignal} signal
   * @returns {Promise<typeof MORE | undefined>} `MORE` if it goes on in the next line
   */
  async run(text, signal) {
    if (text.trim() === '') return undefined;
    try {
      const value = await this.#execute(text, signal);
      if (value !== undefined) this.#write(`${cut(shown(value, SHOWN))}\n`);
      return undefined;
    } catch (/** @type {any} */ error) {
      if (isSyntaxError(error) && UNFINISHED.test(error.failure.message)) return MORE;
      this.#write(signal.aborted ? '(aborted)\n' : textOf(error));
    }
    if (this.#sandbox.getActiveIsolateCount() === 0) {
      this.#isolate = undefined;
      this.#write('(the isolate has ended, and its state is lost)\n');
    }
    return undefined;
  }

  /**
   * @param {string} text
   * @param {AbortSignal} signal
   */
  async #execute(text, signal) {
    const { timeout, memoryLimit } = this.#settings;
    this.#isolate ??= await this.#sandbox.createIsolate({ id: 'repl', limits: { cpuMs: timeout, memoryMB: memoryLimit } });
    /** @type {any} */
    let first;
    for (const form of formsOf(text)) {
      try {
        return await this.#sandbox.executeInSandbox(this.#isolate, form, {}, { deadline: timeout, signal });
      } catch (error) {
        if (!isSyntaxError(error)) throw error;
        first ??= error;
      }
    }
    throw first;
  }
}

module.exports = { MORE, Session };
