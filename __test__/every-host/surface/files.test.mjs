// The cost of loading the package.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { root, run } from '../../harness.mjs';

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
    ivm.AgentSandbox;
    count();
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(ivm))) ivm[name];
    count();
    console.log(...counts);
  `, { commonjs: true });
  assert.equal(stdout.trim(), '3 3 4 5 6 8');
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
          // Getters of members that are loaded when they are used.
          walk(path === 'ivm.__proto__' ? whole[key] : get ?? value, path + '.' + String(key));
        }
      };
      walk(whole, 'ivm');
      return found;
    };
    const { createHost } = require(${JSON.stringify(join(root, 'surface/host/index.js'))});
    const sources = described(createHost(require(${JSON.stringify(join(root, 'native.js'))})));
    const one = described(ivm);
    console.log(sources.length > 100, one.filter((line, index) => line !== sources[index]).join() || 'the same');
  `);
  assert.equal(stdout.trim(), 'true the same');
});
