// How modules find what they import.

const SOURCES = {
  a: 'import { b } from "b"; import { c } from "c"; export const sum = b + c',
  b: 'import { d } from "d"; export const b = d + 1',
  c: 'import { d } from "d"; import "a"; export const c = d + 2',
  d: 'import "a"; globalThis.runs = (globalThis.runs ?? 0) + 1; export const d = 10',
};
const none = () => undefined;

export default ({ test, assert, expect }) => {
  /** Modules by name, and a resolver that finds them and records its requests. */
  function graph(isolate, sources = SOURCES) {
    const asked = [];
    const modules = {};
    for (const [name, code] of Object.entries(sources)) modules[name] = isolate.compileModuleSync(code);
    const nameOf = (module) => Object.keys(modules).find((name) => modules[name] === module);
    const resolve = (specifier, referrer) => {
      asked.push(`${nameOf(referrer)}>${specifier}`);
      return modules[specifier];
    };
    return { asked, modules, resolve };
  }

  for (const method of ['instantiate', 'instantiateSync']) {
    test(`${method} checks its arguments`, ({ open }) => {
      const { isolate, context } = open();
      const module = isolate.compileModuleSync('1');
      assert.throws(() => module[method](), expect.invalid('`undefined` requires at least 2 parameters'));
      assert.throws(() => module[method](context), expect.invalid('`undefined` requires at least 2 parameters'));
      assert.throws(() => module[method](1, none), expect.invalid('`undefined` requires parameter 1 to be an object'));
      assert.throws(() => module[method](isolate, none), expect.invalid('`undefined` requires parameter 1 to be something else'));
      assert.throws(() => module[method](context, 1), expect.invalid('`undefined` requires parameter 2 to be a function'));
      const released = isolate.createContextSync();
      released.release();
      assert.throws(() => module[method](released, none), expect.released('Context is released'));
    });
  }

  test('rejects a context of another isolate', async ({ open }) => {
    const { isolate } = open();
    const { context: foreign } = open();
    const [one, two] = [isolate.compileModuleSync('1'), isolate.compileModuleSync('1')];
    assert.throws(() => one.instantiateSync(foreign, none), expect.wrong('Invalid context'));
    await assert.rejects(two.instantiate(foreign, none), expect.wrong('Invalid context'));
  });

  test('instantiateSync resolves depth first, once for each request', ({ open }) => {
    const { isolate, context } = open();
    const { asked, modules, resolve } = graph(isolate);
    assert.equal(modules.a.instantiateSync(context, resolve), undefined);
    assert.same(asked, ['a>b', 'b>d', 'd>a', 'a>c', 'c>d', 'c>a']);
    assert.equal(modules.a.evaluateSync(), undefined);
    assert.equal(modules.a.namespace.getSync('sum'), 23);
    assert.equal(context.evalSync('runs'), 1);
  });

  for (const method of ['instantiate', 'instantiateSync']) {
    test(`${method} asks for hundreds of imports, in their order`, async ({ open }) => {
      const { isolate, context } = open();
      const names = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
      const modules = new Map(names.map((name, index) => [name, isolate.compileModuleSync(`export default ${index}`)]));
      const own = isolate.compileModuleSync(`${names.map((name) => `import ${name} from "${name}";`).join('')} export default [${names}].every((value, index) => value === index)`);
      const asked = [];
      await own[method](context, (specifier) => {
        asked.push(specifier);
        return modules.get(specifier);
      });
      assert.same(asked, names);
      await own.evaluate();
      assert.equal(await own.namespace.get('default'), true);
    });
  }

  test('instantiate resolves breadth first, and awaits', async ({ open }) => {
    const { isolate, context } = open();
    const { asked, modules, resolve } = graph(isolate);
    assert.equal(await modules.a.instantiate(context, async (...args) => resolve(...args)), undefined);
    assert.same(asked, ['a>b', 'a>c', 'b>d', 'c>d', 'c>a', 'd>a']);
    assert.equal(await modules.a.evaluate(), undefined);
    assert.equal(await modules.a.namespace.get('sum'), 23);
    assert.equal(await context.eval('runs'), 1);
  });

  test('the resolver receives specifier and referrer, and no `this`', ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"');
    let seen;
    module.instantiateSync(context, function resolve(specifier, referrer) {
      seen = [this, specifier, referrer === module];
      return isolate.compileModuleSync('1');
    });
    assert.same(seen, [undefined, 'x', true]);
  });

  test('thenables are awaited', async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('1');
    // oxlint-disable-next-line unicorn/no-thenable -- what a resolver may return
    await module.instantiate(context, () => ({ then: (resolve) => resolve(dependency) }));
    assert.equal(await module.evaluate(), undefined);
  });

  test('rejects a value that is not a module, and can be retried', async ({ open }) => {
    const { isolate, context } = open();
    const refused = expect.invalid('Resolved dependency was not `Module`');
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('1');
    for (const wrong of [undefined, null, 1, {}, context, Promise.resolve(dependency)]) assert.throws(() => module.instantiateSync(context, () => wrong), refused);
    for (const wrong of [undefined, {}, isolate]) await assert.rejects(module.instantiate(context, async () => wrong), refused);
    await module.instantiate(context, () => dependency);
  });

  test('rejects a released module', async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"');
    const released = isolate.compileModuleSync('1');
    released.release();
    assert.throws(() => module.instantiateSync(context, () => released), expect.released('Module has been released'));
    await assert.rejects(module.instantiate(context, () => released), expect.released('Module has been released'));
  });

  test('rejects a module of another isolate', { differs: 'it takes it' }, async ({ open }) => {
    const { isolate, context } = open();
    const foreign = open().isolate.compileModuleSync('1');
    const refused = expect.invalid('Resolved dependency belongs to another isolate');
    const module = isolate.compileModuleSync('import "x"');
    assert.throws(() => module.instantiateSync(context, () => foreign), refused);
    await assert.rejects(module.instantiate(context, () => foreign), refused);
  });

  test('errors of the resolver are thrown unchanged', async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('1');
    const error = new RangeError('no x');
    assert.equal(assert.caught(() => module.instantiateSync(context, () => { throw error; })), error);
    const outcomes = [() => { throw error; }, () => Promise.reject(error), async () => { throw error; }];
    for (const outcome of outcomes) assert.equal(await module.instantiate(context, outcome).catch((thrown) => thrown), error);
    assert.equal(await module.instantiate(context, () => Promise.reject(7)).catch((thrown) => thrown), 7);
    await module.instantiate(context, () => dependency);
  });

  test('links are remembered', ({ open }) => {
    const { isolate, context } = open();
    const { asked, modules, resolve } = graph(isolate);
    modules.a.instantiateSync(context, resolve);
    const { length } = asked;
    modules.b.instantiateSync(context, () => { throw new Error('asked again'); });
    assert.equal(asked.length, length);
  });

  test('one linker at a time', async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"');
    const dependency = isolate.compileModuleSync('export let a = 1');
    let go;
    const first = module.instantiate(context, () => new Promise((resolve) => { go = resolve; }));
    const taken = expect.wrong('Module is currently being linked by another linker');
    assert.throws(() => module.instantiateSync(context, none), taken);
    assert.throws(() => module.evaluateSync(), expect.wrong('Module is uninstantiated'));
    await assert.rejects(module.instantiate(context, none), taken);
    go(dependency);
    assert.equal(await first, undefined);
    assert.equal(await module.evaluate(), undefined);
  });

  test('a missing export is a syntax error', ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import { q } from "x"; export default q');
    const missing = expect.thrown(SyntaxError, "The requested module 'x' does not provide an export named 'q'");
    assert.throws(() => module.instantiateSync(context, () => isolate.compileModuleSync('1')), missing);
  });

  test('after a missing export, linking can be retried with another module', { differs: 'the module stays with the linker that failed' }, ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import { q } from "x"; export default q');
    assert.throws(() => module.instantiateSync(context, () => isolate.compileModuleSync('1')), expect.thrown(SyntaxError, /does not provide/));
    module.instantiateSync(context, () => isolate.compileModuleSync('export const q = 4'));
    module.evaluateSync();
    assert.equal(module.namespace.getSync('default'), 4);
  });

  test('errors of imported modules keep their identity', ({ open }) => {
    const { isolate, context } = open();
    const { modules, resolve } = graph(isolate, { a: 'import "b"', b: 'throw new RangeError("in b")' });
    modules.a.instantiateSync(context, resolve);
    assert.throws(() => modules.a.evaluateSync(), expect.thrown(RangeError, 'in b'));
  });

  test('resolvers receive import attributes', { differs: 'an addition' }, async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import data from "d" with { type: "json" }; import "e"; export default data.a');
    const seen = [];
    module.instantiateSync(context, (specifier, referrer, attributes) => {
      seen.push([specifier, Object.getPrototypeOf(attributes), { ...attributes }, Object.isFrozen(attributes)]);
      return isolate.compileModuleSync(attributes.type === 'json' ? 'export default { a: 1 }' : '1');
    });
    assert.same(seen, [['d', null, { type: 'json' }, true], ['e', null, {}, true]]);
    module.evaluateSync();
    assert.equal(module.namespace.getSync('default'), 1);
    const unknown = isolate.compileModuleSync('import "d" with { mode: "x" }');
    const refused = expect.error(SyntaxError, 'Import attribute "mode" is not supported', 'ERR_ISOLATE_UNSUPPORTED');
    assert.throws(() => unknown.instantiateSync(context, none), refused);
    await assert.rejects(unknown.instantiate(context, none), refused);
  });

  test('import() calls the resolver that linked the module', { differs: 'an addition; there it rejects with `Not supported`' }, async ({ open }) => {
    const { isolate, context } = open();
    const asked = [];
    const dependency = isolate.compileModuleSync('export const n = 7');
    const module = isolate.compileModuleSync('export const later = import("x", { with: { type: "y" } }).then(({ n }) => n)');
    module.instantiateSync(context, (specifier, referrer, { type }) => {
      asked.push([specifier, referrer === module, type]);
      return dependency;
    });
    module.evaluateSync();
    assert.equal(await module.namespace.get('later', { promise: true }), 7);
    assert.same(asked, [['x', true, 'y']]);
  });

  test('import() without a resolver rejects', async ({ open }) => {
    const { context } = open();
    context.evalSync('globalThis.importError = import("x").catch((error) => error.message); 1');
    assert.equal(await context.global.get('importError', { promise: true }), 'Not supported');
  });

  test('a resolver can dispose the isolate', async ({ open }) => {
    const rooms = ['Isolated is disposed', 'Isolate is disposed'].map((message) => {
      const { isolate, context } = open();
      return { isolate, context, message, module: isolate.compileModuleSync('import "x"'), dependency: isolate.compileModuleSync('1') };
    });
    const resolver = ({ isolate, dependency }) => () => {
      isolate.dispose();
      return dependency;
    };
    const [one, two] = rooms;
    assert.throws(() => one.module.instantiateSync(one.context, resolver(one)), expect.disposed(one.message));
    await assert.rejects(two.module.instantiate(two.context, resolver(two)), expect.disposed(two.message));
  });

  test('dispose ends a pending resolution', { differs: 'it waits forever' }, async ({ open }) => {
    const { isolate, context } = open();
    const module = isolate.compileModuleSync('import "x"; import "y"');
    const waiting = module.instantiate(context, () => new Promise(none));
    isolate.dispose();
    await assert.rejects(waiting, expect.disposed('Isolate is disposed'));
  });
};
