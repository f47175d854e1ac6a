// The tests of a checkout of test262, and their front matter.

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** The parts of test262 that exercise this project's own code, not V8's alone. */
export const SUBSET = [
  'language',
  'built-ins/ArrayBuffer',
  'built-ins/Atomics',
  'built-ins/FinalizationRegistry',
  'built-ins/JSON',
  'built-ins/Promise',
  'built-ins/Proxy',
  'built-ins/SharedArrayBuffer',
  'built-ins/Temporal',
];

/** Features that a host must provide and this one does not. */
const ABSENT_FEATURES = ['IsHTMLDDA', 'source-phase-imports-module-source'];
/** Guests may always block. */
const ABSENT_FLAGS = ['CanBlockIsFalse'];

/**
 * @typedef {object} Test one way in which a file runs
 * @property {string} name its path below `test`, and `strict` if it runs in both modes
 * @property {string} file
 * @property {string[]} harness files of the harness that run before it
 * @property {boolean} strict
 * @property {boolean} module
 * @property {boolean} async
 * @property {{ phase: string, type: string } | undefined} negative
 * @property {string[]} features
 * @property {string} [skip] why it does not run
 */

/** A list in YAML, in brackets or with dashes. */
function listOf(head, key) {
  const found = new RegExp(`^[ \\t]*${key}:[ \\t]*(?:\\[([^\\]]*)\\]|((?:\\n[ \\t]*-[^\\n]*)+))`, 'm').exec(head);
  const items = found?.[1]?.split(',') ?? found?.[2]?.split(/\n[ \t]*-/) ?? [];
  return items.map((item) => item.trim()).filter(Boolean);
}

/** The contents of the comment at the beginning of a test. */
export function frontMatter(source) {
  const head = (/\/\*---([\s\S]*?)---\*\//.exec(source)?.[1] ?? '').replaceAll(/\r\n?/g, '\n');
  const negative = /^[ \t]*negative:((?:\n[ \t]+\w+:.*)+)/m.exec(head)?.[1];
  const field = (name) => new RegExp(`\\b${name}:[ \\t]*(\\w+)`).exec(negative)?.[1];
  return {
    flags: listOf(head, 'flags'),
    includes: listOf(head, 'includes'),
    features: listOf(head, 'features'),
    negative: negative && { phase: field('phase'), type: field('type') },
  };
}

/**
 * The ways in which a file must run.
 * @returns {Test[]}
 */
function waysToRun(root, file) {
  const { flags, includes, features, negative } = frontMatter(readFileSync(join(root, 'test', file), 'utf8'));
  const has = (flag) => flags.includes(flag);
  const absent = ABSENT_FEATURES.find((feature) => features.includes(feature)) ?? ABSENT_FLAGS.find(has);
  const async = has('async');
  const harness = has('raw') ? [] : ['assert.js', 'sta.js', ...(async ? ['doneprintHandle.js'] : []), ...includes];
  const test = { name: file, file, harness, strict: false, module: has('module'), async, negative, features, skip: absent };
  if (has('module') || has('raw') || has('noStrict')) return [test];
  const strict = { ...test, strict: true, name: `${file} strict` };
  return has('onlyStrict') ? [strict] : [test, strict];
}

/**
 * All tests in some folders or files below `test`.
 * @param {string} root the checkout
 * @param {string[]} parts
 * @returns {Test[]}
 */
export function findTests(root, parts) {
  const top = join(root, 'test');
  if (!existsSync(join(root, 'harness/assert.js')) || !existsSync(top)) {
    throw new Error(`${root} is not a checkout of test262: it has no harness/assert.js, or no test`);
  }
  const files = parts.flatMap((part) => {
    const path = join(top, part);
    if (!existsSync(path)) throw new Error(`there is no ${path}`);
    if (statSync(path).isFile()) return [path];
    return readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
  });
  return files
    .filter((file) => file.endsWith('.js') && !file.includes('_FIXTURE'))
    .toSorted()
    .flatMap((file) => waysToRun(root, relative(top, file).split(sep).join('/')));
}
