import type { Isolate } from './index.js';

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Port to listen on; 0 for any free one. Default 9229, where DevTools looks automatically. */
  port?: number;
  /**
   * Address to listen on. Default `127.0.0.1`, which only this machine can reach. Any client that can reach it and knows the
   * WebSocket's path can run code in the isolate and read everything in it.
   */
  host?: string;
  /** Name that DevTools shows. Default `isolated-v8`. */
  title?: string;
  /**
   * Origins of web pages that may connect, such as `https://example.com`. By default none may. DevTools and programs other than
   * browsers always may.
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
  /** Ends all sessions and stops listening. The isolate stays alive. */
  close(): Promise<void>;
}

/**
 * Serves an isolate to DevTools and other clients of the Chrome DevTools protocol. Each connection has its own session.
 * `chrome://inspect` finds the server automatically on the default port.
 *
 * ```js
 * import ivm from 'isolated-v8';
 * import { serve } from 'isolated-v8/inspector';
 *
 * const isolate = new ivm.Isolate({ inspector: true });
 * const context = await isolate.createContext({ inspector: true });
 * const server = await serve(isolate);
 * console.log(server.devtoolsUrl);
 * ```
 *
 * Use asynchronous calls to run a guest that you debug: while the host's thread waits in a `…Sync` method, it serves no
 * WebSocket, so DevTools cannot resume a paused guest.
 *
 * Requests are refused if their `Host` is neither an IP address nor `localhost` nor `options.host`, or if they have the origin
 * of a web page: a page that the developer visits must not reach the isolate. At most 256 connections are open at a time. A
 * connection that has not sent a complete request after 10 s is closed (plus the host's own delay in detecting this).
 *
 * @throws {TypeError} `ERR_INVALID_ARG` for wrong arguments and unknown options (as a rejection, like the following)
 * @throws {Error} `Inspector is not enabled for this isolate` unless it was made with `inspector: true`; the host's error for
 *   an address that it cannot listen on
 */
export function serve(isolate: Isolate, options?: ServeOptions): Promise<InspectorServer>;
