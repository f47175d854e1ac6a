import type { AgentSandboxConfig } from '../index.js';

/** The environment of a program, as `@tanstack/ai-code-mode` requires it. */
export interface IsolateContext {
  /** Runs code in an isolate of its own. Failures of the code do not reject: they are in `error`. */
  execute<T = unknown>(code: string): Promise<{
    success: boolean;
    value?: T;
    error?: { name: string; message: string; stack?: string; code?: string };
    logs?: string[];
  }>;
  /** Ends running executions. Later ones fail with the code `ERR_ISOLATE_ABORTED`. */
  dispose(): Promise<void>;
}

/** The `IsolateDriver` of `@tanstack/ai-code-mode`. */
export interface IsolateDriver {
  /** Resolves with an environment for programs. Rejects with `ERR_INVALID_ARG` for a binding named `$host` or `globalThis`. */
  createContext(config: {
    bindings: Record<string, { execute(args: unknown): Promise<unknown> }>;
    /** Milliseconds. Default 30,000. */
    timeout?: number;
    /** MB. Default 128. */
    memoryLimit?: number;
  }): Promise<IsolateContext>;
}

/**
 * Creates a driver for `createCodeMode` of [`@tanstack/ai-code-mode`](https://www.npmjs.com/package/@tanstack/ai-code-mode). Each
 * execution has its own isolate. `maxOutputSize` limits results.
 * @param options those of `AgentSandbox`; `timeout` and `memoryLimit` come from the context. `approve` gets the names of the bindings
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range
 * @see [For agent frameworks](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#for-agent-frameworks)
 * @example
 * ```ts
 * import { createIsolateDriver } from 'isolated-v8/tanstack-ai';
 *
 * const driver = createIsolateDriver({ maxApiCalls: 100 }); // for createCodeMode({ driver, tools })
 * const add = { execute: async (args: unknown) => Object.values(args as Record<string, number>).reduce((all, n) => all + n) };
 * const context = await driver.createContext({ bindings: { add } });
 * console.log((await context.execute('return add({ a: 1, b: 2 })')).value); // prints 3
 * ```
 */
export function createIsolateDriver(options?: Partial<Omit<AgentSandboxConfig, 'timeout' | 'memoryLimit' | 'onLog'>>): IsolateDriver;
