// `npm run bundlers`: installs the packages as npm publishes them, and the tools of docs/deployment.md. With each of them, builds a program as
// that page says, and runs the result. `--only vite,next` selects tools.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { npm, packMain, packPlatform } from '../release/pack.mjs';
import { capture, environmentOfUser, root } from '../process.mjs';
import { setup } from '../setup.mjs';

const LIMIT_MS = 240_000;
const DONE = 'bundled and running';

/** Packages of each tool. */
const PACKAGES = {
  esbuild: { esbuild: '0.28.2' },
  rollup: { rollup: '4.68.7' },
  webpack: { webpack: '5.112.2', 'webpack-cli': '7.3.1' },
  vite: { vite: '8.3.8' },
  next: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' },
  bun: {},
};

const external = '/^isolated-v8(\\/|$)/';
const webpackConfig = (entry, externalsType, output) => `export default {
  mode: 'production', entry: './${entry}', target: 'node', externals: [${external}], externalsType: '${externalsType}',
  output: ${output}, experiments: { outputModule: ${externalsType === 'module'} },
};`;

/** Files of the project. What is bundled without the whole package has neither processes of their own nor TypeScript. */
const FILES = {
  'main.mjs': `import { createSandbox, createSubprocessSandbox } from 'isolated-v8';
async function main() {
  const { result, error } = await createSandbox({ twice: async (n) => 2 * n }, { typescript: true }).execute('return twice(21) as number');
  const apart = await createSubprocessSandbox().execute('return 6 * 7');
  console.log(result === 42 && apart.result === 42 ? '${DONE}' : error ?? apart.error);
}
main();`,
  'alone.mjs': `import { createSandbox } from 'isolated-v8';
createSandbox({ twice: async (n) => 2 * n }).execute('return twice(21)').then(({ result, error }) => console.log(result === 42 ? '${DONE}' : error));`,
  'rollup.config.mjs': `export default { input: 'main.mjs', output: { file: 'rollup/main.mjs', format: 'es' }, external: [${external}] };`,
  'webpack.commonjs.mjs': webpackConfig('main.mjs', 'commonjs', "{ path: process.cwd() + '/webpack', filename: 'main.cjs' }"),
  'webpack.module.mjs': webpackConfig('main.mjs', 'module', "{ path: process.cwd() + '/webpack', filename: 'main.mjs', module: true }"),
  'vite.all.mjs': "export default { ssr: { noExternal: true, external: ['isolated-v8'] } };",
  'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;',
  'app/run/route.js': `import { createSandbox, createSubprocessSandbox } from 'isolated-v8';
export const dynamic = 'force-dynamic';
export async function GET() {
  const { result, error } = await createSandbox({}).execute('6 * 7');
  const apart = await createSubprocessSandbox().execute('return 6 * 7');
  return new Response(result === 42 && apart.result === 42 ? '${DONE}' : error ?? apart.error);
}`,
};

/** The last configuration for Next.js in docs/deployment.md. */
function nextConfig() {
  const [config] = [...readFileSync(join(root, 'docs/deployment.md'), 'utf8').matchAll(/^cat > next\.config\.mjs <<'END'\n([^]*?)^END$/gm)].slice(-1);
  if (config === undefined) throw new Error('docs/deployment.md does not have a next.config.mjs');
  return config[1];
}

const [node, bun] = ['node24', 'bun'].map((name) => selectHosts(name)[0].executable);
/** @param {string} tool */
const bin = (tool, ...args) => [node, `node_modules/${tool}`, ...args];
const esbuild = (...args) => ['node_modules/.bin/esbuild', ...args];

/**
 * How each tool builds a program. `alone`: the folder with the result runs outside of the project.
 * @type {{ tool: string, name: string, build: string[], run: string[], alone?: boolean, serves?: string }[]}
 */
const BUILDS = [
  { tool: 'esbuild', name: '--external', build: esbuild('main.mjs', '--bundle', '--platform=node', '--external:isolated-v8', '--outfile=esbuild/main.cjs'), run: [node, 'esbuild/main.cjs'] },
  { tool: 'esbuild', name: '--packages=external', build: esbuild('main.mjs', '--bundle', '--platform=node', '--format=esm', '--packages=external', '--outfile=esbuild/main.mjs'), run: [node, 'esbuild/main.mjs'] },
  { tool: 'esbuild', name: '--loader:.node=copy', build: esbuild('alone.mjs', '--bundle', '--platform=node', '--format=cjs', '--loader:.node=copy', '--outfile=copied/main.cjs'), run: [node, 'copied/main.cjs'], alone: true },
  { tool: 'rollup', name: 'external', build: bin('rollup/dist/bin/rollup', '--config', 'rollup.config.mjs'), run: [node, 'rollup/main.mjs'] },
  { tool: 'webpack', name: 'commonjs', build: bin('webpack/bin/webpack.js', '--config', 'webpack.commonjs.mjs'), run: [node, 'webpack/main.cjs'] },
  { tool: 'webpack', name: 'module', build: bin('webpack/bin/webpack.js', '--config', 'webpack.module.mjs'), run: [node, 'webpack/main.mjs'] },
  { tool: 'vite', name: '--ssr', build: bin('vite/bin/vite.js', 'build', '--ssr', 'main.mjs', '--outDir', 'vite'), run: [node, 'vite/main.js'] },
  { tool: 'vite', name: 'noExternal: true', build: bin('vite/bin/vite.js', 'build', '--ssr', 'main.mjs', '--outDir', 'vite', '--config', 'vite.all.mjs'), run: [node, 'vite/main.js'] },
  { tool: 'next', name: "output: 'standalone'", build: bin('next/dist/bin/next', 'build'), run: [node, '.next/standalone/server.js'], alone: true, serves: '/run' },
  { tool: 'bun', name: 'build --compile', build: [bun, 'build', '--compile', 'alone.mjs', '--outfile=compiled/main'], run: ['compiled/main'], alone: true },
];

const environment = { ...environmentOfUser(), NEXT_TELEMETRY_DISABLED: '1' };

async function runCommand([executable, ...args], cwd) {
  const { code, signal, output, late } = await capture(executable, args, { cwd, limit: LIMIT_MS, env: environment });
  if (code !== 0) throw new Error(`${executable} ${args.join(' ')} ${late ? 'did not end' : `ended with ${signal ?? `exit code ${code}`}`}:\n${output.trimEnd()}`);
  return output.trim();
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}

/** Starts a server, and resolves with what it answers to a request of `path`. */
async function answerOf([executable, ...args], cwd, path) {
  const port = await freePort();
  const server = spawn(executable, args, { cwd, env: { ...environment, PORT: String(port), HOSTNAME: '127.0.0.1' }, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    for (const end = performance.now() + LIMIT_MS; performance.now() < end && server.exitCode === null; await sleep(100)) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      if (response !== undefined) return await response.text();
    }
    throw new Error(`The server did not answer (exit code ${server.exitCode})`);
  } finally {
    server.kill('SIGKILL');
  }
}

/** Builds a program and runs it; resolves with what it says. */
async function outcomeOf({ build, run, alone, serves }, project, index) {
  await runCommand(build, project);
  const [executable, file = executable] = run;
  const place = alone ? join(project, `../alone-${index}`) : project;
  // Links in a folder that `next build` writes lead into it.
  if (alone) cpSync(join(project, dirname(file)), join(place, dirname(file)), { recursive: true, verbatimSymlinks: true });
  const command = file === executable ? [join(place, file)] : run;
  return serves === undefined ? runCommand(command, place) : answerOf(command, place, serves);
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-bundlers-'));
try {
  const { values } = parseArgs({ options: { only: { type: 'string' } } });
  const tools = values.only?.split(',') ?? Object.keys(PACKAGES);
  const unknown = tools.find((tool) => !Object.hasOwn(PACKAGES, tool));
  if (unknown !== undefined) throw new Error(`--only: there is no ${unknown}, but ${Object.keys(PACKAGES).join(', ')}`);
  await setup('addon', 'hosts');
  const packed = [await packMain(folder), await packPlatform(folder)].map(({ name, file }) => [name, `file:../${file}`]);
  const project = join(folder, 'project');
  for (const [name, text] of Object.entries({ ...FILES, 'next.config.mjs': nextConfig() })) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  const dependencies = Object.assign(Object.fromEntries(packed), ...tools.map((tool) => PACKAGES[tool]));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  await npm(project, 'install', '--ignore-scripts', '--prefer-offline');
  for (const [index, build] of BUILDS.entries()) {
    if (!tools.includes(build.tool)) continue;
    const start = performance.now();
    const said = await outcomeOf(build, project, index).catch(({ message }) => message);
    const isDone = said === DONE;
    console.log(`${(isDone ? 'ok' : 'FAIL').padEnd(4)} ${build.tool} ${build.name}  ${((performance.now() - start) / 1000).toFixed(1)} s`);
    if (!isDone) {
      console.log(said.replace(/^/gm, '       '));
      process.exitCode = 1;
    }
  }
} catch (error) {
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
