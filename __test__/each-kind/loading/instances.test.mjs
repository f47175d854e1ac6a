// Programs that load the package again after they have cleared `require.cache`, as `jest.resetModules` does. The files that are loaded later are
// shared by the instances, and their modules are not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, host, run } from '../../harness.mjs';

test('instances of the package do not mix', async () => {
  const { stdout, stderr } = await run(`
    const load = () => {
      for (const path of Object.keys(require.cache)) if (!path.endsWith('.node')) delete require.cache[path];
      return require(${JSON.stringify(entry)});
    };
    const instances = [load(), load(), load()];
    const contexts = instances.map((ivm) => new ivm.Isolate().createContextSync());
    const use = async (index) => {
      const ivm = instances[index];
      const context = contexts[index];
      const made = [context.evalSync('[() => {}][0]', { reference: true }), new ivm.ExternalCopy([1]), new ivm.Callback(() => {})];
      const classes = [ivm.Reference, ivm.ExternalCopy, ivm.Callback];
      const own = made.every((handle, at) => handle instanceof classes[at]);
      const others = instances.filter((other) => other !== ivm);
      const foreign = others.some((other) => made[0] instanceof other.Reference || made[1] instanceof other.ExternalCopy);
      const back = context.evalClosureSync('return $0', [made[1]]) instanceof ivm.ExternalCopy;
      const error = await context.eval('throw new RangeError("its own")').catch((caught) => caught);
      const copy = context.evalClosureSync('return $0.map(String)', [[1, new Date(0)]], { arguments: { copy: true }, result: { copy: true } });
      const agent = new ivm.AgentSandbox();
      const { result } = await agent.execute('return [2]');
      await agent.close();
      const refused = new ivm.PluginSandbox() instanceof ivm.PluginSandbox && !others.some((other) => agent instanceof other.AgentSandbox);
      console.log(index, own, foreign, back, error.name, copy.length, JSON.stringify(result), refused);
    };
    (async () => {
      await use(1);
      await use(0);
      // With the first one's files in place of the last one's.
      await use(2);
    })();`, { commonjs: true });
  assert.equal(stdout.trim(), [1, 0, 2].map((index) => `${index} true false true RangeError 2 [2] true`).join('\n'), stderr);
});

test('a function of one instance is not called for a guest of another that runs meanwhile', async () => {
  const { stdout, stderr } = await run(`
    const load = () => {
      for (const path of Object.keys(require.cache)) if (!path.endsWith('.node')) delete require.cache[path];
      return require(${JSON.stringify(entry)});
    };
    const [first, second] = [load(), load()];
    const called = [];
    const contextOf = (ivm) => new ivm.Isolate().createContextSync();
    const [outer, between, inner, busy] = [first, first, second, second].map(contextOf);
    for (const [ivm, context, name] of [[first, outer, 'first'], [second, inner, 'second']]) {
      for (let index = 0; index < 8; index += 1) {
        // What they get has a buffer of its own, so that it takes a request.
        context.global.setSync('f' + index, new ivm.Callback(({ of }) => { called.push(name + index + ' for ' + of); return index; }));
      }
    }
    const reference = (context, code) => context.evalSync(code, { reference: true });
    // On a thread of its own, so that this thread looks at other guests meanwhile.
    inner.global.setSync('busy', reference(busy, '(() => { const end = Date.now() + 1000; while (Date.now() < end); })'));
    between.global.setSync('host', new first.Callback(() =>
      inner.evalSync('busy.applySync(undefined, []); f2({ of: "second", bytes: new Uint8Array(10000) })')));
    outer.global.setSync('between', reference(between, '(() => host())'));
    const result = outer.evalSync(\`
      let message;
      try { between.applySync(undefined, [], { deadline: 100 }); } catch (error) { message = error.message; }
      message + ' ' + f5({ of: 'first', bytes: new Uint8Array(10000) });\`);
    console.log(JSON.stringify([result, called.sort()]));`, { commonjs: true });
  const expected = ['Execution exceeded its deadline of 100 ms 5', ['first5 for first', 'second2 for second']];
  assert.equal(stdout.trim(), JSON.stringify(expected), stderr);
});

test('the text codecs and URLs of the host are used, where a program has others or none, as with jsdom', async () => {
  const { stdout, stderr } = await run(`
    const load = () => {
      for (const path of Object.keys(require.cache)) if (!path.endsWith('.node')) delete require.cache[path];
      return require(${JSON.stringify(entry)});
    };
    delete globalThis.TextDecoder;
    delete globalThis.TextEncoder;
    // Bun's module node:url has the class that is global when it is loaded.
    ${host === 'bun' ? '' : "globalThis.URL = class { constructor() { throw new Error('another URL'); } };"}
    const own = load();
    const context = new own.Isolate().createContextSync();
    const back = context.evalClosureSync('return $0', [{ a: ['\u00e4\u20ac', 1] }], { arguments: { copy: true }, result: { copy: true } });
    const fetch = own.createPluginFetch({ allowedDomains: ['example.com'] });
    (async () => {
      const agent = new own.AgentSandbox({ modules: { 'a.js': 'export default 5' } });
      const { result, error } = await agent.execute('import a from "a.js"; export default await a;');
      await agent.close();
      const refused = await fetch('https://example.org/').catch(({ message }) => message);
      console.log(JSON.stringify([back, result, error, refused]));
    })();`, { commonjs: true });
  const expected = [{ a: ['\u00e4\u20ac', 1] }, 5, null, 'The URL leads to example.org, which is not permitted'];
  assert.equal(stdout.trim(), JSON.stringify(expected), stderr);
});
