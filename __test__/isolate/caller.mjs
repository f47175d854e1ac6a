// What the tests of `syncCalls: 'caller'` share.

import { passes } from './helper.mjs';

/** Elsewhere, synchronous calls run on threads of their own. */
export const SKIP = process.platform === 'linux' && process.arch === 'x64' ? false : 'elsewhere they run on threads of their own';
export const ON_CALLER = "assert.equal(ivm.configureEngine({ syncCalls: 'caller' }).syncCalls, 'caller');";
export const here = (code) => passes(`${ON_CALLER}\n${code}`, { timeout: 60_000 });

/** Guests that V8 does not stop, or stops late. */
export const ENDLESS = [
  'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'const a = new Array(3e6).fill("x"); for (;;) JSON.stringify(a)',
  'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
  '"ab".repeat(2 ** 26).replaceAll("a", "xyz").replaceAll("b", "xyz").length',
];
