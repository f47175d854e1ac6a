import type { IsolatedVMSandboxConfig } from './index.js';

/** Where a program runs, as `@tanstack/ai-code-mode` asks for it. */
export interface IsolateContext {
  execute<T = unknown>(code: string): Promise<{
    success: boolean;
    value?: T;
    error?: { name: string; message: string; stack?: string; code?: string };
    logs?: string[];
  }>;
  /** Ends what still runs; later executions fail with the code `ERR_ISOLATE_ABORTED`. */
  dispose(): Promise<void>;
}

/** As `IsolateDriver` of `@tanstack/ai-code-mode`. */
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
 * A driver for `createCodeMode` of [`@tanstack/ai-code-mode`](https://www.npmjs.com/package/@tanstack/ai-code-mode). Each execution has an
 * isolate of its own. Results are bounded by `maxOutputSize`.
 * @param options of `IsolatedVMSandbox`; `timeout` and `memoryLimit` are those of the context
 * @throws {TypeError} `ERR_INVALID_ARG` where an option is of a wrong type or too small
 */
export function createIsolateDriver(options?: Partial<Omit<IsolatedVMSandboxConfig, 'timeout' | 'memoryLimit' | 'onLog'>>): IsolateDriver;
