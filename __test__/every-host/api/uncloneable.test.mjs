// Handles in values that the host clones: refused if the host supports it, otherwise cloned to an empty object.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import { host } from '../../harness.mjs';
import ivm from '../../../index.mjs';

/** Node 20 would be slow. */
const refuses = host !== 'node20';

const isolate = new ivm.Isolate({ inspector: true });
const context = isolate.createContextSync();

const handles = {
  Isolate: isolate,
  Context: context,
  Script: isolate.compileScriptSync('1'),
  Module: isolate.compileModuleSync('export {}'),
  Reference: new ivm.Reference({ secret: 1 }),
  'a received Reference': context.evalSync('({})', { reference: true }),
  Dereference: context.evalSync('({})', { reference: true }).derefInto(),
  ExternalCopy: new ivm.ExternalCopy({}),
  Copy: new ivm.ExternalCopy({}).copyInto(),
  Callback: new ivm.Callback(() => {}),
  InspectorSession: isolate.createInspectorSession(),
};

/** The outcome of an attempt to clone. */
const outcome = (attempt) => {
  try {
    attempt();
    return 'cloned';
  } catch (error) {
    return error.name;
  }
};
const expected = refuses ? 'DataCloneError' : 'cloned';

describe('a handle in values that the host clones', () => {
  for (const [name, handle] of Object.entries(handles)) {
    test(`${name} by structuredClone`, () => {
      let clone;
      assert.equal(outcome(() => { clone = structuredClone({ deep: [handle] }); }), expected);
      assert.deepEqual(clone, refuses ? undefined : { deep: [{}] });
    });

    test(`${name} has no property for it`, () => {
      assert.deepEqual(Reflect.ownKeys(handle), []);
    });
  }

  test('by postMessage', () => {
    const { port1, port2 } = new MessageChannel();
    assert.equal(outcome(() => port1.postMessage({ handle: context.global })), expected);
    port1.close();
    port2.close();
  });

  test('as workerData', async () => {
    let worker;
    assert.equal(outcome(() => { worker = new Worker('', { eval: true, workerData: { handle: context } }); }), expected);
    await worker?.terminate();
  });

  test('it can still be passed into isolates', () => {
    context.global.setSync('given', handles.Reference);
    assert.equal(context.evalSync('given.typeof'), 'object');
    assert.deepEqual(handles.ExternalCopy.copy(), {});
  });
});
