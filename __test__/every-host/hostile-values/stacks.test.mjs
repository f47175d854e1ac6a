// Guests see the location of the host's code only if the host wants that, with the isolate's option `hostStacks`.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Script } from 'node:vm';
import ivm from '../../../index.mjs';
import { PLACES } from '../../hostile-values/walker.mjs';

const FILE = 'stacks.test';

function makeContext(options) {
  const context = new ivm.Isolate(options).createContextSync();
  context.global.setSync('ivm', ivm);
  return context;
}

const fail = function named() {
  throw new Error('of the host', { cause: new Error('inner') });
};

/** All ways in which the stack of a host's error reaches a guest, as code that returns the stack. */
const WAYS = {
  'a function': [() => fail, '(() => { try { handed() } catch ({ stack }) { return stack } })()'],
  'a function that awaits': [() => new ivm.Callback(fail, { async: true }), 'handed().catch(({ stack }) => stack)'],
  'applySync': [() => new ivm.Reference(fail), '(() => { try { handed.applySync() } catch ({ stack }) { return stack } })()'],
  'apply': [() => new ivm.Reference(fail), 'handed.apply().catch(({ stack }) => stack)'],
  'a rejection': [() => new ivm.Reference(async () => fail()), 'handed.apply(undefined, [], { result: { promise: true } }).catch(({ stack }) => stack)'],
  'applySyncPromise': [() => new ivm.Reference(async () => fail()), '(() => { try { handed.applySyncPromise() } catch ({ stack }) { return stack } })()'],
  'a getter': [() => new ivm.Reference({ get a() { return fail(); } }), "(() => { try { handed.getSync('a', { accessors: true }) } catch ({ stack }) { return stack } })()"],
  'a result': [() => () => new Error('of the host'), 'handed().stack'],
  'a result within': [() => () => [new Map([[1, new Error('of the host')]])], 'handed()[0].get(1).stack'],
};

const throughGuest = (isolateOptions) => {
  const outer = makeContext(isolateOptions);
  outer.global.setSync('handed', fail);
  try {
    outer.evalSync('(function between() { handed() })()');
  } catch ({ stack }) {
    return stack;
  }
  return assert.fail('it threw nothing');
};

describe('the stack of', () => {
  for (const [what, [make, code]] of Object.entries(WAYS)) {
    test(what, async () => {
      const hidden = makeContext();
      hidden.global.setSync('handed', make());
      const stack = await hidden.eval(code, { promise: true });
      assert.match(stack, /^Error: of the host\n/);
      for (const place of PLACES) assert.ok(!stack.includes(place), stack);

      const shown = makeContext({ hostStacks: true });
      shown.global.setSync('handed', make());
      const place = await shown.eval(code, { promise: true });
      // Bun omits the frame of a function that only makes the error.
      assert.ok(place.includes(FILE) || place.includes('at serve ('), place);
    });
  }

  test('errors that pass through a guest back to the host', () => {
    assert.match(throughGuest(), /at named \(<host>\)[\s\S]*at between \(<isolated-vm>/);
    const shown = throughGuest({ hostStacks: true });
    assert.match(shown, /at named \(.*stacks\.test[\s\S]*at between \(<isolated-vm>/);
  });

  test('errors that the host copies itself: always hidden', () => {
    for (const options of [{}, { hostStacks: true }]) {
      const context = makeContext(options);
      const stack = context.evalClosureSync('return $0.stack', [new Error('copied')], { arguments: { copy: true } });
      assert.match(stack, /^Error: copied\n/);
      assert.ok(!stack.includes(FILE), stack);
      context.global.setSync('copy', new ivm.ExternalCopy([new Error('copied')]));
      assert.ok(!context.evalSync('copy.copy()[0].stack').includes(FILE));
    }
  });
});

test('errors with stacks that a host formats', () => {
  let syntax;
  try {
    syntax = new Script('let let = 1', { filename: '/secret/place.js' });
  } catch (error) {
    syntax = error;
  }
  const odd = [
    Object.assign(new Error('odd'), { stack: '/secret/place.js:1\n  code\n  ^\nError: odd\n    at /secret/place.js:1:1' }),
    Object.assign(new SyntaxError('odd'), { stack: '/secret/place.js:1\n  code\n  ^\nSyntaxError: odd' }),
    Object.assign(new Error('odd'), { stack: 'Error: odd\n    at f (/secret/place.js:1:1)\nCaused by: /secret/other.js (x)\n    at /secret (1)/place.js:1:1' }),
    Object.assign(new Error('odd'), { stack: ['/secret/place.js'] }),
    Object.assign(new Error('a\n    at b'), { stack: 'Error: a\n    at b\n    at async Promise.all (/secret/place.js)' }),
    Object.assign(new TypeError(''), { stack: 'TypeError\n    at new C (/secret/place.js:1:1)' }),
    syntax,
  ];
  const context = makeContext();
  for (const error of odd) {
    context.global.setSync('thrown', () => { throw error; });
    context.global.setSync('returned', () => [error]);
    for (const code of ['(() => { try { thrown() } catch ({ stack }) { return stack } })()', 'returned()[0].stack']) {
      const stack = context.evalSync(code);
      if (Array.isArray(error.stack) && code.startsWith('returned')) {
        assert.equal(stack, undefined);
        continue;
      }
      assert.ok(stack.startsWith(`${error.name}${error.message === '' ? '' : ': '}${error.message}`), stack);
      assert.ok(!stack.includes('secret'), stack);
    }
  }
});

describe('the option', () => {
  test('is a boolean', () => {
    assert.throws(() => new ivm.Isolate({ hostStacks: 1 }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`hostStacks` must be a boolean' });
    for (const hostStacks of [undefined, null, false]) new ivm.Isolate({ hostStacks }).dispose();
  });

  test('is inherited by isolates of guests that have it, and refused to others', () => {
    const code = `
      const context = new ivm.Isolate({ hostStacks: true }).createContextSync();
      context.global.setSync('handed', handed);
      context.evalSync('try { handed() } catch ({ stack }) { stack }')`;
    for (const [hostStacks, expected] of [[true, true], [false, false]]) {
      const context = makeContext({ hostStacks });
      context.global.setSync('handed', fail);
      assert.equal(context.evalSync(code).includes(FILE), expected);
    }
  });
});
