// A client of the Chrome DevTools protocol, over a session or a WebSocket.

import assert from 'node:assert/strict';
import { setTimeout, clearTimeout } from 'node:timers';

const WAIT_LIMIT_MS = 20_000;

export class Client {
  #close;
  #last = 0;
  #calls = new Map();
  #waiting = [];
  /** All notifications so far. */
  events = [];

  /**
   * @param {(message: string) => void} send
   * @param {() => unknown} close
   */
  constructor(send, close) {
    this.send = send;
    this.#close = close;
  }

  /** @param {any} isolate */
  static ofIsolate(isolate) {
    const session = isolate.createInspectorSession();
    const client = new Client((message) => session.dispatchProtocolMessage(message), () => session.dispose());
    session.onResponse = (_call, message) => client.take(message);
    session.onNotification = (message) => client.take(message);
    return client;
  }

  /** @param {string} text */
  take(text) {
    const message = JSON.parse(text);
    if (message.id === undefined) {
      this.events.push(message);
      this.#waiting = this.#waiting.filter((wait) => !wait(message));
      return;
    }
    const { resolve, reject } = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.error === undefined) resolve(message.result);
    else reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
  }

  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  call(method, params) {
    const id = (this.#last += 1);
    return patient(method, (resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.send(JSON.stringify({ id, method, params }));
    });
  }

  /** The next notification, or one that has arrived but was not requested yet. */
  event(method, matches = () => true) {
    return patient(method, (resolve) => {
      const wait = (message) => {
        const found = message.method === method && matches(message.params);
        if (found) {
          this.events.splice(this.events.indexOf(message), 1);
          resolve(message.params);
        }
        return found;
      };
      if (!this.events.some((message) => wait(message))) this.#waiting.push(wait);
    });
  }

  close() {
    return this.#close();
  }
}

/** A promise with a time limit. */
function patient(what, start) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new assert.AssertionError({ message: `nothing came: ${what}` })), WAIT_LIMIT_MS);
    // Events that a test does not await need not arrive.
    timer.unref();
    const done = (settle) => (value) => {
      clearTimeout(timer);
      settle(value);
    };
    start(done(resolve), done(reject));
  });
}
