// Functions for which V8's optimizing compilers would take too much memory run without them, and their isolates survive.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Sources of functions that are called thousands of times with 3, and their results. */
const FUNCTIONS = `
  const numbers = Array.from({ length: 4_000 }, (_, i) => i);
  const names = (count) => numbers.slice(0, count).map((i) => 'v' + i);
  const variables = (count) => 'let ' + names(count).map((name) => name + ' = q').join(', ') + ';';
  const sources = {
    parameters: ['function (' + names(2_048) + ') { return ' + names(2_048).join(' + ') + '; }', NaN],
    'more parameters': ['function (' + names(4_000) + ') { ' + names(4_000).slice(1).map((name) => name + ' === undefined || g(' + name + ');').join(' ') + ' return v0; }', 3],
    'branches with many variables': ['function (q) { ' + variables(1_000) + names(1_000).map((name, i) => 'if (q > ' + (i + 5) + ') ' + name + ' = g(q);').join(' ') + ' return ' + names(1_000).join(' + ') + '; }', 3_000],
    'handlers with many variables': ['function (q) { ' + variables(800) + names(800).map((name) => 'try { ' + name + ' = g(' + name + '); } catch {}').join(' ') + ' return ' + names(800).join(' + ') + '; }', 2_400],
    'loops with many variables': ['function (q) { ' + variables(800) + names(800).map((name) => 'for (let k = 0; k < 2; k++) ' + name + ' += q;').join(' ') + ' return ' + names(800).join(' + ') + '; }', 7_200],
  };`.replaceAll(/\n\s*/g, '\n');

test('functions with many parameters or variables, called often', () => passes(`
  const { readFileSync } = await import('node:fs');
  ${FUNCTIONS}
  for (const [name, [source, result]] of Object.entries(sources)) {
    const guest = new ivm.Isolate({ memoryLimit: 128 });
    const code = 'globalThis.g = (x) => x; globalThis.f = ' + source + '; let last; const until = Date.now() + 1_500; do { for (let i = 0; i < 50; i += 1) last = f(3); } while (Date.now() < until); last';
    let got;
    try { got = guest.createContextSync().evalSync(code, { timeout: 30_000 }); } catch (error) { got = error.code; }
    assert.deepEqual([name, got], [name, result]);
    guest.dispose();
  }`, { timeout: 90_000 }));

test('functions of 2,048 parameters do not end an isolate of 8 MB', () => passes(`
  const names = Array.from({ length: 2_048 }, (_, i) => 'a' + i);
  const values = names.map((_, i) => i).join();
  const sources = {
    'each called directly': ['function f(' + names + ') { return a0 + a2047 }', 'f(' + values + ')', 2_047],
    'that pass them on': ['function f(' + names + ') { return a0 + a2047 } function g(' + names + ') { return f(' + names + ') }', 'g(' + values + ')', 2_047],
    'with all of them in a closure': ['function f(' + names + ') { return () => ' + names.join('+') + ' }', 'f(' + values + ')()', 2_096_128],
    'with defaults': ['function f(' + names.map((name) => name + '=1') + ') { return a0 + a2047 }', 'f()', 2],
    'from an object': ['function f({' + names + '}) { return a0 + a2047 } const o = {' + names.map((name, i) => name + ':' + i) + '};', 'f(o)', 2_047],
    'that are bound': ['function f(' + names + ') { return a0 + a2047 } const b = f.bind(null, ' + values + ');', 'b()', 2_047],
    'of a constructor': ['class A { constructor(' + names + ') { this.a = a0 + a2047 } }', 'new A(' + values + ').a', 2_047],
    'of Function': ['const f = new Function(' + JSON.stringify(String(names)) + ', "return a0 + a2047"); const list = [' + values + '];', 'f(...list)', 2_047],
  };
  for (const [name, [source, call, result]] of Object.entries(sources)) {
    const guest = new ivm.Isolate({ memoryLimit: 8 });
    let got;
    try { got = guest.createContextSync().evalSync(source + ' let last; for (let i = 0; i < 10_000; i += 1) last = ' + call + '; last', { timeout: 30_000 }); } catch (error) { got = error.code; }
    assert.deepEqual([name, got], [name, result]);
    guest.dispose();
  }`, { timeout: 90_000 }));

/** Functions that wait for V8's threads to compile them, each of which takes some 60 MB until its isolate gets it. Linux only. */
const WAITING = `
  const { readFileSync } = await import('node:fs');
  const resident = () => Number(/VmRSS:\\s+(\\d+)/u.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const names = Array.from({ length: 150 }, (_, i) => 'v' + i);
  const loops = Array.from({ length: 2_000 }, (_, i) => 'while (' + names[i % 150] + ') ' + names[(i * 7 + 1) % 150] + ' = ' + names[(i * 3 + 2) % 150] + ';').join(' ');
  const source = '(function (a, k) { let ' + names + '; for (let i = 0; i < k; i += 1) if (a) { ' + names.map((name) => name + ' = a;').join(' ') + loops + ' } return [' + names + ']; })';
  const guest = new ivm.Isolate({ memoryLimit: 64 });
  const realm = await guest.createContext();
  await realm.global.set('source', source);
  await realm.eval('globalThis.all = []; for (let i = 0; i < 60; i += 1) all.push((0, eval)(source.replace("return", i + "; return"))); undefined');
  const code = 'for (const f of all) for (let i = 0; i < 15; i += 1) f(0, 2_000);';
  const before = resident();
  /** Waits until V8's threads have no work. Returns how much memory the process has taken since the start, at most, in MB. */
  const compiled = async () => {
    let most = 0;
    for (let quiet = 0; quiet < 20;) {
      const used = process.cpuUsage();
      await sleep(50);
      const { user, system } = process.cpuUsage(used);
      quiet = user + system < 5_000 ? quiet + 1 : 0;
      most = Math.max(most, resident() - before);
      assert.ok(most < 700, String(most));
    }
    return most;
  };`;

test('functions that wait for a compiler of an isolate that has ended take no memory', { skip: process.platform !== 'linux' }, () => passes(`
  ${WAITING}
  // The guest is left or suspended, unless V8's threads have used up its memory before.
  await assert.rejects(realm.eval(code + ' Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 8_000 }), /memory|failed to terminate/u);
  await compiled();`, { timeout: 90_000 }));

test('functions that are compiled while an isolate is idle do not end it', { skip: process.platform !== 'linux' }, () => passes(`
  ${WAITING}
  await realm.eval(code);
  // A third of that is there when the call has returned; the rest are functions that V8's threads have compiled since.
  const most = await compiled();
  assert.ok(most > 22, String(most));
  assert.equal(await realm.eval('all[0](0, 1).length'), 150);
  guest.dispose();
  await compiled();`, { timeout: 90_000 }));
