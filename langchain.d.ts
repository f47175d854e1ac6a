import type { AgentSandboxConfig } from './index.js';

export type { CodeResult } from './code-runner.js';

/** A tool of LangChain that code can call. */
export interface InvocableTool {
  name: string;
  description?: string;
  schema?: unknown;
  /** Validates its input. */
  invoke(input: any, config?: any): Promise<unknown>;
}

/** Options of `createCodeTool`. Defaults that differ from those of `AgentSandbox` are those of `createSandbox`. */
export interface CodeToolOptions extends Partial<Omit<AgentSandboxConfig, 'form' | 'inspector'>> {
  /**
   * Tools that the code can call as `tools.NAME(input)`, which returns a promise. Characters of a name that identifiers cannot have become
   * `_`. They run on the host, with the configuration of the call that runs the code. Default: none.
   */
  tools?: readonly InvocableTool[];
  /** Name of the tool. Default `run_code`. */
  name?: string;
}

/**
 * Creates a tool of [LangChain](https://js.langchain.com) that runs JavaScript of the model, and returns its outcome, a `CodeResult`, as
 * JSON. With `tools`, it is code mode: the model writes one program that calls them, instead of one call for each step. An abort of
 * LangChain's call ends the code.
 * @param tool the function `tool` of `@langchain/core/tools` or `langchain`
 * @param options those of `AgentSandbox`, `tools` and `name`
 * @returns what `tool` returns
 * @throws {TypeError} `ERR_INVALID_ARG` if an option is of a wrong type or too small, and for two tools whose names are the same in code
 */
export function createCodeTool<Tool>(tool: (run: (input: any, config: any) => Promise<string>, fields: any) => Tool, options?: CodeToolOptions): Tool;
