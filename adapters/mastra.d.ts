import type { AgentSandboxConfig } from '../index.js';

/** The `CodeModeTransport` of `@mastra/core/tools`. */
export interface CodeModeTransport {
  /** No sandbox of a workspace is needed. */
  requiresSandbox: false;
  /**
   * Runs a program in an isolate of its own. Never rejects for failures of the program: they are in `error`. A timeout has the name
   * `TimeoutError`.
   */
  run(options: {
    /** The body of an async function, with types. */
    program: string;
    /** Tools that it can call, as `external_ID`. */
    toolIds: string[];
    dispatch: (tool: string, args: unknown) => Promise<unknown>;
    /** Milliseconds. */
    timeout: number;
    abortSignal?: AbortSignal;
    /** Called for each call of a tool. Errors of it and of `onExternalResult` have no effect on the program, and are reported. */
    onExternalCall?: (tool: string, args: unknown) => void;
    onExternalResult?: (tool: string, durationMs: number, error?: unknown) => void;
  }): Promise<{
    success: boolean;
    result?: unknown;
    logs?: string[];
    error?: { message: string; name?: string; line?: number };
  }>;
}

/**
 * Creates a transport for `createCodeMode` of [`@mastra/core/tools`](https://www.npmjs.com/package/@mastra/core), its second argument.
 * Each program has its own isolate. Types are removed unless `typescript` is false. `maxOutputSize` limits results, which are plain JSON.
 * Default 1,048,576.
 * @param options those of `AgentSandbox`; `timeout` comes from Mastra. `approve` gets the ids of tools, and params that Mastra has not
 *   validated
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range
 * @see [For agent frameworks](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#for-agent-frameworks)
 * @example
 * ```ts
 * import { createCodeModeTransport } from 'isolated-v8/mastra';
 *
 * const transport = createCodeModeTransport({ memoryLimit: 64 }); // for createCodeMode({ tools }, transport)
 * const { result } = await transport.run({
 *   program: 'const sum: number = await external_add({ a: 1, b: 2 }); return sum;',
 *   toolIds: ['add'],
 *   dispatch: async (_tool, args) => Object.values(args as Record<string, number>).reduce((all, n) => all + n),
 *   timeout: 10_000,
 * });
 * console.log(result); // prints 3
 * ```
 */
export function createCodeModeTransport(options?: Partial<Omit<AgentSandboxConfig, 'timeout' | 'onLog' | 'form' | 'inspector'>>): CodeModeTransport;
