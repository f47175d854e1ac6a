// `createPluginFetch`: what it reaches, with servers on this machine that redirect.

import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import ivm from '../../../index.mjs';
import { hostContext, manifest, plugin, until } from '../../sandbox/plugin-helper.mjs';

const { createPluginFetch } = ivm;

// Made for this test, for the name `localhost`, valid until 2126.
const pem = (kind, base64) => `-----BEGIN ${kind}-----\n${base64.match(/.{1,64}/g).join('\n')}\n-----END ${kind}-----\n`;
const key = pem('PRIVATE KEY', 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqzOntvBjdoDhep//Qv0p1Mu2mbEEjxeAFiA6JopvouWhRANCAATu3YixtZ1RUggcREGbB9fPh67Pm8WgCo+GH4KwfZwTf4V34tPifW+n+zPnvUfcDTn5h0vhMKrlM6btAGfLKjU9');
const cert = pem('CERTIFICATE', 'MIIBlDCCATugAwIBAgIUWKyW8JE4zuX9v1d9khR/IHAqPVwwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzAwNDkxN1oYDzIxMjYxMDMwMDA0OTE3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATu3YixtZ1RUggcREGbB9fPh67Pm8WgCo+GH4KwfZwTf4V34tPifW+n+zPnvUfcDTn5h0vhMKrlM6btAGfLKjU9o2kwZzAdBgNVHQ4EFgQUQHrWecuMfmXX/3jB9TX0TCpCMIowHwYDVR0jBBgwFoAUQHrWecuMfmXX/3jB9TX0TCpCMIowDwYDVR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDRwAwRAIgKCRPMpv2eSjrzlwboc6hTPMzuNVegaomrvtMjRizeFsCIDYUFwTVu7BpwgZue0mm4Kj+oUYlFs/M2f+21l7aJEwm');

/** The name that a query for name servers asks for. */
function nameIn(query) {
  const labels = [];
  for (let at = 12; query[at] > 0; at += 1 + query[at]) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
  return labels.join('.').toLowerCase();
}

/** An answer with one IPv4 address, or that there is no such name. */
function answerTo(query, address) {
  const end = query.indexOf(0, 12) + 5;
  const has = address !== undefined && query[end - 3] === 1;
  const head = Buffer.from([query[0], query[1], 0x81, address === undefined ? 0x83 : 0x80, 0, 1, 0, has ? 1 : 0, 0, 0, 0, 0]);
  return Buffer.concat([head, query.subarray(12, end), Buffer.from(has ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address] : [])]);
}

let server;
let secure;
let port;
let tls;
const requests = [];

function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    requests.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
    if (pathname === '/to') {
      response.writeHead(Number(searchParams.get('status') ?? 302), { location: searchParams.get('url') });
      response.end('moved');
    } else if (pathname === '/long') {
      response.write('x'.repeat(5_000));
      response.end('x'.repeat(5_000));
    } else if (pathname === '/announced') {
      response.writeHead(200, { 'content-length': '1000000' });
      response.write('x');
    } else if (pathname === '/cut') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    } else if (pathname !== '/never') {
      response.writeHead(pathname === '/missing' ? 404 : 200, { 'content-type': 'text/plain', 'x-one': ['a', 'b'] });
      response.end(`${request.method} ${request.url}`);
    }
  });
}

const listen = (each) => new Promise((resolve) => { each.listen(0, '127.0.0.1', () => resolve(each.address().port)); });

before(async () => {
  server = http.createServer(answer);
  secure = https.createServer({ key, cert }, answer);
  port = await listen(server);
  tls = await listen(secure);
});
after(() => {
  for (const each of [server, secure]) {
    each.closeAllConnections();
    each.close();
  }
});

const local = (more = {}) => createPluginFetch({ allowedDomains: ['localhost'], ...more });
const at = (path) => `http://localhost:${port}${path}`;
const to = (url, status = 302) => at(`/to?status=${status}&url=${encodeURIComponent(url)}`);
const denied = { code: 'ERR_ISOLATE_PERMISSION' };
const wrong = { code: 'ERR_INVALID_ARG' };

describe('createPluginFetch', () => {
  test('returns a response as data', async () => {
    const fetch = local();
    const { headers, ...response } = await fetch(at('/a?b#c'));
    assert.deepEqual(response, { url: at('/a?b#c'), status: 200, statusText: 'OK', ok: true, redirected: false, body: 'GET /a?b' });
    assert.deepEqual([headers['content-type'], headers['x-one']], ['text/plain', 'a, b']);
    assert.equal((await fetch(at('/missing'))).ok, false);
    const posted = await fetch(at('/post'), { method: 'POST', body: 'ü', headers: { 'X-Own': 'yes', 'content-type': 'text/plain' }, responseType: 'bytes' });
    assert.deepEqual([posted.body.constructor, Buffer.from(posted.body).toString()], [Uint8Array, 'POST /post']);
    const { method, body, headers: sent } = requests.at(-1);
    assert.deepEqual([method, body, sent['x-own'], sent['content-length'], sent['accept-encoding'], sent.host], ['POST', 'ü', 'yes', '2', 'identity', `localhost:${port}`]);
    await fetch(at('/'), { method: 'PUT', body: Uint8Array.of(104, 105) });
    assert.equal(requests.at(-1).body, 'hi');
    assert.equal((await fetch(at('/'), { method: 'HEAD' })).body, '');
  });

  test('serves a plugin', async () => {
    const made = manifest({ permissions: { network: { allowedDomains: ['localhost'] } } });
    const { sandbox, execute } = await plugin({ manifest: made, context: hostContext({ fetch: local() }) });
    assert.deepEqual(await execute(`context.fetch('HTTP://LOCALHOST:${port}/x/../y', { method: 'DELETE' }).then(({ status, body }) => [status, body])`), [200, 'DELETE /y']);
    assert.equal((await execute(`context.fetch('http://localhost:${port}/', { responseType: 'bytes' })`)).body.length, 5);
    await assert.rejects(execute(`context.fetch(${JSON.stringify(to(`http://127.0.0.1:${port}/`))})`), /The redirect leads to 127\.0\.0\.1, which is not permitted/);
    await assert.rejects(execute(`context.fetch('http://127.0.0.1:${port}/')`), { kind: 'NETWORK' });
    sandbox.disposeAll();
  });

  test('follows redirects to permitted hosts only', async () => {
    const fetch = local();
    const { url, redirected, body } = await fetch(to('/to?url=%2Fend'));
    assert.deepEqual([url, redirected, body], [at('/end'), true, 'GET /end']);
    assert.equal((await fetch(to(`//localhost:${port}/end`))).url, at('/end'));
    const count = requests.length;
    for (const target of [
      `http://127.0.0.1:${port}/`, `//127.0.0.1:${port}/`, `http://127.1:${port}/`, `http://2130706433:${port}/`, `http://[::1]:${port}/`, 'http://evil.test/', `http://localhost.evil.test/`, `http:\\\\127.0.0.1:${port}/`, `/\\127.0.0.1:${port}/`, '\t//evil.test/',
      `http://user@localhost:${port}/`, `http://:p@localhost:${port}/`, `http://localhost@127.0.0.1:${port}/`, 'file:///etc/passwd', 'data:text/plain,x', 'blob:http://localhost/x', 'ftp://localhost/', 'ws://localhost/', 'javascript:1', 'http://', 'http://localhost:99999/', 'unix:/x',
    ]) {
      const error = await fetch(to(target)).then((response) => assert.fail(`${target}: ${response.body}`), (each) => each);
      assert.match(error.code, /^ERR_ISOLATE_PERMISSION$|^ERR_INVALID_ARG$/, `${target}: ${error.stack}`);
    }
    assert.ok(requests.slice(count).every((each) => each.url.startsWith('/to?')), 'no target was reached');
  });

  test('follows redirects as requested, up to the limit', async () => {
    const fetch = local();
    const { status, headers, redirected, body } = await fetch(to('http://evil.test/'), { redirect: 'manual' });
    assert.deepEqual([status, headers.location, redirected, body], [302, 'http://evil.test/', false, '']);
    await assert.rejects(fetch(to('/end'), { redirect: 'error' }), denied);
    const loop = at('/to?url=').concat(encodeURIComponent('/to?url=x'));
    const count = requests.length;
    await assert.rejects(local({ maxRedirects: 0 })(loop), { ...denied, message: 'There are more than 0 redirects' });
    assert.equal(requests.length, count + 1);
    let nested = '/end';
    for (let i = 0; i < 6; i += 1) nested = `/to?url=${encodeURIComponent(nested)}`;
    await assert.rejects(fetch(at(nested)), { ...denied, message: 'There are more than 5 redirects' });
    assert.equal((await local({ maxRedirects: 6 })(at(nested))).body, 'GET /end');
  });

  test('a redirect changes the method as browsers do, and sends no credentials to another origin', async () => {
    const fetch = local();
    const init = { method: 'POST', body: 'body', headers: { authorization: 'a', cookie: 'c', 'content-type': 'text/plain', 'x-own': 'yes' } };
    for (const [status, method, body] of [[301, 'GET', ''], [302, 'GET', ''], [303, 'GET', ''], [307, 'POST', 'body'], [308, 'POST', 'body']]) {
      await fetch(to('/end', status), init);
      const last = requests.at(-1);
      assert.deepEqual([last.method, last.body, last.headers['content-type'] === undefined, last.headers.authorization, last.headers.cookie], [method, body, method === 'GET', 'a', 'c'], String(status));
    }
    const other = http.createServer(answer);
    const otherPort = await listen(other);
    await fetch(to(`http://localhost:${otherPort}/end`, 307), init);
    const { headers, body } = requests.at(-1);
    assert.deepEqual([headers.authorization, headers.cookie, headers['x-own'], headers.host, body], [undefined, undefined, 'yes', `localhost:${otherPort}`, 'body']);
    other.closeAllConnections();
    other.close();
  });

  test('a name with a private address is refused, unless its domain may have one', async () => {
    const { lookup, Resolver } = dns;
    let looks = 0;
    let addresses = [];
    dns.Resolver = class {
      resolve4(_hostname, callback) { setImmediate(() => callback(null, addresses.filter((address) => !address.includes(':')))); }
      resolve6(_hostname, callback) { setImmediate(() => callback(null, addresses.filter((address) => address.includes(':')))); }
      cancel() {}
    };
    dns.lookup = (hostname, options, callback) => {
      looks += 1;
      setImmediate(() => (options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)));
    };
    try {
      const fetch = createPluginFetch({ allowedDomains: ['api.example.com'], timeout: 1_000 });
      const count = requests.length;
      for (addresses of [
        ['127.0.0.1'], ['0.0.0.0'], ['10.1.2.3'], ['172.31.0.1'], ['192.168.1.1'], ['169.254.169.254'], ['168.63.129.16'], ['100.64.0.1'], ['224.0.0.1'], ['255.255.255.255'], ['::1'], ['::'], ['fe80::1'], ['fe80::1%lo'], ['fd00::1'], ['::ffff:127.0.0.1'],
        ['64:ff9b::7f00:1'], ['2002:7f00:1::'], ['ff02::1'], ['not an address'], ['93.184.216.34', '127.0.0.1'], ['2606:2800:220:1::1', '::1'], ['93.184.216.34', '::1'], [],
      ]) {
        await assert.rejects(fetch(`http://api.example.com:${port}/`), /not public/, String(addresses));
      }
      assert.deepEqual([requests.length, looks], [count, 0]);
      // The connection goes to the address that the one lookup has returned.
      const { body, url } = await createPluginFetch({ allowedDomains: ['api.example.com'], privateDomains: ['example.com'] })(`http://api.example.com:${port}/x`);
      assert.deepEqual([body, url, looks, requests.at(-1).headers.host], ['GET /x', `http://api.example.com:${port}/x`, 1, `api.example.com:${port}`]);
    } finally {
      Object.assign(dns, { lookup, Resolver });
    }
    assert.equal((await createPluginFetch({ allowedDomains: ['127.0.0.1'] })(`http://127.0.0.1:${port}/x`)).body, 'GET /x');
    // If a name is the machine's own and only an ordinary domain is allowed, its address decides.
    await assert.rejects(createPluginFetch({ allowedDomains: ['127.0.0.1'] })(at('/')), denied);
  });

  test('name servers that do not answer delay only the lookups of the same function, of which eight run at a time', async () => {
    const { Resolver } = dns;
    const names = dgram.createSocket('udp4');
    await new Promise((resolve) => { names.bind(0, '127.0.0.1', resolve); });
    const asked = new Set();
    let cancelled = 0;
    names.on('message', (query, sender) => {
      const name = nameIn(query);
      asked.add(name);
      if (!name.startsWith('slow')) names.send(answerTo(query, name === 'other.example.com' ? [10, 0, 0, 1] : undefined), sender.port, sender.address);
    });
    dns.Resolver = class extends Resolver {
      constructor(...options) {
        super(...options);
        this.setServers([`127.0.0.1:${names.address().port}`]);
      }

      cancel() {
        cancelled += 1;
        super.cancel();
      }
    };
    try {
      const reason = (promise) => promise.then(() => 'answered', ({ message }) => message);
      const slow = createPluginFetch({ allowedDomains: ['example.org'], timeout: 3_000 });
      const other = createPluginFetch({ allowedDomains: ['example.com'], timeout: 60_000 });
      const all = Array.from({ length: 30 }, (_, index) => reason(slow(`http://slow${index}.example.org/`)));
      await until(() => asked.size === 8);
      assert.match(await reason(other('http://other.example.com/')), /other\.example\.com has an address that is not public/);
      assert.match(await reason(other('http://unknown.example.com/')), /ENOTFOUND/);
      assert.deepEqual([...asked].filter((name) => name.endsWith('.org')).toSorted(), Array.from({ length: 8 }, (_, index) => `slow${index}.example.org`));
      // The lookups of requests that have ended end, and the others of the function begin.
      assert.deepEqual([...new Set(await Promise.all(all))], ['The request took longer than 3000 ms']);
      assert.ok(cancelled >= 8, `${cancelled} lookups were cancelled`);
      assert.match(await reason(slow('http://next.example.org/')), /ENOTFOUND/);
    } finally {
      dns.Resolver = Resolver;
      names.close();
    }
  });

  test('a name in the hosts file has the addresses there', async () => {
    const { Resolver } = dns;
    dns.Resolver = class {
      constructor() { throw new Error('asked a name server'); }
    };
    try {
      // Its address is this machine's, which only private domains may have.
      await assert.rejects(createPluginFetch({ allowedDomains: ['example.com'] })('http://example.com/'), /asked a name server/);
      const listed = /^[ \t]*127\.\S+[ \t]+(?:localhost[ \t]+)*(?!localhost)([\w.-]+)/m.exec(readFileSync('/etc/hosts', 'utf8'))?.[1];
      if (listed !== undefined) await assert.rejects(createPluginFetch({ allowedDomains: [listed] })(`http://${listed}/`), /has an address that is not public/);
    } finally {
      dns.Resolver = Resolver;
    }
  });

  test('https, with the certificate of the name', async () => {
    const fetch = local({ ca: cert });
    assert.equal((await fetch(`https://localhost:${tls}/x`)).body, 'GET /x');
    await assert.rejects(local()(`https://localhost:${tls}/x`));
    await assert.rejects(createPluginFetch({ allowedDomains: ['127.0.0.1'], ca: cert })(`https://127.0.0.1:${tls}/x`));
    await assert.rejects(fetch(`https://localhost:${tls}/to?url=${encodeURIComponent(at('/end'))}`), { ...denied, message: 'The redirect leads from `https:` to `http:`' });
  });

  test('bounds size and time', async () => {
    const fetch = local({ maxBodySize: 9_999, timeout: 300 });
    await assert.rejects(fetch(at('/long')), { code: 'ERR_ISOLATE_LIMIT', message: 'Response exceeds the maximum body size of 9999 bytes' });
    assert.equal((await local({ maxBodySize: 10_000 })(at('/long'))).body.length, 10_000);
    await assert.rejects(fetch(at('/'), { method: 'POST', body: 'x'.repeat(10_000) }), { code: 'ERR_INVALID_ARG', message: '`body` must be of at most 9999 bytes' });
    await assert.rejects(fetch(at('/'), { method: 'POST', body: '\u4e00'.repeat(4_000) }), { code: 'ERR_INVALID_ARG', message: '`body` must be of at most 9999 bytes' });
    for (const path of ['/never', '/announced']) await assert.rejects(fetch(at(path)), { code: 'ERR_ISOLATE_DEADLINE' }, path);
    await assert.rejects(local()(at('/cut')));
  });

  test('bounds chunks, which cost more than their bytes', async () => {
    const piece = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
    const begin = 'HTTP/1.1 200 OK\r\nconnection: close\r\n';
    const answers = {
      '/pieces': [`${begin}transfer-encoding: chunked\r\n\r\n`, piece('a').repeat(10_000), 20],
      '/few': [`${begin}transfer-encoding: chunked\r\n\r\n`, piece('a').repeat(1_000) + piece('b'.repeat(70)).repeat(1_000), 50, piece('')],
      '/interim': ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(150), 1, `${begin}content-length: 0\r\n\r\n`],
      '/hint': ['', 'HTTP/1.1 103 Early Hints\r\n\r\n', 5, `${begin}content-length: 2\r\n\r\nok`],
    };
    const raw = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (request) => {
        const [start, part, times, end = ''] = answers[/ (\S+)/.exec(request.toString())[1]];
        socket.write(start);
        for (let time = 0; time < times; time += 1) socket.write(part);
        socket.end(end);
      });
    });
    await new Promise((resolve) => { raw.listen(0, resolve); });
    const fetch = local({ timeout: 10_000 });
    const url = (path) => `http://localhost:${raw.address().port}${path}`;
    try {
      await assert.rejects(fetch(url('/pieces')), { code: 'ERR_ISOLATE_LIMIT', message: 'Response has too many small chunks' });
      assert.equal((await fetch(url('/few'))).body, ('a'.repeat(1_000) + 'b'.repeat(70_000)).repeat(50));
      await assert.rejects(fetch(url('/interim')), { code: 'ERR_ISOLATE_LIMIT', message: 'Response has too many interim responses' });
      assert.equal((await fetch(url('/hint'))).body, 'ok');
    } finally {
      raw.close();
    }
  });

  test('a server that switches to another protocol is refused at once', async () => {
    const switching = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'));
    });
    try {
      const fetch = createPluginFetch({ allowedDomains: ['127.0.0.1'], timeout: 20_000 });
      await assert.rejects(fetch(`http://127.0.0.1:${await listen(switching)}/`), /The server has switched to another protocol/);
    } finally {
      switching.close();
    }
  });

  test('connections end with their requests, even if the server keeps its side open', async () => {
    const open = new Set();
    let body = 'ok';
    const keeping = net.createServer({ allowHalfOpen: true }, (socket) => {
      open.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${body}`));
      // Only a client that has gone refuses this.
      const writes = setInterval(() => { if (socket.readableEnded) socket.write('x'.repeat(10_000)); }, 20);
      socket.on('close', () => {
        clearInterval(writes);
        open.delete(socket);
      });
      socket.resume();
    });
    try {
      const own = await listen(keeping);
      const fetch = createPluginFetch({ allowedDomains: ['127.0.0.1'], timeout: 500 });
      const url = `http://127.0.0.1:${own}/`;
      assert.deepEqual((await Promise.all([fetch(url), fetch(url)])).map((response) => response.body), ['ok', 'ok']);
      await until(() => open.size === 0);
      body = 'o';
      await assert.rejects(fetch(url), { code: 'ERR_ISOLATE_DEADLINE' });
      await until(() => open.size === 0);
    } finally {
      for (const socket of open) socket.destroy();
      keeping.close();
    }
  });

  test('objects with very many properties are refused at once', async () => {
    const made = manifest({ permissions: { network: { allowedDomains: ['localhost'] } } });
    const { sandbox, execute } = await plugin({ manifest: made, context: hostContext({ fetch: local() }) });
    const values = {
      'a view': 'new Uint8Array(2e7)', 'a boxed text': 'Object("x".repeat(5e5))', 'an array': 'new Array(5e4).fill(1)', 'a map': 'new Map()',
      'an object': 'Object.fromEntries(Array.from({ length: 4e4 }, (_, index) => [`k${index}`, undefined]))',
    };
    const count = requests.length;
    for (const [what, value] of Object.entries(values)) {
      for (const [name, init] of [['init', value], ['headers', `{ headers: ${value} }`]]) {
        const got = await execute(`context.fetch('http://localhost:${port}/', ${init}).catch(({ message }) => message)`);
        assert.match(got, new RegExp(`^\`${name}\` must be an object`), what);
      }
    }
    assert.equal(requests.length, count);
    sandbox.disposeAll();
  });

  test('limits concurrent requests and queues others', async () => {
    let open = 0;
    let peak = 0;
    const slow = http.createServer((request, response) => {
      open += 1;
      peak = Math.max(peak, open);
      request.resume();
      if (request.url === '/never') return;
      setTimeout(() => {
        open -= 1;
        response.end(request.url);
      }, 5);
    });
    await new Promise((resolve) => { slow.listen(0, resolve); });
    const url = (path) => `http://localhost:${slow.address().port}${path}`;
    try {
      const fetch = local();
      const bodies = await Promise.all(Array.from({ length: 300 }, async (_, index) => (await fetch(url(`/${index}`))).body));
      assert.deepEqual(bodies, bodies.map((__, index) => `/${index}`));
      assert.ok(peak > 1 && peak <= 64, String(peak));
      open = 0;
      peak = 0;
      const short = local({ timeout: 400, maxBodySize: 5e6 });
      const codesOf = (count, length) => Promise.all(Array.from({ length: count }, () =>
        short(url('/never'), { method: 'POST', body: 'x'.repeat(length) }).catch(({ code }) => {
          if (code === 'ERR_ISOLATE_DEADLINE') atFirst ??= peak;
          return code;
        })));
      // Those that wait may get their turn when the first ones time out, just before they do so themselves.
      let atFirst;
      assert.deepEqual(await codesOf(90, 10), Array(90).fill('ERR_ISOLATE_DEADLINE'));
      assert.ok(atFirst <= 64, String(atFirst));
      // 80 MB for the bodies of all of them, also of those that do not wait.
      assert.deepEqual((await codesOf(20, 5e6)).toSorted(), [...Array(16).fill('ERR_ISOLATE_DEADLINE'), ...Array(4).fill('ERR_ISOLATE_LIMIT')]);
      assert.equal((await short(url('/x'))).body, '/x');
    } finally {
      slow.closeAllConnections?.();
      slow.close();
    }
  });

  test('limits what the URLs of requests that wait take, which are longer than the texts', async () => {
    const silent = http.createServer(() => {});
    await new Promise((resolve) => { silent.listen(0, resolve); });
    let refused = 0;
    try {
      const fetch = local({ maxBodySize: 10 });
      // Six bytes for each character, after a blank by which the rest of a URL stays as it is.
      const url = `http://localhost:${silent.address().port}/ ${'ü'.repeat(60_000)}`;
      const all = Array.from({ length: 280 }, () => fetch(url).catch(({ code }) => { refused += code === 'ERR_ISOLATE_LIMIT' ? 1 : 0; }));
      await new Promise((resolve) => { setImmediate(resolve); });
      // 64 are under way, and 64 MB are 186 that wait.
      assert.equal(refused, 280 - 64 - 186);
      silent.closeAllConnections();
      silent.close();
      await Promise.all(all);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  test('wrong arguments and options', async () => {
    const fetch = local();
    const count = requests.length;
    for (const url of [undefined, null, 5, {}, new URL(at('/')), '', '/x', 'localhost/x']) await assert.rejects(fetch(url), wrong, String(url));
    for (const url of ['http:localhost', '//evil.test/', 'file:///x', 'http://evil.test/', 'http://localhost%2f@evil.test/', `x${at('/')}`]) await assert.rejects(fetch(url), denied, url);
    for (const init of [
      5, 'x', { method: 'get' }, { method: 'CONNECT' }, { method: ['GET'] }, { body: 'x' }, { method: 'POST', body: 5 }, { method: 'POST', body: {} }, { redirect: 'x' }, { responseType: 'json' }, { agent: {} }, { socketPath: '/x' }, { headers: 'x' }, { headers: [['host', 'x']] },
      { headers: new Map() }, { headers: { host: 'x' } }, { headers: { Host: 'x' } }, { headers: { 'Transfer-Encoding': 'chunked' } }, { headers: { 'Proxy-Authorization': 'x' } }, { headers: { connection: 'x' } }, { headers: { 'a b': 'x' } }, { headers: { a: 'x\r\nhost: y' } },
      { headers: { a: '\u0100' } }, { headers: { a: 5 } }, { headers: { '': 'x' } }, { headers: { a: 'x'.repeat(20_000) } }, { headers: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`h${i}`, 'x'])) },
    ]) await assert.rejects(fetch(at('/'), init), wrong, JSON.stringify(init));
    assert.equal(requests.length, count);
    for (const options of [
      undefined, null, {}, 5, { allowedDomains: 'localhost' }, { allowedDomains: ['https://localhost'] }, { allowedDomains: [5] }, { allowedDomains: [], privateDomains: ['*'] }, { allowedDomains: [], maxRedirects: 21 }, { allowedDomains: [], maxRedirects: '5' }, { allowedDomains: [], maxBodySize: -1 },
      { allowedDomains: [], timeout: 0 }, { allowedDomains: [], timeout: 2 ** 31 }, { allowedDomains: [], follow: true },
    ]) assert.throws(() => createPluginFetch(options), wrong, JSON.stringify(options));
  });
});
