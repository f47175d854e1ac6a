import type { CodeResult } from './code-runner.js';
import type { AgentSandboxConfig } from '../index.js';

export type { CodeResult } from './code-runner.js';

/** A tool of the AI SDK that code can call: one with `execute`. */
export interface ExecutableTool {
  description?: unknown;
  /** Validates the input of each call. */
  inputSchema?: unknown;
  execute?: (input: any, options: any) => unknown;
  /** Tools that need approval are refused: code would call them without asking. */
  needsApproval?: unknown;
}

/**
 * Options of `createCodeTool`: those of `AgentSandbox`, and `tools`. `approve` gets the names in `tools`. Default `maxOutputSize` 1,048,576,
 * `maxLogEntries` 100, and `maxLogLength` 1,000, as with `createSandbox`.
 */
export interface CodeToolOptions extends Partial<Omit<AgentSandboxConfig, 'form' | 'inspector'>> {
  /**
   * Tools that the code can call as `tools.NAME(input)`, which returns a promise. Characters of a name that identifiers cannot have become
   * `_`. They run on the host, with the `options` of the call that runs the code, except that each call has an `abortSignal` of its own: it
   * aborts if the execution ends before the tool is done, by a limit or an abort for example. Default: none.
   */
  tools?: Record<string, ExecutableTool>;
}

/** A tool for `generateText`, `streamText` and agents of the AI SDK. */
export interface CodeTool {
  /** Describes the sandbox and the tools in it to the model. */
  description: string;
  /** A schema of the AI SDK for `{ code: string }`. */
  inputSchema: any;
  /**
   * Runs code in an isolate of its own. Resolves with the outcome: failures of the code do not reject. An abort of the AI SDK's call ends
   * it.
   */
  execute: (input: { code: string }, options: any) => Promise<CodeResult>;
}

/**
 * Creates a tool of the [AI SDK](https://ai-sdk.dev) that runs JavaScript of the model. With `tools`, it is code mode: the model writes
 * one program that calls them, instead of one call for each step.
 * @param options those of `AgentSandbox`, and `tools`. `approve` gets the names in `tools`
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range, and for a tool without `execute`, one
 *   that needs approval, one with a JSON Schema that has unsupported keywords, and two whose names are the same in code
 * @see [For agent frameworks](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#for-agent-frameworks)
 * @example
 * ```ts
 * import { createCodeTool } from 'isolated-v8/ai-sdk';
 *
 * const add = { description: 'Adds', execute: async ({ a, b }: { a: number; b: number }) => a + b };
 * const run_code = createCodeTool({ tools: { add }, timeout: 10_000 }); // for generateText({ tools: { run_code } })
 * console.log((await run_code.execute({ code: 'return tools.add({ a: 1, b: 2 })' }, {})).result); // prints 3
 * ```
 */
export function createCodeTool(options?: CodeToolOptions): CodeTool;
