// Connections that send nothing must not keep clients of the inspector out for long.

import test from 'node:test';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import ivm from '../../../index.js';
import { serve } from '../../../adapters/inspector.js';
import { host } from '../../harness.mjs';

const LIMIT_MS = 10_000;
const MARGIN_MS = 8_000;

test('a silent connection is closed soon after its limit', { skip: !host.startsWith('node') && 'not on this host', timeout: 60_000 }, async () => {
  const isolate = new ivm.Isolate({ inspector: true });
  const server = await serve(isolate, { port: 0 });
  const start = performance.now();
  await new Promise((resolve) => {
    const socket = connect(server.port, server.host);
    socket.on('error', () => {});
    socket.on('close', resolve);
    socket.resume();
  });
  const time = performance.now() - start;
  assert.ok(time < LIMIT_MS + MARGIN_MS, `${time} ms`);
  await server.close();
  isolate.dispose();
});
