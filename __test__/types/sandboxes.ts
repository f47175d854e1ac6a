// The ready-made sandboxes. Compiled, never run.

import { EventEmitter } from 'node:events';
import {
  AgentSandbox,
  createIsolatedVMSandbox,
  createPluginFetch,
  createSandbox,
  createSubprocessSandbox,
  describeTools,
  Isolate,
  IsolatedVMSandbox,
  IsolatedVmSandbox,
  normalizeCode,
  NotFoundError,
  PluginError,
  PluginSandbox,
  SandboxViolationError,
  SubprocessSandbox,
} from 'isolated-v8';
import type {
  AgentResult,
  AgentSandboxConfig,
  ConfinementLayer,
  ErrorCode,
  HeapDetails,
  HeapStatistics,
  ILogger,
  IPluginContext,
  IPluginManifest,
  IPluginSandbox,
  IsolatedVMExecutionResult,
  IsolatedVMSandboxConfig,
  IsolatedVMTool,
  PluginFetchResponse,
  Sandbox,
  SandboxContext,
  SandboxExecutionResult,
  SandboxFailure,
  SandboxIsolate,
  SandboxMessage,
  SandboxOptions,
  SandboxResult,
  SandboxTool,
  SandboxViolationType,
  SubprocessExecutionResult,
  SubprocessFailure,
  SubprocessSandboxConfig,
  ToolCall,
  ToolExecutor,
} from 'isolated-v8';
import { z } from 'zod';
import { expectType } from './expect';

export async function code() {
  const modules = { math: 'export default 1' } as const;
  const options: SandboxOptions = {
    timeout: 1, maxOutputSize: 1, maxApiCalls: 1, memoryLimit: 8, timers: true, modules, warm: 2, snapshot: Isolate.createSnapshot([]),
  };
  const sandbox = createSandbox({ answer: 42, api: { request: async (path: string) => path } }, options);
  expectType<Sandbox>()(sandbox);
  const outcome = await sandbox.execute('1');
  expectType<SandboxResult>()(outcome);
  expectType<unknown>()(outcome.result);
  expectType<string | undefined>()(outcome.error);
  expectType<string[]>()(outcome.logs);
  expectType<number>()(outcome.durationMs);
  expectType<number | undefined>()(outcome.apiCallCount);
  expectType<string | undefined>()(outcome.failure?.module);
  expectType<ErrorCode | undefined>()(outcome.failure?.code);
  const typed = await sandbox.execute<number[]>('[1]');
  expectType<SandboxResult<number[]>>()(typed);
  if (typed.error === undefined) {
    expectType<number[]>()(typed.result);
    expectType<undefined>()(typed.failure);
  } else {
    expectType<null>()(typed.result);
    expectType<string>()(typed.error);
    expectType<SandboxFailure>()(typed.failure);
    expectType<string | number | bigint | boolean | null | undefined>()(typed.failure.properties?.code);
    const { cause } = typed.failure;
    if (typeof cause === 'object' && cause !== null) expectType<string>()(cause.message);
  }
  expectType<void>()(sandbox.dispose());
  expectType<Promise<void>>()(sandbox.close());
  createSandbox({}, { poolSize: 2 });
  expectType<string>()(normalizeCode('1'));
  expectType<Promise<string>>()(normalizeCode('1', { async: true, signal: AbortSignal.timeout(1) }));
  // @ts-expect-error -- globals are required
  createSandbox();
  // @ts-expect-error -- a string
  createSandbox({}, { timeout: '1' });
  createSandbox({}, { inspector: true });
  createSandbox({}, { inspector: (isolate) => isolate.createInspectorSession() });
  // @ts-expect-error -- no such option
  createSandbox({}, { inspect: true });
  // @ts-expect-error -- a number
  createSandbox({}, { warm: true });
  // @ts-expect-error -- an ExternalCopy
  createSandbox({}, { snapshot: new ArrayBuffer(8) });
  new IsolatedVMSandbox({ warm: 0, snapshot: Isolate.createSnapshot([]) });
  new IsolatedVmSandbox(null, { warm: 0, snapshot: Isolate.createSnapshot([]) });
}

export async function agent() {
  const config: IsolatedVMSandboxConfig = {
    timeout: 1, memoryLimit: 8, inspector: false, maxOutputSize: 1, maxApiCalls: 1, modules: { math: '' },
  };
  new IsolatedVMSandbox({ form: 'any' });
  // @ts-expect-error: there is no such form
  new IsolatedVMSandbox({ form: 'expression' });
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
  expectType<number>()(outcome.durationMs);
  const same: AgentResult = outcome;
  const other: AgentSandboxConfig = config;
  const least: AgentSandboxConfig = { timeout: 1_000, memoryLimit: 64 };
  new AgentSandbox(least);
  const typed = await new AgentSandbox(other).execute<{ sum: number }>('return { sum: 1 }', tools, async () => same);
  if (typed.failure === undefined) {
    expectType<{ sum: number }>()(typed.result);
  } else {
    expectType<ErrorCode | undefined>()(typed.failure.code);
  }
  const schemas: readonly SandboxTool[] = [
    { name: 'a:b', description: '', inputSchema: z.object({ x: z.number() }), outputSchema: z.string() },
    { name: 'a:c', description: '', inputSchema: { type: 'object', properties: {} } as const },
  ];
  expectType<string>()(describeTools(schemas));
  const executor: ToolExecutor = async (_name, _params, { signal }) => {
    expectType<AbortSignal>()(signal);
    await fetch('https://example.org/', { signal });
  };
  await sandbox.execute('', schemas, executor);
  new AgentSandbox({ results: 'json', poolSize: 1, approve: async (call: ToolCall) => call.name === 'a:b' && call.params.x > 1 && !call.signal.aborted });
  // @ts-expect-error -- no such form
  new AgentSandbox({ results: 'text' });
  // @ts-expect-error -- a boolean
  new AgentSandbox({ approve: () => 'yes' });
  class Mine extends IsolatedVMSandbox {}
  expectType<boolean>()(Mine.isAvailable());
  expectType<(HeapStatistics & HeapDetails) | null>()(sandbox.getHeapStatistics());
  expectType<boolean>()(IsolatedVMSandbox.isAvailable());
  expectType<void>()(sandbox.dispose());
  expectType<Promise<void>>()(sandbox.close());
  // @ts-expect-error -- a tool has a description
  await sandbox.execute('', [{ name: 'a' }], async () => 1);
  // @ts-expect-error -- an executor is required
  await sandbox.execute('', tools);
}

export async function plugins(logger: ILogger, context: SandboxContext) {
  const fetch = createPluginFetch({ allowedDomains: ['example.org'], privateDomains: [], maxRedirects: 1, maxBodySize: 1, timeout: 1, ca: ['x'] });
  expectType<Promise<PluginFetchResponse>>()(fetch('https://example.org/', { method: 'POST', headers: { a: 'b' }, body: 'x', redirect: 'manual', responseType: 'bytes' }));
  // @ts-expect-error -- domains are required
  createPluginFetch({});
  // @ts-expect-error -- no such method
  void fetch('https://example.org/', { method: 'CONNECT' });
  const manifest: IPluginManifest = {
    id: 'p', name: 'P', version: '1.0.0', description: '', author: '', license: 'MIT', entrypoint: 'index.js', dependencies: [],
    permissions: { network: { allowedDomains: ['example.com'] }, storage: { maxSize: 1 }, hooks: ['x'] },
    limits: { memoryMB: 8, cpuMs: 1 },
  };
  const sandbox = new IsolatedVmSandbox(logger);
  const isolate = await sandbox.createIsolate(manifest);
  expectType<SandboxIsolate>()(isolate);
  expectType<number>()(await sandbox.executeInSandbox<number>(isolate, '1', context));
  expectType<unknown>()(await sandbox.executeInSandbox(isolate, '1', { config: {}, eventBus: new EventEmitter(), http: { get: async () => 1 } }, { fresh: true, deadline: 5 }));
  await sandbox.executeInSandbox(isolate, '1', { cache: new Map<string, unknown>(), logger: console });
  expectType<number>()(sandbox.getMemoryUsage(isolate));
  expectType<void>()(sandbox.updateMemoryUsage(isolate.id, 5));
  expectType<number>()(sandbox.getActiveIsolateCount());
  expectType<readonly SandboxIsolate[]>()(sandbox.getActiveIsolates());
  expectType<void>()(sandbox.dispose(isolate));
  expectType<void>()(sandbox.disposeAll());
  const error: unknown = new NotFoundError('Isolate', '1');
  if (error instanceof SandboxViolationError) {
    expectType<SandboxViolationType>()(error.violationType);
    expectType<SandboxViolationType>()(error.kind);
  } else if (error instanceof PluginError) {
    expectType<string>()(error.operation);
    expectType<unknown>()(error.cause);
    expectType<string | undefined>()(error.failure?.frame);
  }
  await new IsolatedVmSandbox().createIsolate({ id: 'p' });
  const other: IPluginSandbox = new PluginSandbox(logger);
  const given: IPluginContext = context;
  expectType<number>()(await other.executeInSandbox<number>(isolate, '1', given));
  expectType<Promise<void>>()(sandbox.close());
  class Plugins extends IsolatedVmSandbox implements IPluginSandbox {}
  expectType<PluginSandbox>()(new PluginSandbox(null, { poolSize: 1 }));
  expectType<IsolatedVmSandbox>()(new Plugins() as IsolatedVmSandbox);
  new IsolatedVmSandbox(null, { typescript: true, maxLogEntries: 1, maxLogLength: 1, onLog: ({ level, message, pluginId, isolateId }) => { expectType<string>()(level + message + pluginId + isolateId); } });
  await sandbox.executeInSandbox(isolate, '1', context, { onUsage: ({ cpuMs, hostCalls }) => { expectType<number>()(cpuMs + hostCalls); } });
  new SubprocessSandbox({ snapshot: Isolate.createSnapshot([{ code: '' }]) });
  expectType<boolean>()(SubprocessSandbox.isAvailable());
  // @ts-expect-error -- a plugin has an id
  await sandbox.createIsolate({ permissions: {} });
  // @ts-expect-error -- a context is required
  await sandbox.executeInSandbox(isolate, '1');
  // @ts-expect-error -- no such option
  await sandbox.executeInSandbox(isolate, '1', context, { timeout: 5 });
}

export async function apart() {
  const config: Partial<SubprocessSandboxConfig> = { timeout: 1, memoryLimit: 8, minimalEnv: false, poolSize: 0, confinement: { seccomp: false, require: ['namespaces', 'landlock'] } };
  const sandbox = new SubprocessSandbox(config);
  expectType<SubprocessSandbox>()(createSubprocessSandbox());
  expectType<SubprocessSandbox>()(createSubprocessSandbox(null));
  const outcome = await sandbox.execute('return 1', [{ name: 'a', description: '' }], async (_name, params: { x: number }) => params.x, { signal: new AbortController().signal });
  expectType<SubprocessExecutionResult>()(outcome);
  expectType<unknown>()(outcome.result);
  expectType<SubprocessFailure | undefined>()(outcome.failure);
  expectType<string | undefined>()(outcome.failure?.signal);
  expectType<number>()(outcome.duration);
  expectType<number>()(outcome.durationMs);
  const typed: SandboxExecutionResult<number> = await sandbox.execute<number>('return 1', [], async () => 1);
  if (typed.error === undefined) expectType<number>()(typed.result);
  else expectType<SubprocessFailure>()(typed.failure);
  const message: SandboxMessage = { type: 'tool_call', id: '1', toolName: 'a', params: {} };
  expectType<string | undefined>()(message.toolName);
  expectType<void>()(sandbox.dispose());
  expectType<Promise<void>>()(sandbox.close());
  expectType<boolean>()(sandbox.isRunning());
  expectType<void>()(sandbox.terminate());
  expectType<ConfinementLayer[]>()(await sandbox.confinement());
  await sandbox.execute('return 1', []);
  // @ts-expect-error -- an executor is required
  await sandbox.execute('return 1', tools);
  // @ts-expect-error -- a boolean
  new SubprocessSandbox({ minimalEnv: 'yes' });
}
