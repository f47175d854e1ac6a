// A stress test that is not part of the suite: several isolates, sandboxes and workers send large values while calls are aborted, limited
// and disposed at random moments. Each promise must settle once with a known code, and nothing may be left at the end.
// `node --expose-gc __test__/stress/races.mjs [--seconds 60] [--seed 1] [--lanes 6]`, or the same with Bun or Deno.

import { parseArgs } from 'node:util';
import { readFileSync, readdirSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { moduleEntry } from '../harness.mjs';
import { createRandom } from './life.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '6' },
    only: { type: 'string' },
  },
  strict: false,
});

const { default: ivm } = await import(moduleEntry);
const PROMISE_LIMIT_MS = 30_000;
const CODES = new Set([
  'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_DEADLINE', 'ERR_ISOLATE_ABORTED', 'ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_DISPOSED', 'ERR_ISOLATE_LIMIT',
  'ERR_ISOLATE_TRANSFER', 'ERR_ISOLATE_RELEASED', 'ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_ENVIRONMENT',
]);
const MESSAGES = /^(Promise was abandoned|guest's own|host's own|the user has left|Isolate (is|was) disposed|Array buffer allocation failed|Maximum call stack|default is not defined|Script execution timed out|Script failed to terminate|Execution exceeded its deadline|A non-transferable|Calling a synchronous|Invalid (string|array) length|Cannot create a string longer)/;

const problems = [];
const tally = new Map();
const count = (what) => tally.set(what, (tally.get(what) ?? 0) + 1);
const pending = new Map();
let serial = 0;

function problem(what) {
  if (problems.length < 20) console.log(`PROBLEM ${what}`);
  problems.push(what);
}

function checked(what, error) {
  const code = error?.code;
  if (CODES.has(code) || (code === undefined && MESSAGES.test(String(error?.message)))) return count(`${what}: ${code ?? 'plain'}`);
  problem(`${what}: ${code} ${error?.stack ?? error}`);
}

function watch(what, promise) {
  const id = (serial += 1);
  pending.set(id, { what, since: performance.now() });
  return promise.then(
    (value) => { pending.delete(id); count(`${what}: ok`); return value; },
    (error) => { pending.delete(id); checked(what, error); },
  );
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const later = () => new Promise((resolve) => setImmediate(resolve));

const VALUES = [
  (n) => `Array.from({ length: ${n * 40} }, (_, i) => ({ i, text: 't' + i }))`,
  (n) => `new Map(Array.from({ length: ${n * 30} }, (_, i) => [i, [i]]))`,
  (n) => `Array.from({ length: ${n * 30} }, (_, i) => 'k' + i)`,
  (n) => `({ bytes: new Uint8Array(${n * 1000}), list: new Array(${n * 50}).fill(1.5) })`,
  (n) => `Object.fromEntries(Array.from({ length: ${n * 20} }, (_, i) => ['k' + i, i]))`,
  (n) => `'x\u0100'.repeat(${n * 500})`,
  (n) => `new Set(Array.from({ length: ${n * 30} }, (_, i) => new Date(i)))`,
  (n) => `Array.from({ length: ${n} }, (_, i) => new Error('e' + i))`,
  (n) => `Array.from({ length: ${n} }, (_, i) => ({ b: 1n << BigInt(i % 2000), r: /a+/g }))`,
];

function limitsOf(random, aborts) {
  const options = {};
  if (random() < 0.3) options.timeout = 1 + Math.floor(random() * 60);
  if (random() < 0.3) options.deadline = 1 + Math.floor(random() * 80);
  if (random() < 0.3 && aborts) {
    const controller = new AbortController();
    options.signal = controller.signal;
    setTimeout(() => controller.abort(random() < 0.5 ? new Error('the user has left') : undefined), random() * 40);
  }
  return options;
}
// Without a reason from the caller, an abort is a DOMException with this code.
CODES.add(20);

const value = (random) => VALUES[Math.floor(random() * VALUES.length)](Math.floor(random() ** 3 * 1000));

const host = {
  same: (given) => given,
  size: (given) => (given === undefined ? 0 : 1),
  nothing: () => {},
  fails: () => { throw new Error("host's own"); },
  async late(given) { await later(); return given; },
  async lateFails() { await later(); throw new Error("host's own"); },
  never: () => new Promise(() => {}),
};

const USES = {
  copyAsync: ({ context }, random) => watch('copyAsync', context.eval(value(random), { copy: true, ...limitsOf(random, true) })),
  copySync: ({ context }, random) => { context.evalSync(value(random), { copy: true, ...limitsOf(random, false) }); },
  promise: ({ context }, random) =>
    watch('promise', context.eval(`(async () => { await null; return ${value(random)} })()`, { copy: true, promise: true, ...limitsOf(random, true) })),
  throwLarge: ({ context }, random) =>
    watch('throwLarge', context.eval(`throw Object.assign(new Error("guest's own"), { cause: ${value(random)} })`, limitsOf(random, true))),
  external: ({ context }, random) =>
    watch('external', context.eval(value(random), { externalCopy: true, ...limitsOf(random, true) }).then((copy) => { if (random() < 0.5) copy.copy(); if (random() < 0.5) copy.release(); return undefined; })),
  ignoredStorm: ({ context }, random) => {
    const callee = new ivm.Reference(random() < 0.5 ? host.nothing : host.late);
    return watch('ignoredStorm', context.evalClosure(`const v = ${value(random)}; for (let i = 0; i < $1; i += 1) $0.applyIgnored(undefined, [v], { arguments: { copy: true } })`,
      [callee, Math.floor(random() * 50)], { timeout: 500, ...limitsOf(random, true) }));
  },
  callbackStorm: ({ context }, random) => {
    const callee = new ivm.Callback(random() < 0.5 ? host.nothing : host.lateFails, { ignored: true });
    return watch('callbackStorm', context.evalClosure(`const v = ${value(random)}; for (let i = 0; i < $1; i += 1) $0(v)`,
      [callee, Math.floor(random() * 50)], { timeout: 500, ...limitsOf(random, true) }));
  },
  callbackSync: ({ context }, random) => { context.evalClosureSync(`const v = ${value(random)}; for (let i = 0; i < 3; i += 1) $0(v)`, [host.size], { ...limitsOf(random, false) }); },
  callbackBack: ({ context }, random) => watch('callbackBack', context.evalClosure(`return $0(${value(random)})`, [host.same], { result: { copy: true }, ...limitsOf(random, true) })),
  asyncBack: ({ context }, random) =>
    watch('asyncBack', context.evalClosure(`return Promise.all(Array.from({ length: 8 }, () => $0(${value(random)}).catch((e) => e.message)))`,
      [new ivm.Callback(random() < 0.7 ? host.late : host.lateFails, { async: true })], { result: { promise: true, copy: true }, ...limitsOf(random, true) })),
  syncPromise: ({ context }, random) =>
    watch('syncPromise', context.evalClosure(`return $0.applySyncPromise(undefined, [${value(random)}], { arguments: { copy: true } })`,
      [new ivm.Reference(random() < 0.8 ? host.late : host.never)], { result: { copy: true }, deadline: 200, ...limitsOf(random, true) })),
  nestedDispose: ({ context, isolate }, random) =>
    watch('nestedDispose', context.evalClosure(`$0(${value(random)}); $1(); $0(${value(random)}); return ${value(random)}`, [host.size, () => isolate.dispose()], { result: { copy: true } })),
  disposeInSync: ({ context, isolate }, random) => { context.evalClosureSync(`$0(); return ${value(random)}`, [() => isolate.dispose()], { result: { copy: true } }); },
  reenter: ({ context }, random) => {
    context.evalClosureSync(`$0(${value(random)}); return $0(2)`, [() => context.evalSync(`globalThis.g = ${value(random)}; 1`, limitsOf(random, false)) + context.evalClosureSync('return 1')], limitsOf(random, false));
  },
  modules: ({ isolate, context }, random) => watch('modules', (async () => {
    const names = Array.from({ length: 6 }, (_, i) => `m${i}`);
    const made = new Map();
    for (const [i, name] of names.entries()) {
      made.set(name, await isolate.compileModule(`${names.slice(i + 1).map((each) => `import '${each}';`).join('')} export default ${value(random)}; ${random() < 0.2 ? 'await new Promise(() => {});' : ''} ${random() < 0.2 ? 'for (;;);' : ''}`, { filename: name }));
    }
    const root = made.get('m0');
    await root.instantiate(context, async (name) => { if (random() < 0.1) isolate.dispose(); if (random() < 0.2) await later(); return made.get(name); });
    await root.evaluate({ timeout: 30, deadline: 60 });
    return root.namespace.get('default', { copy: true });
  })()),
  references: ({ context }, random) => {
    const held = context.evalSync(`globalThis.o = { a: ${value(random)}, f(x) { return x } }; o`, { reference: true });
    const all = [watch('refCopy', held.copy(limitsOf(random, true)).catch((e) => { throw e; })), watch('refGet', held.get('a', { copy: true })), watch('refApply', held.get('f', { reference: true }).then((f) => f.apply(undefined, [1, random()], limitsOf(random, true))))];
    if (random() < 0.5) held.release();
    return Promise.all(all);
  },
  greedy: ({ context }, random) => watch('greedy', random() < 0.2 ? context.eval('const k = []; for (;;) k.push(new Array(1000).fill(k))') : context.eval('1')),
  nested: ({ context }, random) => watch('nested', (async () => {
    context.global.setSync('ivm', ivm);
    return context.eval(`(async () => {
      const made = [], kept = [];
      for (let i = 0; i < 4; i += 1) {
        const isolate = new ivm.Isolate({ memoryLimit: 8 });
        const inner = await isolate.createContext();
        await inner.global.set('outer', new ivm.Reference(globalThis));
        await inner.global.set('ivm', ivm);
        kept.push(await inner.eval('const r = []; for (let j = 0; j < 50; j += 1) r.push(new ivm.Reference({ j })); r[0]'));
        made.push({ isolate, inner });
        if (made.length > 1) await made[i - 1].inner.global.set('other', inner.global);
      }
      const calls = made.flatMap(({ isolate, inner }, i) => [
        inner.eval(${JSON.stringify(`(${value(random)})`)}, { copy: true, deadline: 50 }),
        inner.eval('try { outer.setSync("q", 1); other.setSync("z", outer) } catch (e) {} for (let i = 0; i < 500; i += 1) try { outer.applyIgnored() } catch (e) {}', { timeout: 100 }),
        kept[i].get('j').finally(() => ${random() < 0.5 ? 'kept[i].release()' : '0'}),
      ]);
      ${random() < 0.4 ? 'made[0].isolate.dispose();' : ''}
      const done = await Promise.allSettled(calls);
      ${random() < 0.5 ? 'for (const { isolate } of made) try { isolate.dispose() } catch (e) {}' : ''}
      return done.map(({ status, reason }) => status + ' ' + (reason && reason.message));
    })()`, { promise: true, copy: true, deadline: 3000, ...limitsOf(random, true) });
  })()),
};

async function one(random) {
  const isolate = new ivm.Isolate({ memoryLimit: 16 + Math.floor(random() * 48) });
  const calls = [];
  let timer;
  try {
    const context = isolate.createContextSync();
    if (random() < 0.5) timer = setTimeout(() => { try { isolate.dispose(); } catch (error) { checked('dispose', error); } }, random() * 150);
    const names = Object.keys(USES).filter((name) => !values.only || name === values.only);
    for (let i = 0; i < 1 + random() * 8; i += 1) {
      const name = names[Math.floor(random() * names.length)];
      let begun = performance.now();
      try {
        begun = performance.now();
        const call = USES[name]({ isolate, context }, random);
        if (call) calls.push(call); else count(`${name}: ok`);
      } catch (error) {
        checked(name, error);
      }
      const took = performance.now() - begun;
      if (took > 700) console.log(`SLOW ${name}: ${Math.round(took)} ms`);
      if (random() < 0.3) await later();
    }
  } catch (error) {
    checked('one', error);
  }
  await Promise.all(calls);
  clearTimeout(timer);
  if (random() < 0.8) try { isolate.dispose(); } catch (error) { checked('dispose', error); }
}

const agents = new ivm.IsolatedVMSandbox({ timeout: 400, memoryLimit: 32 });
const plugins = new ivm.IsolatedVmSandbox({}, { timers: true });
const CODE_SANDBOX = [
  (random) => `return ${value(random)}`,
  (random) => `for (let i = 0; i < 20; i += 1) console.log(${value(random)}); return 1`,
  (random) => `const all = await Promise.allSettled(Array.from({ length: 20 }, () => t.same(${value(random)}))); return all.length`,
  (random) => `for (let i = 0; i < 50; i += 1) t.late(${value(random)}); return ${value(random)}`,
  (random) => `setInterval(() => console.log(${value(random)}), 1); await new Promise((r) => setTimeout(r, 30)); return 2`,
  () => 'for (;;);',
  () => 'await t.never()',
  (random) => `t.late(1).then(() => { throw ${value(random)} }); throw ${value(random)}`,
  () => "const f = async () => { for (;;) { await t.same(1); } }; await f();",
];
const TOOLS = ['same', 'late', 'never', 'lateFails'].map((name) => ({ name: `t:${name}`, description: name }));

async function sandboxes(random) {
  const code = CODE_SANDBOX[Math.floor(random() * CODE_SANDBOX.length)](random);
  const controller = new AbortController();
  const timer = random() < 0.4 ? setTimeout(() => controller.abort(), random() * 200) : undefined;
  const kind = Math.floor(random() * 3);
  if (kind === 0) {
    await watch('agent', agents.execute(code, TOOLS, (name, params) => host[name.slice(2)](params), { signal: controller.signal }));
  } else if (kind === 1) {
    const sandbox = ivm.createSandbox({ api: { same: host.same, late: host.late, never: host.never, lateFails: host.lateFails } }, { timeout: 400, memoryLimit: 32, timers: true });
    if (random() < 0.3) setTimeout(() => sandbox.dispose?.(), random() * 200);
    await watch('createSandbox', sandbox.execute(code.replaceAll('t.', 'api.'), { signal: controller.signal }));
  } else {
    const isolate = await plugins.createIsolate({ id: `p${Math.floor(random() * 1e9)}`, permissions: { storage: { maxSize: 1e6 } }, limits: { memoryMB: 32, cpuMs: 300 } });
    const calls = [];
    for (let i = 0; i < 3; i += 1) {
      const call = plugins.executeInSandbox(isolate, `(async () => { const t = context.t; ${CODE_SANDBOX[Math.floor(random() * CODE_SANDBOX.length)](random)} })()`, { t: host }, { deadline: 500, signal: controller.signal });
      calls.push(watch('plugin', call.catch(() => count('plugin: failed'))));
    }
    if (random() < 0.4) setTimeout(() => plugins.dispose(isolate), random() * 200);
    await Promise.all(calls);
    plugins.dispose(isolate);
  }
  clearTimeout(timer);
}

async function workers(random) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { seed: Math.floor(random() * 1e9) }, argv: process.argv.slice(2), ...(globalThis.Bun || globalThis.Deno ? {} : { stdout: false }) });
  const gone = new Promise((resolve) => worker.once('exit', resolve));
  worker.on('message', (text) => problem(`worker: ${text}`));
  worker.on('error', (error) => problem(`worker: ${error?.stack ?? error}`));
  await sleep(100 + random() * 600);
  await watch('terminate', worker.terminate());
  await Promise.race([gone, sleep(10_000)]);
}

const parts = { one, sandboxes };
async function lane(random, until, withWorkers) {
  while (performance.now() < until && problems.length < 20) {
    const draw = random();
    if (withWorkers && draw < 0.01 && !values.only) await workers(random);
    else if (draw < 0.35 && !values.only) await parts.sandboxes(random);
    else await parts.one(random);
  }
}

const status = (key) => Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
const snapshot = () => ({ rss: status('VmRSS') >> 10, threads: status('Threads'), fds: readdirSync('/proc/self/fd').length, maps: readFileSync('/proc/self/maps', 'utf8').split('\n').length, external: ivm.ExternalCopy.totalExternalSize });
const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : () => globalThis.gc?.();

if (!isMainThread) {
  for (const name of ['unhandledRejection', 'uncaughtException']) process.on(name, (error) => parentPort.postMessage(`${name} ${error?.stack ?? error}`)); // oxlint-disable-line unicorn/require-post-message-target-origin
  const random = createRandom(workerData.seed);
  await Promise.all([lane(random, performance.now() + 5_000, false), lane(createRandom(workerData.seed + 1), performance.now() + 5_000, false)]);
} else {
  for (const name of ['unhandledRejection', 'uncaughtException']) process.on(name, (error) => problem(`${name} ${error?.stack ?? error}`));
  const until = performance.now() + Number(values.seconds) * 1000;
  let last = performance.now();
  let gap = 0;
  const beat = setInterval(() => { if (performance.now() - last > 1500) console.log(`GAP ${Math.round(performance.now() - last)}`); gap = Math.max(gap, performance.now() - last); last = performance.now(); }, 10);
  const report = setInterval(() => {
    collect();
    console.log(JSON.stringify({ left: Math.round((until - performance.now()) / 1000), pending: pending.size, old: [...pending.values()].filter(({ since }) => performance.now() - since > 3000).map(({ what, since }) => `${what} ${Math.round(performance.now() - since)}`), gap: Math.round(gap), ...snapshot() }));
    gap = 0;
    const now = performance.now();
    for (const { what, since } of pending.values()) if (now - since > PROMISE_LIMIT_MS) problem(`never settled: ${what}`);
    if (problems.length > 0 && now > until + PROMISE_LIMIT_MS) process.exit(1);
  }, 10_000);
  const seed = Number(values.seed);
  await Promise.all(Array.from({ length: Number(values.lanes) }, (_, i) => lane(createRandom(seed * 1000 + i), until, i === 0)));
  plugins.disposeAll();
  agents.dispose();
  clearInterval(report);
  for (let i = 0; i < 12; i += 1) {
    collect();
    await sleep(1000);
    if (i % 4 === 3) console.log(JSON.stringify({ settling: i, pending: pending.size, ...ivm.engineStats(), ...snapshot() }));
  }
  clearInterval(beat);
  for (const [what, times] of [...tally].toSorted()) console.log(`  ${what}: ${times}`);
  for (const { what } of pending.values()) problem(`pending at the end: ${what}`);
  console.log(problems.length ? `FAIL ${problems.length}` : 'OK');
  process.exitCode = problems.length ? 1 : 0;
}
