'use strict';
// Network addresses, and which of them are public.

const dns = require('node:dns');
const net = require('node:net');

/** IPv4 networks that are not public: this machine, private, link-local, test, multicast and reserved networks. */
const CLOSED_4 = Object.freeze([
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24',
  '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
]);
/** All public IPv6 addresses are in one network. */
const OPEN_6 = Object.freeze(['2000::/3']);
/** Networks in it that lead to IPv4 addresses, and reserved ones. */
const CLOSED_6 = Object.freeze(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/**
 * @param {readonly string[]} networks
 * @param {'ipv4' | 'ipv6'} family
 */
function listOf(networks, family) {
  const list = new net.BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** @type {{ closed4: net.BlockList, open6: net.BlockList, closed6: net.BlockList } | undefined} */
let lists;

/**
 * @param {string} address
 * @returns {boolean} also false if it is not an address
 */
function isPublic(address) {
  lists ??= { closed4: listOf(CLOSED_4, 'ipv4'), open6: listOf(OPEN_6, 'ipv6'), closed6: listOf(CLOSED_6, 'ipv6') };
  const family = net.isIP(address);
  if (family === 4) {
    return !lists.closed4.check(address, 'ipv4');
  }
  return family === 6 && !address.includes('%') && lists.open6.check(address, 'ipv6') && !lists.closed6.check(address, 'ipv6');
}

/**
 * Lookups wait for each other: each occupies a thread of the process until the name's servers answer, even if its request has ended. Node
 * has two threads for them, and the host needs one.
 */
let isBusy = false;
/** Lookups that wait, by owner. Owners are in the order of their turns. A function returns false if its lookup was cancelled. @type {Map<object, (() => boolean)[]>} */
const waiting = new Map();

/** Starts the next lookup. */
function startNext() {
  isBusy = false;
  for (const [owner, [first, ...others]] of waiting) {
    waiting.delete(owner);
    if (others.length > 0) {
      waiting.set(owner, others);
    }
    if (first()) {
      return;
    }
  }
}

/**
 * Looks up all addresses of a name, when it is the owner's turn.
 * @param {string} hostname
 * @param {dns.LookupAllOptions} options
 * @param {object} owner
 * @param {() => boolean} isWanted
 * @param {(error: Error | null, addresses: dns.LookupAddress[]) => void} callback
 */
function lookup(hostname, options, owner, isWanted, callback) {
  const start = () => {
    if (!isWanted()) {
      callback(new Error('The request has ended'), []);
      return false;
    }
    try {
      dns.lookup(hostname, options, (error, addresses) => {
        try {
          callback(error, addresses);
        } finally {
          startNext();
        }
      });
    } catch (error) {
      callback(/** @type {Error} */ (error), []);
      return false;
    }
    isBusy = true;
    return true;
  };
  if (isBusy) {
    waiting.set(owner, [...waiting.get(owner) ?? [], start]);
  } else {
    start();
  }
}

/**
 * A function that resolves names for a connection. The connection is made to the addresses that were checked.
 * @param {boolean} isPrivate whether the host expects addresses that are not public. The name's servers are its own then.
 * @param {object} owner of the request: owners take turns
 * @param {() => boolean} isWanted returns false when the request has ended
 * @param {() => void} called
 * @returns {net.LookupFunction}
 */
function checkedLookup(isPrivate, owner, isWanted, called) {
  return (hostname, options, callback) => {
    /**
     * @param {Error | null} error
     * @param {dns.LookupAddress[]} addresses
     */
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
    const all = /** @type {dns.LookupAllOptions} */ ({ ...options, all: true });
    if (isPrivate) {
      dns.lookup(hostname, all, answer);
    } else {
      lookup(hostname, all, owner, isWanted, answer);
    }
  };
}

module.exports = { checkedLookup, isPublic };
