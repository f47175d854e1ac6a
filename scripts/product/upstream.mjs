// Runs isolated-vm's own test files against this package, on every host:
// `node scripts/product/upstream.mjs <directory> [--host node24,bun] [--file timeout] [--limit seconds]`
// The directory is the `tests` folder of a checkout of isolated-vm 7.0.1 (its npm package has none). The files run as isolated-vm's own
// `test.js` runs them: each in a process of its own, which must write `pass`, nothing else, and end with 0. They are copied into a
// temporary folder where `isolated-vm` is this package, as with an npm override.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hosts, selectHosts } from '../setup/hosts.mjs';
import { capture, root } from '../process.mjs';

const DEFAULT_LIMIT_SECONDS = 120;
const AT_A_TIME = 2;
const PACKAGE = 'isolated-vm';

/** Files that identify a checkout of isolated-vm. */
const KNOWN = ['isolate-in-isolate.js', 'orphaned-isolate-gc.js'];

const FINALIZERS = 'wants memory back before the turn of the event loop ends in which `gc()` ran; Node-API runs finalizers after it';

/**
 * Files that a host cannot run for a reason outside this package: host → file → reason.
 * @type {Record<string, Record<string, string>>}
 */
const OUT_OF_REACH = Object.fromEntries(hosts.map(({ name }) => [name, { 'orphaned-isolate-gc.js': FINALIZERS }]));
OUT_OF_REACH.bun['array-buffer-copy.js'] = "wants V8's words for a detached buffer from the host's own engine";

/** As isolated-vm's `test.js` reads them. */
const NODE_ARGS = /node-args: *(.+)/;

function testFiles(directory, part) {
  const names = readdirSync(directory).filter((name) => name.endsWith('.js')).toSorted();
  const strange = KNOWN.filter((name) => !names.includes(name));
  if (strange.length > 0) throw new Error(`${directory} is not isolated-vm's tests folder: it has no ${strange.join(', ')}`);
  return names.filter((name) => !part || part.split(',').some((text) => name.includes(text)));
}

/** Makes a project that depends on isolated-vm and gets this package instead. */
function createProject(directory) {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-upstream-'));
  cpSync(directory, join(folder, 'tests'), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', PACKAGE), 'junction');
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  return folder;
}

async function runFile(host, project, name, limitSeconds) {
  const file = join('tests', name);
  const flags = NODE_ARGS.exec(readFileSync(join(project, file), 'utf8'))?.[1].trim().split(/ +/) ?? [];
  // isolated-vm's `cpu-profiler.js` skips itself where `CI` is set.
  const { NODE_OPTIONS, NODE_PATH, CI, FORCE_COLOR, ...inherited } = process.env;
  const { code, signal, output, late, ms } = await capture(host.executable, host.program(flags, file), {
    limit: limitSeconds * 1000,
    cwd: project,
    env: { ...inherited, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  let trouble;
  if (late) trouble = `still running after ${limitSeconds} s`;
  else if (signal) trouble = `ended by ${signal}`;
  else if (code !== 0) trouble = `ended with exit code ${code}`;
  else if (output !== 'pass\n') trouble = 'wrote something else than `pass`';
  return { trouble, output, ms };
}

function print(host, name, { trouble, output, ms }) {
  console.log(`${(trouble ? 'FAIL' : 'ok').padEnd(4)} ${host.name.padEnd(6)} ${name}  ${(ms / 1000).toFixed(1)} s`);
  if (trouble) console.log(`     ${trouble}\n${output}`.trimEnd().replaceAll('\n', '\n       '));
}

async function runAll({ directory, host, file, limit }) {
  const chosen = selectHosts(host);
  const names = testFiles(directory, file);
  const project = createProject(directory);
  const counts = new Map(chosen.map((one) => [one, { passed: 0, failed: [], unreachable: [] }]));
  const queue = names.flatMap((name) => chosen.map((one) => [one, name]));
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [one, name] = next;
      const count = counts.get(one);
      if (OUT_OF_REACH[one.name]?.[name]) {
        count.unreachable.push(name);
        continue;
      }
      const result = await runFile(one, project, name, limit);
      print(one, name, result);
      if (result.trouble) count.failed.push(name);
      else count.passed += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  } finally {
    rmSync(project, { recursive: true, force: true });
  }

  console.log('');
  for (const [{ name: hostName }, { unreachable }] of counts) {
    for (const name of unreachable) console.log(`Left out on ${hostName}: ${name}: ${OUT_OF_REACH[hostName][name]}`);
  }
  let ok = true;
  for (const [one, { passed, failed }] of counts) {
    ok &&= passed > 0 && failed.length === 0;
    const list = failed.length > 0 ? `: ${failed.join(', ')}` : '';
    console.log(`${one.name.padEnd(6)} ${passed} passed, ${failed.length} failed${list}`);
  }
  return ok;
}

const options = { host: { type: 'string' }, file: { type: 'string' }, limit: { type: 'string' } };
try {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [directory] = positionals;
  if (positionals.length !== 1) throw new Error('usage: node scripts/product/upstream.mjs <tests folder of isolated-vm> [--host node24,bun]');
  const limit = Number(values.limit ?? DEFAULT_LIMIT_SECONDS);
  process.exitCode = (await runAll({ ...values, directory, limit })) ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
