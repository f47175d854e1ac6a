// The connections of `createPluginFetch`: how much of what servers send is handled in one turn of the event loop.

import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { connect, SharedWork } from '../../../surface/host/sandbox/plugin/network/connections.js';
import { Work } from '../../../surface/host/work.js';
import { Body, Memory } from '../../../surface/host/sandbox/plugin/network/response-body.js';
import { until } from '../../sandbox/plugin-helper.mjs';

test('all connections together share a slice of each turn, and wait for it like one piece of work', async () => {
  const SIZE = 500_000;
  const COUNT = 8;
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
  let pieces = 0;
  const received = Array(COUNT).fill(0);
  const waits = [];
  try {
    const work = new SharedWork();
    for (const index of received.keys()) {
      const connection = connect(url, undefined, undefined, work);
      connection.on('data', (piece) => {
        assert.ok(piece.length <= 16_384);
        received[index] += piece.length;
        pieces += 1;
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
        // What parsing chunks of one byte takes.
        const end = performance.now() + 4;
        while (performance.now() < end);
      });
      connection.on('end', () => connection.destroy());
    }
    await until(() => received.every((bytes) => bytes > 0));
    const other = new Work();
    while (received.some((bytes) => bytes < SIZE)) {
      const before = pieces;
      await other.turn();
      waits.push(pieces - before);
    }
  } finally {
    isOver = true;
    server.close();
  }
  // A slice of 16 ms has room for four, and one may begin before it is known to be over.
  assert.ok(Math.max(...perTurn.values()) <= 8, `${Math.max(...perTurn.values())} pieces in one turn`);
  const typical = waits.toSorted((one, two) => one - two)[Math.floor(waits.length / 2)];
  assert.ok(typical <= 12, `other work waited for ${typical} pieces`);
});

test('the responses of one function share memory, and all but the oldest wait for it', () => {
  const memory = new Memory(2_000);
  const [first, second, third] = [1_500, 1_500, 1_500].map((limit) => new Body(limit, memory));
  const retries = [];
  const add = (body, bytes) => body.add(Buffer.alloc(bytes, 'a'), () => retries.push(body));
  assert.ok(add(first, 500) && add(second, 900));
  assert.equal(add(third, 700), false);
  // The oldest always gets what its own limit permits.
  assert.ok(add(first, 1_000));
  assert.throws(() => add(first, 1), { code: 'ERR_ISOLATE_LIMIT' });
  assert.equal(add(second, 500), false);
  assert.deepEqual(retries, []);
  first.release();
  assert.deepEqual(new Set(retries), new Set([third, second]));
  assert.ok(add(second, 500));
  assert.equal(add(third, 700), false);
  assert.equal(add(first, 1), false);
  third.release();
  second.release();
  // Nothing is left of them.
  const last = new Body(5_000, memory);
  const other = new Body(5_000, memory);
  assert.ok(add(last, 1_000) && add(other, 1_000));
  assert.equal(add(other, 1_000), false);
  assert.equal(last.bytes.length, 1_000);
});

test('responses that have waited for memory arrive', async () => {
  const SIZE = 190_000;
  const beginning = Buffer.alloc(SIZE - 1, 'a');
  const sockets = [];
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      sockets.push(socket);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
      socket.write(beginning);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const fetch = ivm.createPluginFetch({ allowedDomains: ['127.0.0.1'], maxBodySize: 200_000, timeout: 60_000 });
    const responses = Array.from({ length: 40 }, () => fetch(`http://127.0.0.1:${server.address().port}/`));
    await until(() => sockets.length === 40);
    for (const socket of sockets) socket.write('b');
    for (const { body } of await Promise.all(responses)) assert.ok(body.length === SIZE && body.endsWith('ab'));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
