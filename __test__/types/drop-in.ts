// A program written for isolated-vm's own types, with its names, type arguments and annotations. Compiled, never run.

import * as ivm from 'isolated-v8';

type Log = (...args: unknown[]) => void;

class Runner {
  #isolate: ivm.Isolate;
  #context?: ivm.Context;
  #jail?: ivm.Reference<Record<number | string | symbol, any>>;
  #options: ivm.RunOptions & ivm.ReleaseOptions = { timeout: 1000, release: true };
  #both: ivm.TransferOptionsBidirectional = { arguments: { copy: true }, result: { promise: true, copy: true } };

  constructor(options: ivm.IsolateOptions = { memoryLimit: 64, inspector: false }) {
    this.#isolate = new ivm.Isolate(options);
  }

  async prepare(log: Log, snapshot?: ivm.ExternalCopy<ArrayBuffer>) {
    const isolate = snapshot === undefined ? this.#isolate : new ivm.Isolate({ snapshot });
    this.#context = await isolate.createContext({ inspector: false });
    this.#jail = this.#context.global;
    await this.#jail.set('global', this.#jail.derefInto());
    await this.#jail.set('log', new ivm.Callback(log, { ignored: true }));
    this.#jail.setSync('config', new ivm.ExternalCopy({ a: 1 }).copyInto());
    this.#jail.setIgnored('_ivm', ivm);
    await this.#context.evalClosure(
      'globalThis.fetch = (...args) => $0.apply(undefined, args, { arguments: { copy: true }, result: { promise: true } })',
      [new ivm.Reference(async (url: string) => url)],
      { timeout: 10 },
    );
    await this.#context.evalClosure('globalThis.now = $0', [() => Date.now()], { arguments: { reference: true } });
  }

  async run<T>(code: string): Promise<T> {
    const script: ivm.Script = await this.#isolate.compileScript(code, { filename: 'file:///run.js' } satisfies ivm.ScriptInfo);
    return (await script.run(this.#context!, { ...this.#options, copy: true, promise: true })) as T;
  }

  async call(name: string, ...args: any[]): Promise<any> {
    const target: ivm.Reference<(...args: any[]) => any> = await this.#jail!.get(name, { reference: true });
    if (target.typeof !== 'function') throw new TypeError(name);
    return target.apply(undefined, args, this.#both);
  }

  async module(code: string) {
    const module: ivm.Module = await this.#isolate.compileModule(code);
    await module.instantiate(this.#context!, async (specifier: string, referrer: ivm.Module) => {
      void referrer.dependencySpecifiers;
      return this.#isolate.compileModule(specifier);
    });
    await module.evaluate({ timeout: 100 });
    const result = await module.namespace.get('default', { copy: true });
    module.release();
    return result;
  }

  inspect(send: (message: string) => void): ivm.InspectorSession {
    const session = this.#isolate.createInspectorSession();
    session.onResponse = (_callId, message) => send(message);
    session.onNotification = send;
    session.dispatchProtocolMessage('{}');
    return session;
  }

  async profile(): Promise<ivm.ThreadCpuProfile[]> {
    this.#isolate.startCpuProfiler('run');
    return this.#isolate.stopCpuProfiler('run');
  }

  statistics(): ivm.HeapStatistics {
    return this.#isolate.getHeapStatisticsSync();
  }

  end() {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

export function typed(reference: ivm.Reference<{ x: number }>): number {
  return reference.getSync<{ copy: true }, 'x'>('x', { copy: true });
}

export default Runner;
