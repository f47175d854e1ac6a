import type { Isolate } from './index.js';

/** Where {@link serve} listens, and under which name. */
export interface ServeOptions {
  /** The port; 0 for any that is free. Default 9229, where DevTools looks by itself. */
  port?: number;
  /**
   * The address to listen at. Default `127.0.0.1`, which this machine alone can reach. Whoever reaches it and knows the
   * WebSocket's path can run code in the isolate and read all that is in it.
   */
  host?: string;
  /** The name that DevTools shows. Default `isolated-v8`. */
  title?: string;
  /**
   * Origins of web pages that may connect, as `https://example.com`. By default none may; DevTools and programs that are no
   * browsers always may.
   */
  origins?: string[];
}

/** An isolate that is being served. */
export interface InspectorServer {
  /** The address that it listens at, as `ServeOptions.host` says. */
  readonly host: string;
  /** The port that it listens at, also where `ServeOptions.port` was 0. */
  readonly port: number;
  /** The WebSocket's URL; its path is random. */
  readonly url: string;
  /** Put this into Chrome's address bar to open DevTools. */
  readonly devtoolsUrl: string;
  /** Ends all sessions and stops listening. The isolate stays. */
  close(): Promise<void>;
}

/**
 * Serves an isolate to DevTools and other clients of the Chrome DevTools protocol. Each connection is a session of its own;
 * `chrome://inspect` finds the server by itself at the default port.
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
 * A guest that is to be debugged should be run by asynchronous calls: while the host's thread waits in a `…Sync` method it
 * serves no WebSocket, so that nobody can resume a guest which is paused.
 *
 * Requests whose `Host` is neither an IP address nor `localhost` nor `options.host` are refused, and so are those with the
 * origin of a web page: a page that the developer visits must not reach the isolate. At most 256 connections are open at a
 * time, and one that has not sent a whole request after 10 s is closed (with the host's own delay in looking for those).
 *
 * @throws {TypeError} `ERR_INVALID_ARG` for wrong arguments and unknown options (as a rejection, like what follows)
 * @throws {Error} `Inspector is not enabled for this isolate` unless it was made with `inspector: true`; what the host says
 *   of an address that cannot be listened at
 */
export function serve(isolate: Isolate, options?: ServeOptions): Promise<InspectorServer>;
