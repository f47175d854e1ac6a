// Modules whose evaluation a limit has stopped after an `await`: V8 never settles the promise of such an evaluation.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const HELP = `
  const none = () => {};
  const modules = {};
  const make = (code) => {
    const module = isolate.compileModuleSync(code);
    module.instantiateSync(context, (specifier) => modules[specifier]);
    return module;
  };
  context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
  const TIMEOUT = { code: 'ERR_ISOLATE_TIMEOUT' };
  const STOPPED = { code: 'ERR_ISOLATE_ABORTED', message: 'Module was stopped while it was evaluated' };
  const alive = setTimeout(none, 15_000);
  /** Checks that a stopped module is answered in every way, and that others work. */
  const isStopped = async (module) => {
    await assert.rejects(module.evaluate({ promise: true }), STOPPED);
    await assert.rejects(module.evaluate(), STOPPED);
    assert.throws(() => module.evaluateSync(), STOPPED);
    modules.it = module;
    await assert.rejects(make('await import("it")').evaluate({ promise: true }), { message: STOPPED.message });
    const other = make('await g(); export default 5');
    await other.evaluate({ promise: true });
    assert.equal(await other.namespace.get('default'), 5);
    clearTimeout(alive);
  };
`;
const holds = (code) => passes(HELP + code);

describe('a stopped module is not evaluated again', () => {
  const codes = {
    'in a microtask': 'await 1; for (;;);',
    'after a callback': 'await g(); for (;;);',
    'in a function that it awaits': 'const f = async () => { await g(); for (;;); }; await f();',
    'in a dependency': 'import "dependency";',
  };
  for (const [where, code] of Object.entries(codes)) {
    test(`stopped ${where}`, () => holds(`
      modules.dependency = isolate.compileModuleSync('await g(); for (;;);');
      const module = make(${JSON.stringify(code)});
      await assert.rejects(module.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
      await isStopped(module);`));
  }

  test('stopped when it began, as a dependency', () => holds(`
    modules.dependency = isolate.compileModuleSync('for (;;);');
    modules.between = isolate.compileModuleSync('import "dependency"');
    const root = make('import "between"');
    assert.throws(() => root.evaluateSync({ timeout: 100 }), TIMEOUT);
    for (const module of [modules.dependency, modules.between, root, make('import "dependency"'), make('import "between"; await g()')]) {
      await assert.rejects(module.evaluate({ promise: true }), STOPPED);
      assert.throws(() => module.evaluateSync(), STOPPED);
      modules.it = module;
      await assert.rejects(make('await import("it")').evaluate({ promise: true }), { message: STOPPED.message });
    }
    // Unlike one that throws the same value as V8 for these.
    const module = make('throw null');
    for (const evaluate of [() => module.evaluateSync(), () => module.evaluate()]) assert.equal(await errorOf(evaluate), null);
    clearTimeout(alive);`));

  test('stopped by a deadline', () => holds(`
    const module = make('await 1; for (;;);');
    await assert.rejects(module.evaluate({ promise: true, deadline: 100 }), { code: 'ERR_ISOLATE_DEADLINE' });
    await isStopped(module);`));

  test('stopped by a signal', () => holds(`
    const module = make('await 1; began(); for (;;);');
    const user = new AbortController();
    context.global.setSync('began', new ivm.Callback(() => { user.abort(new Error('enough')); }, { ignored: true }));
    await assert.rejects(module.evaluate({ promise: true, signal: user.signal }), { message: 'enough' });
    await isStopped(module);`));

  test('stopped in a synchronous call', () => holds(`
    const module = make('await 1; for (;;);');
    assert.throws(() => module.evaluateSync({ timeout: 100 }), TIMEOUT);
    await isStopped(module);`));

  test('stopped after a synchronous call has begun it, unlike others', () => holds(`
    const [module, other] = [make('await g(); for (;;);'), make('await g(); await g(); export default 4')];
    for (const each of [other, module]) each.evaluateSync({ timeout: 200 });
    await assert.rejects(module.evaluate({ promise: true }), { message: STOPPED.message });
    await other.evaluate({ promise: true });
    assert.equal(await other.namespace.get('default'), 4);
    await isStopped(module);`));

  test('stopped in one long operation, which handles no interrupts', () => holds(`
    context.evalSync('let next = 1; const numbers = new Float64Array(1e6).map(() => next = next * 16807 % 2147483647);');
    const module = make('await g(); for (;;) numbers.slice().sort();');
    module.evaluateSync({ timeout: 20 });
    await assert.rejects(module.evaluate({ promise: true }), { message: STOPPED.message });
    await isStopped(module);`));

  test('stopped after it was imported', () => holds(`
    modules.loops = isolate.compileModuleSync('await g(); for (;;);');
    const importer = make('await import("loops")');
    await assert.rejects(importer.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
    await isStopped(modules.loops);`));
});

test('calls that wait for the evaluation of another call fail with it', () => holds(`
  const module = make('await g(); for (;;);');
  modules.it = module;
  const importer = make('await import("it")');
  const first = module.evaluate({ promise: true, timeout: 100 });
  const second = module.evaluate({ promise: true });
  const third = importer.evaluate({ promise: true });
  await Promise.all([assert.rejects(first, TIMEOUT), assert.rejects(second, { message: STOPPED.message }), assert.rejects(third, { message: STOPPED.message })]);
  await isStopped(module);`));

describe('modules that import each other', () => {
  const GRAPH = `
    modules.loops = isolate.compileModuleSync('await g(); for (;;);');
    modules.ends = isolate.compileModuleSync('await g(); export default 4');
    const root = make('import "ends"; import "loops"');`;

  test('imports of a stopped module are stopped, too, unless they have ended', () => holds(`${GRAPH}
    await assert.rejects(root.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
    await modules.ends.evaluate({ promise: true });
    await isStopped(modules.loops);
    await isStopped(root);`));

  test('importers of a stopped module are stopped, earlier and later ones', () => holds(`${GRAPH}
    const [before, later] = [make('import "loops"'), make('import "root"; import "ends"'.replace('root', 'loops'))];
    const first = root.evaluate({ promise: true, timeout: 100 });
    const second = before.evaluate({ promise: true });
    await Promise.all([assert.rejects(first, TIMEOUT), assert.rejects(second, { message: STOPPED.message })]);
    await isStopped(later);
    const other = make('import value from "ends"; await g(); export { value }');
    await other.evaluate({ promise: true });
    assert.equal(await other.namespace.get('value'), 4);`));

  test('modules that the stopped call had evaluated stay evaluated', () => holds(`${GRAPH}
    const importer = make('await import("ends"); await g(); for (;;);');
    await assert.rejects(importer.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
    await modules.ends.evaluate({ promise: true });
    assert.equal(await modules.ends.namespace.get('default'), 4);
    await isStopped(importer);`));

  test('in a cycle', () => holds(`
    modules.a = isolate.compileModuleSync('import "b"; await g(); for (;;);');
    modules.b = isolate.compileModuleSync('import "a"; await g();');
    modules.a.instantiateSync(context, (specifier) => modules[specifier]);
    await assert.rejects(modules.a.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
    await isStopped(modules.a);
    await isStopped(modules.b);`));
});

describe('other modules', () => {
  test('that wait at that time are not stopped', () => holds(`
    let answer;
    context.global.setSync('wait', new ivm.Callback(() => new Promise((resolve) => { answer = resolve; }), { async: true }));
    context.global.setSync('begin', new ivm.Reference(() => new Promise((resolve) => { answer = resolve; })));
    const waits = make('export default await begin.apply(undefined, [], { result: { promise: true } })');
    const waiting = waits.evaluate({ promise: true });
    while (answer === undefined) await sleep(1);
    const module = make('await g(); for (;;);');
    await assert.rejects(module.evaluate({ promise: true, timeout: 100 }), TIMEOUT);
    answer(7);
    await waiting;
    assert.equal(await waits.namespace.get('default'), 7);
    await waits.evaluate({ promise: true });
    await isStopped(module);`));

  test('that were evaluated before their code is stopped stay evaluated', () => holds(`
    const module = make('await g(); export const run = async () => { await g(); for (;;); }');
    await module.evaluate({ promise: true });
    const run = await module.namespace.get('run', { reference: true });
    await assert.rejects(run.apply(undefined, [], { timeout: 100, result: { promise: true } }), TIMEOUT);
    await module.evaluate({ promise: true });
    module.evaluateSync();
    modules.it = module;
    await make('await import("it")').evaluate({ promise: true });
    clearTimeout(alive);`));

  test('that failed fail again with the same error', () => holds(`
    const module = make('await g(); throw new RangeError("its own")');
    for (let time = 0; time < 3; time += 1) {
      await assert.rejects(module.evaluate({ promise: true, timeout: 1_000 }), { name: 'RangeError', message: 'its own' });
    }
    await assert.rejects(module.evaluate(), { name: 'RangeError', message: 'its own' });
    clearTimeout(alive);`));
});

test('what waits for a stopped module takes no time of other calls', () => holds(`
  context.evalSync('var open; var gate = new Promise((resolve) => { open = resolve; });');
  let isResolved = false;
  modules.it = make('await gate; for (;;);');
  const limits = { promise: true, timeout: 10_000 };
  const importer = isolate.compileModuleSync('try { await import("it"); } catch { for (;;); }');
  importer.instantiateSync(context, (specifier) => { isResolved = true; return modules[specifier]; });
  const waiting = [modules.it.evaluate(limits), importer.evaluate(limits)].map((evaluation) => assert.rejects(evaluation));
  await waitFor(() => isResolved);
  for (let turn = 0; turn < 3; turn += 1) await context.eval('1');
  // The module continues after this call was stopped.
  const stopped = context.eval('open(); for (;;);', { timeout: 500 });
  const next = context.eval('6 * 7', { timeout: 1_000 });
  await assert.rejects(stopped, TIMEOUT);
  assert.equal(await next, 42);
  await Promise.all(waiting);
  clearTimeout(alive);`));

test('a module whose evaluation follows a stopped synchronous call is stopped', () => holds(`
  ivm.configureEngine({ syncCalls: 'thread' });
  modules.it = make('await 1; for (;;);');
  context.global.setSync('evaluate', new ivm.Callback(() => modules.it.evaluateSync()));
  assert.throws(() => context.evalSync('Promise.resolve().then(() => evaluate()); for (;;);', { timeout: 200 }), TIMEOUT);
  await isStopped(modules.it);`));

test('a module with more than 100,000 imports is refused', () => holds(`
  const imports = (count) => Array.from({ length: count }, (_, index) => 'import"' + index.toString(36) + '";').join('');
  const LIMIT = { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: 'Module has more than 100000 imports' };
  assert.equal(isolate.compileModuleSync(imports(100_000)).dependencySpecifiers.length, 100_000);
  const many = imports(100_001);
  assert.throws(() => isolate.compileModuleSync(many), LIMIT);
  await assert.rejects(isolate.compileModule(many), LIMIT);
  // The same module may be imported any number of times.
  assert.equal(isolate.compileModuleSync('import"a";'.repeat(100_001)).dependencySpecifiers.length, 1);
  const importer = isolate.compileModuleSync('await import("many")');
  importer.instantiateSync(context, () => isolate.compileModule(many));
  await assert.rejects(importer.evaluate({ promise: true }), { message: LIMIT.message });
  clearTimeout(alive);`));

test('stopping a call takes no longer if many evaluations wait for modules with many imports', () => holds(`
  modules.leaf = isolate.compileModuleSync('export default 1');
  const hub = isolate.compileModuleSync(Array.from({ length: 50_000 }, (_, index) => 'import "' + index + '"').join(';'));
  hub.instantiateSync(context, () => modules.leaf);
  modules.hub = hub;
  for (let count = 0; count < 2500; count += 1) make('import "hub"; await new Promise(() => {})').evaluateSync();
  const module = make('import "hub"; await 1; for (;;);');
  const before = process.cpuUsage();
  assert.throws(() => module.evaluateSync({ timeout: 50 }), TIMEOUT);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 400_000, String(user + system));
  await isStopped(module);`));
