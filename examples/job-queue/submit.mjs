// Puts programs into the queue and waits for what they come to. `REDIS_PORT=6379 node submit.mjs`

import { Queue, QueueEvents } from 'bullmq';

const connection = { host: process.env.REDIS_HOST ?? '127.0.0.1', port: Number(process.env.REDIS_PORT ?? 6379) };
const queue = new Queue('programs', { connection });
const events = new QueueEvents('programs', { connection });
await events.waitUntilReady();

const RESULT_LIMIT_MS = 60_000;
// The squares take a while, so that no worker is done with all of them before the others have asked.
const programs = [
  ...Array.from({ length: 12 }, (_, n) => ({ name: `square of ${n}`, code: '(n) => { let sum = 0; for (let i = 0; i < 3e7; i += 1) sum += i; return sum > 0 && n * n; }', input: n })),
  { name: 'endless loop', code: '() => { for (;;); }' },
  { name: 'endless memory', code: '() => { const kept = []; for (;;) kept.push(new Array(1000).fill(1.5)); }' },
  { name: 'typeof process', code: '() => typeof process' },
];

const jobs = await queue.addBulk(programs.map(({ name, code, input = null }) => ({ name, data: { code, input } })));
const workers = new Set();
for (const job of jobs) {
  try {
    const { result, worker } = await job.waitUntilFinished(events, RESULT_LIMIT_MS);
    workers.add(worker);
    console.log(`${job.name}: ${result}`);
  } catch (error) {
    console.log(`${job.name}: ${error.message}`);
  }
}
console.log(`by ${workers.size} workers`);

await events.close();
await queue.close();
