'use strict';
// Names of members that determine where a request goes, such as `url` and `host`.

const { types } = require('node:util');

/** Members whose value is a host by itself. */
const HOSTS = new Set(['host', 'hostname', 'hostaddr', 'servername', ':authority']);
/** Members that name a connection that bypasses all hosts. */
const SOCKETS = new Set(['socketpath', 'unix', 'unixsocket']);
/** Members that name a server by a URL, or by a name alone. */
const SERVER = /^(?:origin|baseur[il]|prefixurl)$|proxy$/;
/** Members that name a proxy. If these are objects, clients such as axios connect to the host in them, or else to this machine. */
const PROXY = /proxy$/;
/** Members by which clients choose the host to connect to, if there is no URL. */
const TARGETS = Object.freeze(['host', 'hostname']);
/** Members whose value is a URL, as are those whose names end in `url` or `uri`. */
const PLACE = /(?:^href|^endpoint|ur[il])$/;
/** Members by which an object names its server, spelled as `nameOf` returns them. */
const PLACES = Object.freeze(['host', 'hostname', 'origin', 'href', 'url', 'uri', 'baseurl', 'prefixurl', 'socketpath']);
/** Members to which a path is appended. */
const AUTHORITIES = Object.freeze(['host', 'hostname', 'origin', ':authority']);
const PATHS = new Set(['path', 'pathname', ':path']);
const PROTOCOLS = new Set(['protocol', ':scheme']);
/** Members that, together with a port, make an object the options of a request. */
const REQUESTS = Object.freeze(['path', 'pathname', 'protocol', 'method', 'headers']);
const HEADERS = new Set(['headers', 'rawheaders']);
/** Members whose presence changes what others mean. */
const RELATED = new Set([...PLACES, ...AUTHORITIES, ...REQUESTS]);
/** A few more characters than the longest name above. */
const MAX_NAME = 40;
/** All names above have letters. Others are not looked up: Deno's engine takes long for texts that look like array indices, since their hashes are not seeded. */
const LETTER = /[a-z]/i;

/** The value of a member that names a protocol, and of a port that is part of no URL. */
const SCHEME_ALONE = /^([a-z][a-z0-9+.-]*):(?:\/\/)?$/i;
const SCHEME = /^[a-z][a-z0-9+.-]*$/i;
const PORT = /^\d{1,5}$/;
const WORD = /^[\w./-]*$/;
/** Characters of the longest value that is compared with these. A guest can put the same long text in thousands of places. */
const MAX_VALUE = 8_192;

/**
 * @param {string} value
 * @returns {string | undefined} the scheme if the value is one and a colon
 */
const schemeAlone = (value) => (value.length <= MAX_VALUE ? SCHEME_ALONE.exec(value)?.[1].toLowerCase() : undefined);

/** @param {string} value */
const isProtocol = (value) => schemeAlone(value) !== undefined || (value.length <= MAX_VALUE && SCHEME.test(value));

/** @param {string} value */
const isPort = (value) => PORT.test(value);

/** @param {string} value */
const isWord = (value) => value.length <= MAX_VALUE && WORD.test(value);

/**
 * A member's name in lower case, without hyphens and underscores.
 * @param {any} key
 * @returns {string} empty if it certainly has no meaning
 */
function nameOf(key) {
  const text = types.isStringObject(key) ? String(key) : key;
  return typeof text === 'string' && text.length <= MAX_NAME && LETTER.test(text) ? text.toLowerCase().replace(/[-_]/g, '') : '';
}

module.exports = {
  AUTHORITIES, HEADERS, HOSTS, isPort, isProtocol, isWord, nameOf, PATHS, PLACE, PLACES, PROTOCOLS, PROXY, RELATED, REQUESTS, schemeAlone, SERVER, SOCKETS, TARGETS,
};
