// Preloaded into `deno test`, which does not report uncaught errors (hosts.mjs looks for this text).

globalThis.addEventListener('error', (event) => {
  console.error(`uncaught outside any test: ${event.error?.stack ?? event.message}`);
});
