'use strict';
// Network addresses, and which of them are public.

const net = require('node:net');

/**
 * IPv4 networks that are not public: this machine, private, link-local, test, multicast and reserved networks, and the address at which Azure has
 * services for its own machines.
 */
const CLOSED_4 = Object.freeze([
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24',
  '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
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

module.exports = { isPublic };
