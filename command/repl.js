// @ts-check
'use strict';
// `isolated-v8 repl`: reads lines and runs them in a sandbox that keeps its state.

const { createInterface } = require('node:readline');
const { OPTIONS, parse, readLimits } = require('./arguments.js');
const { EXIT } = require('./exit.js');
const { MORE, Session } = require('./session.js');
const { writerTo } = require('./text.js');
const { version } = require('../package.json');

const usage = `Usage: isolated-v8 repl [options]

Reads lines and runs each as a script in one isolate. Values are shown as the host gets them: as copies.

  --timeout <ms>   time limit of each input in milliseconds, default 30000
  --memory <MB>    memory limit in megabytes, at least 8, default 128
  --typescript     allows types
  --web            provides web APIs: URL, TextEncoder, crypto, ...

Control-C ends what runs. Lines of their own: .help, .reset (a new isolate), .exit.
`;

const PROMPT = '> ';
const PROMPT_MORE = '| ';

/** The state of a conversation. */
class Conversation {
  #session;
  #lines;
  #output;
  #isTerminal;
  /** Lines of an input that continues. */
  #pending = '';
  /** @type {AbortController | undefined} */ #running;
  #isOver = false;
  /** @type {Promise<void>} */ #turn = Promise.resolve();

  /**
   * @param {import('./session.js').ReplSession} session
   * @param {import('node:readline').Interface} lines
   * @param {{ write(text: string): unknown }} output
   * @param {boolean} isTerminal
   */
  constructor(session, lines, output, isTerminal) {
    this.#session = session;
    this.#lines = lines;
    this.#output = output;
    this.#isTerminal = isTerminal;
    this.#prompt();
  }

  /** Runs a line after those before it. @param {string} line */
  take(line) {
    this.#turn = this.#turn.then(() => this.#run(line));
  }

  interrupt() {
    if (this.#running !== undefined) {
      this.#running.abort();
    } else if (this.#pending !== '') {
      this.#pending = '';
      this.#output.write('\n');
      this.#prompt();
    } else {
      this.#lines.close();
    }
  }

  /** Resolves when all lines have run. */
  async finish() {
    await this.#turn;
    if (this.#pending !== '') this.#output.write('(the last input is not complete)\n');
    this.#session.reset();
  }

  #prompt() {
    if (!this.#isTerminal) return;
    this.#lines.setPrompt(this.#pending === '' ? PROMPT : PROMPT_MORE);
    this.#lines.prompt();
  }

  /** @param {string} line */
  async #run(line) {
    if (this.#isOver) return;
    switch (line.trim()) {
      case '.exit':
        this.#isOver = true;
        this.#lines.close();
        return;
      case '.help':
        this.#output.write(usage);
        break;
      case '.reset':
        this.#pending = '';
        this.#session.reset();
        break;
      default:
        await this.#evaluate(this.#pending === '' ? line : `${this.#pending}\n${line}`);
    }
    this.#prompt();
  }

  /** @param {string} text */
  async #evaluate(text) {
    this.#running = new AbortController();
    const outcome = await this.#session.run(text, this.#running.signal);
    this.#running = undefined;
    this.#pending = outcome === MORE ? text : '';
  }
}

/** @type {import('./main.js').Command['main']} */
async function main(args, { stdin, stdout }) {
  const { values } = parse(args, OPTIONS);
  const settings = { ...readLimits(values), typescript: values.typescript === true, web: values.web === true };
  const isTerminal = Boolean(stdin.isTTY && stdout.isTTY);
  const session = new Session(settings, writerTo(stdout));
  const lines = createInterface({ input: stdin, ...(isTerminal ? { output: stdout } : {}), terminal: isTerminal });
  if (isTerminal) stdout.write(`isolated-v8 ${version}. Type .help for help.\n`);
  const conversation = new Conversation(session, lines, stdout, isTerminal);
  lines.on('line', (line) => conversation.take(line));
  lines.on('SIGINT', () => conversation.interrupt());
  await new Promise((resolve) => { lines.on('close', () => resolve(undefined)); });
  await conversation.finish();
  return EXIT.OK;
}

module.exports = { main, usage };
