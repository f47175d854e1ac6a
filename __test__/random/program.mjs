// The program that a seed determines: the next operation, its realm and its path. Checks that each outcome is a possible one.

import { addPath, planPath, Stages } from './model.mjs';
import { Random } from './numbers.mjs';
import { operations } from './operations.mjs';
import { Plan } from './plan.mjs';
import { SLOTS, World } from './world.mjs';

/** The relative frequency of operations, if it is not 1. */
const WEIGHTS = { send: 6, fetch: 4, call: 3, apply: 3, promised: 6, get: 2, set: 2, deref: 2 };
const names = Object.keys(operations).flatMap((name) => Array.from({ length: WEIGHTS[name] ?? 1 }, () => name));
/** Items that a realm holds before some are dropped. */
const MAX_ITEMS = 30;
const MAX_PENDING = 24;
const BETWEEN = [0, 0, 0, 0, 1, 1, 2, 3, 4];

export class Program {
  index = 0;
  /** @type {string[]} */
  problems = [];
  tally = new Map();
  /** @type {Map<number, Promise<void>>} */
  #pending = new Map();

  constructor(ivm, { seed, disposal, beat, trace }) {
    this.random = new Random(seed);
    this.world = new World(ivm, this.random);
    this.world.disposal = disposal;
    this.beat = beat;
    this.trace = trace;
  }

  /** Executes `count` operations, and waits for what they have started. */
  async some(count) {
    const { random } = this;
    for (const end = this.index + count; this.index < end && this.problems.length === 0; ) {
      this.#renew();
      this.#next();
      if (random.chance(0.1)) await new Promise((resolve) => setImmediate(resolve));
      if (this.#pending.size > MAX_PENDING || random.chance(0.01)) await this.#settled();
    }
    await this.#settled();
  }

  /** Operations that are not over. */
  get waiting() {
    return [...this.#labels.values()];
  }

  async #settled() {
    this.beat(`the end of ${this.waiting.join('; ')}`);
    await Promise.all(this.#pending.values());
  }

  #labels = new Map();

  /** Replaces isolates that may have been disposed. */
  #renew() {
    for (const slot of SLOTS) if (this.world.slots.get(slot)?.body.dead !== 'no') this.world.renew(slot);
  }

  #plan(realm) {
    for (;;) {
      const name = realm.items.length > MAX_ITEMS ? 'drop' : this.random.pick(names);
      const plan = new Plan(this.world, realm, [], {});
      plan.name = name;
      if (name === 'drop') this.#drop(plan);
      else if (operations[name](plan) !== true) continue;
      return plan;
    }
  }

  /** Drops an item, which the collector may then collect. */
  #drop(plan) {
    const { realm, order } = plan;
    const position = this.random.below(realm.items.length);
    const [item] = realm.items.splice(position, 1);
    Object.assign(order, { do: 'drop', id: item.id });
    const absent = plan.absence(item);
    plan.perhaps(absent, '= false');
    plan.gives('= true');
    item.dropped = true;
    plan.onEnd.push((outcome) => {
      // Drop it directly if the planned path was blocked, so that nothing remains.
      if (outcome !== '= true' && realm.body.dead === 'no') this.world.tell(realm, { do: 'drop', id: item.id });
    });
    plan.onIssue.push(() => (item.absent = 'maybe'));
  }

  #next() {
    const { random, world } = this;
    const index = (this.index += 1);
    const acting = random.pick(world.realms);
    const plan = this.#plan(acting);
    const { name, order } = plan;
    const between = name === 'spin' ? 0 : random.pick(BETWEEN);
    const realms = [world.host.body, ...Array.from({ length: between }, () => random.pick(world.realms).body)];
    if (acting !== world.host || between > 0) realms.push(acting.body);
    if (plan.hands !== undefined) realms.push(plan.realm.body);
    const { hops, time } = planPath(random, { realms, time: order.mode === 'later' ? 'later' : 'now', last: plan.hands });
    const stages = new Stages();
    if (plan.hands !== undefined) hops.at(-1).holds = plan.holds;
    const { rooted, observed } = addPath(stages, realms, hops);
    if (observed) for (const add of plan.stages) add(stages, rooted);
    else if (time === 'now' && hops.length === 0) throw new Error('an order without a recipient');
    plan.immediate = time === 'now' && observed && order.mode !== 'ignored';
    plan.unobserved = !observed || order.mode === 'ignored';
    for (const act of plan.onIssue) act();
    this.tally.set(name, (this.tally.get(name) ?? 0) + 1);

    const text = JSON.stringify({ depth: 0, path: hops.map(({ holds, ...hop }) => hop), op: order });
    const label = `operation ${index} (${name} in ${realms.map((body) => body.name).join(' > ')}): ${text}`;
    if (this.trace) console.log(label);
    this.beat(label);
    const ended = (outcome) => {
      if (this.trace) console.log(`  ${index}: ${outcome}`);
      if (typeof outcome !== 'string' || !stages.admits(outcome)) this.#fail(label, outcome, stages);
      const carriedOut = observed && typeof outcome === 'string' && !outcome.startsWith('^') && outcome !== 'absent';
      // Others in progress may still access it.
      if (typeof outcome === 'string' && outcome.startsWith('^') && outcome.includes('ERR_ISOLATE_DISPOSED')) plan.unobserved = true;
      if (carriedOut) for (const act of plan.onDone) act(outcome);
      for (const act of plan.onEnd) act(outcome);
    };
    let result;
    try {
      result = world.agent.run(text, plan.value);
    } catch (error) {
      this.#fail(label, error, stages);
      return;
    }
    if (plan.endless !== undefined) this.#end(plan.endless);
    if (typeof result === 'string') return void ended(result);
    this.#labels.set(index, label);
    const done = result.then(ended, (error) => this.#fail(label, error, stages)).finally(() => {
      this.#pending.delete(index);
      this.#labels.delete(index);
    });
    this.#pending.set(index, done);
  }

  /** Ends an isolate that runs forever, or is about to. */
  #end(body) {
    const until = performance.now() + this.random.next() * 0.5;
    while (performance.now() < until);
    const slot = SLOTS.find((name) => this.world.slots.get(name)?.body === body);
    this.world.renew(slot);
  }

  #fail(label, outcome, stages) {
    this.problems.push(`${label}\n  gives ${outcome?.stack ?? outcome}\n  expected ${stages.describe()}`);
  }

  /** Releases everything. Returns what is left but should not be. */
  async finish(collect, patience) {
    const { world } = this;
    const problems = [];
    this.#renew();
    for (const realm of world.realms) world.tell(realm, { do: 'clear', all: true });
    for (const item of world.host.items) item.dropped = true;
    const counts = () => [...world.slots.values()].map(({ isolate, base }) => isolate.referenceCount - base).filter((count) => count > 0);
    const until = performance.now() + patience;
    while (counts().length > 0 && performance.now() < until) {
      this.beat('the collection of what is left');
      collect();
      for (const realm of world.slots.values()) world.tell(realm, { do: 'collect' });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    if (counts().length > 0) problems.push(`handles are left: ${counts().join(', ')}`);
    for (const slot of SLOTS) {
      const { isolate } = world.slots.get(slot);
      if (!isolate.isDisposed) isolate.dispose();
    }
    const external = world.ivm.ExternalCopy.totalExternalSize;
    while (world.ivm.ExternalCopy.totalExternalSize > 0 && performance.now() < until) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    if (world.ivm.ExternalCopy.totalExternalSize > 0) problems.push(`copies are left: ${external} bytes`);
    return problems;
  }
}
