// Preloaded into `deno test`, which does not report uncaught errors, nor rejections that come after their test (hosts.mjs looks for this text).

globalThis.addEventListener('error', (event) => {
  console.error(`uncaught outside any test: ${event.error?.stack ?? event.message}`);
});
globalThis.addEventListener('unhandledrejection', (event) => {
  console.error(`uncaught outside any test: ${event.reason?.stack ?? event.reason}`);
});
