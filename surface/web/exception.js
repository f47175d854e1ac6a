'use strict';
// `DOMException`: errors of web APIs, identified by their names.

const { captureStackTrace, construct, create, defineProperty, Error, freeze, put, setPrototypeOf } = require('./primordials.js');
const { shape, text } = require('./interfaces.js');

/** Names that also have a legacy code, in the order of the codes from 1; an empty name if the code is no longer used. */
const NAMES = freeze([
  ['INDEX_SIZE_ERR', 'IndexSizeError'], ['DOMSTRING_SIZE_ERR', ''], ['HIERARCHY_REQUEST_ERR', 'HierarchyRequestError'],
  ['WRONG_DOCUMENT_ERR', 'WrongDocumentError'], ['INVALID_CHARACTER_ERR', 'InvalidCharacterError'], ['NO_DATA_ALLOWED_ERR', ''],
  ['NO_MODIFICATION_ALLOWED_ERR', 'NoModificationAllowedError'], ['NOT_FOUND_ERR', 'NotFoundError'],
  ['NOT_SUPPORTED_ERR', 'NotSupportedError'], ['INUSE_ATTRIBUTE_ERR', 'InUseAttributeError'], ['INVALID_STATE_ERR', 'InvalidStateError'],
  ['SYNTAX_ERR', 'SyntaxError'], ['INVALID_MODIFICATION_ERR', 'InvalidModificationError'], ['NAMESPACE_ERR', 'NamespaceError'],
  ['INVALID_ACCESS_ERR', 'InvalidAccessError'], ['VALIDATION_ERR', ''], ['TYPE_MISMATCH_ERR', 'TypeMismatchError'],
  ['SECURITY_ERR', 'SecurityError'], ['NETWORK_ERR', 'NetworkError'], ['ABORT_ERR', 'AbortError'], ['URL_MISMATCH_ERR', 'URLMismatchError'],
  ['QUOTA_EXCEEDED_ERR', 'QuotaExceededError'], ['TIMEOUT_ERR', 'TimeoutError'], ['INVALID_NODE_TYPE_ERR', 'InvalidNodeTypeError'],
  ['DATA_CLONE_ERR', 'DataCloneError'],
]);

/** @type {Record<string, number>} */
const codes = create(null);

/** Allows a derived class to add private fields to an existing object. */
class Existing {
  /** @param {object} object */
  constructor(object) {
    return object;
  }
}

/** The private state of an exception. */
class State extends Existing {
  /** @type {string} */ #message;
  /** @type {string} */ #name;

  /**
   * @param {object} object
   * @param {string} message
   * @param {string} name
   */
  constructor(object, message, name) {
    super(object);
    this.#message = message;
    this.#name = name;
  }

  /** @param {any} object */
  static messageOf(object) {
    return /** @type {State} */ (object).#message;
  }

  /** @param {any} object */
  static nameOf(object) {
    return /** @type {State} */ (object).#name;
  }
}

const { messageOf, nameOf } = State;

class DOMException {
  /**
   * @param {unknown} [message]
   * @param {unknown} [options] the name, or an object with name and cause
   */
  constructor(message = '', options = 'Error') {
    const said = text(message);
    let name = options;
    let hasCause = false;
    let cause;
    if (typeof options === 'object' && options !== null) {
      ({ name = 'Error' } = /** @type {any} */ (options));
      hasCause = 'cause' in options;
      cause = hasCause ? /** @type {any} */ (options).cause : undefined;
    }
    // A real error object, with a stack that starts with the name.
    const exception = construct(Error, [said], new.target);
    new State(exception, said, text(name));
    captureStackTrace(exception, DOMException);
    if (hasCause) {
      put(exception, 'cause', cause, false);
    }
    return /** @type {any} */ (exception);
  }

  get name() {
    return nameOf(this);
  }

  get message() {
    return messageOf(this);
  }

  get code() {
    return codes[nameOf(this)] ?? 0;
  }
}

setPrototypeOf(DOMException.prototype, Error.prototype);
shape(DOMException, 'DOMException');
for (let index = 0; index < NAMES.length; index += 1) {
  const [constant, name] = /** @type {[string, string]} */ (NAMES[index]);
  const code = index + 1;
  if (name !== '') {
    codes[name] = code;
  }
  const descriptor = /** @type {any} */ ({ __proto__: null, value: code, writable: false, enumerable: true, configurable: false });
  defineProperty(DOMException, constant, descriptor);
  defineProperty(DOMException.prototype, constant, descriptor);
}

module.exports = freeze({ __proto__: null, DOMException });
