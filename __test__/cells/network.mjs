// A host, an isolate with two contexts, and an isolate inside that one, which know each other; and every cell of the matrix, with its expected
// outcome.

import { readFileSync } from 'node:fs';
import { FILES, introduce, linkOf, openGuest } from './guest.mjs';
import { formsOf, outcomes } from './forms.mjs';
import { createStation } from './station.mjs';
import { valuesOf } from './values.mjs';

const HOST = 'host';
const OUTER = 'outer';
const INNER = 'inner';
/** Another context of the outer isolate. */
const BESIDE = 'beside';
/** The form that lets isolates learn the names of objects. */
const TEACHING = 'echo';
/** The longest description of a value that may cross without a message. */
const SMALL = 600;

/**
 * Who runs a cell, and who called it.
 * @type {Record<string, { by: string, through?: string, isAsync?: boolean }>}
 */
const CALLERS = {
  'a host': { by: HOST },
  'a guest': { by: OUTER },
  'a guest in an asynchronous call': { by: OUTER, isAsync: true },
  'a nested guest': { by: INNER },
  'a nested guest in an asynchronous call': { by: INNER, isAsync: true },
  'a nested guest that a guest calls': { by: INNER, through: OUTER },
  'another context': { by: BESIDE },
  'another context in an asynchronous call': { by: BESIDE, isAsync: true },
  'a host that a guest calls': { by: HOST, through: OUTER },
};

export function openNetwork(ivm) {
  const texts = Object.fromEntries(FILES.map((file) => [file, readFileSync(new URL(file, import.meta.url), 'utf8')]));
  const host = createStation(ivm);
  const outer = openGuest(ivm, texts);
  const inner = outer.open.applySync(undefined, [OUTER, INNER, texts, { context: outer.context, scripts: outer.scripts }], { arguments: { copy: true }, result: { copy: true } });
  const beside = openGuest(ivm, texts, outer.isolate);
  host.connect(HOST, host.link());
  for (const [name, guest] of [[OUTER, outer], [INNER, inner], [BESIDE, beside]]) {
    introduce(guest, HOST, host.link());
    introduce(guest, name, undefined, guest);
    host.connect(name, linkOf(guest));
    host.own(name, guest.context, guest.scripts);
  }
  for (const [name, guest, other] of [[OUTER, outer, beside], [BESIDE, beside, outer]]) {
    guest.present.applySync(undefined, [other.connect, name]);
    other.own.applySync(undefined, [name, guest.context, guest.scripts], { arguments: { copy: true } });
  }
  const guests = { [OUTER]: outer, [INNER]: inner, [BESIDE]: beside };
  const areOfOneIsolate = (one, other) => one === other || (one !== INNER && other !== INNER && one !== HOST && other !== HOST);

  const specs = Object.entries(valuesOf(ivm));
  const forms = formsOf();
  const o = outcomes(host.describe);

  function expectedOf(form, { by, isAsync }, to, spec) {
    if (form.waits && (!isAsync || areOfOneIsolate(by, to))) return o.defaultThread();
    const blocked = isAsync && form.blocks && to !== HOST && !areOfOneIsolate(by, to);
    const outcome = form.expected(spec, o, { isSelf: by === to, isHost: to === HOST });
    if (outcome === undefined || !blocked || (form.sends && outcome.startsWith('!'))) return outcome;
    return o.blocked();
  }

  const cells = [];
  for (const [callerName, caller] of Object.entries(CALLERS)) {
    for (const to of [HOST, OUTER, INNER, BESIDE]) {
      if ((caller.by === INNER && to === BESIDE) || (caller.by === BESIDE && to === INNER)) continue;
      for (const [formName, form] of Object.entries(forms)) {
        if ((form.remote && caller.by === to) || (form.needs === 'context' && to === HOST)) continue;
        specs.forEach(([name, spec], index) => {
          const expected = expectedOf(form, caller, to, spec);
          if (expected === undefined) return;
          const isSent = form.notes && expected.startsWith('=');
          cells.push({
            name: `${callerName} → ${to}: ${formName}: ${name}`,
            caller, to, formName, index, expected,
            promises: form.promises === true,
            isDirect: form.isDirect === true && (caller.by === HOST) !== (to === HOST) && !caller.isAsync && caller.through === undefined && expected.startsWith('=') && expected.length < SMALL,
            teaches: formName === TEACHING && caller.through === undefined && !caller.isAsync && caller.by !== to && expected.startsWith('= Object(') && expected.length < SMALL,
            note: isSent ? host.describe(spec.arrives()) : undefined,
          });
        });
      }
    }
  }

  /** The outcome of a cell, or a promise of it. */
  function run({ caller: { by, through, isAsync }, to, formName, index, promises }) {
    if (through !== undefined) return guests[through].forward.applySync(undefined, [by, formName, to, index, promises], promises ? { result: { promise: true } } : {});
    if (by === HOST) return host.run(formName, to, index);
    const method = isAsync ? 'apply' : 'applySync';
    return guests[by].run[method](undefined, [formName, to, index], promises ? { result: { promise: true } } : {});
  }
  const notesOf = (name) => (name === HOST ? host.notes : guests[name].notes.applySync(undefined, [], { result: { copy: true } }));
  return { cells, run, notesOf, dispose: () => outer.isolate.dispose() };
}
