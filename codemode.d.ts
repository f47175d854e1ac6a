import type { AgentSandboxConfig } from './index.js';

/** Functions of the host, by name. */
export type Tools = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** The `Executor` of `@cloudflare/codemode`. */
export interface Executor {
  /** Never rejects: failures are in `error`. */
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
 * @param options those of `AgentSandbox`; the default `timeout` is 60,000 ms, as in codemode. `approve` gets the name `provider.tool`, and the
 *   arguments as `params`
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is of a wrong type or too small
 */
export function createExecutor(options?: Partial<AgentSandboxConfig>): Executor;
