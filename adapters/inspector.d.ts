import type { Isolate } from '../index.js';

/** Options of {@link serve}. A wrong or unknown one rejects with a `TypeError` with the code `ERR_INVALID_ARG`. */
export interface ServeOptions {
  /** Port to listen on, 0 to 65,535; 0 for any free one. Default 9229, where DevTools looks automatically. */
  port?: number;
  /**
   * Address to listen on. Default `127.0.0.1`, which only this machine can reach. Any client that can reach it and knows the
   * WebSocket's path can run code in the isolate and read everything in it.
   */
  host?: string;
  /** Name that DevTools shows. Default `isolated-v8`. */
  title?: string;
  /**
   * Origins of web pages that may connect, such as `https://example.com`. Default: none. DevTools and programs other than browsers always
   * may.
   */
  origins?: string[];
}

/** A running inspector server. */
export interface InspectorServer {
  /** The address that it listens on, as given by `ServeOptions.host`. */
  readonly host: string;
  /** The port that it listens on, also if `ServeOptions.port` was 0. */
  readonly port: number;
  /** The WebSocket's URL; its path is random. */
  readonly url: string;
  /** Enter this in Chrome's address bar to open DevTools. */
  readonly devtoolsUrl: string;
  /**
   * Resolves when a debugger has attached and is ready (it has sent `Runtime.runIfWaitingForDebugger`, as DevTools does when it has set its
   * breakpoints), when the isolate has ended, or when the server is closed. Never rejects.
   */
  readonly attached: Promise<void>;
  /**
   * Ends all sessions and stops listening. Resolves when the server is closed. The isolate stays alive. Calling it again returns the same
   * promise.
   */
  close(): Promise<void>;
}

/**
 * Serves an isolate to DevTools and other clients of the Chrome DevTools protocol. Resolves when the server listens. Each connection has
 * its own session. `chrome://inspect` finds the server automatically on the default port.
 *
 * Use asynchronous calls to run a guest that you debug: while the host's thread waits in a `…Sync` method, it serves no WebSocket, so
 * DevTools cannot resume a paused guest.
 *
 * Requests are refused if their `Host` is neither an IP address nor `localhost` nor `options.host`, or if they have the origin of a web
 * page: a page that the developer visits must not reach the isolate. At most 256 connections are open at a time, 16 of them without a
 * session, and a message has at most 16 MB. A connection that has not sent a complete request after 10 s is closed (plus the host's own delay
 * in detecting this). If 256 MB of messages wait for all connections, the one for which most wait is closed. All are closed when the isolate
 * has ended.
 * @param isolate made with `inspector: true`. Contexts are visible if they were made with it too
 * @throws {TypeError} as a rejection, like all of these: `ERR_INVALID_ARG` for wrong arguments and unknown options
 * @throws {Error} `Inspector is not enabled for this isolate` (`ERR_ISOLATE_UNSUPPORTED`) unless it was made with `inspector: true`
 * @throws {Error} `ERR_ISOLATE_DISPOSED` if the isolate has ended; `RangeError` `ERR_ISOLATE_LIMIT` if it has 100 sessions
 * @throws {Error} the host's error for an address that it cannot listen on, such as `EADDRINUSE`
 * @see [Debugging](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md)
 * @example
 * ```ts
 * import { Isolate } from 'isolated-v8';
 * import { serve } from 'isolated-v8/inspector';
 *
 * const isolate = new Isolate({ inspector: true });
 * const context = await isolate.createContext({ inspector: true });
 * const server = await serve(isolate);
 * console.log(server.devtoolsUrl);
 * await context.eval('debugger; 6 * 7');
 * await server.close();
 * ```
 */
export function serve(isolate: Isolate, options?: ServeOptions): Promise<InspectorServer>;
