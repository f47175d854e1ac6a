// `isolated-v8/inspector`: a real client over a real WebSocket.

import { createRequire } from 'node:module';
import { request } from 'node:http';
import { connect as netConnect } from 'node:net';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { ivm } from '../../api/ivm.mjs';
import { serve } from '../../../adapters/inspector.js';
import { host, run } from '../../harness.mjs';
import { Client } from '../../inspector/client.mjs';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

async function served(body, options) {
  const isolate = new ivm.Isolate({ inspector: true });
  const context = await isolate.createContext({ inspector: true });
  const server = await serve(isolate, { port: 0, ...options });
  try {
    await body({ isolate, context, server });
  } finally {
    await server.close();
    if (!isolate.isDisposed) isolate.dispose();
  }
}

/** @returns {Promise<{ client: Client, closed: Promise<number> }>} */
const connect = (url) => new Promise((resolve, reject) => {
  const socket = new WebSocket(url);
  const client = new Client((message) => socket.send(message), () => socket.close());
  const closed = new Promise((over) => { socket.on('close', (code) => over(code)); });
  socket.on('message', (data) => client.take(String(data)));
  socket.on('error', reject);
  socket.on('open', () => resolve({ client, closed }));
});

const get = (port, path, headers) => new Promise((resolve, reject) => {
  request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk) => { body += chunk; });
    response.on('end', () => resolve({ status: response.statusCode, body }));
  }).on('error', reject).end();
});

/** The status of an attempt to open a WebSocket. */
const statusOf = (port, path, headers) => new Promise((resolve, reject) => {
  const attempt = request({
    host: '127.0.0.1', port, path, agent: false,
    headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==', ...headers },
  });
  attempt.on('response', (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  attempt.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response.statusCode);
  });
  attempt.on('error', reject).end();
});

test('a client sets a breakpoint, receives the pause, inspects variables and resumes', () => served(async ({ context, server }) => {
  const { client, closed } = await connect(server.url);
  await client.call('Runtime.enable');
  await client.call('Debugger.enable');
  await context.eval('function twice(a) {\n  return a * 2;\n}', { filename: 'file:///twice.js' });
  await client.call('Debugger.setBreakpointByUrl', { url: 'file:///twice.js', lineNumber: 1 });
  const result = context.eval('twice(21)');
  const { callFrames: [{ callFrameId, functionName }] } = await client.event('Debugger.paused');
  assert.equal(functionName, 'twice');
  const { result: found } = await client.call('Debugger.evaluateOnCallFrame', { callFrameId, expression: 'a + 1' });
  assert.equal(found.value, 22);
  await client.call('Debugger.resume');
  assert.equal(await result, 42);
  client.close();
  await closed;
}));

test('a paused guest resumes when its client disconnects', () => served(async ({ context, server }) => {
  const { client, closed } = await connect(server.url);
  await client.call('Debugger.enable');
  const result = context.eval('debugger; "ran on"');
  await client.event('Debugger.paused');
  client.close();
  assert.equal(await result, 'ran on');
  await closed;
}));

test('clients are disconnected with a reason when no session can be opened', () => served(async ({ isolate, server }) => {
  // After this, `serve` has no session of its own any more.
  const { client } = await connect(server.url);
  await client.call('Runtime.enable');
  const sessions = [];
  assert.throws(() => { for (;;) sessions.push(isolate.createInspectorSession()); }, { name: 'RangeError', message: 'Too many inspector sessions are open' });
  const socket = new WebSocket(server.url);
  const closed = await new Promise((resolve) => { socket.on('close', (code, reason) => resolve([code, String(reason)])); });
  assert.deepEqual(closed, [1011, 'Too many inspector sessions are open']);
  for (const session of sessions) session.dispose();
}));

test('clients are disconnected when the isolate ends', () => served(async ({ isolate, server }) => {
  const { client, closed } = await connect(server.url);
  await client.call('Runtime.enable');
  isolate.dispose();
  assert.equal(await closed, 1001);
}));

test('DevTools finds it', () => served(async ({ server }) => {
  const [target, ...more] = JSON.parse((await get(server.port, '/json/list')).body);
  assert.equal(more.length, 0);
  assert.match(target.id, UUID);
  assert.equal(target.title, 'a guest');
  assert.equal(target.type, 'node');
  assert.equal(target.webSocketDebuggerUrl, `ws://127.0.0.1:${server.port}/${target.id}`);
  assert.equal(server.url, target.webSocketDebuggerUrl);
  assert.ok(server.devtoolsUrl.endsWith(`ws=127.0.0.1:${server.port}/${target.id}`));
  assert.deepEqual(JSON.parse((await get(server.port, '/json')).body), [target]);
  const { version } = createRequire(import.meta.url)('../../../package.json');
  assert.deepEqual(JSON.parse((await get(server.port, '/json/version')).body), { Browser: `isolated-v8/${version}`, 'Protocol-Version': '1.3' });
  assert.equal((await get(server.port, '/')).status, 404);
}, { title: 'a guest' }));

test('web pages and unknown host names are rejected', () => served(async ({ server }) => {
  const path = new URL(server.url).pathname;
  const local = { Host: `127.0.0.1:${server.port}` };
  const statuses = async (headers) => [(await get(server.port, '/json/list', headers)).status, await statusOf(server.port, path, headers)];
  assert.deepEqual(await statuses(local), [200, 101]);
  assert.deepEqual(await statuses({ Host: 'localhost' }), [200, 101]);
  assert.deepEqual(await statuses({ Host: '[::1]:9229' }), [200, 101]);
  assert.deepEqual(await statuses({ Host: 'rebound.example:9229' }), [403, 403]);
  assert.deepEqual(await statuses({ ...local, Origin: 'devtools://devtools' }), [200, 101]);
  assert.deepEqual(await statuses({ ...local, Origin: 'https://allowed.example' }), [200, 101]);
  assert.deepEqual(await statuses({ ...local, Origin: 'http://127.0.0.1:8080' }), [403, 403]);
  assert.deepEqual(await statuses({ ...local, Origin: 'null' }), [403, 403]);
  assert.equal(await statusOf(server.port, '/', local), 404);
}, { origins: ['https://allowed.example'] }));

test('wrong arguments', async () => {
  const isolate = new ivm.Isolate();
  await assert.rejects(serve(isolate), { message: 'Inspector is not enabled for this isolate' });
  await assert.rejects(serve({}), { name: 'TypeError', code: 'ERR_INVALID_ARG' });
  for (const options of [{ port: -1 }, { port: '1' }, { host: 1 }, { title: 1 }, { origins: 'a' }]) {
    await assert.rejects(serve(isolate, options), { name: 'TypeError', code: 'ERR_INVALID_ARG' });
  }
  for (const options of [{ origin: 'https://allowed.example' }, { hostname: '127.0.0.1' }]) {
    const message = `Unknown option \`${Object.keys(options)[0]}\`. The options are \`port\`, \`host\`, \`title\`, \`origins\``;
    await assert.rejects(serve(isolate, options), { name: 'TypeError', code: 'ERR_INVALID_ARG', message });
  }
  isolate.dispose();
});

test('an address in use is an error', () => served(async ({ isolate, server }) => {
  await assert.rejects(serve(isolate, { port: server.port }), { code: 'EADDRINUSE' });
}));

test('close() can be called twice', () => served(async ({ server }) => {
  const { closed } = await connect(server.url);
  assert.equal(server.close(), server.close());
  await Promise.all([server.close(), closed]);
}));

/** A client that sends a text, and neither reads nor closes by itself. */
const openSocket = (port, text) => new Promise((resolve, reject) => {
  const socket = netConnect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
    socket.write(text, () => resolve(socket));
  });
  socket.on('error', reject);
});

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

/** What clients may send that keep their end open. */
const LINGERING = {
  'an upgrade of another path': `GET /other HTTP/1.1\r\nHost: 127.0.0.1\r\n${UPGRADE}\r\n`,
  'an upgrade from a page': `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://example.com\r\n${UPGRADE}\r\n`,
  'an upgrade for another host': `GET / HTTP/1.1\r\nHost: example.com\r\n${UPGRADE}\r\n`,
  'nothing': '',
  'half a request': 'GET /json HTTP/1.1\r\nHost: 127',
  'no HTTP': '\0\0\0\r\n\r\n',
  'a request without an end': 'POST /json HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n',
};

for (const [name, text] of Object.entries(LINGERING)) {
  test(`close() settles while clients keep their end open: ${name}`, { timeout: 20_000 }, async () => {
    const isolate = new ivm.Isolate({ inspector: true });
    const server = await serve(isolate, { port: 0 });
    const clients = await Promise.all(Array.from({ length: 3 }, () => openSocket(server.port, text)));
    for (const client of clients) client.on('error', () => {});
    await server.close();
    for (const client of clients) client.destroy();
    isolate.dispose();
  });
}

test('a refused WebSocket is closed in both directions', { timeout: 20_000 }, async () => {
  await served(async ({ server }) => {
    const clients = [];
    // More than may be connected at the same time.
    for (let count = 0; count < 300; count += 1) {
      const socket = await openSocket(server.port, LINGERING['an upgrade of another path']);
      socket.on('error', () => {});
      socket.resume();
      await new Promise((resolve) => { socket.on('end', resolve).on('close', resolve); });
      clients.push(socket);
    }
    assert.equal((await get(server.port, '/json/version')).status, 200);
    for (const client of clients) client.destroy();
  });
});

test('errors of a listening server do not end the process', { skip: host === 'deno' && 'its server is not a net.Server' }, async () => {
  const { code, stdout, stderr } = await run(`
    import http from 'node:http';
    import { createRequire } from 'node:module';
    const { createServer } = http;
    const made = [];
    http.createServer = (...args) => { made.push(createServer(...args)); return made.at(-1); };
    const { serve } = createRequire(import.meta.url)('../../adapters/inspector.js');
    const isolate = new ivm.Isolate({ inspector: true });
    const server = await serve(isolate, { port: 0 });
    for (let i = 0; i < 3; i += 1) made[0].emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    const answer = await fetch('http://127.0.0.1:' + server.port + '/json/version', { headers: { connection: 'close' } });
    console.log(answer.status);
    await server.close();
    isolate.dispose();`);
  assert.deepEqual([code, stdout.trim()], [0, '200'], stderr);
});

const TEXT_FRAME = 0x81;
const MASKED = 0x80;
/** A client that ignores what it gets, and has sent these messages together. */
async function flood(server, messages) {
  const { pathname } = new URL(server.url);
  const socket = await openSocket(server.port, `GET ${pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n${UPGRADE}\r\n`);
  await new Promise((resolve) => { socket.once('data', resolve); });
  socket.on('error', () => {}).resume();
  // With a mask of zeros.
  socket.write(Buffer.concat(messages.map((text) => Buffer.from([TEXT_FRAME, MASKED | text.length, 0, 0, 0, 0, ...Buffer.from(text)]))));
  return socket;
}

/** What `flood` leads to, in an isolate whose sessions do as the function says. */
async function withFlood(messages, dispatchProtocolMessage, body) {
  const counts = { dispatched: 0, open: 0 };
  const createInspectorSession = () => {
    counts.open += 1;
    return { dispatchProtocolMessage: () => { counts.dispatched += 1; dispatchProtocolMessage(counts); }, dispose: () => { counts.open -= 1; } };
  };
  const server = await serve({ isDisposed: false, createInspectorSession }, { port: 0 });
  const client = await flood(server, messages);
  try {
    await body({ client, counts, server });
  } finally {
    client.destroy();
    await server.close();
  }
}

const COUNT = 1_000;

test('after an error, nothing more of the client is dispatched', { timeout: 20_000 }, () => {
  const fail = () => { throw new RangeError('Too many messages wait for the isolate'); };
  // It does not close its side.
  return withFlood(Array(COUNT).fill('{'), fail, async ({ client, counts, server }) => {
    await new Promise((resolve) => { client.once('end', resolve).once('close', resolve).once('data', resolve); });
    assert.equal((await get(server.port, '/json/version')).status, 200);
    assert.deepEqual(counts, { dispatched: 1, open: 0 });
  });
});

test('messages that arrive together do not block the event loop', { timeout: 20_000, skip: host === 'bun' && 'its WebSocketServer is its own' }, async () => {
  let [inTurn, longest] = [0, 0];
  /** @type {() => void} */
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  const count = ({ dispatched }) => {
    if (inTurn === 0) setImmediate(() => { inTurn = 0; });
    inTurn += 1;
    longest = Math.max(longest, inTurn);
    if (dispatched === COUNT) finish();
  };
  await withFlood(Array(COUNT).fill('{}'), count, () => finished);
  assert.ok(longest < 10, `${longest} in one turn`);
});

test('a connection gets one answer, however many requests it sends', { timeout: 20_000 }, () => served(async ({ server }) => {
  const socket = netConnect(server.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => { text += chunk; });
  // It is closed while it still sends.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => { socket.on('close', resolve); });
  socket.write('GET /json/version HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000));
  await closed;
  assert.equal(text.split('HTTP/1.1 200').length - 1, 1);
  assert.equal((await get(server.port, '/json/version')).status, 200);
}));

test('few connections have no session at a time', { timeout: 20_000 }, () => served(async ({ server }) => {
  const opened = (url) => new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.on('open', () => resolve(socket));
    socket.on('error', reject);
  });
  const sessions = [];
  for (let index = 0; index < 20; index += 1) sessions.push(await opened(server.url));
  const silent = Array.from({ length: 40 }, () => netConnect(server.port, '127.0.0.1').on('error', () => {}));
  const closed = new Set();
  await new Promise((resolve) => {
    for (const socket of silent) socket.resume().on('close', () => { if (closed.add(socket).size === 24) resolve(); });
  });
  // The others wait for their requests.
  const answers = silent.filter((socket) => !closed.has(socket)).map((socket) => new Promise((resolve) => {
    socket.once('data', (data) => resolve(String(data).startsWith('HTTP/1.1 200')));
    socket.write('GET /json/version HTTP/1.1\r\nHost: localhost\r\n\r\n');
  }));
  assert.deepEqual(await Promise.all(answers), Array.from({ length: 16 }, () => true));
  assert.ok(sessions.every(({ readyState }) => readyState === WebSocket.OPEN));
  for (const session of sessions) session.close();
}));

test('after `close`, nothing more of the client is dispatched', { timeout: 20_000 }, () => {
  /** @type {() => void} */
  let begin;
  const begun = new Promise((resolve) => { begin = resolve; });
  return withFlood(Array(COUNT).fill('{}'), ({ dispatched }) => { if (dispatched === 1) begin(); }, async ({ counts, server }) => {
    await begun;
    await server.close();
    const { dispatched } = counts;
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => { setImmediate(resolve); });
    assert.deepEqual(counts, { dispatched, open: 0 });
  });
});
