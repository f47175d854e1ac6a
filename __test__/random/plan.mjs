// Plans an operation: the order for a realm, its possible outcomes, and what is known afterwards.

import { host } from '../harness.mjs';
import { addEntering, certainly, during, passedOn, Thing } from './model.mjs';

export const RELEASED = {
  reference: '! Error ERR_ISOLATE_RELEASED: Reference has been released',
  copy: '! Error ERR_ISOLATE_RELEASED: Copy has been released',
  context: '! Error ERR_ISOLATE_RELEASED: Context is released',
  script: '! Error ERR_ISOLATE_RELEASED: Script has been released',
  module: '! Error ERR_ISOLATE_RELEASED: Module has been released',
};

/** Hosts that can wrap memory that a guest has made. */
const SHARES = ['node22', 'node24', 'node26', 'bun'].includes(host);
const NOT_SHARED = /^\S+ Error( ERR_ISOLATE_UNSUPPORTED)?: A SharedArrayBuffer made inside an isolate cannot be shared with this host, which lacks `node_api_create_external_sharedarraybuffer`: make it in the host and pass it in, or copy what is in it$/;

const MOVED = 'Error ERR_ISOLATE_RELEASED: Array buffer is invalid';

export const typeOf = ({ kind, spec }) => (kind === 'object' || kind === 'function' ? kind : spec.value === null ? 'null' : typeof spec.value);

/** How handles are shown. */
const SHOWN = {
  reference: (thing) => `Reference ${typeOf(thing)}`,
  copy: () => 'ExternalCopy',
  isolate: () => 'Isolate',
  context: () => 'Context',
  script: () => 'Script',
  module: () => 'Module',
  function: () => 'function',
};

/** What an operation works with. */
export class Plan {
  /** @type {(() => void)[]} */
  onIssue = [];
  /** Run with the outcome, if it is known that the operation was executed. @type {((text: string) => void)[]} */
  onDone = [];
  /** Run when it is over, whatever the outcome. @type {(() => void)[]} */
  onEnd = [];

  constructor(world, realm, stages, order) {
    this.world = world;
    this.realm = realm;
    this.stages = stages;
    this.order = order;
  }

  get random() {
    return this.world.random;
  }

  /** An item of the realm of one of these kinds. */
  find(...kinds) {
    const found = this.realm.items.filter(({ kind }) => kinds.includes(kind));
    return found.length === 0 ? undefined : this.random.pick(found);
  }

  /** The order needs `item`, usually one that was not released. */
  needs(item, { live = true } = {}) {
    this.order.id = item.id;
    this.stages.push((stages) => {
      stages.add(this.absence(item), 'absent');
      if (live && RELEASED[item.kind] !== undefined) stages.add(item.released.during(this.releasing), RELEASED[item.kind]);
    });
  }

  absence(item) {
    return during(() => item.absent);
  }

  /** The order enters the isolate of `home`. */
  enters(home) {
    const waits = this.order.mode === undefined || this.order.mode === 'now';
    this.stages.push((stages, rooted) => addEntering(stages, '! ', { from: this.realm.body, to: home, rooted, waits }));
  }

  /** The final outcome. @param {string | RegExp | (() => Iterable<string>)} is */
  gives(is) {
    this.stages.push((stages) => stages.add(certainly, is));
  }

  /** It is refused where the value lives. Few errors that a host throws have a code in a guest. */
  isRefused(home, text) {
    this.gives(home.isHost && !this.realm.body.isHost ? passedOn(text) : text);
  }

  perhaps(when, is) {
    this.stages.push((stages) => stages.add(when, is));
  }

  /** The result is stored as an item of the realm. */
  makes(kind, thing) {
    const item = this.world.item(this.realm, kind, thing);
    this.order.as = item.id;
    this.keeps(item);
    return item;
  }

  keeps(item) {
    this.onDone.push((text) => {
      if (text.startsWith('= ') && item.absent === 'maybe' && !item.dropped) item.absent = 'no';
    });
  }

  /** Now, later, or ignored. */
  inSomeMode(ignorable = true) {
    this.order.mode = this.random.pick(ignorable ? ['now', 'now', 'now', 'later', 'later', 'ignored'] : ['now', 'now', 'later']);
    return this.order.mode === 'ignored';
  }

  busy(thing) {
    this.onIssue.push(() => (thing.pending += 1));
    this.onEnd.push(() => {
      // An ignored call may run at any time.
      if (!this.unobserved) thing.pending -= 1;
    });
  }
}

/**
 * The order causes a fact.
 * @param {Plan} plan
 * @param {import('./model.mjs').Fact} fact
 * @param {(text: string) => 'no' | 'maybe' | 'yes'} happened what follows from the outcome of an order that was executed
 */
export function brings(plan, fact, happened) {
  let known = 'maybe';
  plan.onIssue.push(() => fact.begin());
  plan.onDone.push((text) => (known = happened(text)));
  plan.onEnd.push(() => fact.end(known));
}

export const worked = (text) => (text.startsWith('= ') ? 'yes' : 'no');

/** The possible values of the property `n` of an object, between the request and now. */
export function valuesOf(thing) {
  const before = [...thing.values];
  return () => new Set([...before, ...thing.values]);
}

export function writes(plan, thing, value) {
  let alone = false;
  plan.onIssue.push(() => {
    alone = thing.pending === 0;
    thing.values.add(value);
  });
  plan.busy(thing);
  plan.onDone.unshift((text) => {
    // No other order was accessing it, so this is the value now.
    if (alone && plan.immediate && text === '= undefined') thing.values = new Set([value]);
  });
}

export const cloned = (thing) => {
  const { kind, spec, id } = { ...thing, id: thing.spec.id };
  if (kind === 'nested') return [`= copy {"id":${id}}`];
  if (kind !== 'object') return [`= ${spec.value}`];
  return [...valuesOf(thing)()].map((n) => `= copy {"computed":7,"id":${id},${n === 'undefined' ? '' : `"n":${n},`}"nested":{"id":${id + 0.5}}}`);
};

/**
 * The order shows the contents of a copy.
 * @param {Plan} plan
 */
export function showsContent(plan, { spec, looks }) {
  if (spec.what !== 'shared') return plan.gives(contentOf(spec));
  const { done } = looks;
  plan.onIssue.push(() => (looks.asked += 1));
  plan.onDone.push((text) => (looks.done += text.startsWith('= ') ? 1 : 0));
  plan.gives(() => Array.from({ length: looks.asked - done }, (_, more) => `= SharedArrayBuffer ${spec.n} seen ${(done + more) % 256}`));
}

function contentOf({ what, n }) {
  switch (what) {
    case 'string':
      return `= ${'x'.repeat(n * 10)}`;
    case 'buffer':
      return `= ArrayBuffer ${n}`;
    case 'large':
      return `= ArrayBuffer ${n * 1000}`;
    case 'listed':
      return `= copy {"bytes":"bytes ${Array.from({ length: n }, () => 1).join(' ')}"}`;
    default:
      return `= copy {"bytes":"bytes ${Array.from({ length: n }, () => 2).join(' ')}","list":[${n},"${n}"]}`;
  }
}

/**
 * The order opens a copy in `body`. Returns a function that adds its possible failures.
 * @param {Plan} plan
 */
export function opening(plan, { thing }, body, transferIn) {
  const { spec, home, moved } = thing;
  const movable = spec.what === 'buffer' || spec.what === 'large' || spec.what === 'listed' || spec.what === 'object';
  const gone = moved.during(transferIn);
  // Small buffers inside another value may be part of its bytes, and then do not move.
  const moves = spec.what === 'object' ? 'maybe' : 'yes';
  if (movable && transferIn) brings(plan, moved, (text) => (text.startsWith('= ') || text.endsWith(MOVED) ? moves : 'no'));
  return (stages, prefix) => {
    if (movable) stages.add(gone, prefix.startsWith('^') && body.isHost ? passedOn(`${prefix}${MOVED}`) : `${prefix}${MOVED}`);
    if (spec.what === 'shared' && body.isHost && !home.isHost && !SHARES) stages.add(certainly, NOT_SHARED);
  };
}

/** The possible outcomes of calling a function, which may call another function. */
export function addCall(stages, { from, original, thing, rooted, n, later, passed = false }) {
  const { home, spec: { flavour, how, id, inner } } = thing;
  if (!original && how === 'ignored') return stages.add(certainly, '= undefined');
  if (!original && how === 'async' && !later) return stages.add(certainly, '= Promise');
  addEntering(stages, '! ', { from, to: home, rooted, waits: !later, passed });
  if (inner !== undefined) {
    if (inner.thing.spec.how === 'async') return stages.add(certainly, passedOn('! TypeError ERR_ISOLATE_TRANSFER: #<Promise> could not be cloned.'));
    return addCall(stages, { ...inner, from: home, rooted: home === from ? rooted : 'yes', n, later: false, passed: true });
  }
  if (flavour === 'add') stages.add(certainly, `= ${n + 1}`);
  else if (flavour === 'throws') stages.add(certainly, `! RangeError: thrown by ${id}`);
  else if (flavour === 'handle') stages.add(certainly, '= Reference object');
  else stages.add(certainly, `= copy {"n":${n}}`);
}

/** What a function is in another realm: a delegate that is passed on is called where it was passed from. */
export function sent(item, from) {
  const { thing } = item;
  if (item.kind !== 'function' || item.original) return thing;
  return new Thing('function', from, { how: 'sync', id: thing.spec.id, inner: { thing, original: false } });
}

/** A handle arrives in the realm of the plan. */
export function arrives(plan, kind, thing) {
  const item = plan.makes(kind, thing);
  item.original = kind === 'function' && isOriginal(thing, plan.realm.body);
  const whole = item.original && thing.spec.inner === undefined;
  plan.gives(whole ? `= own ${thing.spec.id}` : `= ${SHOWN[kind](thing)}`);
}

/** Whether a function that arrives in `body` is the function itself. */
const isOriginal = (thing, body) => thing.home === body && !body.isHost && thing.kind === 'function' && thing.spec.how === 'sync';
