import type { AgentSandboxConfig } from '../index.js';

export type { CodeResult } from './code-runner.js';

/** A tool of LangChain that code can call. */
export interface InvocableTool {
  name: string;
  description?: string;
  schema?: unknown;
  /** Validates its input, unless `schema` is a JSON Schema: then the sandbox has validated it, and a tool of LangChain does not do so again. */
  invoke(input: any, config?: any): Promise<unknown>;
}

/**
 * Options of `createCodeTool`: those of `AgentSandbox`, `tools` and `name`. `approve` gets the names of `tools`. Default `maxOutputSize`
 * 1,048,576, `maxLogEntries` 100, and `maxLogLength` 1,000, as with `createSandbox`.
 */
export interface CodeToolOptions extends Partial<Omit<AgentSandboxConfig, 'form' | 'inspector'>> {
  /**
   * Tools that the code can call as `tools.NAME(input)`, which returns a promise. Characters of a name that identifiers cannot have become
   * `_`. They run on the host, with the configuration of the call that runs the code, except that each call has a `signal` of its own: it
   * aborts if the execution ends before the tool is done, by a limit or an abort for example. Default: none.
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
 * @param options those of `AgentSandbox`, `tools` and `name`. `approve` gets the names of `tools`
 * @returns what `tool` returns
 * @throws {TypeError} `ERR_INVALID_ARG` if `tool` is not a function, if an option is unknown, of a wrong type or out of range, and for a
 *   tool without `invoke`, one with a JSON Schema that has unsupported keywords, and two whose names are the same in code
 * @see [For agent frameworks](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#for-agent-frameworks)
 * @example
 * ```ts
 * import { createCodeTool } from 'isolated-v8/langchain';
 *
 * // Instead of `tool` of `@langchain/core/tools`.
 * const tool = (run: (input: { code: string }, config: unknown) => Promise<string>) => ({ invoke: run });
 * const add = { name: 'add', invoke: async ({ a, b }: { a: number; b: number }) => a + b };
 * const runCode = createCodeTool(tool, { tools: [add], timeout: 10_000 });
 * console.log(JSON.parse(await runCode.invoke({ code: 'return tools.add({ a: 1, b: 2 })' }, {})).result); // prints 3
 * ```
 */
export function createCodeTool<Tool>(tool: (run: (input: any, config: any) => Promise<string>, fields: any) => Tool, options?: CodeToolOptions): Tool;
