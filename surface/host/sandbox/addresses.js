'use strict';
// Addresses of the network: which of them anybody may be led to.

const dns = require('node:dns');
const net = require('node:net');

/** Networks of IPv4 that are not public: this machine, private ones, links, tests, multicast, and what is reserved. */
const CLOSED_4 = Object.freeze([
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24',
  '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
]);
/** All public addresses of IPv6 are in one network. */
const OPEN_6 = Object.freeze(['2000::/3']);
/** Of those, the ones that lead to addresses of IPv4, and ones that are reserved. */
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
 * @returns {boolean} false for what is no address, too
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
 * A function that resolves names for a connection, which is then made to the addresses that were checked.
 * @param {boolean} isPrivate addresses that are not public will do
 * @param {() => void} called
 * @returns {net.LookupFunction}
 */
function checkedLookup(isPrivate, called) {
  return (hostname, options, callback) => {
    dns.lookup(hostname, /** @type {dns.LookupAllOptions} */ ({ ...options, all: true }), (error, addresses) => {
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
    });
  };
}

module.exports = { checkedLookup, isPublic };
