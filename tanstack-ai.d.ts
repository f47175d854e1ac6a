import type { AgentSandboxConfig } from './index.js';

/** The environment of a program, as `@tanstack/ai-code-mode` requires it. */
export interface IsolateContext {
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
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is of a wrong type or too small
 */
export function createIsolateDriver(options?: Partial<Omit<AgentSandboxConfig, 'timeout' | 'memoryLimit' | 'onLog'>>): IsolateDriver;
