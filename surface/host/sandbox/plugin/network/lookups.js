'use strict';
// Looks up the addresses of names for `createPluginFetch`. Plugins choose the names, and so the name servers, which may never answer.
// `dns.lookup` would occupy one of the few threads of the process until they do. `dns.Resolver` occupies none and can be stopped. Each
// `fetch` that `createPluginFetch` has made has a limited number of lookups at a time, so slow servers delay no others.

const dns = require('node:dns');
const net = require('node:net');
const { clearTimeout, setTimeout } = require('../../../clock.js');
const { isPublic } = require('./addresses.js');

/** Most lookups of one function at a time, since each takes a descriptor or two. */
const MAX_LOOKUPS = 8;
/** Milliseconds that a lookup may take, and how it divides them. */
const MAX_TIME = 10_000;
const ATTEMPTS = Object.freeze({ timeout: 2_500, tries: 3 });

/** Names that the machine itself defines, which DNS does not know. */
const HOSTS_FILE = process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
/** The file as it was read last. */
const hosts = { text: '', version: '' };

/** @returns {Promise<string>} the hosts file in lower case; empty if there is none */
async function readHosts() {
  // Loaded only here, since programs that fetch nothing do not need it.
  const { readFile, stat } = require('node:fs/promises');
  try {
    const { mtimeMs, size } = await stat(HOSTS_FILE);
    const version = `${mtimeMs} ${size}`;
    if (hosts.version !== version) {
      hosts.text = (await readFile(HOSTS_FILE, 'utf8')).toLowerCase();
      hosts.version = version;
    }
    return hosts.text;
  } catch {
    return '';
  }
}

/**
 * The addresses of a name in the hosts file.
 * @param {string} hostname in lower case
 * @returns {Promise<dns.LookupAddress[]>}
 */
async function addressesInFile(hostname) {
  const text = await readHosts();
  const found = [];
  for (let at = text.indexOf(hostname); at !== -1;) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    const [address, ...names] = text.slice(text.lastIndexOf('\n', at) + 1, end).replace(/#.*/, '').trim().split(/\s+/);
    const family = net.isIP(address);
    if (family !== 0 && names.includes(hostname)) {
      found.push({ address, family });
    }
    at = text.indexOf(hostname, end);
  }
  return found;
}

/**
 * @param {dns.Resolver} resolver
 * @param {string} hostname
 * @param {number} family
 * @returns {Promise<dns.LookupAddress[]>}
 */
function ask(resolver, hostname, family) {
  return new Promise((resolve, reject) => {
    resolver[family === 4 ? 'resolve4' : 'resolve6'](hostname, (error, addresses) => {
      if (error) {
        reject(error);
      } else {
        resolve(addresses.map((address) => ({ address, family })));
      }
    });
  });
}

/** @typedef {(error: Error | null, addresses: dns.LookupAddress[]) => void} Done */

/** One lookup of all addresses of a name. */
class Lookup {
  /** @type {dns.Resolver | undefined} */ #resolver;
  /** @type {any} */ #timer;
  #isOver = false;
  #hostname;
  #families;
  #done;

  /**
   * @param {string} hostname
   * @param {readonly number[]} families
   * @param {Done} done
   */
  constructor(hostname, families, done) {
    this.#hostname = hostname;
    this.#families = families;
    this.#done = done;
  }

  async run() {
    this.#timer = setTimeout(() => this.stop(new Error(`${this.#hostname} was not found within ${MAX_TIME} ms`)), MAX_TIME);
    /** @type {[Error | null, dns.LookupAddress[]]} */
    let answer;
    try {
      answer = [null, await this.#find()];
    } catch (error) {
      answer = [/** @type {Error} */ (error), []];
    }
    this.#end(...answer);
  }

  async #find() {
    const listed = (await addressesInFile(this.#hostname.replace(/\.$/, ''))).filter(({ family }) => this.#families.includes(family));
    if (listed.length > 0 || this.#isOver) {
      return listed;
    }
    const resolver = new dns.Resolver(ATTEMPTS);
    this.#resolver = resolver;
    const answers = await Promise.allSettled(this.#families.map((family) => ask(resolver, this.#hostname, family)));
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failed = answers.find(({ status }) => status === 'rejected');
    if (found.length === 0 && failed !== undefined) {
      throw /** @type {PromiseRejectedResult} */ (failed).reason;
    }
    return found;
  }

  /**
   * Ends the lookup.
   * @param {Error} error
   */
  stop(error) {
    this.#resolver?.cancel();
    this.#end(error, []);
  }

  /**
   * @param {Error | null} error
   * @param {dns.LookupAddress[]} addresses
   */
  #end(error, addresses) {
    if (!this.#isOver) {
      this.#isOver = true;
      clearTimeout(this.#timer);
      this.#done(error, addresses);
    }
  }
}

/** The lookups of one function: some at a time, and the others in the order of their arrival. */
class Lookups {
  #free = MAX_LOOKUPS;
  /** @type {Set<Lookup>} */ #waiting = new Set();

  /**
   * @param {string} hostname
   * @param {readonly number[]} families
   * @param {Done} done
   */
  #add(hostname, families, done) {
    const lookup = new Lookup(hostname, families, (error, addresses) => {
      if (!this.#waiting.delete(lookup)) {
        this.#leave();
      }
      done(error, addresses);
    });
    if (this.#free > 0) {
      this.#free -= 1;
      lookup.run();
    } else {
      this.#waiting.add(lookup);
    }
    return lookup;
  }

  #leave() {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next.run();
    }
  }

  /**
   * A function that resolves names for a connection. The connection is made to the addresses that were checked.
   * @param {boolean} isPrivate whether the host expects addresses that are not public. The name's servers are its own then.
   * @param {() => void} called
   * @returns {{ lookup: net.LookupFunction, stop: () => void }} call `stop` when the request has ended
   */
  checked(isPrivate, called) {
    /** @type {Lookup | undefined} */
    let current;
    return {
      lookup: (hostname, options, callback) => {
        /** @type {Done} */
        const answer = (error, addresses) => {
          called();
          if (error !== null) {
            callback(error, []);
          } else if (addresses.length === 0 || !(isPrivate || addresses.every(({ address }) => isPublic(address)))) {
            callback(new Error(`${hostname} has an address that is not public`), []);
          } else if (options.all) {
            callback(null, addresses);
          } else {
            callback(null, addresses[0].address, addresses[0].family);
          }
        };
        if (isPrivate) {
          dns.lookup(hostname, /** @type {dns.LookupAllOptions} */ ({ ...options, all: true }), answer);
        } else {
          const family = Number(String(options.family ?? 0).replace('IPv', ''));
          current = this.#add(hostname, family === 0 ? [4, 6] : [family], answer);
        }
      },
      stop: () => current?.stop(new Error('The request has ended')),
    };
  }
}

/** @typedef {Lookups} NameLookups */

module.exports = { Lookups };
