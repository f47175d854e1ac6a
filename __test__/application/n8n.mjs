// Expressions of n8n's workflows, evaluated by @n8n/expression-runtime in isolates. scripts/product/application.mjs installs what this imports. All
// assertions also hold with isolated-vm itself.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { ExpressionEvaluator, IsolatedVmBridge } from '@n8n/expression-runtime';

const evaluator = new ExpressionEvaluator({
  createBridge: () => new IsolatedVmBridge({ memoryLimit: 64, timeout: 500 }),
  maxCodeCacheSize: 100,
  poolSize: 2,
});
await evaluator.initialize();

const data = {
  $json: {
    user: { name: 'Ada Lovelace', email: 'ada@example.com', tags: ['a', 'b', 'b'], since: new Date(0) },
    prices: [3, 1, 2], missing: null, rows: Array.from({ length: 300 }, (_, index) => ({ id: index, label: `row ${index}` })),
  },
  $itemIndex: 4,
};

let count = 0;
function evaluate(expression, caller) {
  count += 1;
  return evaluator.evaluate(expression, data, caller);
}

async function withCaller(body) {
  const caller = {};
  await evaluator.acquire(caller);
  try {
    return await body(caller);
  } finally {
    await evaluator.release(caller);
  }
}

await withCaller((caller) => {
  const cases = [
    ['{{ $json.user.email }}', 'ada@example.com'],
    ['Hello {{ $json.user.name.split(" ")[0] }}!', 'Hello Ada!'],
    ['{{ $json.prices.map((price) => price * 2) }}', [6, 2, 4]],
    ['{{ [...$json.prices].sort().join() }}', '1,2,3'],
    ['{{ extend($json.prices, "sum", []) }}', 6],
    ['{{ extend($json.user.tags, "removeDuplicates", []) }}', ['a', 'b']],
    ['{{ extend($json.user.name, "toSnakeCase", []) }}', 'ada_lovelace'],
    ['{{ extend("a b", "urlEncode", []) }}', 'a%20b'],
    ['{{ $json.rows.length }}', 300],
    ['{{ $json.rows[250].label }}', 'row 250'],
    ['{{ $json.rows.filter((row) => row.id % 100 === 0).map((row) => row.label) }}', ['row 0', 'row 100', 'row 200']],
    ['{{ Object.keys($json.user) }}', ['name', 'email', 'tags', 'since']],
    ['{{ $json.missing }}', null],
    ['{{ $json.absent?.deeper }}', undefined],
    ['{{ $itemIndex + 1 }}', 5],
    ['{{ DateTime.fromISO("2026-01-31T00:00:00Z").plus({ months: 1 }).toUTC().toISODate() }}', '2026-02-28'],
    ['{{ $jmespath({ a: [{ b: 1 }, { b: 2 }] }, "a[*].b") }}', [1, 2]],
    ['{{ typeof process }}', 'undefined'],
    ['{{ JSON.stringify({ ...$json.user.tags }) }}', '{"0":"a","1":"b","2":"b"}'],
  ];
  for (const [expression, expected] of cases) assert.deepEqual(evaluate(expression, caller), expected, expression);
});

// Errors and limits. What an expression throws makes it undefined, as in n8n.
await withCaller((caller) => {
  assert.equal(evaluate('{{ (() => { throw new RangeError("mine") })() }}', caller), undefined);
  assert.equal(evaluate('{{ $json.missing.deeper }}', caller), undefined);
  assert.throws(() => evaluate('{{ 1 +* }}', caller), { name: 'SyntaxError' });
  assert.throws(() => evaluate('{{ (() => { for (;;); })() }}', caller), { message: 'Expression timed out after 500ms' });
});

// Several callers at a time, more than the pool has.
const results = await Promise.all(Array.from({ length: 6 }, (_, index) => withCaller((caller) => evaluate(`{{ $json.rows[${index}].id * 2 }}`, caller))));
assert.deepEqual(results, [0, 2, 4, 6, 8, 10]);
await evaluator.dispose();

const { name } = createRequire(import.meta.url)('isolated-vm/package.json');
console.log(`${count} expressions with ${name}`);
