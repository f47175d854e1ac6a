'use strict';
// The first difference between two values: the comparison of the codec's own tests, for CommonJS.

/** @type {((left: unknown, right: unknown) => string | undefined) | undefined} */
let compare;

const ready = (async () => {
  ({ difference: compare } = await import('../../__test__/wire/helper.mjs'));
})();

/** @param {unknown} left @param {unknown} right */
function difference(left, right) {
  if (compare === undefined) throw new Error('wait for `ready`');
  return compare(left, right);
}

module.exports = { difference, ready };
