// The adapters return the types that the packages expect.

import type { Executor } from '@cloudflare/codemode';
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { createCodeMode, type Tool as MastraTool } from '@mastra/core/tools';
import type { IsolateDriver } from '@tanstack/ai-code-mode';
import { generateText, tool as aiTool, type Tool, type ToolSet } from 'ai';
import { z } from 'zod';
import { createCodeTool } from '../../adapters/ai-sdk.js';
import { createExecutor } from '../../adapters/codemode.js';
import { createCodeTool as createLangChainTool } from '../../adapters/langchain.js';
import { createCodeModeTransport } from '../../adapters/mastra.js';
import { createIsolateDriver } from '../../adapters/tanstack-ai.js';

export const executor: Executor = createExecutor({ timeout: 1_000 });
export const driver: IsolateDriver = createIsolateDriver({ web: true });

const weather = aiTool({ description: 'The weather', inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city.length });
export const codeTool: Tool = createCodeTool({ tools: { weather }, timeout: 1_000 });
export const toolSet: ToolSet = { run_code: createCodeTool() };
export const answer = () => generateText({ model: 'a/model', prompt: '', tools: { run_code: createCodeTool({ tools: { weather } }) } });

const double = tool(async ({ n }: { n: number }) => 2 * n, { name: 'double', description: 'Doubles', schema: z.object({ n: z.number() }) });
export const structured: StructuredToolInterface = createLangChainTool(tool, { tools: [double], memoryLimit: 64 });

export const mastraTool: MastraTool<any, any> = createCodeMode({ tools: {} }, createCodeModeTransport({ web: true })).tool;

// @ts-expect-error The context says how long.
createIsolateDriver({ timeout: 1_000 });
// @ts-expect-error Mastra says how long.
createCodeModeTransport({ timeout: 1_000 });
