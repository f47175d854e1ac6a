// The connections of `createPluginFetch`: how much of what servers send is handled in one turn of the event loop.

import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { connect } from '../../../surface/host/sandbox/connections.js';
import { until } from '../../sandbox/plugin-helper.mjs';

test('all connections together share a slice of each turn', async () => {
  const SIZE = 300_000;
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.end(Buffer.alloc(SIZE));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${server.address().port}/`);
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  next();
  const perTurn = new Map();
  const received = [];
  try {
    for (let index = 0; index < 6; index += 1) {
      received[index] = 0;
      const connection = connect(url, undefined, undefined);
      connection.on('data', (piece) => {
        assert.ok(piece.length <= 4096);
        received[index] += piece.length;
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
        // What parsing chunks of one byte takes.
        const end = performance.now() + 4;
        while (performance.now() < end);
      });
      connection.on('end', () => connection.destroy());
    }
    await until(() => received.every((bytes) => bytes === SIZE));
  } finally {
    isOver = true;
    server.close();
  }
  // A slice of 16 ms has room for four, and one may begin before it is known to be over.
  assert.ok(Math.max(...perTurn.values()) <= 8, `${Math.max(...perTurn.values())} pieces in one turn`);
});
