// `npm run queue`: runs the job queue among the examples as its users do: the packed packages and BullMQ in a project of its own, a real
// Redis or Valkey server, and a worker process on each host. Not part of `npm test`: it needs the server, from the system's packages
// (`apt-get install redis-server`) or from the path in REDIS_SERVER.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { npm, packMain, packPlatform, readPackage } from '../release/pack.mjs';
import { capture, root } from '../process.mjs';
import { setup } from '../setup.mjs';

const LIMIT_MS = 180_000;
/** The minimum number of workers that must have shared the jobs, if that many run. */
const MIN_WORKERS = 2;
/** The time limit for workers to finish their jobs. */
const FINISH_LIMIT_MS = 20_000;

const EXPECTED = [
  ...Array.from({ length: 12 }, (_, n) => `square of ${n}: ${n * n}`),
  'endless loop: ERR_ISOLATE_DEADLINE: Execution timed out after 5000ms',
  'endless memory: ERR_ISOLATE_MEMORY: Isolate was disposed during execution due to memory limit',
  'typeof process: undefined',
];

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a program; resolves once it has written a line that matches, and rejects if it ends before. */
async function start(command, args, options, ready) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const ended = new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
  let output = '';
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${command} was not ready:\n${output}`)), LIMIT_MS);
    const done = (settle, value) => {
      clearTimeout(timer);
      settle(value);
    };
    child.once('error', (error) => done(reject, error));
    child.once('exit', () => done(reject, new Error(`${command} has ended:\n${output}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        if (ready.test(output)) done(resolve);
      });
    }
  });
  return { child, ended };
}

async function install(folder) {
  cpSync(join(root, 'examples/job-queue'), folder, { recursive: true });
  const [main, platform] = [await packMain(folder), await packPlatform(folder)];
  const manifest = readPackage(folder);
  const local = Object.fromEntries([main, platform].map(({ name, file }) => [name, `file:${file}`]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies: { ...manifest.dependencies, ...local } }));
  await npm(folder, 'install', '--ignore-scripts');
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-queue-'));
const running = [];
try {
  const { values } = parseArgs({ options: { host: { type: 'string', default: 'node24,bun,deno' } } });
  await setup('dependencies', 'addon', 'hosts');
  const hosts = selectHosts(values.host);
  await install(folder);

  const port = await freePort();
  const server = process.env.REDIS_SERVER ?? 'redis-server';
  running.push(await start(server, ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder], {}, /Ready to accept connections/));
  const options = { cwd: folder, env: { ...process.env, REDIS_PORT: String(port), NO_COLOR: '1' } };
  const workers = await Promise.all(hosts.map((host) => start(host.executable, host.program([], 'worker.mjs'), options, /^ready$/m)));
  running.push(...workers);

  const { code, output } = await capture(process.execPath, ['submit.mjs'], { limit: LIMIT_MS, ...options });
  const lines = output.trimEnd().split('\n');
  const [last] = lines.splice(-1);
  // The number of workers with a share depends on chance, but one worker for all jobs would be a bug.
  const shared = Number(/^by (\d+) workers$/.exec(last)?.[1]) >= Math.min(MIN_WORKERS, hosts.length);
  const right = code === 0 && shared && JSON.stringify(lines) === JSON.stringify(EXPECTED);
  for (const { child } of workers) child.kill('SIGTERM');
  const timer = setTimeout(() => workers.forEach(({ child }) => child.kill('SIGKILL')), FINISH_LIMIT_MS);
  const ends = await Promise.all(workers.map(({ ended }) => ended));
  clearTimeout(timer);
  const ok = right && ends.every((end) => end.code === 0);
  console.log(ok ? `ok   ${lines.length} jobs ${last}, on ${hosts.map(({ name }) => name).join(', ')}` : `FAIL ${JSON.stringify({ code, ends })}\n${output}`);
  if (!ok) process.exitCode = 1;
} catch (error) {
  console.error(error.code === 'ENOENT' ? `${error.message}: is there a Redis or Valkey server? (apt-get install redis-server, or REDIS_SERVER)` : error.message);
  process.exitCode = 1;
} finally {
  for (const { child } of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
