// Sync calls, and calls of guests into their host during one.

import { copyIn, copyOut, inContext } from './subjects.mjs';

const CALLS = 100;
const PROPERTIES = 50;
/** Of which each run asks for `PROPERTIES`. */
const MANY_PROPERTIES = 10_000;
/** Long enough never to expire. */
const TIMEOUT_MS = 10_000;
const [CALL, CALLBACK, OBJECT] = ['0.8', '0.3', '1.0'];

/** The same call without a limit, and with one. */
const limited = ({ id, title, prepare, ...rest }) => [
  { id, title, target: CALL, ...rest, prepare: prepare({}) },
  { id: `${id}-timeout`, title: `${title} with \`timeout\``, target: CALL, ...rest, prepare: prepare({ timeout: TIMEOUT_MS }) },
];

/** One run whose guest makes `count` calls that `expression` describes; `give` makes the callee. */
const fromGuest = ({ id, title, give, expression, count = CALLS, setup = '', target = CALLBACK }) => ({
  id,
  title,
  target,
  calls: count,
  expected: count,
  prepare: inContext(({ ivm, isolate, context }) => {
    context.global.setSync('host', give(ivm));
    context.evalSync(setup);
    const script = isolate.compileScriptSync(`{ let sum = 0; for (let i = 0; i < ${count}; i += 1) sum += ${expression}; sum }`);
    return () => script.runSync(context);
  }),
});

export default [
  ...limited({
    id: 'evalSync',
    title: "`evalSync('1+1')`",
    expected: 2,
    prepare: (options) => inContext(({ context }) => () => context.evalSync('1+1', options)),
  }),
  ...limited({
    id: 'runSync',
    title: '`script.runSync`',
    expected: 2,
    prepare: (options) => inContext(({ isolate, context }) => {
      const script = isolate.compileScriptSync('1+1');
      return () => script.runSync(context, options);
    }),
  }),
  ...limited({
    id: 'applySync',
    title: '`reference.applySync` with two numbers',
    expected: 3,
    prepare: (options) => inContext(({ context }) => {
      const add = context.evalSync('(a, b) => a + b', { reference: true });
      return () => add.applySync(undefined, [1, 2], options);
    }),
  }),
  {
    id: 'getSync',
    title: '`getSync` of a number',
    target: CALL,
    expected: 1,
    prepare: inContext(({ context }) => {
      context.global.setSync('number', 1);
      return () => context.global.getSync('number');
    }),
  },
  {
    id: 'setSync',
    title: '`setSync` of a number',
    target: CALL,
    expected: undefined,
    prepare: inContext(({ context }) => () => void context.global.setSync('number', 1)),
  },
  fromGuest({ id: 'callback-number', title: 'callback, numbers', give: (ivm) => new ivm.Callback((one) => one), expression: 'host(1)' }),
  fromGuest({ id: 'callback-string', title: 'callback, short strings', give: (ivm) => new ivm.Callback((name) => name), expression: "(host('name') === 'name')" }),
  fromGuest({
    id: 'callback-proxy',
    title: `callback, from a \`Proxy\` with ${PROPERTIES} properties`,
    give: (ivm) => new ivm.Callback((key) => (key === 'absent' ? undefined : 1)),
    setup: 'const record = new Proxy({}, { get: (target, key) => host(key) })',
    expression: 'record[`property${i}`]',
    count: PROPERTIES,
  }),
  {
    id: 'callback-properties',
    title: `callback, from a \`Proxy\` with ${MANY_PROPERTIES.toLocaleString('en')} properties`,
    target: '0.4',
    calls: PROPERTIES,
    expected: PROPERTIES,
    prepare: inContext(({ ivm, isolate, context }) => {
      const values = Object.fromEntries(Array.from({ length: MANY_PROPERTIES }, (_, index) => [`property${index}`, 1]));
      context.global.setSync('host', new ivm.Callback((key) => values[key]));
      context.evalSync(`
        const record = new Proxy({}, { get: (target, key) => host(key) });
        const names = Array.from({ length: ${MANY_PROPERTIES} }, (_, index) => 'property' + index);
        let next = 0;`);
      const script = isolate.compileScriptSync(`{
        let sum = 0;
        for (let i = 0; i < ${PROPERTIES}; i += 1) {
          sum += record[names[next]];
          next = (next + 1) % ${MANY_PROPERTIES};
        }
        sum;
      }`);
      return () => script.runSync(context);
    }),
  },
  fromGuest({
    id: 'callback-list',
    title: 'callback, a list of two short strings as the argument',
    target: OBJECT,
    give: (ivm) => new ivm.Callback((path) => path.length / 2),
    expression: "host(['record', 'name'])",
  }),
  fromGuest({
    id: 'callback-object',
    title: 'callback, a small object as the result',
    target: OBJECT,
    give: (ivm) => new ivm.Callback(() => ({ id: 1, keys: ['id', 'name'] })),
    expression: 'host(1).id',
  }),
  fromGuest({
    id: 'reference-number',
    title: '`Reference` of the host, `applySync` with a number',
    give: (ivm) => new ivm.Reference((one) => one),
    expression: 'host.applySync(undefined, [1])',
  }),
  fromGuest({
    id: 'reference-guest',
    title: '`Reference` of another isolate, `applySync` with a number',
    target: OBJECT,
    give: (ivm) => new ivm.Isolate().createContextSync().evalSync('(one) => one', { reference: true }),
    expression: 'host.applySync(undefined, [1])',
  }),
  { id: 'object-in', title: 'small object in', target: OBJECT, expected: 1, prepare: copyIn(() => ({ id: 1, name: 'name', at: { x: 1, y: 2 } }), 'value.id') },
  { id: 'object-out', title: 'small object out', target: OBJECT, expected: { id: 1, name: 'name', at: { x: 1, y: 2 } }, prepare: copyOut("{ id: 1, name: 'name', at: { x: 1, y: 2 } }") },
];
