// Limits on memory.

export default ({ ivm, test, assert, expect }) => {
  test('exceeding the memory limit ends only that isolate', ({ open }) => {
    const { isolate, context } = open({ memoryLimit: 8 });
    assert.throws(() => context.evalSync('const kept = []; for (;;) kept.push(`${Math.random()}`);'), expect.memory());
    assert.equal(isolate.isDisposed, true);
    assert.equal(open().context.evalSync('1'), 1);
  });

  test('exceeding the memory limit ends the isolate in an asynchronous call', async ({ open }) => {
    const { isolate, context } = open({ memoryLimit: 8 });
    await assert.rejects(context.eval('const kept = []; for (;;) kept.push([kept]);'), expect.memory());
    assert.equal(isolate.isDisposed, true);
  });

  test('later calls report the exceeded memory limit', { differs: 'it says that the isolate is disposed' }, ({ open }) => {
    const { context } = open({ memoryLimit: 8 });
    for (const code of ['const kept = []; for (;;) kept.push([kept]);', '1', '1']) assert.throws(() => context.evalSync(code), expect.memory());
  });

  test('buffers count towards the limit', ({ open }) => {
    const { context } = open({ memoryLimit: 8 });
    assert.throws(() => context.evalSync('globalThis.kept = []; for (;;) kept.push(new ArrayBuffer(1 << 20));'), expect.thrown(RangeError, 'Array buffer allocation failed'));
    assert.equal(context.evalSync('kept = undefined; 1'), 1);
  });

  test('isolates can be created and disposed repeatedly', () => {
    for (let time = 0; time < 30; time += 1) {
      const isolate = new ivm.Isolate({ memoryLimit: 8 });
      if (time % 3 === 0) assert.equal(isolate.createContextSync().evalSync('1'), 1);
      isolate.dispose();
    }
  });
};
