// Opens an isolate that is a station. A station opens the next one with the same code, so that isolates are nested.

import { createStation } from './station.mjs';
import { valuesOf } from './values.mjs';

const ENTRY = 'guest.mjs';
/** The sources of a station. */
export const FILES = ['describe.mjs', 'forms.mjs', ENTRY, 'station.mjs', 'values.mjs'];

/** @returns the isolate, its context, and what that exports */
export function openGuest(ivm, texts, isolate = new ivm.Isolate()) {
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  const modules = FILES.map((file) => isolate.compileModuleSync(texts[file], { filename: `file:///${file}` }));
  const entry = modules[FILES.indexOf(ENTRY)];
  entry.instantiateSync(context, (specifier) => modules[FILES.indexOf(specifier.slice('./'.length))]);
  entry.evaluateSync();
  const { namespace } = entry;
  const exported = (name) => namespace.getSync(name, { reference: true });
  exported('start').applySync();
  const scripts = Object.keys(valuesOf(ivm)).map((_, index) => isolate.compileScriptSync(`give(${index})`));
  const guest = { isolate, context, scripts };
  for (const name of ['link', 'run', 'forward', 'connect', 'connectSelf', 'own', 'notes', 'open', 'present']) guest[name] = exported(name);
  return guest;
}

/** Lets a station, which `connect` and `own` belong to, know another one. */
export function introduce({ connect, connectSelf, own }, name, link, { context, scripts } = {}) {
  if (link === undefined) connectSelf.applySync(undefined, [name]);
  else connect.applySync(undefined, [name, link], { arguments: { copy: true } });
  if (context !== undefined) own.applySync(undefined, [name, context, scripts], { arguments: { copy: true } });
}

export const linkOf = (guest) => guest.link.applySync(undefined, [], { result: { copy: true } });

/** The station of this guest. */
let here;
export function start() {
  const { ivm } = globalThis;
  here = createStation(ivm);
  Object.assign(globalThis, here.targets);
}
export const link = () => here.link();
export const run = (...cell) => here.run(...cell);
export const forward = (...cell) => here.forward(...cell);
export const connect = (name, other) => here.connect(name, other);
/** Without its functions, since none can call its own isolate. */
export const connectSelf = (name) => here.connect(name, here.link());
export const own = (name, context, scripts) => here.own(name, context, scripts);
export const notes = () => here.notes;

/** Lets a station, whose `connect` this is, know this one. */
export const present = (connectOther, name) => connectOther.applySync(undefined, [name, here.link()], { arguments: { copy: true } });

/** Opens a station inside this one. Both know each other then. */
export function open(outerName, innerName, texts, outer) {
  const inner = openGuest(globalThis.ivm, texts);
  here.connect(innerName, linkOf(inner));
  here.own(innerName, inner.context, inner.scripts);
  introduce(inner, outerName, here.link(), outer);
  return inner;
}
