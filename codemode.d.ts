import type { IsolatedVMSandboxConfig } from './index.js';

/** Functions of the host by their names. */
export type Tools = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** As `Executor` of `@cloudflare/codemode`. */
export interface Executor {
  /** Never rejects: what fails is told by `error`. */
  execute(
    code: string,
    providersOrFns: Array<{ name: string; fns: Tools; prelude?: string }> | Tools,
    options?: { connectors?: unknown[] },
  ): Promise<{ result: unknown; error?: string; logs?: string[] }>;
}

/**
 * An executor for `createCodeTool` and its kind of [`@cloudflare/codemode`](https://www.npmjs.com/package/@cloudflare/codemode). Each
 * execution has an isolate of its own. Connectors, which are bound to Workers, are refused by an `error`. A tool takes at most 10,000 arguments, and results are bounded by `maxOutputSize`.
 * @param options of `IsolatedVMSandbox`; `timeout` is 60,000 ms where it is not given, as in codemode
 * @throws {TypeError} `ERR_INVALID_ARG` where an option is of a wrong type or too small
 */
export function createExecutor(options?: Partial<IsolatedVMSandboxConfig>): Executor;
