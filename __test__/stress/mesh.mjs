// A stress test that is not part of the suite: a host and guests that have `ivm` use the whole API in random ways, and pass each other what they
// make. All calls have limits. None may fail with an internal error of the library, every promise settles, and the process neither ends nor hangs.
// `node --expose-gc __test__/stress/mesh.mjs [--seconds 60] [--seed 1] [--workers 1] [--silence 60] [--calls thread]`, or the same with Bun or Deno.

import { isMainThread, workerData } from 'node:worker_threads';
import { moduleEntry } from '../harness.mjs';
import { createRandom } from './life.mjs';
import { createRealm } from './mesh-realm.mjs';
import { collect, readOptions, sleep, watchAll, workersOf } from './watch.mjs';

const options = readOptions({ calls: { type: 'string', default: 'caller' }, workers: { type: 'string', default: '1' } });

const PEERS = 3;
const BURST = 10;
/** How long the same guests are used. */
const MESH_MS = 1_500;
/** More than all limits of a call, on a busy machine. */
const SETTLE_MS = 15_000;
const MAX_LOST_MB = 1_000;

async function child() {
  const [seed, until] = isMainThread ? [options.seed, Date.now() + options.seconds * 1000] : workerData;
  const { default: ivm } = await import(moduleEntry);
  const random = createRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const tally = {};
  const count = (what) => { tally[what] = (tally[what] ?? 0) + 1; };
  const fail = (what) => {
    console.log(`PROBLEM ${what} (seed ${seed})`);
    process.exit(3);
  };
  // Random callbacks throw and reject, and no caller can receive some of that.
  process.removeAllListeners('warning');
  process.on('unhandledRejection', () => count('unhandled'));
  process.on('uncaughtException', (error) => (/internal error|panicked/i.test(error?.message) ? fail(error.stack) : count('uncaught')));
  if (isMainThread) ivm.configureEngine({ timeout: 1_000, deadline: 3_000, terminationGrace: 300, lostMemoryLimit: 2 * MAX_LOST_MB, syncCalls: options.calls });

  const host = createRealm(ivm, random, true);
  const workers = workersOf(import.meta.url, { random, below, count, fail }, () => ({ argv: [...process.argv.slice(2), '--child'] }));

  async function makePeer() {
    const isolate = new ivm.Isolate({ memoryLimit: 32 });
    const context = await isolate.createContext({ timers: true, web: true });
    await context.global.set('ivm', ivm);
    await context.evalClosure(`globalThis.realm = (${createRealm})(ivm, (${createRandom})($0), false)`, [below(1e9)]);
    const reference = (code) => context.eval(code, { reference: true });
    const [burst, receive] = [await reference('realm.burst'), await reference('realm.receive')];
    const introduce = await reference('(peer) => { realm.peers.push(peer); }');
    const problems = await reference('() => realm.problems.splice(0).join("\\n")');
    return { isolate, burst, receive, introduce, problems };
  }
  async function makeMesh() {
    const mesh = await Promise.all(Array.from({ length: PEERS }, makePeer));
    host.peers.length = 0;
    for (const peer of mesh) {
      host.peers.push(peer.receive);
      const others = mesh.filter((other) => other !== peer).map(({ receive }) => receive);
      const ofHost = [new ivm.Reference(host.receive), new ivm.Callback(host.receive, random() < 0.5 ? { async: true } : {})];
      for (const other of [...others, ...ofHost]) await peer.introduce.apply(undefined, [other]);
    }
    return mesh;
  }
  const inTime = async (what, promise) => {
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(resolve, SETTLE_MS, fail); });
    if ((await Promise.race([promise, late])) === fail) fail(`${what} did not settle`);
    clearTimeout(timer);
  };

  while (Date.now() < until) {
    const mesh = await makeMesh();
    for (const end = Date.now() + MESH_MS; Date.now() < end;) {
      const bursts = mesh.map(({ burst }) => burst.apply(undefined, [BURST], { timeout: 300, deadline: 1_000 }).catch((error) => count(error.code ?? error.name)));
      for (let index = 0; index < BURST; index += 1) {
        host.burst(1);
        if (index % 3 === 0) await sleep(0);
      }
      await inTime('a call', Promise.all(bursts));
      if (host.problems.length > 0) fail(host.problems[0]);
      if (!isMainThread) continue;
      if (workers.size < options.workers) workers.start();
      const { lostBytes } = ivm.engineStats();
      console.log(`BEAT ${JSON.stringify({ steps: host.steps, lost: Math.round(lostBytes / 2 ** 20), ...tally })}`);
    }
    for (const { isolate, problems } of mesh) {
      const found = await problems.apply(undefined, [], { timeout: 200, deadline: 1_000 }).catch(() => '');
      if (found) fail(`in a guest: ${found}`);
      if (random() < 0.7 && !isolate.isDisposed) isolate.dispose();
    }
    collect();
    if (ivm.engineStats().lostBytes > MAX_LOST_MB * 2 ** 20) break;
  }
  if (!isMainThread) return;
  for (const end = Date.now() + SETTLE_MS; host.pending.size > 0; await sleep(50)) {
    if (Date.now() > end) fail(`promises did not settle: ${[...host.pending.values()]}`);
  }
  while (workers.size > 0) await sleep(100);
  console.log(`END ${JSON.stringify({ steps: host.steps, ...tally, ...ivm.engineStats().endings })}`);
  process.exit(0);
}

// Not awaited: Node 22 ends when a worker is terminated at the first await of its module.
void (options.child || !isMainThread ? child() : watchAll(import.meta.url, options));
