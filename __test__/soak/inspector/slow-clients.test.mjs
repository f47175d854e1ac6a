// Messages that wait for clients which do not read take a bounded amount of memory, however many such clients there are.

import test from 'node:test';
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import ivm from '../../../index.js';
import { serve } from '../../../adapters/inspector.js';
import { host } from '../../harness.mjs';

const CLIENTS = 4;
/** Megabytes for each client: less than may wait for all, and together more than that. */
const MESSAGES = 100;

test('the slowest clients are cut off if too much waits for all', { skip: !host.startsWith('node') && 'not on this host', timeout: 60_000 }, async () => {
  const isolate = new ivm.Isolate({ inspector: true });
  const context = await isolate.createContext({ inspector: true });
  const server = await serve(isolate, { port: 0 });
  const connect = () => new Promise((resolve, reject) => {
    const socket = new WebSocket(server.url);
    const client = { socket, messages: 0, closed: new Promise((over) => { socket.on('close', () => over(true)); }) };
    socket.on('error', reject);
    socket.on('open', () => socket.send('{"id":1,"method":"Runtime.enable"}'));
    socket.on('message', (data) => {
      client.messages += Number(data.length > 2 ** 20);
      if (String(data.subarray(0, 20)).includes('"id":1')) resolve(client);
    });
  });
  try {
    const slow = [];
    for (let count = 0; count < CLIENTS; count += 1) slow.push(await connect());
    for (const { socket } of slow) socket.pause();
    const reader = await connect();
    await context.eval(`for (let i = 0; i < ${MESSAGES}; i++) console.log('x'.repeat(2 ** 20))`);
    while (reader.messages < MESSAGES && reader.socket.readyState === WebSocket.OPEN) await new Promise((resolve) => { setTimeout(resolve, 10); });
    assert.equal(reader.messages, MESSAGES);
    const arrived = new Promise((resolve) => { setTimeout(() => resolve(false), 5_000); });
    for (const { socket } of slow) socket.resume();
    const complete = slow.map((client) => new Promise((resolve) => { client.socket.on('message', () => client.messages === MESSAGES && resolve(false)); }));
    const cut = await Promise.all(slow.map(({ closed }, index) => Promise.race([closed, complete[index], arrived])));
    assert.ok(cut.includes(true) && cut.includes(false), `${cut}`);
  } finally {
    await server.close();
    isolate.dispose();
  }
});
