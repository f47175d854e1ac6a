// Limits on memory.

export default ({ ivm, test, assert, expect }) => {
  test('an isolate beyond its memory limit ends, and nothing else', ({ open }) => {
    const { isolate, context } = open({ memoryLimit: 8 });
    assert.throws(() => context.evalSync('const kept = []; for (;;) kept.push(`${Math.random()}`);'), expect.memory());
    assert.equal(isolate.isDisposed, true);
    assert.equal(open().context.evalSync('1'), 1);
  });

  test('an isolate beyond its memory limit ends, asynchronously', async ({ open }) => {
    const { isolate, context } = open({ memoryLimit: 8 });
    await assert.rejects(context.eval('const kept = []; for (;;) kept.push([kept]);'), expect.memory());
    assert.equal(isolate.isDisposed, true);
  });

  test('an isolate beyond its memory limit goes on saying so', { differs: 'it says that the isolate is disposed' }, ({ open }) => {
    const { context } = open({ memoryLimit: 8 });
    for (const code of ['const kept = []; for (;;) kept.push([kept]);', '1', '1']) assert.throws(() => context.evalSync(code), expect.memory());
  });

  test('buffers count', ({ open }) => {
    const { context } = open({ memoryLimit: 8 });
    assert.throws(() => context.evalSync('globalThis.kept = []; for (;;) kept.push(new ArrayBuffer(1 << 20));'), expect.thrown(RangeError, 'Array buffer allocation failed'));
    assert.equal(context.evalSync('kept = undefined; 1'), 1);
  });

  test('isolates come and go', () => {
    for (let time = 0; time < 30; time += 1) {
      const isolate = new ivm.Isolate({ memoryLimit: 8 });
      if (time % 3 === 0) assert.equal(isolate.createContextSync().evalSync('1'), 1);
      isolate.dispose();
    }
  });
};
