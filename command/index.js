#!/usr/bin/env node
// @ts-check
'use strict';
// The package's command: `npx isolated-v8 <command>`.

const { main } = require('./main.js');

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code !== 'EPIPE') throw error;
    // The reader has gone, such as `head`.
    process.exit();
  });
}
(async () => {
  process.exitCode = await main(process.argv.slice(2));
})();
