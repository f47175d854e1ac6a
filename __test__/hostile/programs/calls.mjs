// Guests that call their host: `echo` returns the number of its arguments, `later` a promise of it, `fail` throws.

export const group = 'calls of the host';
export const defaults = { ends: 'timeout', wall: true };

export const programs = [
  { name: 'calls in a loop', code: 'for (;;) echo();' },
  { name: 'calls with large arguments in a loop', code: 'const s = "x".repeat(2 ** 20); for (;;) echo(s);', timeout: 200, peak: 300, kept: 128 },
  { name: 'calls that throw, in a loop', code: 'for (;;) try { fail(); } catch {}' },
  { name: 'calls that wait, in a loop', code: 'for (;;) await later();', async: true, sandbox: 'timeout', timeout: 150 },
  { name: 'calls without a waiting caller', code: 'for (;;) later();', sandbox: 'timeout', timeout: 150, peak: 300, ends: ['timeout', 'RangeError: Too many calls are waiting …'] },
  { name: 'a getter in an argument', code: 'echo({ get a() { for (;;); } })' },
  { name: 'a proxy as an argument', code: 'echo(new Proxy({}, { ownKeys() { for (;;); } }))', ends: 'TypeError: #<Object> could not be cloned.' },
  { name: 'a cycle as an argument', code: 'const o = {}; o.o = o; return echo(o, o)', ends: 'value 2' },
  { name: '__proto__ as an argument', code: 'return echo(JSON.parse(`{"__proto__": {"polluted": 1}}`))', ends: 'value 1' },
  { name: 'many arguments', code: 'return echo(...Array(50_000).fill(1))', ends: ['value 50000', 'RangeError: …'], timeout: 2_000 },
  { name: 'a bomb of arguments', code: 'const s = "x".repeat(2 ** 20); return echo(...Array(1000).fill(s))', ends: 'RangeError: …', timeout: 3_000, peak: 400 },
  { name: 'the longest string as an argument', code: 'return echo("ab".repeat(2 ** 28 - 20))', ends: 'RangeError: …', timeout: 3_000 },
  { name: 'deep arguments', code: 'let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return echo(o)', ends: ['RangeError: …', 'DataCloneError: …'], timeout: 2_000 },
  { name: 'arguments that throw', code: 'return echo({ get a() { throw new RangeError("arg"); } })', ends: 'RangeError: arg' },
  { name: 'a thenable as an argument', code: 'return echo({ then: 1 })', ends: 'value 1' },
  { name: 'the function itself as an argument', code: 'return echo([echo])', ends: 'TypeError: …' },
  { name: 'apply and call', code: 'return echo.call(null, 1) + echo.apply({ get length() { return 2 ** 30; } }, [1, 2]) + Reflect.apply(echo, new Proxy({}, {}), [1])', ends: 'value 4' },
  { name: 'as a constructor', code: 'return new echo(1)', ends: 'TypeError: echo is not a constructor', sandbox: ['TypeError: …', 'value 1'] },
  { name: 'its properties', code: 'for (const k of ["caller", "arguments", "prototype"]) try { echo[k]; } catch {} echo.x = 1; return typeof echo.constructor("return this")()', ends: 'value "object"' },
  { name: 'the way to the host by constructors', code: 'const g = echo.constructor.constructor("return this")(); return [typeof g.process, typeof g.require, typeof g.Deno, typeof g.Bun]', ends: 'value ["undefined","undefined","undefined","undefined"]' },
  { name: 'the way to the host by an error', code: 'try { fail(); } catch (e) { const g = e.constructor.constructor("return this")(); return [g === (0, eval)("this"), typeof g.process, [RangeError.prototype, Error.prototype].includes(Object.getPrototypeOf(e))] }', ends: 'value [true,"undefined",true]' },
  { name: 'the way to the host by a stack', code: 'Error.prepareStackTrace = (e, frames) => frames; try { fail(); } catch (e) { const s = e.stack; return Array.isArray(s) ? s.map((f) => typeof f.getThis?.()) : typeof s }', ends: 'value "string"' },
  { name: 'the way to the host by a promise', code: 'const p = later(); return [p instanceof Promise, p?.constructor === Promise]', ends: 'value [true,true]', sandbox: 'value [false,false]' },
  { name: 'console floods', code: 'if (typeof console === "undefined") for (;;); for (;;) console.log("x".repeat(1000));', peak: 128 },
  { name: 'console floods of large entries', code: 'if (typeof console === "undefined") for (;;); const s = "x".repeat(2 ** 22); for (;;) console.log(s, s, [s]);', peak: 200, timeout: 100, ends: ['timeout', 'unresponsive'], sandbox: 'timeout' },
  { name: 'console with hostile values', code: 'if (typeof console === "undefined") for (;;); console.log({ toJSON() { for (;;); } });', ends: 'value undefined', sandbox: 'timeout' },
  { name: 'console with a replaced JSON', code: '(0, eval)("this").JSON = { stringify() { for (;;); } }; if (typeof console !== "undefined") console.log({ a: 1 }); return 1', ends: 'value 1' },
  { name: 'console with deep values', code: 'let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; if (typeof console !== "undefined") console.log(o); return 1', ends: 'value 1', timeout: 1_000 },
  { name: 'a recursion through the host', code: '(0, eval)("this").n = 0; const f = () => { n++; echo(); return f(); }; try { f(); } catch (e) { return e.name }', ends: ['value "RangeError"', 'timeout'], timeout: 3_000 },
  { name: 'a replaced function', code: '(0, eval)("this").echo = () => { for (;;); }; echo()' },
];
