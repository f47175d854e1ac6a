// Copies neither change the prototypes of their recipients, nor contain bytes that are not theirs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runInThisContext } from 'node:vm';
import ivm from '../../../index.mjs';

const POLLUTED = '{"__proto__":{"x":1,"then":2,"__proto__":{"y":1}},"constructor":{"prototype":{"x":1}},"a":[{"__proto__":{"x":1}}]}';

/** Where such an object may sit, as code that makes the whole of it from \`bad()\`. */
const PLACES = {
  'itself': 'bad()',
  'in an array': '[bad()]',
  'as an element\'s name': 'Object.defineProperty([1], "__proto__", { value: { x: 1 }, enumerable: true, writable: true, configurable: true })',
  'in a Map': 'new Map([[bad(), bad()], ["__proto__", bad()]])',
  'in a Set': 'new Set([bad(), "__proto__"])',
  'as a cause': 'new Error("m", { cause: bad() })',
  'in boxed primitives': '[Object("__proto__"), bad()]',
  'deep': 'JSON.parse("[".repeat(500) + text + "]".repeat(500))',
  'as many names': '({ ["__proto__"]: bad(), __defineGetter__: 1, __lookupSetter__: 2, hasOwnProperty: 3, toString: 4, valueOf: 5, constructor: { prototype: bad() } })',
  'of a null prototype': 'Object.assign(Object.create(null), { ["__proto__"]: bad() })',
  'shared twice': '((one) => [one, one, { one }])(bad())',
};
const SETUP = `const text = ${JSON.stringify(POLLUTED)}; const bad = () => JSON.parse(text);`;

/** Code that reports whether anything of this realm has changed. */
const CHECK = `(() => {
  const wrong = [];
  for (const made of [{}, [], () => {}, new Map(), new Error('m'), Object(1), Promise.resolve(), /a/, new Date(0)]) {
    for (const key of ['x', 'y']) if (key in made) wrong.push(key + ' in ' + Object.prototype.toString.call(made));
  }
  if ({}.then !== undefined || {}.a !== undefined) wrong.push('then');
  if (Object.getPrototypeOf(Object.prototype) !== null) wrong.push('Object.prototype');
  return wrong.join();
})()`;
const check = () => assert.equal(runInThisContext(CHECK), '');

/** Properties that errors have on Bun. */
const BUNS = ['line', 'column', 'sourceURL', 'originalLine', 'originalColumn'];

/** What the walk below reports of a value: every object keeps its prototype, and \`__proto__\` is a property of its own. */
const DESCRIBE = `(root) => {
  const seen = new Set();
  const lines = [];
  const visit = (value) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    const proto = Object.getPrototypeOf(value);
    const known = [Object, Array, Map, Set, Error, String].find((Class) => Class.prototype === proto);
    lines.push((known ? known.name : proto === null ? 'null' : 'strange') + ':' + Object.getOwnPropertyNames(value).filter((name) => !['stack', ${JSON.stringify(BUNS).slice(1, -1)}].includes(name)).join());
    for (const key of Reflect.ownKeys(value)) visit(Object.getOwnPropertyDescriptor(value, key).value);
    if (value instanceof Map) for (const pair of value) pair.forEach(visit);
    if (value instanceof Set) value.forEach(visit);
  };
  visit(root);
  return lines.join(' ');
}`;
const describeHere = runInThisContext(DESCRIBE);

describe('a name like `__proto__` is an ordinary name', () => {
  for (const [where, code] of Object.entries(PLACES)) {
    test(where, async () => {
      const make = () => runInThisContext(`(() => { ${SETUP} return ${code} })()`);
      const original = make();
      const described = describeHere(original).replaceAll('null:', 'Object:');
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      context.evalSync(`globalThis.describe = ${DESCRIBE}; globalThis.check = () => ${CHECK};`);
      const received = [];
      context.global.setSync('take', (value) => { received.push(describeHere(value)); return value; });
      context.global.setSync('reference', new ivm.Reference({ value: original, f: (value) => value }));
      context.global.setSync('external', new ivm.ExternalCopy(original));
      context.global.setSync('copied', new ivm.ExternalCopy(original).copyInto());
      // In.
      const inside = await context.evalClosure(`
        const values = [$0, external.copy(), copied, reference.getSync('value', { copy: true }), take($0), reference.getSync('f', { reference: true }).applySync(undefined, [$0], { arguments: { copy: true }, result: { copy: true } })];
        return [values.map(describe), check()]`, [original], { arguments: { copy: true }, result: { copy: true } });
      assert.deepEqual(inside, [Array(6).fill(described), '']);
      // Out.
      const guest = `${SETUP} const value = ${code};`;
      const out = [
        context.evalSync(`(() => { ${guest} return value })()`, { copy: true }),
        context.evalSync(`(() => { ${guest} return value })()`, { externalCopy: true }).copy(),
        context.evalSync(`(() => { ${guest} return value })()`, { reference: true }).copySync(),
        await context.eval(`(async () => { ${guest} return value })()`, { copy: true, promise: true }),
        (await ivm.createSandbox({}, {}).execute(`async () => { ${guest} return value }`)).result,
      ];
      context.evalSync(`(() => { ${guest} take(value) })()`);
      assert.deepEqual([...out.map(describeHere), ...received], Array(out.length + received.length).fill(described));
      assert.equal(context.evalSync('check()'), '');
      check();
      isolate.dispose();
    });
  }

  test('a copied `__proto__` property does not supply options', () => {
    const context = new ivm.Isolate().createContextSync();
    const options = context.evalSync('JSON.parse(\'{"__proto__":{"timeout":1,"copy":true}}\')', { copy: true });
    assert.equal(Object.getPrototypeOf(options), Object.prototype);
    assert.equal(context.evalSync('for (const end = Date.now() + 20; Date.now() < end;); 5', options), 5);
    check();
  });

  test('errors of a guest bring no properties', () => {
    const context = new ivm.Isolate().createContextSync();
    for (const thrown of ['Object.assign(new Error("m"), JSON.parse(text))', 'Object.setPrototypeOf(new Error("m"), bad())', 'bad()', '({ message: "m", ["__proto__"]: bad(), constructor: { name: "__proto__" } })',
      '({ message: "m", constructor: Object.defineProperty(() => {}, "name", { value: "__proto__" }) })']) {
      assert.throws(() => context.evalSync(`(() => { ${SETUP} throw ${thrown} })()`), (error) => {
        assert.equal(Object.getPrototypeOf(error), Error.prototype);
        assert.deepEqual(Object.getOwnPropertyNames(error).filter((name) => !['stack', 'message', 'name', ...BUNS].includes(name)), []);
        return true;
      });
    }
    check();
  });
});

describe('a Buffer brings its own bytes only', () => {
  const SECRET = 'the-secret-of-another-buffer';
  /** Small ones share one piece of memory. */
  const pooled = () => {
    const secrets = [Buffer.from(SECRET)];
    const small = Buffer.from('hi');
    secrets.push(Buffer.from(SECRET));
    return { small, secrets };
  };
  const bytesOf = `(value) => {
    const buffers = [];
    const visit = (each) => {
      if (ArrayBuffer.isView(each)) buffers.push(new Uint8Array(each.buffer));
      else if (each instanceof ArrayBuffer) buffers.push(new Uint8Array(each));
      else if (each instanceof Map) for (const pair of each) pair.forEach(visit);
      else if (typeof each === 'object' && each !== null) Object.values(each).forEach(visit);
    };
    visit(value);
    return buffers.map((bytes) => String.fromCharCode.apply(null, bytes.subarray(0, 70000)));
  }`;

  const WRAPS = {
    'itself': (buffer) => buffer,
    'in an object': (buffer) => ({ buffer }),
    'in a Map': (buffer) => new Map([['buffer', buffer], [buffer, 1]]),
    'twice': (buffer) => [buffer, buffer],
    'as another view': (buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength),
    'as a DataView': (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength),
    'two next to each other': (buffer) => [buffer, Buffer.from('yo')],
  };

  for (const [how, wrap] of Object.entries(WRAPS)) {
    test(how, () => {
      const { small, secrets } = pooled();
      assert.equal(secrets.length, 2);
      const value = wrap(small);
      const context = new ivm.Isolate().createContextSync();
      context.evalSync(`globalThis.bytesOf = ${bytesOf};`);
      context.global.setSync('give', () => value);
      context.global.setSync('reference', new ivm.Reference({ value }));
      context.global.setSync('external', new ivm.ExternalCopy(value));
      context.global.setSync('copied', new ivm.ExternalCopy(value).copyInto());
      const seen = context.evalClosureSync(`return [$0, give(), reference.getSync('value', { copy: true }), external.copy(), copied].flatMap(bytesOf)`,
        [value], { arguments: { copy: true }, result: { copy: true } });
      assert.ok(seen.length >= 5);
      for (const text of seen) {
        assert.ok(!text.includes('secret'), `${text.length} bytes`);
        assert.ok(text.includes('hi') || text.includes('yo'));
      }
    });
  }

  test('in a sandbox', async () => {
    const { small } = pooled();
    const { result } = await ivm.createSandbox({ small, give: () => ({ small }) }).execute(`(${bytesOf})([small, give()]).join()`);
    assert.equal(result, 'hi,hi');
  });

  test('a string does not expose other strings', () => {
    const context = new ivm.Isolate().createContextSync();
    const long = SECRET.repeat(400);
    context.global.setSync('part', long.slice(5, 5000));
    assert.equal(context.evalSync('part.length'), 4995);
  });
});
