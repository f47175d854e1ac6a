// Expressions of n8n's workflows, evaluated by n8n's own runtime: a package that is written for isolated-vm. Each library gets a copy of it.

import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fetchInto, folderIn, PEER, VERSIONS } from './libraries.mjs';

const RUNTIME = '@n8n/expression-runtime';
const VERSION = '0.32.0';
const folder = folderIn(`expression-runtime-${VERSION}`);

export const fetchRuntime = () => fetchInto(folder, { [RUNTIME]: VERSION, [PEER]: VERSIONS[PEER] });

const ITEMS = 100;
const items = Array.from({ length: ITEMS }, (_, id) => ({ id, name: `Item ${id}`, price: id * 1.5, stock: { left: id % 2 } }));
const data = {
  $json: { name: 'Ada', last: 'Lovelace', email: 'ada@example.com', age: 36, address: { city: 'London' }, numbers: items.map(({ id }) => id), items },
};
const MEMORY_LIMIT_MB = 128;
const TIMEOUT_MS = 5_000;
/** A runtime evaluates many expressions, so its code is compiled for speed when the measurement begins. */
const WARMUP_MS = 1_500;

/** The runtime, which requires isolated-vm when it makes its first isolate. */
function load(ivm) {
  const require = createRequire(join(folder, 'package.json'));
  const place = require.resolve(PEER);
  const own = `${sep}node_modules${sep}${RUNTIME.replace('/', sep)}${sep}`;
  for (const file of Object.keys(require.cache)) if (file.includes(own)) delete require.cache[file];
  const runtime = require(RUNTIME);
  return {
    runtime,
    /** Calls `work` while isolated-vm is `ivm`. */
    async inPlace(work) {
      const before = require.cache[place];
      require.cache[place] = { id: place, filename: place, loaded: true, exports: ivm, children: [], paths: [] };
      try {
        return await work();
      } finally {
        if (before === undefined) delete require.cache[place];
        else require.cache[place] = before;
      }
    },
  };
}

async function evaluatorOf(ivm, expression) {
  const { runtime: { ExpressionEvaluator, IsolatedVmBridge }, inPlace } = load(ivm);
  const evaluator = new ExpressionEvaluator({
    createBridge: () => new IsolatedVmBridge({ memoryLimit: MEMORY_LIMIT_MB, timeout: TIMEOUT_MS }),
    maxCodeCacheSize: 16,
    poolSize: 1,
  });
  await inPlace(() => evaluator.initialize());
  const caller = {};
  await evaluator.acquire(caller);
  return {
    run: () => evaluator.evaluate(expression, data, caller),
    async end() {
      await evaluator.release(caller);
      await evaluator.dispose();
    },
  };
}

const kind = (id, title, target, expression, expected) => ({
  id: `n8n-${id}`, title: `n8n: ${title}`, target, warmupMs: WARMUP_MS, expected, prepare: (ivm) => evaluatorOf(ivm, expression),
});

const [EVALUATION, MAP] = ['1.0', '0.5'];

export default [
  kind('constant', 'a constant', EVALUATION, '{{ 1 + 1 }}', 2),
  kind('property', 'a property', EVALUATION, '{{ $json.name }}', 'Ada'),
  kind('nested', 'a nested property', EVALUATION, '{{ $json.address.city }}', 'London'),
  kind('template', 'a text with four properties', EVALUATION, '{{ $json.name }} {{ $json.last }}, {{ $json.email }}, {{ $json.age }}', 'Ada Lovelace, ada@example.com, 36'),
  kind('numbers', `a map over ${ITEMS} numbers`, MAP, '{{ $json.numbers.map((one) => one * 2) }}', items.map(({ id }) => id * 2)),
  kind('items', `a map over ${ITEMS} items`, MAP, '{{ $json.items.map((one) => one.name) }}', items.map(({ name }) => name)),
  kind('reduce', `a sum over ${ITEMS} items`, EVALUATION, '{{ $json.items.reduce((sum, one) => sum + one.price, 0) }}', items.reduce((sum, { price }) => sum + price, 0)),
  kind('copy', `${ITEMS} items, copied out`, EVALUATION, '{{ $json.items }}', items),
];
