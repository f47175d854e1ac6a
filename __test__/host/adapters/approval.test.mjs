// What `approve` returns instead of `true`: the tool is not called, and a promise in it that rejects is reported.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createCodeTool } from '../../../adapters/ai-sdk.js';
import { createExecutor } from '../../../adapters/codemode.js';
import { createCodeModeTransport } from '../../../adapters/mastra.js';
import { createIsolateDriver } from '../../../adapters/tanstack-ai.js';

const CHANNEL = 'isolated-v8:unhandled-host-error';
const call = (name) => `try { return await ${name}({}) } catch ({ message }) { return message }`;

/** Each calls a tool `t` by an adapter. */
const ADAPTERS = {
  'ai-sdk': async (options, t) => (await createCodeTool({ ...options, tools: { t: { inputSchema: undefined, execute: t } } }).execute({ code: call('tools.t') }, {})).result,
  'codemode': async (options, t) => (await createExecutor(options).execute(`async () => { ${call('codemode.t')} }`, { t })).result,
  'mastra': async (options, t) => (await createCodeModeTransport(options).run({ program: call('external_t'), toolIds: ['t'], dispatch: t })).result,
  'tanstack-ai': async (options, t) => {
    const context = await createIsolateDriver(options).createContext({ bindings: { t: { execute: t } } });
    return (await context.execute(call('t'))).value;
  },
};

for (const [adapter, run] of Object.entries(ADAPTERS)) {
  test(adapter, async () => {
    const reports = [];
    const listener = ({ error, origin }) => reports.push([origin, error.message]);
    subscribe(CHANNEL, listener);
    try {
      let called = 0;
      const approve = async () => ({ verdict: [Promise.reject(new Error('inner'))] });
      const result = await run({ approve }, async () => { called += 1; });
      assert.match(result, /^The call of the tool ".*t" was not approved$/);
      assert.equal(called, 0);
      assert.deepEqual(reports, [['tool', 'inner']]);
    } finally {
      unsubscribe(CHANNEL, listener);
    }
  });
}
