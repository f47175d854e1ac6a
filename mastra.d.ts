import type { AgentSandboxConfig } from './index.js';

/** The `CodeModeTransport` of `@mastra/core/tools`. */
export interface CodeModeTransport {
  /** No sandbox of a workspace is needed. */
  requiresSandbox: false;
  /** Runs a program in an isolate of its own. Never rejects: failures are in `error`. */
  run(options: {
    /** The body of an async function, with types. */
    program: string;
    /** Tools that it can call, as `external_ID`. */
    toolIds: string[];
    dispatch: (tool: string, args: unknown) => Promise<unknown>;
    /** Milliseconds. */
    timeout: number;
    abortSignal?: AbortSignal;
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
 * Creates a transport for `createCodeMode` of [`@mastra/core/tools`](https://www.npmjs.com/package/@mastra/core), its second argument. Each
 * program has its own isolate. Types are removed unless `typescript` is false. `maxOutputSize` limits results, which are plain JSON.
 * @param options those of `AgentSandbox`; `timeout` comes from Mastra
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is of a wrong type or too small
 */
export function createCodeModeTransport(options?: Partial<Omit<AgentSandboxConfig, 'timeout' | 'onLog' | 'form' | 'inspector'>>): CodeModeTransport;
