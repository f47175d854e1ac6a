'use strict';
// Values of the host as data.

/**
 * A value as data: what cannot be cloned loses what JSON has no form for.
 * @param {unknown} value
 */
function plain(value) {
  try {
    return structuredClone(value);
  } catch {
    const json = JSON.stringify(value);
    return json === undefined ? undefined : JSON.parse(json);
  }
}

module.exports = { plain };
