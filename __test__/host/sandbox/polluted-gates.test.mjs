// What a plugin or a tool's caller is refused stays refused, whatever other code of the host has put on the prototypes: for every name in the
// sources of the checks, a property that all objects inherit, or one whose setter ignores what is assigned.

/* oxlint-disable no-extend-native, unicorn/no-thenable -- the cases */
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../harness.mjs';
import { Visitor } from '../../../surface/host/values/visit.js';
import { Work } from '../../../surface/host/work.js';
import { measurementOf } from '../../../surface/host/sandbox/common/size.js';
import { callCounter, ArgumentBudget } from '../../../surface/host/sandbox/common/quota.js';
import { isPublic } from '../../../surface/host/sandbox/plugin/network/addresses.js';
import { Account, readArguments } from '../../../surface/host/sandbox/plugin/context/storage.js';
import { URL_LIMITS, UrlCheck } from '../../../surface/host/sandbox/plugin/urls/check.js';
import { readJsonSchema } from '../../../surface/host/sandbox/tools/json-schema.js';
import { issuesOf } from '../../../surface/host/sandbox/tools/validation.js';

const FOLDER = join(root, 'surface/host');
const SOURCES = [
  'values/visit.js', 'work.js', 'wire/brand.js', 'wire/notes.js',
  ...['common', 'plugin', 'tools'].flatMap((folder) => readdirSync(join(FOLDER, 'sandbox', folder), { recursive: true }).map((file) => `sandbox/${folder}/${file}`)),
];
const NAME = /[A-Za-z_$][\w$]*/g;
const words = new Set(SOURCES.filter((file) => file.endsWith('.js')).flatMap((file) => readFileSync(join(FOLDER, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '').match(NAME)));
const NAMES = [...words, ...Array.from({ length: 8 }, (_, index) => String(index))];

const DOMAINS = Object.freeze(['example.org']);
const LIMIT = 1_000;
const LONG = 'x'.repeat(2 * LIMIT);
let shared = ['xxxxxxxx'];
for (let depth = 0; depth < 9; depth += 1) shared = [shared, shared];

const define = (object, key, value) => Object.defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

/** Arguments that lead to a host that is not permitted. */
const ARGUMENTS = [
  ['https://evil.example'], ['evil.example/x'], [{ host: 'evil.example', path: '/' }], [[['url', 'evil.example:80']]], [define([], 'url', 'https://evil.example')],
  [new Map([['hostname', 'evil.example']])], [new Map([['https://evil.example', 1]])], [new Set(['https://evil.example/'])], [define(new Error('text'), 'extra', '//evil.example')],
  [{ port: 80, path: '/' }], [{ headers: { host: 'evil.example' } }], [['headers', ['host', 'evil.example']]], [{ a: { b: ['https://evil.example'] } }],
  [{ 'https://evil.example': 1 }], [{ hostname: 'example.org', port: '80@evil.example' }], [{ socketPath: '/x' }],
];
const LARGE = [LONG, shared, define([], 'a', LONG), new Map([['a', LONG]]), new Set([LONG]), define(new Error('text'), 'extra', LONG), { [LONG]: 1 }, new Uint8Array(2 * LIMIT), { a: { b: [LONG] } }];

const schema = readJsonSchema({
  properties: {
    list: { items: { type: 'number', minimum: 0, maximum: 5, multipleOf: 1 }, minItems: 1, maxItems: 2, uniqueItems: true },
    text: { type: 'string', pattern: '^a+$', minLength: 1, maxLength: 3, enum: ['a', 'aa'] },
    mixed: { prefixItems: [{ type: 'string' }], items: { type: 'number' }, contains: { const: 3 } },
    form: { oneOf: [{ const: 1 }, { const: 2 }], anyOf: [{ const: 1 }, { const: 2 }], not: { const: 2 } },
    record: { dependentRequired: { p: ['q'] }, propertyNames: { maxLength: 1 }, patternProperties: { '^z': false }, minProperties: 1, maxProperties: 2 },
    either: { if: { type: 'number' }, then: { maximum: 2 }, else: { type: 'null' } },
  },
  required: ['list'],
  additionalProperties: false,
}, 'schema');
const INVALID = [
  {}, { list: ['s'] }, { list: [6] }, { list: [-1] }, { list: [1.5] }, { list: [] }, { list: [1, 2, 3] }, { list: [1, 1] }, { list: [1], other: 1 }, { list: [1], text: 'b' }, { list: [1], text: '' },
  { list: [1], mixed: [3, 3] }, { list: [1], mixed: ['a', 1] }, { list: [1], mixed: ['a', 's', 3] }, { list: [1], form: 2 }, { list: [1], form: 3 }, { list: [1], record: { p: 1 } }, { list: [1], record: { zz: 1 } },
  { list: [1], record: {} }, { list: [1], record: { z: 1 } }, { list: [1], record: { a: 1, b: 1, c: 1 } }, { list: [1], either: 3 }, { list: [1], either: 's' },
];
const ENDING = { until: Infinity, stopped() {}, match: async () => false };

/** Each returns whether something was permitted that is not, and may throw instead of refusing it. */
const ATTEMPTS = [
  ...ARGUMENTS.map((args) => [`the URLs of ${JSON.stringify(args)}`, () => {
    const check = new UrlCheck(DOMAINS, args, new Work(URL_LIMITS));
    return check.run(false) && check.refused === undefined;
  }]),
  ...LARGE.map((value, index) => [`the size of value ${index}`, () => {
    const measurement = measurementOf(value, LIMIT, new Work());
    return measurement.run(false) && measurement.size <= LIMIT;
  }]),
  ...INVALID.map((params) => [`the params ${JSON.stringify(params)}`, () => issuesOf(schema, params, ENDING).length === 0]),
  ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fe80::1', '::ffff:127.0.0.1', '2002:7f00:1::'].map((address) => [`the address ${address}`, () => isPublic(address)]),
  ['a second key', () => readArguments('del', ['a', 'other:secret']).length > 1],
  ['a key without the prefix', () => new Account('id').name('key') !== 'id:key'],
  ['too much storage', () => {
    const account = new Account('id');
    let isSet = false;
    account.perform('set', 'key', [LONG], LONG.length, { run() { isSet = true; }, isThere: () => true }, LIMIT, (message) => new Error(message));
    return isSet;
  }],
  ['too many calls', () => {
    const count = callCounter(1);
    count();
    count();
    return true;
  }],
  ['too many bytes', () => {
    new ArgumentBudget(16).check(2 ** 31);
    return true;
  }],
  ['too many steps', () => {
    const visitor = new Visitor(shared, new Work({ steps: 100 }));
    for (let steps = 0; steps < LIMIT; steps += 1) visitor.next();
    return true;
  }],
];

/** What is permitted, and takes more steps than a budget counts without a look at the clock. */
function isRefused() {
  const urls = Array.from({ length: LIMIT }, () => 'https://example.org/');
  const check = new UrlCheck(DOMAINS, [urls], new Work(URL_LIMITS));
  return !check.run(false) || check.refused !== undefined;
}

function permitted() {
  const names = [];
  for (let index = 0; index < ATTEMPTS.length; index += 1) {
    const each = ATTEMPTS[index];
    let isPermitted;
    try {
      isPermitted = each[1]();
    } catch {
      isPermitted = false;
    }
    if (isPermitted) define(names, names.length, each[0]);
  }
  return names;
}

const POLLUTIONS = {
  value: { value: true, writable: true },
  accessor: { get: () => undefined, set() {} },
};

describe('checks on a host with polluted prototypes', () => {
  test('refuse everything here', () => {
    assert.deepEqual(permitted(), []);
    assert.equal(isRefused(), false);
  });

  test('permit the same with limits that are not their own', () => {
    for (const name of ['steps', 'time', 'until', 'stopped']) {
      for (const value of [0, () => new Error('stopped'), 'text']) {
        Object.prototype[name] = value;
        try {
          assert.equal(isRefused(), false, name);
        } finally {
          delete Object.prototype[name];
        }
      }
    }
  });

  for (const [kind, descriptor] of Object.entries(POLLUTIONS)) {
    test(`refuse the same: ${kind}`, () => {
      assert.ok(NAMES.length > 1_000);
      const found = [];
      for (const name of NAMES) {
        if (name in Object.prototype) continue;
        Object.defineProperty(Object.prototype, name, Object.assign(Object.create(null), descriptor, { configurable: true }));
        let names;
        try {
          names = permitted();
        } finally {
          delete Object.prototype[name];
        }
        if (names.length > 0) found.push([name, ...names]);
      }
      assert.deepEqual(found, []);
    });
  }
});
