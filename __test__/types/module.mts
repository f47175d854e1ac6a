// The package as an ES module sees it: one instance, as default, by name and as a namespace. Compiled, never run.

import ivm, { Isolate, Reference, createSandbox } from 'isolated-v8';
import type { Context, SandboxOptions, TransferOptions, Transferable } from 'isolated-v8';
import * as namespace from 'isolated-v8';
import { expectType } from './expect.js';

declare const context: Context;
const options: SandboxOptions = { timeout: 1 };
const transfer: TransferOptions = { copy: true };

expectType<ivm.Isolate>()(new Isolate());
expectType<Isolate>()(new ivm.Isolate());
expectType<Isolate>()(new namespace.Isolate());
expectType<typeof ivm>()(namespace.default);
expectType<ivm.Context>()(context);
expectType<ivm.Sandbox>()(createSandbox({}, options));
expectType<Reference<number>>()(new ivm.Reference<number>(1));
export const values: Transferable[] = [ivm, context, new Isolate()];
export const outcome: unknown = context.evalSync('1', transfer);

const imported = await import('isolated-v8');
expectType<Isolate>()(new imported.Isolate());

// @ts-expect-error -- there is no such export
export { nothing } from 'isolated-v8';
