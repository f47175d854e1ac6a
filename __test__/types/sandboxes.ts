// The ready-made sandboxes. Compiled, never run.

import { EventEmitter } from 'node:events';
import {
  createIsolatedVMSandbox,
  createPluginFetch,
  createSandbox,
  createSubprocessSandbox,
  Isolate,
  IsolatedVMSandbox,
  IsolatedVmSandbox,
  normalizeCode,
  NotFoundError,
  PluginError,
  SandboxViolationError,
  SubprocessSandbox,
} from 'isolated-v8';
import type {
  ConfinementLayer,
  HeapDetails,
  HeapStatistics,
  ILogger,
  IPluginManifest,
  IsolatedVMExecutionResult,
  IsolatedVMSandboxConfig,
  IsolatedVMTool,
  PluginFetchResponse,
  Sandbox,
  SandboxContext,
  SandboxIsolate,
  SandboxOptions,
  SandboxResult,
  SandboxViolationType,
  SubprocessExecutionResult,
  SubprocessFailure,
  SubprocessSandboxConfig,
} from 'isolated-v8';
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
  expectType<string>()(normalizeCode('1'));
  // @ts-expect-error -- globals are required
  createSandbox();
  // @ts-expect-error -- a string
  createSandbox({}, { timeout: '1' });
  // @ts-expect-error -- no such option
  createSandbox({}, { inspector: true });
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
  expectType<boolean>()(sandbox.isRunning());
  expectType<void>()(sandbox.terminate());
  expectType<ConfinementLayer[]>()(await sandbox.confinement());
  // @ts-expect-error -- an executor is required
  await sandbox.execute('return 1', []);
  // @ts-expect-error -- a boolean
  new SubprocessSandbox({ minimalEnv: 'yes' });
}
