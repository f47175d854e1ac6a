// Objects that end with their scope: `Symbol.dispose` and `Symbol.asyncDispose`, called directly and by `using`.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { host } from '../../harness.mjs';

const { createSandbox, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;

/** A function with the syntax of `using`, if this host has it. */
function withUsing(parameters, body) {
  const AsyncFunction = (async () => {}).constructor;
  try {
    return new AsyncFunction(...parameters, body);
  } catch (error) {
    assert.equal(error instanceof SyntaxError, true, String(error));
    return undefined;
  }
}

/** Hosts that are known to have it. */
const HAVE_USING = ['node24', 'node25', 'node26', 'deno'];

const isolate = new Isolate();
const context = isolate.createContextSync();
const DISPOSED = 'ERR_ISOLATE_DISPOSED';
const RELEASED = 'ERR_ISOLATE_RELEASED';

/** What can be disposed, how it is made, and how to check that it is gone. */
const KINDS = [
  {
    name: 'Isolate',
    make: async () => new Isolate(),
    gone: (made) => assert.equal(made.isDisposed, true),
  },
  {
    name: 'Context',
    make: () => isolate.createContext(),
    gone: (made) => assert.throws(() => made.evalSync('1'), { code: RELEASED, message: 'Context is released' }),
  },
  {
    name: 'Script',
    make: () => isolate.compileScript('1'),
    gone: (made) => assert.throws(() => made.runSync(context), { code: RELEASED, message: 'Script has been released' }),
  },
  {
    name: 'Module',
    make: () => isolate.compileModule('export default 1'),
    gone: (made) => assert.throws(() => made.dependencySpecifiers, { code: RELEASED, message: 'Module has been released' }),
  },
  {
    name: 'Reference',
    make: async () => context.evalSync('({})', { reference: true }),
    gone: (made) => assert.throws(() => made.copySync(), { code: RELEASED, message: 'Reference has been released' }),
  },
  {
    name: 'Reference of this realm',
    make: async () => new ivm.Reference({}),
    gone: (made) => assert.throws(() => made.deref(), { code: RELEASED, message: 'Reference has been released' }),
  },
  {
    name: 'ExternalCopy',
    make: async () => new ivm.ExternalCopy({}),
    gone: (made) => assert.throws(() => made.copy(), { code: RELEASED, message: 'Copy has been released' }),
  },
  {
    name: 'InspectorSession',
    make: async () => new Isolate({ inspector: true }).createInspectorSession(),
    gone: (made) => assert.throws(() => made.dispatchProtocolMessage('{}'), { message: 'Session is dead' }),
  },
  {
    name: 'createSandbox',
    make: async () => createSandbox({}),
    gone: async (made) => {
      const { error, result, failure } = await made.execute('1');
      assert.deepEqual({ error, result, code: failure.code }, { error: 'Sandbox has been disposed', result: null, code: DISPOSED });
    },
  },
  {
    name: 'IsolatedVMSandbox',
    make: async () => new IsolatedVMSandbox(),
    gone: async (made) => {
      const { error, result } = await made.execute('return 1', [], async () => {});
      assert.deepEqual({ error, result }, { error: 'Sandbox has been disposed', result: null });
    },
  },
  {
    name: 'IsolatedVmSandbox',
    make: async () => {
      const sandbox = new IsolatedVmSandbox();
      await sandbox.createIsolate({ id: 'one' });
      return sandbox;
    },
    gone: (made) => assert.equal(made.getActiveIsolateCount(), 0),
  },
  {
    name: 'an isolate of a plugin',
    make: async () => {
      const sandbox = new IsolatedVmSandbox();
      return Object.assign(Object.create({ sandbox }), { made: await sandbox.createIsolate({ id: 'one' }) });
    },
    of: ({ made }) => made,
    gone: ({ sandbox, made }) => {
      assert.equal(sandbox.getActiveIsolateCount(), 0);
      return assert.rejects(sandbox.executeInSandbox(made, '1', {}), { name: 'NotFoundError' });
    },
  },
];

describe('disposal', () => {
  test('every host has the symbols', () => {
    assert.equal(typeof Symbol.dispose, 'symbol');
    assert.equal(typeof Symbol.asyncDispose, 'symbol');
  });

  for (const { name, make, gone, of = (made) => made } of KINDS) {
    test(`${name}: Symbol.dispose, once and repeated`, async () => {
      const made = await make();
      assert.equal(of(made)[Symbol.dispose](), undefined);
      await gone(made);
      assert.equal(of(made)[Symbol.dispose](), undefined);
      await of(made)[Symbol.asyncDispose]();
      await gone(made);
    });

    test(`${name}: Symbol.asyncDispose, once and repeated`, async () => {
      const made = await make();
      const disposed = of(made)[Symbol.asyncDispose]();
      assert.equal(disposed instanceof Promise, true);
      assert.equal(await disposed, undefined);
      await gone(made);
      assert.equal(await of(made)[Symbol.asyncDispose](), undefined);
      of(made)[Symbol.dispose]();
    });

    test(`${name}: \`using\` and \`await using\``, async () => {
      for (const keyword of ['using', 'await using']) {
        const scope = withUsing(['disposable'], `{ ${keyword} it = disposable; void it; }`);
        assert.equal(scope !== undefined || !HAVE_USING.includes(host), true, `${host} has no ${keyword}`);
        if (scope !== undefined) {
          const made = await make();
          await scope(of(made));
          await gone(made);
        }
      }
    });

    test(`${name}: neither is enumerable`, async () => {
      const made = of(await make());
      const holder = Object.hasOwn(made, Symbol.dispose) ? made : Object.getPrototypeOf(made);
      assert.equal(Object.getOwnPropertyDescriptor(holder, Symbol.dispose).enumerable, false);
      assert.equal(Object.getOwnPropertyDescriptor(holder, Symbol.asyncDispose).enumerable, false);
      made[Symbol.dispose]();
    });
  }

  test('after dispose() or release()', async () => {
    const disposed = new Isolate();
    disposed.dispose();
    disposed[Symbol.dispose]();
    assert.throws(() => disposed.dispose(), { code: DISPOSED, message: 'Isolate is already disposed' });
    const reference = new ivm.Reference({});
    reference.release();
    reference[Symbol.dispose]();
    assert.throws(() => reference.release(), { code: RELEASED });
    const copy = new ivm.ExternalCopy(1);
    copy.release();
    copy[Symbol.dispose]();
  });

  test('with a receiver of another class', async () => {
    for (const Class of [Isolate, ivm.Context, ivm.Script, ivm.Reference, ivm.ExternalCopy]) {
      const { [Symbol.dispose]: dispose, [Symbol.asyncDispose]: asyncDispose } = Class.prototype;
      for (const wrong of [undefined, null, {}, Object.create(Class.prototype), new ivm.Callback(() => {})]) {
        assert.throws(() => dispose.call(wrong), { name: 'TypeError', code: 'ERR_INVALID_ARG' });
        await assert.rejects(asyncDispose.call(wrong), { name: 'TypeError', code: 'ERR_INVALID_ARG' });
      }
    }
  });

  test('an isolate that has already ended', async () => {
    const full = new Isolate({ memoryLimit: 8 });
    const inside = full.createContextSync();
    assert.throws(() => inside.evalSync('const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))'), { code: 'ERR_ISOLATE_MEMORY' });
    full[Symbol.dispose]();
    await full[Symbol.asyncDispose]();
  });

  test('sandboxes: running executions end, and `await using` waits for them', async () => {
    const forever = 'for (;;);';
    const code = createSandbox({});
    const running = code.execute(forever);
    let ended = false;
    void running.finally(() => { ended = true; });
    await code[Symbol.asyncDispose]();
    assert.equal(ended, true);
    assert.equal((await running).error, 'Sandbox has been disposed');

    const agent = new IsolatedVMSandbox();
    const execution = agent.execute(forever, [], async () => {});
    ended = false;
    void execution.finally(() => { ended = true; });
    await agent[Symbol.asyncDispose]();
    assert.equal(ended, true);
    assert.equal((await execution).error, 'Sandbox has been disposed');

    const apart = new SubprocessSandbox({ poolSize: 0 });
    const process = apart.execute(forever, [], async () => {});
    await apart[Symbol.asyncDispose]();
    assert.equal(apart.isRunning(), false);
    assert.equal((await process).failure.code, DISPOSED);
    const other = apart.execute(forever, [], async () => {});
    apart[Symbol.dispose]();
    assert.equal((await other).failure.code, DISPOSED);
  });

  test('inside an isolate', () => {
    context.global.setSync('ivm', ivm);
    assert.deepEqual(JSON.parse(context.evalSync(`
      const isolate = new ivm.Isolate();
      const copy = new ivm.ExternalCopy({});
      const reference = new ivm.Reference({});
      { using a = isolate, b = copy, c = reference; }
      isolate[Symbol.dispose](); copy[Symbol.dispose](); reference[Symbol.dispose]();
      const message = (call) => { try { call(); } catch (error) { return error.message; } };
      JSON.stringify([isolate.isDisposed, message(() => copy.copy()), message(() => reference.deref())]);
    `)), [true, 'Copy has been released', 'Reference has been released']);
  });
});
