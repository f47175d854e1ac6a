// Programs in the processes of `SubprocessSandbox` with full confinement: no part of V8 or of its libraries needs a system call that is
// refused, and nothing else needs a file.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import ivm from '../../../index.mjs';
import { LAYERS, REQUIRED, threadsOf } from '../../sandbox/confinement-probe.mjs';
import { childrenOf, executeBy, frame, ready } from '../../sandbox/subprocess-helper.mjs';

const options = { skip: process.platform !== 'linux' && 'there are no such processes' };
const { SubprocessSandbox } = ivm;
const noTools = async () => {};

const sandbox = new SubprocessSandbox({ timeout: 20_000, memoryLimit: 128 });

/** `(a, b) => a + b`, with a memory of one page. */
const ADD = '[0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]';

const PROGRAMS = [
  ['WebAssembly', `const bytes = new Uint8Array(${ADD});
    const { exports: { add } } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
    let sum = 0;
    for (let i = 0; i < 2e6; i += 1) sum = add(sum, 1);
    return [sum, (await WebAssembly.instantiate(bytes)).instance.exports.add(2, 3)];`, [2e6, 5]],
  ['WebAssembly memory', `const memory = new WebAssembly.Memory({ initial: 1, maximum: 200 });
    memory.grow(100);
    new Uint8Array(memory.buffer).fill(1);
    return memory.buffer.byteLength;`, 101 * 65_536],
  ['garbage, collected by several threads', `let kept = [];
    for (let i = 0; i < 2e6; i += 1) {
      kept.push({ i, text: 'x' + i });
      if (kept.length > 1e5) kept = [];
    }
    return kept.length > 0;`, true],
  ['large buffers', `const buffer = new ArrayBuffer(60e6);
    new Uint8Array(buffer).fill(3);
    const grown = new ArrayBuffer(10, { maxByteLength: 5e7 });
    grown.resize(4e7);
    return [buffer.byteLength, grown.byteLength];`, [60e6, 4e7]],
  ['Intl', `return [
      new Intl.DateTimeFormat('de-DE', { dateStyle: 'full', timeZone: 'Asia/Tokyo' }).format(0),
      new Intl.NumberFormat('de').format(1234.5),
      ['z', 'ä', 'a'].sort(new Intl.Collator('sv').compare).join(''),
      [...new Intl.Segmenter('th', { granularity: 'word' }).segment('สวัสดีครับ')].length,
      new Intl.DisplayNames('fr', { type: 'region' }).of('DE'),
      'ﬁ'.normalize('NFKD'),
    ];`, ['Donnerstag, 1. Januar 1970', '1.234,5', 'azä', 2, 'Allemagne', 'fi']],
  ['Temporal', `return [
      Temporal.PlainDate.from('2024-02-29').add({ years: 1 }).toString(),
      Temporal.ZonedDateTime.from('2024-03-31T02:30[Europe/Berlin]').toString(),
      typeof Temporal.Now.timeZoneId(),
    ];`, ['2025-02-28', '2024-03-31T03:30:00+02:00[Europe/Berlin]', 'string']],
  ['Atomics.wait', `const cell = new Int32Array(new SharedArrayBuffer(4));
    return [Atomics.wait(cell, 0, 0, 20), await Atomics.waitAsync(cell, 0, 0, 20).value];`, ['timed-out', 'timed-out']],
  ['recursion as deep as the stack', `let depth = 0;
    const recurse = () => { depth += 1; recurse(); };
    try { recurse(); } catch (error) { return [error.name, depth > 5_000]; }`, ['RangeError', true]],
  ['JSON as deep as the stack', `try { JSON.parse('['.repeat(50_000)); } catch (error) { return error.name; }`, 'SyntaxError'],
  ['compiled code', `const work = (n) => { let sum = 0; for (let i = 0; i < n; i += 1) sum += (Math.sin(i) * i) % 7; return sum; };
    let total = 0;
    for (let i = 0; i < 100; i += 1) total += work(20_000);
    return Number.isFinite(total);`, true],
  ['compiling at run time', `let sum = 0; for (let i = 0; i < 1_000; i += 1) sum += new Function('return ' + i)(); return sum;`, 499_500],
  ['regular expressions', `return [/(a+)+b/.test('a'.repeat(20) + 'b'), /\\p{L}+/u.exec('äöü')[0]];`, [true, 'äöü']],
  ['sorting', 'return new Float64Array(1e6).map(Math.random).sort().length;', 1e6],
  ['timers and clocks', `const start = Date.now();
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    return Date.now() > start;`, true],
  ['finalizers', `for (let i = 0; i < 1e5; i += 1) new FinalizationRegistry(() => {}).register({}, 1); return new WeakRef({}).deref() !== undefined;`, true],
];

describe('a confined process runs', options, () => {
  for (const [name, code, expected] of PROGRAMS) {
    test(name, { timeout: 60_000 }, async () => {
      const { result, error } = await sandbox.execute(code, [], noTools);
      assert.equal(error, undefined);
      assert.deepEqual(result, expected);
    });
  }
});

describe('a confined process', options, () => {
  test('has the time zone of its system, or the one that it is given', { timeout: 60_000 }, async () => {
    const code = 'return [Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(1720000000000).getTimezoneOffset()]';
    const { result } = await sandbox.execute(code, [], noTools);
    assert.equal(typeof result[0], 'string');
    const before = process.env.TZ;
    process.env.TZ = 'Asia/Kathmandu';
    const given = await new SubprocessSandbox({ minimalEnv: false, poolSize: 0 }).execute(code, [], noTools);
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
    assert.deepEqual(given.result, ['Asia/Katmandu', -345]);
  });

  test('ends with the same errors as other executions', { timeout: 120_000 }, async () => {
    const [brief, patient] = [500, 30_000].map((timeout) => new SubprocessSandbox({ timeout, memoryLimit: 16, poolSize: 0 }));
    const ends = [
      [brief, 'for (;;);', 'ERR_ISOLATE_DEADLINE'],
      [brief, 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', 'ERR_ISOLATE_DEADLINE'],
      [patient, 'const all = []; for (;;) all.push(new Array(1_000).fill(1.5));', 'ERR_ISOLATE_MEMORY'],
      // V8 ends the process because it is out of memory.
      [patient, "'a'.repeat(2 ** 28).split('')", 'ERR_ISOLATE_MEMORY'],
    ];
    for (const [limited, code, expected] of ends) {
      const { failure } = await limited.execute(code, [], noTools);
      assert.deepEqual([code, failure.code], [code, expected]);
    }
  });
});

describe('confinement()', options, () => {
  test('reports whether each layer applies, and why not', { timeout: 60_000 }, async () => {
    const layers = await sandbox.confinement();
    // The host adds its own layer.
    assert.deepEqual(layers.map(({ name }) => name), [...LAYERS, 'footprint']);
    for (const { name, active, detail } of layers) {
      assert.equal(typeof active, 'boolean', name);
      assert.ok(typeof detail === 'string' && detail !== '', name);
      if (REQUIRED.includes(name)) assert.ok(active, `${name}: ${detail}`);
    }
  });

  test('reports layers that are switched off', { timeout: 60_000 }, async () => {
    const off = ['seccomp', 'landlock', 'pidNamespace'];
    const loose = new SubprocessSandbox({ poolSize: 0, confinement: Object.fromEntries(off.map((name) => [name, false])) });
    for (const { name, active, detail } of await loose.confinement()) {
      if (off.includes(name)) assert.deepEqual([active, detail], [false, 'switched off'], name);
      else if (REQUIRED.includes(name)) assert.ok(active, `${name}: ${detail}`);
    }
    assert.equal((await loose.execute('return 1', [], noTools)).result, 1);
  });

  test('matches the kernel\'s state while a guest runs', { timeout: 60_000 }, async () => {
    const before = new Set(childrenOf().map(({ pid }) => pid));
    let threads;
    let limits;
    let descriptors;
    const look = async () => {
      const [{ pid }] = childrenOf().filter((child) => !before.has(child.pid));
      threads = threadsOf(pid);
      limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
      descriptors = readdirSync(`/proc/${pid}/fd`).map(Number);
    };
    // No waiting child fits it.
    const lone = new SubprocessSandbox({ poolSize: 0, memoryLimit: 99 });
    const { error } = await lone.execute('await t.look()', [{ name: 't:look', description: '' }], look);
    assert.equal(error, undefined);
    assert.ok(threads.length > 2);
    for (const { Name, NoNewPrivs, Seccomp, CapEff } of threads) assert.deepEqual([NoNewPrivs, Seccomp, CapEff], ['1', '2', '0'.repeat(16)], Name);
    assert.match(limits, /Max core file size +0 +0 /);
    assert.match(limits, /Max file size +0 +0 /);
    // New descriptors get the lowest number that is free.
    const firstFree = [0, 1, 2, 3, 4, 5, 6, 7].find((number) => !descriptors.includes(number));
    assert.match(limits, new RegExp(`Max open files +${firstFree} +${firstFree} `));
  });
});

describe('a child that claims another process id', options, () => {
  const u32 = (number) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(number); return bytes; };
  const ofOthers = [['one of its parent\'s', () => process.pid], ['init', () => 1], ['no process', () => 0xffff_ffff]];
  for (const [what, pid] of ofOthers) {
    test(`which is ${what} is not trusted`, { timeout: 60_000 }, async () => {
      const bytes = frame(20, u32(pid()));
      const { failure } = await executeBy('cat bytes >&0; sleep 10', { bytes });
      assert.equal(failure.code, 'ERR_ISOLATE_PROTOCOL');
    });
  }

  test('after its report is not trusted', { timeout: 60_000 }, async () => {
    const bytes = Buffer.concat([ready(), frame(20, u32(process.pid))]);
    const { failure } = await executeBy('cat bytes >&0; sleep 10', { bytes });
    assert.equal(failure.code, 'ERR_ISOLATE_PROTOCOL');
  });
});
