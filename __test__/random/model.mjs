// The randomized test's knowledge: isolates, what is in them, which realm holds what, and the possible outcomes of an order. Some of it is
// uncertain, because calls run at the same time: a fact is 'no', 'maybe' or 'yes'.

const CALL_REFUSED = 'Error ERR_ISOLATE_UNSUPPORTED: Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.';
const NOT_ON_DEFAULT = 'Error ERR_ISOLATE_UNSUPPORTED: This function may not be called from the default thread';

export const DISPOSED = /^Error ERR_ISOLATE_DISPOSED: (Isolated is disposed|Isolate is disposed|Isolate was disposed during execution|Promise was abandoned)$/;
const NOW = 'Error ERR_ISOLATE_DISPOSED: Isolated is disposed';
const LATER = 'Error ERR_ISOLATE_DISPOSED: Isolate is disposed';

const between = (start, end) => (start === 'yes' ? 'yes' : start === 'no' && end === 'no' ? 'no' : 'maybe');

/** A fact at some time between now and the request for its result. */
export function during(fact) {
  const start = fact();
  return () => between(start, fact());
}

/** Something that happens once and is never undone. */
export class Fact {
  /** @type {'no' | 'maybe' | 'yes'} */
  known = 'no';
  /** Orders in progress that cause it. */
  #pending = 0;

  #now(own) {
    return this.known === 'no' && this.#pending > own ? 'maybe' : this.known;
  }

  /** @param {boolean} [own] whether the order that asks is one of those that cause it */
  during(own = false) {
    const start = this.#now(0);
    return () => between(start, this.#now(own ? 1 : 0));
  }

  begin() {
    this.#pending += 1;
  }

  /** @param {'no' | 'maybe' | 'yes'} happened */
  end(happened) {
    this.#pending -= 1;
    if (this.known === 'no' || happened === 'yes') this.known = happened;
  }
}

/** An isolate, or the host. */
export class Body {
  /** @type {'no' | 'maybe' | 'yes'} */
  dead = 'no';
  /** The number of orders to dispose it. */
  disposals = 0;
  /** @type {Body[]} */
  children = [];

  constructor(name, maker) {
    this.name = name;
    this.isHost = maker === undefined;
    this.maker = maker;
    maker?.children.push(this);
  }

  /** It and those that end with it. */
  *subtree() {
    yield this;
    for (const each of this.children) yield* each.subtree();
  }

  disposing() {
    for (const each of this.subtree()) {
      each.disposals += 1;
      if (each.dead === 'no') each.dead = 'maybe';
    }
  }

  disposed() {
    for (const each of this.subtree()) each.dead = 'yes';
    if (this.maker !== undefined) this.maker.children = this.maker.children.filter((other) => other !== this);
  }
}

/** What a handle refers to: a value, a copy, a context. */
export class Thing {
  /** Values that the property `n` may have. */
  values = new Set(['0']);
  /** Orders in progress that read or write it. */
  pending = 0;
  /** Whether a buffer has moved out of the copy. */
  moved = new Fact();
  /** How often its shared memory should be read, and how often it certainly was. */
  looks = { asked: 0, done: 0 };
  linked = new Fact();

  constructor(kind, home, spec = {}) {
    this.kind = kind;
    this.home = home;
    this.spec = spec;
  }
}

/** A handle that a realm stores under a number. */
export class Item {
  /** @type {'no' | 'maybe'} */
  absent = 'maybe';
  released = new Fact();

  constructor(id, kind, thing) {
    this.id = id;
    this.kind = kind;
    this.thing = thing;
  }
}

export const certainly = () => 'yes';

/**
 * The possible outcomes of an order, in the order in which they can occur. An outcome that is certain hides everything after it.
 */
export class Stages {
  stages = [];

  /** @param {() => 'no' | 'maybe' | 'yes'} when @param {string | RegExp | (() => Iterable<string>)} is */
  add(when, is) {
    this.stages.push({ when, is });
  }

  admits(text) {
    for (const { when, is } of this.stages) {
      const certainty = when();
      if (certainty === 'no') continue;
      if (is instanceof RegExp ? is.test(text) : typeof is === 'function' ? [...is()].includes(text) : is === text) return true;
      if (certainty === 'yes') return false;
    }
    return false;
  }

  describe() {
    const lines = [];
    for (const { when, is } of this.stages) {
      const certainty = when();
      if (certainty === 'no') continue;
      lines.push(`${certainty === 'yes' ? 'certainly' : 'perhaps'} ${typeof is === 'function' ? [...is()].join(' or ') : is}`);
      if (certainty === 'yes') break;
    }
    return lines.join('; ');
  }
}

/** An error that has passed through a function of a realm. The function rethrows it, and errors that realms throw have no code. */
export const passedOn = (is) => {
  const source = is instanceof RegExp ? is.source : `^${escaped(is)}$`;
  return new RegExp(source.replace(/ (ERR_[A-Z_]+): /, '(?: $1)?: '));
};

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** A text with a prefix. */
const after = (prefix, is) => (is instanceof RegExp ? new RegExp(`^${escaped(prefix)}${is.source.replace(/^\^/, '')}`) : `${prefix}${is}`);

/**
 * The possible failures of a call into an isolate.
 * @param {Stages} stages
 * @param {string} prefix
 * @param {{ from: Body, to: Body, rooted: string, waits: boolean }} call
 */
export function addEntering(stages, prefix, { from, to, rooted, waits, passed = false }) {
  const textOf = (is) => (passed ? passedOn(after(prefix, is)) : after(prefix, is));
  if (to === from || to.isHost) return;
  if (waits && !from.isHost) {
    const refused = rooted === 'no' ? 'yes' : rooted === 'maybe' ? 'maybe' : 'no';
    stages.add(() => refused, textOf(CALL_REFUSED));
  }
  const down = during(() => to.dead);
  stages.add(() => (down() === 'yes' ? 'yes' : 'no'), textOf(waits ? NOW : LATER));
  stages.add(() => (down() === 'maybe' ? 'maybe' : 'no'), textOf(DISPOSED));
}

/**
 * The steps from the host to the realm that executes an order.
 * @param {import('./world.mjs').Random} random
 * @param {{ realms: Body[], time: 'now' | 'later', last?: object }} plan `last` is added to the last step
 */
export function planPath(random, { realms, time, last }) {
  const hops = [];
  for (let index = realms.length - 2; index >= 0; index -= 1) {
    const to = realms[index + 1];
    const hop = { to: to.name };
    if (index === realms.length - 2) Object.assign(hop, last);
    hop.delayed = to.isHost && time === 'now' && random.chance(0.2);
    const late = time === 'later' || hop.delayed;
    const ways = late ? ['sync', 'async'] : hop.way === undefined ? ['sync', 'sync', 'direct', 'direct', 'async'] : ['sync', 'sync', 'async'];
    hop.how = random.pick(ways);
    if (random.chance(0.03)) hop.how = 'ignored';
    // An order must not wait for something that needs another turn of an isolate: two of them could wait for each other.
    if ((time === 'now') && random.chance(0.06) && hop.way === undefined) hop.how = 'wait';
    hop.promise = late && (hop.how === 'sync' || hop.how === 'async');
    time = hop.how === 'async' || hop.promise ? 'later' : 'now';
    hops.unshift(hop);
  }
  return { hops, time };
}

/**
 * The possible outcomes of these steps. Returns whether a sync call of a host waits for the work at their end, and whether any caller gets
 * its outcome.
 */
export function addPath(stages, realms, hops) {
  let rooted = 'yes';
  let observed = true;
  for (const [index, hop] of hops.entries()) {
    const [from, to] = [realms[index], realms[index + 1]];
    const prefix = `^${index} `;
    const own = from === to;
    const down = during(() => to.dead);
    if (observed) stages.add(() => (down() === 'no' ? 'no' : 'maybe'), `${prefix}absent`);
    if (observed) hop.holds?.leaving(stages, prefix);
    if (hop.how === 'wait') {
      const refused = from.isHost || own ? 'yes' : rooted;
      if (observed) stages.add(() => refused, after(prefix, NOT_ON_DEFAULT));
    }
    if (hop.how === 'ignored') {
      if (observed) stages.add(certainly, '= undefined');
      observed = false;
    }
    const waits = hop.how === 'sync' || hop.how === 'direct' || hop.how === 'wait';
    if (observed) addEntering(stages, prefix, { from, to, rooted, waits });
    if (observed) hop.holds?.arriving(stages, prefix);
    // A host's sync call is the root of what it calls. What a guest does to itself later runs when its outermost call is over.
    if (to.isHost) rooted = 'yes';
    else if (!waits) rooted = own ? 'maybe' : 'no';
    else if (!own) rooted = 'yes';
  }
  return { rooted, observed };
}
