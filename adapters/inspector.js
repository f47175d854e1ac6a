'use strict';
// Serves isolates to DevTools and other clients of the Chrome DevTools protocol: by HTTP, which lists the isolates, and by one WebSocket per
// session. A client that reaches it can run code in the isolate. So it listens to this machine only, at an address that cannot
// be guessed, and refuses web pages.

const { randomUUID } = require('node:crypto');
const { createServer } = require('node:http');
const { isIP } = require('node:net');
const { clearInterval, setInterval } = require('node:timers');
const { WebSocketServer } = require('ws');
const { version } = require('../package.json');

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 9229;
const DEFAULT_TITLE = 'isolated-v8';
const OPTIONS = ['port', 'host', 'title', 'origins'];
/** Clients that are programs send no origin, and DevTools these. */
const DEVTOOLS = /^(?:chrome-)?devtools:\/\//;
/** Maximum of bytes that wait for clients that do not read, of all clients together. */
const MAX_WAITING = 256 * 2 ** 20;
const MAX_MESSAGE = 16 * 2 ** 20;
const CHECK_MS = 1_000;
/** Bytes of the reason for which a WebSocket is closed. */
const MAX_REASON = 123;
const FAILED = 1011;
const GONE = 1001;
/** The method that a debugger calls once it has set its breakpoints. */
const READY = '"Runtime.runIfWaitingForDebugger"';
/** Connections at a time: each takes a file descriptor of the process. */
const MAX_CONNECTIONS = 256;
/** Those of them that have no session. Each may send thousands of requests at once, which take a tenth of a second, and all may be read in one turn. */
const MAX_WITHOUT_SESSION = 16;
/** A client that has sent no request, or does not close a refused connection, is cut off. */
const MAX_REQUEST_MS = 10_000;
/** Node compares connections with that limit this often: by default only every 30 s. */
const CHECK_REQUESTS_MS = 2_000;

/**
 * @param {string} message
 * @param {string} code
 */
const invalid = (message, code = 'ERR_INVALID_ARG') => Object.assign(new TypeError(message), { code });

/** @param {any} options */
function checkOptions(options) {
  const { host = DEFAULT_HOST, port = DEFAULT_PORT, title = DEFAULT_TITLE, origins = [] } = options ?? {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!OPTIONS.includes(name) && value != null) throw invalid(`Unknown option \`${name}\`. The options are ${OPTIONS.map((each) => `\`${each}\``).join(', ')}`);
  }
  if (!Number.isInteger(port) || port < 0 || port > 0xffff) throw invalid('`port` must be a port number');
  if (typeof host !== 'string' || host === '') throw invalid('`host` must be a string');
  if (typeof title !== 'string') throw invalid('`title` must be a string');
  if (!Array.isArray(origins) || !origins.every((origin) => typeof origin === 'string')) {
    throw invalid('`origins` must be an array of strings');
  }
  return { host, port, title, origins };
}

/**
 * The host of an URL, without its port.
 * @param {string} authority
 */
const hostOf = (authority) => authority.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');

/** @param {string} host */
const inUrl = (host) => (isIP(host) === 6 ? `[${host}]` : host);

/**
 * @param {any} isolate
 * @param {any} [options]
 */
async function serve(isolate, options) {
  const { host, port, title, origins } = checkOptions(options);
  if (typeof isolate?.createInspectorSession !== 'function') throw invalid('`serve` requires parameter 1 to be an Isolate');
  // Throws where the isolate cannot be inspected.
  isolate.createInspectorSession().dispose();

  const id = randomUUID();
  /** @type {() => void} */
  let attach = () => {};
  /** @type {Promise<void>} */
  const attached = new Promise((resolve) => { attach = resolve; });
  // One message per turn of the event loop: thousands of small ones may arrive together.
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE, perMessageDeflate: false, allowSynchronousEvents: false });
  /** Connections that have sent a request. Each gets one answer, and is closed: to answer thousands that arrive together takes a second. @type {WeakSet<object>} */
  const answered = new WeakSet();
  const server = createServer({ connectionsCheckingInterval: CHECK_REQUESTS_MS }, (request, response) => {
    if (answered.has(request.socket)) return;
    answered.add(request.socket);
    const answer = isAllowed(request) ? answerTo(String(request.url)) : undefined;
    const body = answer === undefined ? '' : JSON.stringify(answer, undefined, 2);
    const status = isAllowed(request) ? (answer === undefined ? 404 : 200) : 403;
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=UTF-8',
      'Cache-Control': 'no-cache',
      Connection: 'close',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.headersTimeout = MAX_REQUEST_MS;
  server.requestTimeout = MAX_REQUEST_MS;
  /** All connections, as the server does not know those that were upgraded. @type {Set<import('node:net').Socket>} */
  const connections = new Set();
  /** Those without a session. @type {Set<object>} */
  const requesting = new Set();
  server.on('connection', (connection) => {
    connections.add(connection);
    requesting.add(connection);
    connection.on('close', () => {
      connections.delete(connection);
      requesting.delete(connection);
    });
    connection.on('error', () => connection.destroy());
    if (requesting.size > MAX_WITHOUT_SESSION) connection.destroy();
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (!isAllowed(request)) return refuse(socket, '403 Forbidden');
    if (request.url !== `/${id}`) return refuse(socket, '404 Not Found');
    requesting.delete(socket);
    return sockets.handleUpgrade(request, socket, head, connect);
  });

  /**
   * Against pages of the web, and names that point here only now (DNS rebinding).
   * @param {import('node:http').IncomingMessage} request
   */
  function isAllowed({ headers }) {
    const { origin } = headers;
    if (origin !== undefined && !DEVTOOLS.test(origin) && !origins.includes(origin)) return false;
    const name = hostOf(headers.host ?? '').toLowerCase();
    return isIP(name) !== 0 || name === 'localhost' || name === host.toLowerCase();
  }

  /** @param {string} url */
  function answerTo(url) {
    switch (url.replace(/[?#].*$/, '').replace(/\/$/, '')) {
      case '/json':
      case '/json/list':
        return [{
          description: 'an isolate of isolated-v8',
          devtoolsFrontendUrl: result.devtoolsUrl,
          id,
          title,
          type: 'node',
          url: 'file://',
          webSocketDebuggerUrl: result.url,
        }];
      case '/json/version':
        return { Browser: `isolated-v8/${version}`, 'Protocol-Version': '1.3' };
      default:
        return undefined;
    }
  }

  /**
   * Closes the socket of a session that failed.
   * @param {import('ws').WebSocket} socket
   * @param {any} error
   */
  function fail(socket, error) {
    if (isolate.isDisposed) socket.close(GONE, 'The isolate is gone');
    else socket.close(FAILED, String(error?.message).replaceAll(/[^ -~]/g, '?').slice(0, MAX_REASON));
  }

  /** Ends the sessions of sockets. @type {Map<import('ws').WebSocket, () => void>} */
  const endings = new Map();

  /**
   * Ends a client's session now. The socket would first deliver the messages that have arrived, one per turn of the event loop.
   * @param {import('ws').WebSocket} socket
   */
  function cutOff(socket) {
    endings.get(socket)?.();
    socket.terminate();
  }

  /** Cuts off the client that reads least, if too much waits for all of them. */
  function limitWaiting() {
    let sum = 0;
    let most = 0;
    /** @type {import('ws').WebSocket | undefined} */
    let slowest;
    for (const socket of sockets.clients) {
      const { bufferedAmount } = socket;
      sum += bufferedAmount;
      if (bufferedAmount > most) {
        most = bufferedAmount;
        slowest = socket;
      }
    }
    if (sum > MAX_WAITING && slowest !== undefined) cutOff(slowest);
  }

  /** @param {import('ws').WebSocket} socket */
  function connect(socket) {
    /** @type {any} */
    let session;
    try {
      session = isolate.createInspectorSession();
    } catch (error) {
      fail(socket, error);
      return;
    }
    const end = () => {
      endings.delete(socket);
      session?.dispose();
      session = undefined;
    };
    endings.set(socket, end);
    /** @param {string} message */
    const send = (message) => {
      if (socket.bufferedAmount > 0) limitWaiting();
      if (socket.readyState === socket.OPEN) socket.send(message);
    };
    session.onNotification = send;
    session.onResponse = (/** @type {number} */ _call, /** @type {string} */ message) => send(message);
    socket.on('message', (data) => {
      if (session === undefined) return;
      try {
        const message = String(data);
        session.dispatchProtocolMessage(message);
        if (message.includes(READY)) attach();
      } catch (error) {
        // The client may continue sending until it closes its side, or until the time for that is over.
        end();
        fail(socket, error);
      }
    });
    socket.on('close', end);
    socket.on('error', () => cutOff(socket));
  }

  const closeSockets = () => {
    for (const socket of sockets.clients) socket.close(GONE, 'The isolate is gone');
  };
  // Nothing reports an isolate's end.
  const check = setInterval(() => {
    if (!isolate.isDisposed) return;
    closeSockets();
    attach();
  }, CHECK_MS);
  check.unref();

  /** @type {Promise<void> | undefined} */
  let closed;
  const close = () => {
    closed ??= new Promise((resolve) => {
      clearInterval(check);
      attach();
      for (const socket of sockets.clients) cutOff(socket);
      server.close(() => resolve());
      server.closeAllConnections();
      for (const connection of connections) connection.destroy();
    });
    return closed;
  };

  await new Promise((resolve, reject) => {
    // The listener stays: a later error of the server, such as a lack of descriptors, must not end the process.
    server.on('error', (error) => {
      if (!server.listening) clearInterval(check);
      reject(error);
    });
    server.listen(port, host, () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const place = `${inUrl(host)}:${address.port}/${id}`;
  const result = Object.freeze({
    host,
    port: address.port,
    url: `ws://${place}`,
    devtoolsUrl: `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${place}`,
    attached,
    close,
  });
  return result;
}

/**
 * Answers and closes both directions. The client's own end is not waited for.
 * @param {import('node:stream').Duplex} socket
 * @param {string} status
 */
function refuse(socket, status) {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

module.exports = { serve };
