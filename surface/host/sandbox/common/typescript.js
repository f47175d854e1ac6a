'use strict';
// Removes the types from TypeScript code. Each type is replaced by blanks, so that all positions stay the same. SWC, compiled to
// WebAssembly, does this in a separate isolate for each text, so that an untrusted text neither blocks the host nor affects other texts.

const { readFileSync } = require('node:fs');
const { clearTimeout, now, setTimeout } = require('../../clock.js');
const { CODE } = require('../../../core/error.js');
const { MAIN_FILE: FILE } = require('../../protocol.js');
const { disposeOf } = require('./disposal.js');
const { bare, own } = require('./options.js');
const { TextTurns } = require('./text-turns.js');
const { leftUntil, withinLimits } = require('./waiting.js');

const PACKAGE = '@swc/wasm-typescript';
const MEMORY_LIMIT = 256;
/** Milliseconds for the package to start, which no text can delay. */
const START_DEADLINE = 60_000;
/** Milliseconds that an isolate waits for a text. */
const KEEP = 60_000;
/** The longest deadline. */
const MAX_TIME = 0x7fff_ffff;

/** The text around a body, which may contain `return`. */
const START = '(async () => {';
const END = '\n})';

/** What the package requires of its host. */
const HOST = `
  class TextDecoder {
    decode(bytes) {
      let text = '';
      for (let i = 0; bytes && i < bytes.length; i += 8192) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 8192));
      return decodeURIComponent(escape(text));
    }
  }
  class TextEncoder {
    encode(text) {
      return Uint8Array.from(unescape(encodeURIComponent(text.toWellFormed())), (byte) => byte.charCodeAt(0));
    }
  }
  const Buffer = { from: (text) => Uint8Array.fromBase64(text) };
  const parts = { util: { TextDecoder, TextEncoder }, 'node:buffer': { Buffer } };
  const module = { exports: {} };
  const require = (name) => parts[name];`;

const CALL = `(texts) => texts.map(([text, isModule]) => {
  try {
    return [module.exports.transformSync(text, { mode: 'strip-only', module: isModule }).code];
  } catch (error) {
    return [undefined, String(error.message), error.startLine, error.startColumn];
  }
})`;

/**
 * A body without types, or why there is none.
 * @typedef {{ body: Body, failure?: undefined } | { body?: undefined, failure: Outcome }} Stripped
 * @typedef {import('./normalize.js').Body} Body
 * @typedef {import('./execution.js').Outcome} Outcome
 */

/** @typedef {(bodies: Body[], timeout: number, signal: any) => Promise<Stripped[]>} Strip */

/**
 * @param {string} value
 * @param {Partial<Outcome>} more
 * @returns {Stripped}
 */
const refused = (value, more) => ({ failure: { ok: false, value, logs: [], lost: 0, ...more } });

/** A line that starts with a statement that only modules have. Lines are searched one by one, since a text may be all blanks. */
const MODULE = /^[^\S\n\r\u2028\u2029]*(?:import\s*[\w$"'*{]|export\b)/m;

/**
 * Why code is neither a body nor, if it may be one, a module; undefined if it is a body.
 * @param {Stripped} body
 * @param {Stripped | undefined} main
 * @param {string} code
 */
const failureOfBoth = (body, main, code) => 
  (body.failure !== undefined && main?.failure !== undefined && MODULE.test(code) ? main.failure : body.failure);

/** Whether it is a function body, and so must be wrapped as one. @param {Body} body */
const isBody = (body) => own(body, 'name') === undefined && own(body, 'script') === undefined;

/**
 * @param {(memoryLimit: number) => any} make creates an isolate that `engineStats` counts as warm
 * @param {number} [keep] milliseconds that an isolate waits for a text
 */
function createStripper(make, keep = KEEP) {
  /** The program that removes types. @type {string | undefined} */
  let program;
  /** The isolate for the next text. @type {Promise<{ isolate: any, strip: any }> | undefined} */
  let next;
  const turns = new TextTurns();
  /** Ends its wait. @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function prepare() {
    program ??= `(() => {${HOST}\n(() => {${readFileSync(require.resolve(PACKAGE), 'utf8')}\n})();\nreturn ${CALL};\n})()`;
    const isolate = make(MEMORY_LIMIT);
    const context = await isolate.createContext();
    return { isolate, strip: await context.eval(program, bare({ reference: true, timeout: 0, deadline: START_DEADLINE })) };
  }

  /** Keeps an isolate ready for the next text, for a while. */
  function stock() {
    const stocked = next ??= prepare();
    const forget = () => {
      if (next === stocked) {
        next = undefined;
      }
    };
    stocked.catch(forget);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (next === stocked) {
        forget();
        void stocked.then(({ isolate }) => disposeOf(isolate), forget);
      }
    }, keep).unref();
  }

  /**
   * Leaves an isolate, for which a text does not wait any longer, to another text.
   * @param {Promise<{ isolate: any, strip: any }>} ready
   */
  function leave(ready) {
    next ??= ready;
    if (next !== ready) {
      ready.then(({ isolate }) => disposeOf(isolate), () => {});
    }
    stock();
  }

  /**
   * @param {[text: string, isModule: boolean][]} texts
   * @param {number} until when its deadline is over, as a value of `now()` in clock.js
   * @param {any} signal
   * @returns {Promise<[code: string | undefined, message: string, line: number, column: number][]>}
   */
  async function call(texts, until, signal) {
    const ready = next ?? prepare();
    next = undefined;
    const { isolate, strip } = await withinLimits(ready, until, signal).catch((error) => {
      leave(ready);
      throw error;
    });
    try {
      const whole = Math.min(leftUntil(until), MAX_TIME);
      return await strip.apply(undefined, [texts], bare({ timeout: 0, deadline: whole, signal, arguments: bare({ copy: true }), result: bare({ copy: true }) }));
    } finally {
      disposeOf(isolate);
      stock();
    }
  }

  /** @type {Strip} */
  return async function strip(bodies, timeout, signal) {
    try {
      const until = now() + timeout;
      /** @type {[text: string, isModule: boolean][]} */
      const texts = bodies.map((body) => (isBody(body) ? [START + body.text + END, false] : [body.text, own(body, 'name') !== undefined]));
      const characters = texts.reduce((sum, [text]) => sum + text.length, 0);
      const results = await turns.run(characters, until, signal, () => call(texts, until, signal));
      return results.map(([code, message, line, column], index) => {
        const body = bodies[index];
        const before = isBody(body) ? START.length : 0;
        if (code !== undefined) {
          return { failure: undefined, body: { ...body, text: isBody(body) ? code.slice(START.length, -END.length) : code } };
        }
        const place = line === 1 ? column - before + body.column : column;
        const stack = line === undefined ? '' : `\n    at ${own(body, 'name') ?? own(body, 'script') ?? FILE}:${line + body.line}:${place + 1}`;
        return refused(message, { name: 'SyntaxError', stack });
      });
    } catch (error) {
      if (signal?.aborted) {
        // The error is the signal's reason, which may be any value. Callers check the signal.
        return bodies.map(() => refused('Execution was aborted', { code: CODE.ABORTED }));
      }
      const { code, message } = /** @type {any} */ (error);
      return bodies.map(() => refused(`TypeScript types cannot be removed: ${message}`, { code }));
    }
  };
}

module.exports = { createStripper, failureOfBoth };
