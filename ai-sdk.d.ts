import type { CodeResult } from './code-runner.js';
import type { AgentSandboxConfig } from './index.js';

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

/** Options of `createCodeTool`. Defaults that differ from those of `AgentSandbox` are those of `createSandbox`. */
export interface CodeToolOptions extends Partial<Omit<AgentSandboxConfig, 'form' | 'inspector'>> {
  /**
   * Tools that the code can call as `tools.NAME(input)`, which returns a promise. Characters of a name that identifiers cannot have become
   * `_`. They run on the host, with the `options` of the call that runs the code. Default: none.
   */
  tools?: Record<string, ExecutableTool>;
}

/** A tool for `generateText`, `streamText` and agents of the AI SDK. */
export interface CodeTool {
  /** Describes the sandbox and the tools in it to the model. */
  description: string;
  /** A schema of the AI SDK for `{ code: string }`. */
  inputSchema: any;
  /** Runs code in an isolate of its own. Failures of the code do not reject. An abort of the AI SDK's call ends it. */
  execute: (input: { code: string }, options: any) => Promise<CodeResult>;
}

/**
 * Creates a tool of the [AI SDK](https://ai-sdk.dev) that runs JavaScript of the model. With `tools`, it is code mode: the model writes one
 * program that calls them, instead of one call for each step.
 * @param options those of `AgentSandbox`, and `tools`
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is of a wrong type or too small, and for a tool without `execute`, one that needs
 *   approval, and two whose names are the same in code
 */
export function createCodeTool(options?: CodeToolOptions): CodeTool;
