// Profiles scenarios with Linux's `perf`, and writes the functions with the most processor time, by thread, to bench/profiles.md.
// The addon must have its symbols: CARGO_PROFILE_RELEASE_STRIP=none npm run build.

import { cpus, tmpdir } from 'node:os';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { capture, root } from '../scripts/process.mjs';
import { flagsOf } from './libraries.mjs';
import { choose } from './scenarios.mjs';

/** Cold life cycles do all work on one thread, warm ones on several. */
const LEFT_OUT = /-cold\b/;
/** Compiled guest code has no names: only its total share is shown. */
const NAMELESS = /^kernel-/;
const LIMIT_MS = 120_000;
const SHOWN = 14;
const PER_SECOND = '1999';
const MAX_CHARS = 110;
/** Names of the host's compiled JavaScript come from a map that it writes. */
const NAMES = '--perf-basic-prof-only-functions';
const REPORT = ['--stdio', '--no-children', '--call-graph=none', '--percent-limit=0.8', '--field-separator=|'];

async function perf(args) {
  const { code, output } = await capture('perf', args, { limit: LIMIT_MS });
  if (code !== 0) throw new Error(`perf ${args[0]} failed: ${output.trim().split('\n').at(-1)}`);
  return output;
}

/** Names must not contain paths of this machine. */
const nameOf = (symbol) => symbol.replace(/^\[[.k]\] /, '').replaceAll(`${root}/`, '').slice(0, MAX_CHARS);
const placeOf = (object) => object.replace('[kernel.kallsyms]', 'kernel').replace(/^isolated-v8\..*\.node$/, 'addon').replace(/^(perf-|\[JIT\]|\/\/anon|anon).*$/, 'JavaScript');

function* symbolsIn(report) {
  for (const line of report.split('\n')) {
    const [share, thread, object, symbol = ''] = line.split('|').map((cell) => cell.trim());
    if (object !== undefined && share.endsWith('%')) yield { share, thread, place: placeOf(object), name: nameOf(symbol) };
  }
}

async function profileOf(host, id, folder) {
  const data = join(folder, 'data');
  await perf(['record', '--quiet', '-F', PER_SECOND, '-o', data, '--', host.executable, ...host.program([...flagsOf(host.name), NAMES], 'bench/profile.mjs'), id]);
  const sort = NAMELESS.test(id) ? 'comm,dso' : 'comm,dso,symbol';
  const symbols = [...symbolsIn(await perf(['report', ...REPORT, `--sort=${sort}`, '-i', data]))];
  if (symbols.some(({ place, name }) => place === 'addon' && /^0x[\da-f]+$/.test(name))) {
    throw new Error('the addon has no symbols: CARGO_PROFILE_RELEASE_STRIP=none npm run build');
  }
  return symbols.slice(0, SHOWN);
}

const line = ({ share, thread, place, name }) => `${share.padStart(7)}  ${thread.padEnd(15)}  ${place.padEnd(12)}  ${name}`.trimEnd();

export async function profiles(host, { filter }) {
  if (process.platform !== 'linux') throw new Error('--part profiles needs Linux');
  const maps = () => readdirSync(tmpdir()).filter((name) => /^perf-\d+\.map$/.test(name));
  const others = new Set(maps());
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-profile-'));
  const sections = [];
  try {
    for (const { id, title } of choose(filter).filter((scenario) => !LEFT_OUT.test(scenario.id))) {
      const lines = (await profileOf(host, id, folder)).map(line);
      console.log([title, ...lines].join('\n'));
      sections.push([`## ${title}`, '', '```text', ...lines, '```'].join('\n'));
    }
  } finally {
    rmSync(folder, { recursive: true });
    for (const name of maps()) if (!others.has(name)) rmSync(join(tmpdir(), name));
  }
  if (filter === undefined) writeFileSync(join(root, 'bench/profiles.md'), `${introduction(host)}\n\n${sections.join('\n\n')}\n`);
  return true;
}

const introduction = ({ name }) => `# Profiles

The functions that take most of the processor in each scenario of [the benchmarks](../BENCHMARKS.md), of all threads of the process, on
${name}, ${cpus()[0]?.model.trim()}: \`npm run bench -- --part profiles\`, with an addon that has its symbols
(\`CARGO_PROFILE_RELEASE_STRIP=none npm run build\`) and Linux' \`perf\`. \`MainThread\` is the host's, \`isolated-v8\` an isolate's,
\`V8 DefaultWorker\` one of the threads that help V8 collect garbage. What a spinning thread takes is a wait. Of what guests
compute the libraries are listed: the addon is V8's built-ins, interpreter, compilers and collector, \`JavaScript\` what they compiled.`;
