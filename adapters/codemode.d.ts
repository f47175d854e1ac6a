import type { AgentSandboxConfig } from '../index.js';

/** Functions of the host, by name. */
export type Tools = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** The `Executor` of `@cloudflare/codemode`. */
export interface Executor {
  /** Runs code in an isolate of its own. Never rejects: failures are in `error`. */
  execute(
    code: string,
    providersOrFns: Array<{ name: string; fns: Tools; prelude?: string }> | Tools,
    options?: { connectors?: unknown[] },
  ): Promise<{ result: unknown; error?: string; logs?: string[] }>;
}

/**
 * Creates an executor for `createCodeTool` and similar functions of
 * [`@cloudflare/codemode`](https://www.npmjs.com/package/@cloudflare/codemode). Each execution has its own isolate. Connectors, which are
 * bound to Workers, fail with an `error`. A tool takes at most 10,000 arguments. `maxOutputSize` limits results.
 * @param options those of `AgentSandbox`; the default `timeout` is 60,000 ms, as in codemode. `approve` gets the name `provider.tool`,
 *   and the arguments as `params`
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range
 * @see [For agent frameworks](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#for-agent-frameworks)
 * @example
 * ```ts
 * import { createExecutor } from 'isolated-v8/codemode';
 *
 * const executor = createExecutor({ timeout: 10_000 }); // for createCodeTool({ tools, executor })
 * const fns = { add: async (a: unknown, b: unknown) => Number(a) + Number(b) };
 * const { result } = await executor.execute('async () => codemode.add(1, 2)', [{ name: 'codemode', fns }]);
 * console.log(result); // prints 3
 * ```
 */
export function createExecutor(options?: Partial<AgentSandboxConfig>): Executor;
