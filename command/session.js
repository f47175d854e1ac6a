// @ts-check
'use strict';
// A sandbox that keeps its state from one input to the next, for `isolated-v8 repl`.

const { PluginSandbox } = require('../index.js');
const { cut, described, shown } = require('./text.js');

const MAX_OUTPUT = 2 ** 20;
const MAX_LOGS = 1_000;
/** Most values of an array that are shown, and the deepest level. */
const SHOWN = Object.freeze({ depth: 4, maxArrayLength: 100, maxStringLength: 10_000 });

/** What V8 adds to the message of an error that it finds before code runs. */
const COMPILING = / \[sandbox\.js(?:#\d+)?:\d+:\d+\]$/;
const UNCLOSED = 'missing ) after argument list';
const AWAIT = /\bawait\b/;
const OBJECT = /^\s*\{[^]*\}\s*$/;

/** An input that is not complete. */
const MORE = Symbol('more');

/** @typedef {{ timeout: number, memoryLimit: number, typescript: boolean, web: boolean }} Settings */

/**
 * What is put around an input. The forms are tried until V8 can compile one.
 * @param {string} text
 * @returns {[before: string, after: string][]}
 */
function formsOf(text) {
  if (AWAIT.test(text)) {
    // Scripts have no `await`, except as a name.
    return [['', ''], ['(async () => (', '\n))()'], ['(async () => {', '\n})()']];
  }
  // An expression statement that begins with a brace is a block.
  return OBJECT.test(text) ? [['(', '\n)'], ['', '']] : [['', '']];
}

/** @param {any} error */
const isSyntaxError = ({ failure }) => failure?.name === 'SyntaxError';

/**
 * Whether an error is at the end of an input, or after it.
 * @param {any} error
 * @param {string} before the input
 * @param {string} text
 */
function isAtEnd({ failure: { message, line, column } }, before, text) {
  const lines = text.trimEnd().split('\n');
  const last = (lines.length === 1 ? before : '') + lines[lines.length - 1];
  if (line !== lines.length) return line > lines.length;
  // V8 finds it at the last token before the end.
  return column > last.length || (message.startsWith(UNCLOSED) && /^\S*$/.test(last.slice(column - 1)));
}

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
    this.#sandbox = new PluginSandbox(undefined, {
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
   * @returns {Promise<typeof MORE | undefined>} `MORE` if it continues in the next line
   */
  async run(text, signal) {
    if (text.trim() === '') return undefined;
    try {
      const value = await this.#execute(text, signal);
      if (value !== undefined) this.#write(`${cut(shown(value, SHOWN))}\n`);
      return undefined;
    } catch (/** @type {any} */ error) {
      if (error === MORE) return MORE;
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
   * @throws {typeof MORE} if the input continues in the next line
   */
  async #execute(text, signal) {
    const { timeout, memoryLimit, typescript } = this.#settings;
    this.#isolate ??= await this.#sandbox.createIsolate({ id: 'repl', limits: { cpuMs: timeout, memoryMB: memoryLimit } });
    /** @type {any} */
    let last;
    for (const [before, after] of formsOf(text)) {
      try {
        return await this.#sandbox.executeInSandbox(this.#isolate, before + text + after, {}, { deadline: timeout, signal });
      } catch (/** @type {any} */ error) {
        last = error;
        // What removes types says no place in its messages.
        const isCompiling = isSyntaxError(error) && (typescript || COMPILING.test(error.failure.message));
        if (isCompiling && isAtEnd(error, before, text)) throw MORE;
        // Anything else may have run.
        if (!isSyntaxError(error) || !COMPILING.test(error.failure.message)) break;
      }
    }
    throw last;
  }
}

/** @typedef {Session} ReplSession */

module.exports = { MORE, Session };
