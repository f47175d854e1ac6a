// What the tests of tools share: the sandboxes that have tools, and what code gets of a call.

import ivm from '../../index.mjs';

const { AgentSandbox, SubprocessSandbox } = ivm;

/** The sandboxes that have tools. */
export const SANDBOXES = { AgentSandbox, ...(process.platform === 'linux' ? { SubprocessSandbox } : {}) };

export const tool = (name, more = {}) => ({ name, description: `the tool ${name}`, ...more });

/** Code that calls `t.f` with each of the params, one after another, and returns what it gets. */
export const calls = (...params) => `
  const all = [];
  for (const params of [${params.join(', ')}]) {
    all.push(await t.f(params).then((value) => ({ value }), ({ name, message }) => ({ name, message })));
  }
  return all;`;

/** What the code returns. */
export async function resultOf(sandbox, code, tools, executor, options) {
  const { error, result } = await sandbox.execute(code, tools, executor, options);
  if (error !== undefined) throw new Error(error);
  return result;
}

/** An object that is no promise, but can be awaited. */
export const thenable = (get) => Object.defineProperty({}, `th${'en'}`, { get });

/**
 * Waits until an execution has called its tool. Starting a process takes long on a busy machine.
 * @param {(timeout: number) => { execution: Promise<unknown>, called: Promise<unknown> }} begin starts an execution with this timeout
 * @returns what `begin` returned
 */
export async function onceCalled(begin) {
  for (const timeout of [300, 2_000, 15_000]) {
    const begun = begin(timeout);
    if (await Promise.race([begun.called.then(() => true), begun.execution.then(() => false)])) return begun;
  }
  throw new Error('the tool was not called in time');
}

/** A promise, with the function that resolves it. */
export function gate() {
  let open;
  const promise = new Promise((resolve) => { open = resolve; });
  return { promise, open };
}
