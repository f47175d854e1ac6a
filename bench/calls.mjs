// Calls between a host and an existing guest.

import { inContext } from './subjects.mjs';

const CALLBACKS = 1_000;
const PROMISED_CALLS = 100;
const IN_FLIGHT = 1_000;
const ISOLATES = 8;

/** A guest's loop over calls of a host's function; `start` begins it. */
const callbacks = (start) =>
  inContext(({ ivm, isolate, context }) => {
    context.global.setSync('callback', new ivm.Callback(() => 1));
    const loop = `let sum = 0; for (let i = 0; i < ${CALLBACKS}; i += 1) sum += callback(); sum`;
    const script = isolate.compileScriptSync(`{ ${loop} }`);
    return () => start(script, context);
  });

/** Calls of guests in several isolates, all started before any has ended. */
function inFlight(ivm) {
  const guests = Array.from({ length: ISOLATES }, () => {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    return { isolate, context, script: isolate.compileScriptSync('1+1') };
  });
  return {
    async run() {
      const calls = Array.from({ length: IN_FLIGHT }, (_, i) => {
        const { script, context } = guests[i % ISOLATES];
        return script.run(context);
      });
      return (await Promise.all(calls)).reduce((sum, each) => sum + each, 0);
    },
    end: () => guests.forEach(({ isolate }) => isolate.dispose()),
  };
}

export default [
  {
    id: 'createContextSync',
    target: '0.8',
    title: '`createContextSync`, release',
    prepare: inContext(({ isolate }) => () => isolate.createContextSync().release()),
    expected: true,
  },
  {
    id: 'evalSync',
    target: '1.0',
    title: "`evalSync('1+1')`",
    expected: 2,
    prepare: inContext(({ context }) => () => context.evalSync('1+1')),
  },
  {
    id: 'eval',
    target: '0.6',
    title: "`eval('1+1')`",
    expected: 2,
    prepare: inContext(({ context }) => () => context.eval('1+1')),
  },
  {
    id: 'script.runSync',
    target: '1.0',
    title: '`script.runSync`',
    expected: 2,
    prepare: inContext(({ isolate, context }) => {
      const script = isolate.compileScriptSync('1+1');
      return () => script.runSync(context);
    }),
  },
  {
    id: 'script.run',
    target: '0.6',
    title: '`script.run`',
    expected: 2,
    prepare: inContext(({ isolate, context }) => {
      const script = isolate.compileScriptSync('1+1');
      return () => script.run(context);
    }),
  },
  {
    id: 'reference.applySync',
    target: '1.0',
    title: '`reference.applySync`',
    expected: 3,
    prepare: inContext(({ context }) => {
      const add = context.evalSync('(a, b) => a + b', { reference: true });
      return () => add.applySync(undefined, [1, 2]);
    }),
  },
  {
    id: 'reference.apply',
    target: '0.6',
    title: '`reference.apply`',
    expected: 3,
    prepare: inContext(({ context }) => {
      const add = context.evalSync('(a, b) => a + b', { reference: true });
      return () => add.apply(undefined, [1, 2]);
    }),
  },
  {
    id: 'in-flight',
    target: '0.5',
    title: `\`script.run\`, ${IN_FLIGHT.toLocaleString('en')} in flight on ${ISOLATES} isolates`,
    calls: IN_FLIGHT,
    expected: 2 * IN_FLIGHT,
    prepare: inFlight,
  },
  {
    id: 'callback-sync-run',
    target: '1.2',
    title: 'host callback, in a sync run',
    calls: CALLBACKS,
    expected: CALLBACKS,
    prepare: callbacks((script, context) => script.runSync(context)),
  },
  {
    id: 'callback-async-run',
    target: '0.4',
    title: 'host callback, in an async run',
    calls: CALLBACKS,
    expected: CALLBACKS,
    prepare: callbacks((script, context) => script.run(context)),
  },
  {
    id: 'applySyncPromise',
    target: '0.7',
    title: '`applySyncPromise`, in an async run',
    calls: PROMISED_CALLS,
    expected: PROMISED_CALLS,
    uses: ['Reference'],
    prepare: inContext(({ ivm, isolate, context }) => {
      context.global.setSync('reference', new ivm.Reference(async () => 1));
      const loop = `for (let i = 0; i < ${PROMISED_CALLS}; i += 1) sum += reference.applySyncPromise(undefined, [])`;
      const script = isolate.compileScriptSync(`{ let sum = 0; ${loop}; sum }`);
      return () => script.run(context);
    }),
  },
];
