// Errors, and code that runs when they are read.

export const group = 'errors';
export const defaults = { ends: 'timeout' };
const THROWN = 'Error: An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.';

export const programs = [
  { name: 'null', code: 'throw null', ends: 'throws null' },
  { name: 'undefined', code: 'throw undefined', ends: 'throws undefined' },
  { name: 'a number', code: 'throw 42', ends: 'throws 42' },
  { name: 'a string', code: 'throw "s"', ends: 'throws "s"' },
  { name: 'a long string', code: 'throw "s".repeat(2 ** 27)', ends: ['throws …', 'RangeError: …', THROWN], timeout: 2_000, peak: 600 },
  { name: 'a symbol', code: 'throw Symbol("x")', ends: ['Error: …', 'TypeError: …', 'throws …'] },
  { name: 'an object', code: 'throw { a: 1 }', ends: ['Error: …', THROWN] },
  { name: 'a function', code: 'throw () => {}', ends: ['Error: …', 'throws …'] },
  { name: 'a proxy', code: 'throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); }, has() { for (;;); }, getOwnPropertyDescriptor() { for (;;); } })', ends: ['Error: …', 'timeout'] },
  { name: 'a proxy of an error', code: 'throw new Proxy(new Error("x"), { get() { for (;;); }, getPrototypeOf() { for (;;); } })', ends: ['Error: …', 'timeout'] },
  { name: 'a revoked proxy', code: 'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy', ends: ['Error: …', 'TypeError: …'] },
  { name: 'a message that loops', code: 'throw { get message() { for (;;); } }', ends: ['timeout', THROWN] },
  { name: 'an error whose message loops', code: 'const e = new Error(); Object.defineProperty(e, "message", { get() { for (;;); } }); throw e' },
  { name: 'an error whose name loops', code: 'const e = new Error("x"); Object.defineProperty(e, "name", { get() { for (;;); } }); throw e' },
  { name: 'an error whose stack loops', code: 'const e = new Error("x"); Object.defineProperty(e, "stack", { get() { for (;;); } }); throw e', ends: ['timeout', 'Error: x'] },
  { name: 'an error whose cause loops', code: 'const e = new Error("x"); Object.defineProperty(e, "cause", { get() { for (;;); } }); throw e', ends: ['timeout', 'Error: x'] },
  { name: 'an error whose constructor loops', code: 'const e = new Error("x"); Object.defineProperty(e, "constructor", { get() { for (;;); } }); throw e', ends: ['timeout', 'Error: x'] },
  { name: 'an error whose message throws', code: 'const e = new Error(); Object.defineProperty(e, "message", { get() { throw e; } }); throw e', ends: ['Error: …', 'throws …'] },
  { name: 'an error whose message is an object', code: 'const e = new Error(); e.message = { toString() { for (;;); } }; throw e', ends: ['timeout', 'Error: …'] },
  { name: 'an error whose name is a symbol', code: 'const e = new Error("x"); e.name = Symbol("n"); throw e', ends: ['Error: x', 'Error: …', 'TypeError: …'] },
  { name: 'an error without a prototype', code: 'throw Object.setPrototypeOf(new Error("x"), null)', ends: ['Error: x', 'Error: …'] },
  { name: 'an error of a class that loops', code: 'class E extends Error { get name() { for (;;); } } throw new E("x")' },
  { name: 'an error of a class named __proto__', code: 'const e = new Error("x"); e.name = "__proto__"; throw e', ends: '__proto__: x' },
  { name: 'a huge message', code: 'throw new Error("x".repeat(2 ** 27))', ends: ['Error: …', 'RangeError: …'], timeout: 2_000, peak: 900 },
  { name: 'a huge name and stack', code: 'const e = new Error("x"); e.name = "n".repeat(2 ** 26); e.stack = "s".repeat(2 ** 26); throw e', ends: ['Error: …', 'RangeError: …', 'n…'], timeout: 2_000, peak: 900 },
  { name: 'prepareStackTrace that loops', code: 'Error.prepareStackTrace = () => { for (;;); }; throw new Error("x")', ends: ['timeout', 'Error: x'] },
  { name: 'prepareStackTrace that throws', code: 'Error.prepareStackTrace = () => { throw 1; }; throw new Error("x")', ends: 'Error: x' },
  { name: 'prepareStackTrace that is a proxy', code: 'Error.prepareStackTrace = new Proxy(() => {}, { apply() { for (;;); } }); throw new Error("x")', ends: ['timeout', 'Error: x'] },
  { name: 'prepareStackTrace of what V8 throws', code: 'Error.prepareStackTrace = (e, frames) => { for (const f of frames) f.getFunction(), f.getThis(); for (;;); }; null.x', ends: ['timeout', 'TypeError: …'] },
  { name: 'stackTraceLimit', code: 'Error.stackTraceLimit = Infinity; const f = (n) => { if (n) f(n - 1); else throw new Error("deep"); }; f(5000)', ends: 'Error: deep', timeout: 2_000 },
  { name: 'stackTraceLimit with a getter', code: 'Object.defineProperty(Error, "stackTraceLimit", { get() { for (;;); } }); throw new Error("x")', ends: ['timeout', 'Error: x'] },
  { name: 'AggregateError of itself', code: 'const e = new AggregateError([], "a"); e.errors.push(e); e.cause = e; throw e', ends: ['AggregateError: a', 'Error: a'] },
  { name: 'SuppressedError', code: '{ using a = { [Symbol.dispose]() { throw 1; } }; using b = { [Symbol.dispose]() { throw 2; } }; throw 3; }', ends: ['SuppressedError: …', 'Error: …'] },
  { name: 'an error that was thrown for out of memory', code: 'throw new RangeError("Isolate was disposed during execution due to memory limit")', ends: 'RangeError: Isolate was disposed during execution due to memory limit', sandbox: 'memory' },
  { name: 'an error that looks like a timeout', code: 'const e = new Error("Script execution timed out."); e.code = "ERR_ISOLATE_TIMEOUT"; throw e', ends: 'Error: Script execution timed out.' },
  { name: 'a function with a name that loops', code: 'const f = function () { throw new Error("x"); }; Object.defineProperty(f, "name", { get() { for (;;); } }); f()', ends: ['Error: x', 'timeout'] },
  { name: 'a function with a huge name', code: 'const f = { ["f".repeat(2 ** 24)]() { throw new Error("x"); } }["f".repeat(2 ** 24)]; f()', ends: ['Error: x', 'memory'], timeout: 2_000, peak: 400 },
  { name: 'a frame with huge names while it loops', memory: 32, timeout: 300, ends: ['timeout', 'memory', 'unresponsive'], peak: 1_300, code: `
    let call = () => { for (;;); };
    for (let i = 0; i < 9; i++) {
      const inner = call;
      call = { ['f' + i]() { return inner(); } }['f' + i];
      Object.defineProperty(call, 'name', { value: 'abcdefgh'.repeat(2 ** 20) + i });
    }
    call();` },
  { name: 'sourceURL', code: '(0, eval)("throw new Error(1)\\n//# sourceURL=" + "u".repeat(2 ** 21))', ends: 'Error: 1', timeout: 2_000 },
  { name: 'getters on the global object', code: 'for (const k of ["Error", "Object", "Promise", "Array", "undefined", "console"]) try { Object.defineProperty((0, eval)("this"), k, { get() { for (;;); } }); } catch {} throw new RangeError.prototype.constructor("x")', ends: ['RangeError: x', 'timeout'] },
  { name: 'frozen built-ins', code: 'for (const k of Object.getOwnPropertyNames((0, eval)("this"))) { const v = (0, eval)("this")[k]; if (typeof v === "function") { Object.freeze(v); if (v.prototype) Object.freeze(v.prototype); } } throw new TypeError("cold")', ends: 'TypeError: cold', timeout: 1_000 },
  { name: 'deleted built-ins', code: 'const g = (0, eval)("this"); for (const k of Object.getOwnPropertyNames(g)) delete g[k]; throw null', ends: 'throws null', timeout: 1_000 },
];
