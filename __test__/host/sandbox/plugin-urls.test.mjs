// Arguments for a host's functions, as programs that take URLs see them: thousands of generated arguments pass the gate into real parsers,
// and none of the parsers may find a host that the manifest does not allow.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import nodeUrl from 'node:url';
import { inspect } from 'node:util';
import WebSocket from 'ws';
import { hostContext, manifest, plugin } from '../../sandbox/plugin-helper.mjs';

const isNode = process.versions.bun === undefined && globalThis.Deno === undefined;
const network = { permissions: { network: { allowedDomains: ['api.example.com', 'example.org'] } }, limits: { cpuMs: 120_000 } };
const isAllowed = (host) => /^(?:.*\.)?(?:api\.example\.com|example\.org)\.?$/i.test(host);

/** A valid name or address: no empty labels, and no comma of an array's text in the last label. */
const isEvil = (host) => /evil\.test\.?$|^xn--.*\.test\.?$|^localhost\.?$|^unix$|^\d+(?:\.\d+)*$|^0x[0-9a-f.]*$|:|^\//i.test(host) && !/\.\./.test(host);

/** A plugin with `context.take`, which calls `seen` with its arguments. */
async function taker(seen, made = manifest(network)) {
  return plugin({ manifest: made, context: hostContext({ take: (...args) => { seen(args); } }) });
}

// Numbers that are the same in every run.
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const BLANKS = ['', '', '', '', ' ', '\t', '\n', '\r\n', '\u00a0', '\ufeff', '\u3000', '\u2028', '\u200b', '\u0000', '\u001f', '\u0085', '\u180e', '\u00ad', '%20', '%00', '%09'];
const SCHEMES = ['http:', 'https:', 'HTTP:', 'ws:', 'wss:', 'ftp:', 'file:', 'unix:', 'ws+unix:', 'http+unix:', 'blob:', 'data:', 'x:', 'redis:', 'postgres:', 'http:http:', 'note: ', '', '', '', '', 'hTtPs:', 'http'];
const SLASHES = ['//', '//', '//', '/', '\\\\', '/\\', '\\/', '///', '////', '', ':', ':/', '//:', '/\t/', '//@', '//[', '/./', '/..//', '%2f%2f'];
const EVIL = ['evil.test', 'EVIL.test', 'evil.test.', '127.0.0.1', '127.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'localhost.', 'ｅvil.test', 'evil%2etest', '%65vil.test', 'evil。test', 'еvil.test', 'unix', 'fe80::1%eth0', '[fe80::1%25eth0]'];
const GOOD = ['api.example.com', 'example.org', 'API.example.com', 'a.example.org', 'api.example.com.', 'api.example.com:80', 'api.example.com:99999', 'api.example.com:'];
const JOINTS = ['', '', '@', ':', '.', ',', '/', '\\', '?', '#', '%40', '%2f', ';', '\t', '\n', ' ', ':80', ':@', '&', '..', '\u00ad', '[', ']', '|', '\'', '"', '<', '`', '{', '^', '$', '=', '!'];
const TAILS = ['', '/', '/x', ':80/x', ':3000', '?q=1', '#f', '\\x', '/../..//evil.test/', '/x?next=http://evil.test/', ':/var/run/docker.sock:/x', '?host=evil.test', '?path=/tmp/s', '//evil.test/', ' x', '\n//evil.test'];
const KEYS = ['url', 'href', 'host', 'hostname', 'Host', 'HOSTNAME', 'origin', 'baseURL', 'uri', 'path', 'pathname', 'port', 'protocol', 'proxy', 'servername', 'socketPath', 'auth', 'search', 'query', 'headers', 'method', 'toString', '__proto__', 'x'];

function makeText(pick) {
  const from = (list) => list[pick(list.length)];
  switch (pick(8)) {
    case 0: return from(SCHEMES) + from(SLASHES) + from(EVIL) + from(TAILS);
    case 1: return from(BLANKS) + from(SCHEMES) + from(BLANKS) + from(SLASHES) + from(GOOD) + from(JOINTS) + from(EVIL) + from(TAILS);
    case 2: return from(SCHEMES) + from(SLASHES) + from(EVIL) + from(JOINTS) + from(GOOD) + from(TAILS);
    case 3: return from(BLANKS) + from(EVIL) + from(TAILS);
    case 4: return `https://${from(GOOD)}${from(JOINTS)}${from(BLANKS)}${from(JOINTS)}${from(EVIL)}${from(TAILS)}`;
    case 5: return from(SCHEMES) + from(SLASHES) + from(GOOD) + from(TAILS);
    case 6: return from([...EVIL, ...GOOD]) + from(JOINTS) + from([...EVIL, ...GOOD]);
    default: return from(JOINTS) + from(JOINTS) + from(EVIL) + from(TAILS);
  }
}

const VALUES = ['https:', 'http:', 'api.example.com', '/x', '80', 'https://api.example.com', 'https://api.example.com/', 'GET', ''];

function makeExpression(pick) {
  const text = () => JSON.stringify(pick(4) === 0 ? VALUES[pick(VALUES.length)] : makeText(pick));
  const members = () => Array.from({ length: 1 + pick(4) }, () => [KEYS[pick(KEYS.length)], pick(12) === 0 ? String(pick(70_000)) : pick(12) === 0 ? `[${text()}]` : text()]);
  const object = () => `{ ${members().map(([key, value]) => `[${JSON.stringify(key)}]: ${value}`).join(', ')} }`;
  const pairs = () => `[${members().map(([key, value]) => `[${JSON.stringify(key)}, ${value}]`).join(', ')}]`;
  switch (pick(14)) {
    case 12: {
      const name = JSON.stringify(['host', 'Host', 'HOST', 'hostname', 'Hostname'][pick(5)]);
      const [host, path] = [pick(2) === 0 ? '"api.example.com"' : text(), pick(2) === 0 ? '"/x"' : text()];
      const key = pick(3) === 0 ? `new String(${name})` : name;
      return [`[[${key}, ${host}], ["path", ${path}]]`, `new Map([["path", ${path}], [${key}, ${host}]])`, `{ headers: { [${name}]: ${host} }, path: ${path} }`, `{ path: ${path}, headers: [[${key}, ${host}]] }`][pick(4)];
    }
    case 0: case 1: case 2: return text();
    case 3: case 4: return object();
    case 5: return `Object.assign([], ${object()})`;
    case 6: return `new Map(${pairs()})`;
    case 7: return pairs();
    case 8: return `${text()}, ${object()}`;
    case 9: return `new String(${text()})`;
    case 10: return `[${text()}, ${text()}]`;
    case 11: return `{ baseURL: ${pick(3) === 0 ? text() : '"https://api.example.com/v1/"'}, url: ${text()} }`;
    default: return `{ url: ${object()}, options: ${object()} }`;
  }
}

/** `url.parse` takes everything before a colon for a scheme, and what follows for a host. Programs know these schemes. */
const connected = ({ protocol, hostname }) => (protocol === null || /^(?:https?|wss?|ftp|redis|postgres|(?:ws|http)?\+?unix):$/.test(protocol) ? [hostname] : []);

/** Programs that take a plugin's arguments; each returns the hosts that it would connect to. */
const programs = {
  'fetch': ([first, second]) => [new URL(new Request(first, typeof second === 'object' ? second : undefined).url).hostname],
  URL: ([first]) => [new URL(first).hostname],
  'URL with a base': ([first]) => [new URL(first, 'https://api.example.com/base').hostname],
  'trimmed URL': ([first]) => [new URL(String(first).trim(), 'https://api.example.com/base').hostname],
  // As some clients complete a text without a scheme. Names alone are not distinguished from other text.
  completed: ([first]) => {
    const text = String(first).trim();
    return /^(?:[^/?#\\]+\.[^/?#\\]+|localhost)(?:[/?#\\]|:\d)/.test(text) && !/^[\w.+-]+:(?!\d)/.test(text) ? [new URL(`http://${text}`).hostname].filter((host) => host !== 'unix') : [];
  },
  'url.parse': ([first]) => connected(nodeUrl.parse(first)),
  'url.parse with slashes': ([first]) => connected(nodeUrl.parse(first, false, true)),
  'url.parse of a trimmed text': ([first]) => connected(nodeUrl.parse(String(first).trim())),
  'url.resolve': ([first]) => connected(nodeUrl.parse(nodeUrl.resolve('https://api.example.com/', String(first)))),
  'url.format': ([first]) => (typeof first === 'object' ? connected(nodeUrl.parse(nodeUrl.format({ ...first }))) : []),
  'origin and path': ([first]) => {
    const { protocol = 'https:', hostname, host, port, path, pathname = '', search = '', origin } = first;
    const name = hostname ?? host;
    if (name === undefined && origin === undefined) return [];
    return [new URL((origin ?? `${protocol}//${name}${port === undefined ? '' : `:${port}`}`) + (path ?? pathname + search)).hostname];
  },
  'base and URL': ([first]) => (typeof first.baseURL === 'string' ? [new URL(first.url, first.baseURL).hostname] : []),
  'the host of headers': ([first]) => {
    const { headers, path = '' } = first;
    const { host } = Object.fromEntries(Object.entries(typeof headers?.[Symbol.iterator] === 'function' ? Object.fromEntries(headers) : headers).map(([name, value]) => [name.toLowerCase(), value]));
    return host === undefined ? [] : [new URL(`https://${host}${path}`).hostname];
  },
  'entries that are joined': ([first]) => {
    const { hostname, host, path = '' } = Object.fromEntries(Object.entries(Object.fromEntries(first)).map(([name, value]) => [name.toLowerCase(), value]));
    return (hostname ?? host) === undefined ? [] : [new URL(`https://${hostname ?? host}${path}`).hostname];
  },
  'an object\'s entries': ([first]) => {
    const { url, href, host, hostname } = Object.fromEntries(first);
    return [url, href].filter((each) => each !== undefined).map((each) => new URL(each).hostname).concat([host, hostname].filter((each) => each !== undefined).map((each) => new URL(`http://${each}/`).hostname));
  },
  'members of any object': ([first]) => {
    const { url, href, host, hostname, origin } = first;
    return [url, href, origin].filter((each) => each !== undefined && each !== '').map((each) => new URL(each).hostname)
      .concat([host, hostname].filter((each) => each !== undefined && each !== '').map((each) => new URL(`http://${each}/`).hostname));
  },
};

/** Where Node's client would connect to: it names itself if no host is given. */
function connections(args) {
  const found = [];
  const stub = new http.Agent();
  stub.createConnection = ({ host, path }) => { found.push(path ?? host); throw new Error('stub'); };
  const { globalAgent } = http;
  http.globalAgent = stub;
  try {
    http.request(...args).on('error', () => {});
  } catch {
    // The stub's error, or the client's own.
  } finally {
    http.globalAgent = globalAgent;
  }
  // Without a host it connects to this machine, so such a client must not be given to plugins.
  const first = args[0];
  const names = typeof first === 'object' && !(first.host || first.hostname) && !(args[1]?.host || args[1]?.hostname);
  return names ? found.filter((each) => each !== 'localhost') : found;
}
/** The same for `ws`, which has a scheme for sockets of the machine. */
function socketConnections([first, second]) {
  const found = [];
  const createConnection = ({ host, path, socketPath }) => { found.push(socketPath ?? path ?? host); throw new Error('stub'); };
  try {
    new WebSocket(first, [], { ...(typeof second === 'object' && second), createConnection }).on('error', () => {});
  } catch {
    // The stub's error, or its own.
  }
  return found;
}
// Other hosts have clients of their own.
if (isNode) Object.assign(programs, { 'http.request': connections, ws: socketConnections });

const { emitWarning } = process;

describe('no program finds a forbidden host in arguments that are passed on', () => {
  for (const seed of [1, 2]) {
    test(`generated arguments, ${seed}`, async () => {
      process.emitWarning = () => {};
      const found = [];
      let passed = 0;
      const reached = new Set();
      const pick = random(seed);
      const { sandbox, execute } = await taker((args) => {
        passed += 1;
        for (const [name, program] of Object.entries(programs)) {
          let hosts;
          try {
            hosts = program(args);
          } catch {
            continue;
          }
          for (const host of hosts) {
            if (typeof host !== 'string') continue;
            if (isAllowed(host)) reached.add(name);
            else if (isEvil(host)) found.push([name, host, inspect(args, { depth: 9 })]);
          }
        }
      });
      for (let part = 0; part < 3; part += 1) {
        const calls = Array.from({ length: 1_000 }, () => makeExpression(pick));
        await execute(calls.map((each) => `try { context.take(${each}) } catch (error) { if (error.name !== 'SandboxViolationError') throw error }`).join('\n'));
      }
      sandbox.disposeAll();
      process.emitWarning = emitWarning;
      assert.deepEqual(found.slice(0, 20).map(([name, host, text]) => `${name} finds ${host} in ${text}`), []);
      assert.ok(passed > 500, `${passed} passed`);
      assert.deepEqual(Object.keys(programs).filter((name) => !reached.has(name)), [], 'all programs found allowed hosts');
    });
  }
});

describe('places that can hide a host', () => {
  const refused = {
    'properties of an array': [
      'Object.assign([], { host: "127.0.0.1", port: 80, path: "/" })', 'Object.assign([], { url: "https://evil.test/" })', 'Object.assign(["https://api.example.com/"], { hostname: "evil.test" })',
      '[Object.assign([1], { socketPath: "/var/run/docker.sock" })]', 'Object.assign([1, , 3], { href: "//evil.test" })', 'new Map([["x", Object.assign([], { Host: "evil.test" })]])',
      'Object.assign(new Error("x"), { cause: Object.assign([], { url: "http://evil.test" }) })', 'Object.assign(new Array(2 ** 31), { host: "evil.test" })',
    ],
    'blanks before a URL': [
      '"\\u00a0http://evil.test/"', '"\\ufeffhttp://evil.test/"', '"\\u3000//evil.test/"', '"\\u2028http://evil.test"', '"\\u200b\\u200bhttp://evil.test"', '"\\u180e\\u0000\\u0085https://evil.test"', '"\\u00a0".repeat(20_000) + "http://evil.test"',
      '"\\u00a0file:///etc/passwd"', '"\\u3000unix:/x"', '{ url: "\\u205fhttp://evil.test" }', '"\\ufeffevil.test/x"',
    ],
    'sockets of the machine': [
      '"ws+unix:/var/run/docker.sock"', '"ws+unix:docker.sock"', '"unix:/var/run/docker.sock"', '"unix:docker.sock"', '"http+unix:/x"', '"HTTP+UNIX://%2Fvar%2Frun%2Fdocker.sock/x"', '"unix-abstract:name"', '"npipe:////./pipe/x"',
      '"http://unix:/var/run/docker.sock:/x"', '{ protocol: "ws+unix:" }', '{ "socket-path": "/x" }', '{ socketpath: "/x" }', '{ unix_socket: "/x" }', '[["socketPath", "/x"]]', '"postgres://api.example.com/db?host=/var/run/postgresql"',
      '"redis://api.example.com/?path=/tmp/s"', '"redis:evil.test"', '"dns:evil.test"',
    ],
    'URLs without a scheme': [
      '"evil.test/x"', '"localhost:3000/x"', '"localhost:3000"', '"evil.test:80"', '"x@evil.test/"', '"127.0.0.1/x"', '"[::1]:80/x"', '"evil.test?q"', '"evil.test#f"', '"EVIL.test\\\\x"', '" evil.test/x"', '"evil\\n.test/x"', '"%65vil.test/"', '"evil。test/"', '["evil.test/x"]',
      '{ url: "evil.test/x" }', '{ apiUrl: "localhost:80" }', '{ uri: ["evil.test/x"] }', '{ proxy: "evil.test" }', '{ proxy: "evil.test:8080" }', '{ baseURL: "localhost" }', '{ baseUrl: "evil.test" }', '{ origin: "evil.test" }', 'new Map([["prefixUrl", "evil.test"]])',
      '"2130706433:80"', '"2130706433/x"', '"0x7f000001:80/x"', '"017700000001#f"', '"u@2130706433/"', '"0:8080/x"', '["2130706433:80"]', '{ url: "2130706433/x" }', '{ proxy: "2130706433" }', '"２130706433:80"',
      '"ｅvil。test/"', '"ｅvil。test:80"', '"テスト。test/x"', '"１２７。０。０。１:80"', '"ｅ" + "\u00ad".repeat(300) + "vil。test/x"', '"ｅvil" + "%C2%AD".repeat(100) + "。test/x"',
      '{ origin: "//evil.test" }', '[["proxy", "evil.test"]]', '{ env: { ALL_PROXY: "evil.test:80" } }', '"ev" + "\u00ad".repeat(2_000) + "il.test/x"', '"a".repeat(5_000) + ":b@evil.test/x"', '"%65".repeat(300) + ".evil.test/x"',
    ],
    'hosts under other names, or of other types': [
      '[["host", "evil.test"]]', 'new Set([["hostname", "evil.test"]])', '[[new String("host"), "evil.test"]]', '{ headers: ["Host", "evil.test"] }', '{ headers: [["hOsT", "evil.test"]] }', '{ headers: new Map([["HOST", "evil.test"]]) }', '[["headers", ["accept", "x", "Host", "evil.test"]]]', '{ servername: "evil.test" }', '{ ":authority": "evil.test" }',
      '{ host_name: "evil.test" }', '{ host: 2130706433n }', '{ host: true }', '{ host: new Uint8Array(4) }', '{ host: new Date(5) }', '{ host: {} }', '{ host: [] }', '{ host: "fe80::1%eth0" }', '{ host: "[fe80::1%25eth0]" }', '{ host: " api.example.com" }', '{ host: "api.example.com\\n" }', '{ host: "api%2eexample.com" }',
      '{ host: "u@api.example.com" }', '{ host: "api.example.com:99999" }', '{ host: "..api.example.com" }', '{ hostname: "", path: "/evil.test/" }',
    ],
    'members that join to another host': [
      '{ protocol: "https:", hostname: "api.example.com", port: "80@evil.test" }', '{ hostname: "api.example.com", port: ["80@evil.test"] }', '{ port: "1@evil.test", protocol: "http:" }', '{ hostname: "api.example.com", path: "@evil.test/" }', '{ host: "api.example.com", path: ".evil.test/" }',
      '{ host: "api.example.com", pathname: ":80@evil.test" }', '{ host: "api.example.com", path: ["@evil.test"] }', '{ origin: "https://api.example.com", path: "@evil.test/" }', '{ protocol: "x@evil.test/", host: "api.example.com" }', '{ hostname: "api.example.com", port: 1e9 }',
      '{ hostname: "api.example.com", port: -1 }', 'new Map([["hostname", "api.example.com"], ["port", "@evil.test"]])', '{ port: 2375, path: "/containers/json" }', '{ port: "2375", method: "POST" }', 'Object.assign([], { port: 80, headers: {} })',
      '{ host: "api.example.com", path: "//evil.test/" }', '{ hostname: "api.example.com", path: "http://evil.test/" }',
    ],
    'members that join to another host, in any spelling': [
      '{ Host: "api.example.com", path: "@evil.test/" }', '{ HOSTNAME: "api.example.com", "path-name": ".evil.test/" }', '{ Host: "api.example.com", port: ["80@evil.test"] }', '{ Origin: "https://api.example.com", Protocol: "x@evil.test/" }', '{ Hostname: "", path: "/evil.test/" }',
      '{ ":authority": "api.example.com", ":path": "@evil.test/" }', '{ ":authority": "api.example.com", ":path": "/", ":scheme": "x@evil.test/" }',
    ],
    'entries of maps and lists that join to another host': [
      '[["hostname", "api.example.com"], ["path", "@evil.test/"]]', '[["path", ".evil.test/"], ["host", "api.example.com"]]', '[["host", "api.example.com"], ["port", ["80@evil.test"]]]', '[["hostname", ""], ["path", "/evil.test/"]]', '[["port", 2375], ["path", "/x"]]', 'new Set([["host", "api.example.com"], ["path", "@evil.test/"]])',
      'new Map([[new String("hostname"), "api.example.com"], ["path", "@evil.test/"]])', 'new Map([["hostname", "api.example.com"], [new String("path"), "@evil.test/"]])', 'new Map([[new String("host"), "evil.test"]])', '[[new String("hostname"), "api.example.com"], [new String("path"), "@evil.test/"]]',
      'new Map([["Host", "api.example.com"], ["Path", new String("@evil.test/")]])', 'Object.assign([["host", "api.example.com"]], { path: "@evil.test/" })', '(() => { const entry = ["path", "@evil.test/"]; return [[entry], [["host", "api.example.com"], entry]]; })()',
    ],
    'keys that become a name': ['(() => { let key = "host"; for (let i = 0; i < 3_000; i += 1) key = [key]; return [[key, "evil.test"]] })()', '[[["host"], "evil.test"]]', 'new Map([[["host"], "evil.test"]])', 'new Map([[[new String("hostname")], "evil.test"]])', '[[[["HOST"]], "evil.test"]]', '{ headers: [["x", 1], [["Host"], "evil.test"]] }', 'new Map([[Array(1).fill("socketPath"), "/x"]])'],
    'a host in headers beside a path': [
      '{ headers: { Host: "api.example.com" }, path: "@evil.test/" }', '{ path: ".evil.test/", headers: { host: "api.example.com" } }', '{ headers: [["Host", "api.example.com"]], path: "@evil.test/" }', '{ headers: ["accept", "x", "Host", "api.example.com"], pathname: "@evil.test/" }', '{ headers: new Map([[new String("HOST"), "api.example.com"]]), path: ["@evil.test/"] }',
      'new Map([["headers", { host: "api.example.com" }], ["path", "@evil.test/"]])', '[["headers", [["host", "api.example.com"]]], ["path", "@evil.test/"]]', '{ rawHeaders: ["Host", "api.example.com"], path: "@evil.test/" }', '{ headers: { host: "api.example.com" }, port: 2375, path: "/x" }', '{ headers: ["Host", "api.example.com", "referer", "https://example.org/"], method: "POST", port: 2375 }',
    ],
  };
  for (const [name, expressions] of Object.entries(refused)) {
    test(name, async () => {
      const passed = [];
      const { sandbox, execute } = await taker((args) => passed.push(args));
      for (const each of expressions) {
        const seen = await execute(`try { context.take(${each}); 'passed' } catch (error) { error.name }`);
        assert.equal(seen, 'SandboxViolationError', each);
      }
      assert.deepEqual(passed, []);
      sandbox.disposeAll();
    });
  }
});

describe('values that are passed on', () => {
  const same = [
    '"a message: with colons, dots. And a slash / or two"', '"see https://evil.test/ for more"', '"note: https://evil.test/"', '"{\\"a\\": \\"b:c\\", \\"url\\": \\"https://evil.test/\\"}"', '"<a href=\\"//evil.test\\">x</a>"', '"a\\nb: c\\nhost: evil.test"', '"/path?next=https://evil.test/"',
    '"path/to"', '"./file.json"', '"../file.json"', '"report.pdf"', '"menu.title"', '"users.name"', '"index.html"', '"text/html"', '"@scope/package"', '"user:5"', '"urn:isbn:5"', '"key:5"', '"5:30"', '"1/2"', '"12:30:45"', '"12/05/2024"', '"0x1/2"', '"4294967296/x"', '"終了。5:30"', '"増加50%。".repeat(60) + "/x"', '{ proxy: "1" }', '{ proxy: "0" }', '"mail@example.net"', '"C:\\\\dir\\\\file"', '"C:/dir/file"', '"TypeError: failed"',
    '"redis: connection lost"', '"\\n\\n  indented text"', '" ".repeat(20_000)', '"x".repeat(1_000_000)', '"日本語: テスト/文"', '"你好。世界/测试"', '"はい。そうです。?"', '"a long text without blanks. ".replaceAll(" ", "-").repeat(100) + "/x"', '"长。".repeat(3_000) + "/x"', '"50% of the texts, ".repeat(50) + "and/or others"', '"api.example.com/x"', '"api.example.com:8080/x"', '""', '5', 'null', 'undefined', '10n ** 100n',
    '{ body: { text: "evil.test/x", when: "10:30" } }', '{ method: "POST", headers: { accept: "text/html", "content-type": "application/json; charset=utf-8" }, body: "a: b" }', '{ path: "/x" }', '{ port: 3000 }', '{ port: "/dev/ttyUSB0" }', '{ path: "x/y" }', '{ proxy: false }', '{ socketPath: undefined }',
    '{ protocol: "https:", hostname: "api.example.com", port: 443, path: "/x", method: "GET", headers: { host: "api.example.com" } }', '{ hostname: "api.example.com", port: "8443", pathname: "" }', '{ protocol: "https", host: "api.example.com:8443", path: "?q" }',
    '{ headers: { Host: "api.example.com" }, path: "/x" }', '[["host", "api.example.com"], ["path", "/x"], ["port", 8443]]', 'new Map([[new String("host"), "api.example.com"], ["path", "?q"]])', '[["path", "x/y"], ["name", "x"]]', '{ ":authority": "api.example.com", ":path": "/x", ":scheme": "https" }', '{ host: "api.example.com", port: 8443, headers: { host: "example.org" }, path: "/x" }', '[[["a"], "b"], 1]', '(() => { const key = []; key.push(key); return [[key, "a"], [[key], "b"]] })()',
    '"https://api.example.com/", { port: 8443, path: "/x", method: "GET" }', '{ url: "/users", baseURL: "https://api.example.com/v1/" }', '{ url: "users", params: { a: 1 } }', '{ origin: "Berlin" }', '["host", "port", "path"]', '{ columns: ["host", "name"] }', '[["a", "b"], ["c", "d"]]', '{ "https://api.example.com/": 1 }',
    'new Map([["https://api.example.com", "x"]])', 'new Set(["https://api.example.com/x", 1])', 'Array.from({ length: 60_000 }, (_, i) => i)', 'new Uint8Array(3)', '/a\\/b/', 'new Error("x")', 'Array.from({ length: 1000 }, (_, i) => ({ id: i, name: "n: " + i }))',
    '"https://api.example.com/a/b?c=d#e"', '"https://u:p@api.example.com:8443/"', '"//api.example.com:443/x"', '"postgres://u:p@api.example.com:5432/db?sslmode=require"', '"https://api.example.com/ is down\\nsince 10:30"',
  ];
  test('are unchanged for plain text and normalized URLs', async () => {
    const passed = [];
    const { sandbox, execute } = await taker((args) => passed.push(args));
    const plain = await plugin({ manifest: manifest(network), context: hostContext({ metrics: { take: (...args) => { passed.push(args); } } }) });
    for (const each of same) {
      await execute(`context.take(${each})`).catch((error) => assert.fail(`${each}: ${error.message}`));
      // Metrics are passed on without a check of URLs.
      await plain.execute(`context.metrics.take(${each})`);
      const [first, second] = passed.splice(0);
      assert.deepEqual(first, second, each);
    }
    sandbox.disposeAll();
    plain.sandbox.disposeAll();
  });

  const changed = [
    ['"https://API.example.com"', ['https://api.example.com/']], ['" \\u00a0https://api.example.com/a/../b\\\\c "', ['https://api.example.com/b/c']], ['"https://api.example.com?q=ü"', ['https://api.example.com/?q=%C3%BC']],
    ['"//API.example.com:80"', ['//api.example.com:80/']], ['"https://ａpi.example.com:443/"', ['https://api.example.com/']], ['"HTTPS://api.example.com/a b"', ['https://api.example.com/a b']], ['new String("https://api.example.com")', ['https://api.example.com/']],
    ['{ url: "https://api.example.com", list: ["WS://example.org"] }', [{ url: 'https://api.example.com/', list: ['ws://example.org/'] }]], ['{ host: "API.Example.com:80", hostname: new String("example.ORG") }', [{ host: 'api.example.com:80', hostname: 'example.org' }]],
    ['new Map([["a", 1], ["href", "https://api.example.com"], ["z", 2]])', [new Map([['a', 1], ['href', 'https://api.example.com/'], ['z', 2]])]], ['[["host", "API.example.com"]]', [[['host', 'api.example.com']]]],
    ['JSON.parse(\'{"__proto__": {"url": "https://api.example.com"}}\')', [JSON.parse('{"__proto__": {"url": "https://api.example.com/"}}')]],
  ];
  test('are the normalized URLs that were checked', async () => {
    const passed = [];
    const { sandbox, execute } = await taker((args) => passed.push(args));
    for (const [each, expected] of changed) {
      await execute(`context.take(${each})`);
      assert.deepEqual(passed.pop(), expected, each);
    }
    await execute('const list = Object.assign(["https://api.example.com"], { url: "https://example.org" }); context.take(list, list); context.take(Object.assign(new Error("https://api.example.com"), { cause: "//example.org" }))');
    const [[error], [list, again]] = [passed.pop(), passed.pop()];
    assert.deepEqual([list[0], list.url, again === list, error.message, error.cause], ['https://api.example.com/', 'https://example.org/', true, 'https://api.example.com/', '//example.org/']);
    sandbox.disposeAll();
  });

  test('a shared list is checked in each of its positions', async () => {
    const passed = [];
    const { sandbox, execute } = await taker((args) => passed.push(args));
    for (const [list, expression] of [
      ['["evil.test/x"]', '{ x: list, url: list }'], ['["evil.test/x"]', '{ x: list }, list'], ['["evil.test/x"]', '{ x: list, url: [[list]] }'], ['["evil.test:80"]', '{ x: list, proxy: list }'],
      ['["host", "evil.test"]', '{ x: list, headers: [list] }'], ['["host", "evil.test"]', 'list, { headers: [list] }'], ['["x", "y", "host", "evil.test"]', '{ x: list, headers: list }'],
      ['["host", "evil.test"]', '{ x: list, headers: new Set([list]) }'], ['[["evil.test/x"]]', '{ x: list, y: list[0], url: list }'], ['[]', '(list.push(list, ["evil.test/x"]), { x: list, url: list })'],
    ]) await assert.rejects(execute(`{ const list = ${list}; context.take(${expression}) }`), { kind: 'NETWORK' }, `${list} in ${expression}`);
    assert.deepEqual(passed, []);
    await execute('{ const list = ["https://example.org", ["x"], "api.example.com/y"]; const all = [list, list]; context.take({ x: list, url: list, headers: list, all }, list, all) }');
    const [[{ x, url, headers }, list]] = passed;
    assert.deepEqual([x === url, url === headers, list === x, x], [true, true, true, ['https://example.org/', ['x'], 'api.example.com/y']]);
    // Each list is checked once for each position, so a value that would expand to an astronomical size ends.
    await execute('let list = ["x"]; for (let i = 0; i < 200; i++) list = { x: list, url: list, headers: list }; context.take(list)');
    sandbox.disposeAll();
  });

  test('a host without a value does not lead to this machine', async () => {
    const targets = [];
    const agent = new http.Agent();
    agent.createConnection = ({ host }) => { targets.push(host); throw new Error('stub'); };
    const request = (url, options) => {
      try {
        http.request(url, { agent, ...options }).on('error', () => {});
      } catch (error) {
        if (error.message !== 'stub') throw error;
      }
    };
    request('http://api.example.com/', { hostname: null });
    // Otherwise the stub sees nothing.
    const before = targets.splice(0);
    if (isNode) assert.deepEqual(before, ['localhost']);
    const seen = [];
    const take = (...args) => {
      seen.push(args);
      if (isNode) request(...args);
    };
    const { sandbox, execute } = await plugin({ manifest: manifest(network), context: hostContext({ take }) });
    const unset = [
      '{ hostname: null }', '{ hostname: undefined }', '{ HOSTNAME: null, hostname: undefined, method: "POST", headers: { accept: "x" } }', '{ hostname: "", port: 6379 }',
      '{ hostname: new String(""), host: "" }', '{ host: null, port: 6379 }', '{ host: undefined }',
    ];
    for (const options of unset) {
      await execute(`context.take('http://api.example.com:6379/', ${options})`);
      assert.equal(Object.keys(seen.pop()[1]).some((key) => /host/i.test(key)), false, options);
    }
    for (const args of ['"http://api.example.com/", { hostname: "", method: "GET" }', '"http://api.example.com/", [["hostname", null]]', '"http://api.example.com/", new Map([["host", null]])']) {
      await assert.rejects(execute(`context.take(${args})`), { kind: 'NETWORK' }, args);
    }
    assert.deepEqual([targets, seen], [isNode ? unset.map(() => 'api.example.com') : [], []]);
    // The method itself may name the host.
    await execute('context.take({ hostname: null, name: "x", headers: { host: "" } }, { hostname: "" }, [["host", null]])').catch(() => {});
    assert.deepEqual(seen, [[{ name: 'x', headers: { host: '' } }, {}, [['host', null]]]]);
    sandbox.disposeAll();
  });

  test('a port of a proxy without a host does not lead to this machine', async () => {
    const passed = [];
    const { sandbox, execute } = await taker((args) => passed.push(args));
    const url = '"http://api.example.com/"';
    for (const args of ['{ proxy: { port: 6379 } }', '{ HTTPS_PROXY: { port: "6379", hostname: null } }', '{ proxy: { port: 6379, protocol: "http", href: "http://api.example.com/" } }', '{ data: p, proxy: p }', '{ proxy: [["port", 6379]] }']) {
      await assert.rejects(execute(`((p) => context.take(${url}, ${args}))({ port: 6379, host: '' })`), { kind: 'NETWORK' }, args);
    }
    await assert.rejects(execute(`context.take(${url}, { proxy: { port: 6379, host: 'localhost' } })`), { kind: 'NETWORK' });
    assert.deepEqual(passed, []);
    await execute(`context.take(${url}, { proxy: { port: 8080, host: 'api.example.com' }, other: { port: 1 } }, { proxy: false })`);
    assert.deepEqual(passed, [['http://api.example.com/', { proxy: { port: 8080, host: 'api.example.com' }, other: { port: 1 } }, { proxy: false }]]);
    sandbox.disposeAll();
  });

  test('domains that are IP addresses', async () => {
    const passed = [];
    const { sandbox, execute } = await taker((args) => passed.push(args), manifest({ permissions: { network: { allowedDomains: ['127.0.0.1', '[::1]', 'localhost'] } } }));
    await execute('context.take({ host: "::1" }, { host: "[0:0::1]:80" }, { host: "0x7f.1" }, "http://2130706433/", "localhost:80/x", { port: 80, path: "/" })');
    assert.deepEqual(passed, [[{ host: '::1' }, { host: '[::1]:80' }, { host: '127.0.0.1' }, 'http://127.0.0.1/', 'localhost:80/x', { port: 80, path: '/' }]]);
    await assert.rejects(execute('context.take({ host: "::2" })'), { kind: 'NETWORK' });
    sandbox.disposeAll();
  });
});

test('searching for URLs takes linear time, and a bounded amount', async () => {
  const { sandbox, execute } = await taker(() => {});
  const took = async (expression) => {
    const start = performance.now();
    await execute(`try { context.take(${expression}) } catch (error) { if (error.name !== 'SandboxViolationError') throw error }`);
    return performance.now() - start;
  };
  for (const make of [
    (size) => `new String('x'.repeat(${size}))`, (size) => `Object('//'.repeat(${size / 2}))`, (size) => `'\\u3000'.repeat(${size / 2})`, (size) => `'a:'.repeat(${size / 2})`, (size) => `'https://' + 'a'.repeat(${size})`,
    (size) => `'https://api.example.com/' + '%'.repeat(${size})`, (size) => `'https://' + 'a.'.repeat(${size / 2}) + '@'`, (size) => `Array(50).fill('https://u@'.repeat(${size / 500}))`, (size) => `{ host: 'a.'.repeat(${size / 2}) }`, (size) => `'redis://api.example.com/' + '?'.repeat(${size})`, (size) => `Array(1_000).fill(':'.repeat(${size / 1_000}))`, (size) => `Array.from({ length: 1_000 }, () => 'https://' + String.fromCharCode(...Array.from({ length: 250 }, (_, i) => 0x4e00 + i)) + '.example.org').slice(0, ${size / 10_000})`,
    (size) => `Array(${size / 100}).fill('https://example.org/')`,
  ]) {
    await took(make(1_000));
    const [once, twice] = [await took(make(1_000_000)), await took(make(8_000_000))];
    assert.ok(twice < 8 * once * 4 + 2_000, `${make('n')}: ${once} ms, eight times as much ${twice} ms`);
  }
  sandbox.disposeAll();
});

test('a long text takes no longer in many places than in one', async () => {
  const { sandbox, execute } = await taker(() => {});
  const places = (text, name) => `((text) => Array.from({ length: 600 }, () => ({ ${name}: text })))(Object(${text}))`;
  const texts = { 'blanks at its end': places("'x' + ' '.repeat(1e7)", 'text'), 'a protocol': places("'x'.repeat(1e7)", 'protocol'), 'a port': places("'x'.repeat(1e7)", 'port') };
  for (const [what, expression] of Object.entries(texts)) {
    const start = process.cpuUsage();
    await execute(`try { context.take({ all: new Set(${expression}) }) } catch (error) { if (error.name !== 'SandboxViolationError') throw error }`);
    const { user, system } = process.cpuUsage(start);
    // To look at all of it takes some 10 ms in each place.
    assert.ok(user + system < 2_000_000, `${what}: ${user + system} µs`);
  }
  sandbox.disposeAll();
});
