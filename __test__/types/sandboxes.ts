// The ready-made sandboxes. Compiled, never run.

import { createIsolatedVMSandbox, createSandbox, IsolatedVMSandbox, normalizeCode } from 'isolated-v8';
import type {
  HeapDetails,
  HeapStatistics,
  IsolatedVMExecutionResult,
  IsolatedVMSandboxConfig,
  IsolatedVMTool,
  Sandbox,
  SandboxOptions,
  SandboxResult,
} from 'isolated-v8';
import { expectType } from './expect';

export async function code() {
  const options: SandboxOptions = { timeout: 1, maxOutputSize: 1, maxApiCalls: 1, memoryLimit: 8, timers: true };
  const sandbox = createSandbox({ answer: 42, api: { request: async (path: string) => path } }, options);
  expectType<Sandbox>()(sandbox);
  const outcome = await sandbox.execute('1');
  expectType<SandboxResult>()(outcome);
  expectType<unknown>()(outcome.result);
  expectType<string | undefined>()(outcome.error);
  expectType<string[]>()(outcome.logs);
  expectType<number>()(outcome.durationMs);
  expectType<number | undefined>()(outcome.apiCallCount);
  expectType<string>()(normalizeCode('1'));
  // @ts-expect-error -- globals are required
  createSandbox();
  // @ts-expect-error -- a string
  createSandbox({}, { timeout: '1' });
  // @ts-expect-error -- no such option
  createSandbox({}, { inspector: true });
}

export async function agent() {
  const config: IsolatedVMSandboxConfig = { timeout: 1, memoryLimit: 8, inspector: false };
  const sandbox = new IsolatedVMSandbox({ timeout: 1 });
  expectType<IsolatedVMSandbox>()(createIsolatedVMSandbox(config));
  const tools: IsolatedVMTool[] = [{ name: 'a:b', description: '', inputSchema: { type: 'object' } }];
  const outcome = await sandbox.execute('return 1', tools, async (toolName, params: { path: string }) => {
    expectType<string>()(toolName);
    return params.path;
  });
  expectType<IsolatedVMExecutionResult>()(outcome);
  expectType<unknown>()(outcome.result);
  expectType<string | undefined>()(outcome.error);
  expectType<string[]>()(outcome.logs);
  expectType<number>()(outcome.duration);
  expectType<(HeapStatistics & HeapDetails) | null>()(sandbox.getHeapStatistics());
  expectType<boolean>()(IsolatedVMSandbox.isAvailable());
  expectType<void>()(sandbox.dispose());
  // @ts-expect-error -- a tool has a description
  await sandbox.execute('', [{ name: 'a' }], async () => 1);
  // @ts-expect-error -- an executor is required
  await sandbox.execute('', tools);
}
