// @ts-check
'use strict';
// Reads the code to run, from a file or standard input.

const { createReadStream } = require('node:fs');
const { UsageError } = require('./arguments.js');

const MAX_BYTES = 64 * 2 ** 20;
const TYPED = /\.[mc]?tsx?$/;

/**
 * @param {NodeJS.ReadableStream} stream
 * @param {string} name
 */
async function readText(stream, name) {
  const decoder = new TextDecoder();
  const parts = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      const part = /** @type {Buffer} */ (chunk);
      bytes += part.length;
      if (bytes > MAX_BYTES) break;
      parts.push(decoder.decode(part, { stream: true }));
    }
  } catch (/** @type {any} */ error) {
    throw new UsageError(`cannot read ${name}: ${error.message}`);
  }
  if (bytes > MAX_BYTES) throw new UsageError(`${name} is longer than ${MAX_BYTES} bytes`);
  parts.push(decoder.decode());
  return parts.join('');
}

/**
 * @param {string} file standard input if it is `-`
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<{ code: string, isTyped: boolean }>} `isTyped`: whether its name says that it may have types
 */
async function readSource(file, stdin) {
  const text = await (file === '-' ? readText(stdin, 'standard input') : readText(createReadStream(file), file));
  // A line for the system is a comment. Lines keep their numbers.
  return { code: text.startsWith('#!') ? `//${text}` : text, isTyped: TYPED.test(file) };
}

module.exports = { readSource };
