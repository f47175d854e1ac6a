// Every declaration of isolated-vm 7.0.1's own types, used as programs use it. What compiles against those must compile here.
// (`isolated-v8` represents the package that an override replaces.) Compiled, never run.

import ivm = require('isolated-v8');

declare const isolate: ivm.Isolate;
declare const context: ivm.Context;
declare const script: ivm.Script;
declare const module: ivm.Module;
declare const anything: any;

/** `is<T>(value)`: the value can be used as a T. */
declare function is<T>(value: T): void;

export async function isolates(options: ivm.IsolateOptions) {
  new ivm.Isolate();
  new ivm.Isolate(options);
  new ivm.Isolate({ memoryLimit: 8, inspector: true, snapshot: new ivm.ExternalCopy(new ArrayBuffer(1)) });
  new ivm.Isolate({ onCatastrophicError: (message: string) => void message, snapshot: undefined });
  is<number | undefined>(options.memoryLimit);
  is<boolean | undefined>(options.inspector);
  is<ivm.ExternalCopy<ArrayBuffer> | undefined>(options.snapshot);
  is<((message: string) => void) | undefined>(options.onCatastrophicError);
  is<Record<string, unknown>>(options);
  is<bigint>(isolate.cpuTime + isolate.wallTime);
  is<boolean>(isolate.isDisposed);
  is<number>(isolate.referenceCount);
  is<void>(isolate.dispose());
  is<ivm.ExternalCopy<ArrayBuffer>>(ivm.Isolate.createSnapshot([{ code: '1', filename: 'a', lineOffset: 1 }]));
  is<ivm.ExternalCopy<ArrayBuffer>>(ivm.Isolate.createSnapshot([{ code: '1' }] satisfies ivm.SnapshotScriptInfo[], 'warm()'));
  is<Promise<ivm.Script>>(isolate.compileScript('1'));
  is<ivm.Script>(isolate.compileScriptSync('1', { filename: 'a', columnOffset: 1, lineOffset: 1, produceCachedData: true }));
  is<Promise<ivm.Module>>(isolate.compileModule('1', { filename: 'a', meta: (meta) => (meta.url = 'a') }));
  is<ivm.Module>(isolate.compileModuleSync('1', { cachedData: new ivm.ExternalCopy(new ArrayBuffer(1)) }));
  is<Promise<ivm.Context>>(isolate.createContext());
  is<ivm.Context>(isolate.createContextSync({ inspector: true }));
  is<ivm.InspectorSession>(isolate.createInspectorSession());
  is<void>(isolate.startCpuProfiler('a'));
  is<Promise<ivm.ThreadCpuProfile[]>>(isolate.stopCpuProfiler('a'));
  is<Promise<ivm.HeapStatistics>>(isolate.getHeapStatistics());
  is<ivm.HeapStatistics>(isolate.getHeapStatisticsSync());
  class Own extends ivm.Isolate {
    name = 'own';
  }
  is<ivm.Isolate>(new Own({ memoryLimit: 16 }));
}

export function figures(profile: ivm.CpuProfile, cached: ivm.CachedDataResult) {
  const heap: ivm.HeapStatistics = {
    total_heap_size: 1,
    total_heap_size_executable: 1,
    total_physical_size: 1,
    total_available_size: 1,
    used_heap_size: 1,
    heap_size_limit: 1,
    malloced_memory: 1,
    peak_malloced_memory: 1,
    does_zap_garbage: 0,
    externally_allocated_size: 1,
  };
  is<Record<string, number>>(heap);
  is<number[]>([profile.startTime, profile.endTime, ...profile.samples, ...profile.timeDeltas]);
  for (const node of profile.nodes) {
    is<number[]>([node.id, node.hitCount, ...node.children, node.callFrame.scriptId, node.callFrame.columnNumber]);
    is<(string | undefined)[]>([node.callFrame.functionName, node.callFrame.url, node.callFrame.bailoutReason]);
  }
  const thread: ivm.ThreadCpuProfile = { threadId: 1, profile };
  is<Record<string, unknown>>(thread);
  is<ivm.ExternalCopy<ArrayBuffer> | undefined>(cached.cachedData);
  is<boolean | undefined>(cached.producedCacheData);
}

export async function contexts(evalOptions: ivm.ContextEvalOptions, closureOptions: ivm.ContextEvalClosureOptions) {
  is<ivm.Reference<Record<number | string | symbol, any>>>(context.global);
  is<any>(await context.eval('1'));
  is<number>(await context.eval('1', { timeout: 1, filename: 'a', copy: true }));
  is<ivm.Reference>(await context.eval('1', { reference: true }));
  is<ivm.ExternalCopy>(context.evalSync('1', { externalCopy: true }));
  is<Promise<any>>(context.evalSync('1', { promise: true, copy: true }));
  is<void>(context.evalIgnored('1', evalOptions));
  is<any>(context.evalSync<{ copy: true }>('1', { copy: true }));
  is<ivm.Reference>(await context.evalClosure('return $0', [1, {}], { arguments: { copy: true }, result: { reference: true } }));
  is<void>(context.evalClosureIgnored('', [isolate, context, script, ivm, () => 1], closureOptions));
  is<any>(context.evalClosureSync('', [new ivm.Reference({})], { lineOffset: 1, columnOffset: 1, timeout: 5 }));
  is<Promise<string>>(context.evalClosureSync('', [], { result: { promise: true, copy: true } }));
  const release = (): void => context.release();
  is<() => void>(release);
  is<ivm.RunOptions & ivm.ScriptOrigin>(evalOptions);
  is<number | undefined>(closureOptions.timeout);
  // @ts-expect-error -- only what an isolate creates
  new ivm.Context();
}

export async function scripts(options: ivm.ScriptRunOptions, info: ivm.ScriptInfo, cache: ivm.CachedDataOptions) {
  is<Promise<any>>(script.run(context));
  is<void>(script.runIgnored(context, options));
  is<ivm.Reference>(script.runSync(context, { reference: true, release: true, timeout: 1 }));
  is<Promise<ivm.ExternalCopy>>(script.run(context, { externalCopy: true }));
  is<void>(script.release());
  is<boolean | undefined>(options.release);
  is<string | undefined>(info.filename);
  is<number | undefined>(info.columnOffset ?? info.lineOffset);
  is<boolean | undefined>(cache.produceCachedData);
  is<ivm.ExternalCopy<ArrayBuffer> | undefined>(cache.cachedData);
  is<Record<string, unknown>>(cache);
  const origin: ivm.ScriptOrigin = { filename: 'file:///a.js', columnOffset: 0, lineOffset: 0 };
  is<Record<string, unknown>>(origin);
  // @ts-expect-error -- only what an isolate compiles
  new ivm.Script();
}

export async function modules(options: ivm.CompileModuleOptions) {
  is<string[]>(module.dependencySpecifiers);
  is<ivm.Reference<any>>(module.namespace);
  is<Promise<void>>(module.instantiate(context, (specifier: string, referrer: ivm.Module) => (specifier ? referrer : module)));
  is<Promise<void>>(module.instantiate(context, async () => module));
  is<void>(module.instantiateSync(context, () => module));
  is<Promise<ivm.Transferable>>(module.evaluate({ timeout: 1, copy: true }));
  is<ivm.Transferable>(module.evaluateSync());
  is<void>(module.release());
  is<((meta: any) => void) | undefined>(options.meta);
  // @ts-expect-error -- only what an isolate compiles
  new ivm.Module();
}

interface Shape {
  count: number;
  list: string[];
  add(a: number, b: number): number;
}

export async function references(options: ivm.ReferenceApplyOptions) {
  const shape = new ivm.Reference<Shape>(anything, { unsafeInherit: true });
  let kind: string = shape.typeof;
  kind = 'symbol';
  is<boolean>(shape.typeof === kind || shape.typeof === 'symbol');
  is<Promise<Shape>>(shape.copy());
  is<Shape>(shape.copySync());
  is<Shape>(shape.deref());
  is<Shape>(shape.deref({ release: true }));
  is<ivm.Dereference<Shape>>(shape.derefInto({ release: true }));
  is<Promise<void>>(shape.delete('count'));
  is<void>(shape.deleteIgnored('count'));
  is<void>(shape.deleteSync('count'));
  is<Promise<number>>(shape.get('count'));
  is<ivm.Reference<string[]>>(shape.getSync('list'));
  is<string[]>(shape.getSync('list', { copy: true }));
  is<Promise<ivm.ExternalCopy<string[]>>>(shape.get('list', { externalCopy: true }));
  is<Promise<void>>(shape.set('count', 1));
  is<void>(shape.setIgnored('list', ['a'], { copy: true }));
  is<void>(shape.setSync('list', new ivm.ExternalCopy(['a']).copyInto()));
  is<void>(shape.setSync('list', new ivm.Reference(['a']).derefInto()));
  is<void>(shape.setSync('add', (a: number, b: number) => a + b));
  is<void>(shape.release());

  const add = new ivm.Reference((a: number, b: number) => a + b);
  is<Promise<number>>(add.apply(undefined, [1, 2]));
  is<number>(add.applySync(undefined, [1, 2], { timeout: 1 }));
  is<void>(add.applyIgnored(undefined, [1, 2]));
  is<number>(add.applySyncPromise(undefined, [1, 2]));
  is<Promise<any>>(new ivm.Reference<any>(1).apply(undefined, [{}], { arguments: { copy: true }, result: { copy: true } }));
  is<Promise<any>>(new ivm.Reference(anything).apply(null, [1], options));
  const bound = new ivm.Reference(function bound(this: Shape, n: number) {
    return this.count + n;
  });
  is<number>(bound.applySync(shape.derefInto(), [1]));

  is<ivm.Reference<unknown>>(new ivm.Reference<string>('a'));
  const global = context.global;
  is<Promise<any>>(global.get('a'));
  is<Promise<void>>(global.set('a', 1));
  is<Promise<void>>(global.set(Symbol.iterator, 1));
  is<Promise<void>>(global.delete(Symbol.iterator));
  is<Promise<any>>(global.get('a', { reference: true }));
}

export function copies(options: ivm.ExternalCopyOptions, copyOptions: ivm.ExternalCopyCopyOptions) {
  const copy = new ivm.ExternalCopy({ a: 1 }, options);
  is<{ a: number }>(copy.copy());
  is<{ a: number }>(copy.copy({ release: true, transferIn: true }));
  is<ivm.Copy<{ a: number }>>(copy.copyInto(copyOptions));
  is<void>(copy.release());
  is<number>(ivm.ExternalCopy.totalExternalSize);
  is<any[] | undefined>(options.transferList);
  is<boolean | undefined>(options.transferOut);
  is<boolean | undefined>(copyOptions.transferIn ?? copyOptions.release);
  is<Record<string, unknown>>(options);
  is<Record<string, unknown>>(copyOptions);
  new ivm.ExternalCopy(new Uint8Array(1), { transferOut: true });
  new ivm.ExternalCopy({}, { transferList: [new ArrayBuffer(1), new Uint8Array(1)] });
  // @ts-expect-error -- only what `copyInto` gives
  new ivm.Copy();
  // @ts-expect-error -- only what `derefInto` gives
  new ivm.Dereference();
}

export function callbacks(options: ivm.CallbackOptions) {
  new ivm.Callback((text: string) => text.length);
  new ivm.Callback(() => 1, options);
  new ivm.Callback(() => 1, { async: true });
  new ivm.Callback(() => 1, { sync: true });
  is<ivm.Callback<() => number>>(new ivm.Callback(() => 1, { ignored: true }));
  // @ts-expect-error -- only one of them
  new ivm.Callback(() => 1, { ignored: true, async: true });
  is<boolean | undefined>(options.async ?? options.ignored ?? options.sync);
  is<Record<string, unknown>>(options);
}

export async function natives() {
  const native = new ivm.NativeModule('/a.node');
  is<Promise<ivm.Reference<any>>>(native.create(context));
  is<ivm.Reference<any>>(native.createSync(context));
}

export function sessions(session: ivm.InspectorSession) {
  session.dispatchProtocolMessage('{}');
  session.onNotification = (message: string) => void message;
  session.onResponse = (callId: number, message: string) => void [callId, message];
  session.dispose();
  const own: ivm.InspectorSession = { ...session, dispose() {} };
  is<object>(own);
}

export function transferOptions(transfer: ivm.TransferOptions, both: ivm.TransferOptionsBidirectional, run: ivm.RunOptions) {
  is<boolean | undefined>(transfer.promise);
  is<true | undefined>(transfer.copy ?? transfer.externalCopy ?? transfer.reference);
  is<ivm.TransferOptions | undefined>(both.arguments);
  is<ivm.TransferOptions | undefined>(both.result);
  is<number | undefined>(run.timeout);
  is<Record<string, unknown>>(run);
  is<Record<string, unknown>>(both);
  const release: ivm.ReleaseOptions = { release: true };
  const inside: ivm.ContextOptions = { inspector: true };
  is<Record<string, unknown>[]>([release, inside]);
  // @ts-expect-error -- only one of them
  const conflict: ivm.TransferOptions = { copy: true, reference: true };
  return conflict;
}

export function transferables() {
  const callback = new ivm.Callback(() => 1);
  const copy = new ivm.ExternalCopy(1);
  const reference = new ivm.Reference(1);
  const plain: ivm.Transferable[] = [null, undefined, 'a', 1, true, isolate, context, script, module, ivm, () => 1];
  return [...plain, callback, copy, reference, copy.copyInto(), reference.derefInto()] satisfies ivm.Transferable[];
}

/** Helper types that programs name to type their wrappers. */
export type Wrapped<T, Options extends ivm.TransferOptions> = ivm.ResultTypeAsync<Options, T> | ivm.ResultTypeSync<Options, T>;
export type WrappedBoth<T, Options extends ivm.TransferOptionsBidirectional> =
  | ivm.ResultTypeBidirectionalAsync<Options, T>
  | ivm.ResultTypeBidirectionalSync<Options, T>
  | ivm.ResultTypeBidirectionalBase<Options, T>;
export type Bases<T, Options> = ivm.ResultTypeBase<Options, T> | ivm.CheckPromise<Options, T> | ivm.ArgumentType<Options, T>;
export type Arguments<Options extends ivm.TransferOptionsBidirectional> = ivm.ArgumentsTypeBidirectional<Options, [1, 2]>;
export type Applied<T> = [ivm.ApplyArguments<T>, ivm.ApplyArgumentThis<T>, ivm.ApplyResult<T>];
export type Marks = [
  ivm.WithPromise,
  ivm.AsCopy,
  ivm.AsExternal,
  ivm.AsReference,
  ivm.FallbackReference,
  ivm.ApplyAsReference,
  ivm.WithTransfer,
];
