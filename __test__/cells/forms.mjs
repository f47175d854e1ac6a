// Every way in which a value crosses, with what isolated-vm documents about it.

import { primitive } from './values.mjs';

const SYNC_IN_ASYNC = 'Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.';

const coded = (error, code) => Object.assign(error, { code: `ERR_ISOLATE_${code}` });
const REFUSED = 'A non-transferable value was passed';
const notTransferable = (message = REFUSED) => coded(new TypeError(message), 'TRANSFER');

/** The name of a Reference's type: what V8 has no name for in isolated-vm is an object. */
const typeOf = (value) => (value === null ? 'null' : ['symbol', 'bigint'].includes(typeof value) ? 'object' : typeof value);

/** Forms in which small values may cross without a message. */
const DIRECT = [
  'applySync, default', 'applySync, copy', 'applySync without arguments, copy', 'applySync with a receiver, copy', 'applySync of many arguments, copy',
  'applySync with a copied argument, copy', 'evalSync, copy', 'argument of applySync, copy', 'echo', 'echo among others',
  'Callback', 'Callback without arguments', 'Callback with an object', 'argument of a Callback', 'echo of a Callback', 'echo of a Callback among others',
];

export const OPTIONS = { default: undefined, copy: { copy: true }, externalCopy: { externalCopy: true }, reference: { reference: true } };

/** @returns what the functions below need to name expected outcomes: texts as `station.run` returns them */
export function outcomes(describe) {
  const given = (text) => `= ${text}`;
  const thrown = (error) => `! ${describe(error)}`;
  /** Without an option. */
  const plain = {
    undefined: () => given('undefined'),
    reference: (spec) => given(`Reference(${typeOf(spec.make())})`),
    refused: () => thrown(notTransferable()),
  };
  const copied = (spec, wrap = (text) => text) => (spec.refused === undefined ? given(wrap(describe(spec.arrives()))) : thrown(notTransferable(spec.refused)));
  return {
    describe,
    given,
    thrown,
    copied,
    raised: (spec, isSelf = false) => thrown((isSelf ? spec.make : spec.thrown)()),
    /** An error of the library that a function passes on. Guests cannot give errors codes of the library. */
    relayed: (outcome, isHost) => (isHost ? outcome : outcome.replace(/,code "ERR_ISOLATE_\w+"\)$/, ')')),
    blocked: () => thrown(coded(new Error(SYNC_IN_ASYNC), 'UNSUPPORTED')),
    defaultThread: () => thrown(coded(new Error('This function may not be called from the default thread'), 'UNSUPPORTED')),
    /** Of a value that crosses with one of `OPTIONS`, where `fallback` is what happens to an object without one. */
    transferred(spec, option, fallback) {
      const value = spec.make();
      if (option === 'copy') return copied(spec);
      if (option === 'externalCopy') return copied(spec, (text) => `ExternalCopy(${text})`);
      // A handle stays one.
      if (option === 'reference') return given(`Reference(${typeOf(value)})`);
      return spec.kind === 'object' ? plain[fallback](spec) : given(describe(value));
    },
    /** What functions without options do, as arguments and as results. */
    called: (spec) => (spec.kind === 'function' ? given(describe(spec.make())) : copied(spec)),
    calledWith: (spec) => (typeof spec.make() === 'symbol' ? thrown(notTransferable('Symbol(s) could not be cloned.')) : copied(spec)),
  };
}

/**
 * @typedef {object} Form
 * @property {(link: any, index: number, station: any) => any} run
 * @property {(spec: any, o: ReturnType<typeof outcomes>, at: { isSelf: boolean, isHost: boolean }) => string | undefined} expected where
 *   the target is the caller's own realm, and where it is the host
 * @property {boolean} [blocks] whether it waits for another isolate, which guests may not do in asynchronous calls
 * @property {boolean} [isDirect] whether small values may cross without a message
 * @property {boolean} [notes] whether the target takes note of the value, and nothing is returned
 * @property {boolean} [remote] not within one realm
 * @property {'context'} [needs]
 * @property {boolean} [promises] whether it returns a promise
 * @property {boolean} [waits] `applySyncPromise`
 * @property {boolean} [sends] whether the value is an argument, which is refused before anything else
 */

/** @returns {Record<string, Form>} */
export function formsOf() {
  /** @type {Record<string, Form>} */
  const forms = {};
  const ofPromise = primitive(1);
  const sync = (name, run, expected, more = {}) => {
    forms[name] = { run, expected, blocks: true, ...more };
  };
  const sends = { sends: true };
  const async = (name, run, expected, more = {}) => {
    forms[name] = { run, expected, promises: true, ...more };
  };

  for (const [option, transfer] of Object.entries(OPTIONS)) {
    const result = transfer === undefined ? undefined : { result: transfer };
    const promised = { result: { ...transfer, promise: true } };
    const returned = (spec, o) => o.transferred(spec, option, 'reference');
    /** A promise of a promise is one. */
    const settled = (spec, o, fallback) => (spec.make() instanceof Promise ? o.transferred(ofPromise, option, fallback) : o.transferred(spec, option, fallback));
    const fulfilled = (spec, o) => settled(spec, o, 'reference');
    const evaluatedPromise = (spec, o) => settled(spec, o, 'refused');
    const returnedOrRefused = (spec, o) => o.transferred(spec, option, 'refused');
    sync(`applySync, ${option}`, (link, index) => link.give.applySync(undefined, [index], result), returned);
    sync(`applySync without arguments, ${option}`, (link, index) => link.none[index].applySync(undefined, undefined, result), returned);
    sync(`applySync with a receiver, ${option}`, (link, index) => link.giveThis.applySync(index, [], result), returned);
    sync(`applySync of many arguments, ${option}`, (link, index) => link.give.applySync(null, [index, 'text', true, null, 0.5, -1], result), returned);
    sync(`applySync with a copied argument, ${option}`, (link, index) => link.giveOf.applySync(undefined, [{ index, name: 'n' }], { ...result, arguments: { copy: true } }), returned);
    sync(`applySync with a timeout, ${option}`, (link, index) => link.give.applySync(undefined, [index], { ...result, timeout: 20_000 }), returned);
    async(`apply, ${option}`, (link, index) => link.give.apply(undefined, [index], result), returned);
    async(`apply without arguments, ${option}`, (link, index) => link.none[index].apply(undefined, [], result), returned);
    async(`apply of a promise, ${option}`, (link, index) => link.later.apply(undefined, [index], promised), fulfilled);
    sync(`applySync of a promise, ${option}`, (link, index) => link.later.applySync(undefined, [index], promised), fulfilled, { promises: true });
    sync(`applySync of no promise, ${option}`, (link, index) => link.give.applySync(undefined, [index], promised), fulfilled, { promises: true });

    const options = transfer ?? {};
    const evaluated = (spec, o) => o.transferred(spec, option, 'undefined');
    sync(`evalSync, ${option}`, (link, index) => link.context.evalSync(`give(${index})`, options), evaluated, { needs: 'context' });
    async(`eval, ${option}`, (link, index) => link.context.eval(`give(${index})`, options), evaluated, { needs: 'context' });
    sync(`evalClosureSync, ${option}`, (link, index) => link.context.evalClosureSync('return give($0)', [index], result), returnedOrRefused, { needs: 'context' });
    async(`evalClosure, ${option}`, (link, index) => link.context.evalClosure('return give($0)', [index], result), returnedOrRefused, { needs: 'context' });
    sync(`runSync, ${option}`, (link, index) => link.scripts[index].runSync(link.context, options), evaluated, { needs: 'context' });
    async(`run, ${option}`, (link, index) => link.scripts[index].run(link.context, options), evaluated, { needs: 'context' });
    async(`run of a promise, ${option}`, (link, index) => link.context.eval(`later(${index})`, { ...options, promise: true }), evaluatedPromise, { needs: 'context' });

    sync(`getSync, ${option}`, (link, index) => link.values.getSync(index, transfer), returned);
    async(`get, ${option}`, (link, index) => link.values.get(index, transfer), returned);
    sync(`getSync by name, ${option}`, (link, index) => link.values.getSync(`value${index}`, transfer), returned);

    // Arguments. What arrives is described there.
    const seen = (spec, o) => {
      const outcome = o.transferred(spec, option, 'refused');
      return outcome.startsWith('=') ? o.given(JSON.stringify(outcome.slice(2))) : outcome;
    };
    const passed = transfer === undefined ? {} : { arguments: transfer };
    sync(`argument of applySync, ${option}`, (link, index, { make }) => link.see.applySync(undefined, [make(index)], passed), seen, sends);
    async(`argument of apply, ${option}`, (link, index, { make }) => link.see.apply(undefined, [make(index)], passed), seen);
    sync(`receiver of applySync, ${option}`, (link, index, { make }) => link.seeThis.applySync(make(index), [], passed), (spec, o) => {
      const outcome = o.transferred(spec, 'default', 'refused');
      return outcome.startsWith('=') ? o.given(JSON.stringify(outcome.slice(2))) : outcome;
    }, sends);
    sync(`argument of evalClosureSync, ${option}`, (link, index, { make }) => link.context.evalClosureSync('return see($0)', [make(index)], passed), seen, { needs: 'context', ...sends });
    async(`argument of evalClosure, ${option}`, (link, index, { make }) => link.context.evalClosure('return see($0)', [make(index)], passed), seen, { needs: 'context', ...sends });
    async(`promise as argument, ${option}`, (link, index, { make }) => link.seeLater.apply(
      undefined, [Promise.resolve(index).then(make)], { arguments: { ...transfer, promise: true }, result: { promise: true } },
    ), (spec, o) => seen(spec.make() instanceof Promise ? ofPromise : spec, o));
    sync(`setSync, ${option}`, (link, index, { make }) => {
      const key = `${option} ${index}`;
      link.store.setSync(key, make(index), transfer);
      return link.seeKept.applySync(undefined, [key]);
    }, seen, sends);
    async(`set, ${option}`, async (link, index, { make }) => {
      const key = `${option} ${index}`;
      await link.store.set(key, make(index), transfer);
      return link.seeKept.apply(undefined, [key]);
    }, seen);
  }

  const COPIES = { arguments: { copy: true }, result: { copy: true } };
  const copied = (spec, o) => o.copied(spec);
  /** Within a realm, what is thrown does not cross. */
  const raised = (spec, o, { isSelf }) => o.raised(spec, isSelf);
  const crossed = (spec, o) => o.raised(spec);
  /** Promises of guests settle by messages. */
  const rejected = (spec, o, { isSelf, isHost }) => o.raised(spec, isSelf && isHost);
  const relayed = (spec, o, { isSelf, isHost }) => o.relayed(o.copied(spec), isSelf || isHost);
  sync('echo', (link, index, { make }) => link.echo.applySync(undefined, [make(index)], COPIES), copied, sends);
  sync('echo among others', (link, index, { make }) => link.second.applySync(undefined, [index, make(index), 'text', { index }], COPIES), copied, sends);
  async('echo, async', (link, index, { make }) => link.echo.apply(undefined, [make(index)], COPIES), copied);
  sync('copySync', (link, index) => link.held[index].copySync(), copied);
  sync('copySync of a Reference that was returned', (link, index) => link.give.applySync(undefined, [index], { result: { reference: true } }).copySync(), copied);
  sync('applySync with all options', (link, index, { make }) => link.second.applySync(undefined, [index, make(index)], { arguments: { copy: true }, result: { externalCopy: true }, timeout: 20_000 }).copy(), copied, sends);
  async('copy', (link, index) => link.held[index].copy(), copied);
  forms['copy of an ExternalCopy'] = { run: (link, index, { ivm, make }) => new ivm.ExternalCopy(make(index)).copy(), expected: copied };
  const into = (spec, o) => (spec.refused === undefined ? o.given(JSON.stringify(o.copied(spec).slice(2))) : o.copied(spec));
  sync('copyInto', (link, index, { ivm, make }) => link.see.applySync(undefined, [new ivm.ExternalCopy(make(index)).copyInto()]), into, sends);
  async('copyInto, async', (link, index, { ivm, make }) => link.see.apply(undefined, [new ivm.ExternalCopy(make(index)).copyInto()]), into);
  sync('an ExternalCopy as argument', (link, index, { ivm, make }) => link.seeCopy.applySync(undefined, [new ivm.ExternalCopy(make(index))]), into, sends);
  forms['deref'] = {
    run: (link, index, { ivm, make }) => {
      const value = make(index);
      return Object.is(new ivm.Reference(value).deref(), value);
    },
    expected: (spec, o) => o.given('true'),
  };
  sync('derefInto', (link, index) => link.see.applySync(undefined, [link.held[index].derefInto()]), (spec, o) => o.given(JSON.stringify(o.describe(spec.make()))));

  sync('applySync that throws', (link, index) => link.raise.applySync(undefined, [index]), raised);
  sync('applySync that throws, copy', (link, index) => link.raise.applySync(undefined, [index], COPIES), raised);
  async('apply that throws', (link, index) => link.raise.apply(undefined, [index]), raised);
  async('apply that rejects', (link, index) => link.reject.apply(undefined, [index], { result: { promise: true, copy: true } }), rejected);
  sync('applySync that rejects', (link, index) => link.reject.applySync(undefined, [index], { result: { promise: true } }), rejected, { promises: true });
  sync('evalSync that throws', (link, index) => link.context.evalSync(`raise(${index})`), crossed, { needs: 'context' });
  async('eval that throws', (link, index) => link.context.eval(`raise(${index})`), crossed, { needs: 'context' });
  sync('evalClosureSync that throws', (link, index) => link.context.evalClosureSync('raise($0)', [index]), crossed, { needs: 'context' });
  async('eval that rejects', (link, index) => link.context.eval(`reject(${index})`, { promise: true }), crossed, { needs: 'context' });

  sync('applySyncPromise', (link, index) => link.later.applySyncPromise(undefined, [index]), (spec, o) => o.transferred(spec.make() instanceof Promise ? ofPromise : spec, 'default', 'refused'), { waits: true });
  sync('applySyncPromise of no promise', (link, index) => link.give.applySyncPromise(undefined, [index]), (spec, o) => o.transferred(spec.make() instanceof Promise ? ofPromise : spec, 'default', 'reference'), { waits: true });
  sync('applySyncPromise that rejects', (link, index) => link.reject.applySyncPromise(undefined, [index]), raised, { waits: true });

  const remote = { remote: true };
  const called = (spec, o) => o.called(spec);
  sync('Callback', (link, index) => link.callbacks.give(index), called, remote);
  sync('Callback without arguments', (link, index) => link.noneCallbacks[index](), called, remote);
  sync('Callback with an object', (link, index) => link.callbacks.giveOf({ index, name: 'n' }), called, remote);
  sync('Callback that throws', (link, index) => link.callbacks.raise(index), raised, remote);
  async('asynchronous Callback', (link, index) => link.asyncCallbacks.give(index), called, remote);
  async('asynchronous Callback that throws', (link, index) => link.asyncCallbacks.raise(index), raised, remote);
  const calledWith = (spec, o) => {
    const outcome = o.calledWith(spec);
    return outcome.startsWith('=') ? o.given(JSON.stringify(outcome.slice(2))) : outcome;
  };
  sync('argument of a Callback', (link, index, { make }) => link.callbacks.see(make(index)), calledWith, { ...remote, ...sends });
  async('argument of an asynchronous Callback', (link, index, { make }) => link.asyncCallbacks.see(make(index)), calledWith, remote);
  sync('echo of a Callback', (link, index, { make }) => link.callbacks.echo(make(index)), (spec, o) => o.calledWith(spec), { ...remote, ...sends });
  sync('echo of a Callback among others', (link, index, { make }) => link.callbacks.second(index, make(index), 'text', { index }), (spec, o) => o.calledWith(spec), { ...remote, ...sends });

  // Functions that the target calls while the caller waits for it.
  sync('a Reference that is called back', (link, index, { give }) => link.through.applySync(undefined, [give, index], { arguments: { reference: true }, result: { copy: true } }), relayed);
  // A refusal keeps its code if a function that crossed without an option raised it.
  sync('a function that is called back', (link, index, { targets }) => link.throughFunction.applySync(undefined, [targets.give, index], { result: { copy: true } }), (spec, o) => (spec.kind === 'function' ? undefined : o.copied(spec)), remote);
  async('a function that is called back, async', (link, index, { targets }) => link.throughAsync.apply(undefined, [targets.give, index], { arguments: { reference: true }, result: { promise: true, copy: true } }), relayed);

  const noted = (spec, o) => o.given('undefined');
  forms['applyIgnored'] = { run: (link, index, { make }) => link.note.applyIgnored(undefined, [make(index)], { arguments: { copy: true } }), expected: (spec, o) => (spec.refused === undefined ? noted(spec, o) : o.copied(spec)), notes: true };
  forms['ignored Callback'] = { run: (link, index, { make }) => link.noteCallback(make(index)), expected: (spec, o) => (spec.refused === undefined ? noted(spec, o) : o.calledWith(spec)), notes: true, remote: true };
  for (const name of DIRECT) forms[name].isDirect = true;
  return forms;
}
