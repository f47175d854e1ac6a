'use strict';
// `NativeModule` and `ivm.lib`, which isolated-vm does not document and uses in its tests.

const { BigInt, Error, freeze, isArray, Number, Symbol } = require('../core/primordials.js');
const { KIND } = require('../core/protocol.js');
const { CODE, coded, invalid } = require('../core/error.js');
const { defineClass, instance, needsNew, privateConstructor } = require('../core/classes.js');
const { tooFew, wrongParameter } = require('../core/options.js');

const NANOS = 1_000_000_000n;
const HANG = 60n * NANOS;

const NO_NATIVE_MODULES = 'Native modules are compiled against the V8 of their host, and cannot work with the V8 that this '
  + 'library brings along. Give the isolate a `Callback` or a `Reference` to a function of the host that does the work.';

/** The class `NativeModule`, which always throws. */
function createNativeModule() {
  /**
   * @this {object}
   * @param {string} filename
   */
  function NativeModule(filename) {
    if (new.target === undefined) {
      throw needsNew('NativeModule');
    }
    if (typeof filename !== 'string') {
      throw arguments.length < 1 ? tooFew(1, 'NativeModule') : wrongParameter(1, 'a string', 'NativeModule');
    }
    throw coded(Error, NO_NATIVE_MODULES, CODE.UNSUPPORTED);
  }
  const refuse = () => coded(Error, NO_NATIVE_MODULES, CODE.UNSUPPORTED);
  defineClass(NativeModule, {
    /** @type {(context: any) => any} */
    create(_context) {
      throw refuse();
    },
    /** @type {(context: any) => any} */
    createSync(_context) {
      throw refuse();
    },
  });
  return { Constructor: NativeModule };
}

/**
 * `ivm.lib`.
 * @param {import('../index.js').Binding} binding
 * @returns {object}
 */
function createLib(binding) {
  function Lib() {
    throw privateConstructor('Lib');
  }
  defineClass(Lib, {
    /**
     * Seconds and nanoseconds of a monotonic clock, or what has passed since an earlier result.
     * @param {any} [since]
     */
    hrtime(since) {
      let time = binding.now();
      if (since !== undefined && since !== null) {
        if (!isArray(since)) {
          throw wrongParameter(1, 'an array');
        }
        if (since.length !== 2 || typeof since[0] !== 'number' || typeof since[1] !== 'number') {
          throw invalid('hrtime diff must be 2-length array');
        }
        time -= BigInt(since[0] >>> 0) * NANOS + BigInt(since[1] >>> 0);
      }
      const seconds = time / NANOS;
      return [Number(seconds), Number(time - seconds * NANOS)];
    },
    /**
     * Returns a new symbol. In isolated-vm it is a V8 private symbol, hidden from reflection. JavaScript cannot create one.
     * @param {any} [name]
     */
    privateSymbol(name) {
      if (name !== undefined && name !== null && typeof name !== 'string') {
        throw wrongParameter(1, 'a string');
      }
      return Symbol(name ?? undefined);
    },
    /** Keeps its thread busy for a minute. */
    testHang() {
      const end = binding.now() + HANG;
      while (binding.now() < end) {
        // Busy on purpose.
      }
    },
    /** Fills the memory of its isolate. On a host it throws, where isolated-vm would end the process. */
    testOOM() {
      if (binding.side === 'host') {
        throw coded(Error, 'testOOM works inside isolates only', CODE.UNSUPPORTED);
      }
      /** @type {unknown} */
      let kept;
      for (;;) {
        kept = [kept, 0, 0, 0, 0, 0, 0, 0];
      }
    },
  });
  return instance(Lib, KIND.LIB, {});
}

module.exports = freeze({ createLib, createNativeModule });
