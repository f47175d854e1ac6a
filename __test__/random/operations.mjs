// The operations. Each is planned for a realm: the order for its agent, and its possible outcomes. `undefined` if the realm does not have
// what the operation needs.

import { CODE, makers } from './makers.mjs';
import { addEntering, certainly, during, passedOn, Thing } from './model.mjs';
import { addCall, arrives, brings, cloned, opening, RELEASED, sent, showsContent, typeOf, valuesOf, worked, writes } from './plan.mjs';

const NOT_INTO = 'TypeError ERR_ISOLATE_TRANSFER: Cannot dereference this into target isolate';

/** @type {Record<string, (plan: import('./plan.mjs').Plan) => unknown>} */
export const operations = {
  ...makers,

  get(plan) {
    const item = plan.find('reference');
    if (item === undefined) return undefined;
    const { thing } = item;
    const key = plan.random.pick(['n', 'n', 'n', 'id', 'missing', 'computed', -1]);
    Object.assign(plan.order, { do: 'get', key });
    plan.order.mode = plan.random.pick(['now', 'later']);
    plan.needs(item);
    if (key === -1) return plan.gives('! TypeError ERR_INVALID_ARG: Invalid `key`'), true;
    if (typeOf(thing) !== 'object') return plan.gives('! TypeError ERR_INVALID_ARG: Reference is not an object'), true;
    plan.enters(thing.home);
    if (thing.spec.nested && key !== 'id') plan.gives('= undefined');
    else if (key === 'computed') plan.isRefused(thing.home, '! TypeError ERR_INVALID_ARG: Property is getter');
    else if (key === 'missing') plan.gives('= undefined');
    else if (key === 'id') plan.gives(`= ${thing.spec.id}`);
    else {
      plan.busy(thing);
      const values = valuesOf(thing);
      plan.gives(() => [...values()].map((value) => `= ${value}`));
    }
    return true;
  },

  getChild(plan) {
    const item = plan.find('reference');
    if (item === undefined || item.thing.kind !== 'object') return undefined;
    plan.order.do = 'child';
    plan.order.mode = plan.random.pick(['now', 'later']);
    plan.needs(item);
    plan.enters(item.thing.home);
    plan.makes('reference', new Thing('primitive', item.thing.home, { value: {}, id: item.thing.spec.id + 0.5, nested: true }));
    plan.gives('= Reference object');
    return true;
  },

  set(plan) {
    const item = plan.find('reference');
    if (item === undefined || item.thing.kind !== 'object') return undefined;
    const value = plan.random.below(1000);
    Object.assign(plan.order, { do: 'set', key: 'n', value });
    const ignored = plan.inSomeMode();
    plan.needs(item);
    if (!ignored) plan.enters(item.thing.home);
    writes(plan, item.thing, String(value));
    plan.gives('= undefined');
    return true;
  },

  delete(plan) {
    const item = plan.find('reference');
    if (item === undefined || item.thing.kind !== 'object') return undefined;
    Object.assign(plan.order, { do: 'delete', key: 'n' });
    const ignored = plan.inSomeMode();
    plan.needs(item);
    if (!ignored) plan.enters(item.thing.home);
    writes(plan, item.thing, 'undefined');
    plan.gives('= undefined');
    return true;
  },

  clone(plan) {
    const item = plan.find('reference');
    if (item === undefined) return undefined;
    const { thing } = item;
    plan.order.do = 'clone';
    plan.order.mode = plan.random.pick(['now', 'later']);
    plan.needs(item);
    plan.enters(thing.home);
    if (thing.kind === 'function') plan.isRefused(thing.home, /^! \w+ ERR_ISOLATE_TRANSFER: [^]* could not be cloned\.$/);
    else if (thing.spec.nested) plan.gives(`= copy {"id":${thing.spec.id}}`);
    else {
      plan.busy(thing);
      const values = valuesOf(thing);
      plan.gives(() => cloned({ ...thing, values: values() }));
    }
    return true;
  },

  typeof(plan) {
    const item = plan.find('reference');
    if (item === undefined) return undefined;
    plan.order.do = 'typeof';
    plan.needs(item);
    plan.gives(`= ${typeOf(item.thing)}`);
    return true;
  },

  deref(plan) {
    const item = plan.find('reference');
    if (item === undefined) return undefined;
    const { thing } = item;
    const release = plan.random.chance(0.1);
    Object.assign(plan.order, { do: 'deref', release });
    plan.releasing = release;
    plan.needs(item);
    if (thing.home !== plan.realm.body) return plan.gives('! TypeError ERR_INVALID_ARG: Cannot dereference this from current isolate'), true;
    if (release) brings(plan, item.released, worked);
    plan.gives(thing.spec.id === undefined ? `= ${thing.spec.value}` : `= own ${thing.spec.id}`);
    return true;
  },

  apply(plan) {
    const item = plan.find('reference');
    if (item === undefined) return undefined;
    const { thing } = item;
    const n = plan.random.below(100);
    const { flavour } = thing.spec;
    Object.assign(plan.order, { do: 'apply', n, copy: plan.random.chance(0.5) && flavour !== 'handle' });
    const ignored = plan.inSomeMode();
    plan.needs(item);
    if (ignored) return plan.gives('= undefined'), true;
    plan.enters(thing.home);
    if (thing.kind !== 'function') plan.isRefused(thing.home, '! TypeError ERR_INVALID_ARG: Reference is not a function');
    else if (flavour === 'add') plan.gives(`= ${n + 1}`);
    else if (flavour === 'throws') plan.gives(`! RangeError: thrown by ${thing.spec.id}`);
    else if (flavour === 'handle') plan.gives('= Reference object');
    else plan.gives(plan.order.copy ? `= copy {"n":${n}}` : '= Reference object');
    return true;
  },

  applySyncPromise(plan) {
    const item = plan.find('reference');
    if (item === undefined || item.thing.spec.flavour !== 'add') return undefined;
    const { body } = plan.realm;
    const { home } = item.thing;
    const n = plan.random.below(100);
    Object.assign(plan.order, { do: 'applySyncPromise', n });
    plan.needs(item);
    plan.stages.push((stages, rooted) => {
      stages.add(() => (home === body || body.isHost ? 'yes' : rooted), '! Error ERR_ISOLATE_UNSUPPORTED: This function may not be called from the default thread');
    });
    plan.enters(home);
    plan.gives(`= ${n + 1}`);
    return true;
  },

  promised(plan) {
    const item = plan.find('reference');
    if (item === undefined || item.thing.spec.flavour !== 'add') return undefined;
    const { body } = plan.realm;
    const { home } = item.thing;
    const [what, how] = [plan.random.pick(['value', 'resolved', 'empty', 'resolved empty', 'rejected']), plan.random.pick(['apply', 'applySync'])];
    Object.assign(plan.order, { do: 'promised', what, how, mode: 'later' });
    plan.needs(item);
    plan.stages.push((stages, rooted) => addEntering(stages, '! ', { from: body, to: home, rooted, waits: how === 'applySync' }));
    if (what === 'rejected') plan.gives('= refused RangeError: rejected');
    else plan.gives(what.endsWith('empty') ? '= refused TypeError ERR_ISOLATE_TRANSFER: A non-transferable value was passed' : '= got 5');
    return true;
  },

  call(plan) {
    const item = plan.find('function');
    if (item === undefined) return undefined;
    const { thing } = item;
    const n = plan.random.below(100);
    Object.assign(plan.order, { do: 'call', n });
    if (thing.spec.how === 'async') plan.inSomeMode(false);
    plan.needs(item);
    plan.stages.push((stages, rooted) => addCall(stages, { from: plan.realm.body, original: item.original, thing, rooted, n, later: plan.order.mode === 'later' }));
    return true;
  },

  open(plan) {
    const item = plan.find('copy');
    if (item === undefined) return undefined;
    const [transferIn, release] = [plan.random.chance(0.2), plan.random.chance(0.1)];
    Object.assign(plan.order, { do: 'open', transferIn, release });
    plan.releasing = release;
    plan.needs(item);
    const add = opening(plan, item, plan.realm.body, transferIn);
    plan.stages.push((stages) => add(stages, '! '));
    if (release) brings(plan, item.released, worked);
    showsContent(plan, item.thing);
    return true;
  },

  eval(plan) {
    const item = plan.find('context');
    if (item === undefined) return undefined;
    const [code, outcome] = plan.random.pick(CODE);
    Object.assign(plan.order, { do: 'eval', code });
    const ignored = plan.inSomeMode();
    plan.needs(item);
    if (!ignored) plan.enters(item.thing.home);
    plan.gives(ignored ? '= undefined' : outcome);
    return true;
  },

  timeOut(plan) {
    const item = plan.find('context');
    if (item === undefined || !plan.random.chance(0.05)) return undefined;
    Object.assign(plan.order, { do: 'eval', code: 'for (;;);', timeout: 1 + plan.random.below(4), mode: 'now' });
    plan.needs(item);
    plan.enters(item.thing.home);
    plan.gives('! Error ERR_ISOLATE_TIMEOUT: Script execution timed out.');
    return true;
  },

  run(plan) {
    const [script, context] = [plan.find('script'), plan.find('context')];
    if (script === undefined || context === undefined) return undefined;
    Object.assign(plan.order, { do: 'run', id: script.id, context: context.id });
    const ignored = plan.inSomeMode();
    plan.stages.push((stages) => {
      stages.add(plan.absence(script), 'absent');
      stages.add(plan.absence(context), 'absent');
      stages.add(context.released.during(), RELEASED.context);
      stages.add(script.released.during(), RELEASED.script);
    });
    const fits = script.thing.home === context.thing.home;
    if (!fits) return plan.gives(/^! Error ERR_INVALID_ARG: Invalid context$/), true;
    if (ignored) return plan.gives('= undefined'), true;
    plan.enters(script.thing.home);
    plan.gives(script.thing.spec.outcome);
    return true;
  },

  linkModule(plan) {
    const [module, context] = [plan.find('module'), plan.find('context')];
    if (module === undefined || context === undefined) return undefined;
    Object.assign(plan.order, { do: 'link', id: module.id, context: context.id, mode: 'now' });
    plan.stages.push((stages) => {
      stages.add(plan.absence(module), 'absent');
      stages.add(plan.absence(context), 'absent');
      stages.add(context.released.during(), RELEASED.context);
      stages.add(module.released.during(), RELEASED.module);
    });
    // It takes several calls.
    plan.perhaps(during(() => (module.thing.home.dead === 'no' ? 'no' : 'maybe')), /^! Error ERR_ISOLATE_DISPOSED: /);
    if (module.thing.home !== context.thing.home) plan.perhaps(() => 'maybe', '! Error ERR_INVALID_ARG: Invalid context');
    plan.enters(module.thing.home);
    const { thing } = module;
    brings(plan, thing.linked, worked);
    plan.gives('= undefined');
    return true;
  },

  evaluateModule(plan) {
    const module = plan.find('module');
    if (module === undefined) return undefined;
    plan.order.do = 'evaluate';
    plan.inSomeMode(false);
    plan.needs(module);
    plan.enters(module.thing.home);
    const { thing } = module;
    const linked = thing.linked.during();
    plan.perhaps(() => (linked() === 'no' ? 'yes' : linked() === 'yes' ? 'no' : 'maybe'), '! Error ERR_INVALID_ARG: Module is uninstantiated');
    plan.gives('= undefined');
    return true;
  },

  importsOfModule(plan) {
    const module = plan.find('module');
    if (module === undefined) return undefined;
    plan.order.do = 'imports';
    plan.needs(module);
    plan.perhaps(during(() => (module.thing.home.dead === 'no' ? 'no' : 'maybe')), /^! Error ERR_ISOLATE_DISPOSED: /);
    plan.gives('= 0');
    return true;
  },

  obtain(plan) {
    const slot = plan.random.pick([...plan.world.slots.values()]);
    plan.order.do = 'take';
    plan.value = slot.isolate;
    plan.makes('isolate', new Thing('isolate', slot.body));
    plan.gives('= Isolate');
    return true;
  },

  isDisposed(plan) {
    const item = plan.find('isolate');
    if (item === undefined) return undefined;
    plan.order.do = 'isDisposed';
    plan.needs(item);
    plan.perhaps(during(() => item.thing.home.dead), '= true');
    plan.gives('= false');
    return true;
  },

  clock(plan) {
    const item = plan.find('isolate');
    if (item === undefined) return undefined;
    plan.order.do = 'cpuTime';
    plan.needs(item);
    plan.perhaps(during(() => item.thing.home.dead), '! Error ERR_ISOLATE_DISPOSED: Isolate is disposed');
    plan.gives('= bigint');
    return true;
  },

  statistics(plan) {
    const item = plan.find('isolate');
    if (item === undefined) return undefined;
    plan.order.do = 'statistics';
    plan.inSomeMode(false);
    plan.needs(item);
    plan.enters(item.thing.home);
    plan.gives('= true');
    return true;
  },

  dispose(plan) {
    const item = plan.find('isolate');
    if (item === undefined || !plan.random.chance(plan.world.disposal)) return undefined;
    const { home } = item.thing;
    plan.order.do = 'dispose';
    plan.needs(item);
    const already = home.dead;
    let issued = 0;
    plan.onIssue.push(() => {
      home.disposing();
      issued = home.disposals;
    });
    plan.onDone.push((text) => {
      if (text === '= undefined' || text.startsWith('! ')) home.disposed();
    });
    plan.perhaps(() => (already === 'yes' ? 'yes' : already === 'maybe' || home.disposals > issued ? 'maybe' : 'no'), '! Error ERR_ISOLATE_DISPOSED: Isolate is already disposed');
    plan.gives('= undefined');
    return true;
  },

  spin(plan) {
    // Endless: the order that starts it also disposes the isolate.
    const item = plan.find('context');
    if (item === undefined || !plan.realm.body.isHost || plan.world.realmOf(item.thing.home)?.body.dead !== 'no' || !plan.random.chance(plan.world.disposal)) return undefined;
    const code = plan.random.pick(['for (;;);', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', '{ const kept = []; for (;;) kept[0] = [kept.length]; }']);
    Object.assign(plan.order, { do: 'spin', code });
    plan.needs(item);
    plan.endless = item.thing.home;
    plan.gives('= undefined');
    return true;
  },

  send(plan) {
    const { realm, random, world } = plan;
    const item = plan.find('reference', 'copy', 'function', 'callback', 'isolate', 'context', 'script', 'module');
    const others = world.realms.filter((other) => other !== realm);
    if (item === undefined) return undefined;
    const { thing } = item;
    const ways = ['plain', ...(item.kind === 'reference' ? ['derefInto'] : item.kind === 'copy' ? ['copyInto'] : [])];
    if (item.kind !== 'function' && item.kind !== 'callback') ways.push('inside');
    const way = random.pick(ways);
    // A guest may dereference its own value into a call to itself.
    const to = way === 'derefInto' && !realm.body.isHost && random.chance(0.3) ? realm : random.pick(others);
    const [release, transferIn] = [random.chance(0.1), random.chance(0.2)];
    plan.hands = { to: to.body, hop: { item: item.id, way, release, transferIn } };
    plan.order.do = way === 'inside' ? 'takeInside' : way === 'plain' ? 'take' : 'see';
    const using = way === 'derefInto' || way === 'copyInto';
    const [absent, released] = [plan.absence(item), item.released.during(using && release)];
    const home = way === 'derefInto' ? thing.home : undefined;
    const add = way === 'copyInto' ? opening(plan, item, to.body, transferIn) : undefined;
    plan.holds = {
      leaving(stages, prefix) {
        stages.add(absent, `${prefix}absent`);
        // A host refuses when it reads what has arrived, or what its promise holds.
        const textOf = (text) => (realm.body.isHost || to.body.isHost ? passedOn(text) : text);
        if (RELEASED[item.kind] !== undefined) stages.add(released, textOf(RELEASED[item.kind].replace('! ', prefix)));
        // A value that a guest dereferences may travel as long as it arrives in its own isolate.
        if (realm.body.isHost && home === realm.body) stages.add(certainly, textOf(`${prefix}${NOT_INTO}`));
        // A guest that calls itself checks what it has sent before the call begins.
        if (home !== undefined && home !== realm.body && to.body === realm.body) stages.add(() => 'maybe', textOf(`${prefix}${NOT_INTO}`));
      },
      arriving(stages, prefix) {
        if (home !== undefined && home !== to.body) stages.add(certainly, to.body.isHost ? passedOn(`${prefix}${NOT_INTO}`) : `${prefix}${NOT_INTO}`);
        add?.(stages, prefix);
      },
    };
    plan.hands = { item: item.id, way, release, transferIn };
    // Whatever the outcome of the call itself.
    if (using && release) brings(plan, item.released, () => 'yes');
    // From here on, the other realm acts.
    plan.realm = to;
    if (way === 'plain' || way === 'inside') {
      const kind = item.kind === 'callback' ? 'function' : item.kind;
      arrives(plan, kind, sent(item, realm.body));
    } else if (way === 'copyInto') showsContent(plan, thing);
    else plan.gives(thing.spec.id === undefined ? `= ${thing.spec.value}` : `= own ${thing.spec.id}`);
    return true;
  },

  fetch(plan) {
    const { realm, random, world } = plan;
    const from = random.pick(world.realms.filter((other) => other !== realm));
    const sources = from.items.filter(({ kind }) => kind !== 'callback');
    if (sources.length === 0) return undefined;
    const item = random.pick(sources);
    const { kind } = item;
    Object.assign(plan.order, { do: 'fetch', id: item.id, from: from.body.name, copied: kind !== 'function' && random.chance(0.3) });
    plan.order.mode = random.pick(['now', 'later']);
    plan.perhaps(during(() => (from.body.dead === 'no' ? 'no' : 'maybe')), 'absent');
    plan.enters(from.body);
    plan.perhaps(plan.absence(item), 'absent');
    if (RELEASED[kind] !== undefined) plan.perhaps(item.released.during(), passedOn(RELEASED[kind]));
    arrives(plan, kind, sent(item, from.body));
    return true;
  },

  release(plan) {
    const item = plan.find('reference', 'copy', 'context', 'script', 'module');
    if (item === undefined) return undefined;
    plan.order.do = 'release';
    const strict = item.kind === 'reference' || item.kind === 'copy';
    plan.releasing = true;
    plan.needs(item, { live: strict });
    brings(plan, item.released, () => 'yes');
    if (item.kind === 'context') plan.perhaps(item.released.during(true), '= false');
    plan.gives(item.kind === 'context' ? '= true' : '= undefined');
    return true;
  },

  collect(plan) {
    if (!plan.random.chance(plan.realm.body.isHost ? 0.003 : 0.02)) return undefined;
    plan.order.do = 'collect';
    plan.gives('= undefined');
    return true;
  },

  allocate(plan) {
    const n = plan.random.below(30);
    Object.assign(plan.order, { do: 'allocate', n });
    plan.gives(`= ${n * 50}`);
    return true;
  },
};
