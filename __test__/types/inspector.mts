// `isolated-v8/inspector` as both module systems see it. Compiled, never run.

import ivm from 'isolated-v8';
import { serve } from 'isolated-v8/inspector';
import type { InspectorServer, ServeOptions } from 'isolated-v8/inspector';
import { expectType } from './expect.js';

const isolate = new ivm.Isolate({ inspector: true });
const options: ServeOptions = { port: 0, host: '127.0.0.1', title: 'a guest', origins: [] };
const server = await serve(isolate, options);
expectType<InspectorServer>()(server);
expectType<string>()(server.url);
expectType<Promise<void>>()(server.close());

const session = isolate.createInspectorSession();
session.onResponse = (callId: number, message: string) => `${callId}${message}`;
session.onNotification = (message: string) => message;

const profiles = await isolate.stopCpuProfiler('a');
expectType<string | undefined>()(profiles[0]?.profile.nodes[0]?.bailoutReason);

// @ts-expect-error -- a port is a number
await serve(isolate, { port: '9229' });
