'use strict';
// Determines what a text means to programs that take URLs. A text that leads to a host has exactly one accepted form, defined by the
// grammar below. It is passed on as the normalized URL, in which every parser finds the host that was checked. Other texts that some parser
// may take for a URL are refused. All remaining texts are not URLs.

const { URL } = require('node:url');

/** Schemes of the URL standard that need a host. */
const WEB = new Set(['http', 'https', 'ws', 'wss', 'ftp']);
/** Other schemes whose authority names the server in all programs that use them. */
const NETWORK = new Set([
  'amqp', 'amqps', 'coap', 'coaps', 'ftps', 'git', 'gopher', 'grpc', 'grpcs', 'imap', 'imaps', 'irc', 'ircs', 'ldap', 'ldaps', 'mariadb', 'memcached',
  'mongodb', 'mqtt', 'mqtts', 'mysql', 'nats', 'pop3', 'postgres', 'postgresql', 'redis', 'rediss', 'rtmp', 'rtsp', 'sftp', 'smtp', 'smtps', 'ssh', 'tcp',
  'telnet', 'tls', 'udp',
]);
/** Schemes that lead somewhere without an authority. */
const LOCAL = new Set([
  'about', 'blob', 'data', 'dns', 'file', 'filesystem', 'ipv4', 'ipv6', 'javascript', 'mailto', 'vbscript', 'view-source', 'vsock', 'xds',
]);
/** Sockets and pipes of the machine, as in `http+unix:` and `unix-abstract:`. */
const SOCKET = /unix|pipe|ipc/;
/** Parameters by which a URL with a scheme that is not one of `WEB` names another server than its authority. */
const REROUTING = /[?&](?:[^=&#?]*(?:host|socket|unix|proxy|addr|path)|[^=&#?]*%)/i;

const USER = '[a-z0-9._~!$&()*+,=:-]*';
const NAME = String.raw`[\p{L}\p{M}\p{N}._-]+`;
const HOST = String.raw`(\[[0-9a-f:.]+\]|${NAME})`;
const END = '(?=[/?#]|$)';

/** The start of a text that a parser may take for an absolute URL, or for one that names its host. */
const START = /^(?:([a-z][a-z0-9+.-]*):|[/\\]{2})/i;
/** The only accepted form of such a text: scheme, user, host and port. */
const ABSOLUTE = new RegExp(String.raw`^(?:([a-z][a-z0-9+.-]*):)?//(?:(${USER})@)?${HOST}(?::(\d{0,5}))?${END}`, 'iu');
/** The part that programs take for the authority when they complete a URL without a scheme. */
const SCHEMELESS = /^[^/?#\\]+/;
/** A value that is a host by itself, with its port. */
const HOST_ALONE = new RegExp(String.raw`^(?:${HOST}(?::(\d{1,5}))?|([0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*))$`, 'iu');
/** A normalized authority with its scheme. */
const NORMAL = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\\s]*@)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?\/$/;
/** Characters besides the ASCII dot that separate the labels of a name. They end sentences in some languages. */
const FULL_STOP = /[\u3002\uff0e\uff61]/;
// oxlint-disable-next-line no-control-regex -- control characters are intended
const LETTER = /[^\u0000-\u007f\u3002\uff0e\uff61]/;
/** Characters that no host has, and characters of a host that is longer than it looks. */
const SPACE = /\p{Z}/u;
const VANISHING = /[%\p{C}]/u;
const PORT_BEHIND = /:\d+$/;
/** A number in place of a host. It is an IPv4 address. */
const NUMBER = /(?:^|@)(?:0x[\da-f]*|\d+)(?::|$)/i;
/** Matches a text that may be, or become, a name or address that `QUALIFIED` matches. */
const MAYBE_HOST = new RegExp(`[^a-z0-9_:@-]|localhost|${NUMBER.source}`, 'i');
/** Matches a name of several labels, an address, or the one name that every machine has. */
const QUALIFIED = /[^.]\.[^.]|^localhost\.?$|^\[/;
/** Addresses that lead nowhere. As numbers, they are those of times, dates and fractions. */
const NOWHERE = /^0\.(?!0\.0\.0$)/;
/** A name whose last label is not ASCII. */
const FOREIGN = /(?:^|\.)xn--[^.]*\.?$/;
/** An escape, which may be that of a character that no name has. */
const ESCAPED = /%[\da-f]{2}/i;
const INVISIBLE = /\p{C}/gu;
/** A path on a Windows drive. */
const DRIVE = /^[a-z]:[/\\](?![/\\])/i;
// oxlint-disable-next-line no-control-regex -- control characters are intended
const ASCII = /^[\u0000-\u007f]*$/;
/** Some programs remove blanks, controls and invisible characters at the ends of a text: the characters they keep, and those they remove. */
const VISIBLE = /[^\p{C}\p{Z}\s]/u;
const BLANK = /[\p{C}\p{Z}\s]/u;
/** Characters that the URL standard removes at any position. */
const DROPPED = /[\t\n\r]/g;

/** Characters within which the authority of a URL must end. */
const MAX_HEAD = 8_192;
/** Most characters of a URL whose path and query are normalized, too. */
const MAX_NORMALIZED = 65_536;
/** Most schemes before a URL, as in `view:https://…`. */
const MAX_SCHEMES = 8;
/** Characters of a text that replace a host in a refusal. */
const MAX_SHOWN = 100;
/** Most characters of a host: no name has more. */
const MAX_HOST = 259;
/** Characters for each step of work. */
const CHARACTERS_PER_STEP = 32;
const STEPS_PER_URL = 8;
/** Names that are not ASCII take time in proportion to the square of their length. */
const STEPS_PER_LETTER = 4;

/** @typedef {{ spend(steps?: number): void }} Work */

/**
 * A text that may lead to a host.
 * @typedef {object} Destination
 * @property {string} host or a text in its place
 * @property {string} [normal] the text to pass on if the host is allowed; undefined if the text is refused in any case
 */

/**
 * @param {string} text
 * @returns {URL | undefined}
 */
function parse(text) {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * The host that URL parsers find in a text, which may have a port.
 * @param {string} text
 * @param {Work} work
 */
function parseHost(text, work) {
  work.spend(STEPS_PER_URL + (ASCII.test(text) ? 0 : text.length * STEPS_PER_LETTER));
  return parse(`http://${text}/`)?.hostname ?? '';
}

/** @param {string} hostname */
const withoutDot = (hostname) => (hostname.endsWith('.') ? hostname.slice(0, -1) : hostname);

/**
 * The normalized form of a host.
 * @param {string} host
 * @returns {string | undefined} undefined if there is none
 */
function normalHost(host) {
  const name = NORMAL.exec(parse(`https://${host}/`)?.href ?? '')?.[1];
  return name === undefined || /^\.|\.\./.test(name) || name === '.' ? undefined : name;
}

/**
 * Converts a domain of the manifest to the form of parsed URLs.
 * @param {string} entry
 * @returns {string | undefined} undefined if there is none
 */
function readDomain(entry) {
  const found = HOST_ALONE.exec(entry);
  const host = found?.[1];
  return host === undefined || found?.[2] !== undefined || host.startsWith('.') ? undefined : withoutDot(normalHost(host) ?? '') || undefined;
}

/**
 * @param {readonly string[]} domains from `readDomain`
 * @param {string} hostname of a parsed URL
 */
function isAllowed(domains, hostname) {
  const host = withoutDot(hostname);
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

/**
 * @param {string} text
 * @returns {Destination}
 */
const refused = (text) => ({ host: text.slice(0, MAX_SHOWN) });

/**
 * Where the visible part of a text begins.
 * @param {string} text
 * @param {Work} work
 */
function firstVisible(text, work) {
  for (let from = 0; from < text.length; from += MAX_HEAD) {
    const found = VISIBLE.exec(text.slice(from, from + MAX_HEAD));
    if (found !== null) {
      return from + found.index;
    }
    work.spend(MAX_HEAD / CHARACTERS_PER_STEP);
  }
  return text.length;
}

/**
 * A text without the blanks at its end, as `trimEnd` removes them.
 * @param {string} text
 * @param {number} start where its visible part begins
 * @param {Work} work
 */
function visiblePart(text, start, work) {
  let end = text.length;
  while (end > start) {
    const from = Math.max(start, end - MAX_HEAD);
    const { length } = text.slice(from, end).trimEnd();
    if (length > 0) {
      return text.slice(start, from + length);
    }
    // A guest can put the same long text in thousands of places.
    work.spend((end - from) / CHARACTERS_PER_STEP);
    end = from;
  }
  return '';
}

/**
 * Determines what a text means to a program that takes a URL.
 * @param {string} text
 * @param {Work} work
 * @param {{ isPlace?: boolean, isServer?: boolean }} [position] `isPlace`: a URL is expected here, so the scheme may be missing; `isServer`:
 *   everything but a name may be missing
 * @returns {Destination | undefined} undefined if it is not a URL
 */
function readText(text, work, { isPlace = false, isServer = false } = {}) {
  const visible = visiblePart(text, firstVisible(text, work), work);
  const head = visible.slice(0, MAX_HEAD);
  const plain = head.replace(DROPPED, '');
  work.spend((head.length - plain.length) / CHARACTERS_PER_STEP);
  if (isPlace || isServer) {
    work.spend(plain.length / CHARACTERS_PER_STEP);
    const found = schemeless(plain, text, isServer, work);
    if (found !== undefined) {
      return found;
    }
  }
  let rest = plain;
  for (let schemes = 0; schemes < MAX_SCHEMES; schemes += 1) {
    const start = START.exec(rest);
    if (start === null || (schemes === 0 && DRIVE.test(rest))) {
      return undefined;
    }
    work.spend(rest.length / CHARACTERS_PER_STEP);
    const scheme = start[1]?.toLowerCase();
    // A message may begin with a protocol's name and a colon.
    if (scheme === undefined || WEB.has(scheme) || /^[/\\]/.test(rest.slice(start[0].length)) || (NETWORK.has(scheme) && rest[start[0].length] !== ' ')) {
      // After another scheme, there is no form on which all parsers agree, so the text stays as it is.
      return schemes === 0 ? absolute(visible, head, work) : nested(rest, text);
    }
    if (LOCAL.has(scheme) || SOCKET.test(scheme)) {
      return refused(`${scheme}:`);
    }
    rest = rest.slice(start[0].length);
  }
  return refused(plain);
}

/**
 * A name alone is not a URL, unless a server is expected here: file names and keys look the same.
 * @param {string} plain
 * @param {string} text
 * @param {boolean} isServer
 * @param {Work} work
 * @returns {Destination | undefined}
 */
function schemeless(plain, text, isServer, work) {
  const authority = SCHEMELESS.exec(plain)?.[0] ?? '';
  const at = authority.lastIndexOf('@');
  // No name, word or mail address has a bracket, or a colon before an at sign.
  const isMore = authority.length < plain.length || PORT_BEHIND.test(authority) || authority.includes('[') || authority.slice(0, at + 1).includes(':');
  const raw = authority.slice(at + 1);
  if (!(isServer || isMore) || !MAYBE_HOST.test(authority) || SPACE.test(raw)) {
    return undefined;
  }
  const isSentence = FULL_STOP.test(raw) && LETTER.test(raw);
  const name = isSentence ? raw.replace(INVISIBLE, '') : raw;
  if (name.length > MAX_HOST) {
    return (isSentence ? ESCAPED : VANISHING).test(name) ? refused(raw) : undefined;
  }
  const host = parseHost(name, work);
  const isNowhere = NUMBER.test(authority) && (isMore ? NOWHERE.test(host) : host.startsWith('0.'));
  if (host.length > MAX_HOST || !QUALIFIED.test(host) || isNowhere || (isSentence && FOREIGN.test(host))) {
    return undefined;
  }
  return { host, normal: HOST_ALONE.test(authority) ? text : undefined };
}

/**
 * @param {string} rest
 * @param {string} text
 * @returns {Destination}
 */
function nested(rest, text) {
  const found = ABSOLUTE.exec(rest);
  const host = found === null || found[0].length === MAX_HEAD || found[3].length > MAX_HOST || !ASCII.test(rest) ? undefined : normalHost(found[3]);
  return host === undefined ? refused(rest) : { host, normal: text };
}

/**
 * @param {string} text
 * @param {string} head the beginning of it
 * @param {Work} work
 * @returns {Destination}
 */
function absolute(text, head, work) {
  const found = ABSOLUTE.exec(head);
  if (found === null || (found[0].length === head.length && head.length < text.length)) {
    return refused(parse(head.slice(0, MAX_HOST))?.hostname || head);
  }
  const [authority, scheme = '', user, host, port = ''] = found;
  if (host.length > MAX_HOST) {
    return refused(host);
  }
  work.spend(STEPS_PER_URL + (ASCII.test(host) ? 0 : host.length * STEPS_PER_LETTER));
  const protocol = scheme.toLowerCase();
  const isWeb = protocol === '' || WEB.has(protocol);
  if (!isWeb && !(NETWORK.has(protocol) && ASCII.test(host))) {
    return refused(NETWORK.has(protocol) ? host : `${protocol}:`);
  }
  // Without a scheme, a port that is the default of some scheme must stay.
  const base = parse(`${protocol || 'https'}://${user === undefined ? '' : `${user}@`}${isWeb ? host : host.toLowerCase()}${protocol === '' || port === '' ? '' : `:${port}`}/`);
  const name = NORMAL.exec(base?.href ?? '')?.[1];
  if (base === undefined || name === undefined || normalHost(name) !== name || Number(port) > 65_535) {
    return refused(host);
  }
  const start = protocol === '' ? `${base.href.slice('https:'.length, -1)}${port === '' ? '' : `:${port}`}` : base.href.slice(0, -1);
  const rest = text.slice(authority.length);
  if (!isWeb && REROUTING.test(rest.slice(0, MAX_HEAD))) {
    return refused(name);
  }
  if (!isWeb && rest.length > MAX_HEAD) {
    return refused(name);
  }
  return { host: name, normal: start + (isWeb ? normalRest(rest, work) : slashed(rest)) };
}

/** @param {string} rest of a URL */
const slashed = (rest) => (rest.startsWith('/') ? rest : `/${rest}`);

/**
 * The normalized path, query and fragment of a URL. A text with blanks is more likely a message that begins with a URL. Its rest stays as it
 * is, and so does the rest of a very long text.
 * @param {string} rest
 * @param {Work} work
 */
function normalRest(rest, work) {
  const path = slashed(rest);
  if (path.length > MAX_NORMALIZED || BLANK.test(path)) {
    return path;
  }
  work.spend(path.length / CHARACTERS_PER_STEP);
  return parse(`https://host${path}`)?.href.slice('https://host'.length) ?? path;
}

/**
 * Reads a host, perhaps with a port, that is a value by itself.
 * @param {string} text
 * @param {Work} work
 * @returns {Destination}
 */
function readHost(text, work) {
  work.spend(STEPS_PER_URL + (ASCII.test(text) ? 0 : Math.min(text.length, MAX_HOST) * STEPS_PER_LETTER));
  const found = text.length > MAX_HOST ? null : HOST_ALONE.exec(text);
  if (found === null) {
    return refused(text);
  }
  const [, host, port, address] = found;
  const name = normalHost(address === undefined ? host : `[${address}]`);
  if (name === undefined || Number(port ?? 0) > 65_535) {
    return refused(text);
  }
  return { host: name, normal: (address === undefined ? name : name.slice(1, -1)) + (port === undefined ? '' : `:${port}`) };
}

module.exports = { isAllowed, LOCAL, readDomain, readHost, readText, SOCKET };
