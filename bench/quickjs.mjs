// quickjs-emscripten with the part of isolated-vm's API that the scenarios use, as in its documentation. It also runs on hosts that
// isolated-vm does not support. It has neither threads nor compiled scripts: asynchronous methods do their work at once, and the source of
// a script is compiled on each run.

const RESOLVED = Promise.resolve();
const MEGABYTE = 1_048_576;

/** @param {object} quickjs a module of quickjs-emscripten */
export function asIsolatedVm(quickjs) {
  class Callback {
    constructor(call) {
      this.call = call;
    }
  }

  class Reference {
    constructor(context, handle) {
      this.context = context;
      this.handle = handle;
    }

    applySync(_receiver, values, { result: { copy } = {} } = {}) {
      return this.context.leave(this.context.call(this.handle, values.map((value) => this.context.enter(value))), copy);
    }

    apply(...args) {
      return RESOLVED.then(() => this.applySync(...args));
    }
  }

  class Context {
    constructor({ runtime, contexts }) {
      this.runtime = runtime;
      this.contexts = contexts.add(this);
      this.vm = runtime.newContext();
      this.held = [];
      const set = (name, value) => {
        const handle = this.enter(value);
        this.vm.setProp(this.vm.global, name, handle);
        handle.dispose();
      };
      this.global = { setSync: set, set: async (name, value) => set(name, value) };
    }

    hold(handle) {
      this.held.push(handle);
      return handle;
    }

    /** A Reference to an object. */
    get parse() {
      return (this.parser ??= this.hold(this.evaluate('JSON.parse')));
    }

    get stringify() {
      return (this.writer ??= this.hold(this.evaluate('JSON.stringify')));
    }

    /** Releases the arguments. */
    call(callee, args) {
      const { vm } = this;
      try {
        return vm.unwrapResult(vm.callFunction(callee, vm.undefined, ...args));
      } finally {
        for (const arg of args) arg.dispose();
      }
    }

    /** A handle of a value copied into the guest. */
    enter(value) {
      const { vm } = this;
      if (value instanceof Callback) return vm.newFunction('', (...args) => this.enter(value.call(...args.map((each) => vm.dump(each)))));
      if (value instanceof ArrayBuffer) return vm.newArrayBuffer(value);
      if (typeof value === 'number') return vm.newNumber(value);
      if (typeof value === 'string') return vm.newString(value);
      if (value === undefined) return vm.undefined;
      return this.call(this.parse, [vm.newString(JSON.stringify(value))]);
    }

    /** A guest's value in the host: a copy of an object only if requested. Disposes of the handle. */
    leave(handle, copy = false) {
      const { vm } = this;
      try {
        const type = vm.typeof(handle);
        if (type === 'number') return vm.getNumber(handle);
        if (type === 'string') return vm.getString(handle);
        if (type === 'object') return copy ? this.copy(handle) : undefined;
        return vm.dump(handle);
      } finally {
        handle.dispose();
      }
    }

    /** Copying an object as JSON takes half the time of `dump`. */
    copy(handle) {
      const text = this.leave(this.call(this.stringify, [handle.dup()]));
      // JSON keeps no more of a buffer.
      if (text !== '{}') return JSON.parse(text);
      const lifetime = this.vm.getArrayBuffer(handle);
      try {
        return lifetime.value.slice().buffer;
      } finally {
        lifetime.dispose();
      }
    }

    evaluate(code) {
      return this.vm.unwrapResult(this.vm.evalCode(code));
    }

    evalSync(code, { reference = false } = {}) {
      const handle = this.evaluate(code);
      return reference ? new Reference(this, this.hold(handle)) : this.leave(handle);
    }

    eval(code) {
      return RESOLVED.then(() => this.evalSync(code));
    }

    release() {
      for (const handle of this.held) handle.dispose();
      this.vm.dispose();
      return this.contexts.delete(this);
    }
  }

  class Script {
    constructor(code) {
      this.code = code;
    }

    runSync(context) {
      return context.evalSync(this.code);
    }

    async run(context, { promise = false, copy = false, timeout } = {}) {
      if (timeout !== undefined) {
        const end = Date.now() + timeout;
        context.runtime.setInterruptHandler(() => Date.now() > end);
      }
      if (!promise) return context.evalSync(this.code);
      const handle = context.evaluate(this.code);
      const settled = context.vm.resolvePromise(handle);
      handle.dispose();
      context.runtime.executePendingJobs().unwrap();
      return context.leave(context.vm.unwrapResult(await settled), copy);
    }
  }

  class Isolate {
    constructor({ memoryLimit } = {}) {
      this.runtime = quickjs.newRuntime();
      if (memoryLimit !== undefined) this.runtime.setMemoryLimit(memoryLimit * MEGABYTE);
      this.contexts = new Set();
    }

    createContextSync() {
      return new Context(this);
    }

    async createContext() {
      return this.createContextSync();
    }

    compileScriptSync(code) {
      return new Script(code);
    }

    async compileScript(code) {
      return new Script(code);
    }

    dispose() {
      for (const context of this.contexts) context.release();
      this.runtime.dispose();
    }
  }

  return { Isolate, Callback };
}
