// Preloaded into `deno test`, which says nothing of errors that nobody catches (hosts.mjs looks for this text).

globalThis.addEventListener('error', (event) => {
  console.error(`uncaught outside any test: ${event.error?.stack ?? event.message}`);
});
