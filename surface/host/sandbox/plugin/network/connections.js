'use strict';
// Connections to servers, which may belong to a plugin's author. The host's thread parses what a server sends. Chunks of one byte take more
// time each than a kilobyte does. So data is passed on in small pieces, and all connections share a slice of each turn of the event loop.

const { Duplex } = require('node:stream');
const { Work } = require('../../../work.js');

/** Bytes that are parsed between two looks at the clock. */
const PIECE = 16_384;

/** The work for all connections of one function, which take turns. Together, they wait for a slice like one other piece of work. */
class SharedWork {
  #work = new Work();
  /** Settles when the connections that wait so far have had their turns. */
  #last = Promise.resolve();

  /** A connection has received data. */
  begin() {
    this.#work.resume();
  }

  /** @returns {Promise<void> | undefined} undefined if there is time now */
  turn() {
    this.#work.check();
    if (!this.#work.isSliceOver) {
      return undefined;
    }
    this.#last = this.#last.then(() => this.#work.turn());
    return this.#last;
  }
}

/** A connection that passes on what arrives in pieces. */
class Connection extends Duplex {
  #socket;
  #work;
  /** Continues to pass on data. @type {(() => void) | undefined} */ #resume;

  /**
   * @param {import('node:net').Socket} socket
   * @param {SharedWork} work
   */
  constructor(socket, work) {
    super();
    this.#socket = socket;
    this.#work = work;
    socket.on('error', (error) => this.destroy(error));
    this.#pass().catch((error) => this.destroy(error));
  }

  async #pass() {
    for await (const data of this.#socket) {
      this.#work.begin();
      for (let at = 0; at < data.length; at += PIECE) {
        const turn = this.#work.turn();
        if (turn !== undefined) {
          await turn;
        }
        const hasRoom = this.push(data.subarray(at, at + PIECE));
        if (!hasRoom && !this.destroyed) {
          await new Promise((resolve) => { this.#resume = () => resolve(undefined); });
        }
        if (this.destroyed) {
          return;
        }
      }
    }
    this.push(null);
  }

  #goOn() {
    this.#resume?.();
    this.#resume = undefined;
  }

  /** @override */
  _read() {
    this.#goOn();
  }

  /**
   * @override
   * @param {Uint8Array} data
   * @param {BufferEncoding} encoding
   * @param {(error?: Error | null) => void} done
   */
  _write(data, encoding, done) {
    this.#socket.write(data, encoding, done);
  }

  /**
   * @override
   * @param {() => void} done
   */
  _final(done) {
    this.#socket.end(done);
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error: Error | null) => void} done
   */
  _destroy(error, done) {
    this.#goOn();
    this.#socket.destroy();
    done(error);
  }
}

/**
 * @param {URL} url
 * @param {import('node:net').LookupFunction} lookup
 * @param {any} ca
 * @param {SharedWork} work
 */
function connect({ protocol, hostname, port }, lookup, ca, work) {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  // Loaded only here, since programs that fetch nothing do not need it.
  const net = require('node:net');
  if (protocol === 'http:') {
    return new Connection(net.connect({ host, port: Number(port || 80), lookup }), work);
  }
  const options = { host, port: Number(port || 443), lookup, servername: net.isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'], ...(ca === undefined ? {} : { ca }) };
  return new Connection(require('node:tls').connect(options), work);
}

module.exports = { connect, SharedWork };
