// Handles that travel between isolates: from one to another, and home.

export default ({ ivm, test, assert, expect, sides }) => {
  test('a Reference passes through two isolates and returns', ({ open }) => {
    const [one, two] = [open(), open()];
    const value = { n: 1 };
    one.context.global.setSync('reference', new ivm.Reference(value));
    two.context.global.setSync('reference', one.context.global.getSync('reference'));
    assert.equal(two.context.global.getSync('reference').deref(), value);
    assert.equal(two.context.evalSync('reference.setSync("n", 2); reference.getSync("n")'), 2);
    assert.equal(value.n, 2);
  });

  test('isolates use each other\'s References', ({ open }) => {
    const [one, two] = [open(), open()];
    two.context.global.setSync('other', one.context.evalSync('globalThis.object = { n: 1 }', { reference: true }));
    assert.same(two.context.evalSync(`
      other.setSync('n', 2);
      let message;
      try { other.deref(); } catch (error) { message = error.message; }
      [other.getSync('n'), message, other.typeof];
    `, { copy: true }), [2, 'Cannot dereference this from current isolate', 'object']);
    assert.equal(one.context.evalSync('object.n'), 2);
  });

  test('derefInto returns the value to its own isolate only', ({ open }) => {
    const [one, two] = [open(), open()];
    const object = one.context.evalSync('globalThis.object = {}', { reference: true });
    two.context.evalClosureSync('globalThis.object = $0; globalThis.home = $1; globalThis.here = $2', [object, one.context.global, two.context.global]);
    assert.equal(two.context.evalSync(`
      home.setSync('again', object.derefInto());
      try { here.setSync('wrong', object.derefInto()); } catch (error) { error.message; }
    `), 'Cannot dereference this into target isolate');
    assert.equal(one.context.evalSync('again === object'), true);
  });

  test('functions pass through two isolates', ({ open }) => {
    const [one, two] = [open(), open()];
    let calls = 0;
    one.context.global.setSync('call', (by) => (calls += by));
    two.context.global.setSync('call', one.context.global.getSync('call'));
    assert.equal(two.context.evalSync('call(2)'), 2);
    two.context.global.setSync('other', one.context.evalSync('(n) => call(n) * 10'));
    assert.equal(two.context.evalSync('other(1)'), 30);
    assert.equal(calls, 3);
  });

  test('isolates run code in each other', ({ open }) => {
    const [one, two] = [open(), open()];
    one.context.global.setSync('other', two.context);
    two.context.global.setSync('other', one.context);
    one.context.evalSync('globalThis.name = "one"');
    two.context.evalSync('globalThis.name = "two"');
    assert.equal(one.context.evalSync('name + other.evalSync("name + other.evalSync(\'name\')")'), 'onetwoone');
  });

  test('isolates run code in each other, asynchronously', async ({ open }) => {
    const [one, two] = [open(), open()];
    one.context.global.setSync('other', two.context);
    two.context.global.setSync('other', one.context);
    two.context.evalSync('globalThis.ask = async () => 1 + await other.eval("40")');
    assert.equal(await one.context.eval('(async () => 1 + await other.eval("ask()", { promise: true }))()', { promise: true }), 42);
  });

  test('isolates create isolates', ({ open }) => {
    const { context } = open();
    context.global.setSync('ivm', ivm);
    const made = context.evalSync('globalThis.made = new ivm.Isolate({ memoryLimit: 8 })');
    assert.ok(made instanceof ivm.Isolate);
    const room = made.createContextSync();
    assert.equal(room.evalSync('6 * 7'), 42);
    made.dispose();
    assert.equal(context.evalSync('made.isDisposed'), true);
    assert.throws(() => room.evalSync('1'), expect.disposed('Isolated is disposed'));
  });

  test('an isolate disposes itself', ({ open }) => {
    const { isolate, context } = open();
    context.global.setSync('isolate', isolate);
    assert.throws(() => context.evalSync('isolate.dispose(); 1'), expect.disposed('Isolate was disposed during execution'));
    assert.equal(isolate.isDisposed, true);
    assert.throws(() => isolate.dispose(), expect.disposed('Isolate is already disposed'));
  });

  test('an isolate disposes another', ({ open }) => {
    const [one, two] = [open(), open()];
    one.context.global.setSync('other', two.isolate);
    assert.equal(one.context.evalSync('other.dispose(); other.isDisposed'), true);
    assert.equal(two.isolate.isDisposed, true);
    assert.throws(() => two.context.evalSync('1'), expect.disposed('Isolated is disposed'));
  });

  test('a Reference to a disposed isolate throws in every realm', ({ open }) => {
    const [one, two] = [open(), open()];
    two.context.global.setSync('reference', one.context.global);
    one.isolate.dispose();
    assert.same(two.context.evalSync('[reference.typeof, (() => { try { reference.getSync("a") } catch (error) { return error.message } })()]', { copy: true }), ['object', 'Isolated is disposed']);
  });

  test('synchronous calls inside asynchronous ones are rejected', async ({ open }) => {
    const [one, two] = [open(), open()];
    one.context.evalClosureSync('globalThis.other = $0; globalThis.own = $1', [two.context, one.context]);
    const code = '(() => { try { return other.evalSync("1"); } catch (error) { return error.message; } })()';
    assert.equal(one.context.evalSync(code), 1);
    assert.equal(await one.context.eval(code), 'Calling a synchronous isolated-vm function on a non-default isolate from within an asynchronous isolated-vm function is not allowed.');
    assert.equal(await one.context.eval('own.evalSync("2")'), 2);
  });

  test('callbacks can be called inside asynchronous calls', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', new ivm.Reference((n) => n + 1));
    await sides.calledBack(context.eval('call.applySync(undefined, [1])'), 2);
  });

  test('each realm has one instance of the module', { differs: 'each time it arrives it is another' }, ({ open }) => {
    const { context } = open();
    context.global.setSync('ivm', ivm);
    context.global.setSync('again', ivm);
    assert.equal(context.evalSync('ivm === again'), true);
    assert.equal(context.global.getSync('ivm'), ivm);
    assert.equal(context.evalSync('Object.isFrozen(ivm) && typeof ivm.Isolate'), 'function');
  });

  test('handles are transferred inside copies', ({ open }) => {
    const { context } = open();
    context.global.setSync('ivm', ivm);
    const copied = context.evalSync('({ list: [new ivm.Reference({ n: 1 })], copy: new ivm.ExternalCopy({ n: 2 }), ivm })', { copy: true });
    assert.same([copied.list[0].getSync('n'), copied.copy.copy().n], [1, 2]);
    assert.equal(typeof copied.ivm.Isolate, 'function');
  });

  test('contexts of an isolate get objects and functions of their own from each other', async ({ open }) => {
    const { isolate, context } = open();
    const other = isolate.createContextSync();
    context.global.setSync('ivm', ivm);
    for (const realm of [context, other]) realm.evalSync('globalThis.isOwn = (value) => value instanceof Object; globalThis.store = { method() { return 1; } };');
    const reference = (code) => other.evalSync(code, { reference: true });
    context.evalClosureSync('[globalThis.there, globalThis.isOwnThere, globalThis.give, globalThis.later] = [$0, $1, $2, $3]', [
      reference('store'), reference('isOwn'), reference('(kind) => (kind === "function" ? () => 1 : kind === "list" ? [1] : { id: 1, name: "a" })'),
      reference('async () => ({ id: 1 })'),
    ]);
    const passed = 'isOwnThere.applySync(undefined, [VALUE], { arguments: { copy: true } })';
    const returned = 'isOwn(give.applySync(undefined, [VALUE], { result: { copy: true } }))';
    for (let time = 0; time < 12; time += 1) {
      for (const value of ['[8]', '({ id: 1, name: "a" })', 'new Map([[1, {}]])', 'new Date(1)', 'new Error("m")']) assert.equal(context.evalSync(passed.replace('VALUE', value)), true, value);
      assert.equal(context.evalSync('isOwnThere.applySync(undefined, [() => 1])'), true);
      assert.equal(context.evalSync('there.setSync("kept", { id: 1 }, { copy: true })'), undefined);
      assert.equal(other.evalSync('isOwn(store.kept)'), true);
      for (const kind of ['"list"', '"object"']) assert.equal(context.evalSync(returned.replace('VALUE', kind)), true, kind);
      assert.equal(context.evalSync('there.setSync("isOf", isOwn); there.setSync("make", new ivm.Callback(() => ({ id: 1 })))'), undefined);
      assert.equal(other.evalSync('store.isOf({ id: 1 }) && isOwn(store.isOf) && isOwn(store.make) && isOwn(store.make())'), true);
      assert.equal(context.evalSync('isOwn(give.applySync(undefined, ["function"])) && isOwn(there.getSync("method")) && isOwn(there.getSync("kept", { copy: true }))'), true);
    }
    // Only what asks for the value itself gets it.
    assert.equal(context.evalSync('isOwn(there.deref())'), false);
    other.evalClosureSync('globalThis.back = $0', [context.evalSync('there')]);
    assert.equal(other.evalSync('back.deref() === store'), true);
    assert.throws(() => context.evalSync('later.applySyncPromise()'), expect.thrown(Error, 'This function may not be called from the default thread'));
    assert.equal(await context.eval('isOwnThere.apply(undefined, [{ id: 1 }], { arguments: { copy: true } })', { promise: true }), true);
    assert.equal(await context.eval('later.apply(undefined, [], { result: { promise: true, copy: true } }).then(isOwn)', { promise: true }), true);
  });
};
