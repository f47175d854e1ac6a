// The web APIs give the same results as the host's for many random inputs: the same functions run here and in a guest. Where hosts differ,
// Node 24 is the reference.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import fc from 'fast-check';
import ivm from '../../../index.mjs';
import { host } from '../../harness.mjs';

const skip = host === 'node24' ? false : 'compared with Node 24';
const RUNS = Number(process.env.WEB_RUNS ?? 2_000);
const SEED = Number(process.env.WEB_SEED ?? 20_261_121);
const AT_A_TIME = 500;

/** Runs `probe` on every input, here and in a guest. */
async function compare(probe, arbitrary, runs = RUNS) {
  const all = fc.sample(arbitrary, { numRuns: runs, seed: SEED });
  for (let start = 0; start < all.length; start += AT_A_TIME) {
    const inputs = all.slice(start, start + AT_A_TIME);
    const sandbox = ivm.createSandbox({ inputs }, { web: true, memoryLimit: 128, timeout: 60_000, maxOutputSize: 2 ** 26 });
    const outcome = await sandbox.execute(`return inputs.map(${probe})`);
    assert.equal(outcome.error, undefined);
    inputs.forEach((input, index) => {
      assert.deepEqual(outcome.result[index], probe(input), `input ${inspect(input)}`);
    });
  }
}

const units = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 20 });
const anyText = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), units);
const piece = fc.oneof(
  fc.constantFrom('', 'a', 'B', '/', '//', '\\', '?', '#', ':', '@', '.', '..', '%2e', '%2E%2e', '%', '%zz', '%41', ' ', '\t', '\n', '[', ']', '|', '^', "'", '"', '<',
    '>', '`', '{', '}', '&', '=', '+', '~', 'é', 'ß', '☃', '😀', '\ud800', '\0', '1', '255', '256', '0x7f', '08', '99999', '-', '_', 'xn--', 'C:', 'c|', ';', ','),
  fc.string({ maxLength: 4 }),
);
const scheme = fc.constantFrom('http:', 'https:', 'HTTP:', 'ws:', 'wss:', 'ftp:', 'file:', 'data:', 'mailto:', 'blob:https:', 'javascript:', 'about:', 'foo:', 'web+x.y-z:', '');
const slashes = fc.constantFrom('//', '//', '//', '/', '', '\\\\', '///', '////');
const hostName = fc.oneof(
  fc.constantFrom('example.com', 'EXAMPLE.com.', 'a.b', 'localhost', '127.0.0.1', '0x7f.1', '1.2.3', '256.1.1.1', '[::1]', '[1:2::3.4.5.6]', '[::g]', 'bücher.de', '☃.net', 'xn--nxasmq6b',
    'a_b', 'a b', 'a%62c', '%00', 'é', 'ｅｘ.com', '', 'a..b', '1.', '.', '09.1', '4294967296', '4294967295', 'faß.de', 'xn--a', '\u00ad', 'a\u200db'),
  fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join('')),
);
const userInfo = fc.constantFrom('', '', '', 'user@', 'u:p@', ':@', 'u:@', '@', 'a@b@', 'ü:ß@', 'u%20:p%3A@');
const port = fc.constantFrom('', '', '', ':', ':80', ':443', ':0', ':65535', ':65536', ':08', ':a', ':8a', ':21');
const rest = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
const url = fc.oneof(
  fc.tuple(scheme, slashes, userInfo, hostName, port, fc.constantFrom('', '/', '?', '#', '\\'), rest).map((parts) => parts.join('')),
  rest,
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
);

/** Known differences, and their reasons. */
const KNOWN = [
  // Node accepts names of hosts that are not Punycode.
  /xn--/i,
  // Here the path of a `file:` URL begins with one slash, however many there are.
  /file:[\\/\t\n\r]{4}/i,
  // The guest's parser is confused by more slashes than a host needs.
  /^[\0-\x20]*(?:[\\/][\t\n\r]*){3}/,
];
const isKnown = (...texts) => texts.some((text) => KNOWN.some((pattern) => pattern.test(text)));

describe('web basics: the same as the host', () => {
  test('URL', { skip }, async () => {
    await compare(([text, base]) => {
      try {
        const { href, origin, protocol, username, password, host: whole, hostname, port: number, pathname, search, hash } = new URL(text, base);
        return { href, origin, protocol, username, password, whole, hostname, number, pathname, search, hash };
      } catch (error) {
        return `${error.name}: ${error.message} ${error.code} ${URL.canParse(text, base)} ${URL.parse(text, base)}`;
      }
    }, fc.tuple(url, fc.oneof(fc.constant(undefined), fc.constant('http://base.example/dir/file?q#f'), url)).filter(([text, base]) => !isKnown(text, base ?? '')
      // The guest's parser takes a backslash for a slash even if the scheme of the base is not one of the web's.
      && !(text.includes('\\') && base !== undefined && !/^\s*(?:https?|wss?|ftp|file):/i.test(base))));
  });

  test('URL: its setters', { skip }, async () => {
    const name = fc.constantFrom('href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash');
    const start = fc.constantFrom('http://user:pass@example.com:8080/a/b?c=d#e', 'https://x.y/', 'foo://host:1/p', 'foo:opaque', 'data:text/plain,x', 'mailto:a@b?x#y', 'http://[::1]:1/');
    await compare(([from, changes]) => {
      const changed = new URL(from);
      const seen = [];
      for (const [key, value] of changes) {
        try {
          changed[key] = value;
          seen.push(changed.href);
        } catch (error) {
          seen.push(error.message);
        }
      }
      return seen;
    }, fc.tuple(start, fc.array(fc.tuple(name, fc.oneof(rest, hostName, port.map((text) => text.slice(1)), scheme, url)), { maxLength: 4 }))
      .filter(([, changes]) => changes.every(([, value]) => !isKnown(value) && !/^\s*file/i.test(value))));
  });

  test('URLSearchParams', { skip }, async () => {
    const entry = fc.tuple(fc.oneof(piece, anyText), fc.oneof(piece, anyText));
    await compare(({ text, pairs, record, steps }) => {
      const seen = [new URLSearchParams(pairs).toString(), new URLSearchParams(record).toString()];
      const whole = new URL('https://example.com/?first=1#hash');
      whole.search = text;
      const params = new URLSearchParams(text);
      for (const each of [params, whole.searchParams]) {
        for (const [step, key, value] of steps) {
          const result = each[step](key, value);
          seen.push(result === undefined ? null : result, each.toString(), each.size, [...each], [...each.keys()], [...each.values()]);
        }
        each.forEach((value, key) => seen.push(key, value));
      }
      return [...seen, whole.href];
    }, fc.record({
      // Node loses Latin-1 characters beside a percent sign.
      text: fc.oneof(rest, anyText, fc.array(entry).map((list) => list.map((pair) => pair.join('=')).join('&'))).filter((text) => !/%/.test(text) || /^[\0-\x7f]*$/.test(text)),
      pairs: fc.array(entry, { maxLength: 5 }),
      record: fc.dictionary(fc.string(), anyText, { maxKeys: 4 }),
      steps: fc.array(fc.tuple(fc.constantFrom('append', 'delete', 'get', 'getAll', 'has', 'set', 'sort'), fc.constantFrom('a', 'b', '', 'é', '\ud800'), fc.oneof(fc.constant(undefined), anyText)), { maxLength: 5 }),
    }), RUNS / 4);
  });

  test('atob and btoa', async () => {
    await compare((text) => ['atob', 'btoa'].map((name) => {
      try {
        return name === 'atob' ? atob(text) : btoa(text);
      } catch (error) {
        return `${error.name} ${error.code} ${error instanceof DOMException}`;
      }
    }), fc.oneof(
      fc.string({ unit: fc.nat(255).map((unit) => String.fromCharCode(unit)) }), anyText,
      fc.string({ unit: fc.constantFrom('A', 'z', '9', '+', '/', '=', ' ', '\n', '\t', '\f', '\r', '\v', '-') }), fc.base64String(),
    ));
  });

  test('TextEncoder', async () => {
    await compare(([text, size]) => {
      const bytes = new Uint8Array(size).fill(7);
      const { read, written } = new TextEncoder().encodeInto(text, bytes);
      return [[...new TextEncoder().encode(text)], read, written, [...bytes]];
    }, fc.tuple(anyText, fc.nat(40)));
  });

  for (const label of ['utf-8', 'utf-16le', 'latin1', 'utf-16be', 'iso-8859-2', 'koi8-r']) {
    test(`TextDecoder ${label}`, { skip: label === 'utf-8' ? false : skip }, async () => {
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.array(fc.constantFrom(0xef, 0xbb, 0xbf, 0xff, 0xfe, 0xc3, 0xa9, 0xe2, 0x98, 0x83, 0xf0, 0x9f, 0x41, 0, 0xd8, 0xdc, 0x80), { maxLength: 12 }).map((list) => Uint8Array.from(list)),
        anyText.map((text) => new TextEncoder().encode(text)),
      );
      await compare(({ name, options, chunks, stream }) => {
        const decoder = new TextDecoder(name, options);
        const seen = [decoder.encoding, decoder.fatal, decoder.ignoreBOM];
        const [whole] = chunks;
        try {
          seen.push(decoder.decode(whole));
        } catch (error) {
          seen.push(error.name);
        }
        if (stream) {
          try {
            for (const chunk of chunks) seen.push(decoder.decode(chunk, { stream: true }));
            seen.push(decoder.decode());
          } catch (error) {
            seen.push(error.name);
          }
        }
        return seen;
      }, fc.record({
        name: fc.constant(label),
        options: fc.record({ fatal: fc.boolean(), ignoreBOM: fc.boolean() }),
        chunks: fc.array(bytes, { minLength: 1, maxLength: 4 }),
        // Node's own decoder does not stream these two.
        stream: fc.constant(!['latin1', 'iso-8859-2'].includes(label)),
      }), RUNS / 2);
    });
  }

  test('structuredClone', { skip }, async () => {
    await compare((value) => {
      try {
        const copy = structuredClone(value);
        return { copy, same: copy === value && typeof value === 'object' && value !== null };
      } catch (error) {
        return error.name;
      }
    }, fc.anything({
      withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withSet: true, withSparseArray: true, withTypedArray: true, withUnicodeString: true,
    }), RUNS / 2);
  });
});
