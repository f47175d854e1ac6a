'use strict';
// The `AbortSignal`s of tool calls. A call's signal aborts if the execution ends before the call has settled. It is created when a
// tool first reads it, since most tools do not.

const { apply, getOwnPropertyDescriptor } = Reflect;
const { create, defineProperty, setPrototypeOf } = Object;
const { notify, ORIGIN, report } = require('../../calls/host-calls.js');
const { Work } = require('../../work.js');
const { bare } = require('../common/options.js');

const { AbortController, AbortSignal } = globalThis;
const { addEventListener, removeEventListener } = EventTarget.prototype;
const onabort = getOwnPropertyDescriptor(AbortSignal.prototype, 'onabort');

/**
 * A guard is called in place of a listener: a guest can make the signal abort at any time, and what a listener throws, or rejects with, would end
 * the process. `guards` has the guard of each listener, `listeners` the listener of each guard.
 * @type {WeakMap<object, (event: Event) => void>}
 */
const guards = new WeakMap();
/** @type {WeakMap<object, any>} */
const listeners = new WeakMap();

/**
 * @param {any} listener
 * @returns {any}
 */
function guardOf(listener) {
  if (typeof listener !== 'function' && (typeof listener !== 'object' || listener === null)) {
    return listener;
  }
  const known = guards.get(listener);
  if (known !== undefined) {
    return known;
  }
  /**
   * @this {unknown}
   * @param {Event} event
   */
  const guard = function guard(event) {
    const call = typeof listener === 'function' ? () => apply(listener, this, [event]) : () => listener.handleEvent(event);
    notify(ORIGIN.SIGNAL, call, undefined, []);
  };
  guards.set(listener, guard);
  listeners.set(guard, listener);
  return guard;
}

/** The prototype of these signals. They remain instances of `AbortSignal`, with its internal state. */
const prototype = create(AbortSignal.prototype);

/**
 * @param {string} name
 * @param {object} descriptor
 */
const override = (name, descriptor) => defineProperty(prototype, name, bare({ configurable: true, ...descriptor }));

override('addEventListener', {
  writable: true,
  /**
   * @this {AbortSignal}
   * @param {string} type
   * @param {unknown} listener
   * @param {unknown[]} options
   */
  value(type, listener, ...options) {
    return apply(addEventListener, this, [type, guardOf(listener), ...options]);
  },
});
override('removeEventListener', {
  writable: true,
  /**
   * @this {AbortSignal}
   * @param {string} type
   * @param {any} listener
   * @param {unknown[]} options
   */
  value(type, listener, ...options) {
    return apply(removeEventListener, this, [type, guards.get(listener) ?? listener, ...options]);
  },
});
if (onabort?.get !== undefined && onabort.set !== undefined) {
  const { get, set } = onabort;
  override('onabort', {
    /** @this {AbortSignal} */
    get() {
      const current = apply(get, this, []);
      return current === null ? null : listeners.get(current) ?? current;
    },
    /**
     * @this {AbortSignal}
     * @param {unknown} listener
     */
    set(listener) {
      apply(set, this, [guardOf(listener)]);
    },
  });
}

/** The signals of the calls of one execution. */
class CallSignals {
  /** @type {Set<AbortController>} of calls that have not settled */ #open = new Set();
  /** returns why the execution has ended, if it has @type {(() => unknown) | undefined} */ #reasonOf;
  /** @type {{ reason: unknown } | undefined} */ #known;

  get hasEnded() {
    return this.#reasonOf !== undefined;
  }

  get #reason() {
    this.#known ??= { reason: this.#reasonOf?.() };
    return this.#known.reason;
  }

  /** A call begins. */
  begin() {
    return new CallSignal(this);
  }

  /** @param {AbortController} controller of a call that has not settled */
  add(controller) {
    if (this.hasEnded) {
      abort(controller, this.#reason);
    } else {
      this.#open.add(controller);
    }
  }

  /** @param {AbortController} controller */
  remove(controller) {
    this.#open.delete(controller);
  }

  /**
   * The execution has ended. A guest may have made any number of calls: what takes longer than a slice is done on later turns of the event loop.
   * @param {() => unknown} reasonOf
   */
  async end(reasonOf) {
    this.#reasonOf = reasonOf;
    if (this.#open.size === 0) {
      return;
    }
    const work = new Work();
    for (const controller of this.#open) {
      this.#open.delete(controller);
      abort(controller, this.#reason);
      work.check();
      if (work.isSliceOver) {
        await work.turn();
      }
    }
  }
}

/**
 * @param {AbortController} controller
 * @param {unknown} reason
 */
function abort(controller, reason) {
  try {
    controller.abort(reason);
  } catch (error) {
    report(ORIGIN.SIGNAL, error);
  }
}

/** The signal of one call. */
class CallSignal {
  /** @type {AbortController | undefined} */ #controller;
  #calls;
  #isSettled = false;

  /** @param {CallSignals} calls */
  constructor(calls) {
    this.#calls = calls;
  }

  get signal() {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      setPrototypeOf(this.#controller.signal, prototype);
      if (!this.#isSettled) {
        this.#calls.add(this.#controller);
      }
    }
    return this.#controller.signal;
  }

  /** The call has settled: its signal no longer aborts. */
  settle() {
    this.#isSettled = true;
    if (this.#controller !== undefined) {
      this.#calls.remove(this.#controller);
    }
  }
}

module.exports = { CallSignals };
