// The classes, as TypeScript sees them from a CommonJS module. Compiled, never run.

import ivm = require('isolated-v8');
import { expectType } from './expect';

declare const isolate: ivm.Isolate;
declare const context: ivm.Context;
declare const script: ivm.Script;

export async function isolates() {
  expectType<ivm.Isolate>()(new ivm.Isolate());
  new ivm.Isolate({ memoryLimit: 8, onCatastrophicError: (message) => void expectType<string>()(message) });
  expectType<bigint>()(isolate.cpuTime);
  expectType<ivm.Context>()(await isolate.createContext());
  const entries: string[] = [];
  isolate.createContextSync({ web: ['URL', 'crypto'], timers: (error) => { expectType<string>()(error.message); }, console: ({ level, message }) => { entries.push(level + message); } });
  isolate.createContextSync({ web: true, timers: true, console });
  // @ts-expect-error: there is no such name
  isolate.createContextSync({ web: ['fetch'] });
  new ivm.Isolate({ importModuleDynamically: (specifier, filename, { type }) => isolate.compileModule(specifier + (filename ?? '') + (type ?? '')) });
  expectType<ivm.Script>()(isolate.compileScriptSync('1', { filename: 'file:///a.js', produceCachedData: true }));
  expectType<number>()((await isolate.getHeapStatistics()).used_heap_size);
  expectType<ivm.ExternalCopy<ArrayBuffer>>()(ivm.Isolate.createSnapshot([{ code: '' }]));
  // @ts-expect-error -- a string
  new ivm.Isolate({ memoryLimit: '128' });
  // @ts-expect-error -- read only
  isolate.isDisposed = true;
  // @ts-expect-error -- private
  new ivm.Context();
}

export async function results() {
  expectType<Promise<any>>()(context.eval('1'));
  expectType<any>()(context.evalSync('1', { copy: true }));
  expectType<ivm.ExternalCopy<any>>()(context.evalSync('1', { externalCopy: true }));
  expectType<ivm.Reference<any>>()(await context.eval('1', { reference: true, timeout: 100, deadline: 100 }));
  expectType<Promise<ivm.Reference<any>>>()(context.evalSync('1', { reference: true, promise: true }));
  expectType<void>()(context.evalIgnored('1'));
  expectType<ivm.Reference<any>>()(context.evalClosureSync('return $0', [1], { result: { reference: true } }));
  const both: ivm.TransferOptionsBidirectional = { arguments: { copy: true }, result: { copy: true, promise: true } };
  expectType<any>()(await context.evalClosure('return $0', [{}], both));
  expectType<any>()(await script.run(context, { release: true }));
  expectType<void>()(context.release());
}

export async function references() {
  const point = new ivm.Reference({ x: 1, tags: ['a'] });
  expectType<number>()(await point.get('x'));
  expectType<ivm.Reference<string[]>>()(point.getSync('tags'));
  expectType<string[]>()(point.getSync('tags', { copy: true }));
  expectType<ivm.ExternalCopy<string[]>>()(await point.get('tags', { externalCopy: true }));
  expectType<void>()(point.setSync('x', 2));
  point.setSync('tags', ['b'], { copy: true });
  point.setSync('tags', new ivm.ExternalCopy(['b']).copyInto({ release: true }));
  // @ts-expect-error -- no such property
  void point.get('y');

  const add = new ivm.Reference((a: number, b: number) => a + b);
  expectType<number>()(add.applySync(undefined, [1, 2]));
  expectType<number>()(await add.apply(null, [1, 2], { timeout: 10 }));
  // @ts-expect-error -- arguments of other types
  add.applySync(undefined, ['1', 2]);
  const load = new ivm.Reference(async (path: string) => ({ path }));
  expectType<{ path: string }>()(await load.apply(undefined, ['/'], { result: { promise: true, copy: true } }));
  expectType<{ path: string }>()(load.applySyncPromise(undefined, ['/']));
  expectType<(path: string) => Promise<{ path: string }>>()(load.deref());
}

export function copies() {
  const copy = new ivm.ExternalCopy(new Map([[1, 'a']]));
  expectType<Map<number, string>>()(copy.copy());
  expectType<ivm.Copy<Map<number, string>>>()(copy.copyInto({ release: true, transferIn: true }));
  expectType<number>()(ivm.ExternalCopy.totalExternalSize);
  new ivm.Callback((text: string) => text.length, { async: true });
  // @ts-expect-error -- not a function
  new ivm.Callback(1);
}

export function transferables(error: ivm.ErrorCode) {
  const values: ivm.Transferable[] = [1, 1n, 'a', true, null, undefined, ivm, isolate, context, script, () => 1];
  // @ts-expect-error -- symbols are not
  values.push(Symbol());
  // @ts-expect-error -- no such code
  return error === 'ERR_OTHER';
}

export function counts() {
  expectType<ivm.EngineStats>()(ivm.engineStats());
  expectType<number>()(ivm.engineStats().endings.collected);
  // @ts-expect-error -- takes nothing
  ivm.engineStats(isolate);
}
