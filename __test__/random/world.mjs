// The host and three isolates, each with an agent. An isolate that was disposed is replaced by a new one.

import { createAgent } from './agent.mjs';
import { Body, Item, Thing } from './model.mjs';

export const SLOTS = ['A', 'B', 'C'];
/** The number of disposed isolates that orders may still be sent to. */
const GHOSTS = 2;
const MEMORY_LIMIT = 16;

const nextTurn = (then) => new Promise((resolve) => setImmediate(() => resolve(then())));

/** A place where orders are executed. */
class Realm {
  /** @type {Item[]} */
  items = [];

  constructor(body, reference, direct) {
    this.body = body;
    this.reference = reference;
    this.direct = direct;
  }
}

export class World {
  #serial = 0;
  #ids = 0;

  constructor(ivm, random) {
    this.ivm = ivm;
    this.random = random;
    this.agent = createAgent(ivm, nextTurn);
    const body = new Body('host');
    this.host = new Realm(body, new ivm.Reference(this.agent.run), this.agent.run);
    this.order({ do: 'link_to', name: 'host' }, this.host.reference, this.host.direct);
    /** @type {Map<string, Realm>} */
    this.slots = new Map();
    /** @type {Realm[]} */
    this.ghosts = [];
    this.made = 0;
    this.madeByGuests = 0;
    for (const slot of SLOTS) this.renew(slot);
  }

  get realms() {
    return [this.host, ...this.slots.values()];
  }

  nextId() {
    return (this.#ids += 1);
  }

  /** The realm of a body that is in use. */
  realmOf(body) {
    return this.realms.find((realm) => realm.body === body);
  }

  /** Makes the host's agent do something. */
  order(op, value, direct) {
    return this.agent.run(JSON.stringify({ depth: 0, path: [], op }), value, direct);
  }

  item(realm, kind, thing) {
    const item = new Item(this.nextId(), kind, thing);
    realm.items.push(item);
    return item;
  }

  /** A new isolate in place of one that was disposed. */
  renew(slot) {
    const { ivm } = this;
    const old = this.slots.get(slot);
    // Always take the same number of random values, whatever happens.
    const maker = this.random.chance(0.3) ? this.random.pick(SLOTS) : undefined;
    if (old !== undefined) this.retire(old);
    const making = maker === undefined || maker === slot ? undefined : this.slots.get(maker);
    const name = `${slot}${(this.#serial += 1)}`;
    const made = making?.body.dead === 'no' ? this.makeIn(making) : undefined;
    const isolate = made ?? new ivm.Isolate({ memoryLimit: MEMORY_LIMIT });
    const body = new Body(name, made === undefined ? this.host.body : making.body);
    this.made += 1;
    const context = isolate.createContextSync();
    context.global.setSync('ivm', ivm);
    context.evalSync(`globalThis.agent = (${createAgent})(ivm)`);
    const realm = new Realm(body, context.evalSync('new ivm.Reference(agent.run)'), context.evalSync('agent.run'));
    realm.isolate = isolate;
    realm.context = context;
    realm.base = isolate.referenceCount;
    this.slots.set(slot, realm);
    this.link(this.host, realm);
    this.link(realm, this.host);
    for (const other of this.slots.values()) {
      this.link(other, realm);
      this.link(realm, other);
      // Functions that came through the host would be called through it.
      for (const [one, another] of [[realm, other], [other, realm]]) this.tell(one, { do: 'introduce', to: another.body.name, name: one.body.name });
    }
    const [handle, room] = [this.item(this.host, 'isolate', new Thing('isolate', body)), this.item(this.host, 'context', new Thing('context', body))];
    for (const [item, value] of [[handle, isolate], [room, context]]) {
      item.absent = 'no';
      this.agent.items.set(item.id, value);
    }
  }

  /** An isolate made by a guest; undefined if there is no room for it. */
  makeIn(realm) {
    const id = this.nextId();
    const made = realm.reference.applySync(undefined, [JSON.stringify({ depth: 0, path: [], op: { do: 'isolate', as: id, memoryLimit: MEMORY_LIMIT } })]);
    if (made.startsWith('! RangeError ERR_ISOLATE_LIMIT')) return undefined;
    if (made !== '= Isolate') throw new Error(`a guest that makes an isolate says ${made}`);
    const isolate = realm.reference.applySync(undefined, [JSON.stringify({ depth: 0, path: [], raw: true, op: { do: 'give', id } })]);
    this.tell(realm, { do: 'drop', id });
    this.madeByGuests += 1;
    return isolate;
  }

  /** Makes sure that an isolate is disposed. */
  retire(realm) {
    const { isolate, body } = realm;
    body.disposing();
    try {
      isolate.dispose();
    } catch (error) {
      // A guest has already disposed it.
      if (error.message !== 'Isolate is already disposed') throw error;
    }
    body.disposed();
    this.ghosts.push(realm);
    while (this.ghosts.length > GHOSTS) {
      const gone = this.ghosts.shift();
      for (const each of this.realms) this.tell(each, { do: 'unlink', name: gone.body.name });
    }
  }

  link(from, to) {
    this.tell(from, { do: 'link_to', name: to.body.name }, to.reference, to.direct);
  }

  /** An order that an isolate need not execute if it is being disposed. */
  tell(realm, op, ...values) {
    try {
      const text = realm.reference.applySync(undefined, [JSON.stringify({ depth: 0, path: [], op }), ...values]);
      const other = op.do === 'introduce' && this.realms.find(({ body }) => body.name === op.to);
      if (!text.startsWith('= ') && !(other && other.body.dead !== 'no' && text.includes('ERR_ISOLATE_DISPOSED'))) throw new Error(`${op.do} in ${realm.body.name}: ${text}`);
      return text;
    } catch (error) {
      if (error.code !== 'ERR_ISOLATE_DISPOSED' || realm.body.dead === 'no') throw error;
      return undefined;
    }
  }
}
