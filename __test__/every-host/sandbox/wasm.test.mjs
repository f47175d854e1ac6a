// The option `wasm` of sandboxes: whether their code has WebAssembly.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';
import { manifest } from '../../sandbox/plugin-helper.mjs';

const { createSandbox, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;

const CODE = "typeof WebAssembly + ',' + ('WebAssembly' in Function('return this')())";
const HAS = 'object,true';
const LACKS = 'undefined,false';
const noTools = async () => {};

/** The result of code in each sandbox that has these options. */
const sandboxes = {
  createSandbox: async (options, code) => {
    const { result, error } = await createSandbox({}, options).execute(code);
    return error ?? result;
  },
  IsolatedVMSandbox: async (options, code) => {
    const { result, error } = await new IsolatedVMSandbox(options).execute(`return ${code}`, [], noTools);
    return error ?? result;
  },
  IsolatedVmSandbox: async (options, code) => {
    const plugins = new IsolatedVmSandbox(undefined, options);
    try {
      const isolate = await plugins.createIsolate(manifest());
      const [kept, fresh] = [await plugins.executeInSandbox(isolate, code, {}), await plugins.executeInSandbox(isolate, code, {}, { fresh: true })];
      assert.equal(kept, fresh);
      return kept;
    } finally {
      plugins.disposeAll();
    }
  },
  ...(process.platform === 'win32' ? {} : {
    SubprocessSandbox: async (options, code) => {
      const { result, error } = await new SubprocessSandbox({ ...options, poolSize: 0 }).execute(`return ${code}`, [], noTools);
      return error ?? result;
    },
  }),
};

for (const [name, run] of Object.entries(sandboxes)) {
  describe(name, () => {
    test('has WebAssembly unless it is turned off', async () => {
      for (const [wasm, expected] of [[undefined, HAS], [null, HAS], [true, HAS], [false, LACKS]]) {
        assert.equal(await run({ wasm }, CODE), expected, String(wasm));
      }
    });

    test('beside names of the web', async () => {
      const code = `${CODE} + ',' + typeof URL + ',' + typeof atob`;
      assert.equal(await run({ wasm: false, web: true }, code), `${LACKS},function,function`);
      assert.equal(await run({ wasm: false, web: ['URL'] }, code), `${LACKS},function,undefined`);
      assert.equal(await run({ web: ['atob'] }, code), `${HAS},undefined,function`);
    });

    test('after a snapshot', async () => {
      const snapshot = Isolate.createSnapshot([{ code: 'var kept = 1;' }]);
      assert.equal(await run({ wasm: false, snapshot }, `${CODE} + kept`), `${LACKS}1`);
      assert.equal(await run({ snapshot }, `${CODE} + kept`), `${HAS}1`);
    });

    test('accepts only a boolean', async () => {
      for (const wasm of [0, 'false', {}, []]) {
        await assert.rejects(run({ wasm }, '1'), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`wasm` must be a boolean' });
      }
    });
  });
}
