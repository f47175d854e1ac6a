// The cost of loading the package.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { entry, host, moduleEntry, root, run } from '../../harness.mjs';

test('the package is few files, which are loaded when they are first used', async () => {
  const { stdout } = await run(`
    const counts = [];
    const count = () => counts.push(Object.keys(require.cache).filter((path) => path.endsWith('.js')).length);
    count();
    const context = new ivm.Isolate().createContextSync();
    context.evalSync('1 + 1');
    count();
    context.evalSync('[1]', { copy: true });
    count();
    ivm.normalizeCode('1');
    count();
    const { AgentSandbox, PluginSandbox, SubprocessSandbox, describeTools, engineStats } = ivm;
    class Mine extends AgentSandbox {}
    count();
    new Mine();
    count();
    new PluginSandbox();
    count();
    console.log(...counts);
  `, { commonjs: true });
  assert.equal(stdout.trim(), '3 3 6 8 8 9 10');
});

test('a sandbox loads what a result needs when it needs it', async () => {
  const { stdout } = await run(`
    const known = new Set();
    const added = () => Object.keys(require.cache).filter((path) => /[\\\\/]host[\\\\/]\\w+\\.js$/.test(path)).map((path) => path.replace(/.*[\\\\/]/, ''))
      .filter((name) => !known.has(name) && known.add(name)).toSorted().join();
    (async () => {
      console.log(added());
      const sandbox = ivm.createSandbox({});
      console.log((await sandbox.execute('1 + 1')).result, added());
      console.log((await sandbox.execute('"one"')).result, added());
      console.log((await sandbox.execute('throw new Error("mine")')).error, added());
      console.log((await ivm.createSandbox({ one: () => 1 }).execute('one()')).result, added());
      console.log((await sandbox.execute('[1]')).result, added());
      console.log((await ivm.createSandbox({}, { modules: { one: 'export default 1' } }).execute('import one from "one"; export default one;')).result, added());
    })();
  `, { commonjs: true });
  assert.equal(stdout.trim(), 'index.js\n2 incoming.js,sandbox.js\none \nmine \n1 outgoing.js,values.js\n[ 1 ] \n1 features.js');
});

test('a result whose file cannot be loaded rejects, and later ones arrive', { skip: process.platform !== 'linux' && 'there is no prlimit', timeout: 60_000 }, async () => {
  const { stdout, stderr } = await run(`
    const { closeSync, openSync, readdirSync } = require('node:fs');
    const { execFileSync } = require('node:child_process');
    (async () => {
      const context = new ivm.Isolate().createContextSync();
      const sandbox = new ivm.AgentSandbox();
      await sandbox.execute('return 1');
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=' + (readdirSync('/proc/self/fd').length + 20)]);
      const taken = [];
      try { for (;;) taken.push(openSync('/dev/null')); } catch {}
      const results = [sandbox.execute('return [1]'), context.eval('[1]', { copy: true }), context.eval('Promise.resolve([1])', { copy: true, promise: true })];
      const statuses = (await Promise.allSettled(results)).map(({ status }) => status);
      for (const each of taken) closeSync(each);
      console.log(statuses.join(), (await sandbox.execute('return [1]')).result[0]);
      process.exit();
    })();
  `, { commonjs: true, timeout: 30_000 });
  assert.equal(stdout.trim(), 'rejected,rejected,rejected 1', stderr);
});

test('V8 starts on another thread while the first sandbox is loaded, and makes no isolate', async () => {
  const { stdout } = await run(`
    const threads = () => ivm.engineStats().threads;
    const before = threads();
    ivm.createSandbox({});
    for (let i = 0; i < 5_000 && threads() === 0; i += 1) await new Promise((resolve) => { setTimeout(resolve, 1); });
    console.log(before, threads() > 0, ivm.engineStats().made);
  `);
  assert.equal(stdout.trim(), '0 true 0');
});

test('a sandbox loads the codec with the first value that needs it', async () => {
  const { stdout } = await run(`
    const has = () => Object.keys(require.cache).some((path) => /host[\\\\/]values\\.js$/.test(path));
    (async () => {
      console.log((await ivm.createSandbox({}).execute('1 + 1')).result, has());
      console.log((await ivm.createSandbox({ one: [1] }).execute('one[0]')).result, has());
    })();
  `, { commonjs: true });
  assert.equal(stdout.trim(), '2 false\n1 true');
});

test('the first isolate needs no large module of Node', { skip: !host.startsWith('node') }, async () => {
  const { stdout } = await run(`
    const large = () => process.moduleLoadList.filter((name) => /^NativeModule (node:)?(perf_hooks|worker_threads)$/.test(name)).length;
    const before = large();
    const ivm = require(${JSON.stringify(entry)});
    console.log(new ivm.Isolate().createContextSync().evalSync('1 + 1'), large() - before);
    require('node:perf_hooks');
    require('node:worker_threads');
    console.log(large() - before);
  `, { bare: true, commonjs: true });
  assert.equal(stdout.trim(), '2 0\n2');
});

test('both entries have the same members, and the one for ES modules loads none of the sandboxes either', async () => {
  const { stdout } = await run(`
    import { createRequire } from 'node:module';
    import * as named from ${JSON.stringify(moduleEntry)};
    const require = createRequire(import.meta.url);
    const loaded = Object.keys(require.cache).filter((path) => path.includes('host')).map((path) => path.replace(/.*[\\/]/, ''));
    const ivm = require(${JSON.stringify(entry)});
    const { default: whole, ...members } = named;
    const names = [...Object.keys(ivm), ...Object.getOwnPropertyNames(Object.getPrototypeOf(ivm))].filter((name) => name !== 'constructor');
    console.log(loaded.join(), whole === ivm, Object.keys(members).toSorted().join() === names.toSorted().join(),
      names.filter((name) => members[name] !== ivm[name]).length);
  `, { bare: true });
  assert.equal(stdout.trim(), 'index.js true true 0');
});

test('a program can extend a sandbox before its code is loaded', async () => {
  const { stdout } = await run(`
    const { AgentSandbox, IsolatedVMSandbox, createIsolatedVMSandbox } = ivm;
    const { execute } = AgentSandbox.prototype;
    class Mine extends AgentSandbox {
      own = 1;
      #codes = [];
      constructor() { super({ timeout: 10_000 }); }
      async execute(code) { this.#codes.push(code); return (await super.execute(code)).result; }
      get codes() { return this.#codes.length; }
    }
    const mine = new Mine();
    const made = createIsolatedVMSandbox();
    console.log(Mine.isAvailable(), await mine.execute('return 1 + 1'), mine.codes, mine.own, mine instanceof AgentSandbox, made instanceof IsolatedVMSandbox,
      made instanceof Mine, made.constructor === AgentSandbox, Object.keys(made).length);
    const failures = [() => AgentSandbox(), () => new AgentSandbox(1), () => new execute('1'), () => execute.call({}, '1')];
    for (const fail of failures) try { fail(); console.log('no error'); } catch (error) { console.log(error.name, error.code); }
    await mine.close();
    console.log(await mine.execute('return 1'));
  `);
  assert.deepEqual(stdout.trim().split('\n'), [
    'true 2 1 1 true true false true 0', 'TypeError undefined', 'TypeError ERR_INVALID_ARG', 'TypeError undefined', 'TypeError undefined', 'null',
  ]);
});

test('what `ivm` has of a class is what the class has', () => {
  const require = createRequire(import.meta.url);
  const sandboxes = require(join(root, 'surface/host/sandbox/index.js')).createSandboxes({ binding: {} }, {}, () => {});
  const { SHAPES } = require(join(root, 'surface/host/sandbox/members.js'));
  const { SANDBOX_FUNCTIONS } = require(join(root, 'surface/host/members.js'));
  const lengths = (object, names) => Object.fromEntries(names.map((name) => [name, object[name].length]));
  const own = (object, builtIn) => lengths(object, Object.getOwnPropertyNames(object).filter((name) => !builtIn.includes(name)));
  for (const [name, { length, methods, statics = {} }] of Object.entries(SHAPES)) {
    const Class = sandboxes[name];
    assert.equal(length, Class.length, name);
    assert.deepEqual(methods, own(Class.prototype, ['constructor']), name);
    assert.deepEqual(statics, own(Class, ['length', 'name', 'prototype']), name);
  }
  for (const [name, length] of Object.entries(SANDBOX_FUNCTIONS)) if (name in sandboxes) assert.equal(length, sandboxes[name].length, name);
});

test('bundled functions keep their names and parameters', async () => {
  const { stdout } = await run(`
    import { createRequire } from 'node:module';
    const require = createRequire(import.meta.url);
    const described = (whole) => {
      const found = [];
      const seen = new Set([Object.prototype, Function.prototype]);
      const walk = (one, path) => {
        if (one === null || typeof one !== 'object' && typeof one !== 'function' || seen.has(one)) return;
        seen.add(one);
        if (typeof one === 'function') found.push([path, one.name, one.length].join(' '));
        walk(Object.getPrototypeOf(one), path + '.__proto__');
        for (const key of Reflect.ownKeys(one)) {
          const { value, get } = Object.getOwnPropertyDescriptor(one, key);
          walk(get ?? value, path + '.' + String(key));
        }
      };
      walk(whole, 'ivm');
      return found;
    };
    const { createHost } = require(${JSON.stringify(join(root, 'surface/host/index.js'))});
    const sources = described(createHost(require(${JSON.stringify(join(root, 'loader/native.js'))})));
    const one = described(ivm);
    console.log(sources.length > 100, one.filter((line, index) => line !== sources[index]).join() || 'the same');
  `);
  assert.equal(stdout.trim(), 'true the same');
});
