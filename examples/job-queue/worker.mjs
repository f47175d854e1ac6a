// Takes jobs from the queue and runs each in an isolate of its own. Start as many of these as you like, on as many machines: that is how
// sandboxes go beyond one of them. `REDIS_PORT=6379 node worker.mjs`

import { UnrecoverableError, Worker } from 'bullmq';
import { createSandbox } from 'isolated-v8';

const connection = { host: process.env.REDIS_HOST ?? '127.0.0.1', port: Number(process.env.REDIS_PORT ?? 6379) };

// How many guests run at once on this machine is for the worker to say: each may keep a processor busy until its timeout.
const concurrency = 2;
const sandbox = createSandbox({}, { timeout: 5_000, memoryLimit: 32, maxOutputSize: 100_000, warm: concurrency });

const worker = new Worker('programs', async ({ data: { code, input } }) => {
  const { result, failure, usage } = await sandbox.execute(`const input = ${JSON.stringify(input)};\nreturn (${code})(input);`);
  // A program that fails will fail again: no other try.
  if (failure !== undefined) throw new UnrecoverableError(`${failure.code ?? failure.name}: ${failure.message}`);
  return { result, hostCalls: usage.hostCalls, worker: process.pid };
}, { connection, concurrency });

worker.on('ready', () => console.log('ready'));
worker.on('error', (error) => console.error(error.message));

// Jobs that run are finished first; those of a worker that dies go to another one.
process.once('SIGTERM', async () => {
  await worker.close();
  process.exit(0);
});
