'use strict';
// What a text is to programs that take URLs. A text that leads to a host has exactly one accepted form, defined by the grammar below, and is
// passed on as the normalized URL, in which every parser finds the host that was checked. Other texts that some parser may take for a URL
// are refused; all others are no URLs.

/** Schemes of the URL standard that need a host. */
const WEB = new Set(['http', 'https', 'ws', 'wss', 'ftp']);
/** Other schemes whose authority names the server, for all that use them. */
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
/** Parameters by which a URL of another scheme than those of the web names another server than its authority. */
const REROUTING = /[?&](?:[^=&#?]*(?:host|socket|unix|proxy|addr|path)|[^=&#?]*%)/i;

const USER = '[a-z0-9._~!$&()*+,=:-]*';
const NAME = String.raw`[\p{L}\p{M}\p{N}._-]+`;
const HOST = String.raw`(\[[0-9a-f:.]+\]|${NAME})`;
const END = '(?=[/?#]|$)';

/** Begins what a parser may take for an absolute URL, or for one that names its host. */
const START = /^(?:([a-z][a-z0-9+.-]*):|[/\\]{2})/i;
/** The only form of those that is accepted: scheme, user, host and port. */
const ABSOLUTE = new RegExp(String.raw`^(?:([a-z][a-z0-9+.-]*):)?//(?:(${USER})@)?${HOST}(?::(\d{0,5}))?${END}`, 'iu');
/** What programs that complete a URL without a scheme take for its authority. */
const SCHEMELESS = /^[^/?#\\]+/;
/** A host as a value by itself, and its port. */
const HOST_ALONE = new RegExp(String.raw`^(?:${HOST}(?::(\d{1,5}))?|([0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*))$`, 'iu');
/** A normalized authority with its scheme. */
const NORMAL = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\\s]*@)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?\/$/;
/** What stands between the parts of a name, besides the ASCII dot, and ends sentences in some languages. */
const FULL_STOP = /[\u3002\uff0e\uff61]/;
// oxlint-disable-next-line no-control-regex -- those are what it is about
const LETTER = /[^\u0000-\u007f\u3002\uff0e\uff61]/;
/** What no host has, and what one has that is longer than it looks. */
const SPACE = /\p{Z}/u;
const VANISHING = /[%\p{C}]/u;
const PORT_BEHIND = /:\d+$/;
/** Has what such a name or address has, or what may become that. */
const MAYBE_HOST = /[^a-z0-9_:@-]|localhost/i;
/** Has a name of several labels, an address, or the one name that every machine has. */
const QUALIFIED = /[^.]\.[^.]|^localhost\.?$|^\[/;
/** A path on a drive of Windows. */
const DRIVE = /^[a-z]:[/\\](?![/\\])/i;
// oxlint-disable-next-line no-control-regex -- those are what it is about
const ASCII = /^[\u0000-\u007f]*$/;
/** What some program removes at the ends of a text: blanks, controls, and what is not visible. */
const VISIBLE = /[^\p{C}\p{Z}\s]/u;
const BLANK = /[\p{C}\p{Z}\s]/u;
/** What the URL standard removes wherever it stands. */
const DROPPED = /[\t\n\r]/g;

/** Characters in which the authority of a URL must end. */
const MAX_HEAD = 8_192;
/** Characters of a URL whose path and query are normalized, too. */
const MAX_NORMALIZED = 65_536;
/** Schemes before a URL, as in `view:https://…`. */
const MAX_SCHEMES = 8;
/** Characters of a text that stand for a host in a refusal. */
const MAX_SHOWN = 100;
/** Characters of a host: no name has more. */
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
 * @property {string} host or what stands in its place
 * @property {string} [normal] the text to pass on if the host is allowed; undefined where the text is refused in any case
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
 * What parsers of URLs find as the host, with a port perhaps.
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
 * @returns {string | undefined} undefined for what is none
 */
function normalHost(host) {
  const name = NORMAL.exec(parse(`https://${host}/`)?.href ?? '')?.[1];
  return name === undefined || /^\.|\.\./.test(name) || name === '.' ? undefined : name;
}

/**
 * A domain as the manifest has it, in the form of parsed URLs.
 * @param {string} entry
 * @returns {string | undefined} undefined for what is none
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
 * What a text is to a program that takes a URL.
 * @param {string} text
 * @param {Work} work
 * @param {{ isPlace?: boolean, isServer?: boolean }} [position] `isPlace`: a URL is what belongs here, so the scheme may be missing; `isServer`:
 *   so may everything but a name
 * @returns {Destination | undefined} undefined for what is no URL
 */
function readText(text, work, { isPlace = false, isServer = false } = {}) {
  const visible = text.slice(firstVisible(text, work)).trimEnd();
  const head = visible.slice(0, MAX_HEAD);
  const plain = head.replace(DROPPED, '');
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
      // Behind another scheme there is no form that all parsers agree about, so the text stays what it is.
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
 * A name alone is no URL, unless a server is what belongs there: file names and keys look the same.
 * @param {string} plain
 * @param {string} text
 * @param {boolean} isServer
 * @param {Work} work
 * @returns {Destination | undefined}
 */
function schemeless(plain, text, isServer, work) {
  const authority = SCHEMELESS.exec(plain)?.[0] ?? '';
  const at = authority.lastIndexOf('@');
  // No name, word or address of mail has a bracket, or a colon before an at sign.
  const isMore = authority.length < plain.length || PORT_BEHIND.test(authority) || authority.includes('[') || authority.slice(0, at + 1).includes(':');
  const raw = authority.slice(at + 1);
  if (!(isServer || isMore) || !MAYBE_HOST.test(authority) || SPACE.test(raw) || (FULL_STOP.test(raw) && LETTER.test(raw))) {
    return undefined;
  }
  if (raw.length > MAX_HOST) {
    return VANISHING.test(raw) ? refused(raw) : undefined;
  }
  const host = parseHost(raw, work);
  if (host.length > MAX_HOST || !QUALIFIED.test(host)) {
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
  // Without a scheme, a port that is some scheme's own must stay.
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
 * Path, query and fragment of a URL. A text with blanks is rather a message that begins with a URL: its rest stays as it is, and so does that of a
 * very long one.
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
 * A host, perhaps with a port, that is a value by itself.
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
