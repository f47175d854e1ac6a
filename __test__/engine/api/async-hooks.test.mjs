// Each pending call is an async resource, on Node. It is destroyed when the call settles, so that tools such as Jest do not report open handles.

import { createHook } from 'node:async_hooks';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const live = new Map();
const hook = createHook({
  init: (id, type) => { if (type === 'isolated-v8') live.set(id, type); },
  destroy: (id) => { live.delete(id); },
});
const turn = () => new Promise((resolve) => { setImmediate(resolve); });

test('calls that have settled are destroyed', async () => {
  hook.enable();
  try {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('f', new ivm.Callback((n) => n + 1));
    await context.global.set('later', new ivm.Reference(async (n) => n));
    const pending = context.eval('new Promise((resolve) => { globalThis.settle = resolve })', { promise: true });
    await turn();
    assert.equal(live.size, 1);
    assert.equal(await context.eval('f(1)'), 2);
    assert.equal(await context.eval('later.apply(undefined, [2], { result: { promise: true } })', { promise: true }), 2);
    await assert.rejects(context.eval('null.x'), TypeError);
    await assert.rejects(context.eval('Promise.reject(new Error("no"))', { promise: true }), /^Error: no$/);
    await turn();
    assert.equal(live.size, 1);
    await context.eval('settle(3)');
    assert.equal(await pending, 3);
    const { result } = await ivm.createSandbox({ f: async (n) => n }).execute('f(4)');
    assert.equal(result, 4);
    await turn();
    assert.equal(live.size, 0);
    isolate.dispose();
  } finally {
    hook.disable();
  }
});

test('calls of an isolate that ends are destroyed', async () => {
  hook.enable();
  try {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('f', () => 1);
    const call = context.eval('new Promise(() => {})', { promise: true });
    await turn();
    assert.equal(live.size, 1);
    isolate.dispose();
    await assert.rejects(call, { code: 'ERR_ISOLATE_DISPOSED' });
    await turn();
    assert.equal(live.size, 0);
  } finally {
    hook.disable();
  }
});
