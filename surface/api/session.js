'use strict';
// `InspectorSession`: a session with the inspector of an isolate, in the Chrome DevTools protocol. It ends with `dispose()`, or when it is
// no longer referenced.

const { cutOff, Error } = require('../core/primordials.js');
const { bare, recordOf, stamp } = require('../core/handle.js');
const { CALLBACK, KIND, MESSAGE, MODE, OP } = require('../core/protocol.js');
const { CODE, coded } = require('../core/error.js');
const { CallbackRecord } = require('./callback.js');
const { defineClass, privateConstructor } = require('../core/classes.js');
const { illegalInvocation, tooFew, wrongParameter } = require('../core/options.js');

/** The listeners of a session. Separate from the session, which would never be collected if its listeners referred to it. */
class Listeners {
  constructor() {
    /** @type {Function | undefined} */
    this.onNotification = undefined;
    /** @type {Function | undefined} */
    this.onResponse = undefined;
  }
}
cutOff(Listeners);

/** The private state of an `InspectorSession`. */
class SessionRecord {
  /**
   * @param {import('../core/handle.js').Row} entry
   * @param {Listeners} listeners
   */
  constructor(entry, listeners) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once disposed */
    this.entry = entry;
    this.listeners = listeners;
  }
}
cutOff(SessionRecord);

const isDead = () => coded(Error, MESSAGE.SESSION_ENDED, CODE.DISPOSED);

/** @param {import('../index.js').Core} core */
module.exports = function createSession(core) {
  const { binding, entries } = core;
  const { idOf, invoke, pack, unpack } = binding;

  function Session() {
    throw privateConstructor('Session');
  }

  /**
   * @param {unknown} self
   * @returns {SessionRecord & { entry: import('../core/handle.js').Row }}
   */
  function recordOfThis(self) {
    const record = recordOf(self, KIND.SESSION);
    if (record === undefined) {
      throw illegalInvocation();
    }
    if (record.entry === undefined) {
      throw isDead();
    }
    return record;
  }

  /** @param {unknown} listener */
  function checkListener(listener) {
    if (typeof listener !== 'function') {
      throw wrongParameter(1, 'a function');
    }
    return listener;
  }

  /**
   * @param {number} isolate its id
   * @param {Function} method
   */
  function open(isolate, method) {
    if (binding.side === 'guest') {
      throw coded(Error, 'An isolate is not debuggable from within itself', CODE.UNSUPPORTED);
    }
    const listeners = new Listeners();
    /**
     * @param {number | undefined} call
     * @param {string} message
     * @returns {unknown} the listener's result, in case it is a promise
     */
    function deliver(call, message) {
      const { onNotification, onResponse } = listeners;
      if (call === undefined) {
        return onNotification === undefined ? undefined : onNotification(message);
      }
      return onResponse === undefined ? undefined : onResponse(call, message);
    }
    const listener = stamp({}, KIND.CALLBACK, new CallbackRecord(deliver, CALLBACK.IGNORED));
    const id = idOf(invoke(OP.OPEN_SESSION, MODE.SYNC, 0, isolate, pack(listener, 0)), method);
    return stamp(bare(Session), KIND.SESSION, new SessionRecord(entries.enter(id), listeners));
  }

  const methods = {
    /** @param {string} message */
    dispatchProtocolMessage(message) {
      const record = recordOf(this, KIND.SESSION);
      if (record === undefined) {
        throw illegalInvocation();
      }
      if (typeof message !== 'string') {
        throw arguments.length < 1 ? tooFew(1) : wrongParameter(1, 'a string');
      }
      const { id } = recordOfThis(this).entry;
      const sent = invoke(OP.SESSION_SEND, MODE.SYNC, 0, id, message);
      // Otherwise a call waits already that will handle the message, or an error must be thrown. No function begins in between: a time limit of
      // `node:vm` can end JavaScript there, and then no call would ever handle this session's messages.
      if (sent === true) {
        // Request 0 settles nothing. The call keeps the host's event loop alive until the message is handled.
        invoke(OP.SESSION_RUN, MODE.ASYNC, 0, id);
      } else {
        unpack(sent, methods.dispatchProtocolMessage);
      }
    },
    dispose() {
      const record = recordOfThis(this);
      entries.leave(record.entry);
      /** @type {SessionRecord} */ (record).entry = undefined;
    },
    get onNotification() {
      return recordOfThis(this).listeners.onNotification;
    },
    set onNotification(listener) {
      recordOfThis(this).listeners.onNotification = checkListener(listener);
    },
    get onResponse() {
      return recordOfThis(this).listeners.onResponse;
    },
    set onResponse(listener) {
      recordOfThis(this).listeners.onResponse = checkListener(listener);
    },
  };

  defineClass(Session, methods, undefined, function dispose() {
    const record = recordOf(this, KIND.SESSION);
    if (record === undefined) {
      throw illegalInvocation();
    }
    if (record.entry !== undefined) {
      entries.leave(record.entry);
      record.entry = undefined;
    }
  });
  return { open };
};
