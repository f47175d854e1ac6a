// A stress test that is not part of the suite: calls that lead in circles through the host and several isolates on one thread. Each program is a tree of
// calls, some of which throw, do not end, dispose of an isolate that is in use, or run under a time limit of `node:vm`. A model says what each program results
// in, and in which order its host is called. With `--lost`, guests do not stop either, and whatever is left afterwards must work.
// `node --expose-gc __test__/stress/circles.mjs [--seconds 60] [--seed 1] [--workers 2] [--silence 60] [--lost]`, or the same with Bun or Deno.

import { runInNewContext } from 'node:vm';
import { isMainThread, workerData } from 'node:worker_threads';
import { moduleEntry } from '../harness.mjs';
import { ENDLESS } from './endless.mjs';
import { createRandom } from './life.mjs';
import { collect, readOptions, sleep, watchAll, workersOf } from './watch.mjs';

const options = readOptions({ lost: { type: 'boolean' }, calls: { type: 'string', default: 'caller' } });
const { lost: LOSES } = options;

const ISOLATES = 4;
const MAX_DEPTH = 7;
const MAX_NODES = 60;
/** How guests call their host. */
const TO_HOST = ['callback', 'callback', 'object', 'lazy', 'reference', 'copy', 'getter'];
/** How hosts call a guest. */
const TO_GUEST = ['eval', 'closure', 'apply', 'script', 'copied'];
/** Guests that V8 stops. */
const STOPPABLE = [
  'for (;;);',
  'for (;;) nothing(1)',
  'for (;;) try { nothing("text") } catch {}',
  'for (;;) nothing({})',
  'for (;;) doNothing.applySync(undefined, [1])',
  'const f = () => f() + 1; for (;;) try { f(); } catch {}',
  'Promise.resolve().then(function again() { soonest += 1; if (soonest % 1000 !== 0) Promise.resolve().then(again); }); for (;;);',
  'for (const all = []; ; ) { all.push({}); if (all.length > 1000) all.length = 0; }',
];

const ENDED = new Set(['ERR_ISOLATE_DISPOSED', 'ERR_ISOLATE_MEMORY']);

/** What guests run. */
const GUEST = `
  var soon = 0, soonest = 0;
  function run(text) {
    const node = JSON.parse(text);
    if (node.ignored) ignore(node.id);
    if (node.soon) Promise.resolve().then(() => { soon += 1; });
    let sum = node.id;
    for (const kid of node.kids) {
      let result;
      try { result = enter(kid, JSON.stringify(kid)); } catch (error) { result = -1; }
      sum = (sum * 31 + result) % 1000003;
    }
    if (node.end === 'throw') throw new RangeError('thrown by ' + node.id);
    if (node.end === 'greedy') for (const all = []; ;) all.push(new Array(1000).fill(1.5));
    if (node.end === 'endless') new Function(node.code)();
    return sum;
  }
  function enter(kid, text) {
    switch (kid.way) {
      case 'callback': return host(text);
      case 'object': return host({ text }).result;
      case 'lazy': return host({ get text() { return echo(text); } }).result;
      case 'getter':
        gate.setSync('text', text);
        return gate.getSync('result', { accessors: true });
      case 'reference': return refer.applySync(undefined, [text]);
      case 'copy': return refer.applySync(undefined, [{ text }], { arguments: { copy: true }, result: { copy: true } }).result;
      case 'peer': return peers[kid.at].applySync(undefined, [text], kid.limits);
    }
  }`;

class Program {
  /** @param {() => number} random @param {number} first less than the number of each node */
  constructor(random, first) {
    this.nodes = first;
    this.most = first + MAX_NODES;
    this.below = (limit) => Math.floor(random() * limit);
    this.chance = (share) => random() < share;
    this.pick = (list) => list[this.below(list.length)];
    this.root = this.host(0);
  }

  kids(depth, make) {
    const kids = [];
    for (let left = depth >= MAX_DEPTH ? 0 : this.below(4); left > 0 && this.nodes < this.most; left -= 1) kids.push(make());
    return kids;
  }

  host(depth) {
    const node = { id: (this.nodes += 1), at: 'host', way: this.pick(TO_HOST) };
    node.kids = this.kids(depth, () => this.guest(depth + 1, this.pick(TO_GUEST)));
    if (this.chance(0.1)) node.noise = this.below(ISOLATES);
    if (this.chance(0.05)) node.collects = true;
    if (this.chance(0.05)) node.changes = this.pick(['thread', 'caller']);
    if (this.chance(0.08)) node.end = 'throw';
    else if (this.chance(0.04)) [node.end, node.disposed] = ['dispose', this.below(ISOLATES)];
    return node;
  }

  guest(depth, way, caller) {
    const node = { id: (this.nodes += 1), at: this.below(ISOLATES), way, kids: [], soon: this.chance(0.3), ignored: this.chance(0.1) };
    // A guest's calls of its own References have no limits.
    if (node.at !== caller && this.chance(0.1)) {
      node.end = 'endless';
      node.code = LOSES && this.chance(0.5) ? this.pick(ENDLESS) : this.pick(STOPPABLE);
      // Such a limit ends all calls that wait on the stack, if V8 stops their guests.
      if (depth === 1 && !ENDLESS.includes(node.code) && this.chance(0.2)) node.vm = true;
      else node.limits = this.chance(0.5) ? { timeout: 1 + this.below(20) } : { deadline: 5 + this.below(20) };
      return node;
    }
    node.kids = this.kids(depth, () => (this.chance(0.25) ? this.guest(depth + 1, 'peer', node.at) : this.host(depth + 1)));
    if (this.chance(0.08)) node.end = 'throw';
    else if (this.chance(0.01)) node.end = 'greedy';
    if (this.chance(0.2)) node.limits = this.chance(0.5) ? { timeout: 60_000 } : { deadline: 120_000 };
    return node;
  }
}

/** What a program results in. */
class Model {
  dead = new Set();
  trace = [];
  soon = Array(ISOLATES).fill(0);
  uncertain = Array(ISOLATES).fill(0);
  ignored = Array.from({ length: ISOLATES }, () => []);

  /** Isolates that run. @type {number[]} */
  running = [];
  /** How many guests call another one. */
  peers = 0;
  /** Whether only the state afterwards is certain. */
  loose = false;

  /** An isolate ends. What calls it continues at once, beside the guests that it calls. */
  end(index) {
    this.dead.add(index);
    if (this.peers > 0 && this.running.includes(index)) this.loose = true;
  }

  try(act) {
    try { return act(); } catch (error) { if (error !== this) throw error; return -1; }
  }

  host(node) {
    this.trace.push(node.id);
    let sum = node.id;
    for (const kid of node.kids) sum = (sum * 31 + this.try(() => this.guest(kid))) % 1000003;
    if (node.end === 'throw') throw this;
    if (node.end === 'dispose') this.end(node.disposed);
    return sum;
  }

  peer(node) {
    this.peers += 1;
    try { return this.guest(node); } finally { this.peers -= 1; }
  }

  guest(node) {
    if (this.dead.has(node.at)) throw this;
    this.running.push(node.at);
    try { return this.run(node); } finally { this.running.pop(); }
  }

  run(node) {
    if (node.ignored) this.ignored[node.at].push(node.id);
    if (node.soon) this.soon[node.at] += 1;
    // What is left of a stopped call may be dropped.
    if (node.end === 'endless') this.uncertain[node.at] += 1000;
    let sum = node.id;
    for (const kid of node.kids) {
      const result = this.try(() => (kid.at === 'host' ? this.host(kid) : this.peer(kid)));
      if (this.dead.has(node.at)) throw this;
      sum = (sum * 31 + result) % 1000003;
    }
    if (node.end === 'greedy') this.end(node.at);
    if (node.end !== undefined) throw this;
    return sum;
  }
}

async function child() {
  const { default: ivm } = await import(moduleEntry);
  ivm.configureEngine({ syncCalls: options.calls, terminationGrace: LOSES ? 10 : 20_000 });
  const [seed, until] = isMainThread ? [options.seed, Date.now() + options.seconds * 1000] : workerData;
  const random = createRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const tally = {};
  const count = (what) => { tally[what] = (tally[what] ?? 0) + 1; };
  let round = 0;
  const fail = (what) => { console.log(`PROBLEM in round ${round} of seed ${seed}${isMainThread ? '' : ' in a worker'}: ${what}`); process.exit(3); };

  let [trace, ignored] = [[], []];
  /** Whether calls may end with a guest that waits for them. */
  let ends = LOSES;
  /** Calls whose text lies in the host's `gate` or in a guest's `text`, with those that they make. A guest whose caller has ended may find the text of another call there, and repeat that. */
  const sharing = new Set();
  const share = (node) => { sharing.add(node.id); node.kids.forEach(share); };
  const noises = [];
  const guests = [];
  /** What a host function does. */
  const serve = (argument) => {
    const text = typeof argument === 'string' ? argument : argument.text;
    const result = runHost(JSON.parse(text));
    return typeof argument === 'string' ? result : { result };
  };
  const make = (index) => {
    // One keeps to its own thread.
    const isolate = new ivm.Isolate({ memoryLimit: 32, inspector: index === 3 });
    const context = isolate.createContextSync();
    const { global } = context;
    global.setSync('host', new ivm.Callback(serve));
    global.setSync('refer', new ivm.Reference(serve));
    global.setSync('echo', new ivm.Callback((text) => text));
    global.setSync('ignore', new ivm.Callback((id) => { if (id > round * 100) ignored[index].push(id); }, { ignored: true }));
    global.setSync('gate', new ivm.Reference({ text: '', get result() { return serve(this.text); } }, { accessors: true }));
    global.setSync('nothing', new ivm.Callback(() => 1));
    global.setSync('doNothing', new ivm.Reference(() => 1));
    global.setSync('increment', new ivm.Callback((n) => n + 1));
    context.evalSync(GUEST);
    const run = global.getSync('run', { reference: true });
    const script = isolate.compileScriptSync('run(text)');
    guests[index] = { isolate, context, global, run, script, soon: 0, uncertain: 0 };
  };
  const connect = () => {
    for (const { context } of guests) context.evalClosureSync('globalThis.peers = [$0, $1, $2, $3]', guests.map(({ run }) => run));
  };
  const enter = (node, text) => {
    const { context, global, run, script } = guests[node.at];
    switch (node.way) {
      case 'eval': return context.evalSync(`run(${JSON.stringify(text)})`, node.limits);
      case 'closure': return context.evalClosureSync('return run($0)', [text], node.limits);
      case 'apply': return run.applySync(undefined, [text], node.limits);
      case 'copied': return context.evalSync(`({ get result() { return run(${JSON.stringify(text)}); } })`, { ...node.limits, copy: true }).result;
      default:
        share(node);
        global.setSync('text', text);
        return script.runSync(context, node.limits);
    }
  };
  const expected = (node, error) => {
    const code = error?.code;
    if (node.vm && !LOSES) return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' || ENDED.has(code);
    return ends || code !== 'ERR_ISOLATE_ABORTED';
  };
  function runHost(node) {
    // A guest whose caller has ended in an earlier round.
    if (node.id <= round * 100) return 0;
    trace.push(node.id);
    if (node.way === 'getter') share(node);
    let sum = node.id;
    if (node.collects) collect();
    if (node.changes !== undefined) ivm.configureEngine({ syncCalls: node.changes });
    if (node.noise !== undefined) {
      const n = below(1000);
      noises.push(guests[node.noise].context.eval(`increment(${n})`, { timeout: 60_000 }).then((value) => (value === n + 1 ? '' : `${value} instead of ${n + 1}`), (error) => (LOSES || ENDED.has(error.code) || error.message === 'Promise was abandoned' ? '' : String(error.stack))));
    }
    for (const kid of node.kids) {
      let result = -1;
      const call = () => enter(kid, JSON.stringify(kid));
      try {
        result = kid.vm ? runInNewContext('call()', { call }, { timeout: 20 }) : call();
      } catch (error) {
        count(error?.code ?? error?.name);
        if (!expected(kid, error)) fail(`${JSON.stringify(kid)}: ${error?.stack}`);
      }
      sum = (sum * 31 + result) % 1000003;
    }
    if (node.end === 'throw') throw new TypeError(`thrown by ${node.id}`);
    if (node.end === 'dispose' && !guests[node.disposed].isolate.isDisposed) guests[node.disposed].isolate.dispose();
    return sum;
  }

  const workers = workersOf(import.meta.url, { random, below, count, fail }, () => ({ argv: [...process.argv.slice(2), '--child'] }));

  for (let index = 0; index < ISOLATES; index += 1) make(index);
  connect();
  let lately = Date.now();
  for (; Date.now() < until; round += 1) {
    const first = round * 100;
    const { root } = new Program(random, first);
    root.end = undefined;
    const model = new Model();
    const promised = model.try(() => model.host(root));
    ends = LOSES || model.loose;
    sharing.clear();
    [trace, ignored] = [[], Array.from({ length: ISOLATES }, () => [])];
    const since = Date.now();
    const result = runHost(root);
    count('rounds');
    if (!LOSES && !model.loose) {
      if (result !== promised) fail(`${result} instead of ${promised}: ${JSON.stringify(root)}`);
      if (trace.join() !== model.trace.join()) fail(`called as ${trace} instead of ${model.trace}: ${JSON.stringify(root)}`);
    }
    const unique = trace.filter((id) => !sharing.has(id));
    if (new Set(unique).size !== unique.length) fail(`called twice: ${trace}: ${JSON.stringify(root)}`);
    if (!LOSES && ivm.engineStats().endings.abandoned > 0) fail(`an isolate was abandoned: ${JSON.stringify(root)}`);
    const calm = model.dead.size === 0 && model.uncertain.every((n) => n === 0);
    if (calm && !LOSES) {
      for (let turns = 0; ignored.join(';') !== model.ignored.join(';'); turns += 1) {
        if (turns === 1_000) fail(`ignored calls ${ignored.join(';')} instead of ${model.ignored.join(';')}: ${JSON.stringify(root)}`);
        await sleep(1);
      }
    } else if (random() < 0.3) await sleep(below(3));
    if (noises.length > 20 || random() < 0.1) {
      const wrong = (await Promise.all(noises.splice(0))).filter(Boolean);
      if (wrong.length > 0) fail(`asynchronous calls: ${wrong}`);
    }
    let renewed = false;
    for (const [index, guest] of guests.entries()) {
      guest.soon += model.soon[index];
      guest.uncertain += model.uncertain[index];
      if (!guest.isolate.isDisposed && !LOSES && !model.loose && model.dead.has(index)) fail(`an isolate was not disposed: ${JSON.stringify(root)}`);
      if (guest.isolate.isDisposed && !LOSES && !model.loose && !model.dead.has(index)) {
        let why;
        try { guest.context.evalSync('1'); } catch (error) { why = error; }
        fail(`isolate ${index} was disposed (${why?.message} ${why?.code}): ${JSON.stringify(root)}`);
      };
      let works;
      try { works = guest.context.evalSync('6 * increment(6)'); } catch (error) { works = error; }
      // In a loose round, guests may still run.
      if (works !== 42 || model.loose) {
        if (!LOSES && !model.loose && !guest.isolate.isDisposed) fail(`an isolate does not work: ${works?.stack ?? works}`);
        if (!guest.isolate.isDisposed) guest.isolate.dispose();
        make(index);
        renewed = true;
      } else if (!LOSES && random() < 0.1) {
        const soon = await guest.context.eval('soon');
        if (soon > guest.soon || soon < guest.soon - guest.uncertain) fail(`${soon} microtasks instead of ${guest.soon}`);
        [guest.soon, guest.uncertain] = [soon, 0];
      }
    }
    if (renewed) connect();
    if (isMainThread) {
      if (workers.size < options.workers) workers.start();
      if (Date.now() - lately > 1_000) {
        lately = Date.now();
        const { endings, lostBytes } = ivm.engineStats();
        const lost = Math.round(lostBytes / 2 ** 20);
        console.log(`BEAT ${JSON.stringify({ round, took: Date.now() - since, left: endings.abandoned, lost, rss: Math.round(process.memoryUsage().rss / 2 ** 20) })}`);
        if (lost > 1_000) break;
      }
    }
  }
  if (!isMainThread) return;
  while (workers.size > 0) await sleep(100);
  console.log(`END ${JSON.stringify(tally)}`);
  process.exit(0);
}

// Not awaited: Node 22 ends when a worker is terminated at the first await of its module.
void (options.child || !isMainThread ? child() : watchAll(import.meta.url, options));
