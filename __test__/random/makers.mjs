// The operations that make things: values, handles, isolates, contexts and code. `operations` describes what a plan is.

import { Body, Thing } from './model.mjs';
import { typeOf } from './plan.mjs';

const FLAVOURS = ['add', 'add', 'echo', 'throws', 'handle'];
const COPIES = ['object', 'object', 'string', 'buffer', 'listed', 'shared', 'large'];
const PRIMITIVES = [1, 'text', true, null];
/** Code, and the outcome of running it. */
export const CODE = [['6 * 7', '= 42'], ['"a" + "b"', '= ab'], ['throw new TypeError("of code")', '! TypeError: of code'], ['({})', '= undefined']];

/** @type {Record<string, (plan: import('./plan.mjs').Plan) => unknown>} */
export const makers = {
  makeObject(plan) {
    const thing = new Thing('object', plan.realm.body);
    plan.order.do = 'object';
    thing.spec.id = plan.makes('reference', thing).id;
    plan.gives('= Reference object');
    return true;
  },

  makeFunction(plan) {
    const flavour = plan.random.pick(FLAVOURS);
    const thing = new Thing('function', plan.realm.body, { flavour });
    Object.assign(plan.order, { do: 'function', flavour });
    thing.spec.id = plan.makes('reference', thing).id;
    plan.gives('= Reference function');
    return true;
  },

  makePrimitive(plan) {
    const value = plan.random.pick(PRIMITIVES);
    Object.assign(plan.order, { do: 'primitive', value });
    const thing = new Thing('primitive', plan.realm.body, { value });
    plan.makes('reference', thing);
    plan.gives(`= Reference ${typeOf(thing)}`);
    return true;
  },

  makeCopy(plan) {
    const [what, n] = [plan.random.pick(COPIES), 1 + plan.random.below(30)];
    Object.assign(plan.order, { do: 'copy', what, n });
    plan.makes('copy', new Thing('copy', plan.realm.body, { what, n }));
    plan.gives('= ExternalCopy');
    return true;
  },

  makePlain(plan) {
    const flavour = plan.random.pick(FLAVOURS);
    Object.assign(plan.order, { do: 'plain', flavour });
    const thing = new Thing('function', plan.realm.body, { flavour, how: 'sync' });
    const item = plan.makes('function', thing);
    item.original = true;
    thing.spec.id = item.id;
    plan.gives(`= own ${item.id}`);
    return true;
  },

  makeCallback(plan) {
    const [flavour, how] = [plan.random.pick(FLAVOURS), plan.random.pick(['sync', 'async', 'ignored'])];
    Object.assign(plan.order, { do: 'callback', flavour, how });
    const thing = new Thing('function', plan.realm.body, { flavour, how });
    thing.spec.id = plan.makes('callback', thing).id;
    plan.gives('= Callback');
    return true;
  },

  makeIsolate(plan) {
    const { realm, world } = plan;
    if (!plan.random.chance(0.2)) return undefined;
    const body = new Body(`spare${world.nextId()}`, realm.body);
    Object.assign(plan.order, { do: 'isolate', memoryLimit: 8 });
    plan.makes('isolate', new Thing('isolate', body));
    // What guests have dropped may not be collected yet.
    if (!realm.body.isHost) plan.perhaps(() => 'maybe', /^! RangeError ERR_ISOLATE_LIMIT: The isolates that guests have made/);
    plan.gives('= Isolate');
    return true;
  },

  makeContext(plan) {
    const isolate = plan.find('isolate');
    if (isolate === undefined) return undefined;
    const { home } = isolate.thing;
    plan.order.do = 'context';
    plan.inSomeMode(false);
    plan.needs(isolate);
    // Making a context succeeds even if its isolate is being disposed.
    plan.enters(home);
    plan.makes('context', new Thing('context', home));
    plan.gives('= Context');
    return true;
  },

  compileScript(plan) {
    const isolate = plan.find('isolate');
    if (isolate === undefined) return undefined;
    const [code, outcome] = plan.random.pick(CODE);
    Object.assign(plan.order, { do: 'script', code });
    plan.inSomeMode(false);
    plan.needs(isolate);
    plan.enters(isolate.thing.home);
    plan.makes('script', new Thing('script', isolate.thing.home, { outcome }));
    plan.gives('= Script');
    return true;
  },

  compileModule(plan) {
    const isolate = plan.find('isolate');
    if (isolate === undefined) return undefined;
    plan.order.do = 'module';
    plan.inSomeMode(false);
    plan.needs(isolate);
    plan.enters(isolate.thing.home);
    plan.makes('module', new Thing('module', isolate.thing.home));
    plan.gives('= Module');
    return true;
  },
};
